"""How often players cooperate when they can: acts per opportunity, as the world defines both."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sociarium.core.episode import Episode
from sociarium.core.facets import Cooperation


class CooperationCounts(NamedTuple):
    """What each player did of what it could; entries are sums of event values."""

    acts: Float[np.ndarray, " players"]
    opportunities: Float[np.ndarray, " players"]

    @property
    def rates(self) -> Float[np.ndarray, " players"]:
        """Acts per opportunity of each player."""
        return rate(self.acts, self.opportunities)

    @property
    def overall(self) -> float:
        """All acts per all opportunities."""
        return float(rate(self.acts.sum(keepdims=True), self.opportunities.sum(keepdims=True))[0])


def cooperation(episode: Episode, spec: Cooperation | None) -> CooperationCounts:
    """Acts and opportunities (acts and refusals) of each player; none where there is no spec."""
    if spec is None:
        return CooperationCounts(np.zeros(episode.players), np.zeros(episode.players))
    acts, refusals = (
        episode.events.by_actor(episode.players, *kinds, values=True)
        for kinds in (spec.acts, spec.refusals)
    )
    return CooperationCounts(acts, acts + refusals)


def rate(
    acts: Float[np.ndarray, "*shape"], opportunities: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """Acts per opportunity; 0 where there was no opportunity.

    Whoever avoids every chance to cooperate has not cooperated: an idle player scores 0, not 1.
    """
    return np.divide(acts, opportunities, out=np.zeros_like(acts), where=opportunities > 0)
