"""Orders of Cuisine as a problem of work: what dishes take, and what cooks' time allows at most."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sociarium.envs.kitchens.menus import COOK_TIME, RECIPES, Recipe

LEAF, COOKING = 4, 4  # a cook's steps: for a raw ingredient; for activating, and moving a product


@dataclass(frozen=True)
class Order:
    """A dish, the step from which it is ordered, and the last one in which it can be served."""

    dish: str
    arrives: int
    due: int
    expires: bool  # whether it fails within the episode if nobody serves it


@dataclass(frozen=True)
class Problem:
    """Orders of an episode, and who and what there is to meet them with."""

    orders: tuple[Order, ...]
    tools: tuple[str, ...]
    cooks: int
    horizon: int
    book: Mapping[str, Recipe] = field(default_factory=lambda: RECIPES)

    @cached_property
    def possible(self) -> tuple[int, ...]:
        """Orders for which there are all the tools, in time or not, by their numbers."""
        return tuple(
            number
            for number, order in enumerate(self.orders)
            if all(node.recipe.tool in self.tools for node in self.tree(order.dish).all())
        )

    def tree(self, item: str) -> "Node":
        """The cookings of a dish, or of a part of it."""
        recipe = self.book[item]
        parts = tuple(self.tree(part) for part in recipe.needs if part in self.book)
        return Node(recipe, tuple(part for part in recipe.needs if part not in self.book), parts)

    def work(self, dish: str) -> int:
        """The fewest steps of cooks that a dish takes, whoever they are."""
        return sum(COOKING + LEAF * len(node.raw) for node in self.tree(dish).all())


@dataclass(frozen=True)
class Node:
    """A cooking in the tree of a dish, and the cookings it takes things from."""

    recipe: Recipe
    raw: tuple[str, ...]
    parts: tuple["Node", ...]

    @property
    def shortest(self) -> int:
        """Steps from the beginning of the first errand to the put of the product, at least."""
        last = max([LEAF - 1] * bool(self.raw) + [part.shortest for part in self.parts])
        return last + COOK_TIME[self.recipe.tool] + 2

    def all(self) -> Iterator["Node"]:
        """All cookings, parts before what they go into."""
        for part in self.parts:
            yield from part.all()
        yield self


def work_bound(problem: Problem) -> list[str]:
    """Dishes that can be served if nothing but the cooks' time counts: as many as can be.

    All work for orders that are due by some step is done by then. Orders are taken as they fall
    due, and when there is no time for all of them the longest is left (Moore, 1968).
    """
    orders = [problem.orders[number] for number in problem.possible]
    taken: list[str] = []
    for order in sorted(orders, key=lambda one: one.due):
        taken.append(order.dish)
        if sum(map(problem.work, taken)) > problem.cooks * (order.due + 1):
            taken.remove(max(taken, key=problem.work))
    return taken
