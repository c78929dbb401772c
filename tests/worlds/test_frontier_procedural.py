"""Drawn graphs of recipes: solvable, neutral, reproducible, and split for good."""

import jax
import numpy as np
import pytest

import sociarium
from sociarium.core.errors import UnknownName
from sociarium.core.facets import Crafting
from sociarium.core.recipes import depths
from sociarium.envs.frontier import procedural
from sociarium.envs.frontier.oracle import bound

SEEDS = range(30)


def structure(task):
    """The graph of a task without its names."""
    number = {kind: n for n, kind in enumerate(task.kinds)}
    recipes = tuple(
        tuple(sorted((number[kind], units) for kind, units in event.takes.items()))
        for event in task.events.values()
    )
    return recipes, tuple(tuple(map(number.get, data.needs)) for data in task.resources.values())


@pytest.mark.parametrize("split", procedural.SPLITS)
def test_every_kind_can_be_had(split):
    for seed in SEEDS:
        env = procedural.Procedural(seed, split)
        assert set(depths(env.facet(Crafting).recipes, env.facet(Crafting).sources)) == set(
            env.kinds
        )


def test_something_of_every_kind_can_be_made_in_one_episode():
    for seed in range(8):
        task = procedural.procedural_task(seed)
        assert bound(task).total > sum(
            data.worth * data.piles * data.units[1] for data in task.resources.values()
        )


def test_no_structure_is_in_both_splits():
    train, test = (
        {structure(procedural.procedural_task(seed, split)) for seed in SEEDS}
        for split in procedural.SPLITS
    )
    assert not train & test
    assert len(train) > 25 and len(test) > 25


def test_the_same_seed_gives_the_same_task():
    assert procedural.procedural_task(4) == procedural.procedural_task(4)
    assert procedural.procedural_task(4) != procedural.procedural_task(5)


def test_every_graph_has_the_same_shapes():
    """So that a learner for one plays any other, and their parameters can be batched."""
    shapes = set()
    for seed in range(5):
        env = procedural.Procedural(seed)
        leaves = jax.tree.leaves(env.params())
        shapes.add((len(env.actions), env.view_spec.rows, tuple(np.shape(x) for x in leaves)))
    assert len(shapes) == 1


def test_names_mean_nothing():
    names = {kind for seed in SEEDS for kind in procedural.procedural_task(seed).kinds}
    known = set(sociarium.make("frontier_exploration").kinds)
    assert not names & known
    assert all(len(name) == 4 for name in names)


def test_an_unknown_split_is_refused():
    with pytest.raises(UnknownName, match="train"):
        procedural.procedural_task(0, "exam")
