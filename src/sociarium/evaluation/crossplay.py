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
from jaxtyping import Bool, Float

from sociarium import catalogue
from sociarium.arena.batch import Batch
from sociarium.arena.seating import Chair, names_of
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.metrics.bootstrap import Estimate, over_episodes
from sociarium.players import roster
from sociarium.views.progress import OnProgress, silent


@dataclass(frozen=True)
class PartnerReturns:
    """What the focal player earned: `returns[focal, partner, seat, episode]`."""

    names: tuple[str, ...]  # of focal players
    partners: tuple[str, ...]
    returns: Float[np.ndarray, "focal partners seats episodes"]
    same: Bool[np.ndarray, "focal partners"]  # whether the partner is the player itself

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
    def with_others(self) -> list[Estimate | None]:
        """What each earns beside all partners but itself; nothing where there are no others."""
        return [
            None if same.all() else _mean(rows[~same])
            for same, rows in zip(self.same, self.returns, strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        plain = lambda tree: (  # noqa: E731
            [plain(one) for one in tree] if isinstance(tree, list) else tree and tree.as_dict()
        )
        return {
            "roster": list(self.names),
            "partners": list(self.partners),
            "episodes": self.returns.shape[3],
            "mean": plain(self.table),
            "by_seat": plain(self.by_seat),
            "with_others": plain(self.with_others),
        }


def crossplay(
    env: Environment[Any, Any] | str,
    roster: Sequence[str | Chair],
    *,
    episodes: int = 30,
    seed: int = 0,
    on_progress: OnProgress = silent,
) -> PartnerReturns:
    """Plays every pair of the roster, so many episodes in each seat, in one batch."""
    env = catalogue.environment(env)
    if len(roster) < 2:
        raise BadArgument(f"a roster has at least two players; given {len(roster)}")
    return play_beside(env, roster, roster, episodes=episodes, seed=seed, on_progress=on_progress)


def play_beside(
    env: Environment[Any, Any],
    focal: Sequence[str | Chair],
    partners: Sequence[str | Chair],
    *,
    episodes: int = 30,
    seed: int = 0,
    on_progress: OnProgress = silent,
) -> PartnerReturns:
    """Plays everybody beside every partner, so many episodes in each seat, in one batch."""
    pairing = Pairing(env, focal, partners, episodes, seed)
    return pairing.table(pairing.earned(pairing.lanes, on_progress))


class Pairing:
    """All episodes of everybody beside every partner, in all seats: a lane of a batch for each."""

    def __init__(
        self,
        env: Environment[Any, Any],
        focal: Sequence[str | Chair],
        partners: Sequence[str | Chair],
        episodes: int,
        seed: int,
    ) -> None:
        if env.players < 2:
            raise BadArgument(f"{env.id} has one player; partners need at least two")
        self.env, self.seed, self.everybody = env, seed, list(focal)
        self._places = [_place(self.everybody, partner) for partner in partners]
        self._focal = [_place(self.everybody, one) for one in focal]
        self.shape = (len(focal), len(partners), env.players, episodes)
        who, beside, self._seat, _ = (axis.ravel() for axis in np.indices(self.shape))
        own = np.arange(env.players)[None] == self._seat[:, None]
        self._seating = np.where(own, who[:, None], np.array(self._places)[beside][:, None])

    @property
    def lanes(self) -> range:
        """All of them: by focal player, partner, seat and episode."""
        return range(len(self._seat))

    def earned(self, lanes: range, on_progress: OnProgress = silent) -> Float[np.ndarray, " lanes"]:
        """What the focal player earned in each of these lanes."""
        seat, seating = self._seat[lanes], self._seating[lanes]
        origins = [(self.seed, lane) for lane in lanes]
        batch = Batch(self.env, self.everybody, seating, origins=origins)
        reward = batch.sums(on_progress=on_progress).reward
        return np.asarray(reward)[np.arange(len(seat)), seat]

    def table(self, earned: Float[np.ndarray, " lanes"]) -> PartnerReturns:
        """What was earned in all lanes, by players and partners."""
        same = np.array(self._focal)[:, None] == np.array(self._places)[None]
        chairs = [roster.chair(one) if isinstance(one, str) else one for one in self.everybody]
        names = names_of(chairs)
        return PartnerReturns(
            names[: len(self._focal)],
            tuple(names[place] for place in self._places),
            earned.reshape(self.shape),
            same,
        )


def _place(everybody: list[str | Chair], chair: str | Chair) -> int:
    """The number of a player among others, to whom it is added if it is new."""
    for number, known in enumerate(everybody):
        if known is chair or (isinstance(known, str) and known == chair):
            return number
    everybody.append(chair)
    return len(everybody) - 1


def draw(found: PartnerReturns, path: Path, *, title: str, footnote: str = "") -> None:
    """A heatmap: rows are focal players, columns their partners."""
    from sociarium.evaluation import plots

    rows, cols = len(found.names), len(found.partners)
    means = np.array([[cell.mean for cell in row] for row in found.table])
    figure = plots.new_figure(3.4 + 0.95 * cols, 2.2 + 0.62 * rows)
    axes = figure.add_axes((0.30, 0.14, 0.66, 0.62))
    shown = axes.imshow(means, cmap="cividis", aspect="auto")
    middle = (means.min() + means.max()) / 2
    for row, cells in enumerate(found.table):
        for col, cell in enumerate(cells):
            colour = plots.PAPER if cell.mean < middle else plots.INK
            half = f"{(cell.high - cell.low) / 2:.{cell.digits}f}"
            text = f"{cell.mean:.{cell.digits}f}\n± {half}"
            axes.text(col, row, text, ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(cols), _short(found.partners), rotation=30, ha="left", fontsize=8)
    axes.set_yticks(range(rows), _short(found.names), fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    figure.colorbar(shown, ax=axes, fraction=0.04, pad=0.02).ax.tick_params(labelsize=7)
    figure.text(0.02, 0.95, title, fontsize=12, fontweight="bold", color=plots.INK)
    told = "what the player of a row earns beside the one of a column"
    figure.text(0.02, 0.905, told, fontsize=8.5, color=plots.INK)
    figure.text(0.02, 0.03, footnote, fontsize=7, color=plots.FAINT)
    plots.write(figure, path)


def _short(names: Sequence[str]) -> list[str]:
    return [name.removeprefix("script:") for name in names]


def _mean(values: Float[np.ndarray, "*axes"]) -> Estimate:
    return over_episodes(values.ravel())
