"""How peaceful a society is: time in play, and who attacked whom."""

import numpy as np
from jaxtyping import Float, Int

from sociarium.core.episode import Episode

FIRED, HIT = "fired", "zapped"  # the names worlds give to an attack and to its success


def presence(episode: Episode) -> Float[np.ndarray, " players"]:
    """The share of its steps each player was in play; 1 before any step."""
    if not len(episode):
        return np.ones(episode.players)
    return episode.present.mean(axis=0, dtype=np.float64)


def peace(episode: Episode) -> float:
    """The share of all player-steps in play; 1 when nobody was ever sent out."""
    return float(presence(episode).mean())


def fired(episode: Episode) -> Int[np.ndarray, " players"]:
    """How often each player attacked, whether or not anybody was hit."""
    shots = [row.actor for row in episode.events if row.kind == FIRED]
    return np.bincount(np.array(shots, np.int64), minlength=episode.players)


def effective(episode: Episode) -> Int[np.ndarray, " players"]:
    """How many of its attacks hit at least one player."""
    hits = {(row.step, row.actor) for row in episode.events if row.kind == HIT and row.actor >= 0}
    shots = [actor for _, actor in hits]
    return np.bincount(np.array(shots, np.int64), minlength=episode.players)


def hits(episode: Episode) -> Int[np.ndarray, "players players"]:
    """Who hit whom: entry [i, j] counts hits of player j by player i."""
    matrix = np.zeros((episode.players, episode.players), np.int64)
    for row in episode.events:
        if row.kind == HIT and row.actor >= 0:
            matrix[row.actor, row.target] += 1
    return matrix
