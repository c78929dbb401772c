"""Games whose strategies are kinds of player: what was measured in matches, as a table of payoffs.

`payoffs[k, l, ..., seat]` is what the player in a seat gets if kind k sits in the first seat, l in
the second, and so on. From it follow which profiles are equilibria among these kinds, where best
responses lead, which kinds spread, and how strict an equilibrium each kind is fit for.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

STEP, MOST_STEPS, STILL = 0.1, 1000, 1e-6  # of replicator dynamics
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

    ends: dict[Profile, float]  # equilibria, each with the share of starts that lead to it
    cycling: float  # the share of starts that lead to none


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
    """Shares grow by how much a kind earns above the mean, where seats are drawn by lot.

    Of several games at once, with axes before those of profiles, each goes its own way.
    """
    first, seats = symmetrised(payoffs)[..., 0], payoffs.shape[-1]
    games, kinds = first.shape[: first.ndim - seats], first.shape[-1]
    shares = np.full((*games, kinds), 1 / kinds)
    for _ in range(MOST_STEPS):
        earned = _beside(first, shares)
        above = earned - (shares * earned).sum(-1, keepdims=True)
        moves = np.abs(above).max(-1, keepdims=True) >= STILL
        if not moves.any():
            break
        grown = shares * np.exp(STEP * above)
        shares = np.where(moves, grown / grown.sum(-1, keepdims=True), shares)
    return Fitness(shares, _beside(first, shares))


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

    Of what is equally good they take the first.
    """
    ends: dict[Profile, int] = {}
    starts = list(np.ndindex(payoffs.shape[:-1]))
    for start in starts:
        *_, end = _responses(payoffs, start)
        if end is not None:
            ends[end] = ends.get(end, 0) + 1
    shares = {profile: times / len(starts) for profile, times in sorted(ends.items())}
    return BestResponses(shares, 1 - sum(ends.values()) / len(starts))


def _responses(
    payoffs: Float[np.ndarray, "*profile"], profile: Profile
) -> Iterator[Profile | None]:
    """Profiles one after the other, in the end an equilibrium, or nothing where they come again."""
    seen, seats = set(), payoffs.shape[-1]
    while profile not in seen:
        seen.add(profile)
        before = profile
        for seat in range(seats):
            if _gain(payoffs, profile, seat) > TIED:
                profile = _changed(profile, seat, int(np.argmax(_choices(payoffs, profile, seat))))
        yield profile
        if profile == before:
            return
    yield None


def _gain(payoffs: Float[np.ndarray, "*profile"], profile: Profile, seat: int) -> float:
    return float(_choices(payoffs, profile, seat).max() - payoffs[profile][seat])


def _choices(
    payoffs: Float[np.ndarray, "*profile"], profile: Profile, seat: int
) -> Float[np.ndarray, " kinds"]:
    """What the player in a seat gets as each kind, beside the others of a profile."""
    return payoffs[(*profile[:seat], slice(None), *profile[seat + 1 :])][:, seat]


def _changed(profile: Profile, seat: int, kind: int) -> Profile:
    return (*profile[:seat], kind, *profile[seat + 1 :])
