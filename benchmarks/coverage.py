"""How often 95% intervals over training seeds hold the true mean, by the distribution of returns.

`python benchmarks/coverage.py` stores the shares in docs/results/coverage.json, from which the
table in docs/metrics.md is made. Beside Student's interval of the mean it measures the percentile
bootstrap of the interquartile mean, which the project used before.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.stats
from jaxtyping import Bool, Float

from sociarium.metrics.bootstrap import MIDDLE, iqm

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "coverage.json"
SEEDS = (3, 4, 5, 10, 20)
EXPERIMENTS = {"student": 100_000, "bootstrap": 4_000}
RESAMPLES = 500
LEARNED, SPREAD = 100.0, 5.0  # return of a seed that learned, and the deviation among all seeds

Rng = np.random.Generator
Samples = Float[np.ndarray, "experiments seeds"]


def three_in_ten_learn(rng: Rng, shape: tuple[int, int]) -> Samples:
    """A mixture: 100 with chance 0.3, else 0, each with a standard deviation of 5."""
    return LEARNED * (rng.random(shape) < 0.3) + SPREAD * rng.normal(size=shape)


DISTRIBUTIONS: dict[str, tuple[Callable[[Rng, tuple[int, int]], Samples], float]] = {
    "normal": (lambda rng, shape: rng.normal(size=shape), 0.0),
    "gamma(4)": (lambda rng, shape: rng.gamma(4.0, size=shape), 4.0),
    "exponential": (lambda rng, shape: rng.exponential(size=shape), 1.0),
    "three seeds in ten learn": (three_in_ten_learn, 0.3 * LEARNED),
}


def student_covers(samples: Samples, truth: float) -> Bool[np.ndarray, " experiments"]:
    """Whether Student's interval of each row holds the true mean."""
    n = samples.shape[1]
    half = scipy.stats.t.ppf(0.975, n - 1) * samples.std(1, ddof=1) / np.sqrt(n)
    return np.abs(samples.mean(1) - truth) <= half


def bootstrap_covers(rng: Rng, samples: Samples, truth: float) -> Bool[np.ndarray, " experiments"]:
    """Whether the percentile bootstrap of each row's interquartile mean holds `truth`."""
    which = rng.integers(samples.shape[1], size=(RESAMPLES, samples.shape[1]))
    ends = [np.percentile(iqm(row[which]), MIDDLE) for row in samples]
    return np.array([low <= truth <= high for low, high in ends])


def main() -> None:
    """Measures and stores all shares."""
    rows = []
    for name, (draw, truth) in DISTRIBUTIONS.items():
        rng = np.random.default_rng(0)
        middle = float(iqm(draw(rng, (1, 1_000_000)))[0])  # what the interquartile mean estimates
        for n in SEEDS:
            samples = draw(rng, (EXPERIMENTS["student"], n))
            few = samples[: EXPERIMENTS["bootstrap"]]
            rows.append(
                {
                    "returns": name,
                    "seeds": n,
                    "student": float(student_covers(samples, truth).mean()),
                    "bootstrap": float(bootstrap_covers(rng, few, middle).mean()),
                }
            )
            print(rows[-1])
    RESULTS.write_text(json.dumps({"experiments": EXPERIMENTS, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
