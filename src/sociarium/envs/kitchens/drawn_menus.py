"""Levels of Cuisine that nobody has cooked before: dishes, recipes and tools drawn from a seed.

A drawn level can be cooked by construction: every part of a dish is raw or made from raw things, no
two recipes ask the same of one tool, the kitchen has all tools that its recipes name, and its kinds
of tools have an order in which things go through them, so that none waits for another for ever.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from sociarium.envs.kitchens.menus import COOK_TIME, RAW, TAKEN_RAW, Level, Recipe

PREPARED = {  # what is made of one thing
    "chopping board": "cut",
    "blender": "ground",
    "pan": "fried",
    "fryer": "crisp",
    "mixer": "whisked",
    "pot": "boiled",
    "steamer": "steamed",
    "oven": "baked",
}
SERVED = {  # what is made of several
    "blender": "paste",
    "pan": "fry-up",
    "fryer": "fritters",
    "mixer": "salad",
    "pot": "stew",
    "steamer": "dumplings",
    "oven": "pie",
}
LEFT_RAW = 0.45  # the share of parts that need no tool of their own
DEEPEST = 2  # tools that a part goes through before the last
MOST_ITEMS = 24


def draw_level(seed: int) -> Level:
    """The level of a seed."""
    lot = random.Random(seed)
    while True:
        level = _try(lot)
        asked = {(recipe.tool, frozenset(recipe.needs)) for recipe in level.needed}
        items = len(level.raw) + len(level.needed)
        if len(asked) == len(level.needed) and items <= MOST_ITEMS:
            return level


def _try(lot: random.Random) -> Level:
    """A level, perhaps with two recipes that one tool cannot tell apart."""
    kinds = lot.sample(list(COOK_TIME), lot.randint(2, 4))  # in the order in which they are used
    raw = lot.sample(RAW, lot.randint(3, 6))
    book: dict[str, Recipe] = {}
    dishes = dict.fromkeys(_dish(lot, kinds, raw, book) for _ in range(lot.randint(2, 4)))
    level = Level(tuple(dishes), (), book)
    tools = [kind for kind in kinds if kind in level.missing for _ in range(lot.randint(1, 2))]
    return replace(level, tools=tuple(tools))


def _dish(
    lot: random.Random, kinds: Sequence[str], raw: Sequence[str], book: dict[str, Recipe]
) -> str:
    """The name of a dish that is now in the book."""
    last = lot.choice([kind for kind in kinds if kind != TAKEN_RAW])
    parts = lot.sample(raw, lot.randint(2, 3))
    name = f"{' '.join(parts)} {SERVED[last]}"
    needs = tuple(_prepared(lot, part, kinds, last, DEEPEST, book) for part in parts)
    book[name] = Recipe(name, needs, last)
    return name


def _prepared(
    lot: random.Random,
    part: str,
    kinds: Sequence[str],
    after: str,
    deep: int,
    book: dict[str, Recipe],
) -> str:
    """A raw thing as it goes into a tool: as it is, or out of another one."""
    before = kinds[: kinds.index(after)]
    if not before or not deep or lot.random() < LEFT_RAW:
        return part
    kind = lot.choice(before)
    inner = _prepared(lot, part, kinds, kind, deep - 1, book)
    name = f"{PREPARED[kind]} {inner}"
    book[name] = Recipe(name, (inner,), kind)
    return name
