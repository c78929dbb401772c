"""A model that is none: it plays a script of the world, through all that a real one goes through.

It is given the percept beside the request and answers with a primitive action, so it is asked at
every step. One that is given a goal plays the script of that goal. Results with it check the
machinery, and say nothing about language models.
"""

import json
import random as drawing
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sociarium.core import random
from sociarium.core.actions import STAY
from sociarium.core.decision import Reply
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.percept import Percept
from sociarium.core.percept_view import ViewReader
from sociarium.core.text import Json
from sociarium.language.models.requests import Completion, Request, Usage
from sociarium.language.models.runtime import FAKE
from sociarium.language.probes import Probe
from sociarium.language.tokens import count_tokens
from sociarium.players import roster
from sociarium.players.minds.crew_parts import DispatchPart
from sociarium.players.minds.fake_reader import FakeReader
from sociarium.players.minds.llm_player import LlmPlayer
from sociarium.players.minds.schedule_parts import SchedulePart
from sociarium.players.minds.templates import NO_FILES, find_goal
from sociarium.players.planning.crew_scheduling import (
    BEST,
    CrewScheduler,
    crew_scheduler,
    crew_schedulers,
)
from sociarium.players.protocol import HostSeating, PurePlayer

Level = Literal["random", "greedy", "best"]
LEVELS: tuple[Level, ...] = get_args(Level)
TABLE = "fake_levels.json"
SAID = "as the script says"  # in place of every text


@cache
def level_table() -> Mapping[str, Mapping[str, Any]]:
    """For each world the script of a level; `benchmarks/fake_levels.py` measures and writes it."""
    file = resources.files("sociarium.players.minds") / TABLE
    return json.loads(file.read_text())["worlds"]


def script_of(
    level: str,
    env: Environment[Any, Any],
    goal: str = "",
    beside: Mapping[str, str] = NO_FILES,
) -> roster.Seat:
    """Which script plays in an environment: that of the goal, if it has one, else of the level."""
    if level not in LEVELS:
        raise UnknownName("level", level, LEVELS)
    if script := find_goal(goal, beside).script if goal else "":
        if script not in roster.script_names(env):
            raise BadArgument(
                f"fake models with goal={goal} play script:{script}, and "
                f"{env.id or 'this world'} has none"
            )
        return roster.Seat("script", script)
    return level_seat(level, env.id)


def level_seat(level: str, world: str) -> roster.Seat:
    """Who plays a level in a world of this name, whatever its arguments and charter."""
    if level not in LEVELS:
        raise UnknownName("level", level, LEVELS)
    if level == "random":
        return roster.chair("random?legal=1")
    known = level_table()
    name = re.split(r"[?+]", world)[0]
    family = next((one for one in known if name in (one, one.rpartition("-v")[0])), "")
    if not family:
        raise BadArgument(
            f"fake models play {level} in {', '.join(known)}; in {world or 'this world'} only "
            "level=random"
        )
    return roster.chair(str(known[family][level]))


class FakeModel:
    """Answers for one seat by a script, which remembers what it must."""

    def __init__(
        self,
        env: Environment[Any, Any],
        script: roster.Seat,
        seat: int,
        identity: tuple[int, int, int],
    ) -> None:
        self.player: PurePlayer = roster.player(script, env)
        self.identity, self._reader = identity, ViewReader(env)
        seed, lane, number = identity
        key = jax.random.fold_in(random.key(seed), lane)
        self._who = key, np.int32(number), np.int32(seat)
        self.memory: Any = jax.device_get(_begin(self.player, *self._who))

    async def complete(self, request: Request) -> Completion:
        """The script's action, as an answer to the menu; other roles get a fixed answer."""
        percept = request.percept
        if percept is None or request.address.role not in ("act", "cheaper"):
            text = json.dumps(fixed_answer(request.schema or {}))
        else:
            thoughts = dict.fromkeys(request.thoughts(request.schema), SAID)
            text = json.dumps({**thoughts, "choice": self.action(percept)})
        return Completion(text, Usage(request.prompt_tokens, count_tokens(text)), model="fake")

    def action(self, percept: Percept) -> str:
        """What the script does, by name."""
        view, legal = self._reader.view(percept), self._reader.legal(percept)
        step = np.int32(percept.step)
        action, self.memory = jax.device_get(
            _act(self.player, *self._who, step, view, legal, self.memory)
        )
        return self._reader.env.actions[int(action)].name

    def snapshot(self) -> Json:
        """What the script remembers."""
        return [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(self.memory)]

    def restore(self, snapshot: Any) -> None:
        """Remembers that."""
        leaves, tree = jax.tree.flatten(self.memory)
        given = zip(leaves, snapshot, strict=True)
        found = [np.asarray(x, np.asarray(leaf).dtype) for leaf, x in given]
        self.memory = jax.tree.unflatten(tree, found)


class FakeCrew:
    """Answers for a whole crew: each player does what the script would do in its seat."""

    def __init__(
        self,
        env: Environment[Any, Any],
        script: roster.Seat,
        seats: tuple[int, ...],
        identity: tuple[int, int, int],
    ) -> None:
        self.identity = identity
        self._players = {seat: FakeModel(env, script, seat, identity) for seat in seats}

    async def complete(self, request: Request) -> Completion:
        """A command for each player that is asked for; other fields have a fixed text."""
        thoughts = dict.fromkeys(request.thoughts(request.schema), SAID)
        text = json.dumps({**thoughts, **self.commands(request.percepts)})
        return Completion(text, Usage(request.prompt_tokens, count_tokens(text)), model="fake")

    def commands(self, percepts: Sequence[Percept]) -> dict[str, str]:
        """What each player does, by its name."""
        return {one.name: self._players[one.seat].action(one) for one in percepts}

    def snapshot(self) -> Json:
        """What the scripts remember, by seat."""
        return {str(seat): one.snapshot() for seat, one in self._players.items()}

    def restore(self, snapshot: Any) -> None:
        """Remembers that."""
        for seat, one in self._players.items():
            one.restore(snapshot[str(seat)])


class FakeScheduledCrew(FakeCrew):
    """Answers for a whole crew what a scheduler of the world commands."""

    def __init__(
        self, scheduler: CrewScheduler, begins: Json, identity: tuple[int, int, int]
    ) -> None:
        self.identity, self._scheduler = identity, scheduler
        scheduler.restore(begins)

    def commands(self, percepts: Sequence[Percept]) -> dict[str, str]:
        """What the scheduler commands, by the names of players."""
        found = self._scheduler.commands(percepts)
        return {one.name: found[one.seat] for one in percepts}

    def snapshot(self) -> Json:
        """What the scheduler remembers."""
        return self._scheduler.snapshot()

    def restore(self, snapshot: Any) -> None:
        """Remembers that."""
        self._scheduler.restore(snapshot)


class FakeLeader:
    """Ranks what is open: whatever is due first, or by lot."""

    def __init__(self, by_lot: bool, identity: tuple[int, int, int]) -> None:
        self.identity, self._by_lot = identity, by_lot

    async def complete(self, request: Request) -> Completion:
        """A valid answer to any form, in which every list of names has all of them."""
        told = fixed_answer(request.form or {})
        drawn = drawing.Random(json.dumps([self.identity, request.address.decision]))
        for value in told.values():
            if isinstance(value, list) and self._by_lot:
                drawn.shuffle(value)
        text = json.dumps(told)
        return Completion(text, Usage(request.prompt_tokens, count_tokens(text)), model="fake")

    def snapshot(self) -> Json:
        """Nothing."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Remembers nothing."""


@eqx.filter_jit
def _begin(player: PurePlayer, key: Any, number: Any, seat: Any) -> Any:
    """What a player remembers at the start, as in every runner."""
    start = jax.random.fold_in(key, number)
    return player.begin(random.player_keys(start, seat[None])[0])


@eqx.filter_jit
def _act(
    player: PurePlayer,
    key: Any,
    number: Any,
    seat: Any,
    step: Any,
    view: Any,
    legal: Any,
    memory: Any,
) -> Any:
    """What a player does, drawn as in every runner; what is not legal is to stay."""
    own = random.player_keys(random.step_key(key, number, step), seat[None])[0]
    action, after = player.act(own, view, legal, memory)
    return jnp.where(legal[action], action, STAY), after


def fixed_answer(schema: Mapping[str, Any]) -> Any:
    """The same valid answer for the same schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        wanted = schema.get("required", ())
        return {name: fixed_answer(schema["properties"][name]) for name in wanted}
    if kind == "array":
        items = schema.get("items", {"type": "string"})
        if "enum" in items:
            return list(items["enum"])
        return [fixed_answer(items)] * int(schema.get("minItems", 0))
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return {"boolean": False, "null": None}.get(kind, SAID)


class FakePlayer(LlmPlayer):
    """A fake model in a seat: `llm:fake?level=best`, or `llm:fake?goal=cooperate`.

    Its script starts anew in every episode, as scripts do.
    """

    def __init__(
        self, env: Environment[Any, Any], *, level: str = "random", goal: str = "", **options: Any
    ) -> None:
        from sociarium.players.minds.fake_plans import plan_script

        super().__init__(env, FAKE, goal=goal, **options)
        beside = self.mind.table.beside
        plans = self.menu == "vocabulary" and not (goal and find_goal(goal, beside).script)
        self.plays = plan_script(level, env) if plans else script_of(level, env, goal, beside)
        self._level = level
        self._scheduler = self._best_scheduler()
        self._begins = self._scheduler.snapshot() if self._scheduler else None
        self._fake: FakeModel | FakeCrew | FakeLeader | None = None
        self._reader: FakeReader | None = None  # that answers comprehension probes
        self._script: Any = None  # what the script remembers
        self._episode: Any = None  # the number of the one that it is of

    def _best_scheduler(self) -> CrewScheduler | None:
        """Who commands a crew at the best level, where the world has anybody."""
        commands = any(isinstance(part, DispatchPart) for part in self.mind.parts)
        if not commands or self._level != "best" or not crew_schedulers(self.env):
            return None
        return crew_scheduler(self.env, BEST)

    def _prepare(self, seating: HostSeating) -> None:
        assert self._open is not None
        if self._fake is None or self._fake.identity != seating.identity:
            self._fake = self._model(seating.identity)
            if self._script is not None and self._episode in (None, seating.identity[2]):
                self._fake.restore(self._script)
        self._open.give(FAKE, self._seat, self._fake)

    def _model(self, identity: tuple[int, int, int]) -> "FakeModel | FakeCrew | FakeLeader":
        """Who answers: a script, one for each of a crew, or where plans are chosen a planner."""
        from sociarium.players.minds.fake_plans import FakePlanner

        if self._scheduler is not None:
            return FakeScheduledCrew(self._scheduler, self._begins, identity)
        if any(isinstance(part, SchedulePart) for part in self.mind.parts):
            return FakeLeader(self._level == "random", identity)
        if self.mind.crew:
            return FakeCrew(self.env, self.plays, self._seats, identity)
        if self.menu == "vocabulary":
            return FakePlanner(self.env, self._level, self.plays, self._seat, identity)
        return FakeModel(self.env, self.plays, self._seat, identity)

    async def answer(
        self, percept: Percept, probe: Probe, number: int, deadline: float
    ) -> tuple[int | None, Reply]:
        """As a model answers; it reads the percept, or at level `random` guesses."""
        assert self._open is not None
        self._reader = self._reader or FakeReader(self.env, guesses=self._level == "random")
        self._open.give(FAKE, self._seat, self._reader)
        return await super().answer(percept, probe, number, deadline)

    def snapshot(self) -> Json:
        """Which decision is next, and what the script remembers of which episode."""
        if self._fake is not None:
            self._script, self._episode = self._fake.snapshot(), self._fake.identity[2]
        told = super().snapshot()
        assert isinstance(told, dict)
        return {**told, "script": self._script, "episode": self._episode}

    def restore(self, snapshot: Json) -> None:
        """Goes on from there."""
        super().restore(snapshot)
        if isinstance(snapshot, dict):
            self._script, self._episode = snapshot.get("script"), snapshot.get("episode")
            if self._fake is not None and self._script is not None:
                self._fake.restore(self._script)
