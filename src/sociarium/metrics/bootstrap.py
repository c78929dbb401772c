"""Percentile bootstrap intervals in two levels: training seeds first, then episodes.

Runs of several seeds are summed up by the interquartile mean, the mean of their middle half, which
one lucky or failed seed does not move (Agarwal et al., 2021).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

RESAMPLES = 10_000
MIDDLE = (2.5, 97.5)  # the percentiles that bound an interval


@dataclass(frozen=True)
class Estimate:
    """A mean and the interval that holds the middle 95 percent of its resamples.

    Where there is one value only there is no interval, and its ends are NaN.
    """

    mean: float
    low: float
    high: float

    @property
    def above_zero(self) -> bool:
        """Whether the interval excludes zero and everything below it."""
        return self.low > 0

    @property
    def below_zero(self) -> bool:
        """Whether the interval excludes zero and everything above it."""
        return self.high < 0

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low)

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        low, high = (self.low, self.high) if self.bounded else (None, None)
        return {"mean": self.mean, "low": low, "high": high}

    @property
    def digits(self) -> int:
        """Decimals worth printing."""
        ends = (self.low, self.high) if self.bounded else ()
        largest = max(abs(end) for end in (self.mean, *ends))
        return 0 if largest >= 100 else 1 if largest >= 10 else 2

    def __str__(self) -> str:
        mean, low, high = (f"{x:.{self.digits}f}" for x in (self.mean, self.low, self.high))
        return f"{mean} [{low}, {high}]" if self.bounded else f"{mean} (one value)"


def resampled(
    values: Float[np.ndarray, "points groups seeds episodes"],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Float[np.ndarray, "resamples points groups"]:
    """Means of the values in each resample.

    A resample draws training seeds with replacement, the same ones for all points since a seed's
    populations play at every point, and then episodes of each drawn seed, anew for each point. The
    groups of a point played in the same episodes and are drawn together.
    """
    lot = np.random.default_rng(seed)
    points, groups, seeds, episodes = values.shape
    which_seeds = lot.integers(seeds, size=(resamples, seeds))
    means = np.empty((resamples, points, groups))
    for point in range(points):
        which = lot.integers(episodes, size=(resamples, seeds, episodes))
        for group in range(groups):
            drawn = values[point, group][which_seeds[:, :, None], which]
            means[:, point, group] = drawn.mean(axis=(1, 2))
    return means


def estimate(mean: float | np.floating, draws: Float[np.ndarray, " resamples"]) -> Estimate:
    """The mean with the percentile interval of its resamples."""
    low, high = np.percentile(draws, MIDDLE)
    return Estimate(float(mean), float(low), float(high))


def over_episodes(values: Float[np.ndarray, " episodes"]) -> Estimate:
    """The mean of one number for each episode, with its interval; one alone has none."""
    if len(values) == 1:
        return Estimate(float(values[0]), math.nan, math.nan)
    return estimate(values.mean(), resampled(values[None, None, None])[:, 0, 0])


def difference(one: Estimate, other: Estimate) -> Estimate:
    """One mean less another, of independent samples: their intervals add up as variances do."""
    mean = one.mean - other.mean
    low = np.hypot(one.mean - one.low, other.high - other.mean)
    high = np.hypot(one.high - one.mean, other.mean - other.low)
    return Estimate(mean, float(mean - low), float(mean + high))


def iqm(values: Float[np.ndarray, "*batch n"]) -> Float[np.ndarray, "*batch"]:
    """The mean of the middle half; of values that lie across its edges, the part inside counts."""
    n = values.shape[-1]
    edges = np.arange(n + 1) / n
    weight = np.clip(edges[1:], 0.25, 0.75) - np.clip(edges[:-1], 0.25, 0.75)
    return np.asarray((np.sort(values, axis=-1) * weight).sum(-1) / weight.sum())


def over_seeds(values: Float[np.ndarray, "seeds episodes"]) -> Estimate:
    """The interquartile mean of the seeds' means over their episodes, with its interval."""
    lot = np.random.default_rng(0)
    seeds, episodes = values.shape
    which_seeds = lot.integers(seeds, size=(RESAMPLES, seeds))
    which = lot.integers(episodes, size=(RESAMPLES, seeds, episodes))
    draws = iqm(values[which_seeds[:, :, None], which].mean(2))
    return estimate(float(iqm(values.mean(1))), draws)
