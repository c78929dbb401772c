"""What "the same trajectory" means, and the stored list of trajectories.

A trajectory's hash is SHA-256 over random play with seed 0: in each of 200 steps the actions, the
three stages of reward, both ends and the world's events, and in every 50th what players see and may
do. It knows no state, no class and no gauge, so that renaming and moving them does not change it.

    python -m tests.trajectories            # compare all with the stored list
    python -m tests.trajectories --store    # write the list anew
"""

import argparse
import hashlib
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium import catalogue
from sociarium.core import random
from sociarium.core.events import table
from sociarium.core.facets import ground_plan
from tests.families import ARTICLES, charter_of

STORED = Path(__file__).parent / "trajectories.json"
STEPS, LOOKED_AT = 200, 50
COINS, SAYS = sociarium.make("coins-v0"), {"speech": 2}  # words, where silence is like no charter
NAMES = (
    *(entry.id for entry in (*catalogue.WORLDS, *catalogue.SOCIETIES)),
    *(f"coins-v0+{charter_of(article, COINS, SAYS.get(article, 0))}" for article in ARTICLES),
)


def played(env):
    """Random play as arrays over time; a step's random draws hang on the seed and the step."""
    params = env.params()

    def step(carry, clock):
        state, over = carry
        k_step, k_choice = jax.random.split(jax.random.fold_in(random.key(0), clock))
        view, legal = env.observe(state, params), env.legal(state, params)
        nth = random.randint_from_bits(random.bits(k_choice, env.players), legal.sum(1)) + 1
        actions = jnp.argmax(jnp.cumsum(legal, 1) == nth[:, None], 1).astype(jnp.int32)
        state, transition = env.step(k_step, state, actions, params)
        ends = transition.terminated | transition.truncated
        return (state, over | ends), (over, actions, transition, legal, view.cells, view.own)

    def run():
        state = env.reset(random.key(0), params)
        return jax.lax.scan(step, (state, jnp.bool_(False)), jnp.arange(STEPS))[1]

    over, *kept = jax.device_get(jax.jit(run)())
    return jax.tree.map(lambda x: x[: len(over) - over.sum()], kept)


def trajectory_hash(env):
    actions, transition, legal, cells, own = played(env)
    world = getattr(env, "world", env)
    happened = {}
    for row in table(transition.events, world.event_specs, ground_plan(world).shape[1]):
        told = (row.kind, row.actor, row.target, row.row, row.col, float(row.value))
        happened.setdefault(row.step, []).append(told)
    digest = hashlib.sha256()

    def add(numbers, dtype):
        digest.update(np.ascontiguousarray(numbers, dtype).tobytes())

    for step in range(len(actions)):
        add(actions[step], "<i4")
        for points in (transition.raw, transition.distributed, transition.reward):
            add(points[step], "<f4")
        add([transition.terminated[step], transition.truncated[step]], "u1")
        for name, *numbers, value in sorted(happened.get(step, ())):
            digest.update(name.encode())
            add(numbers, "<i4")
            add([value], "<f4")
        if step % LOOKED_AT == 0:
            add(legal[step], "u1")
            add(cells[step], "u1")
            add(own[step], "<i2")
    return digest.hexdigest()


def stored():
    return json.loads(STORED.read_text())


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--store", action="store_true")
    store, found = asked.parse_args().store, {}
    known = stored() if STORED.exists() else {}
    for name in NAMES:
        found[name] = trajectory_hash(sociarium.make(name))
        same = "same" if known.get(name) == found[name] else "DIFFERS"
        print(f"{name:32} {found[name][:16]} {same}", flush=True)
    if store:
        STORED.write_text(json.dumps(found, indent=1) + "\n")
    raise SystemExit(0 if store else found != known)


if __name__ == "__main__":
    main()
