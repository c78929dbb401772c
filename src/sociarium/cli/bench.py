"""`sociarium bench NAME`."""

import json
import math
from dataclasses import dataclass
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

import sociarium
from sociarium.arena.benchmark import Speed, measure
from sociarium.arena.one_world import OneWorldSpeed
from sociarium.arena.one_world import measure as measure_one_world
from sociarium.catalogue import find, full_name, worlds
from sociarium.charters.society import Society
from sociarium.cli.checks import Steps, World, WorldCommand, at_least
from sociarium.cli.train import pairs
from sociarium.core.errors import BadArgument
from sociarium.core.facets import Shardable
from sociarium.core.mesh import CAPACITY
from sociarium.machine import configure, running

UNDER_CHARTER = (
    "only the world lies over the devices; under a charter each device computes the articles of "
    "all players, so more devices do not make the charter faster (docs/scale.md)"
)
FOOTNOTE = "CPU us: processor time for one player and step, all cores added up. --json shows more."


@dataclass(frozen=True)
class BenchCommand(WorldCommand):
    """Measure steps a second under random play: views every step, resets included, all cores.

    Beside each world runs the bare engine, the least program that draws the same random words and
    shows the same views; `ratio` is the world's speed over the bare engine's.

    With --shards one world lies over several devices, at its usual density, and plays beside the
    same world in one piece; `ratio` is then how much more processor time it takes. Under a charter
    only the world is divided: each device computes the articles of all players.
    """

    world: World = ""  # catalogue name, e.g. harvest_open
    all: bool = False  # every world of the catalogue
    lanes: str = "1024"  # parallel copies; several separated by commas
    players: str = ""  # how many, instead of the default; several separated by commas
    same_density: bool = False  # repeat the map so that players have as much room as by default
    seconds: float = 8.0  # how long to time each row, about
    shards: str = ""  # one world over so many devices (simulated on a CPU); several, by commas
    steps: Steps = 100  # of one world over devices
    capacity: float = CAPACITY  # slots on a device, as a multiple of the players there on average
    hash: bool = True  # play one world again for the hash of its trajectory
    settings: Annotated[
        tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]],
        tyro.conf.arg(
            name="set",
            metavar="NAME=VALUE ...",
            help="numbers of one world's rules, e.g. forced=0.5",
        ),
    ] = ()
    json: bool = False  # one JSON object a line instead of a table

    def run(self) -> None:
        """Prints one row for each world, number of players and number of lanes."""
        if self.all == bool(self.world):
            raise BadArgument("name one world, or give --all")
        if self.shards:
            self._one_world(_numbers(self.shards, "shards"))
            return
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
        return _tiled(name, players, math.ceil(players / find(name).players))

    def _one_world(self, shards: list[int]) -> None:
        """A row for each number of players and of shards."""
        if self.all:
            raise BadArgument("--shards is for one world; name it instead of --all")
        at_least("steps", self.steps)
        if not running():
            configure(devices=max(shards))
        words = pairs("set", (word for group in self.settings for word in group))
        numbers = {name: float(value) for name, value in words.items()}
        console, rows = Console(stderr=True), []
        for players in _numbers(self.players, "players") or [None]:
            env = _spacious(self.world, players)
            if isinstance(env, Society) and max(shards) > 1:
                console.print(f"note: {UNDER_CHARTER}", markup=False, soft_wrap=True)
            for number in shards:
                what = f"{env.id}, {env.players} players, {number} shards"
                with console.status(what) as status:
                    row = measure_one_world(
                        env,
                        number,
                        self.steps,
                        params=env.params(**numbers),
                        capacity=self.capacity,
                        hashes=self.hash,
                        on_progress=lambda stage, what=what: status.update(f"{what}: {stage}"),
                    )
                rows.append(row)
                if self.json:
                    print(json.dumps(row.as_dict()), flush=True)
        if not self.json:
            Console(width=None if Console().is_terminal else 100).print(_table_of_shards(rows))

    def _measure(self, env: Any, lanes: int, console: Console) -> Speed:
        what = f"{env.id}, {lanes} lanes, {env.players} players"
        with console.status(what) as status:
            return measure(
                env,
                lanes,
                seconds=self.seconds,
                on_progress=lambda stage: status.update(f"{what}: {stage}"),
            )


def _spacious(name: str, players: int | None) -> Any:
    """A world with as much room for each player as usual, whose rows many numbers divide."""
    env = sociarium.make(name)
    copies = math.ceil((players or env.players) / env.players)
    if copies == 1 or not env.has(Shardable):
        return sociarium.make(name, players=players)
    return _tiled(name, players, copies, down_by=4)


def _tiled(name: str, players: int | None, copies: int, down_by: int = 1) -> Any:
    """A world whose map is repeated so often at least, down by a multiple."""
    down = max(1, math.isqrt(copies) // down_by) * down_by
    return sociarium.make(name, players=players, tiles=(down, math.ceil(copies / down)))


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


def _table_of_shards(rows: list[OneWorldSpeed]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("world", no_wrap=True)
    for title in ("players", "shards", "steps/s", "CPU us", "ratio", "compile s", "hash"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        same = (row.hash, row.checksum) == (row.hash_in_one_piece, row.checksum_in_one_piece)
        table.add_row(
            row.env,
            f"{row.players:,}",
            f"{row.shards}",
            f"{row.steps_per_s:,.2f}",
            f"{row.cpu_us_per_player_step:.2f}",
            f"{row.ratio:.2f}",
            f"{row.compile_s:.1f}",
            f"{(row.hash or '')[:12]} {'as in one piece' if same else 'DIFFERS'}".strip(),
        )
    return table
