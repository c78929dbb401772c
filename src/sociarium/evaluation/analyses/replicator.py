"""Replicator dynamics: which kinds of player spread in a population that lives by its payoffs.

Groups are drawn uniformly at random out of a large population. Every composition of a group is
played; the fitness of a kind at some shares of the kinds is its mean payoff over the groups that it
can find itself in. Shares then grow in proportion to fitness above the mean (Taylor and Jonker,
1978). Players do not change while they play; only the number of each kind does.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from sociarium.arena.batch import MOST_LANES
from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses.analysis import Layout, Result, Row, SizedAnalysis
from sociarium.evaluation.experiments.design import Condition, Design, compositions, groups
from sociarium.evaluation.experiments.table import PayoffTable
from sociarium.evaluation.figures import COLOURS, INK, plain_axes
from sociarium.metrics.bootstrap import Estimate, estimate
from sociarium.metrics.empirical_games import replicate
from sociarium.players import roster

RESAMPLES = 100  # of episodes
SHOWN = 20  # steps between two points of a curve
STARTS, GONE = 10, 0.01  # shares at the start are tenths; below GONE a kind has vanished
TINY = 1e-12


@dataclass(frozen=True, repr=False)
class Replicator(Result):
    """The payoff of each kind in each composition of a group, and where shares go.

    `earned` has an axis for the values of the parameter that was varied; it is NaN where a kind is
    absent.
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
        """The number of players of a group."""
        return int(self.groups[0].sum())

    def fitness(self, means: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """The mean payoff of each kind in a random group, beside others drawn by these shares.

        `means` has the shape [*games, groups, kinds], `shares` and the result [*lanes, kinds]; this
        is the inner loop of the dynamics, so shapes are not checked.
        """
        logs = np.log(np.maximum(shares, TINY))
        chance = self._orders * np.exp(logs @ self._others)
        chance = chance.reshape(*chance.shape[:-1], len(self.kinds), len(self.groups))
        return (chance.swapaxes(-1, -2) * means).sum(-2)

    @cached_property
    def _others(self) -> Int[np.ndarray, "kinds others"]:
        """Counts of each kind beside one player of a kind, for each kind and group."""
        beside = self.groups[None] - np.eye(len(self.kinds), dtype=int)[:, None]
        return beside.reshape(-1, len(self.kinds)).T

    @cached_property
    def _orders(self) -> Float[np.ndarray, " others"]:
        """The number of orders in which these can be drawn; 0 where the kind is absent."""
        return np.array([_multinomial(row) for row in self._others.T])

    def path(
        self, value: int, starts: Float[np.ndarray, "starts kinds"], resamples: int = 0
    ) -> Float[np.ndarray, "moments *lanes kinds"]:
        """The shares over time from several starts, by mean payoffs or by resampled ones."""
        means = self.earned[value].mean(-1)
        span = float(np.nanmax(means) - np.nanmin(means))
        if not resamples:
            means = np.nan_to_num(means)
            return replicate(lambda lanes, now: self.fitness(means, now), starts, span, SHOWN)
        drawn = np.nan_to_num(self._resampled(value, resamples))
        lanes = np.tile(starts, (resamples, 1))
        of = np.repeat(np.arange(resamples), len(starts))
        found = replicate(lambda on, now: self.fitness(drawn[of[on]], now), lanes, span, SHOWN)
        return found.reshape(len(found), resamples, *starts.shape)

    def _resampled(self, value: int, times: int) -> Float[np.ndarray, "draws groups kinds"]:
        """Means over resampled episodes; the kinds of a group are drawn together."""
        rng, (count, _, episodes) = np.random.default_rng(0), self.earned[value].shape
        which = rng.integers(episodes, size=(times, count, 1, episodes))
        every = np.broadcast_to(self.earned[value], (times, *self.earned[value].shape))
        return np.take_along_axis(every, which, -1).mean(-1)

    def end(self, value: int) -> tuple[Estimate, ...]:
        """The shares at the end from equal ones, with intervals over resampled episodes."""
        mean = self.path(value, self.equal_shares)[-1, 0]
        draws = self.path(value, self.equal_shares, RESAMPLES)[-1, :, 0]
        return tuple(estimate(m, of_kind) for m, of_kind in zip(mean, draws.T, strict=True))

    def vanishing(self, value: int) -> tuple[Estimate, ...]:
        """The share of all starts from which each kind vanishes, with intervals over episodes.

        Starts are tenths in which every kind has at least one.
        """
        tenths = compositions(STARTS, len(self.kinds))
        starts = tenths[(tenths > 0).all(1)] / STARTS
        gone = (self.path(value, starts)[-1] < GONE).mean(0)
        draws = (self.path(value, starts, RESAMPLES)[-1] < GONE).mean(1)
        return tuple(estimate(g, of_kind) for g, of_kind in zip(gone, draws.T, strict=True))

    @cached_property
    def ends(self) -> tuple[tuple[Estimate, ...], ...]:
        """The shares at the end under each value."""
        return tuple(self.end(value) for value in range(len(self.values)))

    @cached_property
    def vanish(self) -> tuple[tuple[Estimate, ...], ...]:
        """The share of starts from which each kind vanishes, under each value."""
        return tuple(self.vanishing(value) for value in range(len(self.values)))

    @property
    def equal_shares(self) -> Float[np.ndarray, "1 kinds"]:
        """One start with equal shares."""
        return np.full((1, len(self.kinds)), 1 / len(self.kinds))

    def without(self, kind: str) -> "Replicator":
        """The game of all other kinds, under the first value: for a parameter that is its alone."""
        number = self.kinds.index(kind)
        kept = self.groups[:, number] == 0
        others = [k for k in range(len(self.kinds)) if k != number]
        return Replicator(
            society=self.society,
            kinds=tuple(self.kinds[k] for k in others),
            varied="",
            values=(0.0,),
            groups=self.groups[kept][:, others],
            earned=self.earned[:1, kept][:, :, others],
            welfare=self.welfare[:1, kept],
            seed=self.seed,
        )

    def rows(self) -> list[Row]:
        """Shares at the end, and from how many starts each kind vanishes, for each value."""
        found = []
        for number, value in enumerate(self.values):
            row: Row = {self.varied: value} if self.varied else {}
            for kind, end, gone in zip(
                self.kinds, self.ends[number], self.vanish[number], strict=True
            ):
                row[f"{kind}: share"], row[f"{kind}: vanishes"] = end, gone
            found.append(row)
        return found

    def notes(self) -> list[str]:
        """What the columns are."""
        return [
            "Shares at the end of replicator dynamics from equal shares; then the share of all "
            "starts from which a kind vanishes."
        ]

    def as_dict(self) -> dict[str, Any]:
        """Payoffs, and what follows from them, as plain numbers."""
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
            "ends": [_by_kind(self.kinds, shares) for shares in self.ends],
            "vanish": [_by_kind(self.kinds, shares) for shares in self.vanish],
        }

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Replicator":
        """The payoffs that `as_dict` stored."""
        names = ("society", "varied", "seed")
        return cls(
            **{name: data[name] for name in names},
            kinds=tuple(data["kinds"]),
            values=tuple(data["values"]),
            groups=np.array(data["groups"]),
            earned=np.array(data["earned"], float),
            welfare=np.array(data["welfare"], float),
        )

    def layout(self) -> Layout:
        """A panel for each value."""
        return Layout(
            title=self.society,
            footnote=f"Groups of {self.players}, {self.earned.shape[-1]} episodes for each "
            "composition, 95% bootstrap intervals over episodes; from equal shares.",
            panels=tuple(f"{self.varied} {value:g}".strip() for value in self.values),
            panel_size=(3.1, 2.9),
            least_width=6.4,
        )

    def draw(self, ax: Any, panel: str = "") -> None:
        """The shares of all kinds over time, from equal ones."""
        value = self.layout().panels.index(panel)
        path = self.path(value, self.equal_shares)[:, 0]
        drawn = self.path(value, self.equal_shares, RESAMPLES)[:, :, 0]
        low, high = np.percentile(drawn, (2.5, 97.5), axis=1)
        for kind, colour in zip(range(len(self.kinds)), itertools.cycle(COLOURS), strict=False):
            at = np.arange(len(low)) * SHOWN
            ax.fill_between(at, low[:, kind], high[:, kind], color=colour, alpha=0.18, lw=0)
            at = np.arange(len(path)) * SHOWN
            ax.plot(at, path[:, kind], color=colour, linewidth=2, label=self.kinds[kind])
        ax.set_ylim(0, 1)
        ax.set_xscale("symlog", linthresh=SHOWN)
        ax.set_xlim(left=0)
        ax.set_xlabel("steps", color=INK, fontsize=9)
        plain_axes(ax, 8)
        if value == 0:
            ax.set_ylabel("share of the population", color=INK, fontsize=9)
            ax.legend(frameon=False, fontsize=8)


def _by_kind(kinds: Sequence[str], shares: Sequence[Estimate]) -> dict[str, dict[str, float]]:
    return {kind: share.as_dict() for kind, share in zip(kinds, shares, strict=True)}


def _multinomial(counts: Int[np.ndarray, " kinds"]) -> float:
    """The number of orders in which a group with these counts can be drawn."""
    if (counts < 0).any():
        return 0.0
    return math.factorial(int(counts.sum())) / math.prod(math.factorial(int(c)) for c in counts)


def _listed(numbers: np.ndarray) -> Any:
    """As lists, null where there is no number."""
    rounded = np.round(numbers, 3).astype(object)
    rounded[np.isnan(numbers)] = None
    return rounded.tolist()


@dataclass(frozen=True)
class ReplicatorAnalysis(SizedAnalysis):
    """Which kinds of player spread by their payoffs: replicator dynamics over groups of them.

    Every composition of a group is played. A parameter of the rules can be varied, as in --vary
    sanction.ratio=1,2,3; all its values have the same starts and seats.
    """

    episodes: int = 20
    """Episodes for each composition and each value."""
    seats: str = "script:cooperator script:defector script:punisher"
    """One seat of each kind."""
    vary: str = ""
    """NAME=VALUE,VALUE of a parameter."""

    summary: ClassVar[str] = "which kinds of player spread (replicator dynamics)"

    @property
    def varied(self) -> tuple[str, tuple[float, ...]]:
        """The name and the values of the parameter that varies."""
        return read_varied(self.vary)

    def designs(self) -> dict[str, Design]:
        """All compositions under each value."""
        env, (varied, values) = self.environment(), self.varied
        kinds = tuple(roster.parse(self.seats))
        if len(kinds) < 2 or len(set(kinds)) < len(kinds):
            raise BadArgument(
                f"give two or more kinds of player that differ; given {[*map(str, kinds)]}"
            )
        count = math.comb(env.players + len(kinds) - 1, len(kinds) - 1)
        if count * self.episodes * len(values) > MOST_LANES:
            raise BadArgument(
                f"{count} groups x {len(values)} values x {self.episodes} episodes are more than "
                f"{MOST_LANES} lanes; take fewer players, kinds or episodes"
            )
        conditions = tuple(
            Condition(env, params={varied: x} if varied else {}, factors={varied: x})
            for x in values
        )
        return {"groups": self.design(conditions, groups(kinds, env.players))}

    def analyse(self, tables: dict[str, PayoffTable]) -> Replicator:
        """Payoffs by composition, and what follows from them."""
        kinds = [str(seat) for seat in roster.parse(self.seats)]
        return replicator(tables["groups"], kinds, *self.varied, seed=self.seed)


def replicator(
    table: PayoffTable,
    kinds: Sequence[str] = (),
    varied: str = "",
    values: Sequence[float] = (0.0,),
    *,
    seed: int = 0,
) -> Replicator:
    """Replicator dynamics of a table whose line-ups are all compositions of a group.

    Args:
        table: one condition for each of the values of the parameter that varied.
        kinds: the kinds of player in the order of the result; by default that of the table.
        varied: name of the parameter that varied.
        values: its values.
        seed: kept with the result.
    """
    kinds = tuple(kinds) or table.kinds
    expected = compositions(table.players, len(kinds))
    counts = np.stack([table.is_kind(kind)[:, 0].sum(1) for kind in kinds], 1)
    if set(map(tuple, counts.tolist())) != set(map(tuple, expected.tolist())):
        raise BadArgument(
            f"replicator dynamics need all {len(expected)} compositions of {table.players} players "
            f"of {len(kinds)} kinds; given {len(counts)} line-ups"
        )
    earned = [table.mean_of(kind) for kind in kinds]
    return Replicator(
        society=table.conditions[0].world,
        kinds=kinds,
        varied=varied,
        values=tuple(map(float, values)),
        groups=counts,
        earned=np.stack(earned, 2),
        welfare=table.welfare,
        seed=seed,
    )


def read_varied(text: str) -> tuple[str, tuple[float, ...]]:
    """The name and the values of `NAME=VALUE,VALUE`; one unnamed value where the text is empty."""
    if not text:
        return "", (0.0,)
    name, _, values = text.partition("=")
    try:
        numbers = tuple(float(value) for value in values.split(","))
    except ValueError:
        numbers = ()
    if name and numbers and all(map(math.isfinite, numbers)):
        return name, numbers
    raise BadArgument(f"--vary is NAME=VALUE,VALUE, as in sanction.ratio=1,3; given {text!r}")
