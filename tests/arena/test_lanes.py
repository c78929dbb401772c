"""Lanes: the same episodes alone and among others, correct ends, spares in time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.lanes import Lanes
from sociarium.conformance.contract import same
from sociarium.core import random
from sociarium.core.environment import compiled
from sociarium.core.random import step_key
from tests.arena.trajectory import alone, among
from tests.devices import printed
from tests.families import in_ci
from tests.toys.echo import Echo
from tests.toys.meadow import Meadow

NAMES = ("clean_up-v0", "mushrooms-v0")


@pytest.mark.parametrize("name", in_ci([*NAMES, "harvest_open-v0", "pd_arena-v0"], NAMES[:1]))
def test_a_lane_plays_the_same_alone_and_among_256_in_both_episodes(name):
    assert among(name, 256, 37) == [alone(name, 37, episode) for episode in (0, 1)]


def test_another_lane_or_episode_is_another_trajectory():
    prints = {alone("coins-v0", lane, episode) for lane in (0, 1) for episode in (0, 1)}
    assert len(prints) == 4


@pytest.mark.parametrize("name", in_ci(NAMES, NAMES[:1]))
def test_another_process_with_eight_devices_plays_the_same(name):
    told = printed(8, "tests.arena.trajectory", "256", "37", "8", name)
    _, *elsewhere = told.splitlines()[-1].split()
    assert elsewhere == [alone(name, 37, episode) for episode in (0, 1)]


@pytest.fixture(scope="module")
def meadow():
    """Two players; lanes end at different times because of their own horizon."""
    return Meadow(players=2)


def play(env, lanes, params, steps):
    """Random play, step by step in NumPy: lanes, transition, view, actions and the step's keys."""
    batch = Lanes(env, lanes)

    @jax.jit
    def run(params):
        def step(state, _):
            keys = batch.keys(state)
            words = jax.vmap(lambda k: random.player_bits(k, env.players))(keys)
            actions = random.randint_from_bits(words, jnp.full(words.shape, len(env.actions)))
            state, transition, view = batch.step(state, actions, params)
            return state, (state, transition, view, actions, keys)

        return jax.lax.scan(step, batch.start(sociarium.key(0), params), None, length=steps)[1]

    kept = jax.device_get(run(params))
    return [jax.tree.map(lambda x, n=n: x[n], kept) for n in range(steps)]


def test_the_view_is_after_the_new_start_and_the_final_view_before_it(meadow):
    params = meadow.params(horizon=3)
    trail = play(meadow, 4, params, 3)
    state, transition, view, actions, keys = trail[2]
    assert transition.truncated.all() and not transition.terminated.any()
    step = jax.jit(jax.vmap(meadow.step, (0, 0, 0, None)))
    last, _ = step(keys, trail[1][0].state, actions, params)
    look = jax.jit(jax.vmap(meadow.observe, (0, None)))
    assert same(transition.final_view, look(last, params))
    assert same(view, look(state.state, params))
    assert not same(view, transition.final_view)


def test_returns_and_lengths_are_those_of_the_ended_episode(meadow):
    params = meadow.params(horizon=5)
    trail = play(meadow, 3, params, 10)
    paid = np.array([transition.raw for _, transition, *_ in trail])
    for end in (4, 9):
        _, transition, *_ = trail[end]
        assert np.allclose(transition.episode_return, paid[end - 4 : end + 1].sum(0))
        assert transition.episode_length.tolist() == [5, 5, 5]
    assert trail[4][0].length.tolist() == [0, 0, 0]
    assert trail[4][0].episode.tolist() == [1, 1, 1]


def test_stopped_lanes_are_truncated_and_the_others_go_on(meadow):
    params, batch = meadow.params(horizon=9), Lanes(meadow, 4)
    stopped = np.array([True, False, False, True])

    before = jax.jit(batch.start)(sociarium.key(0), params)
    actions, step, view_of = jnp.ones((4, 2), jnp.int32), jax.jit(batch.step), jax.jit(batch.view)
    for _ in range(2):
        before, *_ = step(before, actions, params, jnp.zeros(4, bool))
    plain, untouched, seen = step(before, actions, params, jnp.zeros(4, bool))
    after, transition, view = step(before, actions, params, jnp.asarray(stopped))
    assert transition.truncated.tolist() == stopped.tolist()
    assert not untouched.truncated.any() and not transition.terminated.any()
    assert transition.episode_length.tolist() == [3] * 4
    assert after.length.tolist() == [0, 3, 3, 0] and after.episode.tolist() == [1, 0, 0, 1]
    assert same(transition.final_state, plain.state) and same(transition.final_view, seen)
    assert same(untouched.final_state, plain.state)

    def chosen(start, goes_on):
        mask = stopped.reshape(-1, *[1] * (goes_on.ndim - 1))
        return np.where(mask, start, goes_on)

    assert same(after.state, jax.tree.map(chosen, before.spare, plain.state))
    assert same(view, view_of(after, params))
    np.testing.assert_array_equal(after.returns, np.where(stopped[:, None], 0, plain.returns))


def test_an_episode_that_ends_by_itself_is_not_truncated_as_well():
    env = Echo(players=1)
    params = env.params(horizon=1, final=1)
    batch = Lanes(env, 2)

    @jax.jit
    def ended(key):
        start, stay = batch.start(key, params), jnp.zeros((2, 1), jnp.int32)
        return batch.step(start, stay, params, jnp.array([True, False]))[1]

    transition = ended(sociarium.key(0))
    assert transition.terminated.all() and not transition.truncated.any()


@pytest.mark.parametrize("horizon", [1, 2, 7])
def test_every_start_is_the_reset_of_its_own_lane_and_episode(meadow, horizon):
    params = meadow.params(horizon=horizon)
    lanes = 130
    trail = play(meadow, lanes, params, 3 * horizon)
    state = trail[-1][0]
    assert state.episode.tolist() == [3] * lanes
    for lane in (0, 64, 129):
        key = jax.random.fold_in(sociarium.key(0), lane)
        start = jax.device_get(compiled(meadow, "reset")(jax.random.fold_in(key, 3), params))
        assert same(jax.tree.map(lambda x, lane=lane: x[lane], state.state), start)


def test_spares_are_renewed_a_few_at_a_time(meadow):
    trail = play(meadow, 130, meadow.params(horizon=60), 110)
    ready = [int(state.ready.sum()) for state, *_ in trail]
    assert ready[58] == 130 and ready[59] == 0 and ready[109] == 130


def test_step_keys_are_never_shared_by_lanes_episodes_or_steps():
    def words(lane, episode, step):
        key = jax.random.fold_in(sociarium.key(0), lane)
        return jax.random.key_data(step_key(key, episode, step))

    grid = jnp.stack(jnp.meshgrid(*[jnp.arange(12)] * 3, indexing="ij"), -1).reshape(-1, 3)
    data = np.asarray(jax.vmap(lambda x: words(x[0], x[1], x[2]))(grid))
    assert len(np.unique(data, axis=0)) == 12**3
