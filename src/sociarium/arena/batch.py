"""Many episodes at once, each lane with its own line-up, spread over the local devices."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool, Float, Int

from sociarium.arena.lanes import step_key
from sociarium.arena.rollout import Kept, Tell, happened, length_of, recorded
from sociarium.arena.seating import Population, places
from sociarium.core import random
from sociarium.core.environment import Environment, horizon
from sociarium.core.episode import Episode
from sociarium.core.errors import UnknownName
from sociarium.core.events import EventTable, worth
from sociarium.core.specs import EventSpec
from sociarium.players.roster import Seat

STEPS_AT_ONCE = 50  # between two reports of progress

LANES, TIME_LANES, WHOLE = PartitionSpec("lanes"), PartitionSpec(None, "lanes"), PartitionSpec()


class Sums(eqx.Module):
    """What each player of each lane got and did until its episode ended.

    `raw` adds up what the world paid, `reward` what the charter left of it; `done` the values of
    what the player did, by event.
    """

    raw: Float[Array, "lanes players"]
    reward: Float[Array, "lanes players"]
    done: dict[str, Float[Array, "lanes players"]]
    length: Int[Array, " lanes"]


class Batch:
    """The first episodes of many lanes: lane k is what `rollout(lane=k)` plays, bit for bit.

    `seating[lane, seat]` says which of `kinds` sits there. Lanes are dealt to the devices in turn,
    so that each device has about the same mixture to think for.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        kinds: Sequence[Seat],
        seating: Int[np.ndarray, "lanes players"],
        *,
        seed: int = 0,
        params: Any = None,
        steps: int | None = None,
    ) -> None:
        self.env, self.kinds, self.seating, self.seed = env, tuple(kinds), seating, seed
        self.params = env.params() if params is None else params
        self.steps = horizon(self.params) if steps is None else steps
        self.population = Population(env, kinds, sole=len(kinds) == 1)
        devices = min(len(jax.local_devices()), len(seating))
        self.mesh = Mesh(np.array(jax.local_devices()[:devices]), ("lanes",))
        lanes = np.arange(-(-len(seating) // devices) * devices)
        lanes = np.concatenate([lanes[device::devices] for device in range(devices)])
        self.back = np.argsort(lanes)[: len(seating)]  # where lane k is among those played
        lanes = np.minimum(lanes, len(seating) - 1)
        self.keys = jax.vmap(lambda lane: jax.random.fold_in(random.key(seed), lane))(lanes)
        self.places = places(seating[lanes], len(kinds), devices)
        self._programs: dict[tuple[str, ...], tuple[Any, Any]] = {}

    def sums(self, counted: Sequence[str] = (), tell: Tell = lambda played, steps: None) -> Sums:
        """Plays and adds up returns and the counted events; nothing else is kept."""
        counted = tuple(counted)
        if counted not in self._programs:
            self._programs[counted] = self._summing(counted)
        begin, go_on = self._programs[counted]
        carry = begin(self.keys, self.places, self.params)
        ends = np.append(np.arange(0, self.steps, STEPS_AT_ONCE), self.steps).astype(np.int32)
        tell(0, self.steps)
        for first, last in itertools.pairwise(ends):
            carry = go_on(carry, self.places, self.params, first, last)
            jax.block_until_ready(carry)
            tell(int(last), self.steps)
        return jax.tree.map(lambda x: np.asarray(x)[self.back], carry[3])

    def _summing(self, counted: tuple[str, ...]) -> tuple[Any, Any]:
        """The programs that begin and go on adding up, compiled."""
        specs = [_spec(self.env, name) for name in counted]

        def begin(keys: Any, places: Any, params: Any) -> Any:
            nothing, none = jnp.zeros((len(keys), self.env.players)), jnp.zeros(len(keys), int)
            sums = Sums(nothing, nothing, {spec.name: nothing for spec in specs}, none)
            return (*self._begin(keys, places, params), sums, none.astype(bool))

        def go_on(carry: Any, places: Any, params: Any, first: Any, last: Any) -> Any:
            def step(clock: Any, carry: Any) -> Any:
                keys, state, minds, sums, over = carry
                state, minds, kept = self._step(keys, state, minds, places, params, clock)
                ends = kept.transition.truncated | kept.transition.terminated
                return keys, state, minds, _added(sums, kept, over, specs), over | ends

            return jax.lax.fori_loop(first, last, step, carry)

        started = self._spread(begin, (LANES, LANES, WHOLE), LANES)
        program = self._spread(go_on, (LANES, LANES, WHOLE, WHOLE, WHOLE), LANES, donate=0)
        carry, clock = started(self.keys, self.places, self.params), np.int32(0)
        return started, program.lower(carry, self.places, self.params, clock, clock).compile()

    def episodes(self, tell: Tell = lambda played, steps: None) -> list[Episode]:
        """Plays and records every lane in full."""
        at_once = max(1, min(STEPS_AT_ONCE, self.steps))

        def go_on(carry: Any, places: Any, params: Any, first: Any) -> Any:
            def step(carry: Any, clock: Any) -> Any:
                keys, state, minds = carry
                state, minds, kept = self._step(keys, state, minds, places, params, clock)
                return (keys, state, minds), kept

            return jax.lax.scan(step, carry, first + jnp.arange(at_once))

        carry = self._spread(self._begin, (LANES, LANES, WHOLE), LANES)(
            self.keys, self.places, self.params
        )
        program = self._spread(go_on, (LANES, LANES, WHOLE, WHOLE), (LANES, TIME_LANES), donate=0)
        program = program.lower(carry, self.places, self.params, np.int32(0)).compile()
        tell(0, self.steps)
        films = [_Film() for _ in self.back]
        for first in range(0, self.steps, at_once):
            carry, kept = program(carry, self.places, self.params, np.int32(first))
            size = min(at_once, self.steps - first)
            kept = jax.tree.map(lambda x, size=size: np.asarray(x)[:size], kept)
            for film, lane in zip(films, self.back, strict=True):
                film.add(self.env, jax.tree.map(lambda x, lane=lane: x[:, lane], kept), first)
            tell(first + size, self.steps)
        return [
            film.episode(self.env, [self.kinds[k] for k in kinds], (self.seed, lane), self.params)
            for lane, (film, kinds) in enumerate(zip(films, self.seating, strict=True))
        ]

    def _begin(self, keys: Any, places: Any, params: Any) -> tuple[Any, Any, Any]:
        starts = jax.vmap(lambda key: jax.random.fold_in(key, 0))(keys)
        state = jax.vmap(self.env.reset, (0, None))(starts, params)
        return keys, state, self.population.begin(starts, places)

    def _step(
        self, keys: Any, state: Any, minds: Any, places: Any, params: Any, clock: Any
    ) -> tuple[Any, Any, Kept]:
        env = self.env
        k_step = jax.vmap(lambda key: step_key(key, 0, clock))(keys)
        view = jax.vmap(env.observe, (0, None))(state, params)
        legal = jax.vmap(env.legal, (0, None))(state, params)
        actions, minds = self.population.act(k_step, view, legal, places, minds)
        present = jax.vmap(env.present)(state)
        state, transition = jax.vmap(env.step, (0, 0, 0, None))(k_step, state, actions, params)
        gauges = jax.vmap(env.gauges, (0, None))(state, params)
        return state, minds, Kept(actions, transition, present, gauges)

    def _spread(self, run: Callable[..., Any], given: Any, made: Any, donate: Any = ()) -> Any:
        """Runs each device's lanes by themselves; nothing crosses between them."""
        run = jax.shard_map(run, mesh=self.mesh, in_specs=given, out_specs=made, check_vma=False)
        return jax.jit(run, donate_argnums=donate)


class _Film:
    """One lane's recording, grown part by part until its episode ends."""

    def __init__(self) -> None:
        self.parts: list[Kept] = []
        self.events: list[EventTable] = []
        self.over = False

    def add(self, env: Environment[Any, Any], part: Kept, first: int) -> None:
        """More steps, the first of them number `first`; those after the end are left out."""
        if self.over:
            return
        length = length_of(part.transition)
        part = jax.tree.map(lambda x: x[:length], part)
        self.over = bool(part.transition.truncated[-1] | part.transition.terminated[-1])
        self.events.append(happened(env, part, first))
        self.parts.append(part.without_events())

    def episode(
        self,
        env: Environment[Any, Any],
        chairs: Sequence[Seat],
        origin: tuple[int, int],
        params: Any,
    ) -> Episode:
        """The whole recording."""
        kept = jax.tree.map(lambda *parts: np.concatenate(parts), *self.parts)
        events = EventTable.joined(self.events)
        return recorded(env, chairs, (*origin, 0), params, kept, events)


def _added(sums: Sums, kept: Kept, over: Bool[Array, " lanes"], specs: Sequence[EventSpec]) -> Sums:
    playing = ~over[:, None]
    events, players = kept.transition.events, kept.actions.shape[1]
    done = {
        spec.name: sums.done[spec.name]
        + jnp.where(playing, jax.vmap(lambda e, s=spec: worth(e, s, players))(events[spec.name]), 0)
        for spec in specs
    }
    raw = sums.raw + jnp.where(playing, kept.transition.raw, 0)
    reward = sums.reward + jnp.where(playing, kept.transition.reward, 0)
    return Sums(raw=raw, reward=reward, done=done, length=sums.length + ~over)


def _spec(env: Environment[Any, Any], name: str) -> EventSpec:
    known = tuple(spec.name for spec in env.event_specs)
    if name not in known:
        raise UnknownName("event", name, known)
    return env.event_specs[known.index(name)]
