"""Games whose strategies are kinds of player: what was measured in matches, as a table of payoffs.

`payoffs[k, l, ..., seat]` is what the player in a seat gets if kind k sits in the first seat, l in
the second, and so on. From it follow which profiles are equilibria among these kinds, where best
responses lead, which kinds spread, and how strict an equilibrium each kind is fit for.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

STEP, MOST_STEPS, STILL = 0.1, 1000, 1e-6  # of replicator dynamics, as published
USUAL_SPAN, MOST_SMALL_STEPS = 20.0, 5000  # where payoffs span more points steps are smaller
MOST_ROUNDS = 1000  # of best responses
TIED = 1e-9  # of points, below which two payoffs are equal
Profile = tuple[int, ...]


@dataclass(frozen=True)
class Fitness:
    """Where replicator dynamics end from equal shares, and what each kind earns there."""

    shares: Float[np.ndarray, "*games kinds"]
    earned: Float[np.ndarray, "*games kinds"]

    @property
    def average(self) -> Float[np.ndarray, "*games"]:
        """What a player of the final population earns."""
        return np.asarray((self.shares * self.earned).sum(-1))


@dataclass(frozen=True)
class BestResponses:
    """Where best responses lead, one player after the other, from every profile."""

    ends: dict[Profile, float]  # equilibria, each with how often starts lead to it
    cycling: float  # how often they lead to none


def symmetrised(payoffs: Float[np.ndarray, "*profile"]) -> Float[np.ndarray, "*profile"]:
    """The game in which it is drawn by lot who sits where; so all seats are alike."""
    seats = payoffs.shape[-1]
    orders = list(itertools.permutations(range(seats)))
    axes = np.arange(-1 - seats, -1)
    total = np.zeros_like(payoffs, np.float64)
    for order in orders:
        turned = np.moveaxis(payoffs, axes.tolist(), axes[list(order)].tolist())
        total += turned[..., list(np.argsort(order))]
    return total / len(orders)


def mean_payoffs(payoffs: Float[np.ndarray, "*profile"]) -> Float[np.ndarray, " kinds"]:
    """What each kind gets on average over all seats and all that others can be."""
    seats = range(payoffs.shape[-1])
    others = lambda seat: tuple(other for other in seats if other != seat)  # noqa: E731
    return np.mean([payoffs[..., seat].mean(others(seat)) for seat in seats], 0)


def replicator_fitness(payoffs: Float[np.ndarray, "*profile"]) -> Fitness:
    """The end of replicator dynamics from equal shares, where seats are drawn uniformly at random.

    Several games at once have axes before those of profiles.
    """
    first, seats = symmetrised(payoffs)[..., 0], payoffs.shape[-1]
    games, kinds = first.shape[: first.ndim - seats], first.shape[-1]
    first = first.reshape(-1, *first.shape[first.ndim - seats :])
    start = np.full((len(first), kinds), 1 / kinds)
    span = float(first.max() - first.min())
    shares = replicate(lambda lanes, shares: _beside(first[lanes], shares), start, span)[-1]
    earned = _beside(first, shares)
    return Fitness(shares.reshape(*games, kinds), earned.reshape(*games, kinds))


def replicate(
    fitness: Callable[
        [Int[np.ndarray, " lanes"], Float[np.ndarray, "lanes kinds"]],
        Float[np.ndarray, "lanes kinds"],
    ],
    start: Float[np.ndarray, "lanes kinds"],
    span: float,
    every: int = 0,
) -> Float[np.ndarray, "moments lanes kinds"]:
    """Replicator dynamics: shares grow in proportion to what a kind earns above the mean.

    A step is that of the published study (Willis et al.), in points; where payoffs span more than
    its games did it is smaller in proportion, since large steps lead elsewhere. A lane stops when
    no share moves.

    Args:
        fitness: what each kind earns at these shares, for the lanes of these numbers.
        start: shares at the start; each lane is a population of its own.
        span: the largest payoff less the smallest, in points.
        every: steps between two recorded moments; 0 records the start and the end.
    """
    scale = max(1.0, span / USUAL_SPAN)
    shares, active = start.astype(np.float64), np.arange(len(start))
    path = [shares.copy()]
    for step in range(MOST_STEPS if scale == 1 else MOST_SMALL_STEPS):
        now = shares[active]
        earned = fitness(active, now)
        above = (earned - (now * earned).sum(-1, keepdims=True)) / scale
        moving = np.abs(above).max(-1) >= STILL
        if not moving.any():
            break
        active, grown = active[moving], (now * np.exp(STEP * above))[moving]
        shares[active] = grown / grown.sum(-1, keepdims=True)
        if every and (step + 1) % every == 0:
            path.append(shares.copy())
    return np.array([*path, shares])


def _beside(
    first: Float[np.ndarray, "*profile"], shares: Float[np.ndarray, "*games kinds"]
) -> Float[np.ndarray, "*games kinds"]:
    """What each kind gets in the first seat beside others that are drawn by these shares."""
    while first.ndim > shares.ndim:
        between = [1] * (first.ndim - shares.ndim)
        first = (first * shares.reshape(*shares.shape[:-1], *between, shares.shape[-1])).sum(-1)
    return first


def deviation_ratings(payoffs: Float[np.ndarray, "*profile"]) -> Float[np.ndarray, " kinds"]:
    """The gain from changing to each kind, at the strictest equilibrium (Marris et al., 2025).

    Over distributions of profiles the largest gain is made as small as can be; kinds whose gain is
    so large in every optimum, which their duals tell, are given it, and the rest is done again.
    """
    from scipy.optimize import linprog

    gains = _gains(symmetrised(payoffs))
    kinds, profiles = gains.shape
    ratings = np.full(kinds, np.nan)
    while np.isnan(ratings).any():
        free = np.isnan(ratings)
        rows = np.concatenate([gains, -free[:, None].astype(float)], 1)
        solved = linprog(
            c=np.eye(profiles + 1)[-1],
            A_ub=rows,
            b_ub=np.where(free, 0.0, ratings),
            A_eq=np.r_[np.ones(profiles), 0.0][None],
            b_eq=[1.0],
            bounds=[(0, None)] * profiles + [(None, None)],
            method="highs",
        )
        tight = free & (np.asarray(solved.ineqlin.marginals) < -1e-7)
        ratings[tight if tight.any() else free] = solved.fun
    return ratings


def _gains(payoffs: Float[np.ndarray, "*profile"]) -> Float[np.ndarray, "kinds profiles"]:
    """What a player gains on average who changes to a kind, in each profile without order."""
    kinds, seats = payoffs.shape[0], payoffs.shape[-1]
    profiles = list(itertools.combinations_with_replacement(range(kinds), seats))
    gains = np.zeros((kinds, len(profiles)))
    for column, profile in enumerate(profiles):
        for seat, kind in itertools.product(range(seats), range(kinds)):
            change = payoffs[_changed(profile, seat, kind)][seat] - payoffs[profile][seat]
            gains[kind, column] += change / seats
    return gains


def equilibria(payoffs: Float[np.ndarray, "*profile"], slack: float = TIED) -> list[Profile]:
    """The profiles in which nobody gains more than the slack by changing alone."""
    return [
        profile
        for profile in np.ndindex(payoffs.shape[:-1])
        if all(_gain(payoffs, profile, seat) <= slack for seat in range(payoffs.shape[-1]))
    ]


def best_responses(payoffs: Float[np.ndarray, "*profile"]) -> BestResponses:
    """Players change in turn to what is best beside the others, and stay where nothing is better.

    All profiles are starts. Where several changes are equally good each is as likely.
    """
    from scipy.sparse import coo_array

    shape, seats = payoffs.shape[:-1], payoffs.shape[-1]
    many = int(np.prod(shape))
    turns = []
    for seat in range(seats):
        moves = [move for profile in np.ndindex(shape) for move in _moves(payoffs, profile, seat)]
        start, end, chance = zip(*moves, strict=True)
        places = [np.ravel_multi_index(np.array(x).T, shape) for x in (end, start)]
        turns.append(coo_array((chance, places), shape=(many, many)).tocsr())
    stable = {np.ravel_multi_index(profile, shape): profile for profile in equilibria(payoffs)}
    mass = np.full(many, 1 / many)
    for _ in range(MOST_ROUNDS):
        before = mass
        for turn in turns:
            mass = turn @ mass
        if np.abs(mass - before).max() < TIED:
            break
    ends = {profile: float(mass[at]) for at, profile in stable.items() if mass[at] > TIED}
    return BestResponses(ends, max(0.0, round(1 - math.fsum(ends.values()), 9)))


def _moves(
    payoffs: Float[np.ndarray, "*profile"], profile: Profile, seat: int
) -> Iterator[tuple[Profile, Profile, float]]:
    """Where a player goes from a profile, and how likely."""
    if _gain(payoffs, profile, seat) <= TIED:
        yield profile, profile, 1.0
        return
    choices = _choices(payoffs, profile, seat)
    best = np.flatnonzero(choices >= choices.max() - TIED)
    for kind in best:
        yield profile, _changed(profile, seat, int(kind)), 1 / len(best)


def _gain(payoffs: Float[np.ndarray, "*profile"], profile: Profile, seat: int) -> float:
    return float(_choices(payoffs, profile, seat).max() - payoffs[profile][seat])


def _choices(
    payoffs: Float[np.ndarray, "*profile"], profile: Profile, seat: int
) -> Float[np.ndarray, " kinds"]:
    """What the player in a seat gets as each kind, beside the others of a profile."""
    return payoffs[(*profile[:seat], slice(None), *profile[seat + 1 :])][:, seat]


def _changed(profile: Profile, seat: int, kind: int) -> Profile:
    return (*profile[:seat], kind, *profile[seat + 1 :])
