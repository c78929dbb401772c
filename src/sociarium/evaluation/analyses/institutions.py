"""Institutions: how selfish players may be for cooperation to be stable, without training.

Every mixture of cooperators and defectors is played under each institution. The best mixture has
the largest welfare. Its self-interest level (after Willis and Luck, 2023) is the largest weight s
such that a cooperator in it, who gives weight s to its own reward and 1 - s to the mean of the
others', does not gain by defecting: from 0 (not even altruists would cooperate) to 1 (no player is
tempted).
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses.analysis import (
    COOPERATOR,
    DEFECTOR,
    Analysis,
    Layout,
    Result,
    Row,
)
from sociarium.evaluation.experiments.design import Condition, Design, mixtures
from sociarium.evaluation.experiments.table import PayoffTable
from sociarium.evaluation.figures import label_cells, no_frame
from sociarium.metrics.bootstrap import Estimate, estimate, over_episodes, resampled
from sociarium.metrics.welfare import gini
from sociarium.players import roster
from sociarium.players.roster import Seat

Numbers = float | np.floating | Float[np.ndarray, "*draws"]


@dataclass(frozen=True)
class Institution:
    """A charter, and the social policies of cooperators and defectors under it."""

    name: str
    charter: str
    cooperators: str = "loner"
    defectors: str = "loner"

    def seats(self) -> tuple[Seat, Seat]:
        """A scripted cooperator and a scripted defector with their social policies."""
        pairs = ((COOPERATOR, self.cooperators), (DEFECTOR, self.defectors))
        one, other = (roster.chair(f"{script}?social={policy}") for script, policy in pairs)
        return one, other


INSTITUTIONS = (
    Institution("none", "none"),
    Institution("one contract for all", "contract?rounds=1", "signer", "signer"),
    Institution("only cooperators sign", "contract?rounds=1", "signer", "loner"),
    Institution("independent groups", "structure?kind=independent"),
    Institution("overlapping groups", "structure?kind=overlapping"),
    Institution("inequality", "structure?kind=inequality"),
    Institution("negotiated coalitions", "negotiation?steps=20", "negotiator", "negotiator"),
    Institution("open groups", "open", "joiner", "joiner"),
    Institution("hierarchy", "hierarchy", "voter", "voter"),
)


@dataclass(frozen=True)
class InstitutionResult:
    """What one institution does in one dilemma."""

    world: str
    institution: str
    cooperators: int  # in the best mixture
    welfare: Estimate  # raw points of all, in the best mixture
    welfare_defecting: Estimate  # and if all defect
    equality: Estimate  # of rewards, in the best mixture
    self_interest: Estimate  # the largest level at which it is stable

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        ranged = ("welfare", "welfare_defecting", "equality", "self_interest")
        return {
            "world": self.world,
            "institution": self.institution,
            "cooperators": self.cooperators,
            **{name: getattr(self, name).as_dict() for name in ranged},
        }


@dataclass(frozen=True, repr=False)
class InstitutionStudy(Result):
    """All institutions in one world or several."""

    entries: tuple[InstitutionResult, ...]
    episodes: int

    def layout(self) -> Layout:
        """One panel, as wide as there are institutions, as high as there are worlds."""
        return Layout(
            title="How selfish players may be for cooperation to be stable",
            footnote=f"Scripted cooperators and defectors, {self.episodes} episodes a mixture. The "
            "largest weight on one's own reward at which the best mixture is stable; 1: no player "
            "is tempted.",
            panel_size=(1.6 + 0.85 * len(self._names), 0.75 + 0.42 * len(self._worlds)),
        )

    @property
    def _worlds(self) -> list[str]:
        return list(dict.fromkeys(entry.world for entry in self.entries))

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(entry.institution for entry in self.entries))

    def joined(self, others: Sequence[Any]) -> "InstitutionStudy":
        """One study of several worlds."""
        entries = [entry for one in (self, *others) for entry in one.entries]
        return InstitutionStudy(tuple(entries), self.episodes)

    def rows(self) -> list[Row]:
        """One row for each institution in each world."""
        return [
            {
                "world": catalogue.short_name(entry.world),
                "institution": entry.institution,
                "cooperators": entry.cooperators,
                "welfare": entry.welfare,
                "if all defect": entry.welfare_defecting,
                "equality": entry.equality,
                "self-interest level": entry.self_interest,
            }
            for entry in self.entries
        ]

    def as_dict(self) -> dict[str, Any]:
        """The entries as plain numbers."""
        return {"entries": [entry.as_dict() for entry in self.entries]}

    def draw(self, ax: Any, panel: str = "") -> None:
        """The heat map of self-interest levels, one row for each dilemma."""
        worlds, names = self._worlds, self._names
        levels = np.full((len(worlds), len(names)), np.nan)
        for one in self.entries:
            at = worlds.index(one.world), names.index(one.institution)
            levels[at] = one.self_interest.mean
        ax.imshow(levels, cmap="cividis", vmin=0, vmax=1, aspect="auto")
        texts = [["" if np.isnan(x) else f"{x:.2f}" for x in row] for row in levels]
        label_cells(ax, texts, levels < 0.55)
        ax.set_xticks(range(len(names)), [textwrap.fill(name, 12) for name in names])
        ax.xaxis.tick_top()
        ax.set_yticks(range(len(worlds)), [catalogue.short_name(world) for world in worlds])
        no_frame(ax)


@dataclass(frozen=True)
class Institutions(Analysis):
    """How selfish players may be for cooperation to be stable under each of nine institutions.

    Scripted cooperators and defectors play every mixture. No training.
    """

    episodes: int = 20
    """Episodes of each mixture."""

    summary: ClassVar[str] = "self-interest levels under nine institutions"
    together: ClassVar[bool] = True

    def designs(self) -> dict[str, Design]:
        """All mixtures under each institution."""
        if not isinstance(self.world, str):
            raise BadArgument("give the world by name, so that it can be put under a charter")
        world = catalogue.full_name(self.world)
        players = catalogue.make(world, charter="none").players
        return {
            one.name: self.design([Condition(world, one.charter)], mixtures(*one.seats(), players))
            for one in INSTITUTIONS
        }

    def analyse(self, tables: dict[str, PayoffTable]) -> InstitutionStudy:
        """One entry for each institution."""
        world = catalogue.full_name(str(self.world))
        entries = [
            institution(tables[one.name], world, one.name, *map(str, one.seats()))
            for one in INSTITUTIONS
        ]
        return InstitutionStudy(tuple(entries), self.episodes)


def institution(
    table: PayoffTable, world: str, name: str, cooperator: str, defector: str
) -> InstitutionResult:
    """The entry of a table with all mixtures of a cooperator and a defector."""
    welfare = table.welfare[0]
    best = 1 + int(np.argmax(welfare.mean(1)[1:]))
    return InstitutionResult(
        world,
        name,
        best,
        *(over_episodes(welfare[at]) for at in (best, 0)),
        equality=over_episodes(1 - gini(table.reward[0, best])),
        self_interest=_level(table, (cooperator, defector), best),
    )


def _level(table: PayoffTable, kinds: Sequence[str], best: int) -> Estimate:
    """The self-interest level of the best mixture, and its bootstrap interval over episodes."""
    total, places = table.reward[0].sum(2), (best, best - 1)
    own = [table.mean_of(kind)[0, at] for kind, at in zip(kinds, places, strict=True)]
    others = [
        (total[at] - mine) / (table.players - 1) for at, mine in zip(places, own, strict=True)
    ]
    values = np.stack([np.stack([o, e]) for o, e in zip(own, others, strict=True)])
    draws, means = resampled(values), values.mean(2)
    level = self_interest(*(means[0] - means[1]))
    return estimate(float(level), self_interest(*(draws[:, 0] - draws[:, 1]).T))


def self_interest(gain: Numbers, good: Numbers) -> Float[np.ndarray, "*draws"]:
    """The largest weight on one's own reward at which cooperating is at least as good.

    `gain` is one's own reward for cooperating instead of defecting, `good` that of each other.
    """
    gain, good = np.asarray(gain, np.float64), np.asarray(good, np.float64)
    level = np.divide(good, good - gain, out=np.zeros_like(gain), where=(gain < 0) & (good > 0))
    return np.where(gain >= 0, 1.0, level)
