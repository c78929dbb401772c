"""Overcooked here and in JaxMARL, in turns, in one process: `python -m benchmarks.overcooked`.

Random play of both on one layout, with views built at every step and episodes that begin anew.
"""

import argparse
import json
import statistics
import time

import jax
from jaxmarl.environments.overcooked import Overcooked as Theirs
from jaxmarl.environments.overcooked import overcooked_layouts
from tests.kitchens.lossless import LosslessPlanes

import sociarium
from sociarium.adapters.jaxmarl import MultiAgent
from sociarium.arena.lanes import Lanes
from sociarium.arena.observers import Codes
from sociarium.core import random

STEPS = 500
THEIR_NAMES = {
    "cramped_room": "cramped_room",
    "asymmetric_advantages": "asymm_advantages",
    "coordination_ring": "coord_ring",
    "forced_coordination": "forced_coord",
    "counter_circuit": "counter_circuit",
}


def random_play(env, lanes):
    """A compiled function that plays many lanes at random and keeps the last views."""
    actions = env.action_space(env.agents[0]).n

    def start(key):
        return jax.vmap(env.reset)(jax.random.split(key, lanes))

    def step(carry, key):
        _, state = carry
        k_act, k_step = jax.random.split(key)
        drawn = jax.random.randint(k_act, (len(env.agents), lanes), 0, actions)
        chosen = dict(zip(env.agents, drawn, strict=True))
        seen, state, *rest = jax.vmap(env.step)(jax.random.split(k_step, lanes), state, chosen)
        return (seen, state), rest[0][env.agents[0]].sum()

    @jax.jit
    def play(key):
        carry = start(key)
        carry, paid = jax.lax.scan(step, carry, jax.random.split(key, STEPS))
        return carry[0], paid.sum()

    return play


def native(name, lanes):
    """The same without an adapter: views as codes."""
    env = sociarium.make(name)
    params, local = env.params(), Lanes(env, lanes)

    def step(carry, key):
        state, _ = carry
        drawn = jax.random.randint(key, (lanes, env.players), 0, len(env.actions))
        state, transition, view = local.step(state, drawn, params)
        return (state, view), transition.reward.sum()

    @jax.jit
    def play(key):
        state = local.start(random.key(0), params, 0)
        start = state, local.view(state, params)
        (_, view), paid = jax.lax.scan(step, start, jax.random.split(key, STEPS))
        return view, paid.sum()

    return play


def timed(play, seed):
    """Seconds of one round."""
    began = time.perf_counter()
    jax.block_until_ready(play(jax.random.PRNGKey(seed)))
    return time.perf_counter() - began


def main():
    """Measures all in turns, and prints rates and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layout", default="cramped_room", choices=list(THEIR_NAMES))
    parser.add_argument("--lanes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    name = f"overcooked?layout={given.layout}"
    plays = {
        "jaxmarl": Theirs(layout=overcooked_layouts[THEIR_NAMES[given.layout]]),
        "ours, codes": MultiAgent(sociarium.make(name), observe=Codes),
        "ours, 26 planes": MultiAgent(sociarium.make(name), observe=LosslessPlanes),
    }
    plays = {who: random_play(env, given.lanes) for who, env in plays.items()}
    plays["ours, without adapter"] = native(name, given.lanes)
    for play in plays.values():
        timed(play, 0)
    times = {who: [] for who in plays}
    for seed in range(1, given.rounds + 1):
        for who, play in plays.items():
            times[who].append(timed(play, seed))
    steps = STEPS * given.lanes
    told = {"layout": given.layout, "lanes": given.lanes, "rounds": given.rounds}
    told["env_steps_per_s"] = {who: steps / statistics.median(took) for who, took in times.items()}
    told["times_jaxmarl"] = {
        who: statistics.median(
            theirs / ours for theirs, ours in zip(times["jaxmarl"], took, strict=True)
        )
        for who, took in times.items()
    }
    if given.json:
        print(json.dumps(told))
        return
    for who, rate in told["env_steps_per_s"].items():
        print(f"{who}: {rate:,.0f} env steps/s, {told['times_jaxmarl'][who]:.2f} times JaxMARL")


if __name__ == "__main__":
    main()
