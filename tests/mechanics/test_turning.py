"""Headings and the seven actions, against a map turned in the hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.core.actions import find_action
from sociarium.mechanics import turning
from sociarium.mechanics.turning import EAST, NORTH, SOUTH, WEST
from tests.mechanics.maps import STEPS, egocentric

HEADINGS = jnp.arange(4)


def test_turning_right_four_times_names_every_heading_and_comes_home():
    right = jnp.full(4, turning.TURN_RIGHT)
    np.testing.assert_array_equal(turning.turned(HEADINGS, right), [EAST, SOUTH, WEST, NORTH])
    left = jnp.full(4, turning.TURN_LEFT)
    np.testing.assert_array_equal(turning.turned(HEADINGS, left), [WEST, NORTH, EAST, SOUTH])


@pytest.mark.parametrize("action", [*range(5), 7, 8])
def test_other_actions_leave_the_heading(action):
    np.testing.assert_array_equal(turning.turned(HEADINGS, jnp.full(4, action)), HEADINGS)


@pytest.mark.parametrize(
    ("name", "ahead", "right"),
    [("forward", 1, 0), ("back", -1, 0), ("step left", 0, -1), ("step right", 0, 1)],
)
def test_steps_are_relative_to_the_heading(name, ahead, right):
    walks, toward = turning.course(HEADINGS, jnp.full(4, find_action(turning.MOVES, name)))
    assert walks.all()
    assert [STEPS[way] for way in toward] == [egocentric(h, ahead, right) for h in range(4)]


@pytest.mark.parametrize("action", [turning.STAY, turning.TURN_LEFT, turning.TURN_RIGHT, 7, 8])
def test_all_else_does_not_walk(action):
    assert not turning.course(HEADINGS, jnp.full(4, action))[0].any()


def test_ahead_is_the_step_of_each_heading():
    rows, cols = turning.ahead(HEADINGS)
    assert list(zip(rows.tolist(), cols.tolist(), strict=True)) == list(STEPS)


def test_relative_undoes_the_turn_of_the_map():
    for heading in range(4):
        for ahead in range(-3, 4):
            for right in range(-3, 4):
                rows, cols = (jnp.int32(part) for part in egocentric(heading, ahead, right))
                seen = turning.relative(rows, cols, jnp.int32(heading))
                assert (int(seen[0]), int(seen[1])) == (ahead, right)


def test_the_absent_may_only_stay_and_the_unready_may_not_act():
    present, ready = jnp.array([True, True, False]), jnp.array([True, False, True])
    legal = np.asarray(turning.legal(present, ready, ~ready))
    assert legal.shape == (3, 9)
    np.testing.assert_array_equal(legal[:, 0], [True, True, True])
    np.testing.assert_array_equal(legal[:, 1:7], np.tile([[True], [True], [False]], 6))
    np.testing.assert_array_equal(legal[:, 7], [True, False, False])
    np.testing.assert_array_equal(legal[:, 8], [False, True, False])
