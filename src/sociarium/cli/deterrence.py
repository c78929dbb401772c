"""`sociarium deterrence WORLD`."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from sociarium.catalogue import short_name
from sociarium.cli.checks import World, WorldCommand, at_least
from sociarium.cli.schelling import chosen
from sociarium.evaluation import deterrence
from sociarium.metrics.bootstrap import Estimate
from sociarium.views.progress import progress


@dataclass(frozen=True)
class DeterrenceCommand(WorldCommand):
    """Find how large a fine must be for cooperation to be a best response, without training.

    Plays every mixture of scripted cooperators and defectors under a law with a fine that goes to
    nobody.
    """

    world: World = ""  # catalogue name, e.g. clean_up
    all: bool = False  # every dilemma, under a law of its own
    law: str = ""  # a clause with a fine of 1 to nobody, instead of the world's own
    episodes: int = 30  # for each mixture
    seed: int = 0
    out: Path | None = None  # write x.json
    json: bool = False  # one JSON object a line instead of a table

    def run(self) -> None:
        """Plays and prints one world after the other."""
        at_least("episodes", self.episodes)
        found = []
        for name in chosen(self.world, self.all):
            with progress(name) as on_progress:
                one = deterrence.deterrence(
                    name,
                    self.law,
                    episodes=self.episodes,
                    seed=self.seed,
                    on_progress=on_progress,
                )
            found.append(one)
            if self.json:
                print(json.dumps(one.as_dict()), flush=True)
            if self.out is not None:
                self.out.parent.mkdir(parents=True, exist_ok=True)
                self.out.write_text(json.dumps([d.as_dict() for d in found], indent=1) + "\n")
        if not self.json:
            _show(found)


def fine(value: Estimate) -> str:
    """A fine in words: nothing is needed, or nothing is enough."""
    if value.high == 0:
        return "none needed"
    if not np.isfinite(value.low):
        return "none is enough"
    if not np.isfinite(value.high):
        return f"{value.mean:.2f} [{value.low:.2f}, ...]"
    return str(value)


def _show(found: list[deterrence.Deterrence]) -> None:
    table = Table("world", "law", box=None, pad_edge=False)
    for column in ("among cooperators", "among defectors", "dominant"):
        table.add_column(column, justify="right")
    for one in found:
        fines = (one.among, one.alone, one.dominant)
        table.add_row(short_name(one.world), one.law, *map(fine, fines))
    console = Console(width=None if Console().is_terminal else 150)
    console.print(table, highlight=False)
    console.print(
        "\nThe fine for one breach above which a player does not gain by defecting: where all "
        "others cooperate, where all others defect, and wherever.",
        highlight=False,
        soft_wrap=True,
    )
