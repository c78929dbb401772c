"""Numbers as the tables of a report have them: aligned, with as many decimals as are worth it."""

import math
from collections.abc import Iterable, Sequence

from sociarium.metrics.bootstrap import Estimate

NONE, MINUS, DIGIT_WIDE = "\N{EN DASH}", "\N{MINUS SIGN}", "\N{FIGURE SPACE}"
Written = tuple[str, str, str]  # a mean, "[low," and "high]"


def _digits(row: Iterable[Estimate | None]) -> int:
    """Decimals worth printing where these stand side by side."""
    ends = [abs(x) for one in row if one for x in (one.mean, one.low, one.high)]
    largest = max((x for x in ends if math.isfinite(x)), default=0.0)
    return 0 if largest >= 100 or not largest else 1 if largest >= 10 else 2


def aligned(rows: Sequence[Sequence[Estimate | None]]) -> list[list[Written | None]]:
    """All as text with the decimals of the finest row, so that columns have one width."""
    digits = max(map(_digits, rows), default=0)
    grid = [[one and _written(one, digits) for one in row] for row in rows]
    widths = [
        [max((len(one[part]) for one in column if one), default=0) for part in range(3)]
        for column in zip(*grid, strict=True)
    ]
    return [
        [one and _padded(one, width) for one, width in zip(row, widths, strict=True)]
        for row in grid
    ]


def _written(one: Estimate, digits: int) -> Written:
    """The mean and the ends of its interval, which are empty where there is none."""
    mean = _number(one.mean, digits)
    if not math.isfinite(one.mean) or not math.isfinite(one.low):
        return mean, "", ""
    return mean, f"[{_number(one.low, digits)},", f"{_number(one.high, digits)}]"


def _padded(one: Written, widths: Sequence[int]) -> Written:
    mean, low, high = (
        text.rjust(width, DIGIT_WIDE) for text, width in zip(one, widths, strict=True)
    )
    return mean, low, high


def _number(x: float, digits: int) -> str:
    if not math.isfinite(x):
        return NONE
    return f"{round(x, digits) + 0.0:.{digits}f}".replace("-", MINUS)


def p_value(p: float | None) -> str:
    """As a paper has it."""
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def sortable(x: float) -> str:
    """By which a column is sorted; nothing where there is no number."""
    return repr(x) if math.isfinite(x) else ""
