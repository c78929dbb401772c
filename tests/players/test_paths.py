"""Shortest paths in a window, against a plain breadth-first search."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sociarium.mechanics import turning
from sociarium.players.planning import paths

HOME = (9, 5)
FAR = 10**6
step_toward = jax.jit(paths.step_toward, static_argnums=2)
many_steps = jax.jit(
    jax.vmap(jax.vmap(lambda goal, blocked, word: step_toward(goal, blocked, HOME, word)))
)
make_for = jax.jit(paths.make_for, static_argnums=3)
stroll = jax.jit(paths.stroll, static_argnums=1)


def breadth_first(goal, blocked):
    steps = np.full(goal.shape, FAR)
    queue = deque((int(r), int(c)) for r, c in np.argwhere(goal & ~blocked))
    for place in queue:
        steps[place] = 0
    while queue:
        row, col = queue.popleft()
        for near in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
            inside = 0 <= near[0] < goal.shape[0] and 0 <= near[1] < goal.shape[1]
            if inside and not blocked[near] and steps[near] == FAR:
                steps[near] = steps[row, col] + 1
                queue.append(near)
    return steps


def after(action, place=HOME):
    row, col = place
    return {
        turning.STAY: place,
        turning.FORWARD: (row - 1, col),
        turning.BACK: (row + 1, col),
        turning.STEP_LEFT: (row, col - 1),
        turning.STEP_RIGHT: (row, col + 1),
    }[int(action)]


def windows(chance):
    return arrays(float, (11, 11), elements=st.floats(0, 1)).map(lambda x: x < chance)


@given(windows(0.05), windows(0.3), st.integers(0, 2**32 - 1))
def test_a_step_is_the_first_of_a_shortest_way(goal, blocked, word):
    blocked[HOME] = False
    walked = breadth_first(goal, blocked)
    action, found = step_toward(jnp.asarray(goal), jnp.asarray(blocked), HOME, jnp.uint32(word))
    assert found == (walked[HOME] < FAR)
    if walked[HOME] == 0:
        assert int(action) == turning.STAY
    elif found:
        assert walked[after(action)] == walked[HOME] - 1


def test_a_way_may_wind_through_the_whole_window():
    blocked = np.zeros((11, 11), bool)
    blocked[1::2] = True
    blocked[1::4, 10] = blocked[3::4, 0] = False
    blocked[9, 5] = False
    goal = np.zeros((11, 11), bool)
    goal[0, 0] = True
    assert breadth_first(goal, blocked)[HOME] > 50
    action, found = step_toward(jnp.asarray(goal), jnp.asarray(blocked), HOME, jnp.uint32(0))
    assert found and int(action) == turning.FORWARD


def test_batches_of_any_depth_decide_alike():
    rng = np.random.default_rng(0)
    goal, blocked = rng.random((3, 5, 11, 11)) < 0.04, rng.random((3, 5, 11, 11)) < 0.3
    words = rng.integers(0, 2**32, (3, 5), dtype=np.uint32)
    actions, found = many_steps(goal, blocked, words)
    for at in np.ndindex(3, 5):
        action, one = step_toward(*map(jnp.asarray, (goal[at], blocked[at])), HOME, words[at])
        assert found[at] == one and (not one or actions[at] == action)


def test_equally_good_steps_are_chosen_by_lot():
    goal = jnp.zeros((11, 11), bool).at[7, 7].set(True)
    free = jnp.zeros((11, 11), bool)
    words = np.random.default_rng(0).integers(0, 2**32, 200, dtype=np.uint32)
    chosen = [int(step_toward(goal, free, HOME, word)[0]) for word in words]
    assert set(chosen) == {turning.FORWARD, turning.STEP_RIGHT}
    assert 60 < chosen.count(turning.FORWARD) < 140


def test_one_turns_to_what_lies_behind_and_walks_to_what_lies_beyond_the_window():
    free, word = jnp.zeros((11, 11), bool), jnp.uint32(7 << 20)
    toward = {
        (-6, -2): {turning.TURN_LEFT},
        (-6, 2): {turning.TURN_RIGHT},
        (20, 0): {turning.FORWARD},
        (0, -20): {turning.STEP_LEFT},
        (20, 20): {turning.FORWARD, turning.STEP_RIGHT},
    }
    for (ahead, right), steps in toward.items():
        action = make_for(jnp.int32(ahead), jnp.int32(right), free, HOME, word)
        assert int(action) in steps


def test_a_stroll_turns_before_an_obstacle_to_the_open_side():
    blocked = np.zeros((11, 11), bool)
    blocked[8, 5] = blocked[9, 4] = True
    words = np.random.default_rng(0).integers(0, 2**32, 50, dtype=np.uint32)
    chosen = {int(stroll(jnp.asarray(blocked), HOME, word)) for word in words}
    assert chosen == {turning.TURN_RIGHT}
    free = [int(stroll(jnp.zeros((11, 11), bool), HOME, word)) for word in words]
    assert free.count(turning.FORWARD) > 40
