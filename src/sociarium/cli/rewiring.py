"""`sociarium rewiring`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from sociarium.cli.checks import Steps
from sociarium.core.errors import BadArgument
from sociarium.evaluation import figures, rewiring, rewiring_study
from sociarium.views.progress import progress


@dataclass(frozen=True)
class Rewiring:
    """Draw where cooperation lasts on a graph that players may rewire: temptation against rate.

    Conditional cooperators and defectors, each with a few contacts. No training.
    """

    players: str = "10,100,1000,10000"  # one diagram for each number
    temptations: int = 9  # from 1 to 2
    rates: int = 9  # rewiring a step: none, then doubling up to 1
    steps: Steps = 1000
    seeds: int = 3
    out: Path | None = None  # draw to x.svg or x.png, and write x.json beside it
    json: bool = False  # one JSON object a line instead of tables

    def run(self) -> None:
        """Plays, prints and draws."""
        if not all(word.isdigit() and int(word) > 2 for word in self.players.split(",")):
            raise BadArgument(
                f"--players are numbers above 2, as in 10,1000; given {self.players!r}"
            )
        if min(self.temptations, self.rates, self.steps, self.seeds) < 2:
            raise BadArgument("--temptations, --rates, --steps and --seeds must be at least 2")
        if self.out is not None:
            figures.check_path(self.out)
        temptations = np.linspace(1, 2, self.temptations).tolist()
        rates = [0.0, *(2.0**-power for power in range(self.rates - 2, -1, -1))]
        counts, phases = [int(word) for word in self.players.split(",")], []
        with progress("rewiring") as on_progress:
            for number, players in enumerate(counts):
                on_progress(number, len(counts))
                length = {"steps": self.steps, "seeds": self.seeds}
                phases.append(rewiring_study.phase(players, temptations, rates, **length))
            on_progress(len(counts), len(counts))
        if self.out is not None:
            note = (
                f"{rewiring.CONTACTS} contacts each, half conditional cooperators at the start, "
                f"{self.steps} steps, means of {self.seeds} seeds."
            )
            rewiring_study.save(phases, self.out, note)
            rows = [self._row(found) for found in phases]
            self.out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
        for found in phases:
            if self.json:
                print(json.dumps(self._row(found)), flush=True)
            else:
                _show(found)

    def _row(self, found: rewiring_study.Phase) -> dict[str, Any]:
        return {
            "players": found.players,
            "steps": self.steps,
            "seeds": self.seeds,
            "temptations": found.temptations,
            "rewirings": found.rewirings,
            "cooperation": found.cooperation.tolist(),
        }


def _show(found: rewiring_study.Phase) -> None:
    table = Table(
        box=None, pad_edge=False, title=f"{found.players:,} players", title_justify="left"
    )
    table.add_column("temptation", justify="right")
    for rate in found.rewirings:
        table.add_column(f"{rate:.3g}", justify="right")
    for temptation, row in zip(found.temptations, found.cooperation, strict=True):
        table.add_row(f"{temptation:.3g}", *(f"{share:.2f}" for share in row))
    Console(width=None if Console().is_terminal else 100).print(table, highlight=False)
