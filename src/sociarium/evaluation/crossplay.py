"""Everybody with everybody: what each player of a roster earns beside each other.

In a world of two every pair plays in both orders. Among more players one is the focal player, in
each seat by turns, and all others are partners of one kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium.arena.batch import Batch
from sociarium.arena.seating import Chair, name_of
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.metrics.bootstrap import Estimate, over_episodes
from sociarium.views.progress import OnProgress, silent


@dataclass(frozen=True)
class PartnerReturns:
    """What the focal player earned: `returns[focal, partner, seat, episode]`."""

    names: tuple[str, ...]
    returns: Float[np.ndarray, "focal partners seats episodes"]

    @cached_property
    def table(self) -> list[list[Estimate]]:
        """Means over seats and episodes, a row for each focal player, a column for each partner."""
        return [[_mean(cell) for cell in row] for row in self.returns]

    @cached_property
    def by_seat(self) -> list[list[list[Estimate]]]:
        """The same in each seat."""
        seats = range(self.returns.shape[2])
        return [[[_mean(cell[s]) for s in seats] for cell in row] for row in self.returns]

    @cached_property
    def with_others(self) -> list[Estimate]:
        """What each earns beside all others of the roster, oneself left out."""
        others = ~np.eye(len(self.names), dtype=bool)
        return [_mean(rows[others[n]]) for n, rows in enumerate(self.returns)]

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        plain = lambda tree: (  # noqa: E731
            tree.as_dict() if isinstance(tree, Estimate) else [plain(one) for one in tree]
        )
        return {
            "roster": list(self.names),
            "episodes": self.returns.shape[3],
            "mean": plain(self.table),
            "by_seat": plain(self.by_seat),
            "with_others": plain(self.with_others),
        }


def crossplay(
    env: Environment[Any, Any],
    roster: Sequence[str | Chair],
    *,
    episodes: int = 30,
    seed: int = 0,
    on_progress: OnProgress = silent,
) -> PartnerReturns:
    """Plays every pair of the roster, so many episodes in each seat, in one batch."""
    if env.players < 2:
        raise BadArgument(f"{env.id} has one player; partners need at least two")
    if len(roster) < 2:
        raise BadArgument(f"a roster has at least two players; given {len(roster)}")
    many, players = len(roster), env.players
    shape = (many, many, players, episodes)
    focal, partner, seat, _ = (axis.ravel() for axis in np.indices(shape))
    seating = np.where(np.arange(players)[None] == seat[:, None], focal[:, None], partner[:, None])
    batch = Batch(env, roster, seating, seed=seed)
    sums = batch.sums(on_progress=on_progress)
    returns = np.asarray(sums.reward)[np.arange(len(seat)), seat].reshape(shape)
    return PartnerReturns(
        tuple(one if isinstance(one, str) else name_of(one) for one in roster), returns
    )


def draw(found: PartnerReturns, path: Path, *, title: str, footnote: str = "") -> None:
    """A heatmap: rows are focal players, columns their partners."""
    from matplotlib.figure import Figure

    from sociarium.evaluation import plots

    many = len(found.names)
    means = np.array([[cell.mean for cell in row] for row in found.table])
    figure = Figure(figsize=(3.4 + 0.95 * many, 2.2 + 0.62 * many))
    axes = figure.add_axes((0.30, 0.14, 0.66, 0.62))
    shown = axes.imshow(means, cmap="cividis", aspect="auto")
    middle = (means.min() + means.max()) / 2
    for row, cells in enumerate(found.table):
        for col, cell in enumerate(cells):
            colour = plots.PAPER if cell.mean < middle else plots.INK
            half = f"{(cell.high - cell.low) / 2:.{cell.digits}f}"
            text = f"{cell.mean:.{cell.digits}f}\n± {half}"
            axes.text(col, row, text, ha="center", va="center", fontsize=8, color=colour)
    short = [name.removeprefix("script:") for name in found.names]
    axes.set_xticks(range(many), short, rotation=30, ha="left", fontsize=8)
    axes.set_yticks(range(many), short, fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    figure.colorbar(shown, ax=axes, fraction=0.04, pad=0.02).ax.tick_params(labelsize=7)
    figure.text(0.02, 0.95, title, fontsize=12, fontweight="bold", color=plots.INK)
    told = "what the player of a row earns beside the one of a column"
    figure.text(0.02, 0.905, told, fontsize=8.5, color=plots.INK)
    figure.text(0.02, 0.03, footnote, fontsize=7, color=plots.FAINT)
    plots.write(figure, path)


def _mean(values: Float[np.ndarray, "*axes"]) -> Estimate:
    return over_episodes(values.ravel())
