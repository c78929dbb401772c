"""`sociarium verify PACK`."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from sociarium.evaluation.pack import read_pack
from sociarium.evaluation.pack_verification import PackVerdict, verify_pack


@dataclass(frozen=True)
class VerifyCommand:
    """Check a pack, without a network: its seal, its units by playing them again, its report.

    Packs from others are safe to check: no model and no program that sat in them is called, and
    worlds that are larger than usual are not played unless you say --trust.
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="PACK")]  # of `pack`
    quick: bool = False  # only the seal and the report; nothing is played
    trust: bool = False  # play whatever it asks for
    json: bool = False  # one JSON object

    def run(self) -> None:
        """Checks, and says what was checked."""
        verdict = verify_pack(read_pack(self.file), self.quick, self.trust)
        if self.json:
            print(json.dumps({**asdict(verdict), "verified": True}))
            return
        console = Console(highlight=False, soft_wrap=True)
        console.print(_table(verdict, self.quick))
        for note in verdict.notes:
            console.print(f"note: {note}", markup=False)
        console.print(f"{self.file}: {_said(verdict, self.quick)}", markup=False)
        console.print(f"digest {verdict.digest}", markup=False)


def _said(verdict: PackVerdict, quick: bool) -> str:
    """What may be concluded, and no more."""
    if quick:
        return "the seal is whole and the report follows from the units; nothing was played again"
    left = sum(verdict.not_replayed.values())
    if left:
        return f"nothing differs in what was played again; {left} units were not"
    return "every unit was played again, and nothing differs"


def _table(verdict: PackVerdict, quick: bool) -> Table:
    rows = [
        ("members as they were sealed", verdict.members),
        ("units that the report follows from", verdict.units),
    ]
    if not quick:
        rows += [
            ("units played again, with equal values", verdict.played),
            ("units played again from recorded calls of models", verdict.from_calls),
            ("units played again from what was done", verdict.from_records),
        ]
        rows += [(f"units not replayed: {why}", n) for why, n in verdict.not_replayed.items()]
    table = Table("checked", box=None, pad_edge=False)
    table.add_column("", justify="right")
    for what, count in rows:
        table.add_row(what, str(count))
    return table
