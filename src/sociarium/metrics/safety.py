"""How peaceful a society is: time in play, and who attacked whom."""

import numpy as np
from jaxtyping import Float, Int

from sociarium.core.episode import Episode
from sociarium.core.events import EventTable

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
    return episode.events.of(FIRED).by_actor(episode.players)


def effective(episode: Episode) -> Int[np.ndarray, " players"]:
    """How many of its attacks hit at least one player."""
    hits = _hits(episode)
    shots = np.unique(hits.step * episode.players + hits.actor) % episode.players
    return np.bincount(shots, minlength=episode.players)


def hits(episode: Episode) -> Int[np.ndarray, "players players"]:
    """Who hit whom: entry [i, j] counts hits of player j by player i."""
    hits, players = _hits(episode), episode.players
    pairs = np.bincount(hits.actor * players + hits.target, minlength=players**2)
    return pairs.reshape(players, players)


def _hits(episode: Episode) -> EventTable:
    """Every hit by a player."""
    hits = episode.events.of(HIT)
    return hits.where(hits.actor >= 0)
