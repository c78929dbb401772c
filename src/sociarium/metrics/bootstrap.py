"""Means with 95% intervals: Student's for few values, the percentile bootstrap for many episodes.

The unit of a claim about learners is the training seed. With normally distributed seeds Student's
interval of the mean covers the truth in 95% of experiments; a percentile bootstrap of the
interquartile mean does in 73% with 3 seeds. `benchmarks/coverage.py` measures both.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
from jaxtyping import Float

RESAMPLES = 10_000
MIDDLE = (2.5, 97.5)  # the percentiles that bound an interval
MANY = 30  # values from which on their mean has a bootstrap interval
FEW_SEEDS = 10  # below it the values of all seeds are shown beside their interval


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% interval, and the values of the training seeds if there are few.

    Without an interval its ends are NaN: one value has none, and neither have two training seeds.
    """

    mean: float
    low: float
    high: float
    values: tuple[float, ...] = ()

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Estimate":
        """Read back from what `as_dict` gives."""
        low, high = (math.nan if row[end] is None else row[end] for end in ("low", "high"))
        return cls(row["mean"], low, high, tuple(row.get("values", ())))

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

    @property
    def interval(self) -> list[float | None]:
        """Both ends of the interval, or nothing twice."""
        return [self.low, self.high] if self.bounded else [None, None]

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        low, high = self.interval
        values = {"values": list(self.values)} if self.values else {}
        return {"mean": self.mean, "low": low, "high": high, **values}

    @property
    def digits(self) -> int:
        """Decimals worth printing."""
        ends = (self.low, self.high) if self.bounded else ()
        largest = max(abs(end) for end in (self.mean, *ends))
        return 0 if largest >= 100 else 1 if largest >= 10 else 2

    def __str__(self) -> str:
        mean, low, high = (f"{x:.{self.digits}f}" for x in (self.mean, self.low, self.high))
        values = ", ".join(f"{x:.{self.digits}f}" for x in self.values)
        if len(self.values) == 2:
            return values
        if self.bounded:
            return f"{mean} [{low}, {high}]" + (f" ({values})" if values else "")
        return f"{mean} (one value)"


def resampled(
    values: Float[np.ndarray, "points groups episodes"],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Float[np.ndarray, "resamples points groups"]:
    """Means of the values in each resample of the episodes.

    Each point draws its own episodes. The groups of a point played in the same episodes and are
    drawn together.
    """
    rng = np.random.default_rng(seed)
    points, groups, episodes = values.shape
    means = np.empty((resamples, points, groups))
    for point in range(points):
        which = rng.integers(episodes, size=(resamples, episodes))
        for group in range(groups):
            means[:, point, group] = values[point, group][which].mean(axis=1)
    return means


def estimate(mean: float | np.floating, draws: Float[np.ndarray, " resamples"]) -> Estimate:
    """The mean with the percentile interval of its resamples."""
    low, high = np.percentile(draws, MIDDLE)
    return Estimate(float(mean), float(low), float(high))


def student(values: Float[np.ndarray, " n"]) -> Estimate:
    """The mean of two or more values with Student's interval, which is a point if all are equal."""
    half = scipy.stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    mean = float(values.mean())
    return Estimate(mean, mean - float(half), mean + float(half))


def over_episodes(values: Float[np.ndarray, " episodes"]) -> Estimate:
    """The mean of one number for each episode: Student's interval below 30, else a bootstrap."""
    if len(values) == 1:
        return Estimate(float(values[0]), math.nan, math.nan)
    if len(values) < MANY:
        return student(values.astype(np.float64))
    return estimate(values.mean(), resampled(values[None, None])[:, 0, 0])


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


def over_seeds(values: Float[np.ndarray, " seeds"]) -> Estimate:
    """The mean of one number for each training seed, with Student's interval from 3 seeds on.

    Below 10 seeds the values are shown beside the interval; of two seeds they are all that is.
    """
    numbers = values.astype(np.float64)
    shown = tuple(numbers.tolist()) if len(numbers) < FEW_SEEDS else ()
    if len(numbers) < 3:
        return Estimate(float(numbers.mean()), math.nan, math.nan, shown)
    found = student(numbers)
    return Estimate(found.mean, found.low, found.high, shown)
