"""Intervals: where they lie, how wide they are, and what is drawn together."""

import numpy as np
import pytest

from sociarium.metrics.bootstrap import (
    Estimate,
    estimate,
    iqm,
    over_episodes,
    over_seeds,
    resampled,
    student,
)


def values(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def test_an_interval_of_equal_numbers_is_a_point():
    assert over_episodes(np.full(30, 4.0)) == Estimate(4.0, 4.0, 4.0)


def test_the_interval_is_that_of_the_mean():
    drawn = values(400)
    found = over_episodes(drawn)
    error = drawn.std() / 20
    assert found.mean == drawn.mean()
    assert found.low == pytest.approx(drawn.mean() - 1.96 * error, abs=0.1 * error)
    assert found.high == pytest.approx(drawn.mean() + 1.96 * error, abs=0.1 * error)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rows = values((300, 30), seed=1)
    found = [resampled(row[None, None], resamples=1000)[:, 0, 0] for row in rows]
    covered = [np.percentile(d, 2.5) <= 0 <= np.percentile(d, 97.5) for d in found]
    assert 0.88 < np.mean(covered) < 0.98


def test_points_draw_their_episodes_apart_and_groups_together():
    one = values(30)
    drawn = resampled(np.stack([np.stack([one, 2 * one])] * 2), resamples=500)
    assert np.allclose(2 * drawn[:, :, 0], drawn[:, :, 1])
    assert abs(np.corrcoef(drawn[:, 0, 0], drawn[:, 1, 0])[0, 1]) < 0.2


def test_signs_count_only_outside_the_interval():
    assert Estimate(1.0, 0.2, 2.0).above_zero and not Estimate(1.0, 0.2, 2.0).below_zero
    assert Estimate(-1.0, -2.0, -0.2).below_zero
    unclear = Estimate(1.0, -0.1, 2.0)
    assert not unclear.above_zero and not unclear.below_zero
    assert not Estimate(0.0, 0.0, 0.0).above_zero


def test_an_estimate_prints_as_many_digits_as_matter():
    assert str(Estimate(0.5, 0.25, 1.0)) == "0.50 [0.25, 1.00]"
    assert str(Estimate(15.04, 9.0, 20.0)) == "15.0 [9.0, 20.0]"
    assert str(Estimate(150.4, 90.0, 200.0)) == "150 [90, 200]"


def test_resamples_are_the_same_every_time():
    drawn = values(20)[None, None]
    assert (resampled(drawn, resamples=50) == resampled(drawn, resamples=50)).all()
    assert estimate(1.0, np.arange(101.0)) == Estimate(1.0, 2.5, 97.5)


@pytest.mark.parametrize(
    ("numbers", "middle"),
    [
        ([7.0], 7.0),
        ([2.0, 4.0], 3.0),
        ([100.0, 3.0, 1.0, -50.0], 2.0),
        ([5.0, 1.0, 2.0, 4.0, 99.0], 0.3 * 2 + 0.4 * 4 + 0.3 * 5),
        ([0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 9.0, 99.0], 2.5),
    ],
)
def test_the_middle_half_by_hand(numbers, middle):
    assert iqm(np.array(numbers)) == pytest.approx(middle)


def test_the_middle_half_is_that_of_the_last_axis():
    rows = values((2, 3, 6))
    assert np.allclose(iqm(rows), [[iqm(row) for row in part] for part in rows])
    assert iqm(rows + 5) == pytest.approx(iqm(rows) + 5)


@pytest.mark.parametrize("n", [3, 5, 10])
def test_intervals_over_seeds_cover_normal_returns(n):
    """A bootstrap of the interquartile mean covers them in 73, 90 and 93 of 100 experiments."""
    found = [over_seeds(row) for row in values((2000, n), seed=n)]
    assert 0.93 < np.mean([one.low <= 0 <= one.high for one in found]) < 0.97


def test_students_interval_by_hand():
    found = over_seeds(np.array([366.0, 389.0, 407.0]))
    half = 4.30265 * np.std([366, 389, 407], ddof=1) / 3**0.5
    assert found.mean == pytest.approx(1162 / 3)
    assert [found.low, found.high] == pytest.approx([1162 / 3 - half, 1162 / 3 + half], rel=1e-5)
    assert str(found) == "387 [336, 438] (366, 389, 407)"
    assert over_seeds(np.full(3, 2.0)) == Estimate(2.0, 2.0, 2.0, (2.0,) * 3)


def test_two_seeds_are_two_values_without_an_interval():
    found = over_seeds(np.array([996.0, 1212.0]))
    assert found.mean == 1104.0 and not found.bounded and str(found) == "996, 1212"
    assert not (found.above_zero or found.below_zero)
    assert found.as_dict() == {"mean": 1104.0, "low": None, "high": None, "values": [996.0, 1212.0]}
    assert Estimate.read(found.as_dict()).values == (996.0, 1212.0)
    assert not over_seeds(np.array([4.0])).bounded


def test_ten_seeds_and_more_are_not_listed():
    nine, ten = (over_seeds(values(n)) for n in (9, 10))
    assert len(nine.values) == 9 and ten.values == () and ten.bounded


def test_few_episodes_have_students_interval_and_many_a_bootstrap():
    few, many = values(29), values(30)
    assert over_episodes(few) == student(few)
    assert over_episodes(many) == estimate(many.mean(), resampled(many[None, None])[:, 0, 0])
    assert student(many).high != over_episodes(many).high
