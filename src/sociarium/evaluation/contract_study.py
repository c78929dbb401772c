"""One contract, four arms: what signing changes, before and after points are shared.

Nobody signs; all sign; only cooperators sign; players choose. Who may choose ends up where nobody
of either kind would earn more by changing its mind alone, found by playing every such change; of
several such outcomes the one with most signatures counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from sociarium import catalogue
from sociarium.evaluation.mixtures import LineUp, Played, play
from sociarium.evaluation.plots import (
    COOPERATING,
    DEFECTING,
    FAINT,
    INK,
    new_figure,
    plain_axes,
    write,
)
from sociarium.evaluation.schelling import COOPERATOR, DEFECTOR, Diagram, diagram
from sociarium.players import roster
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent

CHARTER = "contract?rounds=1"
SIGNS, REFUSES = "signer", "loner"
CLEAR = 2  # standard errors that a gain must exceed
Profile = tuple[bool, bool]  # whether cooperators sign, and defectors
ARMS: dict[str, Profile | None] = {
    "no charter": (False, False),
    "all in one contract": (True, True),
    "only cooperators sign": (True, False),
    "players choose": None,
}


@dataclass(frozen=True)
class Arm:
    """What cooperating and defecting pay in one arm, and who signed beside how many cooperators."""

    name: str
    raw: Diagram
    shared: Diagram
    profiles: tuple[Profile, ...]  # by the number of cooperators, from none to all

    def as_dict(self) -> dict[str, Any]:
        """The arm as plain numbers."""
        signed = [dict(zip(("cooperators", "defectors"), p, strict=True)) for p in self.profiles]
        parts = {"raw": self.raw.as_dict(), "shared": self.shared.as_dict()}
        return {"arm": self.name, "signed": signed, **parts}


def arms(
    world: str,
    *,
    episodes: int = 20,
    seed: int = 0,
    on_progress: OnProgress = silent,
) -> list[Arm]:
    """Plays every mixture of cooperators and defectors, signing or not, and each change of mind."""
    env = catalogue.make(world, charter=CHARTER)
    players, lineups = env.players, list[LineUp]()
    places: dict[tuple[int, int, int], int] = {}  # cooperators, and those of each kind who sign
    for count in range(players + 1):
        for signing in sorted(_wanted(count, players - count)):
            places[count, *signing] = len(lineups)
            lineups.append(_lineup(count, players - count, *signing))
    played = play(env, lineups, episodes=episodes, seed=seed, on_progress=on_progress)
    found = []
    for name, profile in ARMS.items():
        chosen = tuple(
            profile if profile is not None else _settled(played, places, count, players)
            for count in range(players + 1)
        )
        at = [places[c, *_signing(chosen[c], c, players - c)] for c in range(players + 1)]
        raw, shared = _diagram(played, at, False), _diagram(played, at, True)
        found.append(Arm(name, raw, shared, chosen))
    return found


def _seat(script: str, signs: bool) -> Seat:
    return roster.parse(f"{script}?social={SIGNS if signs else REFUSES}")[0]


def _lineup(cooperators: int, defectors: int, signing_c: int, signing_d: int) -> LineUp:
    return (
        (_seat(COOPERATOR, True),) * signing_c
        + (_seat(COOPERATOR, False),) * (cooperators - signing_c)
        + (_seat(DEFECTOR, True),) * signing_d
        + (_seat(DEFECTOR, False),) * (defectors - signing_d)
    )


def _signing(profile: Profile, cooperators: int, defectors: int) -> tuple[int, int]:
    return cooperators * profile[0], defectors * profile[1]


def _wanted(cooperators: int, defectors: int) -> set[tuple[int, int]]:
    """How many of each kind sign in every profile, and after every single change of mind."""
    wanted = set()
    for c, d in product({0, cooperators}, {0, defectors}):
        wanted.add((c, d))
        if cooperators:
            wanted.add((c - 1 if c else 1, d))
        if defectors:
            wanted.add((c, d - 1 if d else 1))
    return wanted


def _gains(played: Played, script: str, signs: bool, now: int, then: int) -> bool:
    """Whether a player of a kind is left with clearly more after changing its mind."""
    stays, leaves = (
        played.mean_of(_seat(script, signing), after_charter=True)[at]
        for signing, at in ((signs, now), (not signs, then))
    )
    errors = np.hypot(*(x.std(ddof=1) / np.sqrt(len(x)) for x in (stays, leaves)))
    return bool(leaves.mean() - stays.mean() > CLEAR * errors + 1e-6)


def _settled(
    played: Played, places: dict[tuple[int, int, int], int], cooperators: int, players: int
) -> Profile:
    """The profile with most signatures that nobody would leave alone."""
    counts = cooperators, players - cooperators
    for profile in ((True, True), (True, False), (False, True), (False, False)):
        signing = _signing(profile, *counts)
        now = places[cooperators, *signing]
        tempted = []
        for kind, script in enumerate((COOPERATOR, DEFECTOR)):
            if counts[kind]:
                change = -1 if profile[kind] else 1
                changed = (signing[0] + change * (kind == 0), signing[1] + change * (kind == 1))
                then = places[cooperators, *changed]
                tempted.append(_gains(played, script, profile[kind], now, then))
        if not any(tempted):
            return profile
    return (False, False)


def _diagram(played: Played, at: Sequence[int], after: bool) -> Diagram:
    """The diagram of these line-ups, one for each number of cooperators."""
    got = played.reward_returns if after else played.raw_returns
    means = []
    for script in (COOPERATOR, DEFECTOR):
        same = (
            isinstance(kind, Seat) and kind.ref == script.split(":")[1] for kind in played.kinds
        )
        kinds = [number for number, is_same in enumerate(same) if is_same]
        theirs = np.isin(played.seating[at], kinds)
        total = np.where(theirs, got[at], 0.0).sum(2)
        means.append(total / np.maximum(theirs.sum(2), 1))
    return diagram(*(mean[:, None] for mean in means))


def save(found: Sequence[Arm], path: Path, title: str, footnote: str = "") -> None:
    """Writes the four arms side by side: what is shared in full lines, what is earned dashed."""
    from matplotlib.lines import Line2D

    figure = new_figure(11.5, 3.7)
    grid = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    figure.subplots_adjust(left=0.065, right=0.99, top=0.72, bottom=0.19, wspace=0.09)
    for axes, arm in zip(grid, found, strict=True):
        others = np.arange(arm.raw.players)
        for curve, colour in (("r_d", DEFECTING), ("r_c", COOPERATING)):
            raw, shared = (getattr(d, curve) for d in (arm.raw, arm.shared))
            axes.plot(others, [p.mean for p in raw], "--", color=colour, linewidth=1.1, alpha=0.8)
            axes.plot(others, [p.mean for p in shared], "o-", color=colour, linewidth=1.8, ms=3.5)
            bounds = [[p.low for p in shared], [p.high for p in shared]]
            axes.fill_between(others, *bounds, color=colour, alpha=0.15, linewidth=0)
        axes.set_title(arm.name, fontsize=10, color=INK, loc="left")
        axes.set_xlabel("cooperating co-players", fontsize=8, color=INK)
        axes.set_xticks(others)
        plain_axes(axes, 8)
    grid[0].set_ylabel("return of one player", fontsize=9, color=INK)
    keys = {
        "cooperating": Line2D([], [], color=COOPERATING, linewidth=1.8),
        "defecting": Line2D([], [], color=DEFECTING, linewidth=1.8),
        "after sharing": Line2D([], [], color=INK, linewidth=1.8, marker="o", ms=3.5),
        "earned in the world": Line2D([], [], color=INK, linewidth=1.1, linestyle="--"),
    }
    figure.text(0.012, 0.925, title, fontsize=13, fontweight="bold", color=INK)
    figure.legend(
        list(keys.values()),
        list(keys),
        loc="center left",
        bbox_to_anchor=(0.008, 0.855),
        ncols=4,
        frameon=False,
        fontsize=8.5,
    )
    figure.text(0.012, 0.025, footnote, fontsize=7, color=FAINT)
    write(figure, path)
