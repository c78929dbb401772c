"""How much of what was possible a line-up reaches in a world of recipes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sociarium.core.environment import Environment
from sociarium.core.episode import Episode
from sociarium.core.facets import Bounds, Crafting
from sociarium.metrics.bootstrap import Estimate, over_episodes
from sociarium.metrics.growth import growth
from sociarium.metrics.welfare import reward_equality


@dataclass(frozen=True)
class Progress:
    """Means over episodes with their intervals; first steps only where it came to that."""

    share: Estimate  # of the oracle
    fairness: Estimate  # 1 - Gini of what players are left with
    deepest: Estimate
    handed_over: Estimate
    completion: dict[str, Estimate]  # by recipe, of the executions in the oracle's optimum
    discovered: dict[str, float]  # by kind, in what share of the episodes anybody knew it
    first: dict[str, Estimate]  # by kind, in which step

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            name: (
                {
                    key: each.as_dict() if isinstance(each, Estimate) else each
                    for key, each in value.items()
                }
                if isinstance(value, dict)
                else value.as_dict()
            )
            for name, value in vars(self).items()
        }


def progress(env: Environment[Any, Any], episodes: Sequence[Episode]) -> Progress:
    """Reads recorded episodes of a world that has an oracle."""
    crafting, bounds = env.facet(Crafting), env.facet(Bounds)
    oracle = bounds.of(env.params(), 0)["oracle"]
    grown = [growth(each, env.event_specs, crafting) for each in episodes]
    kinds = next(spec.values for spec in env.event_specs if spec.name == crafting.discovered)
    steps = {kind: [g.discovered[kind] for g in grown if kind in g.discovered] for kind in kinds}
    mean = lambda values: over_episodes(np.array(list(values), np.float64))  # noqa: E731
    return Progress(
        share=mean(each.raw_returns.sum() / oracle.total for each in episodes),
        fairness=mean(reward_equality(each) for each in episodes),
        deepest=mean(g.deepest for g in grown),
        handed_over=mean(g.handed_over for g in grown),
        completion={
            name: mean(g.completion(oracle)[name] for g in grown)
            for name, times in oracle.executions.items()
            if times
        },
        discovered={kind: len(found) / len(grown) for kind, found in steps.items()},
        first={kind: mean(found) for kind, found in steps.items() if found},
    )
