"""One episode, stepped by one compiled program: the core of matches and of verification.

Pure players decide inside the program. For the seats of others, actions are handed in, or a skill
decides that the seat pursues.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium.arena.lanes import step_key
from sociarium.arena.seat_policies import Seating
from sociarium.arena.seating import Chair, lineup
from sociarium.arena.stepping import Moment, Stepper, StepRecord, scan_steps
from sociarium.charters.society import Society
from sociarium.core import random
from sociarium.core.actions import STAY
from sociarium.core.compiling import jit_soon
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument
from sociarium.core.facets import ground_plan
from sociarium.core.patches import Patch
from sociarium.mechanics.layout import merged
from sociarium.players.planning.map_memory import MapMemory
from sociarium.players.planning.skill import NONE, SkillCall, SkillStatus
from sociarium.players.planning.skill_set import SkillSet

MOST = 50  # steps at once
KEPT = 16  # compiled runners that are remembered
BY_SKILL = -1  # instead of an action: the seat's skill decides


class EpisodeConfig(eqx.Module):
    """Which episode it is: the key of its lane, its number there, and the numbers of the rules."""

    key: Key[Array, ""]
    number: Int[Array, ""]
    params: Any


class SkillState(eqx.Module):
    """What the seats of players outside know and pursue, one after another."""

    memory: MapMemory
    order: SkillCall
    running: SkillStatus


class RunnerState(eqx.Module):
    """An episode before step `clock`."""

    clock: Int[Array, ""]
    moment: Moment
    skills: SkillState | None

    @property
    def state(self) -> Any:
        """The environment's state."""
        return self.moment.state


class Seen(eqx.Module):
    """What the seats of players outside see, may do, and where they are."""

    view: View
    legal: Bool[Array, "hosts actions"]
    cell: Int[Array, " hosts"]
    heading: Int[Array, " hosts"]


class Programs:
    """What is compiled for these players, and for seats at `hosts` that are decided for outside."""

    def __init__(self, stepper: Stepper, hosts: tuple[int, ...], skilled: bool) -> None:
        self.stepper, self.env, self.hosts = stepper, stepper.env, np.array(hosts, np.int32)
        self.skill_set = SkillSet(self.env) if skilled and hosts else None
        self.plan = ground_plan(self.env)
        weights = stepper.policies.have_weights
        self.start = jit_soon(self._start, weights)
        self.begin = jit_soon(stepper.policies.begin, weights)
        self.refresh = jit_soon(stepper.look)
        self.look = jit_soon(self._look)
        self.newcomers = jit_soon(self._newcomers)
        self.step = jit_soon(self._step, weights)
        self.step_many = jit_soon(self._step_many, weights)

    def _start(self, seating: Seating, config: EpisodeConfig) -> RunnerState:
        k_episode = jax.random.fold_in(config.key, config.number)
        moment = self.stepper.begin(k_episode, seating, config.params)
        return RunnerState(jnp.int32(0), moment, self._newcomers(moment, jnp.int32(0)))

    def _newcomers(self, moment: Moment, clock: Int[Array, ""]) -> SkillState | None:
        """Players outside who pursue nothing, and know what they see now."""
        if self.skill_set is None:
            return None
        unknown, idle = self.skill_set.map_tracker.unknown(), self.skill_set.idle()
        many = lambda x: jnp.broadcast_to(x[None], (len(self.hosts), *x.shape))  # noqa: E731
        blank = jax.tree.map(many, SkillState(unknown, SkillCall.of(NONE), idle))
        return self._looked(blank, moment, clock)

    def _look(self, moment: Moment) -> Seen:
        cell, heading = self.plan.poses(moment.state)
        view = jax.tree.map(lambda x: x[self.hosts], moment.view)
        return Seen(view, moment.legal[self.hosts], cell[self.hosts], heading[self.hosts])

    def _looked(
        self, skills: SkillState | None, moment: Moment, clock: Int[Array, ""]
    ) -> SkillState | None:
        """What players outside know once they have looked around, and how their skills stand."""
        if self.skill_set is None or skills is None:
            return None
        seen = self._look(moment)
        looked = jax.vmap(self.skill_set.map_tracker.looked, (0, 0, 0, 0, None))
        memory = looked(skills.memory, seen.view, seen.cell, seen.heading, clock)
        judged = jax.vmap(self.skill_set.judged)(
            seen.view, seen.legal, memory, skills.order, skills.running
        )
        return SkillState(memory, skills.order, judged)

    def _step(
        self,
        now: RunnerState,
        chosen: Int[Array, " hosts"],
        others_move: Bool[Array, ""],
        seating: Seating,
        config: EpisodeConfig,
    ) -> tuple[RunnerState, StepRecord]:
        moment, skills = now.moment, now.skills
        k_step = step_key(config.key, config.number, now.clock)
        if self.skill_set is not None and skills is not None:
            skills, chosen = self._pursued(k_step, moment, skills, chosen)

        def given(actions: Any, view: View, legal: Any) -> Int[Array, " players"]:
            return jnp.where(others_move, actions, STAY).at[self.hosts].set(chosen)

        if not len(self.hosts):
            after, record = self.stepper.step(k_step, moment, seating, config.params)
        else:
            after, record = self.stepper.step(k_step, moment, seating, config.params, given)
            memories = merged(others_move, after.memories, moment.memories)
            after = Moment(after.state, after.view, after.legal, memories)
        skills = self._looked(skills, after, now.clock + 1)
        return RunnerState(now.clock + 1, after, skills), record

    def _pursued(
        self,
        k_step: Key[Array, ""],
        moment: Moment,
        skills: SkillState,
        chosen: Int[Array, " hosts"],
    ) -> tuple[SkillState, Int[Array, " hosts"]]:
        """What players outside do: what they chose, or the next action of their skill."""
        assert self.skill_set is not None
        view, legal = jax.tree.map(lambda x: x[self.hosts], (moment.view, moment.legal))
        action, running = jax.vmap(self.skill_set.act)(
            random.player_keys(k_step, self.hosts),
            view,
            legal,
            skills.memory,
            skills.order,
            skills.running,
        )
        running = merged(chosen == BY_SKILL, running, skills.running)
        chosen = jnp.where(chosen == BY_SKILL, action, chosen)
        return SkillState(skills.memory, skills.order, running), chosen

    def _step_many(
        self, now: RunnerState, steps: Int[Array, ""], seating: Seating, config: EpisodeConfig
    ) -> Any:
        nobody, always = jnp.zeros(0, jnp.int32), jnp.bool_(True)
        step = lambda number, now: self._step(now, nobody, always, seating, config)  # noqa: E731
        return scan_steps(step, now, steps, MOST)


programs = lru_cache(maxsize=KEPT)(Programs)


class EpisodeRunner:
    """The chairs of one episode; those at `hosts` are decided for from outside.

    With `skilled`, they can pursue skills and keep a map of what they saw.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        chairs: Sequence[Chair],
        hosts: Sequence[int] = (),
        *,
        skilled: bool = False,
        identity: tuple[int, int, int] = (0, 0, 0),
        params: Any = None,
    ) -> None:
        """`identity` is the episode's seed, its lane and its number there."""
        self.env, self.chairs, self.hosts = env, tuple(chairs), tuple(hosts)
        self.identity = identity
        seed, lane, number = identity
        self.config = EpisodeConfig(
            jax.random.fold_in(random.key(seed), lane),
            jnp.int32(number),
            env.params() if params is None else params,
        )
        pure = [None if seat in self.hosts else chair for seat, chair in enumerate(self.chairs)]
        policies, self.seating = lineup(env, pure).seated()
        self.programs = programs(Stepper(env, policies), self.hosts, skilled)
        self.skill_set = self.programs.skill_set

    def start(self) -> RunnerState:
        """The episode before its first step."""
        return self.programs.start(self.seating, self.config)

    def sees(self, now: RunnerState) -> Seen:
        """What the seats of players outside see now, as NumPy."""
        return jax.device_get(self.programs.look(now.moment))

    def step(
        self, now: RunnerState, chosen: Sequence[int] = (), others_move: bool = True
    ) -> tuple[RunnerState, StepRecord, Int[np.ndarray, " hosts"]]:
        """One step: its record, and how the skills of players outside stand.

        `chosen` has an action for each seat of players outside, or BY_SKILL. Unless
        `others_move`, the pure players stay where they are and do not think.
        """
        given, others = np.array(chosen, np.int32), np.bool_(others_move)
        after, record = self.programs.step(now, given, others, self.seating, self.config)
        status = None if after.skills is None else after.skills.running.status
        record, status = jax.device_get((record, status))
        return after, record, np.zeros(len(self.hosts), np.int32) if status is None else status

    def step_many(self, now: RunnerState, steps: int) -> tuple[RunnerState, StepRecord]:
        """Several steps, at most MOST, of pure players only; their record has a time axis."""
        after, film = self.programs.step_many(now, np.int32(steps), self.seating, self.config)
        return after, jax.tree.map(lambda x: x[:steps], jax.device_get(film))

    def pursue(self, now: RunnerState, seat: int, order: SkillCall) -> RunnerState:
        """The seat of a player outside takes up a skill."""
        assert self.skill_set is not None and now.skills is not None
        skills, begun = now.skills, self.skill_set.begin()
        place = self.hosts.index(seat)
        order, running = _put((skills.order, skills.running), place, (order, begun))
        pursued = SkillState(skills.memory, order, running)
        return RunnerState(now.clock, now.moment, pursued)

    def apply(self, now: RunnerState, patch: Patch) -> RunnerState:
        """What is written into the society."""
        if not isinstance(self.env, Society):
            raise BadArgument(
                f"{self.env.id} has no charter, so nothing can be written or signed; play it under "
                "one, such as --charter none"
            )
        state = self.env.apply(now.state, patch)
        moment = self.programs.refresh(state, now.moment.memories, self.config.params)
        return RunnerState(now.clock, moment, now.skills)

    def reseated(
        self, now: RunnerState, seat: int, chair: Chair, hosts: Sequence[int], skilled: bool
    ) -> tuple["EpisodeRunner", RunnerState]:
        """The runner with somebody else in a seat, who remembers nothing; all others go on.

        From now on those at `hosts` are decided for from outside, `skilled` or not.
        """
        after = EpisodeRunner(
            self.env,
            tuple(chair if number == seat else c for number, c in enumerate(self.chairs)),
            hosts,
            skilled=skilled,
            identity=self.identity,
            params=self.config.params,
        )
        fresh = jax.random.fold_in(self.config.key, self.identity[2])
        memories = after.programs.begin(jax.random.fold_in(fresh, now.clock), after.seating)
        for where in range(self.env.players):
            old, new = self._chair(where), after._chair(where)
            if where != seat and old is not None and new is not None:
                one = jax.tree.map(lambda x, old=old: x[old[1:]], now.moment.memories[old[0]])
                memories[new[0]] = _put(memories[new[0]], new[1:], one)
        moment = Moment(now.state, now.moment.view, now.moment.legal, memories)
        skills = after.programs.newcomers(moment, now.clock)
        for place, where in enumerate(after.hosts):
            stays = where != seat and where in self.hosts
            if skills is not None and now.skills is not None and stays:
                old = self.hosts.index(where)
                one = jax.tree.map(lambda x, old=old: x[old], now.skills)
                skills = _put(skills, place, one)
        return after, RunnerState(now.clock, moment, skills)

    def _chair(self, seat: int) -> tuple[int, ...] | None:
        """Where the memory of the player in a seat is: its structure, then its place there."""
        for number, chairs in enumerate(self.seating.chairs):
            found = np.argwhere(np.asarray(chairs) == seat)
            if len(found):
                return (number, *found[0].tolist())
        return None


def _put(all: Any, place: Any, one: Any) -> Any:
    """The tree of many with one of them replaced."""
    return jax.tree.map(lambda many, new: many.at[place].set(new), all, one)
