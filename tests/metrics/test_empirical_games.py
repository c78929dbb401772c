"""Fitness, ratings and equilibria of small games, against what is known of them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sociarium.metrics.empirical_games import (
    best_responses,
    deviation_ratings,
    equilibria,
    mean_payoffs,
    replicator_fitness,
    symmetrised,
)

REPEATED = np.array([[2, 0, 2], [3, 1, 1.4], [2, 0.8, 2]])  # always C, always D, tit for tat
DILEMMA = np.array([[2, 0], [3, 1.0]])
TRUST = np.array([[[4, 4], [6, 2]], [[0, 20], [10, 10.0]]])


def two_seats(rows):
    """The payoffs of both players of a symmetric game."""
    return np.stack([rows, rows.T], -1)


def public_goods():
    payoffs = np.zeros((2, 2, 2, 3))  # keep, contribute
    for moves in np.ndindex(2, 2, 2):
        payoffs[moves] = 0.5 * sum(moves) + 1 - np.array(moves)
    return payoffs


def test_replicator_dynamics_in_the_repeated_dilemma():
    found = replicator_fitness(two_seats(REPEATED))
    assert np.round(found.shares, 3).tolist() == [0.011, 0.0, 0.989]
    assert np.round(found.earned, 3).tolist() == [2.0, 1.418, 2.0]
    assert found.average == pytest.approx(2.0, abs=1e-3)


def test_games_side_by_side_go_their_own_ways():
    games = np.stack([two_seats(REPEATED), two_seats(REPEATED.T + 1)])
    both = replicator_fitness(games)
    for number, game in enumerate(games):
        alone = replicator_fitness(game)
        assert np.allclose(both.shares[number], alone.shares)
        assert np.allclose(both.earned[number], alone.earned)


@pytest.mark.parametrize(
    ("payoffs", "ratings"),
    [
        (two_seats(REPEATED), [-0.75, -0.15, -0.15]),
        (two_seats(DILEMMA), [-1, 0]),
        (public_goods(), [0, -0.5]),
        (np.zeros((3, 3, 2)), [0, 0, 0]),
    ],
)
def test_deviation_ratings_are_those_of_the_strictest_equilibrium(payoffs, ratings):
    assert np.allclose(deviation_ratings(payoffs), ratings, atol=1e-9)


def test_a_kind_that_is_there_twice_has_one_rating():
    twice = REPEATED[np.ix_([0, 1, 2, 2], [0, 1, 2, 2])]
    assert np.allclose(deviation_ratings(two_seats(twice)), [-0.75, -0.15, -0.15, -0.15])


def test_means_are_over_all_seats_and_all_others():
    assert mean_payoffs(two_seats(DILEMMA)).tolist() == [1, 2]
    assert mean_payoffs(TRUST).tolist() == [(5 + 12) / 2, (5 + 6) / 2]


def test_seats_that_are_drawn_by_lot_are_alike():
    even = symmetrised(TRUST)
    assert np.array_equal(even[0, 1], [13, 1]) and np.array_equal(even[1, 0], [1, 13])
    assert np.array_equal(symmetrised(public_goods()), public_goods())


@given(st.lists(st.integers(-9, 9), min_size=24, max_size=24))
def test_a_symmetrised_game_pays_by_kind_and_not_by_seat(numbers):
    payoffs = symmetrised(np.array(numbers, float).reshape(2, 2, 2, 3))
    for profile in np.ndindex(2, 2, 2):
        for order in itertools.permutations(range(3)):
            moved = tuple(profile[seat] for seat in order)
            assert np.allclose(payoffs[moved], payoffs[profile][list(order)])


def test_best_responses_lead_to_defection_where_it_dominates():
    assert best_responses(two_seats(DILEMMA)).ends == {(1, 1): pytest.approx(1)}
    assert best_responses(public_goods()).ends == {(0, 0, 0): pytest.approx(1)}
    assert best_responses(TRUST).ends == {(0, 0): pytest.approx(1)}


def test_of_equally_good_changes_each_is_as_likely():
    rows = np.array([[0, 0, 0], [1, 2.0, 0], [1, 0, 2.0]])  # from the first to either other
    found = best_responses(two_seats(rows)).ends
    assert found == {(1, 1): pytest.approx(0.5), (2, 2): pytest.approx(0.5)}


def test_large_payoffs_are_taken_in_smaller_steps():
    small, large = (replicator_fitness(two_seats(REPEATED) * times) for times in (1, 1000))
    assert np.allclose(large.shares, small.shares, atol=0.02)
    assert np.allclose(large.earned, 1000 * small.earned, rtol=0.01)


def test_best_responses_may_lead_nowhere():
    pennies = np.array([[[1, -1], [-1, 1]], [[-1, 1], [1, -1.0]]])
    assert best_responses(pennies).ends == {} and best_responses(pennies).cycling == 1
    assert equilibria(pennies) == []


def test_a_stag_hunt_has_two_equilibria():
    hunt = two_seats(np.array([[3, 3], [0, 5.0]]))
    assert equilibria(hunt) == [(0, 0), (1, 1)]
    assert set(best_responses(hunt).ends) == {(0, 0), (1, 1)}
    assert equilibria(hunt, slack=5.0) == list(np.ndindex(2, 2))
