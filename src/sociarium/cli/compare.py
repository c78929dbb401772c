"""`sociarium compare REPORT REPORT`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from sociarium.evaluation.comparing import ReportComparison, compare, read_source
from sociarium.metrics.bootstrap import Estimate


@dataclass(frozen=True)
class CompareCommand:
    """Compare two runs of a suite: packs, folders of runs, or report.json files.

    Differences are the second less the first, in pairs of equal seeds; a report by itself has no
    values by seed, and then both estimates stand side by side.
    """

    first: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="REPORT")]
    second: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="REPORT")]
    json: bool = False  # one JSON object

    def run(self) -> None:
        """Reads both and prints the cells that they share."""
        found = compare(read_source(self.first), read_source(self.second))
        if self.json:
            print(json.dumps(found.as_dict()))
            return
        _show(Console(width=None if Console().is_terminal else 140, highlight=False), found)


def _show(console: Console, found: ReportComparison) -> None:
    for metric in dict.fromkeys(cell.metric for cell in found.cells):
        table = Table(f"\n{metric}", "\ncontestant", box=None, pad_edge=False)
        for name in ("first", "second", "difference", "seeds"):
            table.add_column(f"\n{name}", justify="right")
        for cell in found.cells:
            if cell.metric == metric:
                seeds = str(cell.seeds or "")
                estimates = (cell.first, cell.second, cell.difference)
                table.add_row(cell.arm, cell.model or "as seated", *map(_written, estimates), seeds)
        console.print(table)
    console.print(f"\nfirst: {found.first}\nsecond: {found.second}", markup=False)
    for kind, sides in found.only.items():
        for side, names in zip(("first", "second"), sides, strict=True):
            if names:
                told = ", ".join(name or "as seated" for name in names)
                console.print(f"{kind} in the {side} only: {told}", markup=False)
    for note in found.notes:
        console.print(f"note: {note}", markup=False)


def _written(one: Estimate | None) -> str:
    return "" if one is None else str(one)
