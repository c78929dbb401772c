"""How fast matches are; by name: `pytest -m slow tests/arena/test_match_speed.py -s`."""

import asyncio
import dataclasses
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.batch import Batch
from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.core import random
from sociarium.core.random import step_key
from sociarium.learning.training import Training
from sociarium.players import roster
from tests.arena.guests import Turning
from tests.learning.runs import small

LANES, STEPS, ROUNDS = 1024, 100, 5


def hand_written(env, player, lanes, steps):
    """A scan that anybody would write for one policy in all seats of one world."""
    params = env.params()

    def act(key, view, legal, memory):
        keys = jax.vmap(lambda seat: jax.random.fold_in(key, seat))(jnp.arange(env.players))
        return jax.vmap(player.act)(keys, view, legal, memory)

    @jax.jit
    def play(keys):
        state = jax.vmap(env.reset, (0, None))(keys, params)
        begin = jax.vmap(lambda key: jax.vmap(player.begin)(jax.random.split(key, env.players)))
        total = jnp.zeros((lanes, env.players))

        def step(carry, clock):
            state, memory, total = carry
            k_step = jax.vmap(lambda key: step_key(key, 0, clock))(keys)
            k_act = jax.vmap(lambda key: jax.random.fold_in(key, random.PLAYER_MOVES))(k_step)
            view = jax.vmap(env.observe, (0, None))(state, params)
            legal = jax.vmap(env.legal, (0, None))(state, params)
            actions, memory = jax.vmap(act)(k_act, view, legal, memory)
            state, transition = jax.vmap(env.step, (0, 0, 0, None))(k_step, state, actions, params)
            return (state, memory, total + transition.raw), None

        return jax.lax.scan(step, (state, begin(keys), total), jnp.arange(steps))[0][2]

    return play


@pytest.mark.slow
@pytest.mark.parametrize("world", ["coins", "clean_up"])
def test_matches_of_pure_players_keep_nine_tenths_of_a_hand_written_scan(world, tmp_path):
    env = sociarium.make(world)
    Training(dataclasses.replace(small(), world=env.id)).export(tmp_path)
    (seat,) = roster.parse(f"policy:{tmp_path}")
    play = hand_written(env, roster.player(seat, env), LANES, STEPS)
    keys = jax.vmap(lambda lane: jax.random.fold_in(random.key(0), lane))(jnp.arange(LANES))
    seating = np.zeros((LANES, env.players), int)
    batch = Batch(env, [seat], seating, steps=STEPS)
    jax.block_until_ready(play(keys))
    batch.sums()
    ratios = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        jax.block_until_ready(play(keys))
        between = time.perf_counter()
        batch.sums()
        ratios.append((between - began) / (time.perf_counter() - between))
    print(f"{world}: {np.median(ratios):.2f} of a hand-written scan, {np.round(ratios, 2)}")
    assert np.median(ratios) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("world", ["coins", "clean_up"])
def test_a_player_outside_costs_less_than_five_milliseconds_a_step(world, tmp_path):
    folder, terms = MatchFolder(tmp_path), Terms(steps=400)
    env, guests = sociarium.make(world), {1: Turning()}
    played = terms.match(env, "random", 0, lambda played, steps: None, folder, guests)
    folder.begin(played, world, "random", 0, terms)
    asyncio.run(played.play(50))
    began = time.perf_counter()
    asyncio.run(played.play(350))
    taken = (time.perf_counter() - began) / 300
    print(f"{world}: {1e3 * taken:.2f} ms a step")
    assert taken < 0.005
