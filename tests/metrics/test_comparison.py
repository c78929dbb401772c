"""Comparisons: known answers, and how often planted differences and equalities are found."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from sociarium.core.errors import BadArgument
from sociarium.metrics import comparison
from sociarium.metrics.bootstrap import Estimate, iqm, over_episodes
from sociarium.metrics.comparison import (
    equivalence,
    eta_squared,
    holm,
    improvement,
    paired_difference,
    ratio_of_sums,
    sign_flip_p,
    tukey,
    verdict,
)
from sociarium.metrics.power import power_of, units_needed

EXPERIMENTS = 100
POINTS = st.integers(-50, 50)
FEW = st.lists(POINTS, min_size=1, max_size=12)
UP, DOWN = Estimate(1.0, 0.5, 2.0), Estimate(-1.0, -2.0, -0.5)
UNCLEAR, NONE = Estimate(1.0, -0.5, 2.0), Estimate(0.0, 0.0, 0.0)


def values(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def noise(groups, size, seed=0):
    return {str(number): row for number, row in enumerate(values((groups, size), seed))}


@pytest.fixture
def few_resamples(monkeypatch):
    """For simulations that do not look at intervals, or not closely."""
    monkeypatch.setattr(comparison, "RESAMPLES", 500)


def test_a_difference_of_pairs_is_that_of_their_seeds():
    one, other = np.array([3.0, 5.0, 10.0, 40.0]), np.array([1.0, 4.0, 4.0, 0.0])
    assert paired_difference(one, other).mean == (2 + 1 + 6 + 40) / 4
    assert paired_difference(one, other, "median").mean == 4
    assert paired_difference(one, other, "iqm").mean == 4
    assert paired_difference(one, one) == NONE


def test_a_mean_difference_has_about_the_interval_of_other_means():
    drawn = values((2, 40))
    found, expected = paired_difference(*drawn), over_episodes(drawn[0] - drawn[1])
    assert found.mean == expected.mean
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.02)


def test_the_seeds_that_two_settings_share_do_not_widen_the_interval():
    luck = 10 * values(20)
    found = paired_difference(luck + values(20, 1), luck + values(20, 2))
    assert found.high - found.low < 2


@pytest.mark.parametrize("statistic", ["mean", "median", "iqm"])
@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(POINTS, POINTS), min_size=2, max_size=8), POINTS)
def test_a_difference_does_not_depend_on_where_zero_is(statistic, pairs, shift):
    one, other = np.array(pairs).T
    found = paired_difference(one, other, statistic)
    both = paired_difference(one + shift, other + shift, statistic)
    ends = [both.mean, both.low, both.high]
    assert ends == pytest.approx([found.mean, found.low, found.high], abs=1e-9)
    moved = paired_difference(one + shift, other, statistic)
    assert moved.mean == pytest.approx(found.mean + shift)
    assert moved.low == pytest.approx(found.low + shift)
    assert moved.high == pytest.approx(found.high + shift)


@given(FEW)
@settings(max_examples=20, deadline=None)
def test_medians_and_middle_halves_are_of_the_differences(differences):
    one = np.array(differences, float)
    other = values(len(one))
    for statistic, plain in (("median", np.median), ("iqm", iqm)):
        found = paired_difference(one + other, other, statistic)
        assert found.mean == pytest.approx(float(plain(one)), abs=1e-9)
        assert len(one) == 1 or found.low - 1e-9 <= found.mean <= found.high + 1e-9


def test_what_is_no_set_of_pairs_is_refused():
    with pytest.raises((BadArgument, TypeCheckError)):
        paired_difference(np.ones(3), np.ones(1))
    with pytest.raises(BadArgument, match="at least one"):
        paired_difference(np.ones(0), np.ones(0))
    with pytest.raises(BadArgument, match="not finite"):
        improvement(np.array([1.0, np.nan]), np.ones(2))
    with pytest.raises(BadArgument, match="not finite"):
        sign_flip_p(np.array([1.0, np.inf]))


def test_improvement_counts_wins_and_half_of_ties():
    one = np.array([1, 2, 3, 4])
    assert improvement(one, np.array([0, 2, 3, 9])).mean == (1 + 0.5 + 0.5) / 4
    assert improvement(one, one).mean == 0.5
    assert improvement(one, one - 1).mean == 1
    assert improvement(one, one + 1).mean == 0


def test_a_few_wins_in_a_row_are_not_certainty():
    five, thirty = (improvement(np.ones(n), np.zeros(n)) for n in (5, 30))
    assert five.low == pytest.approx(0.025 ** (1 / 5)) and five.low < 0.5
    assert thirty.low == pytest.approx(0.025 ** (1 / 30)) and thirty.low > 0.85
    assert five.high == thirty.high == 1


def test_a_planted_share_of_zap_orders_is_found():
    lot = np.random.default_rng(1)
    orders = lot.poisson(7, 30)
    found = ratio_of_sums(lot.binomial(orders, 0.86), orders)
    assert found.low < 0.86 < found.high
    assert found.low > 0.5


def test_most_experiments_find_a_planted_share(few_resamples):
    lot, covered = np.random.default_rng(2), 0
    for _ in range(EXPERIMENTS):
        orders = lot.poisson(7, 30)
        found = ratio_of_sums(lot.binomial(orders, 0.86), orders)
        covered += found.low < 0.86 < found.high
        assert found.low > 0.5
    assert covered >= 93


def test_a_share_is_of_all_counts_and_not_a_mean_of_shares():
    assert ratio_of_sums(np.array([1, 0]), np.array([1, 9])).mean == 0.1


@pytest.mark.parametrize(("zaps", "orders"), [(3, 4), (0, 5), (5, 5), (1, 1), (120, 400)])
def test_one_episode_has_the_exact_interval_of_its_counts(zaps, orders):
    exact = scipy.stats.binomtest(zaps, orders).proportion_ci(0.95)
    expected = (zaps / orders, exact.low, exact.high)
    found = ratio_of_sums(np.array([zaps]), np.array([orders]))
    assert (found.mean, found.low, found.high) == pytest.approx(expected)
    among_empty = ratio_of_sums(np.array([0, zaps, 0]), np.array([0, orders, 0]))
    assert among_empty == found


def test_episodes_that_agree_have_the_exact_interval_of_their_counts():
    exact = scipy.stats.binomtest(0, 12).proportion_ci(0.95)
    found = ratio_of_sums(np.zeros(4), np.full(4, 3))
    assert (found.mean, found.low) == (0, 0) and found.high == pytest.approx(exact.high)
    assert ratio_of_sums(np.full(4, 1), np.full(4, 2)).low < 0.2


def test_episodes_that_disagree_widen_the_interval_beyond_that_of_their_counts():
    orders = np.full(10, 20)
    zaps = np.where(np.arange(10) < 5, 0, 20)  # all or none
    exact = scipy.stats.binomtest(100, 200).proportion_ci(0.95)
    found = ratio_of_sums(zaps, orders)
    assert found.low < exact.low - 0.1 and found.high > exact.high + 0.1


def test_intervals_of_small_counts_cover_the_truth(few_resamples):
    lot = np.random.default_rng(0)
    for share in (0.1, 0.5, 0.86):
        covered = 0
        for _ in range(EXPERIMENTS):
            orders = lot.poisson(2, 5)
            found = ratio_of_sums(lot.binomial(orders, share), orders)
            covered += found.low <= share <= found.high
        assert covered >= 93


def test_without_any_orders_a_share_is_unknown():
    found = ratio_of_sums(np.zeros(3), np.zeros(3))
    assert np.isnan(found.mean) and (found.low, found.high) == (0, 1)


def test_more_than_all_is_no_share():
    for numerator in (3, -1):
        with pytest.raises(BadArgument, match="from 0 to"):
            ratio_of_sums(np.array([numerator]), np.array([2]))


def test_a_planted_difference_of_one_standard_deviation_is_found():
    one, other = values((2, EXPERIMENTS, 30))
    assert sum(sign_flip_p(row) <= 0.05 for row in one + 1 - other) >= 90


def test_where_there_is_no_difference_few_are_called():
    one, other = values((2, EXPERIMENTS, 30), seed=1)
    for direction in ("different", "greater", "less"):
        assert sum(sign_flip_p(row, direction) <= 0.05 for row in one - other) <= 8


def test_sign_flips_by_hand():
    three = np.array([1.0, 2.0, 4.0])
    assert sign_flip_p(three) == 2 / 8
    assert sign_flip_p(three, "greater") == 1 / 8
    assert sign_flip_p(three, "less") == 1
    assert sign_flip_p(-three, "less") == 1 / 8
    assert sign_flip_p(np.array([-1, 2, 4])) == 4 / 8  # sums 7, 5, -5, -7 are as far as 5
    assert sign_flip_p(np.array([-1, 2, 4]), "greater") == 2 / 8


def test_six_units_can_show_a_difference_and_five_cannot():
    assert sign_flip_p(np.arange(1, 6)) > 0.05 > sign_flip_p(np.arange(1, 7))
    assert sign_flip_p(np.arange(1, 6), "greater") < 0.05


@pytest.mark.parametrize("units", [0, 1, 12, 40])
@pytest.mark.parametrize("direction", ["different", "greater", "less"])
def test_no_difference_at_all_has_a_p_value_of_one(units, direction):
    assert sign_flip_p(np.zeros(units), direction) == 1


def test_equal_units_do_not_count():
    differences = np.array([1.0, 2.0, -0.5, 3.0])
    padded = np.concatenate([differences, np.zeros(50)])
    assert sign_flip_p(padded) == sign_flip_p(differences)


def test_many_units_are_sampled_and_close_to_scipy():
    differences = values(20) + 0.5
    expected = scipy.stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    assert sign_flip_p(differences) == pytest.approx(expected.pvalue, abs=0.01)
    assert sign_flip_p(np.ones(40)) == 1 / 10_001


@settings(deadline=None)
@given(FEW)
def test_small_samples_are_exact(differences):
    found = np.array(differences, float)
    every = np.stack(np.meshgrid(*[[-1, 1]] * len(found)), -1).reshape(-1, len(found)) @ found
    assert sign_flip_p(found) == np.mean(np.abs(every) >= abs(found.sum()))
    assert sign_flip_p(found, "greater") == np.mean(every >= found.sum())


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=12).flatmap(
        lambda drawn: st.tuples(st.just(drawn), st.permutations(drawn))
    ),
    st.sampled_from(["different", "greater", "less"]),
)
def test_the_order_of_units_does_not_matter(drawn, direction):
    one, other = (sign_flip_p(np.array(each), direction) for each in drawn)
    assert one == other


@settings(max_examples=30, deadline=None)
@given(st.lists(POINTS, min_size=1, max_size=20))
def test_less_is_greater_the_other_way_round(differences):
    found = np.array(differences)
    assert sign_flip_p(found, "less") == sign_flip_p(-found, "greater")
    assert sign_flip_p(found) == sign_flip_p(-found)


def test_two_streams_of_one_distribution_come_out_equivalent(few_resamples):
    """70 pairs find it in 4 of 5 experiments, 105 in 19 of 20."""
    shares = {}
    for units in (70, 105):
        drawn = values((EXPERIMENTS, 2, units), seed=3)
        shares[units] = sum(equivalence(*pair).verdict == "equivalent" for pair in drawn)
    assert 70 <= shares[70] <= 90 < shares[105]


def test_a_difference_as_large_as_the_margin_is_seldom_called_equivalent(few_resamples):
    drawn = values((EXPERIMENTS, 2, 70), seed=4)
    called = sum(equivalence(one + 0.5, other).verdict == "equivalent" for one, other in drawn)
    assert called <= 8


def test_all_zero_differences_are_identical_and_not_tested():
    found = equivalence(values(10), values(10))
    assert (found.verdict, found.p, found.difference) == ("identical", None, NONE)


def test_equivalence_is_two_one_sided_t_tests():
    one, other = values((2, 50))
    found = equivalence(one, other, 0.4, "points")
    above = scipy.stats.ttest_rel(one, other - 0.4, alternative="greater").pvalue
    below = scipy.stats.ttest_rel(one, other + 0.4, alternative="less").pvalue
    assert found.margin == 0.4 and found.p == pytest.approx(max(above, below))
    assert found.difference == paired_difference(one, other)


def test_a_margin_in_standard_deviations_is_one_of_the_values():
    one, other = 3 * values(20), 4 * values(20, 1)
    expected = 0.5 * np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 2)
    assert equivalence(one, other).margin == pytest.approx(expected)
    assert equivalence(one + 100, other).margin == pytest.approx(expected)


def test_a_difference_that_does_not_vary_is_known():
    one = np.arange(5.0)
    assert equivalence(one + 1, one, 2.0, "points").verdict == "equivalent"
    assert equivalence(one + 1, one, 1.0, "points").verdict == "not shown"
    assert equivalence(np.ones(5), np.zeros(5)).verdict == "not shown"


@pytest.mark.parametrize(("units", "margin"), [(1, 0.5), (5, 0.0), (5, float("nan"))])
def test_equivalence_needs_pairs_and_a_margin(units, margin):
    with pytest.raises(BadArgument, match="2 units and a margin"):
        equivalence(np.ones(units), np.zeros(units), margin)


def test_tukey_is_that_of_scipy():
    groups = {"a": values(8), "b": values(6, 1) + 2, "c": values(9, 2)}
    found, expected = tukey(groups), scipy.stats.tukey_hsd(*groups.values())
    interval = expected.confidence_interval()
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    for pair, at in zip(found, ((0, 1), (0, 2), (1, 2)), strict=True):
        assert found[pair].difference == pytest.approx(
            groups[pair[0]].mean() - groups[pair[1]].mean()
        )
        assert found[pair].p == expected.pvalue[at]
        assert (found[pair].low, found[pair].high) == (interval.low[at], interval.high[at])
    assert found["a", "b"].high < 0 < found["b", "c"].low


def test_groups_that_do_not_vary_differ_or_not():
    found = tukey({"a": np.ones(3), "b": np.ones(4), "c": np.full(2, 3)})
    assert found["a", "b"] == (0, 0, 0, 1)
    assert found["a", "c"] == (-2, -2, -2, 0)


@pytest.mark.parametrize("compare", [tukey, eta_squared])
@pytest.mark.parametrize("sizes", [(), (4,), (4, 1)])
def test_groups_are_compared_by_several_values(compare, sizes):
    with pytest.raises(BadArgument, match="at least 2 values in at least 2"):
        compare({str(number): np.arange(size) for number, size in enumerate(sizes)})
    with pytest.raises(BadArgument, match="not finite"):
        compare({"a": np.ones(2), "b": np.array([0.0, np.nan])})


def test_eta_squared_by_hand():
    found = eta_squared({"a": np.array([1, 2, 3]), "b": np.array([5, 6, 7])})
    between, within = 24, 4  # sums of squares, with 1 and 4 degrees of freedom
    assert found.mean == pytest.approx((between - within / 4) / (between + within))
    assert found.low <= found.mean <= found.high <= 1


def test_groups_that_explain_everything_have_a_share_of_one():
    found = eta_squared({"a": np.full(4, 0.1), "b": np.full(3, 0.3)})
    assert found.as_dict() == pytest.approx({"mean": 1, "low": 1, "high": 1})


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3])
def test_where_nothing_varies_groups_explain_nothing(value):
    assert eta_squared({"a": np.full(7, value), "b": np.full(3, value)}) == NONE


def test_groups_of_noise_explain_nothing(few_resamples):
    found = [eta_squared(noise(5, 10, seed)) for seed in range(EXPERIMENTS)]
    assert abs(np.mean([each.mean for each in found])) < 0.02
    assert sum(each.above_zero for each in found) <= 8


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1, 1]
    assert holm([0.2]) == [0.2] and holm([]) == []


def test_tests_that_were_not_made_stay_and_are_not_counted():
    first, none, nan, last = holm([0.02, None, float("nan"), 0.03])
    assert (first, none, last) == (0.04, None, 0.04) and np.isnan(nan)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_adjusted_p_values_keep_their_order_and_only_rise(p):
    adjusted = np.array(holm(p))
    assert (adjusted >= p).all() and (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
    assert adjusted.min() == min(1, len(p) * min(p))


@pytest.mark.parametrize(
    ("p", "against", "effect", "direction", "expected"),
    [
        (0.05, 1.0, UP, "greater", "supported"),
        (0.01, 1.0, DOWN, "less", "supported"),
        (0.01, 1.0, DOWN, "different", "supported"),
        (1.0, 0.01, DOWN, "greater", "contradicted"),
        (1.0, 0.05, UP, "less", "contradicted"),
        (1.0, 0.2, DOWN, "greater", "inconclusive"),  # an interval alone contradicts nothing
        (1.0, None, DOWN, "greater", "inconclusive"),
        (0.06, 1.0, UP, "greater", "inconclusive"),
        (0.9, 0.1, UNCLEAR, "less", "inconclusive"),
        (0.9, 0.01, UP, "different", "inconclusive"),
        (1.0, 1.0, NONE, "greater", "inconclusive"),
        (None, None, UP, "greater", "not tested"),
        (float("nan"), 1.0, UP, "greater", "not tested"),
    ],
)
def test_verdicts(p, against, effect, direction, expected):
    assert verdict(p, against, effect, direction) == expected


def test_a_stricter_alpha_supports_less():
    assert verdict(0.04, 1.0, UP, "greater", alpha=0.01) == "inconclusive"


@pytest.mark.parametrize(
    ("effect", "power", "units"),
    [
        (0.2, 0.8, 199),
        (0.3, 0.8, 90),
        (0.5, 0.8, 34),
        (-0.5, 0.8, 34),
        (0.8, 0.8, 15),
        (1.0, 0.8, 10),
        (0.5, 0.9, 44),
    ],
)
def test_units_needed_are_those_of_the_tables(effect, power, units):
    assert units_needed(effect, power) == units
    assert power_of(effect, units) >= power > power_of(effect, units - 1)


def test_power_is_how_often_the_t_test_finds_the_effect():
    rows = values((4000, 12), seed=5) + 0.7
    found = scipy.stats.ttest_1samp(rows, 0, axis=1).pvalue <= 0.05
    assert power_of(0.7, 12) == pytest.approx(found.mean(), abs=0.02)


@pytest.mark.parametrize("effect", [8.0, 10.0, 20.0, 40.0, 1e3, 1e12, 6e15])
def test_however_large_an_effect_is_few_units_suffice(effect):
    assert 2 <= units_needed(effect) <= 3
    assert 0.5 < power_of(effect, 2) <= power_of(effect, 3) <= 1.0


def test_without_an_effect_the_power_is_alpha_and_no_units_suffice():
    assert power_of(0.0, 30) == pytest.approx(0.05)
    for effect in (0.0, float("nan")):
        with pytest.raises(BadArgument, match="find an effect of"):
            units_needed(effect)
    with pytest.raises(BadArgument, match="at least 2 units"):
        power_of(1.0, 1)
