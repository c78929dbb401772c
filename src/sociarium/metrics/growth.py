"""How far a society gets in a world of recipes: what it made, how deep, and when it found out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sociarium.core.episode import Episode
from sociarium.core.recipes import Bound, RecipeSpec, depths
from sociarium.core.specs import EventSpec


@dataclass(frozen=True)
class Growth:
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


def growth(
    episode: Episode,
    specs: Sequence[EventSpec],
    recipes: Sequence[RecipeSpec],
    sources: Mapping[str, Sequence[str]],
) -> Growth:
    """Reads an episode of a world whose events name kinds and recipes by number."""
    named = {spec.name: spec.values for spec in specs}
    told = [(row.step + 1, row.kind, named[row.kind], int(row.value)) for row in episode.events]
    executions = Counter(names[n] for _, kind, names, n in told if kind == "synthesised")
    had = {names[n] for _, kind, names, n in told if kind == "picked"}
    gives = {recipe.name: recipe.gives for recipe in recipes}
    had |= {kind for name in executions for kind in gives[name]}
    depth = depths(recipes, sources)
    discovered: dict[str, int] = {}
    for step, kind, names, number in told:
        if kind == "discovered":
            discovered.setdefault(names[number], step)
    return Growth(
        executions=dict(executions),
        handed_over=sum(kind == "handed_over" for _, kind, _, _ in told),
        deepest=max((depth[kind] for kind in had), default=0),
        discovered=discovered,
    )
