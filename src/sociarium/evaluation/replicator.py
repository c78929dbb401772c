"""Replicator dynamics: which kinds of player spread in a population that lives by what they earn.

Groups are drawn by lot out of a large population. Every composition of a group is played; what a
kind earns at some shares of the kinds is its mean over the groups it can find itself in. Shares
then grow in proportion to what a kind earns above the mean (Taylor and Jonker, 1978). Players do
not change while they play; only how many there are of each kind does.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from sociarium import catalogue
from sociarium.arena.batch import MOST_LANES, Batch, stacked
from sociarium.arena.seating import shuffled
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.mixtures import mean_where
from sociarium.evaluation.plots import COLOURS, FAINT, INK, new_figure, plain_axes, wrapped, write
from sociarium.metrics.bootstrap import Estimate, estimate
from sociarium.players import roster
from sociarium.views.progress import OnProgress, watched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESAMPLES = 200
GENERATIONS = 1000
SHOWN = 20  # generations between two that are drawn
PACE = 0.3  # of the logarithm of a share in a generation, for who earns the whole span more
STARTS, GONE = 10, 0.01  # parts of a whole in which shares begin, and below which a kind is gone
TINY = 1e-12


@dataclass(frozen=True)
class Payoffs:
    """What a player of each kind earns in each composition of a group; NaN where there is none.

    `earned` has an axis for the values of the number that was varied.
    """

    society: str
    kinds: tuple[str, ...]
    varied: str
    values: tuple[float, ...]
    groups: Int[np.ndarray, "groups kinds"]
    earned: Float[np.ndarray, "values groups kinds episodes"]
    welfare: Float[np.ndarray, "values groups episodes"]
    seed: int = 0

    @property
    def players(self) -> int:
        """How many there are in a group."""
        return int(self.groups[0].sum())

    def fitness(
        self,
        means: Float[np.ndarray, "*draws groups kinds"],
        shares: Float[np.ndarray, "*starts kinds"],
    ) -> Float[np.ndarray, "*starts kinds"]:
        """What each kind earns in a random group, beside others drawn by these shares."""
        logs = np.log(np.maximum(shares, TINY))
        chance = self._ways * np.exp(logs @ self._others)
        chance = chance.reshape(*chance.shape[:-1], len(self.kinds), len(self.groups))
        return (chance.swapaxes(-1, -2) * np.nan_to_num(means)).sum(-2)

    @cached_property
    def _others(self) -> Int[np.ndarray, "kinds others"]:
        """How many there are of each kind beside one of a kind, for each kind and group."""
        beside = self.groups[None] - np.eye(len(self.kinds), dtype=int)[:, None]
        return beside.reshape(-1, len(self.kinds)).T

    @cached_property
    def _ways(self) -> Float[np.ndarray, " others"]:
        """In how many orders each of these can be drawn; in none where there is no such kind."""
        return np.array([_orders(row) for row in self._others.T])

    def grown(
        self,
        value: int,
        start: Float[np.ndarray, "*starts kinds"],
        resamples: int = 0,
    ) -> Float[np.ndarray, "generations *draws kinds"]:
        """The shares over generations from one start or several, by mean payoffs or resampled ones.

        A generation is no time of anything: its pace is set by the span of mean payoffs.
        """
        means = self.earned[value].mean(-1)
        pace = PACE / max(np.nanmax(means) - np.nanmin(means), TINY)
        if resamples:
            means = self._resampled(value, resamples)
            means = means.reshape(resamples, *[1] * (start.ndim - 1), *means.shape[1:])
            start = np.broadcast_to(start, (resamples, *start.shape))
        shares, path = start.astype(float), [start]
        for _ in range(GENERATIONS):
            earned = self.fitness(means, shares)
            above = earned - (shares * earned).sum(-1, keepdims=True)
            shares = shares * np.exp(pace * above)
            shares = shares / shares.sum(-1, keepdims=True)
            path.append(shares)
        return np.array(path)

    def _resampled(self, value: int, times: int) -> Float[np.ndarray, "draws groups kinds"]:
        """Means over resampled episodes, those of a group together."""
        lot, (groups, _, episodes) = np.random.default_rng(0), self.earned[value].shape
        which = lot.integers(episodes, size=(times, groups, 1, episodes))
        every = np.broadcast_to(self.earned[value], (times, *self.earned[value].shape))
        return np.take_along_axis(every, which, -1).mean(-1)

    def end(self, value: int) -> tuple[Estimate, ...]:
        """The shares at the end from equal ones, with intervals over resampled episodes."""
        mean = self.grown(value, self.equal_shares)[-1]
        ends = self.grown(value, self.equal_shares, RESAMPLES)[-1]
        return tuple(estimate(m, draws) for m, draws in zip(mean, ends.T, strict=True))

    def vanishing(self, value: int) -> tuple[Estimate, ...]:
        """From what share of all starts each kind vanishes, with intervals over episodes.

        Starts are tenths in which every kind has at least one.
        """
        tenths = compositions(STARTS, len(self.kinds))
        starts = tenths[(tenths > 0).all(1)] / STARTS
        gone = (self.grown(value, starts)[-1] < GONE).mean(0)
        draws = (self.grown(value, starts, RESAMPLES)[-1] < GONE).mean(1)
        return tuple(estimate(g, of_kind) for g, of_kind in zip(gone, draws.T, strict=True))

    @cached_property
    def ends(self) -> tuple[tuple[Estimate, ...], ...]:
        """The shares at the end under each value."""
        return tuple(self.end(value) for value in range(len(self.values)))

    @cached_property
    def vanish(self) -> tuple[tuple[Estimate, ...], ...]:
        """From what share of all starts each kind vanishes, under each value."""
        return tuple(self.vanishing(value) for value in range(len(self.values)))

    @property
    def equal_shares(self) -> Float[np.ndarray, " kinds"]:
        """As much of each kind."""
        return np.full(len(self.kinds), 1 / len(self.kinds))

    def without(self, kind: str) -> "Payoffs":
        """The game of all other kinds, under the first value: for one that matters to nobody else.

        Under all others the same episodes would be played.
        """
        number = self.kinds.index(kind)
        groups = self.groups[:, number] == 0
        others = [k for k in range(len(self.kinds)) if k != number]
        return Payoffs(
            society=self.society,
            kinds=tuple(self.kinds[k] for k in others),
            varied="",
            values=(0.0,),
            groups=self.groups[groups][:, others],
            earned=self.earned[:1, groups][:, :, others],
            welfare=self.welfare[:1, groups],
            seed=self.seed,
        )

    def as_dict(self) -> dict[str, Any]:
        """Means and what follows from them as plain numbers."""
        return {
            "society": self.society,
            "kinds": self.kinds,
            "varied": self.varied,
            "values": self.values,
            "players": self.players,
            "seed": self.seed,
            "episodes": self.earned.shape[-1],
            "groups": self.groups.tolist(),
            "earned": _listed(self.earned),
            "welfare": _listed(self.welfare),
            "ends": [_named(self.kinds, shares) for shares in self.ends],
            "vanish": [_named(self.kinds, shares) for shares in self.vanish],
        }

    @classmethod
    def stored(cls, data: Mapping[str, Any]) -> "Payoffs":
        """The payoffs that were stored as plain numbers."""
        names = ("society", "varied", "seed")
        return cls(
            **{name: data[name] for name in names},
            kinds=tuple(data["kinds"]),
            values=tuple(data["values"]),
            groups=np.array(data["groups"]),
            earned=np.array(data["earned"], float),
            welfare=np.array(data["welfare"], float),
        )


def _named(kinds: Sequence[str], shares: Sequence[Estimate]) -> dict[str, dict[str, float]]:
    return {kind: share.as_dict() for kind, share in zip(kinds, shares, strict=True)}


def compositions(players: int, kinds: int) -> Int[np.ndarray, "groups kinds"]:
    """Every way in which so many players can be of so many kinds."""
    cuts = itertools.combinations(range(players + kinds - 1), kinds - 1)
    rows = [np.diff([-1, *cut, players + kinds - 1]) - 1 for cut in cuts]
    return np.array(rows)


def payoffs(
    env: Environment[Any, Any] | str,
    kinds: Sequence[str],
    varied: str = "",
    values: Sequence[float] = (0.0,),
    *,
    episodes: int = 20,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Payoffs:
    """Plays every composition of a group, under each value of a number of the rules.

    >>> env = make("clean_up+sanction?ways=punish")
    >>> payoffs(env, ["script:cooperator", "script:punisher"], "sanction.ratio", [1, 3])
    """
    env = catalogue.environment(env)
    chairs = tuple(roster.chair(kind) for kind in kinds)
    if len(chairs) < 2 or len(set(chairs)) < len(chairs):
        raise BadArgument(f"give two or more kinds of player that differ; given {list(kinds)}")
    if episodes < 1 or not values:
        raise BadArgument(f"give at least one episode and one value; given {episodes}, {values}")
    many = math.comb(env.players + len(chairs) - 1, len(chairs) - 1)
    if many * episodes * len(values) > MOST_LANES:
        raise BadArgument(
            f"{many} groups x {len(values)} values x {episodes} episodes are more than "
            f"{MOST_LANES} lanes; take fewer players, kinds or episodes"
        )
    groups = compositions(env.players, len(chairs))
    rows = np.array([np.repeat(np.arange(len(chairs)), row) for row in groups])
    each = [env.params(**({varied: value} if varied else {})) for value in values]
    lanes = stacked(each, len(groups) * episodes)
    drawn = shuffled(np.repeat(rows, episodes, axis=0), seed)
    seating = np.tile(drawn, (len(values), 1))  # under each value the same starts and seats
    origins = [(seed, lane) for lane in range(len(drawn))] * len(values)
    with watched(on_progress, f"{env.id}, {len(groups)} groups") as told:
        batch = Batch(env, chairs, seating, origins=origins, params=lanes, own_params=True)
        sums = batch.sums((), told)
    shape = (len(values), len(groups), episodes, env.players)
    left, raw = (np.asarray(x, np.float64).reshape(shape) for x in (sums.reward, sums.raw))
    who = seating.reshape(shape)
    earned = [mean_where(who == kind, left) for kind in range(len(chairs))]
    return Payoffs(
        society=env.id,
        kinds=tuple(map(str, chairs)),
        varied=varied,
        values=tuple(map(float, values)),
        groups=groups,
        earned=np.stack(earned, 2),
        welfare=raw.sum(-1),
        seed=seed,
    )


def _orders(counts: Int[np.ndarray, " kinds"]) -> float:
    """In how many orders a group of so many of each kind can be drawn."""
    if (counts < 0).any():
        return 0.0
    return math.factorial(int(counts.sum())) / math.prod(math.factorial(int(c)) for c in counts)


def _listed(numbers: np.ndarray) -> Any:
    """As lists, with nothing where there is no number."""
    rounded = np.round(numbers, 3).astype(object)
    rounded[np.isnan(numbers)] = None
    return rounded.tolist()


def save(found: Payoffs, path: Path, footnote: str = "") -> None:
    """Writes the picture; the same payoffs give the same file."""
    write(draw(found, footnote), path)


def draw(found: Payoffs, footnote: str = "") -> "Figure":
    """The shares of all kinds over generations, from equal ones, with a panel for each value."""
    many = len(found.values)
    width = max(1.2 + 2.1 * many, 6.4)
    figure = new_figure(width, 4.1)
    panels = np.atleast_1d(figure.subplots(1, many, sharey=True))
    shown = slice(None, None, SHOWN)
    steps = np.arange(GENERATIONS + 1)[shown]
    for value, axes in enumerate(panels):
        path = found.grown(value, found.equal_shares)[shown]
        drawn = found.grown(value, found.equal_shares, RESAMPLES)[shown]
        low, high = np.percentile(drawn, (2.5, 97.5), axis=1)
        for kind, colour in zip(range(len(found.kinds)), itertools.cycle(COLOURS), strict=False):
            axes.fill_between(steps, low[:, kind], high[:, kind], color=colour, alpha=0.18, lw=0)
            axes.plot(steps, path[:, kind], color=colour, linewidth=2, label=found.kinds[kind])
        axes.set_ylim(0, 1)
        if found.varied:
            axes.set_title(f"{found.varied} {found.values[value]:g}", color=INK, fontsize=9)
        axes.set_xlabel("generations", color=INK, fontsize=9)
        plain_axes(axes, 8)
    panels[0].set_ylabel("share of the population", color=INK, fontsize=9)
    handles, names = panels[0].get_legend_handles_labels()
    place = {"loc": "upper left", "bbox_to_anchor": (0.012, 0.9)}
    figure.legend(handles, names, ncols=len(names), frameon=False, fontsize=8.5, **place)
    figure.subplots_adjust(left=0.7 / width, right=0.985, top=0.74, bottom=0.22)
    figure.text(0.02, 0.92, found.society, fontsize=11, fontweight="bold", color=INK)
    figure.text(0.02, 0.025, wrapped(footnote, width), fontsize=7.5, color=FAINT)
    return figure
