"""How peaceful a society is: time in play, and who attacked whom."""

import numpy as np
from jaxtyping import Float, Int

from sociarium.core.episode import Episode


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
    attacks = episode.events.kinds_with_role("attack")
    return episode.events.by_actor(episode.players, *attacks)


def effective(episode: Episode) -> Int[np.ndarray, " players"]:
    """How many of its attacks hit at least one player."""
    step, actor, _ = _hits(episode)
    shots = np.unique(step.astype(np.int64) * episode.players + actor) % episode.players
    return np.bincount(shots, minlength=episode.players)


def hits(episode: Episode) -> Int[np.ndarray, "players players"]:
    """Who hit whom: entry [i, j] counts hits of player j by player i."""
    _, actor, target = _hits(episode)
    players = episode.players
    pairs = np.bincount(actor.astype(np.int64) * players + target, minlength=players**2)
    return pairs.reshape(players, players)


def _hits(episode: Episode) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Step, actor and target of all harm that a player did."""
    events = episode.events
    rows = events.places(*events.kinds_with_role("harm"))
    rows = rows[events.actor[rows] >= 0]
    return events.step[rows], events.actor[rows], events.target[rows]
