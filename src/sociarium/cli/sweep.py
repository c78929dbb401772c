"""`sociarium sweep ALGORITHM WORLD --grid NAME=VALUE,VALUE`."""

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from sociarium import catalogue
from sociarium.cli.checks import On, Steps, WorldCommand
from sociarium.cli.train import Train, check_folder, filename, pairs, shown, trained
from sociarium.cluster import parse_engine
from sociarium.core import disk
from sociarium.core.errors import BadArgument, CannotRead
from sociarium.core.manifest import MANIFEST
from sociarium.learning import preferences
from sociarium.learning.folder import METRICS, RunFolder
from sociarium.learning.run_summary import run_summary
from sociarium.learning.studies import state_of
from sociarium.learning.train_on_ray import train_on_ray
from sociarium.learning.training import Plan, Training

REPORT = "sweep.json"
OF_A_PLAN = ("preference", "players")  # what a grid may have besides the algorithm's numbers


@dataclass(frozen=True)
class Sweep(WorldCommand):
    """Train every combination of some values, one after the other, and compare.

    Each has a run folder of its own below --out. Started again after an interruption, or with more
    values, it trains only what is not finished. Values are separated by commas; a preference keeps
    its own, as in preference=selfish,svo:45,0.2,svo:90 (three of them).
    """

    algorithm: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(metavar="ALGORITHM", help="as in `sociarium train`"),
    ]
    world: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(metavar="WORLD", help="catalogue name, e.g. coins"),
    ]
    grid: Annotated[
        tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]],
        tyro.conf.arg(
            metavar="NAME=VALUE,VALUE ...",
            help="preference, players or a number of the algorithm, with its values",
        ),
    ] = ()
    preference: str = ""  # of all, unless the grid has some
    steps: Steps = 1_000_000  # for each seed; 2_000_000, 2e6 or 2m
    seeds: int = 1  # how many in each combination
    seed: int = 0  # the first of them
    players: int | None = None  # how many, instead of the default
    others: str = ""  # frozen players in the last seats, e.g. "script:defector*3"
    curriculum: str = ""  # numbers of the rules over training, e.g. contract (see docs/training.md)
    settings: Annotated[
        tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]],
        tyro.conf.arg(
            name="set",
            metavar="NAME=VALUE ...",
            help="numbers of the algorithm in all, e.g. lanes=256",
        ),
    ] = ()
    out: Path | None = None  # folder of the runs; by default runs/sweep-<world>-<algorithm>
    on: On = "local"
    json: bool = False  # one JSON object at the end instead of a table

    def run(self) -> None:
        """Trains what is not finished, then tabulates everything."""
        cluster = parse_engine(self.on)
        grid = parse_grid(word for group in self.grid for word in group)
        cells = [
            dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
        ]
        world = catalogue.full_name(self.world)
        out = self.out or Path("runs") / filename(f"sweep-{world}-{self.algorithm}")
        folders = [out / filename(",".join(f"{k}={v}" for k, v in cell.items())) for cell in cells]
        workers = None
        if cluster and any(state_of(folder) != "finished" for folder in folders):
            workers = cluster.connect()
        plans = [self._plan(cell) for cell in cells]
        states = [_state(plan, folder) for plan, folder in zip(plans, folders, strict=True)]
        waiting = [cell for cell, state in enumerate(states) if state != "finished"]
        over: dict[Path, dict[str, Any]] = {}
        if workers:
            missing = {check_folder(folders[cell]): plans[cell] for cell in waiting}
            for _ in train_on_ray(workers, missing, out.name):
                _write(out / REPORT, self._report(grid, cells, folders, over))
            workers.close()
        else:
            for number, cell in enumerate(waiting, 1):
                trained(
                    plans[cell],
                    folders[cell],
                    resume=states[cell] == "unfinished",
                    what=f"{number} of {len(waiting)}, {folders[cell].name}",
                    again="the same command",
                )
                _write(out / REPORT, self._report(grid, cells, folders, over))
        report = self._report(grid, cells, folders, over)
        _write(out / REPORT, report)
        if self.json:
            print(json.dumps(report))
        else:
            _show(report, out)

    def _plan(self, cell: Mapping[str, str]) -> Plan:
        words = tuple(f"{name}={value}" for name, value in cell.items() if name not in OF_A_PLAN)
        try:
            players = int(cell["players"]) if "players" in cell else self.players
        except ValueError:
            raise BadArgument(f"players is a whole number; given {cell['players']!r}") from None
        return Train(
            self.algorithm,
            self.world,
            preference=cell.get("preference", self.preference),
            steps=self.steps,
            seeds=self.seeds,
            seed=self.seed,
            players=players,
            others=self.others,
            curriculum=self.curriculum,
            settings=(*self.settings, words),
        ).plan()

    def _report(
        self,
        grid: Mapping[str, Any],
        cells: Sequence[Mapping[str, str]],
        folders: Sequence[Path],
        over: dict[Path, dict[str, Any]],
    ) -> dict[str, Any]:
        """What every combination came to; those that have not begun say so.

        `over` remembers finished ones, which are read once.
        """
        runs = []
        for cell, folder in zip(cells, folders, strict=True):
            row = over.get(folder) or _row(folder)
            if row["finished"]:
                over[folder] = row
            runs.append({**cell, "folder": folder.name, **row})
        return {
            "algorithm": self.algorithm,
            "world": catalogue.full_name(self.world),
            "steps": self.steps,
            "seeds": list(range(self.seed, self.seed + self.seeds)),
            "grid": dict(grid),
            "runs": runs,
        }


def parse_grid(words: Iterable[str]) -> dict[str, list[str]]:
    """The values of each name; those of a preference begin where a preference is named."""
    kinds = "|".join(preferences.FORMS)
    grid = {}
    for name, text in pairs("grid", words).items():
        comma = rf",(?=(?:{kinds})\b)" if name == "preference" else ","
        grid[name] = list(dict.fromkeys(re.split(comma, text)))
    if not grid:
        raise BadArgument(
            "a sweep needs at least one --grid, as in --grid preference=selfish,common"
        )
    return grid


def _state(plan: Plan, folder: Path) -> str:
    """How far a combination is; one that was begun with other arguments is refused."""
    config = Training(plan).config
    if not (folder / MANIFEST).exists():
        return "not begun"
    RunFolder(folder).expect(config)
    return state_of(folder)


def _row(folder: Path) -> dict[str, Any]:
    """What a run came to so far; one that begins again has no figures for a moment."""
    known = {}
    if (folder / METRICS).exists():
        try:
            known = run_summary(folder)
        except CannotRead:
            if state_of(folder) == "finished":
                raise
    row = {name: known.get(name) for name in ("steps", "finished", "return", "cooperation")}
    return {**row, "finished": bool(row["finished"])}


def _write(file: Path, report: Mapping[str, Any]) -> None:
    disk.replace(file, json.dumps(report, indent=1).encode() + b"\n")


def _show(report: Mapping[str, Any], out: Path) -> None:
    console = Console(width=None if Console().is_terminal else 100)
    table = Table(box=None, pad_edge=False)
    for name in report["grid"]:
        table.add_column(name)
    rated = any(rate is not None for run in report["runs"] for rate in run["cooperation"])
    for title in ("collective return", "range over seeds", *["cooperation"] * rated):
        table.add_column(title, justify="right")
    for run in report["runs"]:
        returns = [x for x in run["return"] if x is not None]
        rates = [x for x in run["cooperation"] if x is not None]
        table.add_row(
            *(run[name] for name in report["grid"]),
            shown(float(np.mean(returns)) if returns else None, 1),
            f"{min(returns):.1f} to {max(returns):.1f}" if returns else "",
            *[shown(float(np.mean(rates)), 2) if rates else ""] * rated,
        )
    steps = f"{report['steps']:,} steps, {len(report['seeds'])} seeds"
    console.print(f"\n{report['algorithm']} in {report['world']}, {steps}", highlight=False)
    console.print("means over the last tenth of the training\n", style="dim")
    console.print(table, highlight=False)
    console.print(f"\n{out / REPORT} has the same by seed.", highlight=False, soft_wrap=True)
