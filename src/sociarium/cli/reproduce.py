"""`sociarium reproduce STUDY`."""

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from sociarium import catalogue
from sociarium.core.errors import BadArgument
from sociarium.core.manifest import read_manifest
from sociarium.evaluation import learning_curves
from sociarium.evaluation.crossplay import play_beside
from sociarium.evaluation.policy_returns import PolicyReturns, policy_returns
from sociarium.learning import studies
from sociarium.learning.curriculum import Curriculum
from sociarium.learning.folder import METRICS, read_metrics
from sociarium.learning.progress import training_progress
from sociarium.learning.studies import Cell, Study
from sociarium.learning.training import train_into
from sociarium.metrics.bootstrap import Estimate, over_seeds
from sociarium.players.roster import Seat

EVALUATION = "evaluation.json"
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Reproduce:
    """Repeat a published experiment: train its runs, draw their curves, tabulate their returns.

    Runs are trained one after another into --out until the budget is used up; the next call goes
    on where this one stopped. Finished runs are not trained again, so --budget 0 draws from what is
    stored. Runs that are unfinished say so in the table and in the picture.
    """

    study: tyro.conf.Positional[str]  # as socialjax:fig2 or adasociety:contract
    budget: str = "0"  # time to train for, as in 90m or 2h
    out: Path | None = None  # folder of the runs; by default runs/<study>
    picture: Path | None = None  # .svg or .png; by default <out>/curves.svg
    only: tuple[str, ...] = ()  # names of runs or worlds; all if empty
    episodes: int = 20  # played by each finished seed's policy
    json: bool = False  # one JSON object instead of a table

    def run(self) -> None:
        """Trains what the budget allows, then shows what there is."""
        study = studies.find(self.study)
        out = self.out or Path("runs") / self.study.replace(":", "-")
        cells = [c for c in study.cells if not self.only or {c.name, c.panel} & set(self.only)]
        names = {name for cell in study.cells for name in (cell.name, cell.panel)}
        if strangers := [name for name in self.only if name not in names]:
            known = ", ".join(cell.name for cell in study.cells)
            raise BadArgument(
                f"--only names no run of {self.study}: {', '.join(strangers)}; its runs are {known}"
            )
        console = Console(stderr=True)
        self._train(study, cells, out, _seconds(self.budget), console)
        rows = [standing(cell, out / cell.name) for cell in cells]
        self._draw(study, cells, rows, out)
        if self.json:
            print(json.dumps({"study": self.study, "runs": rows}))
        else:
            Console(width=None if Console().is_terminal else 110).print(_table(rows))

    def _train(
        self, study: Study, cells: list[Cell], out: Path, budget: float, console: Console
    ) -> None:
        until = time.monotonic() + budget
        for number, cell in enumerate(cells, 1):
            folder = out / cell.name
            if studies.state_of(folder) != "finished" and time.monotonic() < until:
                what = f"{cell.name} ({number} of {len(cells)})"
                with training_progress(what) as on_progress:
                    train_into(
                        cell.plan_in(out),
                        folder,
                        resume=studies.state_of(folder) == "unfinished",
                        seconds=until - time.monotonic(),
                        tensorboard=False,
                        on_progress=on_progress,
                    )
            if studies.state_of(folder) == "finished" and not (folder / EVALUATION).exists():
                if not (folder / "weights").exists():
                    continue
                with console.status(f"{cell.name}: playing {self.episodes} episodes a seed"):
                    found = self._evaluated(cell, folder, study.partners)
                (folder / EVALUATION).write_text(json.dumps(found, indent=1) + "\n")

    def _evaluated(self, cell: Cell, folder: Path, partners: tuple[str, ...]) -> dict[str, Any]:
        """How the policies of a run do among themselves, and beside held-out partners."""
        env = catalogue.make(cell.plan.world, players=cell.plan.players)
        rules = Curriculum(env, cell.plan.curriculum).last(env.params())
        found = policy_returns(
            env, str(folder), cell.plan.seeds, episodes=self.episodes, params=rules
        ).as_dict()
        if partners:
            policies = [Seat("policy", str(folder), (("seed", str(n)),)) for n in cell.plan.seeds]
            beside = play_beside(env, policies, partners, episodes=self.episodes, seed=1_000_000)
            by_seed = beside.returns.mean((2, 3))
            found["beside"] = {
                "mean": over_seeds(by_seed).as_dict(),
                "partners": list(partners),
                "by_seed": by_seed.tolist(),
            }
        return found

    def _draw(self, study: Study, cells: list[Cell], rows: list[dict[str, Any]], out: Path) -> None:
        lines = [
            learning_curves.Line(
                cell.panel,
                cell.line,
                _figures(out / cell.name, "step"),
                _returns(out / cell.name),
                row["done"],
            )
            for cell, row in zip(cells, rows, strict=True)
        ]
        picture = self.picture or out / "curves.svg"
        learning_curves.save(lines, picture, title=study.title, footnote=study.source)


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
    for title in (
        "seeds",
        "steps",
        "collective return (IQM, 95%)",
        "cooperation",
        "state",
    ):
        table.add_column(title, justify="right")
    for row in rows:
        found = row.get("collective")
        table.add_row(
            row["run"],
            str(row["seeds"]),
            f"{row['steps'] / 1e6:g} M",
            str(Estimate(**found)) if found else "",
            PolicyReturns.told(row["cooperation"]) if found else "",
            f"unfinished, {row['done']:.0%}" if row["state"] == "unfinished" else row["state"],
        )
    return table
