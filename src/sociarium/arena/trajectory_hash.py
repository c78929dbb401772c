"""What "the same trajectory" means: one hash of all that random players do and see.

A trajectory's hash is SHA-256 over random play with seed 0: in each step the actions, the three
stages of reward, both ends and the world's events, and in every 50th what players see and may do.
It knows no state, no class and no gauge, so that renaming and moving them does not change it.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.core import random
from sociarium.core.environment import Environment
from sociarium.core.events import table
from sociarium.core.facets import ground_plan

STEPS, LOOKED_AT = 200, 50


def trajectory_hash(
    env: Environment[Any, Any],
    steps: int = STEPS,
    params: Any = None,
    start: Any = None,
    compiled: Callable[[Callable[..., Any]], Any] = jax.jit,
    checked: Callable[[Any], None] = lambda state: None,
) -> str:
    """The hash of so many steps, or of those until the episode ends.

    Where states lie on a mesh the caller gives the `start`, how a function of a state and plain
    arrays is `compiled`, and how a state is `checked` on the way.
    """
    params = env.params() if params is None else params
    look, play = compiled(_looking(env, params)), compiled(_playing(env, params))
    state = jax.jit(env.reset)(random.key(0), params) if start is None else start
    world, digest, over = getattr(env, "world", env), hashlib.sha256(), jnp.bool_(False)
    cols = ground_plan(world).shape[1]
    for clock in range(0, steps, LOOKED_AT):
        state, seen = look(state)
        clocks = jnp.arange(clock, min(clock + LOOKED_AT, steps))
        state, (over, *kept) = play(state, over, clocks)
        checked(state)
        over_before, actions, transition = jax.device_get(kept)
        happened: dict[int, list[Any]] = {}
        for row in table(transition.events, world.event_specs, cols):
            told = (row.kind, row.actor, row.target, row.row, row.col, float(row.value))
            happened.setdefault(row.step, []).append(told)
        for step in range(len(clocks) - int(over_before.sum())):
            _add(digest, actions[step], "<i4")
            for points in (transition.raw, transition.distributed, transition.reward):
                _add(digest, points[step], "<f4")
            _add(digest, [transition.terminated[step], transition.truncated[step]], "u1")
            for name, *numbers, value in sorted(happened.get(step, ())):
                digest.update(name.encode())
                _add(digest, numbers, "<i4")
                _add(digest, [value], "<f4")
            if step == 0:
                for told, dtype in zip(jax.device_get(seen), ("u1", "u1", "<i2"), strict=True):
                    _add(digest, told, dtype)
        if bool(over):
            break
    return digest.hexdigest()


def _add(digest: Any, numbers: Any, dtype: str) -> None:
    digest.update(np.ascontiguousarray(numbers, dtype).tobytes())


def _looking(env: Environment[Any, Any], params: Any) -> Callable[..., Any]:
    def look(state: Any) -> Any:
        view = env.observe(state, params)
        return state, (env.legal(state, params), view.cells, view.own)

    return look


def _playing(env: Environment[Any, Any], params: Any) -> Callable[..., Any]:
    """Random play as arrays over time; a step's random draws hang on the seed and the step."""

    def step(carry: Any, clock: Any) -> Any:
        state, over = carry
        k_step, k_choice = jax.random.split(jax.random.fold_in(random.key(0), clock))
        legal = env.legal(state, params)
        nth = random.randint_from_bits(random.bits(k_choice, env.players), legal.sum(1)) + 1
        actions = jnp.argmax(jnp.cumsum(legal, 1) == nth[:, None], 1).astype(jnp.int32)
        state, transition = env.step(k_step, state, actions, params)
        ends = transition.terminated | transition.truncated
        return (state, over | ends), (over, actions, transition)

    def play(state: Any, over: Any, clocks: Any) -> Any:
        (state, over), kept = jax.lax.scan(step, (state, over), clocks)
        return state, (over, *kept)

    return play
