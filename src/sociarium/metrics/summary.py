"""All metrics of an episode in one flat row, for tables and JSON."""

import numpy as np
from jaxtyping import Float

from sociarium.core.episode import Episode
from sociarium.core.extensions import extensions
from sociarium.core.facets import Cooperation
from sociarium.metrics import safety, welfare
from sociarium.metrics.cooperation import cooperation as cooperation_of


def by_player(
    episode: Episode, cooperation: Cooperation | None
) -> dict[str, Float[np.ndarray, " players"]]:
    """The metrics that each player has by itself; no rate where the world counts acts only."""
    done = cooperation_of(episode, cooperation)
    rated = {"opportunities": done.opportunities, "cooperation": done.rates}
    return {
        "raw_return": episode.raw.sum(axis=0, dtype=np.float64),
        "reward_return": episode.reward.sum(axis=0, dtype=np.float64),
        "present": safety.presence(episode),
        "attacks_fired": safety.fired(episode).astype(np.float64),
        "attacks_effective": safety.effective(episode).astype(np.float64),
        "hits": safety.hits(episode).sum(axis=1).astype(np.float64),
        "acts": done.acts,
        **({} if _acts_only(cooperation) else rated),
    }


def overall(episode: Episode, cooperation: Cooperation | None) -> dict[str, float]:
    """The metrics of the society as a whole, the mean level of each gauge, and added metrics."""
    done = cooperation_of(episode, cooperation)
    rated = {"opportunities": float(done.opportunities.sum()), "cooperation": done.overall}
    return {
        "collective_return": welfare.collective(episode),
        "equality": welfare.equality(episode),
        "reward_per_player": float(episode.reward.sum(dtype=np.float64)) / episode.players,
        "reward_equality": welfare.reward_equality(episode),
        "sustainability": welfare.sustainability(episode),
        "peace": safety.peace(episode),
        "attacks_fired": float(safety.fired(episode).sum()),
        "attacks_effective": float(safety.effective(episode).sum()),
        "hits": float(safety.hits(episode).sum()),
        "acts": float(done.acts.sum()),
        **({} if _acts_only(cooperation) else rated),
        **{
            f"gauge_{name}": float(np.mean(level)) if len(level) else 0.0
            for name, level in episode.gauges.items()
        },
        **{name: float(metric(episode)) for name, metric in extensions("metrics").items()},
    }


def _acts_only(cooperation: Cooperation | None) -> bool:
    return cooperation is not None and not cooperation.has_rate


def summary(episode: Episode, cooperation: Cooperation | None) -> dict[str, float]:
    """Everything in one row; a player's own metrics end in its seat, as in `raw_return_0`."""
    own = {
        f"{name}_{seat}": float(value)
        for name, values in by_player(episode, cooperation).items()
        for seat, value in enumerate(values)
    }
    return {**overall(episode, cooperation), **own}
