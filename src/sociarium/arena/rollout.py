"""Play and record episodes of pure players, in one compiled scan."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.arena.screening import PlayedEpisode
from sociarium.arena.seat_policies import Seating
from sociarium.arena.seating import Seats, chairs_for, lineup, world_for
from sociarium.arena.stepping import Moment, Stepper, StepRecord
from sociarium.core import random
from sociarium.core.compiling import jit_soon
from sociarium.core.environment import Environment, Transition
from sociarium.core.errors import BadArgument
from sociarium.core.events import EventTable, table
from sociarium.core.facets import ground_plan
from sociarium.core.random import step_key


def rollout(
    env: Environment[Any, Any] | str,
    seats: Seats = "random",
    *,
    seed: int = 0,
    lane: int = 0,
    number: int = 0,
    steps: int | None = None,
    params: Any = None,
) -> PlayedEpisode:
    """Plays one episode in one compiled program.

    >>> env = make("clean_up", players=3)
    >>> episode = rollout(env, [my_policy, script("cooperator", env), "script:defector"])
    >>> episode.raw_returns, episode.film()

    `env` is an environment or its name. `seats` is a seat string, or a list of players and seat
    strings; one alone fills all seats. Play stops after `steps` or where the episode ends. A second
    rollout of the same length with players of the same structure compiles nothing. It is the
    episode that lane `lane` of `Lanes` plays as its `number`-th under the same seed.
    `episode.states` has the state before each step and after the last.
    """
    if steps is not None and steps < 1:
        raise BadArgument(f"steps is 1 or more; given {steps}")
    env = world_for(env, seats)
    who = lineup(env, chairs_for(env, seats))
    policies, seating = who.seated()
    params = env.params() if params is None else params
    steps = int(env.horizon(params)) if steps is None else steps
    play = _program(Stepper(env, policies), steps)
    lane_key = jax.random.fold_in(random.key(seed), lane)
    start, (record, states) = play(lane_key, np.int32(number), seating, params)
    record = jax.tree.map(np.asarray, record)
    length = length_of(record.transition)
    record = jax.tree.map(lambda x: x[:length], record)
    identity = (seed, lane, number)
    states = jax.tree.map(
        lambda first, rest: np.concatenate([np.asarray(first)[None], np.asarray(rest)[:length]]),
        start,
        states,
    )
    happenings = happened(env, record)
    return recorded(env, who.names, identity, params, record, happenings, states)


@lru_cache(maxsize=64)
def _program(stepper: Stepper, steps: int) -> Callable[..., Any]:
    """Plays so many steps; gives the start, and the record and the states of all steps."""

    def play(key: Any, number: Any, seating: Seating, params: Any) -> Any:
        def step(moment: Moment, clock: Any) -> Any:
            k_step = step_key(key, number, clock)
            moment, record = stepper.step(k_step, moment, seating, params)
            return moment, (record, moment.state)

        first = stepper.begin(jax.random.fold_in(key, number), seating, params)
        return first.state, jax.lax.scan(step, first, jnp.arange(steps))[1]

    return jit_soon(play, stepper.policies.have_weights)


def length_of(transition: Transition) -> int:
    """The steps up to the end of the episode, or all of them where it has not ended."""
    ends = np.asarray(transition.truncated | transition.terminated)
    return int(np.argmax(ends)) + 1 if ends.any() else len(ends)


def happened(env: Environment[Any, Any], record: StepRecord, step: int = 0) -> EventTable:
    """What happened, the first of the recorded steps being number `step`."""
    return table(record.transition.events, env.event_specs, ground_plan(env).shape[1], step)


def recorded(
    env: Environment[Any, Any],
    seats: Sequence[str],
    identity: tuple[int, int, int],
    params: Any,
    record: Any,
    events: EventTable,
    states: Any = None,
    rebuild: Callable[[], Any] | None = None,
) -> PlayedEpisode:
    """The episode of the recorded steps; `identity` is its seed, its lane and its number there."""
    seed, lane, number = identity
    return PlayedEpisode(
        environment=env,
        stored_states=states,
        rebuild=rebuild,
        env=env.id or type(env).__name__,
        players=env.players,
        seats=tuple(seats),
        seed=seed,
        lane=lane,
        number=number,
        params=params,
        actions=record.actions,
        reward=record.transition.reward,
        raw=record.transition.raw,
        distributed=record.transition.distributed,
        present=record.present,
        truncated=record.transition.truncated,
        terminated=record.transition.terminated,
        events=events,
        gauges=record.gauges,
    )
