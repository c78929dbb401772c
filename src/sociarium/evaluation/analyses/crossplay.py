"""Cross-play: what each player of a roster earns beside each other.

In a world of two every pair plays in both orders. Among more players one is the focal player, in
each seat in turn, and all others are partners of one kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float

from sociarium.arena.seating import Chair, chairs_of
from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses.analysis import Layout, Result, Row, SizedAnalysis
from sociarium.evaluation.experiments.design import Condition, Design, pairings
from sociarium.evaluation.experiments.table import PayoffTable
from sociarium.evaluation.figures import label_cells, no_frame
from sociarium.metrics.bootstrap import Estimate, over_episodes
from sociarium.players.scripted.known import scripts


@dataclass(frozen=True, repr=False)
class PartnerReturns(Result):
    """Payoffs of focal players: `returns[focal, partner, seat, episode]`."""

    names: tuple[str, ...]  # of focal players
    partners: tuple[str, ...]
    returns: Float[np.ndarray, "focal partners seats episodes"]
    same: Bool[np.ndarray, "focal partners"]  # whether the partner is the player itself
    title: str = ""

    def layout(self) -> Layout:
        """One panel, as large as the roster."""
        return Layout(
            title=self.title,
            caption="Mean return of the player of a row beside the one of a column.",
            footnote=f"{self.returns.shape[3]} episodes in each seat; ± half of the 95% interval.",
            panel_size=(2.6 + 0.95 * len(self.partners), 0.9 + 0.62 * len(self.names)),
        )

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
        """Means beside all partners but oneself; None where there are no others."""
        return [
            None if same.all() else _mean(rows[~same])
            for same, rows in zip(self.same, self.returns, strict=True)
        ]

    def rows(self) -> list[Row]:
        """One row for each focal player."""
        heads = [*_short(self.partners), "all others"]
        return [
            {"player": name, **dict(zip(heads, [*row, others], strict=True))}
            for name, row, others in zip(
                _short(self.names), self.table, self.with_others, strict=True
            )
        ]

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""

        def plain(tree: Any) -> Any:
            if isinstance(tree, list):
                return [plain(one) for one in tree]
            return tree and tree.as_dict()

        return {
            "roster": list(self.names),
            "partners": list(self.partners),
            "episodes": self.returns.shape[3],
            "mean": plain(self.table),
            "by_seat": plain(self.by_seat),
            "with_others": plain(self.with_others),
        }

    def draw(self, ax: Any, panel: str = "") -> None:
        """A heat map: rows are focal players, columns their partners."""
        means = np.array([[cell.mean for cell in row] for row in self.table])
        image = ax.imshow(means, cmap="cividis", aspect="auto")
        texts = [[_cell_text(cell) for cell in row] for row in self.table]
        label_cells(ax, texts, means < (means.min() + means.max()) / 2)
        ax.set_xticks(range(len(self.partners)), _short(self.partners), rotation=30, ha="left")
        ax.set_yticks(range(len(self.names)), _short(self.names))
        ax.xaxis.tick_top()
        no_frame(ax)
        ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02).ax.tick_params(labelsize=7)


@dataclass(frozen=True)
class Crossplay(SizedAnalysis):
    """Each player of a roster beside each other: who earns how much with which partner.

    A row is one player, a column its partners; every pair plays in every seat. Scripts and trained
    policies (policy:RUN) can be in one roster.
    """

    seats: str | Sequence[str | Chair] = ""
    """The roster; by default all scripts of the world."""
    partners: str | Sequence[str | Chair] = ""
    """Partners; by default the roster itself."""

    summary: ClassVar[str] = "the payoff of each player beside each other, as a heat map"

    def roster(self) -> tuple[tuple[Chair, ...], tuple[Chair, ...]]:
        """Focal players and partners."""
        known = [f"script:{name}" for name in scripts(self.environment())]
        focal = chairs_of(self.seats or known)
        partners = chairs_of(self.partners) if self.partners else focal
        if len({*map(id, focal), *map(id, partners)}) < 2 and not self.partners:
            raise BadArgument(f"a roster has at least two players; given {len(focal)}")
        return focal, partners

    def designs(self) -> dict[str, Design]:
        """Each player beside each partner, in each seat."""
        env, (focal, partners) = self.environment(), self.roster()
        if env.players < 2:
            raise BadArgument(f"{env.id} has one player; partners need at least two")
        lineups = pairings(focal, partners, env.players)
        return {"pairs": self.design([Condition(env)], lineups, seating="fixed")}

    def analyse(self, tables: dict[str, PayoffTable]) -> PartnerReturns:
        """Payoffs of focal players."""
        env, (focal, partners) = self.environment(), self.roster()
        title = f"{env.sheet.title} ({env.id or type(env).__name__})"
        return crossplay(tables["pairs"], len(focal), len(partners), title)


def crossplay(table: PayoffTable, focal: int, partners: int, title: str = "") -> PartnerReturns:
    """The payoffs of focal players in a table of `pairings`."""
    seats, shape = table.players, (focal, partners, table.players, table.episodes)
    own = table.reward[0].reshape(*shape, seats)
    kind = table.kind.reshape(*shape, seats)
    seat = np.arange(seats)[None, None, :, None, None]
    players = np.take_along_axis(kind, np.broadcast_to(seat, (*shape, 1)), 4)[:, 0, 0, 0, 0]
    # A partner sits in the last seat where the focal player has the first.
    beside = kind[0, :, 0, 0, -1]
    return PartnerReturns(
        tuple(table.kinds[number] for number in players),
        tuple(table.kinds[number] for number in beside),
        np.take_along_axis(own, np.broadcast_to(seat, (*shape, 1)), 4)[..., 0],
        players[:, None] == beside[None],
        title,
    )


def _cell_text(cell: Estimate) -> str:
    half = f"{(cell.high - cell.low) / 2:.{cell.digits}f}"
    return f"{cell.mean:.{cell.digits}f}\n± {half}" if cell.bounded else str(cell)


def _short(names: Sequence[str]) -> list[str]:
    return [name.removeprefix("script:") for name in names]


def _mean(values: Float[np.ndarray, "*axes"]) -> Estimate:
    return over_episodes(values.ravel())
