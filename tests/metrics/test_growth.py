"""Progress through recipes, counted by hand."""

import dataclasses

import numpy as np
import pytest

from sociarium.core.events import Row
from sociarium.core.facets import Bounds, Crafting
from sociarium.core.recipes import Bound, RecipeSpec
from sociarium.core.specs import EventSpec
from sociarium.evaluation.progress import progress
from sociarium.metrics.growth import growth
from tests.metrics.records import episode, in_columns
from tests.toys.meadow import Meadow

KINDS, WORK = ("wood", "stone", "hammer", "coal"), ("forge",)
SPECS = tuple(
    EventSpec(name, "", values=values)
    for name, values in (
        ("picked", KINDS),
        ("synthesised", WORK),
        ("handed_over", KINDS),
        ("discovered", KINDS),
    )
)
CRAFTING = Crafting(
    recipes=(RecipeSpec("forge", {"wood": 1, "stone": 1}, {"hammer": 1}),),
    sources={"wood": (), "stone": (), "coal": ("hammer",)},
    knows=lambda state: state,
    made="synthesised",
    taken="picked",
    discovered="discovered",
    handed_over="handed_over",
)


def row(step, kind, value, actor=0):
    return Row(step, kind, actor, -1, 0, 0, float(value))


@pytest.fixture
def record():
    rows = (
        row(0, "discovered", 0),
        row(1, "picked", 0),
        row(4, "discovered", 2),
        row(4, "synthesised", 0),
        row(5, "synthesised", 0, actor=1),
        row(7, "discovered", 2, actor=1),
        row(7, "handed_over", 2),
    )
    return dataclasses.replace(episode(np.ones((10, 2))), events=in_columns(rows))


def test_executions_and_handovers_are_counted(record):
    grown = growth(record, SPECS, CRAFTING)
    assert grown.executions == {"forge": 2}
    assert grown.handed_over == 1


def test_the_first_discovery_by_anybody_counts(record):
    assert growth(record, SPECS, CRAFTING).discovered == {"wood": 1, "hammer": 5}


def test_depth_counts_making_and_unlocking(record):
    assert growth(record, SPECS, CRAFTING).deepest == 1
    deeper = dataclasses.replace(record, events=in_columns([*record.events, row(8, "picked", 3)]))
    assert growth(deeper, SPECS, CRAFTING).deepest == 2


def test_completion_is_a_share_of_the_optimum(record):
    grown = growth(record, SPECS, CRAFTING)
    assert grown.completion(Bound(10.0, {"forge": 8, "kiln": 0})) == {"forge": 0.25}


def test_nothing_happened():
    grown = growth(episode(np.zeros((3, 2))), SPECS, CRAFTING)
    assert (grown.executions, grown.handed_over, grown.deepest, grown.discovered) == ({}, 0, 0, {})


def test_progress_is_measured_against_the_oracle(record):
    env = Meadow()
    oracle = {"oracle": Bound(40.0, {"forge": 8})}
    env.event_specs, env.facets = SPECS, (CRAFTING, Bounds(lambda params, seed: oracle))
    found = progress(env, [record, record])
    assert found.share.mean == 0.5
    assert found.completion["forge"].mean == 0.25
    assert found.discovered == {"wood": 1.0, "stone": 0.0, "hammer": 1.0, "coal": 0.0}
    assert found.first["hammer"].mean == 5
    assert found.as_dict()["share"]["mean"] == 0.5
