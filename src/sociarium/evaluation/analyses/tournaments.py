"""What a tournament of contestants shows: a game among kinds of player, and what it favours.

In an arm whose line-ups are all orders or mixtures of contestants, what everybody got in every
line-up is the payoff table of a game. Kinds are then compared by their mean, by how they spread,
by their deviation ratings, and by where best responses among them lead.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium.evaluation.suite import SuiteArm
from sociarium.evaluation.suite_run import UnitResult
from sociarium.metrics.bootstrap import Estimate, estimate
from sociarium.metrics.empirical_games import (
    BestResponses,
    Fitness,
    best_responses,
    deviation_ratings,
    mean_payoffs,
    replicator_fitness,
)

RESAMPLES = 100  # of seeds


@dataclass(frozen=True)
class Tournament:
    """An arm as a game among kinds: `earned` has an axis for seeds before those of a profile."""

    arm: str
    kinds: tuple[str, ...]
    seeds: tuple[int, ...]
    earned: Float[np.ndarray, "seeds *profile"]
    alike: bool = False  # whether all seats are

    @property
    def players(self) -> int:
        """How many play at once."""
        return self.earned.shape[-1]

    @cached_property
    def payoffs(self) -> Float[np.ndarray, "*profile"]:
        """Means over seeds."""
        return self.earned.mean(0)

    @cached_property
    def means(self) -> tuple[Estimate, ...]:
        """What each kind gets on average over all line-ups and seats."""
        draws = np.stack([mean_payoffs(payoffs) for payoffs in self._draws])
        return tuple(map(estimate, mean_payoffs(self.payoffs), draws.T))

    @cached_property
    def beside(self) -> Float[np.ndarray, "kinds kinds"] | None:
        """What each kind gets beside each other, over both seats; nothing where more play."""
        if self.players != 2:
            return None
        return (self.payoffs[..., 0] + self.payoffs[..., 1].T) / 2

    @cached_property
    def medians(self) -> tuple[float, ...]:
        """The median over line-ups and seats of what each kind gets."""
        return tuple(
            float(np.median(np.concatenate([_as_kind(self.payoffs, k, s) for s in self._seats])))
            for k in range(len(self.kinds))
        )

    @property
    def _seats(self) -> range:
        return range(self.players)

    @cached_property
    def fitness(self) -> Fitness:
        """Where replicator dynamics end."""
        return replicator_fitness(self.payoffs)

    @cached_property
    def _fitnesses(self) -> Fitness:
        """The same in resampled games."""
        return replicator_fitness(self._draws)

    @cached_property
    def shares(self) -> tuple[Estimate, ...]:
        """The shares there, with intervals."""
        draws = self._fitnesses.shares.T
        return tuple(map(estimate, self.fitness.shares, draws))

    @cached_property
    def average_fitness(self) -> Estimate:
        """What a player of the final population earns."""
        return estimate(float(self.fitness.average), self._fitnesses.average)

    @cached_property
    def average_mean(self) -> Estimate:
        """What a player gets on average over all line-ups and seats."""
        axes = tuple(range(1, self._draws.ndim))
        return estimate(float(self.payoffs.mean()), self._draws.mean(axes))

    @cached_property
    def ratings(self) -> tuple[Estimate, ...]:
        """Deviation ratings, with intervals."""
        draws = np.stack([deviation_ratings(payoffs) for payoffs in self._draws])
        return tuple(map(estimate, deviation_ratings(self.payoffs), draws.T))

    @cached_property
    def best_responses(self) -> BestResponses:
        """Where best responses lead."""
        return best_responses(self.payoffs)

    @cached_property
    def ends(self) -> dict[tuple[str, ...], Estimate]:
        """The profiles to which best responses lead, by the names of their kinds.

        Where all seats are alike it does not matter who sits where. Intervals are over resampled
        games.
        """
        found = self._merged(self.best_responses)
        draws = [self._merged(best_responses(payoffs)) for payoffs in self._draws]
        return {
            names: estimate(share, np.array([draw.get(names, 0.0) for draw in draws]))
            for names, share in found.items()
        }

    def _merged(self, led: BestResponses) -> dict[tuple[str, ...], float]:
        found: dict[tuple[str, ...], float] = {}
        for profile, share in led.ends.items():
            names = tuple(self.kinds[k] for k in (sorted(profile) if self.alike else profile))
            found[names] = found.get(names, 0.0) + share
        return found

    @cached_property
    def alone(self) -> tuple[Estimate, ...]:
        """What each kind gets where all are of that kind."""
        return tuple(self._of_profile((k,) * self.players) for k in range(len(self.kinds)))

    @cached_property
    def best_lineup(self) -> tuple[tuple[str, ...], Estimate]:
        """The line-up with the largest mean; picked afterwards, so it is more than one may hope."""
        means = self.payoffs.mean(-1)
        profile = tuple(int(n) for n in np.unravel_index(int(means.argmax()), means.shape))
        return tuple(self.kinds[k] for k in sorted(profile)), self._of_profile(profile)

    def _of_profile(self, profile: tuple[int, ...]) -> Estimate:
        """What one player gets on average in a line-up."""
        draws = self._draws[(slice(None), *profile)].mean(-1)
        return estimate(float(self.payoffs[profile].mean()), draws)

    @cached_property
    def _draws(self) -> Float[np.ndarray, "draws *profile"]:
        """The game over resampled seeds; once, where all seeds are alike."""
        many = len(self.seeds)
        if (self.earned == self.earned[:1]).all():
            return self.payoffs[None]
        chosen = np.random.default_rng(0).integers(many, size=(RESAMPLES, many))
        return np.stack([self.earned[some].mean(0) for some in chosen])

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        kinds = [
            {
                "kind": kind,
                "alone": self.alone[k].as_dict(),
                "mean": self.means[k].as_dict(),
                "median": self.medians[k],
                "share": self.shares[k].as_dict(),
                "fitness": float(self.fitness.earned[k]),
                "rating": self.ratings[k].as_dict(),
            }
            for k, kind in enumerate(self.kinds)
        ]
        ends = [{"profile": one, "share": share.as_dict()} for one, share in self.ends.items()]
        names, best = self.best_lineup
        return {
            "arm": self.arm,
            "players": self.players,
            "seeds": len(self.seeds),
            "kinds": kinds,
            "beside": None if self.beside is None else self.beside.tolist(),
            "best_lineup": {"profile": names, "mean": best.as_dict()},
            "population": self.average_fitness.as_dict(),
            "best_responses": ends,
            "cycling": self.best_responses.cycling,
        }


def _as_kind(
    payoffs: Float[np.ndarray, "*profile"], kind: int, seat: int
) -> Float[np.ndarray, " others"]:
    return np.take(payoffs[..., seat], kind, seat).ravel()


def tournament(arm: SuiteArm, results: Sequence[UnitResult], metric: str) -> Tournament | None:
    """The game of an arm by one metric; nothing where it is none, or where units are missing."""
    if arm.terms.lineups not in ("orders", "mixtures") or arm.free < 2:
        return None
    own = [one for one in results if one.arm == arm.id]
    kinds = tuple(dict.fromkeys(model for one in own for model in one.lineup))
    seeds = tuple(sorted({one.seed for one in own}))
    got = {}
    for one in own:
        value = one.values[metric]
        if isinstance(value, tuple):
            return None
        if arm.terms.lineups == "orders":
            got[one.seed, one.lineup, one.focal[0]] = value
        else:
            got[one.seed, tuple(sorted(one.lineup)), one.model] = value
    earned = np.full((len(seeds), *[len(kinds)] * arm.free, arm.free), np.nan)
    free = [seat for seat, model in enumerate(arm.seated(["random"] * arm.free)[1]) if model]
    for row, seed in enumerate(seeds):
        for profile in itertools.product(range(len(kinds)), repeat=arm.free):
            lineup = tuple(kinds[kind] for kind in profile)
            for place, seat in enumerate(free):
                where = (seed, lineup, seat)
                if arm.terms.lineups == "mixtures":
                    where = (seed, tuple(sorted(lineup)), lineup[place])
                earned[(row, *profile, place)] = got.get(where, np.nan)
    if not len(seeds) or np.isnan(earned).any():
        return None
    return Tournament(arm.id, kinds, seeds, earned, alike=arm.terms.lineups == "mixtures")


def told_profile(names: Sequence[str]) -> str:
    """Who plays, one after another; those beside each other of one kind are counted."""
    runs = [(name, len(list(same))) for name, same in itertools.groupby(names)]
    return ", ".join(f"{many} {name}" if many > 1 else name for name, many in runs)
