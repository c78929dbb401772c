"""What teams of Cuisine reach beside what could be reached, level by level: played and stored.

Idle, random and greedy teams play the same orders that schedules are made for. Every schedule is
played in the world too: what is stored of it is what came of that, and the bound that was proved.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sociarium import catalogue
from sociarium.arena.rollout import rollout
from sociarium.core import disk, random
from sociarium.core.actions import action_names
from sociarium.core.errors import SociariumError
from sociarium.envs.kitchens.cuisine import NONE, STREAMS, Cuisine, Params, State
from sociarium.envs.kitchens.schedule import Schedule, solve
from sociarium.views.progress import OnProgress, silent

PAPER_LEVELS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12)  # level 6 is in no published table
TEAMS = (2, 3, 4)
INTERVALS = (1, 2, 3, 4, 5)
MAIN_LEVEL = 3
SEEDS, FEW_SEEDS = 30, 3  # of the plays and of the main level's schedules; of other schedules
SCRIPTS = {"idle": "script:idle", "random": "random", "greedy": "script:greedy"}
LIMITS = {"no pre-cooking": 5.0, "pre-cooking": 4.0}  # seconds for a schedule
EPISODES = {"drawn": SEEDS, "published": len(STREAMS) - 1}
RULES = {"drawn": "fixed", "published": "compat"}


@dataclass(frozen=True)
class LevelTeam:
    """A level for so many cooks, and what is played there, on drawn and on published orders."""

    level: int
    players: int

    @property
    def name(self) -> str:
        """What its file is called."""
        return f"{self.panel}-{self.players}_cooks"

    @property
    def panel(self) -> str:
        """The level, whatever the team."""
        return f"level_{self.level}"

    def units(self) -> Iterator["Unit"]:
        """What there is to do: plays of all episodes, then schedules, one episode at a time."""
        main = self.level == MAIN_LEVEL
        for who in SCRIPTS:
            yield Unit(self, "drawn", who, range(SEEDS))
            if main or (who == "greedy" and self.players == TEAMS[0]):
                yield Unit(self, "published", who, range(EPISODES["published"]))
        for way in LIMITS:
            if main:
                yield from (Unit(self, "published", way, [e]) for e in range(len(STREAMS) - 1))
            if main or way == "no pre-cooking":
                seeds = range(SEEDS if main else FEW_SEEDS)
                yield from (Unit(self, "drawn", way, [seed]) for seed in seeds)


CELLS = tuple(LevelTeam(level, players) for level in PAPER_LEVELS for players in TEAMS)


@dataclass(frozen=True)
class Unit:
    """Some episodes of a team, or schedules for them."""

    cell: LevelTeam
    orders: str  # drawn or published
    who: str  # a script, or a way to make schedules
    episodes: Sequence[int]

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """Plays come first, then schedules of the main level, and the long ones last."""
        return self.who not in SCRIPTS, self.who == "pre-cooking", self.cell.level != MAIN_LEVEL

    def missing(self, stored: dict[str, Any]) -> bool:
        """Whether it is still to be done."""
        rows = stored.get(self.orders, {}).get(self.who, {}).get("episodes", {})
        return any(str(episode) not in rows for episode in self.episodes)


class CuisineBounds:
    """A study that is run bit by bit into a folder, one file for each cell."""

    def __init__(self, cells: Sequence[LevelTeam], out: Path) -> None:
        self.cells, self.out = cells, out
        self._runners: dict[tuple[LevelTeam, str], CuisineRunner] = {}

    def read(self, cell: LevelTeam) -> dict[str, Any]:
        """What is stored of a cell, by the kind of orders and who met them."""
        file = self.out / f"{cell.name}.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def units(self) -> list[Unit]:
        """All there is to do, in the order in which it is done."""
        return sorted((unit for cell in self.cells for unit in cell.units()), key=lambda u: u.rank)

    def run(self, seconds: float, on_progress: OnProgress = silent) -> None:
        """Does what is missing until the time is used up, and something if there is any."""
        until, units = time.monotonic() + seconds, self.units()
        missing = [unit for unit in units if unit.missing(self.read(unit.cell))]
        if not missing or seconds <= 0:
            return
        lock = disk.FolderLock(self.out).take()
        try:
            for number, unit in enumerate(missing):
                on_progress(len(units) - len(missing) + number, len(units))
                if number and time.monotonic() >= until:
                    return
                self._store(unit, self.read(unit.cell), self._runner(unit).rows(unit))
            on_progress(len(units), len(units))
        finally:
            lock.close()

    def _runner(self, unit: Unit) -> "CuisineRunner":
        """Its compiled kitchen; those of other cells are forgotten."""
        key = unit.cell, unit.orders
        if key not in self._runners:
            kept = {known: one for known, one in self._runners.items() if known[0] == unit.cell}
            self._runners = kept | {key: CuisineRunner(*key)}
        return self._runners[key]

    def _store(self, unit: Unit, stored: dict[str, Any], rows: dict[str, Any]) -> None:
        part = stored.setdefault(unit.orders, {}).setdefault(unit.who, {"episodes": {}})
        part["episodes"] |= rows
        if unit.who in LIMITS:
            part["seconds"] = LIMITS[unit.who]
        lines = _tidy(json.dumps(stored, indent=1)) + "\n"
        disk.replace(self.out / f"{unit.cell.name}.json", lines.encode())


class CuisineRunner:
    """A cell's world with its programs, which serve every interval and stream."""

    def __init__(self, cell: LevelTeam, orders: str) -> None:
        name = f"cuisine?level={cell.level}&rules={RULES[orders]}"
        env = catalogue.make(name, players=cell.players)
        assert isinstance(env, Cuisine)
        self.env, self.orders = env, orders

    def rows(self, unit: Unit) -> dict[str, list[list[int]]]:
        """For each episode and interval: orders completed, failed, open; of schedules a bound."""
        play = self._played if unit.who in SCRIPTS else self._scheduled
        return {
            str(episode): [play(unit.who, interval, episode) for interval in INTERVALS]
            for episode in unit.episodes
        }

    def _params(self, interval: int, episode: int) -> Params:
        stream = STREAMS[0] if self.orders == "drawn" else STREAMS[1 + episode]
        return self.env.params(**self.env.order_stream(interval, stream))

    def _played(self, who: str, interval: int, episode: int) -> list[int]:
        params = self._params(interval, episode)
        seats = f"{SCRIPTS[who]}*{self.env.players}"
        states = rollout(self.env, seats, seed=episode, params=params).states
        return counts(jax.tree.map(lambda x: x[-1], states))

    def _scheduled(self, way: str, interval: int, episode: int) -> list[int]:
        params = self._params(interval, episode)
        problem = self.env.problem(params, episode)
        found = solve(problem, precook=way == "pre-cooking", seconds=LIMITS[way])
        return [*counts(self.play(found, params, episode)), found.bound]

    def play(self, found: Schedule, params: Params, seed: int) -> State:
        """The end of an episode that was played by a schedule, which keeps what it promised."""
        names = {name: number for number, name in enumerate(action_names(self.env.actions))}
        actions = [[names[command] for command in step] for step in found.commands]
        end = self._program(random.episode_key(seed), params, jnp.asarray(actions, jnp.int32))
        if int(end.completed) < found.best:
            raise SociariumError(
                f"A schedule for {found.best} orders met {int(end.completed)}: {found.problem}"
            )
        return end

    @cached_property
    def _program(self) -> Callable[..., State]:
        env = self.env

        def play(key: Any, params: Params, actions: Any) -> State:
            step = lambda state, acts: (env.step(key, state, acts, params)[0], None)  # noqa: E731
            return jax.lax.scan(step, env.reset(key, params), actions)[0]

        return jax.jit(play)


def counts(state: State) -> list[int]:
    """Orders completed, failed and open."""
    return [int(state.completed), int(state.failed), int(np.sum(np.asarray(state.dish) != NONE))]


def _tidy(lines: str) -> str:
    """Indented JSON with every outermost list in one line."""
    lists = r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]"
    return re.sub(lists, lambda found: json.dumps(json.loads(found[0])), lines)
