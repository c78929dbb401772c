"""The atlas of institutions: what a charter is worth in a dilemma, from scripts, without training.

Every mixture of cooperators and defectors is played. The best of them is the one in which all
together earn most, as the world pays. The self-interest level (after Willis and Luck, 2023) asks
how selfish players may be for it to last: a cooperator in it who gives weight s to its own reward
and 1 - s to the mean of the others' does not gain by defecting. It is the largest such s, from 0
(not even altruists would go on) to 1 (nobody is tempted).
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.evaluation.mixtures import Played, mixtures, play
from sociarium.evaluation.plots import FAINT, INK, PAPER, new_figure, write
from sociarium.evaluation.schelling import COOPERATOR, DEFECTOR
from sociarium.metrics.bootstrap import Estimate, estimate, over_episodes, resampled
from sociarium.metrics.welfare import gini
from sociarium.players import roster
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent


@dataclass(frozen=True)
class Institution:
    """A charter, and how cooperators and defectors behave under it."""

    name: str
    charter: str
    cooperators: str = "loner"
    defectors: str = "loner"


Numbers = float | np.floating | Float[np.ndarray, "*draws"]

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
class InstitutionWorth:
    """What one institution does in one dilemma."""

    world: str
    institution: str
    cooperators: int  # in the best mixture
    welfare: Estimate  # raw points of all, in the best mixture
    welfare_defecting: Estimate  # and if all defect
    equality: Estimate  # of rewards, in the best mixture
    self_interest: Estimate  # the largest level at which it lasts

    def as_dict(self) -> dict[str, Any]:
        """The entry as plain numbers."""
        ranged = ("welfare", "welfare_defecting", "equality", "self_interest")
        return {
            "world": self.world,
            "institution": self.institution,
            "cooperators": self.cooperators,
            **{name: getattr(self, name).as_dict() for name in ranged},
        }


def surveyed(
    world: str,
    institution: Institution,
    *,
    episodes: int = 20,
    seed: int = 0,
    on_progress: OnProgress = silent,
) -> InstitutionWorth:
    """Plays every mixture under the institution."""
    env = catalogue.make(world, charter=institution.charter)
    cooperator, defector = (
        roster.parse(f"{script}?social={social_policy}")[0]
        for script, social_policy in (
            (COOPERATOR, institution.cooperators),
            (DEFECTOR, institution.defectors),
        )
    )
    mixed = mixtures(cooperator, defector, env.players)
    played = play(env, mixed, episodes=episodes, seed=seed, on_progress=on_progress)
    best = 1 + int(np.argmax(played.welfare.mean(1)[1:]))
    return InstitutionWorth(
        world,
        institution.name,
        best,
        *(over_episodes(played.welfare[at]) for at in (best, 0)),
        equality=over_episodes(1 - gini(played.reward_returns[best])),
        self_interest=_level(played, cooperator, defector, best),
    )


def _level(played: Played, cooperator: Seat, defector: Seat, best: int) -> Estimate:
    """The self-interest level of the best mixture, and its bootstrap interval over episodes."""
    total = played.reward_returns.sum(2)
    own = (
        played.mean_of(cooperator, after_charter=True)[best],
        played.mean_of(defector, after_charter=True)[best - 1],
    )
    others = [
        (total[at] - mine) / (played.reward_returns.shape[2] - 1)
        for at, mine in zip((best, best - 1), own, strict=True)
    ]
    values = np.stack([np.stack([o, e]) for o, e in zip(own, others, strict=True)])
    draws, means = resampled(values), values.mean(2)
    level = self_interest(*(means[0] - means[1]))
    return estimate(float(level), self_interest(*(draws[:, 0] - draws[:, 1]).T))


def self_interest(gain: Numbers, good: Numbers) -> Float[np.ndarray, "*draws"]:
    """The largest weight on one's own reward at which cooperating is worth it.

    `gain` is what it brings oneself more than defecting would, `good` what it brings each other.
    """
    gain, good = np.asarray(gain, np.float64), np.asarray(good, np.float64)
    level = np.divide(good, good - gain, out=np.zeros_like(gain), where=(gain < 0) & (good > 0))
    return np.where(gain >= 0, 1.0, level)


def save(entries: Sequence[InstitutionWorth], path: Path, footnote: str = "") -> None:
    """Writes the heat map of self-interest levels, one row for each dilemma."""
    worlds = list(dict.fromkeys(entry.world for entry in entries))
    names = list(dict.fromkeys(entry.institution for entry in entries))
    levels = np.full((len(worlds), len(names)), np.nan)
    for entry in entries:
        levels[worlds.index(entry.world), names.index(entry.institution)] = entry.self_interest.mean
    figure = new_figure(1.9 + 0.85 * len(names), 1.5 + 0.42 * len(worlds))
    width, height = figure.get_size_inches()
    axes = figure.add_axes(
        (1.75 / width, 0.35 / height, 0.85 * len(names) / width, 0.42 * len(worlds) / height)
    )
    axes.imshow(levels, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for row, col in np.argwhere(np.isfinite(levels)):
        level = levels[row, col]
        colour = PAPER if level < 0.55 else INK
        axes.text(col, row, f"{level:.2f}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(len(names)), [textwrap.fill(name, 12) for name in names], fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks(
        range(len(worlds)), [catalogue.short_name(world) for world in worlds], fontsize=9
    )
    axes.tick_params(length=0, colors=INK)
    for side in axes.spines.values():
        side.set_visible(False)
    title = "How selfish players may be for cooperation to last"
    figure.text(0.02, 1 - 0.3 / height, title, fontsize=13, fontweight="bold", color=INK)
    figure.text(0.02, 0.1 / height, footnote, fontsize=7, color=FAINT)
    write(figure, path)
