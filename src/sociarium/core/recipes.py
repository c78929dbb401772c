"""Hidden rules as plain data: recipes, how deep they go, and what they are worth at most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class RecipeSpec:
    """A hidden rule: what a workplace turns into what, and what one must hold to know of it."""

    name: str
    takes: Mapping[str, int]
    gives: Mapping[str, int]
    needs: tuple[str, ...] = ()

    def __str__(self) -> str:
        takes, gives = (
            " and ".join(f"{units} {kind}" for kind, units in goods.items())
            for goods in (self.takes, self.gives)
        )
        needs = f"; seen only by who holds {' and '.join(self.needs)}" if self.needs else ""
        return f"{self.name}: {takes} make {gives}{needs}"


@dataclass(frozen=True)
class Bound:
    """What a society can earn at most, and how often each recipe is used in one way to earn it.

    Where a way was looked for and perhaps not all of it `found`, that is what the way earns.
    """

    total: float
    executions: Mapping[str, int]
    found: float | None = None


def depths(recipes: Sequence[RecipeSpec], sources: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many makings and unlockings lie before each kind that can be had at all.

    `sources` are the kinds that lie about, with the tools it takes to see them. A kind that lies
    about and needs nothing has depth 0.
    """
    ways = [(kind, tuple(tools)) for kind, tools in sources.items()]
    ways += [(kind, (*r.takes, *r.needs)) for r in recipes for kind in r.gives]
    depth: dict[str, int] = {}
    while True:
        deeper = dict(depth)
        for kind, before in ways:
            if all(part in depth for part in before):
                deeper.setdefault(kind, max((depth[part] + 1 for part in before), default=0))
        if deeper == depth:
            return depth
        depth = deeper
