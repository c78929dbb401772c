"""Returns, equality and sustainability, worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sociarium.metrics.welfare import (
    collective,
    equality,
    gini,
    reward_times,
    sustainability,
)
from tests.metrics.records import episode


def incomes(low):
    return arrays(np.float64, array_shapes(max_dims=1, max_side=8), elements=st.floats(low, 1e6))


def test_the_collective_return_is_the_sum_of_all_rewards():
    assert collective(episode([[1, 0], [2, -4], [0, 0.5]])) == -0.5


@pytest.mark.parametrize(
    ("income", "inequality"),
    [
        ([3.0, 3.0, 3.0], 0.0),
        ([0.0, 0.0], 0.0),
        ([4.0, 0.0, 0.0, 0.0], 3 / 4),
        ([1.0, 3.0], 4 / (2 * 2 * 4)),
        ([7.0], 0.0),
        ([-3.0], 0.0),
        ([-2.0, -2.0], 0.0),
        ([1.0, -1.0], 4 / (2 * 2 * 2)),
        ([3.0, -1.0, 0.0], 16 / (2 * 3 * 4)),
    ],
)
def test_gini_by_hand(income, inequality):
    assert float(gini(np.array(income))) == pytest.approx(inequality)


@given(incomes(low=0))
def test_gini_without_debts_is_the_usual_one(income):
    if income.sum() < 1e-3:
        return
    rank = np.arange(1, len(income) + 1)
    usual = 2 * (rank * np.sort(income)).sum() / (len(income) * income.sum())
    usual -= (len(income) + 1) / len(income)
    assert float(gini(income)) == pytest.approx(usual, abs=1e-6)


@given(incomes(low=-1e6))
def test_gini_stays_between_0_and_1_and_knows_neither_names_nor_currency(income):
    found = float(gini(income))
    assert -1e-9 <= found <= 1 + 1e-9
    assert float(gini(income[::-1])) == pytest.approx(found, abs=1e-9)
    assert float(gini(income * 4)) == pytest.approx(found, abs=1e-9)


def test_gini_takes_any_batch():
    assert gini(np.array([[1.0, 1.0], [2.0, 0.0]])).tolist() == [0, 0.5]


def test_equality_is_one_when_all_earn_the_same_or_nothing():
    assert equality(episode([[0, 0], [0, 0]])) == 1
    assert equality(episode([[1, 0], [0, 1]])) == 1
    assert equality(episode([[1, 0], [1, 0]])) == 0.5
    assert equality(episode([[1, -2], [0, 1]])) == 0.5  # returns 1 and -1


def test_sustainability_is_the_mean_over_players_of_the_mean_step_of_reward():
    record = episode([[1, 0], [0, 0], [1, 0], [0, 5]])
    assert reward_times(record).tolist() == [2, 4]
    assert sustainability(record) == 3


def test_how_much_was_paid_and_what_was_lost_do_not_count():
    assert sustainability(episode([[9], [-1], [0.1]])) == 2


def test_players_who_never_earned_have_no_time_of_reward():
    record = episode([[0, -1], [1, 0], [0, 0]])
    assert np.isnan(reward_times(record)[1])
    assert sustainability(record) == 2


def test_sustainability_is_0_when_nobody_earned():
    assert sustainability(episode([[0, -2]])) == 0


@given(arrays(bool, (6, 3)))
def test_sustainability_lies_within_the_episode(earned):
    found = sustainability(episode(earned.astype(float)))
    assert (1 <= found <= 6) if earned.any() else found == 0
