"""Worlds and societies play as they did when their trajectories were stored."""

import pytest

import sociarium
from sociarium.arena.trajectory_hash import trajectory_hash
from tests.trajectories import NAMES, stored

IN_CI = (
    "coins-v0",
    "clean_up-v0",
    "frontier_survival-v0",
    "coins-v0+negotiation",
    "exploration-v0",
)


@pytest.mark.parametrize(
    "name",
    [name if name in IN_CI else pytest.param(name, marks=pytest.mark.slow) for name in NAMES],
)
def test_a_trajectory_is_the_stored_one(name):
    assert trajectory_hash(sociarium.make(name)) == stored()[name]


def test_every_world_society_and_charter_has_a_stored_trajectory():
    assert tuple(stored()) == NAMES
