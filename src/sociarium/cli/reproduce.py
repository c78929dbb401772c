"""`sociarium reproduce STUDY`."""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import tyro
from jaxtyping import Float
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from sociarium import catalogue
from sociarium.cli.checks import On
from sociarium.cluster import RayCluster, parse_engine
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.manifest import read_manifest
from sociarium.evaluation import cuisine_bounds, cuisine_plot, cuisine_scores
from sociarium.evaluation.analyses import learning_curves
from sociarium.evaluation.analyses.crossplay import Crossplay
from sociarium.evaluation.analyses.policy_returns import (
    HELD_OUT,
    PolicyReturns,
    policies_of,
    policy_returns,
)
from sociarium.learning import studies
from sociarium.learning.curriculum import Curriculum
from sociarium.learning.folder import METRICS, read_metrics
from sociarium.learning.progress import training_progress
from sociarium.learning.studies import Cell, Study
from sociarium.learning.train_on_ray import train_on_ray
from sociarium.learning.training import train_into
from sociarium.metrics.bootstrap import Estimate, over_seeds
from sociarium.players.roster import Seat
from sociarium.views.progress import progress, silent

EVALUATION = "evaluation.json"
PLAYED = ("mindagent:bounds",)  # studies without training
KNOWN = (*studies.STUDIES, *PLAYED)
AnyCell = TypeVar("AnyCell", Cell, cuisine_bounds.LevelTeam)
_UNITS = {"s": 1, "m": 60, "h": 3600}


@runtime_checkable
class StudyRuns(Protocol):
    """Some runs of a study and their folder, whatever they are made of."""

    def advance(self, seconds: float) -> None:
        """Does what is missing, for so long at most."""
        ...

    def advance_on(self, cluster: RayCluster, seconds: float) -> None:
        """The same on the workers of a cluster."""
        ...

    def draw(self, picture: Path | None) -> Path:
        """Draws what is stored, to the usual file if none is given; which file it is."""
        ...

    def rows(self) -> list[dict[str, Any]]:
        """What is stored, as plain data."""
        ...

    def show(self, console: Console) -> None:
        """Prints what is stored."""
        ...


@dataclass(frozen=True)
class Reproduce:
    """Repeat a published experiment: train or play its runs, draw and tabulate what comes of them.

    Runs are made one after another into --out until the budget is used up; the next call goes
    on where this one stopped. Finished runs are not made again, so --budget 0 draws from what is
    stored. Runs that are unfinished say so in the table and in the picture.
    """

    study: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(metavar="STUDY", help=f"one of {', '.join(KNOWN)}")
    ]
    budget: str = "0"  # time to train or play for, as in 90m or 2h
    out: Path | None = None  # folder of the runs; by default runs/<study>
    picture: Path | None = None  # .svg or .png; by default <out>/curves.svg
    only: tuple[str, ...] = ()  # names of runs or worlds; all if empty
    episodes: int = 20  # played by each finished seed's policy
    on: On = "local"
    json: bool = False  # one JSON object instead of a table

    def run(self) -> None:
        """Does what the budget allows, then shows what there is."""
        cluster, runs, budget = parse_engine(self.on), self._runs(), _seconds(self.budget)
        if cluster is None:
            runs.advance(budget)
        else:
            runs.advance_on(cluster, budget)
        picture = runs.draw(self.picture)
        Console(stderr=True).print(f"The picture is {picture}.", highlight=False, soft_wrap=True)
        if self.json:
            print(json.dumps({"study": self.study, "runs": runs.rows()}))
        else:
            runs.show(Console(width=None if Console().is_terminal else 110))

    def _runs(self) -> StudyRuns:
        """The chosen runs of the study."""
        out = self.out or Path("runs") / self.study.replace(":", "-")
        if self.study in PLAYED:
            return PlayedRuns(tuple(self._chosen(cuisine_bounds.CELLS)), out)
        if self.study not in studies.STUDIES:
            raise UnknownName("study", self.study, (*studies.STUDIES, *PLAYED))
        study = studies.STUDIES[self.study]
        return TrainedRuns(study, tuple(self._chosen(study.cells)), out, self.episodes)

    def _chosen(self, cells: Sequence[AnyCell]) -> list[AnyCell]:
        names = {name for cell in cells for name in (cell.name, cell.panel)}
        if strangers := [name for name in self.only if name not in names]:
            known = ", ".join(cell.name for cell in cells)
            raise BadArgument(
                f"--only names no run of {self.study}: {', '.join(strangers)}; its runs are {known}"
            )
        return [c for c in cells if not self.only or {c.name, c.panel} & set(self.only)]


@dataclass(frozen=True)
class TrainedRuns:
    """Runs that are trained, whose policies then play some episodes."""

    study: Study
    cells: tuple[Cell, ...]
    out: Path
    episodes: int

    def advance(self, seconds: float) -> None:
        """Trains what is not finished, and has finished policies play."""
        until, console = time.monotonic() + seconds, Console(stderr=True)
        for number, cell in enumerate(self.cells, 1):
            folder = self.out / cell.name
            if studies.state_of(folder) != "finished" and time.monotonic() < until:
                what = f"{cell.name} ({number} of {len(self.cells)})"
                with training_progress(what) as on_progress:
                    train_into(
                        cell.plan_in(self.out),
                        folder,
                        resume=studies.state_of(folder) == "unfinished",
                        seconds=until - time.monotonic(),
                        tensorboard=False,
                        on_progress=on_progress,
                    )
            self._play(cell, console)

    def advance_on(self, cluster: RayCluster, seconds: float) -> None:
        """Trains many at once; finished policies play here. Partners are trained first."""
        workers = cluster.connect() if seconds and self._missing() else None
        until = time.monotonic() + seconds
        while workers and (ready := self._ready()) and time.monotonic() < until:
            plans = {self.out / cell.name: cell.plan_in(self.out) for cell in ready}
            left = until - time.monotonic()
            for _ in train_on_ray(workers, plans, self.out.name, seconds=left, tensorboard=False):
                pass
        if workers:
            workers.close()
        for cell in self.cells:
            self._play(cell, Console(stderr=True))

    def _missing(self) -> list[Cell]:
        """The runs that are not finished."""
        return [c for c in self.cells if studies.state_of(self.out / c.name) != "finished"]

    def _ready(self) -> list[Cell]:
        """The missing runs whose partners are there."""
        partners = [(cell, cell.partners_in(self.out)) for cell in self._missing()]
        return [c for c, at in partners if at is None or studies.state_of(at) == "finished"]

    def _play(self, cell: Cell, console: Console) -> None:
        """Has the policies of a finished run play, if they have not."""
        folder = self.out / cell.name
        if studies.state_of(folder) != "finished" or (folder / EVALUATION).exists():
            return
        if (folder / "weights").exists():
            with console.status(f"{cell.name}: playing {self.episodes} episodes a seed"):
                found = self._evaluated(cell, folder)
            (folder / EVALUATION).write_text(json.dumps(found, indent=1) + "\n")

    def _evaluated(self, cell: Cell, folder: Path) -> dict[str, Any]:
        """How the policies of a run do among themselves, and beside held-out partners."""
        env = catalogue.make(cell.plan.world, players=cell.plan.players)
        rules = Curriculum(env, cell.plan.curriculum).last(env.params())
        found = policy_returns(
            env, str(folder), cell.plan.seeds, episodes=self.episodes, params=rules
        ).as_dict()
        if self.study.partners:
            by_seed = self._beside(env, policies_of(str(folder), cell.plan.seeds))
            found["beside"] = {
                "mean": over_seeds(by_seed.mean(1)).as_dict(),
                "partners": list(self.study.partners),
                "by_seed": by_seed.tolist(),
                "baselines": {
                    name: self._beside(env, [name])[0].tolist() for name in self.study.baselines
                },
            }
        return found

    def _beside(
        self, env: Environment[Any, Any], focal: Sequence[str | Seat]
    ) -> Float[np.ndarray, "focal partners"]:
        """What each player earns on average beside each held-out partner."""
        partners, episodes = self.study.partners, self.episodes
        pairs = Crossplay(env, episodes, HELD_OUT, seats=focal, partners=partners)
        found = pairs.analyse(pairs.tables(on_progress=silent))
        return found.returns.mean((2, 3))

    def rows(self) -> list[dict[str, Any]]:
        """How far every run is, and how its policies do."""
        return [standing(cell, self.out / cell.name) for cell in self.cells]

    def draw(self, picture: Path | None) -> Path:
        """The learning curves."""
        lines = [
            learning_curves.Line(
                cell.panel,
                cell.line,
                _figures(self.out / cell.name, "step"),
                _returns(self.out / cell.name),
                row["done"],
            )
            for cell, row in zip(self.cells, self.rows(), strict=True)
        ]
        picture = picture or self.out / "curves.svg"
        learning_curves.save(lines, picture, title=self.study.title, footnote=self.study.source)
        return picture

    def show(self, console: Console) -> None:
        """A table of the runs."""
        console.print(_table(self.rows()))


@dataclass(frozen=True)
class PlayedRuns:
    """Cuisine's levels, played by scripts and by schedules."""

    cells: tuple[cuisine_bounds.LevelTeam, ...]
    out: Path

    @property
    def _study(self) -> cuisine_bounds.CuisineBounds:
        return cuisine_bounds.CuisineBounds(self.cells, self.out)

    def advance(self, seconds: float) -> None:
        """Plays what is missing."""
        with progress("cuisine") as on_progress:
            self._study.run(seconds, on_progress)

    def advance_on(self, cluster: RayCluster, seconds: float) -> None:
        """Refused."""
        raise BadArgument(
            "mindagent:bounds is made on one machine: its schedules have a limit of seconds each, "
            "and what is reached in them depends on what else a machine does. Leave out --on"
        )

    def rows(self) -> list[dict[str, Any]]:
        """The scores of drawn orders."""
        return cuisine_scores.summaries(cuisine_scores.Scores(self._study))

    def draw(self, picture: Path | None) -> Path:
        """Shares of orders on the main level."""
        scores = cuisine_scores.Scores(self._study)
        picture = picture or self.out / "curves.svg"
        cuisine_plot.save(scores, picture)
        return picture

    def show(self, console: Console) -> None:
        """The tables that stand in the documentation."""
        scores = cuisine_scores.Scores(self._study)
        console.print(Markdown("\n".join(cuisine_scores.markdown(scores))))


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if match is None:
        raise BadArgument(f"--budget is a time such as 45m or 2h, or 0; given {text!r}")
    return float(match[1]) * _UNITS[match[2] or "s"]


def _figures(folder: Path, name: str) -> np.ndarray:
    figures = read_metrics(folder) if (folder / METRICS).exists() else {}
    return figures.get(name, np.zeros(0))


def _returns(folder: Path) -> np.ndarray:
    found = _figures(folder, "return")
    return found if found.ndim == 2 else found[:, None]


def standing(cell: Cell, folder: Path) -> dict[str, Any]:
    """What is stored of a run: how far it is, and how its policies do if it is finished."""
    state = studies.state_of(folder)
    row: dict[str, Any] = {
        "run": cell.name,
        "world": cell.plan.world,
        "line": cell.line,
        "state": state,
        "seeds": len(cell.plan.seeds),
        "steps": cell.plan.steps,
    }
    steps = _figures(folder, "step")
    row["done"] = min(1.0, float(steps[-1]) / cell.plan.steps) if len(steps) else 0.0
    if state != "not begun":
        manifest = read_manifest(folder)
        row["sociarium"] = manifest["versions"]["sociarium"]
        row["network_version"] = manifest.get("network_version")
    if (folder / EVALUATION).exists():
        row |= json.loads((folder / EVALUATION).read_text())
    return row


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table("run", box=None, pad_edge=False)
    titles = ["seeds", "steps", "collective return (mean [95%])", "cooperation", "state"]
    if beside := any("beside" in row for row in rows):
        titles.insert(3, "own, beside held-out partners")
    for title in titles:
        table.add_column(title, justify="right")
    for row in rows:
        found, held_out = row.get("collective"), row.get("beside")
        table.add_row(
            row["run"],
            str(row["seeds"]),
            f"{row['steps'] / 1e6:g} M",
            str(Estimate.read(found)) if found else "",
            *([str(Estimate.read(held_out["mean"])) if held_out else ""] if beside else []),
            PolicyReturns.told(row["cooperation"], row["acts"] + row["refusals"]) if found else "",
            f"unfinished, {row['done']:.0%}" if row["state"] == "unfinished" else row["state"],
        )
    return table
