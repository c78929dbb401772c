"""Citizens of the frontier: gatherers gather, crafters make, traders pass on."""

from functools import cache

import numpy as np
import pytest

import sociarium
from sociarium.arena.batch import Batch
from sociarium.core.facets import Bounds
from sociarium.players import roster
from tests.families import in_ci

EPISODES = 8


@cache
def shares(name, seat, episodes=EPISODES):
    """What each episode's players earn together, as a share of the oracle, and what they did."""
    env = sociarium.make(name)
    batch = Batch(env, roster.parse(seat), np.zeros((episodes, env.players), int), seed=5)
    sums = batch.sums(("picked", "dumped", "synthesised", "handed_over"))
    done = {kind: np.asarray(value) for kind, value in sums.done.items()}
    return np.asarray(sums.raw).sum(1) / env.facet(Bounds).of(env.params(), 0)["oracle"].total, done


def test_traders_with_a_common_purse_reach_most_of_the_oracle_in_easy():
    assert shares("frontier_easy", "script:trader")[0].mean() > 0.9


def test_traders_pass_tools_on_twice_in_hard():
    assert shares("frontier_hard", "script:trader")[0].mean() > 0.85


def test_crafters_reach_the_ceiling_of_those_who_hand_nothing_over():
    earned = shares("frontier_easy", "script:crafter")[0]
    assert np.isclose(earned.max(), 46 / 200) and earned.mean() > 0.95 * 46 / 200


def test_gatherers_pick_everything_and_make_nothing():
    earned, done = shares("frontier_easy", "script:gatherer")
    assert np.allclose(earned, 40 / 200)
    assert not done["synthesised"].any() and not done["dumped"].any()


@pytest.mark.parametrize(
    ("name", "share"),
    [("frontier_easy", 0.0046), pytest.param("frontier_hard", 0.0020, marks=pytest.mark.slow)],
)
def test_legal_moves_at_random_earn_what_the_paper_reports(name, share):
    earned = shares(name, "random?legal=1", episodes=400)[0]
    assert abs(earned.mean() - share) < 3 * earned.std() / len(earned) ** 0.5


@pytest.mark.parametrize(
    "name", in_ci(["frontier_exploration", "frontier_procedural"], ["frontier_exploration"])
)
def test_crafting_beats_gathering_where_there_is_a_tree(name):
    crafted, gathered = (
        shares(name, f"script:{kind}")[0].mean() for kind in ("crafter", "gatherer")
    )
    assert crafted > 1.5 * gathered


def test_settlers_eat():
    env = sociarium.make("frontier_survival")
    for seat, least in (("script:crafter", 150), ("idle", 100)):
        batch = Batch(env, roster.parse(seat), np.zeros((4, env.players), int), seed=5)
        lengths = np.asarray(batch.sums().length)
        assert (lengths >= least).all() and (seat != "idle" or (lengths <= 100).all())
