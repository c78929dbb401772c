"""Options: a world played by orders is again an environment, and learners learn in it."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core import random
from sociarium.core.errors import BadArgument
from sociarium.learning import preferences
from sociarium.learning.ppo import PpoConfig, PpoTrainer
from sociarium.players.planning.options import Options
from sociarium.players.planning.skill import Status
from sociarium.players.planning.skill_set import SkillSet
from tests.toys.meadow import Meadow

STAY, MINE, THEIRS, LOOK = range(4)


@cache
def options():
    skill_set = SkillSet(sociarium.make("coins"), names=("collect", "explore"))
    return Options(
        skill_set,
        {
            "collect my coin": skill_set.order("collect", thing="my coin"),
            "collect their coin": skill_set.order("collect", thing="their coin"),
            "look around": skill_set.order("explore", steps=5),
        },
    )


def test_a_world_played_by_orders_keeps_the_contract():
    meadow = SkillSet(Meadow(), names=("go_to", "wait"))
    orders = {
        "smell the flower": meadow.order("go_to", place=(1, 3)),
        "rest": meadow.order("wait", steps=3),
    }
    assert sociarium.check(Options(meadow, orders), steps=20)


def test_an_order_is_followed_until_it_ends():
    env = options()
    params = env.params()
    state, step = jax.jit(env.reset)(sociarium.key(0), params), jax.jit(env.step)
    assert np.asarray(env.legal(state, params)).all()
    for clock in range(5):
        actions = jnp.array([LOOK if clock == 0 else STAY, STAY], jnp.int32)
        state, _ = step(sociarium.key(clock), state, actions, params)
        free = np.asarray(env.legal(state, params))[:, 1:].all(1)
        assert free.tolist() == [clock == 4, True]
    assert state.running.status[0] == Status.SUCCESS and state.running.elapsed[0] == 5


def test_the_world_goes_on_as_it_would_with_the_same_steps():
    env = options()
    params, world = env.params(), env.world
    state, step = jax.jit(env.reset)(sociarium.key(0), params), jax.jit(env.step)
    plain = jax.jit(world.step)
    bare = jax.jit(world.reset)(sociarium.key(0), params)
    for clock in range(12):
        key = sociarium.key(clock)
        state, _ = step(key, state, jnp.full(2, LOOK, jnp.int32), params)
        bare, _ = plain(key, bare, state.running.last, params)
        assert jax.tree.all(jax.tree.map(np.array_equal, state.world, bare))


def test_collectors_of_their_own_coins_earn_what_they_take():
    env = options()
    params = env.params()

    @jax.jit
    def play(key):
        def one(state, key):
            wants = jnp.where(state.running.status == Status.BLOCKED, LOOK, MINE)
            state, transition = env.step(key, state, wants.astype(jnp.int32), params)
            return state, (transition.raw, transition.events["took_other"].mask)

        return jax.lax.scan(one, env.reset(key, params), jax.random.split(key, 150))[1]

    earned, strayed = map(np.asarray, play(sociarium.key(1)))
    assert earned.sum() > 5 and strayed.sum() <= 2


def test_learners_choose_among_orders():
    env = options()
    config = PpoConfig(lanes=4, num_steps=8, num_minibatches=2, epochs=1, updates=3)
    trainer = PpoTrainer(env, config, params=env.params(horizon=20))
    wish = preferences.parse("selfish", env.players)
    learner = jax.jit(trainer.begin)(random.key(0), config, wish)
    before, update = jax.tree.leaves(learner.weights), jax.jit(trainer.update)
    for _ in range(3):
        learner, report = update(learner, config, wish)
    assert all(np.isfinite(loss) for loss in report.metrics.values())
    after = jax.tree.leaves(learner.weights)
    assert any(not np.array_equal(x, y) for x, y in zip(before, after, strict=True))


def test_options_need_names_of_their_own():
    with pytest.raises(BadArgument, match="none of them called stay"):
        Options(options().skill_set, {})
