"""Last apples on scenes made by hand: who had an occasion, and what it made of it."""

import math

import numpy as np
import pytest

from sociarium.metrics.last_apples import (
    FAR,
    REACH,
    AppleWalks,
    Orchard,
    last_apples,
    walking_distances,
)

ROWS, COLS = 3, 30
OUT = ROWS * COLS
EAST = 1


def at(col, row=1):
    return row * COLS + col


def orchard(*trees, ahead=9):
    """Trees, each a tuple of columns in the middle row."""
    cells = np.array([at(col) for tree in trees for col in tree])
    tree = np.array([number for number, tree in enumerate(trees) for _ in tree])
    return Orchard.on_map(np.zeros((ROWS, COLS), bool), cells, tree, (ahead, 1, 5))


def played(where, path, apples, took=(), heading=EAST, moves=None):
    """One player on this path; `took` are steps with the tree whose apple was taken."""
    cell = np.array(path)[:, None]
    steps = len(path) - 1
    taken = np.zeros((steps, 1, where.trees), bool)
    for step, tree in took:
        taken[step, 0, tree] = True
    moves = np.ones((steps, 1), bool) if moves is None else np.array(moves, bool)[:, None]
    standing = np.array(apples, bool)
    return last_apples(where, AppleWalks(cell, np.full_like(cell, heading), standing, taken, moves))


def test_walks_go_around_walls_and_end_nowhere_for_who_is_out():
    blocked = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 0]], bool)
    (found,) = walking_distances(blocked, np.array([0]))
    assert found.tolist() == [0, 1, 2, FAR, FAR, 3, 6, 5, 4, FAR]


def test_moving_toward_the_last_apple_and_away_from_it():
    counts = played(orchard([8]), [at(2), at(3), at(2), at(2, 0), at(3, 0)], [[1]] * 5)
    assert (counts.nearest[0], counts.approached[0]) == (4, 2)
    assert counts.approach_rate() == 0.5


def test_who_stands_has_no_occasion_to_approach():
    counts = played(orchard([8]), [at(2)] * 4, [[1]] * 4)
    assert counts.nearest[0] == 0 and math.isnan(counts.approach_rate())


def test_an_apple_out_of_sight_is_no_occasion():
    where = orchard([8], ahead=3)
    path = [at(2), at(3), at(4), at(5)]
    assert played(where, path, [[1]] * 4).nearest[0] == 0
    assert played(where, [*path, at(6)], [[1]] * 5).nearest[0] == 1
    behind = played(orchard([8]), path, [[1]] * 4, heading=3)
    assert behind.nearest[0] == 0


def test_a_nearest_apple_that_is_one_of_several_is_no_occasion():
    where = orchard([8, 9], [20])
    assert played(where, [at(2), at(3)], [[1, 1, 1]] * 2).nearest[0] == 0
    assert played(where, [at(2), at(3)], [[1, 0, 1]] * 2).nearest[0] == 1


def test_a_tie_with_an_apple_that_is_not_the_last_is_no_occasion():
    where = orchard([8], [4, 3])
    tied = played(where, [at(6, 0), at(7, 0)], [[1, 1, 0]] * 2, heading=1)
    assert tied.nearest[0] == 1  # the other tree lies behind
    sideways = played(where, [at(6, 0), at(7, 0)], [[1, 1, 1]] * 2, heading=2)
    assert sideways.nearest[0] == 0


def test_whoever_is_sent_elsewhere_did_not_move():
    counts = played(orchard([8]), [at(2), OUT, at(20), at(2)], [[1]] * 4)
    assert counts.nearest[0] == 0


def test_taking_the_last_apple_uses_a_chance():
    path = [at(6), at(7), at(8), at(8)]
    counts = played(orchard([8]), path, [[1], [1], [0], [0]], took=[(1, 0)])
    assert (counts.taken[0], counts.chances[0]) == (1, 1)
    assert counts.take_rate() == 1 and math.isnan(counts.restraint())


def test_passing_it_up_takes_as_many_steps_of_ones_own_as_it_could_be_reached_in():
    path, apples = [at(6)] * (2 * REACH + 1), [[1]] * (2 * REACH + 1)
    counts = played(orchard([8]), path, apples)
    assert (counts.taken[0], counts.chances[0]) == (0, 2) and counts.take_rate() == 0
    turns = played(orchard([8]), path, apples, moves=[n % 2 for n in range(2 * REACH)])
    assert turns.chances[0] == 1


def test_an_apple_that_stands_until_the_tree_has_grown_again_was_spared():
    counts = played(orchard([8, 9]), [at(6)] * 3, [[1, 0], [1, 1], [1, 1]])
    assert (counts.taken[0], counts.chances[0]) == (0, 1)


@pytest.mark.parametrize(
    ("path", "apples"),
    [
        ([at(6)] * 3, [[1], [1], [0]]),  # somebody else took it
        ([at(6), at(6), OUT], [[1]] * 3),  # sent out of play
        ([at(6)] * 3, [[1]] * 3),  # the episode ends
        ([at(19)] * 12, [[1]] * 12),  # out of reach
        ([OUT] * 12, [[1]] * 12),
    ],
)
def test_what_nobody_can_know_does_not_count(path, apples):
    counts = played(orchard([8]), path, apples)
    assert counts.chances[0] == 0
    assert math.isnan(counts.take_rate()) and math.isnan(counts.restraint())


def test_restraint_is_relative_to_other_apples():
    where = orchard([8], [12, 13])
    steps = 2 * REACH
    path = [at(11)] * (2 * steps + 1)
    apples = [[1, 1, 1]] * steps + [[1, 1, 0]] * (steps + 1)  # then one of two is left
    never = played(where, path, apples, took=[(0, 1), (5, 1)])
    assert never.take_rate() == 0 and never.other_taken[0] == 2
    assert never.restraint() == 1
    half = played(where, path, apples, took=[(0, 1), (REACH, 1), (1, 0)])
    assert half.take_rate() < 1 and half.restraint() < 1


def test_of_others_who_take_none_there_is_no_restraint():
    counts = played(orchard([8], [12, 13]), [at(11)] * 12, [[1, 1, 1]] * 12)
    assert counts.other_chances[0] == 1 and counts.other_taken[0] == 0
    assert counts.take_rate() == 0 and math.isnan(counts.restraint())
