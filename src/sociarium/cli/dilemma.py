"""`sociarium study dilemma NAME`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sociarium.catalogue import full_name, short_name, worlds
from sociarium.cli.checks import Steps, World, WorldCommand
from sociarium.cli.train import filename
from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses.dilemma import (
    DISCOUNTS,
    DilemmaVerdict,
    verdict,
    with_scripts_again,
)
from sociarium.metrics.bootstrap import Estimate

HOW = ("steps", "seeds", "episodes")  # of learners, and of each script


@dataclass(frozen=True)
class Dilemma(WorldCommand):
    """Ask of a world whether selfish learners fail in it, and why: socially, in time, or together.

    A learner is trained beside scripts of which none, half or all cooperate, and alone, with three
    discounts. Its kindness is 1 if it leaves the others as much as a scripted cooperator would, and
    0 if as little as a defector. Verdicts of stored worlds are drawn anew from their numbers.
    """

    world: World = ""  # catalogue name, e.g. clean_up
    all: bool = False  # every world for which the paper asserts a dilemma
    steps: Steps = 500_000  # of each learner
    seeds: int = 2
    episodes: int = 30  # of each script
    out: Path | None = None  # folder of one JSON file a world; stored learners are not redone
    baselines: bool = False  # play the scripts and random play of stored worlds again
    json: bool = False  # one JSON object a line instead of a table

    def run(self) -> None:
        """Trains, then prints one row for each world."""
        if self.all == bool(self.world):
            raise BadArgument("name one world, or give --all")
        if self.seeds < 1 or self.steps < 1:
            raise BadArgument(
                f"--seeds and --steps must be above 0; given {self.seeds}, {self.steps}"
            )
        every = [entry.id for entry in worlds() if entry.asserts]
        names = every if self.all else [full_name(self.world)]
        rows = []
        for number, name in enumerate(names, 1):
            rows.append(self._row(name, f"{name} ({number} of {len(names)})"))
            if self.json:
                print(json.dumps(rows[-1]), flush=True)
        if not self.json:
            Console(width=None if Console().is_terminal else 120).print(table(rows))

    def _row(self, name: str, what: str) -> dict[str, Any]:
        file = self.out / f"{filename(short_name(name))}.json" if self.out else None
        stored = json.loads(file.read_text()) if file is not None and file.exists() else None
        with Console(stderr=True).status(f"{what}: compiling") as status:
            if stored is None:
                found = verdict(
                    name,
                    steps=self.steps,
                    seeds=range(self.seeds),
                    episodes=self.episodes,
                    on_progress=lambda stage: status.update(f"{what}, {stage}"),
                )
                how = {"steps": self.steps, "seeds": self.seeds, "episodes": self.episodes}
            else:
                found, how = DilemmaVerdict.read(stored), {k: stored[k] for k in HOW}
                if self.baselines:
                    found = with_scripts_again(found, episodes=self.episodes)
                    how["episodes"] = self.episodes
        row = {**found.as_dict(), **how}
        if file is not None and row != stored:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(row, indent=1) + "\n")
        return row


def table(rows: list[dict[str, Any]]) -> Table:
    """What defecting earns more beside none, half and all, returns alone, and what fails."""
    shown = Table("world", box=None, pad_edge=False)
    for title in ("none", "half", "all", "alone, by discount", "what fails"):
        shown.add_column(title, justify="left" if title == "what fails" else "right")
    for row in rows:
        tempted = [row["settings"][name]["temptation"] for name in ("none", "half", "all")]
        alone = [row["solo"]["learner"][str(d)]["own"]["mean"] for d in DISCOUNTS]
        shown.add_row(
            row["world"],
            *[_estimate(found) for found in tempted],
            " ".join(f"{own:.3g}" for own in alone),
            what_fails(row),
        )
    return shown


def what_fails(row: dict[str, Any]) -> str:
    """The verdict in words."""
    alone = {
        "intertemporal": "; and in time",
        "not found alone": "; alone, no learner reaches the scripts",
    }
    return row["failure"] + alone.get(row["impatience"], "")


def _estimate(found: dict[str, float] | None) -> str:
    return "not defined" if found is None else str(Estimate.read(found))
