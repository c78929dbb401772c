"""Learning curves of several seeds as pictures: one panel for each world."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Num

from sociarium.evaluation.figures import FAINT, INK, check_path, new_figure, plain_axes, write
from sociarium.metrics.bootstrap import FEW_SEEDS, over_seeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
ACROSS = 3  # panels side by side
LETTER = 0.056  # inches of a letter of the notes
SMOOTHED = 9  # rows averaged into one point
COLLECTIVE = "collective return"


@dataclass(frozen=True)
class Line:
    """One run: the return of each seed along its steps, and the share of them that is done."""

    panel: str
    name: str
    steps: Num[np.ndarray, " rows"]
    returns: Float[np.ndarray, "rows seeds"]
    done: float = 1.0


def save(
    lines: Sequence[Line], path: Path, *, title: str, footnote: str = "", measure: str = COLLECTIVE
) -> None:
    """Writes the picture; the same lines give the same file."""
    check_path(path)
    write(draw(lines, title=title, footnote=footnote, measure=measure), path)


def draw(
    lines: Sequence[Line],
    *,
    title: str,
    footnote: str = "",
    measure: str = COLLECTIVE,
    levels: Mapping[str, float] = MappingProxyType({}),
) -> "Figure":
    """The mean over seeds with Student's interval, against steps; every seed if there are few.

    `levels` are returns of other players by name, such as random play: dashed lines.
    """
    begun = [line for line in lines if len(line.steps)]
    panels = list(dict.fromkeys(line.panel for line in begun))
    names = list(dict.fromkeys(line.name for line in lines))
    down, across = max(1, -(-len(panels) // ACROSS)), min(max(len(panels), 1), ACROSS)
    width, height = 3.6 * max(across, 2) + 0.5, 3.0 * down + 1.45
    figure = new_figure(width, height)
    grid = figure.subplots(down, across, squeeze=False)
    figure.subplots_adjust(
        left=0.62 / width,
        right=0.985,
        top=1 - 1.05 / height,
        bottom=0.95 / height,
        hspace=0.52,
        wspace=0.24,
    )
    for axes, panel in zip(grid.flat, panels, strict=False):
        _panel(axes, panel, [line for line in lines if line.panel == panel], names)
        _draw_levels(axes, levels)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel(measure, color=INK, fontsize=9)
    figure.text(0.02, 1 - 0.35 / height, title, fontsize=14, fontweight="bold", color=INK)
    shown = [name for name in names if any(line.name == name for line in begun)]
    _legend(figure, shown, names, 1 - 0.62 / height)
    missing = [name for name in dict.fromkeys(line.panel for line in lines) if name not in panels]
    notes = [footnote] if footnote else []
    notes.append(
        "Mean over seeds, Student's 95% interval from 3 seeds on (cut at the edge); each seed a "
        "thin line if below 10"
    )
    if missing:
        notes[-1] += f"; not begun: {', '.join(missing).replace('_', ' ')}"
    letters = int(width / LETTER)
    rows = [row for note in notes for row in textwrap.wrap(f"{note}.", letters)]
    for number, row in enumerate(reversed(rows)):
        figure.text(0.02, (0.07 + 0.13 * number) / height, row, fontsize=7, color=FAINT)
    return figure


def _draw_levels(axes: Any, levels: Mapping[str, float]) -> None:
    """A dashed line with its name at each level, all within the panel."""
    if not levels:
        return
    low, high = axes.get_ylim()
    low, high = min(low, *levels.values()), max(high, *levels.values())
    margin = 0.07 * (high - low)
    axes.set_ylim(low - margin, high + margin)
    for name, level in levels.items():
        axes.axhline(level, color=FAINT, linewidth=1, linestyle="--")
        place = axes.get_yaxis_transform()
        axes.text(0.99, level, name, transform=place, ha="right", va="bottom", fontsize=7)


def smoothed(
    returns: Float[np.ndarray, "rows seeds"],
) -> Float[np.ndarray, "rows seeds"]:
    """Means over neighbouring rows; rows in which no episode ended count nothing."""
    reach = SMOOTHED // 2
    windows = [returns[max(0, row - reach) : row + reach + 1] for row in range(len(returns))]
    counted = [np.isfinite(window).sum(0) for window in windows]
    totals = [np.nansum(window, 0) for window in windows]
    return np.array(
        [
            np.where(n > 0, t / np.maximum(n, 1), np.nan)
            for n, t in zip(counted, totals, strict=True)
        ]
    )


def band(
    returns: Float[np.ndarray, "rows seeds"],
) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, "2 rows"]]:
    """The mean over seeds, row by row, and its interval, which is NaN below 3 seeds."""
    found = [over_seeds(row) for row in returns]
    ends = np.array([[one.low, one.high] for one in found])
    return np.array([one.mean for one in found]), ends.T


def _panel(axes: Any, panel: str, lines: Sequence[Line], names: Sequence[str]) -> None:
    bands = []
    for line in lines:
        if not len(line.steps):
            continue
        colour = COLOURS[names.index(line.name) % len(COLOURS)]
        returns = smoothed(line.returns)
        whole = np.isfinite(returns).all(1)
        if not whole.any():
            continue
        steps = line.steps[whole] / 1e6
        middle, (low, high) = band(returns[whole])
        axes.plot(steps, middle, color=colour, linewidth=1.6)
        if returns.shape[1] < FEW_SEEDS:
            axes.plot(steps, returns[whole], color=colour, linewidth=0.6, alpha=0.5)
        bands.append((steps, low, high, colour))
        if line.done < 1:
            axes.plot(steps[-1:], middle[-1:], "o", color=colour, markersize=4)
    bottom, top = axes.get_ylim()  # of the curves: a band of three seeds can be far wider
    for *edges, colour in bands:
        axes.fill_between(*edges, color=colour, alpha=0.2, linewidth=0)
    axes.set_ylim(bottom, top)
    axes.set_title(panel.replace("_", " "), fontsize=10, color=INK, loc="left")
    axes.set_xlim(left=0)
    label = "\n".join(["million environment steps", *_lacking(lines)])
    axes.set_xlabel(label, color=INK, fontsize=8)
    plain_axes(axes, 8)


def _lacking(lines: Sequence[Line]) -> list[str]:
    """What there is to say of a panel's runs that have not come to their end."""
    begun = [line for line in lines if len(line.steps)]
    unfinished = [f"{line.name} {line.done:.0%}" for line in begun if line.done < 1]
    missing = [line.name for line in lines if not len(line.steps)]
    said = [f"unfinished: {', '.join(unfinished)}"] if unfinished else []
    return said + ([f"not begun: {', '.join(missing)}"] if missing else [])


def _legend(figure: "Figure", shown: Sequence[str], names: Sequence[str], height: float) -> None:
    from matplotlib.lines import Line2D

    keys = [Line2D([], [], color=COLOURS[names.index(n) % len(COLOURS)]) for n in shown]
    figure.legend(
        keys,
        shown,
        loc="center left",
        bbox_to_anchor=(0.015, height),
        ncols=max(1, len(shown)),
        frameon=False,
        fontsize=9,
        borderaxespad=0,
        handlelength=1.4,
        columnspacing=1.2,
    )
