"""Frontiers over devices beside the same in one piece: what tests ask of a program.

    python -m tests.worlds.frontier_over_devices CHECK ...

It needs eight devices, and prints what it found as JSON.
"""

import json
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.arena.one_world import OneForAll, OverDevices, Whole, played_hash
from sociarium.core.episode import fingerprint
from sociarium.core.errors import SociariumError
from sociarium.core.mesh import EVERYWHERE
from sociarium.envs.frontier.frontier import NORTH, STAY
from sociarium.networks.actor_critic import NetworkConfig, actor_critic
from sociarium.players.policy import Policy
from sociarium.players.scripted.frontier import Gatherer

FORCED = {"deliberation": 0, "forced": 0.5}


def start(env, params):
    return jax.jit(env.reset)(sociarium.key(0), params)


def hashes(name, players, shards, steps, **numbers):
    """The hashes of one world in one piece and over devices."""
    env = sociarium.make(name, players=players, tiles=(4, 2))
    params = env.params(**numbers)
    worlds = [Whole(env), *(OverDevices(env, number, capacity=3.0) for number in shards)]
    return [played_hash(world, steps, params) for world in worlds]


def policy(env):
    """New weights that remember, as PPO begins with."""
    config = NetworkConfig(core="gru")
    sizes = env.players, len(env.actions), 0
    return Policy(actor_critic(sociarium.key(5), config, env.view_spec, *sizes))


def everything_that_one_does(player):
    """The checksum, the last state, and what all see and remember."""
    env = sociarium.make("frontier_exploration", players=60, tiles=(2, 1))
    params = env.params()

    def played(world):
        play, state = OneForAll(world, player(env), params), world.begin(start(env, params))
        state, rows, _ = world.compiled(play.begin, state)(state, (), ())
        run = world.compiled(play.steps, state)
        state, (memory, view, _), checksum = run(state, rows, jnp.arange(30))
        return state, (view, memory), int(checksum)

    state, rows, checksum = played(Whole(env))
    over = OverDevices(env, 4, capacity=3.0)
    parts, rows_of_slots, checksum_over = played(over)
    slot = np.argsort(np.asarray(parts.seat), kind="stable")[: env.players]
    ordered = jax.tree.map(lambda x: np.asarray(x)[slot], rows_of_slots)
    memories = (jax.tree.leaves(remembered) for remembered in (rows[1], ordered[1]))
    gaps = [np.abs(np.subtract(a, b, dtype=float)).max() for a, b in zip(*memories, strict=True)]
    return {
        "in one piece": [checksum, fingerprint([state]), fingerprint([rows[0]])],
        "over": [checksum_over, fingerprint([over.mesh.collect(parts)]), fingerprint([ordered[0]])],
        "gap": float(max(gaps)),
        "crossings": over.crossings(parts),
    }


def marching_north():
    """Whoever is not on the first strip marches there, where all stay: it says what to do."""
    env = sociarium.make("frontier_exploration", players=200, tiles=(2, 4))
    params = env.params()
    world = OverDevices(env, 4, capacity=1.5)
    mesh = world.mesh

    def march(state, params):
        def step(state, clock):
            actions = jnp.where(jax.lax.axis_index("strips") == 0, STAY, NORTH)
            actions = jnp.full(mesh.slots, actions)
            after, *_ = mesh.part.step_with(sociarium.key(1), state, actions, params, ())
            return after, None

        return jax.lax.scan(step, state, None, length=40)[0]

    state = mesh.spread(start(env, params))
    mesh.check(state)
    run = mesh.on_mesh(march, (mesh.specs(state), EVERYWHERE), mesh.specs(state))
    after, said = run(state, params), []
    for ask in (mesh.check, mesh.collect):
        try:
            ask(after)
        except SociariumError as error:
            said.append(str(error))
    return said


def refusals():
    """What cannot lie over devices, and why."""
    asked = (
        ("frontier_survival", (2, 2), 2, 1.5),
        ("frontier_exploration", (2, 2), 3, 1.5),
        ("frontier_exploration", (2, 2), 10, 1.5),
        ("frontier_exploration", (2, 2), 2, 0.5),
        ("frontier_exploration", (2, 2), 2, 1.0),
    )
    said = []
    for name, tiles, shards, capacity in asked:
        env = sociarium.make(name, tiles=tiles)
        try:
            OverDevices(env, shards, capacity).begin(start(env, env.params()))
            said.append("")
        except SociariumError as error:
            said.append(str(error))
    return said


CHECKS = {
    "bare": partial(hashes, "frontier_exploration", 200, (2, 8), 60),
    "contract": partial(hashes, "frontier_exploration+contract", 300, (4,), 40, **FORCED),
    "gatherer": partial(everything_that_one_does, Gatherer),
    "policy": partial(everything_that_one_does, policy),
    "march": marching_north,
    "refusals": refusals,
    "large": partial(hashes, "frontier_exploration", 2000, (1, 2, 4, 8), 300),
}


if __name__ == "__main__":
    print(json.dumps({name: CHECKS[name]() for name in sys.argv[1:]}))
