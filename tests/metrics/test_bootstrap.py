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
    found = [resampled(row[None, None, None], resamples=1000)[:, 0, 0] for row in rows]
    covered = [np.percentile(d, 2.5) <= 0 <= np.percentile(d, 97.5) for d in found]
    assert 0.88 < np.mean(covered) < 0.98


def test_training_seeds_are_drawn_before_episodes():
    apart = np.array([0.0, 10.0])[:, None] + values((2, 50)) / 100  # seeds differ, episodes do not
    two_levels = resampled(apart[None, None], resamples=4000)[:, 0, 0]
    one_level = resampled(apart.reshape(1, 1, 1, -1), resamples=4000)[:, 0, 0]
    near = [np.mean(np.abs(two_levels - centre) < 0.1) for centre in (0, 5, 10)]
    assert near == pytest.approx([0.25, 0.5, 0.25], abs=0.03)
    assert one_level.std() < 1 < two_levels.std()


def test_all_points_share_the_drawn_seeds():
    by_seed = np.broadcast_to(np.array([0.0, 1.0, 5.0])[:, None], (2, 1, 3, 4)).copy()
    drawn = resampled(by_seed, resamples=500)
    assert np.allclose(drawn[:, 0], drawn[:, 1])


def test_points_draw_their_episodes_apart_and_groups_together():
    one = values(30)
    drawn = resampled(np.stack([np.stack([one, 2 * one])] * 2)[:, :, None], resamples=500)
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
    drawn = values(20)[None, None, None]
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


def test_the_interval_over_seeds_holds_their_middle():
    drawn = np.array([1.0, 2.0, 3.0, 50.0])[:, None] + values((4, 30)) / 10
    found = over_seeds(drawn)
    assert found.low <= found.mean <= found.high
    assert found.mean == pytest.approx(iqm(drawn.mean(1)))
    assert found.mean == pytest.approx(2.5, abs=0.1)  # the lucky seed does not move it


def test_seeds_that_agree_have_a_narrow_interval():
    widths = []
    for apart in (10.0, 1.0, 0.0):
        found = over_seeds(apart * np.arange(5.0)[:, None] + values((5, 40)) / 100)
        widths.append(found.high - found.low)
    assert widths[0] > 5 * widths[1] > 25 * widths[2]
    assert over_seeds(np.full((3, 4), 2.0)) == Estimate(2.0, 2.0, 2.0)


def test_one_seed_has_the_interval_of_its_episodes():
    found = over_seeds(values((1, 400)))
    error = values((1, 400)).std() / 20
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)
