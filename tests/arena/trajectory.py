"""Random play of one lane, alone or among others, as a fingerprint of all it went through.

Run as a program it prints a world and those of two episodes a line, so that other processes can be
asked for theirs.
"""

import sys
from functools import cache, partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

import sociarium
from sociarium.arena.lanes import Lanes
from sociarium.core import random
from sociarium.core.environment import Transition
from sociarium.core.episode import fingerprint
from sociarium.core.random import step_key

HORIZON = 12


@cache
def made(name):
    return sociarium.make(name)


def actions_of(env, words):
    return random.randint_from_bits(words, jnp.full(words.shape, len(env.actions)))


@cache
def alone(name: str, lane: int, episode: int) -> str:
    """Episode `episode` of lane `lane`, stepped by itself without `Lanes`."""
    env = made(name)
    params = env.params(horizon=HORIZON)
    key = jax.random.fold_in(sociarium.key(7), lane)
    state = jax.jit(env.reset)(jax.random.fold_in(key, episode), params)
    step, trail = stepping(env), []
    for clock in range(HORIZON - 1):
        state, transition, view = step(step_key(key, episode, clock), state, params)
        trail.append((state, transition, view))
    return fingerprint(trail)


@cache
def stepping(env):
    """One random step of a single lane and what is seen after it, compiled."""

    @jax.jit
    def step(k_step, state, params):
        words = random.player_bits(k_step, env.players)
        state, transition = env.step(k_step, state, actions_of(env, words), params)
        return state, transition, env.observe(state, params)

    return step


def among(name: str, lanes: int, lane: int, devices: int = 1) -> list[str]:
    """Its first two episodes as one lane of many, over one or several devices."""
    env = sociarium.make(name)
    params = env.params(horizon=HORIZON)
    local = Lanes(env, lanes // devices)

    def play():
        first = jax.lax.axis_index("lanes") * local.n
        state = local.start(sociarium.key(7), params, first)

        def step(state, _):
            words = jax.vmap(partial(random.player_bits, players=env.players))(local.keys(state))
            state, transition, view = local.step(state, actions_of(env, words), params)
            plain = {name: getattr(transition, name) for name in Transition.__dataclass_fields__}
            kept = state.state, Transition(**plain), view
            return state, jax.tree.map(lambda x: x[None], kept)

        return jax.lax.scan(step, state, None, length=2 * HORIZON - 1)[1]

    mesh = Mesh(jax.devices()[:devices], ("lanes",))
    over_lanes = PartitionSpec(None, None, "lanes")
    run = jax.shard_map(play, mesh=mesh, in_specs=(), out_specs=over_lanes, check_vma=False)
    kept = jax.device_get(jax.jit(run)())

    def trail(start):
        clocks = range(start, start + HORIZON - 1)
        return [jax.tree.map(lambda x, clock=clock: x[clock, 0, lane], kept) for clock in clocks]

    return [fingerprint(trail(start)) for start in (0, HORIZON)]


if __name__ == "__main__":
    lanes, lane, devices = map(int, sys.argv[1:4])
    for name in sys.argv[4:]:
        print(name, *among(name, lanes, lane, devices))
