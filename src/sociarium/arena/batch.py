"""Many episodes at once, each lane with its own line-up, spread over the local devices."""

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool, Float, Int

from sociarium.arena.rollout import happened, length_of, recorded
from sociarium.arena.screening import PlayedEpisode
from sociarium.arena.seat_policies import Seating
from sociarium.arena.seating import Chair, chairs_of, lineup
from sociarium.arena.stepping import Moment, Stepper, StepRecord
from sociarium.core import random
from sociarium.core.devices import Device
from sociarium.core.environment import Environment
from sociarium.core.events import EventTable, find_event, worth
from sociarium.core.random import step_key
from sociarium.core.specs import EventSpec, find_gauge
from sociarium.views.progress import OnProgress, silent

STEPS_AT_ONCE = 50  # between two reports of progress
MOST_LANES = 1 << 16  # that one should ask for at once

LANES, TIME_LANES, WHOLE = PartitionSpec("lanes"), PartitionSpec(None, "lanes"), PartitionSpec()
SEATING = Seating(arrays=WHOLE, chairs=LANES, owner=LANES)


def stacked(params: Sequence[Any], times: int) -> Any:
    """Parameters for lanes that have their own: each of these for so many lanes in a row."""
    return jax.tree.map(lambda *x: np.repeat(np.stack(x), times, axis=0), *params)


class Sums(eqx.Module):
    """What each player of each lane earned and did until its episode ended.

    `raw` sums what the world paid, `distributed` what it was after pooling and `reward` after the
    whole charter; `done` sums the values of events that the player caused, by name; `gauges` are
    levels after the last step.
    """

    raw: Float[Array, "lanes players"]
    distributed: Float[Array, "lanes players"]
    reward: Float[Array, "lanes players"]
    done: dict[str, Float[Array, "lanes players"]]
    gauges: dict[str, Float[Array, " lanes"]]
    length: Int[Array, " lanes"]


class Batch:
    """The first episodes of many lanes: lane k is what `rollout(lane=k)` plays, bit for bit.

    `seating[lane, seat]` says which of `players`, given as seat strings or as players, sits there.
    Lanes are dealt to the devices in turn, so that each device has about the same mixture to think
    for.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        players: Sequence[str | Chair],
        seating: Int[np.ndarray, "lanes players"],
        *,
        seed: int = 0,
        origins: Sequence[tuple[int, int]] | None = None,
        params: Any = None,
        own_params: bool = False,
        steps: int | None = None,
        devices: Sequence[Device] | None = None,
    ) -> None:
        """`devices` share the lanes; by default all of this process.

        `origins` are the seed and the lane that each episode is drawn from, as `rollout` would draw
        it: those of `seed` in their order, unless given. With `own_params` every number in `params`
        has one value for each lane.
        """
        self.env = env
        self.origins = list(origins or ((seed, lane) for lane in range(len(seating))))
        self.params = env.params() if params is None else params
        if steps is None:
            horizon = jax.vmap(env.horizon) if own_params else env.horizon
            steps = int(np.max(horizon(self.params)))
        self.steps = steps
        chosen = list(jax.local_devices() if devices is None else devices)[: len(seating)]
        self.mesh, many = Mesh(np.array(chosen), ("lanes",)), len(chosen)
        lanes = np.arange(-(-len(seating) // many) * many)
        lanes = np.concatenate([lanes[device::many] for device in range(many)])
        self.back = np.argsort(lanes)[: len(seating)]  # where lane k is among those played
        lanes = np.minimum(lanes, len(seating) - 1)
        if own_params:
            self.params = jax.tree.map(lambda x: np.asarray(x)[lanes], self.params)
        seeds = {seed: random.key(seed) for seed, _ in self.origins}
        drawn = jnp.stack([seeds[self.origins[lane][0]] for lane in lanes])
        self.keys = jax.vmap(jax.random.fold_in)(
            drawn, np.array([self.origins[n][1] for n in lanes])
        )
        who = lineup(env, chairs_of(players))
        self.names = [[who.names[player] for player in row] for row in seating]
        policies, self.seating = who.roster.seated(who.who[seating[lanes]], many)
        self.stepper = Stepper(env, policies, own_params)

    def sums(
        self,
        counted: Sequence[str] = (),
        on_progress: OnProgress = silent,
        gauges: Sequence[str] = (),
    ) -> Sums:
        """Plays and sums payoffs and the counted events; of gauges the last level is kept."""
        specs = tuple(find_event(self.env.event_specs, name) for name in counted)
        levels = tuple(find_gauge(self.env.gauge_specs, name).name for name in gauges)
        begin, step_many = _summing(self.stepper, specs, levels, self.mesh)
        carry = begin(self.keys, self.seating, self.params)
        ends = np.append(np.arange(0, self.steps, STEPS_AT_ONCE), self.steps).astype(np.int32)
        on_progress(0, self.steps)
        for first, last in itertools.pairwise(ends):
            carry = step_many(carry, self.seating, self.params, first, last)
            jax.block_until_ready(carry)
            on_progress(int(last), self.steps)
        return jax.tree.map(lambda x: np.asarray(x)[self.back], carry[2])

    def episodes(self, on_progress: OnProgress = silent) -> list[PlayedEpisode]:
        """Plays and records every lane in full."""
        at_once = max(1, min(STEPS_AT_ONCE, self.steps))
        begin, step_many = _recording(self.stepper, at_once, self.mesh)
        carry = begin(self.keys, self.seating, self.params)
        on_progress(0, self.steps)
        films = [_Film() for _ in self.back]
        for first in range(0, self.steps, at_once):
            carry, record = step_many(carry, self.seating, self.params, np.int32(first))
            size = min(at_once, self.steps - first)
            record = jax.tree.map(lambda x, size=size: np.asarray(x)[:size], record)
            for film, lane in zip(films, self.back, strict=True):
                film.add(self.env, jax.tree.map(lambda x, lane=lane: x[:, lane], record), first)
            on_progress(first + size, self.steps)
        return [
            film.episode(self.env, names, self.origins[lane], self._params_of(lane))
            for lane, (film, names) in enumerate(zip(films, self.names, strict=True))
        ]

    def _params_of(self, lane: int) -> Any:
        """The parameters that a lane is played with."""
        if not self.stepper.own_params:
            return self.params
        return jax.tree.map(lambda x: x[self.back[lane]], self.params)


@lru_cache(maxsize=64)
def _summing(
    stepper: Stepper, specs: tuple[EventSpec, ...], gauges: tuple[str, ...], mesh: Mesh
) -> tuple[Any, Any]:
    """The programs that begin and continue summing payoffs and these events."""

    def begin(keys: Any, seating: Seating, params: Any) -> Any:
        nothing, none = jnp.zeros((len(keys), stepper.env.players)), jnp.zeros(len(keys), int)
        sums = Sums(
            raw=nothing,
            distributed=nothing,
            reward=nothing,
            done={spec.name: nothing for spec in specs},
            gauges={name: jnp.zeros(len(keys)) for name in gauges},
            length=none,
        )
        return (*_begin(stepper, keys, seating, params), sums, none.astype(bool))

    def step_many(carry: Any, seating: Seating, params: Any, first: Any, last: Any) -> Any:
        def step(clock: Any, carry: Any) -> Any:
            keys, moment, sums, over = carry
            moment, record = stepper.step(_step_keys(keys, clock), moment, seating, params)
            ends = record.transition.truncated | record.transition.terminated
            return keys, moment, _added(sums, record, over, specs), over | ends

        return jax.lax.fori_loop(first, last, step, carry)

    params = LANES if stepper.own_params else WHOLE
    started = _spread(begin, mesh, (LANES, SEATING, params), LANES)
    given = (LANES, SEATING, params, WHOLE, WHOLE)
    return started, _spread(step_many, mesh, given, LANES, donate=0)


@lru_cache(maxsize=64)
def _recording(stepper: Stepper, at_once: int, mesh: Mesh) -> tuple[Any, Any]:
    """The programs that begin and go on recording so many steps at once."""

    def begin(keys: Any, seating: Seating, params: Any) -> Any:
        return _begin(stepper, keys, seating, params)

    def step_many(carry: Any, seating: Seating, params: Any, first: Any) -> Any:
        def step(carry: Any, clock: Any) -> Any:
            keys, moment = carry
            moment, record = stepper.step(_step_keys(keys, clock), moment, seating, params)
            return (keys, moment), record

        return jax.lax.scan(step, carry, first + jnp.arange(at_once))

    params = LANES if stepper.own_params else WHOLE
    started = _spread(begin, mesh, (LANES, SEATING, params), LANES)
    made = (LANES, TIME_LANES)
    return started, _spread(step_many, mesh, (LANES, SEATING, params, WHOLE), made, donate=0)


def _begin(stepper: Stepper, keys: Any, seating: Seating, params: Any) -> tuple[Any, Moment]:
    starts = jax.vmap(lambda key: jax.random.fold_in(key, 0))(keys)
    return keys, stepper.begin(starts, seating, params)


def _step_keys(keys: Any, clock: Any) -> Any:
    return jax.vmap(lambda key: step_key(key, 0, clock))(keys)


def _spread(
    run: Callable[..., Any], mesh: Mesh, given: Any, made: Any, donate: Any = ()
) -> Callable[..., Any]:
    """Runs each device's lanes by themselves; nothing crosses between them."""
    run = jax.shard_map(run, mesh=mesh, in_specs=given, out_specs=made, check_vma=False)
    return jax.jit(run, donate_argnums=donate)


class _Film:
    """One lane's recording, grown part by part until its episode ends."""

    def __init__(self) -> None:
        self.parts: list[StepRecord] = []
        self.events: list[EventTable] = []
        self.over = False

    def add(self, env: Environment[Any, Any], part: StepRecord, first: int) -> None:
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
        seats: Sequence[str],
        origin: tuple[int, int],
        params: Any,
    ) -> PlayedEpisode:
        """The whole recording."""
        record = jax.tree.map(lambda *parts: np.concatenate(parts), *self.parts)
        events = EventTable.joined(self.events)
        return recorded(env, seats, (*origin, 0), params, record, events)


def _added(
    sums: Sums, record: StepRecord, over: Bool[Array, " lanes"], specs: Sequence[EventSpec]
) -> Sums:
    playing = ~over[:, None]
    events, players = record.transition.events, record.actions.shape[1]
    done = {
        spec.name: sums.done[spec.name]
        + jnp.where(playing, jax.vmap(lambda e, s=spec: worth(e, s, players))(events[spec.name]), 0)
        for spec in specs
    }
    transition = record.transition
    return Sums(
        raw=sums.raw + jnp.where(playing, transition.raw, 0),
        distributed=sums.distributed + jnp.where(playing, transition.distributed, 0),
        reward=sums.reward + jnp.where(playing, transition.reward, 0),
        done=done,
        gauges={
            name: jnp.where(over, level, record.gauges[name]) for name, level in sums.gauges.items()
        },
        length=sums.length + ~over,
    )
