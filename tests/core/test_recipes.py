"""Recipes in words, and how deep each kind lies."""

import sociarium
from sociarium.core.facets import Crafting
from sociarium.core.recipes import RecipeSpec, depths

HAMMER = RecipeSpec("carving", {"wood": 1}, {"hammer": 1}, ("coal",))
COAL = RecipeSpec("burning", {"stone": 1}, {"coal": 1})


def test_a_recipe_says_what_it_takes_gives_and_needs():
    forge = RecipeSpec("forge", {"iron": 2, "coal": 1}, {"steel": 1, "slag": 3}, ("iron", "torch"))
    assert str(forge) == (
        "forge: 2 iron and 1 coal make 1 steel and 3 slag; seen only by who holds iron and torch"
    )
    assert str(COAL) == "burning: 1 stone make 1 coal"


def test_depths_of_the_papers_tree_count_making_and_unlocking():
    world = sociarium.make("frontier_exploration-v0")
    by_depth = {
        0: "wood stone",
        1: "hammer",
        2: "coal",
        3: "torch",
        4: "iron",
        5: "steel",
        6: "shovel pickaxe cutter",
        7: "clay gem_mine",
        8: "pottery gem",
        9: "totem",
    }
    expected = {kind: depth for depth, kinds in by_depth.items() for kind in kinds.split()}
    assert depths(world.facet(Crafting).recipes, world.facet(Crafting).sources) == expected


def test_what_cannot_be_had_has_no_depth():
    assert depths((HAMMER, COAL), {"wood": ()}) == {"wood": 0}
    found = depths((HAMMER, COAL), {"wood": (), "stone": ()})
    assert found == {"wood": 0, "stone": 0, "coal": 1, "hammer": 2}
    assert depths((RecipeSpec("carving", {"wood": 1}, {"hammer": 1}),), {"wood": ("hammer",)}) == {}
    assert depths((), {}) == {}


def test_the_shortest_way_counts():
    ways = (HAMMER, COAL, RecipeSpec("knapping", {"stone": 2}, {"hammer": 1}))
    assert depths(ways, {"wood": (), "stone": ()})["hammer"] == 1
