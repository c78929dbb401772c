import numpy as np
from docs.synthesis_tree import Edge, edges, levels, tree

import sociarium
from sociarium.core.facets import Crafting
from sociarium.core.recipes import RecipeSpec, depths
from sociarium.views import colours

HAMMER = RecipeSpec("hammer_craft", {"wood": 1, "stone": 2}, {"hammer": 1})
TORCH = RecipeSpec("torch_craft", {"wood": 1, "coal": 1}, {"torch": 1}, ("coal", "hammer"))
SOURCES = {"wood": (), "stone": (), "coal": ("hammer",)}


def shades(image):
    return {colour for _, colour in image.getcolors(100_000)}


def test_lines_lead_from_inputs_and_tools_to_what_they_make_or_open_up():
    assert set(edges([HAMMER, TORCH], SOURCES)) == {
        Edge("wood", "hammer", 1),
        Edge("stone", "hammer", 2),
        Edge("hammer", "coal", 0),
        Edge("wood", "torch", 1),
        Edge("coal", "torch", 1),
        Edge("hammer", "torch", 0),
    }


def test_kinds_stand_as_deep_as_the_rules_count():
    for task in ("easy", "hard", "exploration", "survival"):
        world = sociarium.make(f"frontier_{task}")
        assert levels(world.facet(Crafting).recipes, world.facet(Crafting).sources) == depths(
            world.facet(Crafting).recipes, world.facet(Crafting).sources
        )


def test_what_cannot_be_had_stands_last():
    unicorn = RecipeSpec("magic", {"horn": 1}, {"unicorn": 1})
    assert levels([HAMMER, unicorn], SOURCES)["unicorn"] == 3
    assert levels([HAMMER, unicorn], SOURCES)["horn"] == 3
    assert tree([HAMMER, unicorn], SOURCES).width > tree([HAMMER], SOURCES).width


def test_the_tree_grows_with_its_kinds_and_stays_readable():
    small = tree([HAMMER], {"wood": (), "stone": ()})
    world = sociarium.make("frontier_exploration")
    large = tree(world.facet(Crafting).recipes, world.facet(Crafting).sources)
    assert small.width < 260
    assert small.height < 260
    assert 900 < large.width < 1400
    assert large.height < 600


def test_what_is_not_discovered_is_faint():
    every, none = tree([HAMMER, TORCH], SOURCES), tree([HAMMER, TORCH], SOURCES, discovered=())
    some = tree([HAMMER, TORCH], SOURCES, discovered={"wood", "stone", "hammer"})
    assert every.size == none.size == some.size
    vivid = [
        int(np.ptp(np.asarray(image).astype(int), axis=-1).max(initial=0))
        for image in (none, some, every)
    ]
    assert vivid[0] < 30 < vivid[1]
    assert len(shades(none)) < len(shades(some)) < len(shades(every))


def test_unknown_names_circles_and_empty_trees_are_drawn():
    circle = [
        RecipeSpec("to", {"yin": 1}, {"yang": 1}),
        RecipeSpec("fro", {"yang": 1}, {"yin": 1}),
        RecipeSpec("copy", {"yin": 1}, {"yin": 2}),
    ]
    image = tree(circle, {"yin": ()})
    assert colours.of_goods("yin") in shades(image)
    assert tree(circle, {}).width > 0
    assert tree([], {}).size > (0, 0)
