"""What one contract changes in a dilemma: all sign, cooperators sign, or players choose.

Scripted cooperators and defectors sign a contract or refuse it. In the condition in which players
choose, the profile of signatures is a pure Nash equilibrium: no kind of player would earn more by a
unilateral change, found by playing every such change. Of several equilibria the one with the most
signatures counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

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
from sociarium.evaluation.analyses.schelling import Diagram, diagram
from sociarium.evaluation.experiments.design import Condition, Design, LineUp
from sociarium.evaluation.experiments.table import Payoff, PayoffTable, mean_where
from sociarium.evaluation.figures import COOPERATING, DEFECTING, INK, plain_axes
from sociarium.players import roster
from sociarium.players.roster import Seat

CHARTER = "contract?rounds=1"
SIGNS, REFUSES = "signer", "loner"
CLEAR = 2  # standard errors of a difference that counts
Profile = tuple[bool, bool]  # whether cooperators sign, and defectors
CONDITIONS: dict[str, Profile | None] = {
    "no charter": (False, False),
    "all in one contract": (True, True),
    "only cooperators sign": (True, False),
    "players choose": None,
}
Signing = tuple[int, int, int]  # cooperators, and the signatories of each kind


@dataclass(frozen=True)
class ContractCondition:
    """What cooperating and defecting pay in one condition, and the kinds that sign.

    `profiles` are by the number of cooperators, from none to all.
    """

    name: str
    raw: Diagram
    shared: Diagram
    profiles: tuple[Profile, ...]

    def as_dict(self) -> dict[str, Any]:
        """The condition as plain numbers."""
        signed = [dict(zip(("cooperators", "defectors"), p, strict=True)) for p in self.profiles]
        parts = {"raw": self.raw.as_dict(), "shared": self.shared.as_dict()}
        return {"arm": self.name, "signed": signed, **parts}


@dataclass(frozen=True, repr=False)
class ContractStudy(Result):
    """The conditions of a contract in one world."""

    world: str
    episodes: int
    conditions: tuple[ContractCondition, ...]
    title: str = ""

    def layout(self) -> Layout:
        """A panel for each condition."""
        return Layout(
            title=self.title,
            caption="Full lines: payoff after sharing. Dashed: what the world paid.",
            footnote="Scripted cooperators and defectors, one round of joining, "
            f"{self.episodes} episodes a line-up, 95% bootstrap intervals.",
            panels=tuple(one.name for one in self.conditions),
            panel_size=(2.9, 2.9),
        )

    def rows(self) -> list[Row]:
        """Payoffs after sharing and signatories, by condition and number of cooperators."""
        found = []
        for one in self.conditions:
            last = one.shared.players
            for count, signs in enumerate(one.profiles):
                kinds = zip(("cooperators", "defectors"), (count, last - count), signs, strict=True)
                signing = [kind for kind, many, sign in kinds if sign and many]
                found.append(
                    {
                        "condition": one.name,
                        "cooperators": count,
                        "payoff of a cooperator": one.shared.r_c[count - 1] if count else None,
                        "payoff of a defector": one.shared.r_d[count] if count < last else None,
                        "signatories": " and ".join(signing) or "none",
                    }
                )
        return found

    def as_dict(self) -> dict[str, Any]:
        """The conditions as plain numbers."""
        return {"world": self.world, "arms": [one.as_dict() for one in self.conditions]}

    def draw(self, ax: Any, panel: str = "") -> None:
        """Payoffs after sharing in full lines, those of the world dashed."""
        number = self.layout().panels.index(panel)
        one = self.conditions[number]
        others = np.arange(one.raw.players)
        for curve, name, colour in (
            ("r_d", "defecting", DEFECTING),
            ("r_c", "cooperating", COOPERATING),
        ):
            raw, shared = (getattr(d, curve) for d in (one.raw, one.shared))
            ax.plot(others, [p.mean for p in raw], "--", color=colour, linewidth=1.1, alpha=0.8)
            means = [p.mean for p in shared]
            ax.plot(others, means, "o-", color=colour, linewidth=1.8, ms=3.5, label=name)
            bounds = [[p.low for p in shared], [p.high for p in shared]]
            ax.fill_between(others, *bounds, color=colour, alpha=0.15, linewidth=0)
        ax.set_xlabel("cooperating co-players", fontsize=8, color=INK)
        ax.set_xticks(others)
        plain_axes(ax, 8)
        if number == 0:
            ax.set_ylabel("return of one player", fontsize=9, color=INK)
            ax.legend(frameon=False, fontsize=8)


@dataclass(frozen=True)
class ContractAnalysis(Analysis):
    """What a contract changes in a dilemma: no player signs, all do, cooperators do, or may.

    Scripted cooperators and defectors sign or refuse. No training.
    """

    episodes: int = 20
    """Episodes of each line-up; at least 2."""

    summary: ClassVar[str] = "what one contract changes in a dilemma"

    def designs(self) -> dict[str, Design]:
        """All mixtures under all profiles of signatures, and every unilateral change."""
        if self.episodes < 2:
            raise BadArgument(f"episodes is 2 or more; given {self.episodes}")
        if not isinstance(self.world, str):
            raise BadArgument("give the world by name, so that it can be put under a contract")
        world = catalogue.full_name(self.world)
        players = catalogue.make(world, charter=CHARTER).players
        lineups = [_lineup(players, signing) for signing in signings(players)]
        return {"signatures": self.design([Condition(world, CHARTER)], lineups)}

    def analyse(self, tables: dict[str, PayoffTable]) -> ContractStudy:
        """The four conditions."""
        world = str(self.world)
        title = f"What a contract changes in {catalogue.make(world).sheet.title}"
        return contract(tables["signatures"], catalogue.full_name(world), title)


def contract(table: PayoffTable, world: str = "", title: str = "") -> ContractStudy:
    """The conditions of a table that has a line-up for each of `signings`, in this order."""
    players = table.players
    places = {signing: place for place, signing in enumerate(signings(players))}
    found = []
    for name, profile in CONDITIONS.items():
        chosen = tuple(
            profile if profile is not None else _equilibrium(table, places, count)
            for count in range(players + 1)
        )
        at = [places[c, *_signatories(chosen[c], c, players - c)] for c in range(players + 1)]
        raw, shared = _diagram(table, at, "raw"), _diagram(table, at, "reward")
        found.append(ContractCondition(name, raw, shared, chosen))
    return ContractStudy(world, table.episodes, tuple(found), title)


def signings(players: int) -> list[Signing]:
    """Signatories in every profile and after every unilateral deviation, by cooperators."""
    return [
        (count, *signing)
        for count in range(players + 1)
        for signing in sorted(_deviations(count, players - count))
    ]


def _deviations(cooperators: int, defectors: int) -> set[tuple[int, int]]:
    found = set()
    for c, d in product({0, cooperators}, {0, defectors}):
        found.add((c, d))
        if cooperators:
            found.add((c - 1 if c else 1, d))
        if defectors:
            found.add((c, d - 1 if d else 1))
    return found


def _seat(script: str, signs: bool) -> Seat:
    return roster.chair(f"{script}?social={SIGNS if signs else REFUSES}")


def _lineup(players: int, signing: Signing) -> LineUp:
    cooperators, signing_c, signing_d = signing
    return LineUp(
        (_seat(COOPERATOR, True),) * signing_c
        + (_seat(COOPERATOR, False),) * (cooperators - signing_c)
        + (_seat(DEFECTOR, True),) * signing_d
        + (_seat(DEFECTOR, False),) * (players - cooperators - signing_d)
    )


def _signatories(profile: Profile, cooperators: int, defectors: int) -> tuple[int, int]:
    return cooperators * profile[0], defectors * profile[1]


def _gains(table: PayoffTable, script: str, signs: bool, now: int, then: int) -> bool:
    """Whether a player of a kind earns more after changing its mind, by two standard errors."""
    stays, leaves = (
        table.mean_of(str(_seat(script, signing)))[0, at]
        for signing, at in ((signs, now), (not signs, then))
    )
    errors = np.hypot(*(x.std(ddof=1) / np.sqrt(len(x)) for x in (stays, leaves)))
    return bool(leaves.mean() - stays.mean() > CLEAR * errors + 1e-6)


def _equilibrium(table: PayoffTable, places: dict[Signing, int], cooperators: int) -> Profile:
    """The pure Nash profile with the most signatures."""
    counts = cooperators, table.players - cooperators
    for profile in ((True, True), (True, False), (False, True), (False, False)):
        signing = _signatories(profile, *counts)
        now = places[cooperators, *signing]
        tempted = []
        for kind, script in enumerate((COOPERATOR, DEFECTOR)):
            if counts[kind]:
                change = -1 if profile[kind] else 1
                changed = (signing[0] + change * (kind == 0), signing[1] + change * (kind == 1))
                then = places[cooperators, *changed]
                tempted.append(_gains(table, script, profile[kind], now, then))
        if not any(tempted):
            return profile
    return (False, False)


def _diagram(table: PayoffTable, at: Sequence[int], payoff: Payoff) -> Diagram:
    """The diagram of these line-ups, one for each number of cooperators."""
    means = []
    for script in (COOPERATOR, DEFECTOR):
        names = [str(_seat(script, signs)) for signs in (True, False)]
        seats = np.any([table.is_kind(name)[at] for name in names if name in table.kinds], axis=0)
        means.append(np.nan_to_num(mean_where(seats, getattr(table, payoff)[0, at])))
    return diagram(*(mean[:, None] for mean in means))
