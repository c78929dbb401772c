"""`sociarium bench-train ALGORITHM WORLD`."""

import json
from dataclasses import dataclass

import tyro
from rich.console import Console
from rich.table import Table

from sociarium.cli.checks import World, WorldCommand
from sociarium.core.errors import BadArgument
from sociarium.learning import presets
from sociarium.learning.benchmark import TrainSpeed, measure
from sociarium.learning.training import Plan


@dataclass(frozen=True)
class BenchTrain(WorldCommand):
    """Measure how fast training runs on all cores, and what it spends its time on.

    `env_share` is the part of the time in which the world is stepped and views are made; `ratio`
    compares the whole update with the same update on a frozen, recorded batch.
    """

    algorithm: tyro.conf.Positional[str]  # ippo, mappo, recppo ...
    world: World  # catalogue name, e.g. harvest_open
    preference: str = "selfish"
    set: tuple[str, ...] = ()  # settings of the algorithm, as in lanes=128 torso=paper
    seconds: float = 20.0  # how long to time
    json: bool = False  # one JSON object instead of a table

    def run(self) -> None:
        """Prints one row."""
        words = dict(_pair(word) for word in self.set)
        settings = presets.parse_settings(self.algorithm, words)
        plan = Plan(self.algorithm, self.world, self.preference, 10**9, settings=settings)
        console = Console(stderr=True)
        what = f"{self.algorithm} in {self.world}"
        with console.status(what) as status:
            speed = measure(
                plan,
                seconds=self.seconds,
                on_progress=lambda stage: status.update(f"{what}: {stage}"),
            )
        if self.json:
            print(json.dumps(speed.as_dict()))
        else:
            Console(width=None if Console().is_terminal else 100).print(_table(speed))


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise BadArgument(f"--set takes name=value, as in lanes=128; given {word!r}")
    return name, value


def _table(speed: TrainSpeed) -> Table:
    table = Table("world", "algorithm", box=None, pad_edge=False)
    for title in ("lanes", "env steps/s", "env share", "ratio", "compile s"):
        table.add_column(title, justify="right")
    table.add_row(
        speed.world,
        speed.algorithm,
        str(speed.lanes),
        f"{speed.env_steps_per_s:,.0f}",
        f"{speed.env_share:.0%}",
        f"{speed.ratio:.2f}",
        f"{speed.compile_s:.1f}",
    )
    return table
