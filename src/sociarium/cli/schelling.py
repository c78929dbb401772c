"""`sociarium schelling NAME`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import sociarium
from sociarium.catalogue import Entry, find, full_name, short_name, worlds
from sociarium.charters.society import Society
from sociarium.cli.checks import World
from sociarium.core.errors import BadArgument
from sociarium.evaluation import plots
from sociarium.evaluation.schelling import (
    AGREEMENTS,
    CONDITIONS,
    COOPERATOR,
    DEFECTOR,
    Diagram,
    before_and_after,
    shared_seeds,
)
from sociarium.players import roster
from sociarium.views.progress import progress


@dataclass(frozen=True)
class Schelling:
    """Measure what kind of dilemma a world is: what cooperating and defecting pay beside others.

    Plays every mixture of cooperators and defectors, seats drawn by lot, and compares what each
    earns with every number of cooperating co-players. In a society that is what its charter leaves.
    """

    world: World = ""  # catalogue name, e.g. clean_up
    all: bool = False  # every world that has scripted cooperators and defectors
    cooperators: str = COOPERATOR  # a seat, as script:cooperator or policy:RUN (all its seeds)
    defectors: str = DEFECTOR  # a seat of another kind
    episodes: int = 30  # for each mixture, and each training seed
    seed: int = 0
    players: int | None = None  # how many, instead of the default
    out: Path | None = None  # write the diagram to x.svg or x.png; with --all a folder
    json: bool = False  # one JSON object a line instead of tables

    def run(self) -> None:
        """Plays, prints and draws one world after the other."""
        names = chosen(self.world, self.all)
        if self.episodes < 1:
            raise BadArgument(f"--episodes must be at least 1; given {self.episodes}")
        if self.out is not None:
            plots.checked(self._path(names[0]))
        for name in names:
            entry, env = find(name), sociarium.make(name, players=self.players)
            with progress(f"{env.id}, {env.players} players") as on_progress:
                raw, left = before_and_after(
                    env,
                    self.cooperators,
                    self.defectors,
                    episodes=self.episodes,
                    seed=self.seed,
                    on_progress=on_progress,
                )
            diagram = left if isinstance(env, Society) else raw
            if self.out is not None:
                self._draw(entry, env.id, env.sheet.title, diagram)
            if self.json:
                print(json.dumps(self._row(entry, env.id, diagram)), flush=True)
            else:
                _show(entry, env.id, diagram)

    def _row(self, entry: Entry, name: str, diagram: Diagram) -> dict[str, Any]:
        return {
            "env": name,
            "players": diagram.players,
            "cooperators": self.cooperators,
            "defectors": self.defectors,
            "episodes": self.episodes,
            "seed": self.seed,
            **diagram.as_dict(),
            "training_seeds": self._training_seeds(),
            "paper_asserts": entry.asserts,
            "paper_agreement": diagram.agreement(entry.asserts),
        }

    def _training_seeds(self) -> tuple[int, ...]:
        return shared_seeds(roster.chair(self.cooperators), roster.chair(self.defectors))

    def _path(self, name: str) -> Path:
        assert self.out is not None
        return self.out / f"{short_name(name)}.svg" if self.all else self.out

    def _draw(self, entry: Entry, name: str, title: str, diagram: Diagram) -> None:
        footnote = (
            f"{self.cooperators} and {self.defectors}; {self.episodes} episodes a mixture, "
            "95% bootstrap intervals."
        )
        if seeds := self._training_seeds():
            footnote += f" Training seeds {', '.join(map(str, seeds))}."
        if entry.asserts:
            footnote += f" The paper asserts {entry.asserts}."
        plots.save(diagram, self._path(name), title=f"{title} ({name})", footnote=footnote)


def chosen(world: str, every: bool) -> list[str]:
    """The full name of the world asked for, or of all that have scripted citizens."""
    if every == bool(world):
        raise BadArgument("name one world, or give --all")
    if not every:
        return [full_name(world)]
    return [entry.id for entry in worlds() if entry.kind == "dilemma"]


def _show(entry: Entry, name: str, diagram: Diagram) -> None:
    console = Console(width=None if Console().is_terminal else 100)
    table = Table(box=None, pad_edge=False)
    table.add_column("co-players who cooperate", justify="right")
    table.add_column("cooperating pays", justify="right")
    table.add_column("defecting pays", justify="right")
    for others, (c, d) in enumerate(zip(diagram.r_c, diagram.r_d, strict=True)):
        table.add_row(str(others), str(c), str(d))
    console.print(f"\n[bold]{name}[/bold]\n")
    console.print(table, highlight=False)
    console.print(f"\nfear  {diagram.fear}\ngreed {diagram.greed}\n", highlight=False)
    for name, holds in diagram.conditions.items():
        mark = "[green]holds [/green]" if holds else "[red]fails [/red]"
        console.print(f"{mark}  {CONDITIONS[name]}", highlight=False)
    verdict = "a social dilemma" if diagram.dilemma else "not a social dilemma"
    console.print(f"\nMeasured class: {diagram.kind}; {verdict}.", highlight=False)
    if entry.asserts:
        word = AGREEMENTS[diagram.agreement(entry.asserts)]
        console.print(f"The paper asserts {entry.asserts}: {word}.", highlight=False)
