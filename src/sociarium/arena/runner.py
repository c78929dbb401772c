"""One episode, stepped by one compiled program: the core of matches and of verification.

Pure players decide inside the program. For the seats of host players, actions are handed in, or a
skill decides that the seat pursues. Who sits where is data: a seat changes hands among the players
named at the start, and between them and host players, without compiling.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, UInt32

from sociarium.arena.packing import Packing
from sociarium.arena.seat_policies import Seating
from sociarium.arena.seating import Chair, Lineup, lineup
from sociarium.arena.stepping import Moment, Stepper, StepRecord, scan_steps
from sociarium.charters.society import Society
from sociarium.core import random
from sociarium.core.actions import STAY
from sociarium.core.compiling import jit_soon
from sociarium.core.environment import Environment, View, compiled
from sociarium.core.errors import BadArgument
from sociarium.core.facets import Crafting, find_facet, ground_plan
from sociarium.core.patches import Patch
from sociarium.core.random import step_key
from sociarium.mechanics.layout import merged
from sociarium.players.planning.map_memory import MapMemory
from sociarium.players.planning.skill import NONE, SkillCall, SkillStatus
from sociarium.players.planning.skill_set import skills_of

MOST = 50  # steps at once
KEPT = 16  # compiled runners that are remembered
BY_SKILL = -1  # instead of an action: the seat's skill decides


class EpisodeConfig(eqx.Module):
    """Which episode it is: the key of its lane, its number there, and the numbers of the rules.

    The key is kept as plain words: programs with typed keys among their arguments start slowly.
    """

    key_words: UInt32[Array, "words"]
    number: Int[Array, ""]
    params: Any

    @property
    def key(self) -> Key[Array, ""]:
        """The key of the lane."""
        return jax.random.wrap_key_data(self.key_words, impl=random.PCG4D)


class SkillState(eqx.Module):
    """What the seats of host players know of the map and pursue, by slot."""

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
    """What the seats of host players see and may do, by slot.

    `cell` and `heading` are where they are; `knows` the recipes they have come across.
    """

    view: View
    legal: Bool[Array, "slots actions"]
    cell: Int[Array, " slots"]
    heading: Int[Array, " slots"]
    knows: Bool[Array, "slots recipes"] | None
    memory: MapMemory | None
    status: Int[Array, " slots"]  # of their skills


class Programs:
    """What is compiled for these structures of players, and for `slots` seats of host players."""

    def __init__(self, stepper: Stepper, slots: int, skilled: bool) -> None:
        self.stepper, self.env, self.slots = stepper, stepper.env, slots
        self.skill_set = skills_of(self.env) if skilled and slots else None
        self.plan, self.crafting = ground_plan(self.env), find_facet(self.env, Crafting)
        self.packing = Packing()
        weights = stepper.policies.have_weights
        self.enter = jit_soon(self._enter, weights)
        self.rejoin = jit_soon(self._rejoin)
        self.look = jit_soon(self._look)
        self.step = jit_soon(self._step_packed, weights)
        self.step_joint = jit_soon(jax.vmap(self._step), weights)
        self.step_many = jit_soon(self._step_many, weights)

    def _enter(
        self,
        state: Any,
        clock: Int[Array, ""],
        hosts: Int[Array, " slots"],
        seating: Seating,
        config: EpisodeConfig,
    ) -> RunnerState:
        """Everybody sits down before this step, and remembers nothing but what it sees now."""
        k_episode = jax.random.fold_in(config.key, config.number)
        k_later = jax.random.fold_in(k_episode, clock)
        memories = self.stepper.policies.begin(
            jax.lax.select(clock == 0, k_episode, k_later), seating
        )
        moment = self.stepper.look(state, memories, config.params)
        if self.skill_set is None:
            return RunnerState(clock, moment, None)
        unknown, idle = self.skill_set.map_tracker.unknown(), self.skill_set.idle()
        many = lambda x: jnp.broadcast_to(x[None], (self.slots, *x.shape))  # noqa: E731
        blank = jax.tree.map(many, SkillState(unknown, SkillCall.of(NONE), idle))
        return RunnerState(clock, moment, self._looked(blank, moment, hosts, clock))

    def _rejoin(
        self,
        fresh: RunnerState,
        now: RunnerState,
        newcomer: Int[Array, ""],
        slot: Int[Array, ""],
        seating: Seating,
    ) -> RunnerState:
        """Everybody as it was, but the newcomer in this seat and slot as `fresh` has it."""
        memories = [
            merged(jnp.asarray(chairs) == newcomer, new, old)
            for chairs, new, old in zip(
                seating.chairs, fresh.moment.memories, now.moment.memories, strict=True
            )
        ]
        moment = Moment(fresh.state, fresh.moment.view, fresh.moment.legal, memories)
        skills = None
        if now.skills is not None:
            skills = merged(jnp.arange(self.slots) == slot, fresh.skills, now.skills)
        return RunnerState(now.clock, moment, skills)

    def _look(self, now: RunnerState, hosts: Int[Array, " slots"]) -> Seen:
        view, legal, cell, heading = self._seats(now.moment, hosts)
        knows = None
        if self.crafting is not None:
            knows = self.crafting.knows(now.state).at[hosts].get(mode="clip")
        idle = jnp.zeros(self.slots, jnp.int32)
        status = idle if now.skills is None else now.skills.running.status
        memory = None if now.skills is None else now.skills.memory
        return Seen(view, legal, cell, heading, knows, memory, status)

    def _seats(self, moment: Moment, hosts: Int[Array, " slots"]) -> Any:
        """What host players see and may do, and their cells and headings."""
        seen = (moment.view, moment.legal, *self.plan.poses(moment.state))
        return jax.tree.map(lambda x: x.at[hosts].get(mode="clip"), seen)

    def _looked(
        self,
        skills: SkillState | None,
        moment: Moment,
        hosts: Int[Array, " slots"],
        clock: Int[Array, ""],
    ) -> SkillState | None:
        """What host players know once they have looked around, and how their skills stand."""
        if self.skill_set is None or skills is None:
            return None
        view, legal, cell, heading = self._seats(moment, hosts)
        looked = jax.vmap(self.skill_set.map_tracker.looked, (0, 0, 0, 0, None))
        memory = looked(skills.memory, view, cell, heading, clock)
        judged = jax.vmap(self.skill_set.judged)(view, legal, memory, skills.order, skills.running)
        return SkillState(memory, skills.order, judged)

    def _step(
        self,
        now: RunnerState,
        chosen: Int[Array, " slots"],
        hosts: Int[Array, " slots"],
        others_move: Bool[Array, ""],
        seating: Seating,
        config: EpisodeConfig,
    ) -> tuple[RunnerState, StepRecord, Seen]:
        """The next state, the record of the step, and what host players see then."""
        moment, skills = now.moment, now.skills
        k_step = step_key(config.key, config.number, now.clock)
        if self.skill_set is not None and skills is not None:
            skills, chosen = self._pursued(k_step, moment, skills, chosen, hosts)

        def given(actions: Any, view: View, legal: Any) -> Int[Array, " players"]:
            return jnp.where(others_move, actions, STAY).at[hosts].set(chosen, mode="drop")

        after, record = self.stepper.step(k_step, moment, seating, config.params, given)
        memories = merged(others_move, after.memories, moment.memories)
        after = Moment(after.state, after.view, after.legal, memories)
        skills = self._looked(skills, after, hosts, now.clock + 1)
        then = RunnerState(now.clock + 1, after, skills)
        return then, record, self._look(then, hosts)

    def _step_packed(self, *arguments: Any) -> tuple[RunnerState, Any]:
        """As `_step`, with all but the state packed."""
        then, record, seen = self._step(*arguments)
        return then, self.packing.pack((record, seen))

    def played(self, *arguments: Any) -> tuple[RunnerState, StepRecord, Seen]:
        """One step of one episode; all but the state as NumPy."""
        after, packed = self.step(*arguments)
        return (after, *self.packing.unpack(packed))

    def _pursued(
        self,
        k_step: Key[Array, ""],
        moment: Moment,
        skills: SkillState,
        chosen: Int[Array, " slots"],
        hosts: Int[Array, " slots"],
    ) -> tuple[SkillState, Int[Array, " slots"]]:
        """What host players do: what they chose, or the next action of their skill."""
        assert self.skill_set is not None
        view, legal, _, _ = self._seats(moment, hosts)
        action, running = jax.vmap(self.skill_set.act)(
            random.player_keys(k_step, hosts),
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
        """Steps of pure players only."""

        def step(number: Any, now: RunnerState) -> tuple[RunnerState, StepRecord]:
            k_step = step_key(config.key, config.number, now.clock)
            after, record = self.stepper.step(k_step, now.moment, seating, config.params)
            return RunnerState(now.clock + 1, after, now.skills), record

        return scan_steps(step, now, steps, MOST)


programs = lru_cache(maxsize=KEPT)(Programs)


class EpisodeRunner:
    """The chairs of one episode; host players decide for those at `hosts`.

    Those on `reserve` may sit down later: pure players, or None for host players. With `skilled`,
    host players can pursue skills and keep a map of what they saw.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        chairs: Sequence[Chair],
        hosts: Sequence[int] = (),
        *,
        reserve: Sequence[Chair | None] = (),
        skilled: bool = False,
        identity: tuple[int, int, int] = (0, 0, 0),
        params: Any = None,
    ) -> None:
        """`identity` is the episode's seed, its lane and its number there."""
        self.env, self.identity = env, identity
        seed, lane, number = identity
        self.config = EpisodeConfig(
            jax.random.key_data(jax.random.fold_in(random.key(seed), lane)),
            jnp.int32(number),
            env.params() if params is None else params,
        )
        pure = [None if seat in hosts else chair for seat, chair in enumerate(chairs)]
        known = lineup(env, [*pure, *reserve])
        slots = env.players if None in reserve else len(hosts)
        self._sit(
            Lineup(known.names, known.roster, known.who[: env.players], known.sources),
            (*hosts, *[env.players] * (slots - len(hosts))),
            skilled,
        )
        self._may_change = bool(reserve)

    def _sit(self, who: Lineup, hosts: Sequence[int], skilled: bool) -> None:
        """The players in their seats; `hosts` has the seat of each slot, or none (beyond)."""
        self.lineup, self.slots = who, jnp.array(hosts, jnp.int32)
        slots = {seat: slot for slot, seat in enumerate(hosts) if seat < self.env.players}
        self.hosts = dict(sorted(slots.items()))  # the slot of each seat of a host player
        policies, seating = who.seated_anywhere()
        self.seating = jax.tree.map(jnp.asarray, seating)
        self.programs = programs(Stepper(self.env, policies), len(hosts), skilled)
        self.skilled, self.skill_set = skilled, self.programs.skill_set
        self._on_host: Any = None  # what programs are given in every step, as NumPy

    def start(self, memories: Mapping[int, Any] | None = None) -> RunnerState:
        """The episode before its first step; `memories` are those that some seats bring along."""
        k_episode = jax.random.fold_in(self.config.key, self.config.number)
        state = compiled(self.env, "reset")(k_episode, self.config.params)
        now = self._entered(state, np.int32(0))
        if self._may_change:  # compiles it, so that nobody waits for it later
            self._rejoined(now, now, self.env.players)
        for seat, memory in (memories or {}).items():
            now = self.remembering(now, seat, memory)
        return now

    def _entered(self, state: Any, clock: Any) -> RunnerState:
        return self.programs.enter(state, clock, self.slots, self.seating, self.config)

    def _rejoined(self, fresh: RunnerState, now: RunnerState, seat: int) -> RunnerState:
        slot = np.int32(self.hosts.get(seat, len(self.slots)))
        return self.programs.rejoin(fresh, now, np.int32(seat), slot, self.seating)

    def sees(self, now: RunnerState) -> Seen:
        """What the seats of host players see now, as NumPy."""
        return jax.device_get(self.programs.look(now, self.slots))

    def step(
        self, now: RunnerState, chosen: Mapping[int, int], others_move: bool = True
    ) -> tuple[RunnerState, StepRecord, Seen]:
        """One step: its record, and what host players see then, as NumPy.

        `chosen` has an action for each seat of host players, or BY_SKILL. Unless `others_move`, the
        pure players stay where they are and do not think.
        """
        return self.programs.played(*self.arguments(now, chosen, others_move))

    def arguments(
        self,
        now: RunnerState,
        chosen: Mapping[int, int],
        others_move: bool = True,
        on_host: bool = False,
    ) -> tuple[Any, ...]:
        """What the program of a step is given; with `on_host`, what never changes as NumPy."""
        given = np.zeros(len(self.slots), np.int32)
        for seat, slot in self.hosts.items():
            given[slot] = chosen[seat]
        if on_host and self._on_host is None:
            self._on_host = jax.device_get((self.slots, self.seating, self.config))
        same = self._on_host if on_host else (self.slots, self.seating, self.config)
        slots, seating, config = same
        return now, given, slots, np.bool_(others_move), seating, config

    def step_many(self, now: RunnerState, steps: int) -> tuple[RunnerState, StepRecord]:
        """Several steps, at most MOST, of pure players only; their record has a time axis."""
        after, film = self.programs.step_many(now, np.int32(steps), self.seating, self.config)
        return after, jax.tree.map(lambda x: x[:steps], jax.device_get(film))

    def pursue(self, now: RunnerState, seat: int, order: SkillCall) -> RunnerState:
        """The seat of a host player takes up a skill."""
        now = _on_device(now)
        assert self.skill_set is not None and now.skills is not None
        skills, begun, slot = now.skills, self.skill_set.begin(), self.hosts[seat]
        order, running = _put((skills.order, skills.running), slot, (order, begun))
        return RunnerState(now.clock, now.moment, SkillState(skills.memory, order, running))

    def law(self, now: RunnerState) -> tuple[str, ...]:
        """What binds players now, in plain sentences."""
        if not isinstance(self.env, Society):
            return ()
        return self.env.law(now.state, self.config.params)

    def apply(self, now: RunnerState, patch: Patch) -> RunnerState:
        """What is written into the society."""
        if not isinstance(self.env, Society):
            raise BadArgument(
                f"{self.env.id} has no charter, so nothing can be written or signed; play it under "
                "one, such as --charter speech"
            )
        now = _on_device(now)
        fresh = self._entered(self.env.apply(now.state, patch), now.clock)
        return self._rejoined(fresh, now, self.env.players)

    def reseat(
        self, now: RunnerState, seat: int, chair: Chair | None, skilled: bool
    ) -> RunnerState:
        """Somebody else sits in a seat, and remembers nothing; all others go on.

        A chair that is None is a host player's. Nothing is compiled as long as the player was
        named at the start, or has the structure of one that sits nowhere now.
        """
        now, programs, seating, hosts = _on_device(now), self.programs, self.seating, self.hosts
        nobody = self.env.players
        slots = [nobody if taken == seat else taken for taken in np.asarray(self.slots).tolist()]
        if chair is None:
            slots = slots if nobody in slots else [*slots, nobody]
            slots[slots.index(nobody)] = seat
        self._sit(self.lineup.reseated(self.env, seat, chair), slots, skilled)
        fresh = self._entered(now.state, now.clock)
        if self.programs is programs:
            return self._rejoined(fresh, now, seat)
        return self._moved(fresh, now, seat, seating, hosts)

    def _moved(
        self, fresh: RunnerState, now: RunnerState, seat: int, seating: Seating, hosts: Any
    ) -> RunnerState:
        """What everybody but the newcomer remembers, where other programs look for it."""
        memories = fresh.moment.memories
        for where in range(self.env.players):
            old, new = _place(seating, where), _place(self.seating, where)
            if where != seat and old is not None and new is not None:
                one = jax.tree.map(lambda x, old=old: x[old[1:]], now.moment.memories[old[0]])
                memories[new[0]] = _put(memories[new[0]], new[1:], one)
        moment = Moment(fresh.state, fresh.moment.view, fresh.moment.legal, memories)
        skills = fresh.skills
        for where, slot in self.hosts.items():
            stays = where != seat and where in hosts
            if skills is not None and now.skills is not None and stays:
                one = jax.tree.map(lambda x, old=hosts[where]: x[old], now.skills)
                skills = _put(skills, slot, one)
        return RunnerState(now.clock, moment, skills)

    def memory(self, now: RunnerState, seat: int) -> Any:
        """What the pure player in a seat remembers."""
        place = _place(self.seating, seat)
        if place is None:
            raise BadArgument(f"no pure player sits in seat {seat}")
        return jax.tree.map(lambda x: x[place[1:]], now.moment.memories[place[0]])

    def remembering(self, now: RunnerState, seat: int, memory: Any) -> RunnerState:
        """The pure player in a seat remembers something else."""
        place = _place(self.seating, seat)
        if place is None:
            raise BadArgument(f"no pure player sits in seat {seat}")
        now = _on_device(now)
        memories = list(now.moment.memories)
        memories[place[0]] = _put(memories[place[0]], place[1:], memory)
        moment = Moment(now.state, now.moment.view, now.moment.legal, memories)
        return RunnerState(now.clock, moment, now.skills)


def _on_device(now: RunnerState) -> RunnerState:
    """With JAX's arrays, where steps that were played jointly left NumPy's."""
    return jax.tree.map(jnp.asarray, now)


def _place(seating: Seating, seat: int) -> tuple[int, ...] | None:
    """Where the memory of the player in a seat is: its structure, then its place there."""
    for number, chairs in enumerate(seating.chairs):
        found = np.argwhere(np.asarray(chairs) == seat)
        if len(found):
            return (number, *found[0].tolist())
    return None


@jax.jit
def _put(all: Any, place: Any, one: Any) -> Any:
    """The tree of many with one of them replaced."""
    return jax.tree.map(lambda many, new: many.at[place].set(new), all, one)
