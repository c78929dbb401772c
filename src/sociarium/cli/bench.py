"""`sociarium bench NAME`."""

import json
import math
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

import sociarium
from sociarium.arena.benchmark import Speed, measure
from sociarium.catalogue import find, full_name, worlds
from sociarium.cli.checks import World
from sociarium.core.errors import BadArgument

FOOTNOTE = "CPU us: processor time for one player and step, all cores added up. --json shows more."


@dataclass(frozen=True)
class BenchCommand:
    """Measure steps a second under random play: views every step, resets included, all cores.

    Beside each world runs the bare engine, the least program that draws the same random words and
    shows the same views; `ratio` is the world's speed over the bare engine's.
    """

    world: World = ""  # catalogue name, e.g. harvest_open
    all: bool = False  # every world of the catalogue
    lanes: str = "1024"  # parallel copies; several separated by commas
    players: str = ""  # how many, instead of the default; several separated by commas
    same_density: bool = False  # repeat the map so that players have as much room as by default
    seconds: float = 8.0  # how long to time each row, about
    json: bool = False  # one JSON object a line instead of a table

    def run(self) -> None:
        """Prints one row for each world, number of players and number of lanes."""
        if self.all == bool(self.world):
            raise BadArgument("name one world, or give --all")
        every = [entry.id for entry in worlds() if not entry.charter]
        names = every if self.all else [full_name(self.world)]
        counts = _numbers(self.players, "players") or [None]
        console = Console(stderr=True)
        rows: list[Speed] = []
        for name in names:
            for players in counts:
                env = self._make(name, players)
                for lanes in _numbers(self.lanes, "lanes"):
                    row = self._measure(env, lanes, console)
                    rows.append(row)
                    if self.json:
                        print(json.dumps(row.as_dict()), flush=True)
        if not self.json:
            Console(width=None if Console().is_terminal else 100).print(_table(rows))
            Console().print(f"\n{FOOTNOTE}", style="dim")

    def _make(self, name: str, players: int | None) -> Any:
        if players is None or not self.same_density:
            return sociarium.make(name, players=players)
        copies = math.ceil(players / find(name).players)
        down = max(1, math.isqrt(copies))
        return sociarium.make(name, players=players, tiles=(down, math.ceil(copies / down)))

    def _measure(self, env: Any, lanes: int, console: Console) -> Speed:
        what = f"{env.id}, {lanes} lanes, {env.players} players"
        with console.status(what) as status:
            return measure(
                env,
                lanes,
                seconds=self.seconds,
                on_progress=lambda stage: status.update(f"{what}: {stage}"),
            )


def _numbers(text: str, what: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.replace("_", "").split(",") if part]
    except ValueError:
        numbers = [0]
    if any(number < 1 for number in numbers):
        raise BadArgument(
            f"--{what} takes whole numbers above 0 separated by commas; given {text!r}"
        )
    return numbers


def _table(rows: list[Speed]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("world", no_wrap=True)
    for title in ("lanes", "players", "env steps/s", "bare", "ratio", "CPU us", "compile s"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.env,
            f"{row.lanes:,}",
            f"{row.players:,}",
            f"{row.env_steps_per_s:,.0f}",
            f"{row.bare_env_steps_per_s:,.0f}",
            f"{row.ratio:.2f}",
            f"{row.cpu_us_per_player_step:.2f}",
            f"{row.compile_s:.1f}",
        )
    return table
