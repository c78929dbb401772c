"""`sociarium schelling NAME`."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import sociarium
from sociarium.catalogue import Entry, find, full_name, short_name, worlds
from sociarium.charters.society import Society
from sociarium.cli.checks import Steps, World, WorldCommand, at_least
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation import plots
from sociarium.evaluation.prompted_schelling import play_mixtures, prompted_seats
from sociarium.evaluation.schelling import (
    AGREEMENTS,
    CONDITIONS,
    COOPERATOR,
    DEFECTOR,
    Diagram,
    before_and_after,
    shared_seeds,
)
from sociarium.language.models.config import find_models
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.players import roster
from sociarium.views.progress import OnProgress, progress


@dataclass(frozen=True)
class Schelling(WorldCommand):
    """Measure what kind of dilemma a world is: what cooperating and defecting pay beside others.

    Plays every mixture of cooperators and defectors, seats drawn by lot, and compares what each
    earns with every number of cooperating co-players. In a society that is what its charter leaves.
    With --model both are one language model, told to cooperate or to defect; what is played is kept
    in --runs, so that the same command goes on where it was stopped or killed.
    """

    world: World = ""  # catalogue name, e.g. clean_up
    all: bool = False  # every world that has scripted cooperators and defectors
    cooperators: str = COOPERATOR  # a seat, as script:cooperator or policy:RUN (all its seeds)
    defectors: str = DEFECTOR  # a seat of another kind
    model: str = ""  # an alias of models.toml, or fake, instead of both
    models: Path | None = None  # models.toml; else that of this folder, then the user's own
    runs: Path | None = None  # folder of what a model plays; by default runs/schelling-WORLD-ALIAS
    episodes: int = 30  # for each mixture, and each training seed
    seed: int = 0
    steps: Steps | None = None  # of each episode, at most; otherwise the world's own
    players: int | None = None  # how many, instead of the default
    out: Path | None = None  # write the diagram to x.svg or x.png; with --all a folder
    json: bool = False  # one JSON object a line instead of tables

    def run(self) -> None:
        """Plays, prints and draws one world after the other."""
        names = chosen(self.world, self.all)
        at_least("episodes", self.episodes)
        at_least("steps", self.steps)
        seats = self._seats()
        if self.out is not None:
            plots.checked(self._path(names[0]))
        for name in names:
            entry, env = find(name), sociarium.make(name, players=self.players)
            with progress(f"{env.id}, {env.players} players") as on_progress:
                diagram = self._played(name, env, seats, on_progress)
            if self.out is not None:
                self._draw(entry, env.id, env.sheet.title, diagram)
            if self.json:
                print(json.dumps(self._row(entry, env.id, diagram)), flush=True)
            else:
                _show(entry, env.id, diagram)

    def _seats(self) -> tuple[str, str]:
        """The cooperators and the defectors."""
        if not self.model:
            if self.runs is not None or self.models is not None:
                raise BadArgument("--runs and --models are for a language model; say also --model")
            return self.cooperators, self.defectors
        if (self.cooperators, self.defectors) != (COOPERATOR, DEFECTOR):
            raise BadArgument(
                "--model is told to cooperate and to defect; leave out --cooperators and "
                "--defectors, or --model"
            )
        if self.seed:
            raise BadArgument("episodes of a model have the seeds 0, 1, ...; leave out --seed")
        return prompted_seats(self.model)

    def _played(
        self,
        name: str,
        env: Environment[Any, Any],
        seats: tuple[str, str],
        on_progress: OnProgress,
    ) -> Diagram:
        given: dict[str, Any] = {"episodes": self.episodes, "steps": self.steps}
        given["on_progress"] = on_progress
        if not self.model:
            raw, left = before_and_after(env, *seats, seed=self.seed, **given)
            return left if isinstance(env, Society) else raw
        with use_runtime(ModelRuntime(find_models(self.models))):
            return play_mixtures(name, env, *seats, self._folder(name), **given)

    def _folder(self, name: str) -> Path:
        """Where what a model plays in a world is kept."""
        plain = re.sub(r"[^\w.-]+", "-", f"schelling-{short_name(name)}-{self.model}")
        if self.runs is None:
            return Path("runs") / plain
        return self.runs / plain if self.all else self.runs

    def _row(self, entry: Entry, name: str, diagram: Diagram) -> dict[str, Any]:
        cooperators, defectors = self._seats()
        return {
            "env": name,
            "players": diagram.players,
            "cooperators": cooperators,
            "defectors": defectors,
            "episodes": self.episodes,
            "steps": self.steps,
            "seed": self.seed,
            **diagram.as_dict(),
            "training_seeds": self._training_seeds(),
            "paper_asserts": entry.asserts,
            "paper_agreement": diagram.agreement(entry.asserts),
        }

    def _training_seeds(self) -> tuple[int, ...]:
        cooperators, defectors = self._seats()
        return shared_seeds(roster.chair(cooperators), roster.chair(defectors))

    def _path(self, name: str) -> Path:
        assert self.out is not None
        return self.out / f"{short_name(name)}.svg" if self.all else self.out

    def _draw(self, entry: Entry, name: str, title: str, diagram: Diagram) -> None:
        seeds = self._training_seeds()
        kind = "Student's 95% intervals over seeds" if len(seeds) > 1 else "95% bootstrap intervals"
        footnote = f"{' and '.join(self._seats())}; {self.episodes} episodes a mixture, {kind}."
        if seeds:
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
