"""The share of orders that teams complete on the main level of Cuisine, as a picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sociarium.envs.kitchens.menus import ALPHAS, find_level
from sociarium.evaluation.cuisine_bounds import INTERVALS, MAIN_LEVEL, TEAMS, LevelTeam
from sociarium.evaluation.cuisine_scores import GPT4, ROWS, SOURCE, ScoreRow, Scores
from sociarium.evaluation.figures import (
    FAINT,
    INK,
    PAPER,
    check_path,
    new_figure,
    plain_axes,
    write,
)
from sociarium.metrics.bootstrap import over_episodes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {  # told apart by every kind of colour vision
    "idle": "#c4c4c4",
    "random": "#E69F00",
    "greedy": "#0072B2",
    "no pre-cooking": "#CC79A7",
    "pre-cooking": "#009E73",
}
DASHED = (0, (4, 2))
PROVED = "pre-cooking"  # whose bound holds for everybody
WIDE = 5  # of a line that another one may cover


def save(scores: Scores, path: Path) -> None:
    """Writes the picture; the same scores give the same file."""
    check_path(path)
    write(draw(scores), path)


def draw(scores: Scores) -> "Figure":
    """A panel for each number of cooks: the share against the interval, and what is proved."""
    figure = new_figure(10.4, 4.5)
    grid = figure.subplots(1, len(TEAMS), sharey=True)
    figure.subplots_adjust(left=0.06, right=0.985, top=0.735, bottom=0.2, wspace=0.08)
    for axes, players in zip(grid, TEAMS, strict=True):
        _panel(axes, scores, players)
    grid[0].set_ylabel("completed / (completed + failed)", color=INK, fontsize=9)
    title = f"Cuisine, level {MAIN_LEVEL}: orders that are met, and that can be"
    figure.text(0.02, 0.93, title, fontsize=14, fontweight="bold", color=INK)
    _legend(figure)
    episodes = scores.episodes(LevelTeam(MAIN_LEVEL, TEAMS[0]), "drawn", "greedy")
    notes = (
        f"Drawn orders, means over {len(episodes)} seeds, 95% intervals. Schedules are "
        "clairvoyant; the shaded area lies between the schedules with pre-cooking and what is "
        "proved of any team.",
        f"GPT-4: {SOURCE}, three episodes of published orders.",
    )
    for number, note in enumerate(reversed(notes)):
        figure.text(0.02, 0.02 + 0.037 * number, note, fontsize=7.5, color=FAINT)
    return figure


def _panel(axes: Any, scores: Scores, players: int) -> None:
    shares = {row: scores.shares(LevelTeam(MAIN_LEVEL, players), row) for row in ROWS}
    means = {row: np.nanmean(found, 0) for row, found in shares.items() if len(found)}
    for row, mean in means.items():
        colour = COLOURS[row.who]
        if row.at_most:
            if row.who == PROVED:
                reached = next(m for other, m in means.items() if other.who == row.who)
                axes.fill_between(INTERVALS, reached, mean, color=colour, alpha=0.16, linewidth=0)
            continue
        found = [over_episodes(column) for column in shares[row].T]
        apart = [[e.mean - e.low for e in found], [e.high - e.mean for e in found]]
        axes.errorbar(
            INTERVALS,
            mean,
            apart,
            color=colour,
            linewidth=WIDE if row.who == "idle" else 1.8,
            linestyle=DASHED if row.who == "no pre-cooking" else "-",
            marker="o",
            markersize=4.5,
            markeredgecolor=PAPER,
            markeredgewidth=0.8,
            elinewidth=1,
            clip_on=False,
            zorder=3,
        )
    published = [completed / among for completed, among in GPT4[players]]
    axes.plot(
        INTERVALS,
        published,
        "D",
        color=INK,
        markersize=6,
        markerfacecolor="none",
        zorder=4,
        clip_on=False,
    )
    axes.set_title(f"{players} cooks", fontsize=10, color=INK, loc="left")
    axes.set_xticks(INTERVALS, [str(find_level(MAIN_LEVEL).interval(alpha)) for alpha in ALPHAS])
    axes.set_xlim(0.8, len(INTERVALS) + 0.2)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("steps between orders, intervals 1 to 5", color=INK, fontsize=8.5)
    plain_axes(axes, 8)


def _legend(figure: "Figure") -> None:
    from matplotlib.lines import Line2D

    keys = {row.name: _key(row) for row in ROWS if not row.at_most}
    keys["GPT-4, published"] = Line2D(
        [], [], color=INK, marker="D", markerfacecolor="none", linestyle=""
    )
    figure.legend(
        keys.values(),
        keys,
        loc="center left",
        bbox_to_anchor=(0.013, 0.86),
        ncols=len(keys),
        frameon=False,
        fontsize=9,
        borderaxespad=0,
        handlelength=1.8,
        columnspacing=1.4,
    )


def _key(row: ScoreRow) -> Any:
    from matplotlib.lines import Line2D

    line = DASHED if row.who == "no pre-cooking" else "-"
    width = WIDE if row.who == "idle" else 1.8
    return Line2D([], [], color=COLOURS[row.who], linestyle=line, linewidth=width)
