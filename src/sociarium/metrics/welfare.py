"""How well a society does, how evenly, and for how long (Perolat et al., 2017)."""

import numpy as np
from jaxtyping import Float

from sociarium.core.episode import Episode


def collective(episode: Episode) -> float:
    """What the world paid all players together."""
    return float(episode.raw.sum(dtype=np.float64))


def gini(income: Float[np.ndarray, "*batch players"]) -> Float[np.ndarray, "*batch"]:
    """Inequality of income: 0 when all earn the same or nothing, (n - 1) / n when one takes all.

    With negative incomes the gaps are measured against the sum of absolute incomes, which keeps the
    value between 0 and 1; without any it is the usual Gini coefficient.
    """
    income = np.asarray(income, np.float64)
    gaps = np.abs(income[..., :, None] - income[..., None, :]).sum((-2, -1))
    scale = 2 * income.shape[-1] * np.abs(income).sum(-1)
    return np.asarray(np.divide(gaps, scale, out=np.zeros_like(gaps), where=scale > 0))


def equality(episode: Episode) -> float:
    """1 - Gini of what the world paid: 1 when all earn the same, also when nobody earns."""
    return float(1 - gini(episode.raw_returns))


def reward_equality(episode: Episode) -> float:
    """1 - Gini of what players were left with after their charter shared and fined."""
    return float(1 - gini(episode.reward_returns))


def reward_times(episode: Episode) -> Float[np.ndarray, " players"]:
    """Each player's mean step of positive reward, the first step being 1; NaN if there was none."""
    earned = episode.raw > 0
    steps = np.arange(1, len(episode) + 1, dtype=np.float64) @ earned
    times = earned.sum(axis=0)
    return np.divide(steps, times, out=np.full(episode.players, np.nan), where=times > 0)


def sustainability(episode: Episode) -> float:
    """The mean time of reward over the players who ever earned; 0 when nobody did.

    A player who never earned has no time of reward and is left out.
    """
    times = reward_times(episode)
    earners = ~np.isnan(times)
    return float(times[earners].mean()) if earners.any() else 0.0
