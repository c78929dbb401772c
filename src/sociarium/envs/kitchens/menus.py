"""What is cooked in CuisineWorld: tools, recipes, and the thirteen published levels."""

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sociarium.core.errors import BadArgument
from sociarium.core.specs import with_article

STORAGE, TABLE = "storage", "serving table"
COOK_TIME = {  # steps from the activation to the product
    "chopping board": 1,
    "blender": 2,
    "pan": 2,
    "fryer": 2,
    "mixer": 0,
    "pot": 3,
    "steamer": 3,
    "oven": 3,
}
TAKEN_RAW = "chopping board"  # from which one can take back what is not yet cut
ALPHAS = (1.0, 1.5, 2.0, 2.5, 3.0)  # of the intervals 1 to 5
PATIENCE = 2.5  # lifetimes of an order, in unrounded intervals of its dish
SHARE = 0.3  # of what a dish takes one cook, between two orders
RAW = (
    *("pork", "beef", "tuna", "salmon", "lamb", "chicken", "turkey", "egg", "duck", "lobster"),
    *("pepperoni", "potato", "carrot", "onion", "lettuce", "tomato", "cucumber", "leek"),
    *("broccoli", "flour", "rice", "pasta", "dough", "cheese", "seaweed sheet", "bread"),
    "tortilla",
)


@dataclass(frozen=True)
class Recipe:
    """What a tool makes of several things."""

    product: str
    needs: tuple[str, ...]
    tool: str

    def __str__(self) -> str:
        inside = "on" if self.tool == TAKEN_RAW else "in"
        return f"{self.product}: {' and '.join(self.needs)} {inside} {with_article(self.tool)}"


def _all() -> Iterable[Recipe]:
    cut = lambda product, raw: Recipe(product, (raw,), "chopping board")  # noqa: E731
    blend = lambda product, *raw: Recipe(product, raw, "blender")  # noqa: E731
    mix = lambda product, *parts: Recipe(product, parts, "mixer")  # noqa: E731
    for raw in ("potato", "lettuce", "tomato", "cucumber", "onion", "carrot"):
        yield cut(f"{raw} slices", raw)
    for fish in ("salmon", "tuna"):
        yield cut(f"{fish} sashimi", fish)
        yield mix(f"{fish} sushi", f"{fish} sashimi", "cooked rice")
        yield mix(f"{fish} roll", f"{fish} sashimi", "cooked rice", "seaweed sheet")
    yield mix("mixed sashimi", "salmon sashimi", "tuna sashimi")
    for meat in ("salmon", "lamb", "lobster", "beef", "pork", "chicken", "turkey", "duck"):
        yield blend(f"{meat} meatcake", meat, "flour")
    for meat in ("beef", "pork", "salmon"):
        yield blend(f"ground {meat}", meat)
        yield Recipe(f"{meat} dumpling", (f"ground {meat}", "flour"), "steamer")
    yield blend("tomato sauce", "tomato")
    yield blend("raw mash", "potato slices")
    yield blend("cake", "egg", "flour")
    yield blend("mixed ground meat", "pork", "beef", "chicken")
    yield Recipe("cooked rice", ("rice",), "pot")
    yield Recipe("cooked pasta", ("pasta",), "pot")
    yield Recipe("boiled lobster", ("potato", "lobster"), "pot")
    for soup in (("potato", "carrot"), ("potato", "leek"), ("broccoli", "cheese")):
        yield Recipe(f"onion {soup[0]} {soup[1]} soup", ("onion", *soup), "pot")
    yield Recipe("fried tomato", ("tomato slices",), "pan")
    for meat in ("pork", "beef", "chicken"):
        yield Recipe(f"fried {meat}", (meat,), "pan")
    for meat in ("pork", "beef"):
        yield Recipe(f"fried ground {meat}", (f"ground {meat}",), "pan")
        yield mix(f"{meat} pasta", "cooked pasta", f"fried ground {meat}")
    yield mix("tomato pasta", "cooked pasta", "fried tomato")
    yield mix("tomato salad", "tomato slices")
    yield mix("lettuce salad", "lettuce slices")
    yield mix("tomato lettuce salad", "tomato slices", "lettuce slices")
    yield mix("tomato cucumber salad", "tomato slices", "cucumber slices")
    yield mix("mixed salad", "tomato slices", "lettuce slices", "cucumber slices")
    for name, top in (("pepperoni", "pepperoni"), ("hawaiian", "pork"), ("chicken", "chicken")):
        yield Recipe(f"{name} pizza", ("tomato sauce", top, "cheese", "dough"), "oven")
    yield mix("cheese burger", "cheese", "fried beef", "bread")
    yield mix("max burger", "lettuce slices", "fried beef", "cheese", "bread")
    yield mix("hopper burger", "tomato slices", "lettuce slices", "fried beef", "bread")
    for meat in ("pork", "beef", "chicken"):
        yield mix(f"{meat} burrito", f"fried {meat}", "cooked rice", "tortilla")
    yield mix("potato salad", "potato slices", "egg")
    yield Recipe("mashed potato", ("raw mash",), "steamer")
    yield Recipe("french fries", ("potato slices",), "fryer")


RECIPES: Mapping[str, Recipe] = {recipe.product: recipe for recipe in _all()}


@dataclass(frozen=True)
class Level:
    """Dishes that are ordered, the tools of a kitchen, in order, and a book with all recipes."""

    dishes: tuple[str, ...]
    tools: tuple[str, ...]
    book: Mapping[str, Recipe] = field(default_factory=lambda: RECIPES)

    @cached_property
    def needed(self) -> tuple[Recipe, ...]:
        """All recipes that its dishes take, whatever comes first before what it goes into."""
        found: dict[str, Recipe] = {}

        def visit(item: str) -> None:
            if item in self.book and item not in found:
                for part in self.book[item].needs:
                    visit(part)
                found[item] = self.book[item]

        for dish in self.dishes:
            visit(dish)
        return tuple(found.values())

    @cached_property
    def raw(self) -> tuple[str, ...]:
        """What its dishes are made of in the end."""
        products = {recipe.product for recipe in self.needed}
        parts = [part for recipe in self.needed for part in recipe.needs]
        return tuple(dict.fromkeys(part for part in parts if part not in products))

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Tools that its recipes take and its kitchen has not."""
        return tuple(
            dict.fromkeys(recipe.tool for recipe in self.needed if recipe.tool not in self.tools)
        )

    def work(self, dish: str) -> int:
        """About how many steps a dish takes one cook: three for each thing, and long cooking."""
        things: set[str] = set()
        waits = 0

        def visit(item: str) -> None:
            nonlocal waits
            things.add(item)
            if item in self.book:
                waits += max(COOK_TIME[self.book[item].tool] - 1, 0)
                for part in self.book[item].needs:
                    visit(part)

        visit(dish)
        return 3 * len(things) + waits

    def interval(self, alpha: float) -> int:
        """Steps between two orders: as many as the longest dish asks for."""
        return max(math.ceil(_exact(SHARE * alpha * self.work(dish))) for dish in self.dishes)

    def patience(self, dish: str, alpha: float) -> int:
        """Steps in which an order for this dish can be met."""
        return math.ceil(_exact(PATIENCE * SHARE * alpha * self.work(dish)))


def _exact(number: float) -> float:
    """Without the last bits, which decide where a number should be whole."""
    return round(number, 9)


def _two(*tools: str) -> tuple[str, ...]:
    return tuple(tool for tool in tools for _ in range(2))


_BOARD = "chopping board"
_BURRITOS = ("pork burrito", "beef burrito", "chicken burrito")
_SUSHI = ("salmon sushi", "tuna sushi")
LEVELS = (
    Level(("salmon meatcake",), ("blender",)),
    Level(("salmon meatcake", "lamb meatcake", "lobster meatcake"), _two("blender")),
    Level(("salmon sashimi", "tuna sashimi", "mixed sashimi"), _two(_BOARD, "mixer")),
    Level(_SUSHI, _two("pot", _BOARD, "mixer")),
    Level(
        ("tomato salad", "tomato lettuce salad", "tomato cucumber salad", "lettuce salad"),
        _two(_BOARD, "mixer"),
    ),
    Level(
        ("tomato pasta", "beef pasta", "pork pasta"),
        _two("pan", "pot", "mixer", "blender", _BOARD),
    ),
    Level(("pepperoni pizza", "hawaiian pizza", "chicken pizza"), _two("blender", "oven")),
    Level(
        ("onion potato carrot soup", "onion potato leek soup", "onion broccoli cheese soup"),
        _two("pot"),
    ),
    Level(("pork dumpling", "beef dumpling", "salmon dumpling"), _two("steamer", "blender")),
    Level(("cheese burger", "max burger", "hopper burger"), _two("pan", "mixer", _BOARD)),
    Level(_BURRITOS, _two("pan", "mixer", "pot")),
    Level((*_BURRITOS, *_SUSHI), _two("pan", "mixer", "pot", _BOARD)),
    Level(
        ("potato salad", "mashed potato", "french fries"),
        _two("pan", "blender", "mixer", "steamer", _BOARD),
    ),
)


def published_orders(dishes: int, interval: int, horizon: int, episode: int) -> list[int]:
    """The dishes that the published evaluation ordered in one of its episodes, by their numbers."""
    draws = random.Random(0)
    many = 1 + horizon // interval
    for _ in range(episode):
        for _ in range(many):
            draws.choice(range(dishes))
    return [draws.choice(range(dishes)) for _ in range(many)]


def find_level(level: Any) -> Level:
    """One of the published levels."""
    if level not in range(len(LEVELS)):
        raise BadArgument(f"levels are 0 to {len(LEVELS) - 1}; given {level!r}")
    return LEVELS[level]


def numbered(tools: tuple[str, ...]) -> tuple[str, ...]:
    """Names of tools; with a number where there are several of a kind."""
    many = {tool: tools.count(tool) for tool in tools}
    seen: dict[str, int] = {}
    names = []
    for tool in tools:
        seen[tool] = seen.get(tool, 0) + 1
        names.append(f"{tool} {seen[tool]}" if many[tool] > 1 else tool)
    return tuple(names)
