"""Seats, scripts and the paths they walk."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sociarium
from sociarium.arena.lanes import step_key
from sociarium.arena.rollout import rollout
from sociarium.core.conformance import same
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.players import planning, roster

HOME = (9, 5)
distances = jax.jit(planning.distances)
step_toward = jax.jit(planning.step_toward, static_argnums=2)


def breadth_first(goal, blocked):
    steps = np.full(goal.shape, planning.FAR)
    queue = deque((int(r), int(c)) for r, c in np.argwhere(goal & ~blocked))
    for place in queue:
        steps[place] = 0
    while queue:
        row, col = queue.popleft()
        for near in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
            inside = 0 <= near[0] < goal.shape[0] and 0 <= near[1] < goal.shape[1]
            if inside and not blocked[near] and steps[near] == planning.FAR:
                steps[near] = steps[row, col] + 1
                queue.append(near)
    return steps


def windows(chance):
    return arrays(float, (11, 11), elements=st.floats(0, 1)).map(lambda x: x < chance)


@given(windows(0.1), windows(0.2))
def test_distances_in_a_sparse_window_are_shortest_paths(goal, blocked):
    found = np.asarray(distances(jnp.asarray(goal), jnp.asarray(blocked)))
    walked = breadth_first(goal, blocked)
    near = walked <= 22
    assert (found[near] == walked[near]).all()
    assert (found[walked == planning.FAR] == planning.FAR).all()


@given(windows(0.05), windows(0.2), st.integers(0, 2**32 - 1))
def test_a_step_brings_the_goal_nearer(goal, blocked, word):
    blocked[HOME] = False
    walked = breadth_first(goal, blocked)
    action, found = step_toward(jnp.asarray(goal), jnp.asarray(blocked), HOME, jnp.uint32(word))
    row, col = HOME
    then = {0: HOME, 1: (row - 1, col), 2: (row + 1, col), 3: (row, col - 1), 4: (row, col + 1)}
    if walked[HOME] == 0:
        assert int(action) == 0
    elif walked[HOME] <= 20:
        assert found and walked[then[int(action)]] == walked[HOME] - 1


def test_seat_strings_name_kind_which_options_and_how_many():
    chairs = roster.parse("random script:forager?pace=2&mood=calm*2")
    assert [str(chair) for chair in chairs] == ["random", "script:forager", "script:forager"]
    assert chairs[1].options == (("pace", "2"), ("mood", "calm"))


def test_seat_strings_that_mean_nothing_are_refused():
    with pytest.raises(BadArgument, match="script:forager"):
        roster.parse("script:*")
    with pytest.raises(UnknownName, match="random"):
        roster.parse("randon")
    with pytest.raises(UnknownName, match="forager"):
        roster.player(roster.Seat("script", "forrager"), sociarium.make("coins"))
    with pytest.raises(BadArgument, match="nothing to clean"):
        roster.player(roster.Seat("script", "cleaner"), sociarium.make("harvest_open"))


def test_the_number_of_seats_must_fit():
    with pytest.raises(BadArgument, match="7 seats"):
        rollout(sociarium.make("harvest_open"), "random random", steps=2)


def test_foragers_of_coins_take_only_their_own():
    episode, _ = rollout(sociarium.make("coins"), "script:forager", steps=300)
    kinds = [row.kind for row in episode.events]
    assert kinds.count("took_own") > 10
    assert kinds.count("took_other") == 0


def test_cleaners_make_apples_grow_and_random_players_do_not():
    env = sociarium.make("clean_up")
    tended, _ = rollout(env, "script:cleaner*3 script:forager*4", steps=250)
    idle, _ = rollout(env, "random", steps=250)
    assert tended.returns.sum() > 100 and idle.returns.sum() < 10
    assert tended.gauges["clean_water"][-1] > idle.gauges["clean_water"][-1]


def test_an_episode_is_rebuilt_by_its_seed_and_actions():
    env = sociarium.make("coins")
    episode, states = rollout(env, "script:forager random", seed=4, lane=2, number=1, steps=30)
    key = jax.random.fold_in(sociarium.key(episode.seed), episode.lane)
    state = env.reset(jax.random.fold_in(key, episode.number), episode.params)
    step = jax.jit(env.step)
    for clock, actions in enumerate(episode.actions):
        assert same(jax.tree.map(lambda x, clock=clock: x[clock], states), state)
        k_step = step_key(key, episode.number, clock)
        state, _ = step(k_step, state, jnp.asarray(actions), episode.params)


def test_an_episode_stops_at_its_end():
    env = sociarium.make("coins")
    episode, states = rollout(env, "random", steps=30, params=env.params(horizon=12))
    assert len(episode) == 12 and episode.truncated[-1] and len(states.clock) == 13
    assert episode.in_play.all()


def test_random_players_use_every_action():
    env = sociarium.make("clean_up")
    uniform = roster.player(roster.Seat("random"), env)
    state = env.reset(sociarium.key(0), env.params())
    view = jax.tree.map(lambda x: x[0], env.observe(state, env.params()))
    legal = env.legal(state, env.params())[0]
    keys = jax.random.split(sociarium.key(0), 900)
    actions, _ = jax.vmap(lambda key: uniform.act(key, view, legal, None))(keys)
    counts = np.bincount(actions, minlength=9)
    assert counts.min() > 60 and counts.max() < 140
