"""Play and record episodes of pure players, in one compiled scan."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from sociarium.arena.lanes import step_key
from sociarium.arena.seating import Cast, chairs_for
from sociarium.core import random
from sociarium.core.environment import Environment, Transition, horizon
from sociarium.core.episode import Episode
from sociarium.core.events import EventTable, table
from sociarium.players.roster import Seat, made_of

Tell = Callable[[int, int], None]  # is told the steps played and the steps to play


class Kept(eqx.Module):
    """What is recorded of a step, or of many steps with a leading time axis."""

    actions: Int[Array, "*batch players"]
    transition: Transition
    present: Bool[Array, "*batch players"]  # before the step
    gauges: dict[str, Float[Array, "*batch"]]

    def without_events(self) -> "Kept":
        """The same less what happened, which is kept as a table."""
        return eqx.tree_at(lambda kept: kept.transition.events, self, {})


def filmed(
    step: Callable[[Any, Any], tuple[Any, Any]], start: Any, steps: Int[Array, ""], most: int
) -> tuple[Any, Any]:
    """Where some steps, at most so many, lead, and what each of them gave.

    The same program plays any number of steps, so that it does not matter where one stops. `step`
    is given its number and where things stand.
    """
    blank = jax.eval_shape(lambda: step(jnp.int32(0), start)[1])
    film = jax.tree.map(lambda x: jnp.zeros((most, *x.shape), x.dtype), blank)

    def put(number: Any, carry: Any) -> Any:
        after, given = step(number, carry[0])
        return after, jax.tree.map(lambda f, x: f.at[number].set(x), carry[1], given)

    return jax.lax.fori_loop(0, steps, put, (start, film))


def rollout(
    env: Environment[Any, Any],
    seats: str = "random",
    *,
    seed: int = 0,
    lane: int = 0,
    number: int = 0,
    steps: int | None = None,
    params: Any = None,
) -> tuple[Episode, Any]:
    """One episode and its states (leading time axis, the start first).

    It is the episode that lane `lane` of `Lanes` plays as its `number`-th under the same seed. One
    seat string fills all seats. Play stops at `steps` or where the episode ends.
    """
    chairs = chairs_for(env, seats)
    params = env.params() if params is None else params
    steps = horizon(params) if steps is None else steps
    play = _compiled(env, chairs, tuple(map(made_of, chairs)), steps)
    start, (kept, states) = play(jax.random.fold_in(random.key(seed), lane), number, params)
    kept = jax.tree.map(np.asarray, kept)
    length = length_of(kept.transition)
    kept = jax.tree.map(lambda x: x[:length], kept)
    episode = recorded(env, chairs, (seed, lane, number), params, kept, happened(env, kept))
    trail = jax.tree.map(
        lambda first, rest: np.concatenate([np.asarray(first)[None], np.asarray(rest)[:length]]),
        start,
        states,
    )
    return episode, trail


@lru_cache(maxsize=16)
def _compiled(
    env: Environment[Any, Any], chairs: tuple[Seat, ...], made_of: tuple[str, ...], steps: int
) -> Callable[..., Any]:
    """The program that plays so many steps with these players, and gives start, record, states."""
    cast = Cast(env, chairs)

    @jax.jit
    def play(key: Any, number: Any, params: Any) -> Any:
        k_episode = jax.random.fold_in(key, number)
        start = env.reset(k_episode, params)

        def step(carry: Any, clock: Any) -> Any:
            state, minds = carry
            k_step = step_key(key, number, clock)
            view, legal = env.observe(state, params), env.legal(state, params)
            actions, minds = cast.act(k_step, view, legal, minds)
            after, transition = env.step(k_step, state, actions, params)
            kept = Kept(actions, transition, env.present(state), env.gauges(after, params))
            return (after, minds), (kept, after)

        carry = (start, cast.begin(k_episode))
        return start, jax.lax.scan(step, carry, jnp.arange(steps))[1]

    return play


def length_of(transition: Transition) -> int:
    """The steps up to the end of the episode, or all of them where it has not ended."""
    ends = np.asarray(transition.truncated | transition.terminated)
    return int(np.argmax(ends)) + 1 if ends.any() else len(ends)


def happened(env: Environment[Any, Any], kept: Kept, step: int = 0) -> EventTable:
    """What happened, the first of the kept steps being number `step`."""
    return table(kept.transition.events, env.event_specs, env.map_shape[1], step)


def recorded(
    env: Environment[Any, Any],
    chairs: Sequence[Seat | str],
    identity: tuple[int, int, int],
    params: Any,
    kept: Any,
    events: EventTable,
) -> Episode:
    """The episode of the kept steps; `identity` is its seed, its lane and its number there."""
    seed, lane, number = identity
    return Episode(
        env=env.id or type(env).__name__,
        players=env.players,
        seats=tuple(str(chair) for chair in chairs),
        seed=seed,
        lane=lane,
        number=number,
        params=params,
        actions=kept.actions,
        reward=kept.transition.reward,
        raw=kept.transition.raw,
        distributed=kept.transition.distributed,
        present=kept.present,
        truncated=kept.transition.truncated,
        terminated=kept.transition.terminated,
        events=events,
        gauges=kept.gauges,
    )
