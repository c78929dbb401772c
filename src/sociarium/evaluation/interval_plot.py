"""Dots with intervals: arms from top to bottom, contestants by colour and mark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sociarium.evaluation.figures import INK, new_figure, plain_axes, rendered
from sociarium.metrics.bootstrap import Estimate

MOST_DOTS = 1000  # in one picture
LETTER = 0.067  # inches of a letter of an arm's name
GAP, FOOT = 0.3, 0.28  # inches above a panel for its name, and below it for its numbers


@dataclass(frozen=True)
class Mark:
    """A shape, as matplotlib names it and as a path of SVG."""

    name: str
    outline: str


MARKS = (
    Mark("o", "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z"),
    Mark("s", "M-.9-.9h1.8v1.8h-1.8z"),
    Mark("D", "M0-1.1 1.1 0 0 1.1-1.1 0z"),
    Mark("^", "M0-1 1.1.9h-2.2z"),
)


def most_drawn(contestants: int) -> int:
    """Arms that one picture can hold."""
    return MOST_DOTS // max(contestants, 1)


def picture(
    panels: Mapping[str, Sequence[str]],
    looks: Sequence[tuple[str, str, int]],
    estimates: Mapping[tuple[str, str], Estimate],
) -> bytes:
    """An SVG with a panel for each world, whose numbers have their own scale.

    `panels` are arms by world, `looks` the contestants with colour and mark, `estimates` are by
    arm and contestant.
    """
    row = 0.12 + 0.1 * max(len(looks), 1)
    height = sum(len(arms) * row + GAP + FOOT for arms in panels.values())
    left = 0.2 + LETTER * max(len(arm) for arms in panels.values() for arm in arms)
    width = max(7.2, left + 4.0)
    figure = new_figure(width, height)
    top = height
    for world, arms in panels.items():
        tall = len(arms) * row
        top -= GAP + tall
        box = (left / width, top / height, (width - left - 0.15) / width, tall / height)
        _panel(figure.add_axes(box), world, arms, looks, estimates)
        top -= FOOT
    return rendered(figure, "svg")


def _panel(
    axes: Any,
    world: str,
    arms: Sequence[str],
    looks: Sequence[tuple[str, str, int]],
    estimates: Mapping[tuple[str, str], Estimate],
) -> None:
    looks = [look for look in looks if any((arm, look[0]) in estimates for arm in arms)]
    for row, arm in enumerate(arms):
        for number, (model, colour, mark) in enumerate(looks):
            one = estimates.get((arm, model))
            if one is None:
                continue
            y = row + 0.72 * ((number + 0.5) / len(looks) - 0.5)
            axes.plot([one.low, one.high], [y, y], color=colour, linewidth=1.3, zorder=2)
            axes.plot(
                [one.mean],
                [y],
                color=colour,
                marker=MARKS[mark].name,
                markersize=4.2 if mark % 2 == 0 else 4,
                markeredgewidth=0,
                linestyle="none",
                zorder=3,
            )
    plain_axes(axes, 8)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color="#ebebeb", linewidth=0.8)
    for border in range(1, len(arms)):
        axes.axhline(border - 0.5, color="#ebebeb", linewidth=0.8, zorder=0.5)
    axes.margins(x=0.03)
    low, high = axes.get_xlim()
    if low <= 0 <= high:
        axes.axvline(0, color="#b4b4b4", linewidth=0.9, zorder=1)
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.set_yticks(range(len(arms)), arms, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    name = world.encode("ascii", "backslashreplace").decode()
    axes.set_title(
        name, loc="left", fontsize=8.5, fontweight="bold", color=INK, pad=4, parse_math=False
    )
