"""How far a society gets in a world of recipes: what it made, how deep, and when it found out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sociarium.core.episode import Episode
from sociarium.core.facets import Crafting
from sociarium.core.recipes import Bound, depths
from sociarium.core.specs import EventSpec


@dataclass(frozen=True)
class GrowthCounts:
    """One episode's progress through the recipes; steps count from 1, kinds and recipes by name."""

    executions: dict[str, int]
    handed_over: int
    deepest: int  # the most makings and unlockings before anything that was made or picked
    discovered: dict[str, int]  # the step in which anybody first knew of a kind

    def completion(self, optimum: Bound) -> dict[str, float]:
        """Executions by recipe, as a share of those in an optimal way to play."""
        return {
            name: self.executions.get(name, 0) / times
            for name, times in optimum.executions.items()
            if times
        }


def growth(episode: Episode, specs: Sequence[EventSpec], crafting: Crafting) -> GrowthCounts:
    """Reads an episode of a world whose events name kinds and recipes by number."""
    named = {spec.name: spec.values for spec in specs}

    def told(kind: str) -> Iterator[str]:
        numbers = episode.events.of(kind).value.astype(int)
        return (named[kind][number] for number in numbers.tolist())

    executions = Counter(told(crafting.made))
    had = {*told(crafting.taken)}
    gives = {recipe.name: recipe.gives for recipe in crafting.recipes}
    had |= {kind for name in executions for kind in gives[name]}
    depth = depths(crafting.recipes, crafting.sources)
    discovered: dict[str, int] = {}
    found = episode.events.of(crafting.discovered)
    for step, kind in zip(found.step, told(crafting.discovered), strict=True):
        discovered.setdefault(kind, int(step) + 1)
    return GrowthCounts(
        executions=dict(executions),
        handed_over=len(episode.events.of(crafting.handed_over)),
        deepest=max((depth[kind] for kind in had), default=0),
        discovered=discovered,
    )
