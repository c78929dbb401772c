"""Levels drawn from a seed: new, the same for the same seed, and possible to cook."""

import pytest

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.envs.kitchens.drawn_menus import DEEPEST, MOST_ITEMS, draw_level
from sociarium.envs.kitchens.menus import ALPHAS, RAW, RECIPES
from sociarium.envs.kitchens.schedule import solve
from sociarium.envs.kitchens.work import Order, Problem

SEEDS = range(100)


def test_a_seed_gives_one_level_and_another_seed_another():
    levels = [draw_level(seed) for seed in SEEDS]
    assert levels == [draw_level(seed) for seed in SEEDS]
    assert len({level.dishes for level in levels}) > 95
    assert not {dish for level in levels for dish in level.dishes} & set(RECIPES)


@pytest.mark.parametrize("seed", SEEDS)
def test_recipes_of_a_drawn_level_are_made_of_what_there_is(seed):
    level = draw_level(seed)
    products = {recipe.product for recipe in level.needed}
    tool_of = {recipe.product: recipe.tool for recipe in level.needed}
    assert set(level.dishes) <= products and not level.missing
    assert set(level.raw) <= set(RAW) and len(level.raw) + len(products) <= MOST_ITEMS
    asked = [(recipe.tool, frozenset(recipe.needs)) for recipe in level.needed]
    assert len(set(asked)) == len(asked)
    goes_into = {(tool_of[n], r.tool) for r in level.needed for n in r.needs if n in tool_of}
    assert not any(one == other or (other, one) in goes_into for one, other in goes_into)
    problem = Problem((), level.tools, 2, 60, level.book)
    assert all(depth(problem.tree(dish)) <= 1 + DEEPEST for dish in level.dishes)


def depth(node):
    return 1 + max((depth(part) for part in node.parts), default=0)


@pytest.mark.parametrize(
    "seed", [seed if seed < 3 else pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS]
)
def test_two_cooks_can_serve_every_dish_of_a_drawn_level_in_time(seed):
    """At the middle interval, with nothing cooked in advance."""
    level = draw_level(seed)
    for dish in level.dishes:
        order = Order(dish, 0, level.patience(dish, ALPHAS[2]) - 1, True)
        found = solve(
            Problem((order,), level.tools, 2, 60, level.book), precook=False, seconds=10.0
        )
        assert found.best == found.bound == 1


def test_greedy_cooks_serve_what_they_have_never_cooked():
    episode = rollout(sociarium.make("cuisine?level_seed=5"), "script:greedy*2")
    assert episode.raw.sum() >= 4
