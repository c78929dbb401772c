"""Schedules of the rules' numbers over training."""

import jax.numpy as jnp
import pytest

import sociarium
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.params import parameter
from sociarium.learning.curriculum import CURRICULA, Curriculum

SOCIETY = sociarium.make("clean_up+contract?rounds=2", players=3)


def at(curriculum, progress, *names):
    params = curriculum.at(curriculum.env.params(), jnp.float32(progress))
    return [float(parameter(params, name)) for name in names]


def test_numbers_follow_the_stages_and_move_in_a_straight_line_within_one():
    plan = Curriculum(SOCIETY, "0.5:forced=1,deliberation=0 0.9:forced=1..0 1:")
    assert at(plan, 0.0, "forced", "deliberation") == [1, 0]
    assert at(plan, 0.49, "forced", "deliberation") == [1, 0]
    assert at(plan, 0.5, "forced", "deliberation") == [1, 6]
    assert at(plan, 0.7, "forced", "deliberation") == pytest.approx([0.5, 6])
    assert at(plan, 0.95, "forced", "deliberation") == [-1, 6]


def test_without_a_curriculum_the_numbers_are_those_of_the_rules():
    params = SOCIETY.params()
    assert Curriculum(SOCIETY).at(params, jnp.float32(0.3)) == params


def test_numbers_of_the_world_can_be_scheduled_too():
    world = sociarium.make("clean_up-v0", players=3)
    plan = Curriculum(world, "0.5:waste_chance=0 1:waste_chance=0..0.5")
    assert at(plan, 0.2, "waste_chance") == [0] and at(plan, 0.75, "waste_chance") == [0.25]


JOINED = [1.0, 0.0]  # everybody is in one group, and nobody is asked
NAMED = {  # `forced` and `deliberation` by the share of training; None: as in the rules
    "contract": {0.0: JOINED, 0.34: JOINED, 0.525: [0.5, 0.0], 0.71: None, 0.99: None},
    "contract-direct": {0.0: JOINED, 0.34: JOINED, 0.36: None, 0.99: None},
    "grand-coalition": {0.0: JOINED, 0.5: JOINED, 0.99: JOINED},
}


@pytest.mark.parametrize("world", ["coins", "frontier_easy"])
def test_named_curricula_suit_any_world_under_a_contract(world):
    assert {*NAMED} == {*CURRICULA} - {""}
    env = sociarium.make(f"{world}+contract")
    names = ("forced", "deliberation")
    rules = [float(parameter(env.params(), name)) for name in names]
    assert rules not in (JOINED, [0.5, 0.0])
    for name, stages in NAMED.items():
        plan = Curriculum(env, name)
        for share, numbers in stages.items():
            assert at(plan, share, *names) == pytest.approx(numbers or rules, abs=1e-5)


@pytest.mark.parametrize(
    "text", ["0.5:forced=1", "1: 0.5:", "forced=1", "1:forced", "1:forced=x", "0:"]
)
def test_unreadable_curricula_are_refused(text):
    with pytest.raises(BadArgument, match="stage"):
        Curriculum(SOCIETY, text)


def test_unknown_numbers_are_refused():
    with pytest.raises(UnknownName, match="forced"):
        Curriculum(SOCIETY, "1:enforced=1")
