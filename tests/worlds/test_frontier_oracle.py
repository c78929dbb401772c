"""What a society can earn at most: the published numbers, and bounds that no play exceeds."""

import dataclasses

import numpy as np
import pytest

import sociarium
from sociarium.arena.batch import Batch
from sociarium.core.facets import Bounds
from sociarium.envs.frontier.oracle import bound, oracle
from sociarium.envs.frontier.task import Happening, Job, Resource, task
from sociarium.players import roster


@pytest.mark.parametrize(
    ("name", "total"), [("easy", 200), ("hard", 940), ("thirteen", 1000), ("exploration", 12785)]
)
def test_the_oracle_gives_the_published_total(name, total):
    assert oracle(task(name)).total == total


def test_keeping_the_cutter_is_worth_two_thousand():
    exploration = task("exploration")
    cutting = dataclasses.replace(exploration.events["gem_cutting"], takes={"gem_mine": 1})
    kept = dataclasses.replace(exploration, events=exploration.events | {"gem_cutting": cutting})
    assert oracle(kept).total == 14878


def test_the_oracle_tells_how_often_each_event_happens():
    assert oracle(task("hard")).executions == {"hammer_craft": 20, "torch_craft": 20}


@pytest.mark.parametrize(("name", "total"), [("easy", 46), ("hard", 112)])
def test_without_handing_over_little_can_be_earned(name, total):
    assert bound(task(name), handing_over=False).total == total


@pytest.mark.parametrize(("name", "total"), [("hard", 360), ("thirteen", 420)])
def test_with_the_numbers_of_the_code_no_torch_can_be_made(name, total):
    found = bound(task(name).with_reference())
    assert found.total == total
    assert found.executions["torch_craft"] == 0


@pytest.mark.parametrize("name", ["easy", "hard", "thirteen", "exploration", "survival"])
def test_the_bound_is_never_above_the_oracle(name):
    ours, papers = bound(task(name)).total, oracle(task(name)).total
    assert bound(task(name), handing_over=False).total <= ours <= papers


def test_the_bound_respects_the_steps_there_are():
    """One player, three steps: to pick wood and stone and to make a hammer takes all of them."""
    small = _one_player(horizon=3)
    assert bound(small).total == 5
    assert bound(dataclasses.replace(small, horizon=2)).total == 2
    assert oracle(dataclasses.replace(small, horizon=2)).total == 5 * 4


def test_the_bound_respects_capacity():
    small = _one_player(horizon=100, capacity={"hammer": 1})
    assert bound(small, handing_over=False).total == 5 + 3 + 3


def test_tools_must_be_made_before_they_serve():
    """Coal needs a hammer: without anything to make one from, no coal."""
    small = _one_player(horizon=100)
    coal = {"coal": Resource(worth=9.0, needs=("hammer",), piles=1, units=(4, 4))}
    assert bound(dataclasses.replace(small, resources=small.resources | coal)).total == 20 + 36
    bare = {**small.resources, "stone": Resource(worth=1.0), **coal}
    assert bound(dataclasses.replace(small, resources=bare)).total == 4


def test_goods_held_at_the_start_are_not_earned():
    rich = _one_player(horizon=100, holds={"hammer": 2})
    assert bound(rich).total == 20


@pytest.mark.parametrize("name", ["frontier_easy", "frontier_hard"])
@pytest.mark.parametrize("seat", ["script:crafter", "script:trader", "random"])
def test_no_play_exceeds_its_bound(name, seat):
    env = sociarium.make(name)
    chairs = roster.parse(seat)
    played = Batch(env, chairs, np.zeros((8, env.players), int), seed=3)
    totals = np.asarray(played.sums().raw).sum(1)
    bounds = env.facet(Bounds).of(env.params(), 0)
    ceiling = bounds["bound" if seat == "script:trader" else "without handing over"].total
    assert (totals <= ceiling).all()


def _one_player(horizon, **job):
    resources = {
        "wood": Resource(worth=1.0, piles=1, units=(4, 4)),
        "stone": Resource(worth=1.0, piles=1, units=(4, 4)),
        "hammer": Resource(worth=5.0),
    }
    events = {"hammer_craft": Happening({"wood": 1, "stone": 1}, {"hammer": 1}, places=1)}
    jobs = {"smith": Job(players=1, **job)}
    return dataclasses.replace(
        task("easy"), horizon=horizon, resources=resources, events=events, jobs=jobs
    )
