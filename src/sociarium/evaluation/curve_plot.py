"""Curves of arms over rounds or steps: means with bands, one panel for each contestant."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sociarium.evaluation.analyses.learning_curves import COLOURS
from sociarium.evaluation.figures import (
    COOPERATING,
    DEFECTING,
    INK,
    new_figure,
    plain_axes,
    rendered,
)

if TYPE_CHECKING:
    from sociarium.evaluation.findings import CurvePoints

WIDTH, HEIGHT, MOST_PANELS = 7.2, 2.6, 6  # inches of a panel; panels of one picture
STYLES = {"focal": "-", "others": "--", "all": "-"}
LINES = (COOPERATING, DEFECTING, *COLOURS[2:])


def line_label(one: "CurvePoints", sides: int) -> str:
    """What a line is called: its arm and, where there are several sides, whose it is."""
    told = {"focal": "contestants", "others": "others", "all": "all"}[one.side]
    return f"{one.arm}, {told}" if sides > 1 else one.arm


def curve_picture(curves: Sequence["CurvePoints"], told: str) -> bytes:
    """An SVG with a panel for each of the first contestants, a line for each arm and side."""
    models = list(dict.fromkeys(one.model for one in curves))[:MOST_PANELS]
    arms = list(dict.fromkeys(one.arm for one in curves))
    sides = len({one.side for one in curves})
    figure = new_figure(WIDTH, HEIGHT * len(models), layout="constrained")
    panels = figure.subplots(len(models), 1, squeeze=False)[:, 0]
    for axes, model in zip(panels, models, strict=True):
        for one in curves:
            if one.model == model:
                _line(axes, one, LINES[arms.index(one.arm) % len(LINES)], sides)
        plain_axes(axes, 8)
        name = (model or told).encode("ascii", "backslashreplace").decode()
        axes.set_title(name, loc="left", fontsize=8.5, color=INK, parse_math=False)
        axes.set_xlabel(curves[0].axis, fontsize=8)
        legend = axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        for text in legend.get_texts():
            text.set_parse_math(False)
    return rendered(figure, "svg")


def _line(axes: Any, one: "CurvePoints", colour: str, sides: int) -> None:
    means = [point.mean for point in one.means]
    style = STYLES[one.side]
    label = line_label(one, sides).encode("ascii", "backslashreplace").decode()
    axes.plot(one.at, means, color=colour, linewidth=1.3, linestyle=style, label=label)
    if all(point.bounded for point in one.means):
        low, high = ([getattr(p, end) for p in one.means] for end in ("low", "high"))
        axes.fill_between(one.at, low, high, color=colour, alpha=0.12, linewidth=0)
