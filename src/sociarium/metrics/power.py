"""How many seeds an experiment needs to find a difference of pairs.

Effects are in standard deviations of the differences (Cohen's d_z), and the test is the two-sided
paired t test. Settings with independent values of one variance have differences that vary by 1.41
of it: a difference of one standard deviation of the values is then an effect of 0.71.
"""

import numpy as np
import scipy.stats

from sociarium.core.errors import BadArgument

MOST_UNITS = 10_000_000
LARGEST = 1e6  # an effect beyond which nothing changes


def power_of(effect: float, units: int, alpha: float = 0.05) -> float:
    """How likely the test finds the effect with so many units."""
    if units < 2:
        raise BadArgument(f"a t test needs at least 2 units; given {units}")
    least = scipy.stats.t.isf(alpha / 2, units - 1)
    shifted = scipy.stats.nct(units - 1, min(abs(effect), LARGEST) * np.sqrt(units))
    # The tail on the other side is not a number in scipy where it is next to nothing.
    return float(shifted.sf(least) + np.nan_to_num(shifted.cdf(-least)))


def units_needed(effect: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """The fewest units with which the test finds the effect as likely as asked."""
    low, high = 1, 2  # too few, perhaps enough
    while not power_of(effect, high, alpha) >= power:
        low, high = high, 2 * high
        if high > MOST_UNITS:
            raise BadArgument(f"no {MOST_UNITS} units find an effect of {effect}")
    while high - low > 1:
        middle = (low + high) // 2
        if power_of(effect, middle, alpha) < power:
            low = middle
        else:
            high = middle
    return high
