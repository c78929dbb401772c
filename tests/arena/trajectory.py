"""Random play of one lane, alone or among others, as a fingerprint of all it went through.

Run as a program it prints those of two episodes, so that other processes can be asked for theirs.
"""

import sys
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

import sociarium
from sociarium.arena.lanes import Lanes, step_key
from sociarium.core import random
from sociarium.core.environment import Transition
from sociarium.core.episode import fingerprint

HORIZON = 12


def actions_of(env, words):
    return random.below(words, jnp.full(words.shape, len(env.actions)))


def alone(name: str, lane: int, episode: int) -> str:
    """Episode `episode` of lane `lane`, stepped by itself without `Lanes`."""
    env = sociarium.make(name)
    params = env.params(horizon=HORIZON)
    key = jax.random.fold_in(sociarium.key(7), lane)
    state = jax.jit(env.reset)(jax.random.fold_in(key, episode), params)

    @jax.jit
    def step(state, clock):
        k_step = step_key(key, episode, clock)
        words = random.player_words(k_step, env.players)
        return env.step(k_step, state, actions_of(env, words), params)

    trail = []
    for clock in range(HORIZON - 1):
        state, transition = step(state, clock)
        trail.append((state, transition, env.compiled("observe")(state, params)))
    return fingerprint(trail)


def among(name: str, lanes: int, lane: int, devices: int = 1) -> list[str]:
    """Its first two episodes as one lane of many, over one or several devices."""
    env = sociarium.make(name)
    params = env.params(horizon=HORIZON)
    local = Lanes(env, lanes // devices)

    def play():
        first = jax.lax.axis_index("lanes") * local.n
        state = local.start(sociarium.key(7), params, first)

        def step(state, _):
            words = jax.vmap(partial(random.player_words, players=env.players))(local.keys(state))
            state, transition, view = local.step(state, actions_of(env, words), params)
            plain = (transition.reward, transition.raw, transition.distributed)
            ends = (transition.terminated, transition.truncated, transition.events)
            return state, jax.tree.map(lambda x: x[None], ((state.state, *plain, *ends), view))

        return jax.lax.scan(step, state, None, length=2 * HORIZON - 1)[1]

    mesh = Mesh(jax.devices()[:devices], ("lanes",))
    over_lanes = PartitionSpec(None, None, "lanes")
    run = jax.shard_map(play, mesh=mesh, in_specs=(), out_specs=over_lanes, check_vma=False)
    kept, views = jax.jit(run)()
    prints = []
    for start in (0, HORIZON):
        trail = []
        for clock in range(start, start + HORIZON - 1):
            at = partial(jax.tree.map, lambda x, clock=clock: x[clock, 0, lane])
            state, *transition = at(kept)
            trail.append((state, Transition(*transition), at(views)))
        prints.append(fingerprint(trail))
    return prints


if __name__ == "__main__":
    name, lanes, lane, devices = sys.argv[1], *map(int, sys.argv[2:])
    alike = among(name, lanes, lane, devices) if lanes else [alone(name, lane, e) for e in (0, 1)]
    print(*alike)
