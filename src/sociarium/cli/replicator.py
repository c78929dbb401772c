"""`sociarium replicator WORLD`."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import sociarium
from sociarium.cli.checks import World, WorldCommand, at_least
from sociarium.core.errors import BadArgument
from sociarium.evaluation import plots, replicator
from sociarium.players import roster
from sociarium.views.progress import progress


@dataclass(frozen=True)
class Replicator(WorldCommand):
    """Let kinds of player spread by what they earn: replicator dynamics over groups of them.

    Every composition of a group is played. From equal shares, kinds that earn more than the mean
    spread. A number of the rules can be varied, as in --vary sanction.ratio=1,2,3.
    """

    world: World  # catalogue name, e.g. clean_up+sanction?ways=punish
    seats: str = "script:cooperator script:defector script:punisher"  # one of each kind
    vary: str = ""  # NAME=VALUE,VALUE
    episodes: int = 20  # for each composition and each value
    seed: int = 0
    players: int | None = None  # how many, instead of the default
    out: Path | None = None  # draw the shares to x.svg or x.png, and write x.json beside it
    json: bool = False  # one JSON object instead of a table

    def run(self) -> None:
        """Plays, prints and draws."""
        at_least("episodes", self.episodes)
        if self.out is not None:
            plots.checked(self.out)
        varied, values = _varied(self.vary)
        env = sociarium.make(self.world, players=self.players)
        kinds = [str(seat) for seat in roster.parse(self.seats)]
        with progress(env.id) as on_progress:
            found = replicator.payoffs(
                env,
                kinds,
                varied,
                values,
                episodes=self.episodes,
                seed=self.seed,
                on_progress=on_progress,
            )
        if self.out is not None:
            note = (
                f"Groups of {env.players}, {self.episodes} episodes for each composition, 95% "
                "bootstrap intervals over episodes; from equal shares."
            )
            replicator.save(found, self.out, note)
            self.out.with_suffix(".json").write_text(json.dumps(found.as_dict()) + "\n")
        if self.json:
            print(json.dumps(found.as_dict()))
        else:
            _show(found)


def _varied(text: str) -> tuple[str, tuple[float, ...]]:
    """The name and the values of what is varied."""
    if not text:
        return "", (0.0,)
    name, _, values = text.partition("=")
    try:
        numbers = tuple(float(value) for value in values.split(","))
    except ValueError:
        numbers = ()
    if name and numbers and all(map(math.isfinite, numbers)):
        return name, numbers
    raise BadArgument(f"--vary is NAME=VALUE,VALUE, as in sanction.ratio=1,3; given {text!r}")


def _show(found: replicator.Payoffs) -> None:
    table = Table(found.varied or "", box=None, pad_edge=False)
    for kind in found.kinds:
        table.add_column(kind, justify="right")
    for number, value in enumerate(found.values):
        both = zip(found.ends[number], found.vanish[number], strict=True)
        told = (f"{end}; {vanishes}" for end, vanishes in both)
        table.add_row(f"{value:g}" if found.varied else "", *told)
    console = Console(width=None if Console().is_terminal else 120)
    console.print(
        f"\nShares after {replicator.GENERATIONS} generations from equal ones; then from what "
        "share of all starts a kind vanishes.\n",
        highlight=False,
        soft_wrap=True,
    )
    console.print(table, highlight=False)
