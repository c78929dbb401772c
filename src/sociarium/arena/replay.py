"""An episode again, from its record: the same states, bit for bit, without asking anybody."""

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import jax
import jax.numpy as jnp
import numpy as np

from sociarium import catalogue
from sociarium.arena.rollout import happened, recorded
from sociarium.arena.screening import PlayedEpisode, shown
from sociarium.arena.stepping import StepRecord, scan_steps, step_and_record
from sociarium.arena.verification import Verdict, Verification
from sociarium.charters.revealing import reveal
from sociarium.charters.society import Society
from sociarium.core import random, record
from sociarium.core.code import code_in
from sociarium.core.compiling import jit_soon
from sociarium.core.environment import Environment, compiled
from sociarium.core.errors import CannotRead, SociariumError
from sociarium.core.events import EventTable
from sociarium.core.facets import ground_plan
from sociarium.core.patches import NewPlayer
from sociarium.core.random import step_key
from sociarium.core.record import Record, file_hashes, files_beside, found_in, plain_name
from sociarium.views.progress import OnProgress, silent

AT_ONCE = 50  # steps
KEPT = 4  # worlds whose programs are remembered
# What a stranger's file may ask for.
MOST_PLAYERS, MOST_STEPS, MOST_CELLS, MOST_NUMBER, MOST_DIGITS = 4096, 100_000, 1 << 17, 256, 6
SENTENCES = ("clauses", "terms", "tables", "text")  # arguments of articles that are said in words


def world_of(kept: Record, folder: Path, trusted: bool = False) -> Environment[Any, Any]:
    """The world that an episode was played in; one that asks for too much is refused.

    Files that describe a world and its charter lie beside the episode, as `world.toml` and
    `charter.toml` (or `.json`).
    """
    page = kept.page
    name = found_in(page.env, folder)
    code = code_in(name)
    large = page.players > MOST_PLAYERS or page.steps > MOST_STEPS
    env = None
    try:
        if trusted or (
            not large and not code and all(_small(*one) for one in _asked(page.env, folder))
        ):
            for file, digest in file_hashes(name).items():
                if page.files.get(file, digest) != digest:
                    raise CannotRead(f"{folder / file} was changed after the episode was recorded")
            env = catalogue.make(name, players=page.players)
            env = reveal(env) if page.revealed else env
            env.params()
    except (SociariumError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise CannotRead(f"the episode's world cannot be made: {error}") from error
    if env is None:
        asked = f"{plain_name(page.env)}, {page.players} players, {page.steps} steps"
        raise CannotRead(
            f"the episode asks for a large world, a long time, a file or code ({asked}); if you "
            "know where it comes from, say --trust"
        )
    cells = ground_plan(env).cells
    if not trusted and cells > MOST_CELLS:
        raise CannotRead(
            f"the episode's world has {cells} cells; if you know where it comes from, say --trust"
        )
    if env.players != page.players:
        raise CannotRead(f"{env.id} has {env.players} players, the episode {page.players}")
    if kept.actions.size and int(kept.actions.max()) >= len(env.actions):
        raise CannotRead(f"the episode has actions that {env.id} does not have")
    return env


def _asked(world: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Every argument that a world's name and the charter beside its episode ask for.

    Parameters of the world do not count: they fix no shape.
    """
    for number, part in enumerate(world.split("+")):
        place, _, query = part.partition("?")
        sizes = place not in files_beside(world) and not number and catalogue.arguments_known(place)
        for argument in filter(None, query.split("&")):
            name, _, value = argument.partition("=")
            if not sizes or name in sizes or name == catalogue.PARAMS:
                yield name, unquote_plus(value)
    for file in files_beside(world):
        if file.startswith("charter"):
            for article in catalogue.read_charter(folder / file):
                for name, value in article.items():
                    for one in value if isinstance(value, list) else [value]:
                        yield name, str(one)


def _small(name: str, value: str) -> bool:
    """Whether an argument of a world asks for little: no large numbers but seeds, and no file.

    What is said in several words, such as a clause, is as long as it is, whatever its numbers.
    """
    if re.search(r"\.(toml|json)\s*$", value, re.IGNORECASE):
        return False
    if name.endswith("seed") or (name in SENTENCES and " " in value.strip()):
        return True
    sizes = re.findall(r"\d+", value)
    if any(len(size) > MOST_DIGITS for size in sizes) or len(sizes) > MOST_DIGITS:
        return False
    return math.prod(max(1, int(size)) for size in sizes) <= MOST_NUMBER


@lru_cache(maxsize=KEPT)
def _program(env: Environment[Any, Any]) -> Callable[..., Any]:
    """What plays up to AT_ONCE steps of any episode: the states after each, and what is kept."""

    def played(state: Any, actions: Any, where: Any, steps: Any, params: Any) -> Any:
        key, episode, first = where

        def step(number: Any, state: Any) -> tuple[Any, tuple[Any, StepRecord]]:
            k_step = step_key(key, episode, first + number)
            after, kept = step_and_record(env, k_step, state, actions[number], params)
            return after, (after, kept)

        return scan_steps(step, state, steps, AT_ONCE)

    return jit_soon(played)


class Replay:
    """The states of a recorded episode, one after another."""

    def __init__(self, env: Environment[Any, Any], kept: Record) -> None:
        self.env, self.kept, page = env, kept, kept.page
        self.params = record.restored(env.params(), page.numbers)
        self.key = jax.random.fold_in(random.key(page.seed), page.lane)
        writes = [patch for patch in page.patches if not isinstance(patch, NewPlayer)]
        if writes and not isinstance(env, Society):
            raise CannotRead(f"the episode writes into a society, which {env.id} is not")
        self.writes = writes

    def parts(self) -> Iterator[tuple[Any, StepRecord | None]]:
        """The start, then parts of the episode: states and what is kept of each step."""
        reset = compiled(self.env, "reset")
        state = reset(jax.random.fold_in(self.key, self.kept.page.number), self.params)
        yield jax.tree.map(lambda x: np.asarray(x)[None], state), None
        total, steps = len(self.kept), _program(self.env)
        number = jnp.int32(self.kept.page.number)
        stops = sorted({patch.step for patch in self.writes} | {total})
        now = 0
        while now < total:
            state = self._written(state, now)
            size = min(AT_ONCE, min(stop for stop in stops if stop > now) - now)
            actions = np.zeros((AT_ONCE, self.env.players), np.int32)
            actions[:size] = self.kept.actions[now : now + size]
            where = (self.key, number, jnp.int32(now))
            state, film = steps(state, actions, where, jnp.int32(size), self.params)
            states, kept = jax.tree.map(lambda x, n=size: np.asarray(x)[:n], film)
            yield states, kept
            now += size

    def _written(self, state: Any, step: int) -> Any:
        for patch in self.writes:
            if patch.step == step:
                assert isinstance(self.env, Society)
                try:
                    state = self.env.apply(state, patch)
                except SociariumError as error:
                    raise CannotRead(
                        f"what is written at step {step} is refused: {error}"
                    ) from error
        return state

    def episode(
        self, on_progress: OnProgress = silent, every: int = 1
    ) -> tuple[PlayedEpisode, Any]:
        """The whole episode, and its states (leading time axis) at every so many steps."""
        trails, films, events, now = [], [], [], 0
        wanted = set(shown(len(self.kept), every))
        for states, kept in self.parts():
            size, first = len(jax.tree.leaves(states)[0]), now + (kept is not None)
            chosen = [place for place in range(size) if first + place in wanted]
            trails.append(jax.tree.map(lambda x, chosen=chosen: x[chosen], states))
            if kept is not None:
                events.append(happened(self.env, kept, now))
                films.append(kept.without_events())
                now += size
                on_progress(now, len(self.kept))
        if not films:
            raise CannotRead("the episode has no steps, so there is nothing to see")
        page = self.kept.page
        whole = jax.tree.map(lambda *parts: np.concatenate(parts), *films)
        identity = (page.seed, page.lane, page.number)
        joined = EventTable.joined(events)
        states = jax.tree.map(lambda *parts: np.concatenate(parts), *trails)
        kept = {"states": states} if every == 1 else {"rebuild": self.states}
        episode = recorded(self.env, page.seats, identity, self.params, whole, joined, **kept)
        return episode, states

    def states(self) -> Any:
        """The states before each step and after the last."""
        return jax.tree.map(
            lambda *parts: np.concatenate(parts), *(states for states, _ in self.parts())
        )

    def weight(self, pixels: int, every: int = 1) -> int:
        """The bytes of the states and pictures of a film, with so many pixels to a cell's side."""
        state = jax.eval_shape(self.env.reset, self.key, self.params)
        each = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
        each += 3 * ground_plan(self.env).cells * pixels**2
        return each * len(shown(len(self.kept), every))

    def verify(self, on_progress: OnProgress = silent, trusted: bool = False) -> Verdict:
        """Plays the episode again and compares actions of pure players and all hashes."""
        return Verification(self.env, self.kept, self.params, trusted).run(on_progress)
