"""What is measured in an episode: a number, or a share with its counts."""

import math
from collections.abc import Mapping

Value = float | tuple[float, float]  # a number, or how often of how many times


def defined(values: Mapping[str, Value]) -> dict[str, Value]:
    """Those that are numbers or shares; what is undefined is left out, and never 0."""
    return {name: x for name, x in values.items() if isinstance(x, tuple) or math.isfinite(x)}


def share_of(value: Value) -> float:
    """A number as it is, a share as done of times: NaN where there were none."""
    if not isinstance(value, tuple):
        return value
    done, times = value
    return done / times if times else math.nan


def shares(values: Mapping[int, Value]) -> dict[int, float]:
    """By seed, where they are defined."""
    told = {seed: share_of(value) for seed, value in values.items()}
    return {seed: value for seed, value in told.items() if math.isfinite(value)}
