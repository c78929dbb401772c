"""Scripted citizens do what their names say, in every dilemma of the catalogue."""

from functools import cache

import jax
import numpy as np
import pytest

import sociarium
from sociarium import catalogue
from sociarium.arena.batch import Batch
from sociarium.arena.rollout import rollout
from sociarium.core.facets import Cooperation
from sociarium.players import roster
from tests.families import in_ci

EPISODES = 5
IDS = [entry.id for entry in catalogue.WORLDS if entry.kind == "dilemma"]
OFTEN = ("coins-v0", "clean_up-v0")
COOPERATOR, IDLE, RANDOM, DEFECTOR, CONDITIONAL = range(5)
KINDS = "script:cooperator idle random script:defector script:conditional"


@cache
def played(name):
    """Returns and events of line-ups `(most, last)`: all seats but the last, and the last."""
    env = sociarium.make(name)
    lineups = [
        *((kind, DEFECTOR) for kind in (COOPERATOR, IDLE, RANDOM)),
        *((kind, kind) for kind in range(5)),
        *((DEFECTOR, kind) for kind in (COOPERATOR, CONDITIONAL)),
    ]
    seating = np.array([[most] * (env.players - 1) + [last] for most, last in lineups])
    batch = Batch(env, roster.parse(KINDS), np.repeat(seating, EPISODES, axis=0), seed=1)
    sums = batch.sums([spec.name for spec in env.event_specs if spec.axis == "actor"])
    by_lineup = jax.tree.map(
        lambda x: x.reshape(len(lineups), EPISODES, env.players), (sums.raw, sums.done)
    )
    return env, {
        lineup: jax.tree.map(lambda x, at=at: x[at], by_lineup) for at, lineup in enumerate(lineups)
    }


def count(done, events, seats=slice(None)):
    return sum(done[event][:, seats].sum() for event in events)


@pytest.mark.parametrize("name", in_ci(IDS, OFTEN))
def test_idle_and_random_players_cooperate_less_than_cooperators(name):
    """Beside a defector, who makes opportunities, they do it less; over all, at a lower rate."""
    env, play = played(name)
    acts, rates = [], []
    for kind in (COOPERATOR, IDLE, RANDOM):
        beside, alone = play[kind, DEFECTOR][1], play[kind, kind][1]
        did, did_not = (
            np.array([count(beside, events, slice(-1)), count(alone, events)])
            for events in (env.facet(Cooperation).acts, env.facet(Cooperation).refusals)
        )
        acts.append(did[0])
        rates.append(did.sum() / max(did.sum() + did_not.sum(), 1))
    assert acts[0] > max(acts[1:])
    assert rates[0] > max(rates[1:])


@pytest.mark.parametrize("name", in_ci(IDS, OFTEN))
def test_cooperators_together_earn_more_than_defectors_together(name):
    _, play = played(name)
    together, apart = (play[kind, kind][0].mean(axis=1) for kind in (COOPERATOR, DEFECTOR))
    assert np.median(together) > apart.max()


@pytest.mark.parametrize("name", in_ci(IDS, OFTEN))
def test_conditional_players_among_themselves_cooperate(name):
    _, play = played(name)
    conditional, cooperating = (play[kind, kind][0].sum() for kind in (CONDITIONAL, COOPERATOR))
    assert conditional > 0.75 * cooperating


@pytest.mark.parametrize(
    ("name", "selfish"),
    [
        ("coins-v0", "took_other"),
        pytest.param("coop_mining-v0", "mined_iron", marks=pytest.mark.slow),
        pytest.param("mushrooms-v0", "ate_red", marks=pytest.mark.slow),
        pytest.param("pd_arena-v0", "took_defect", marks=pytest.mark.slow),
        pytest.param("gift_refinement-v0", "wasted", marks=pytest.mark.slow),
    ],
)
def test_a_conditional_player_among_defectors_does_as_they_do(name, selfish):
    _, play = played(name)
    conditional, cooperating = (
        count(play[DEFECTOR, kind][1], (selfish,), -1) for kind in (CONDITIONAL, COOPERATOR)
    )
    assert conditional > cooperating + 3 * EPISODES


def test_a_conditional_player_among_defectors_cleans_less():
    _, play = played("clean_up-v0")
    conditional, cooperating = (
        count(play[DEFECTOR, kind][1], ("cleaned",), -1) for kind in (CONDITIONAL, COOPERATOR)
    )
    assert conditional < 0.8 * cooperating


def test_cooperators_of_clean_up_keep_the_river_clean_and_eat():
    env = sociarium.make("clean_up")
    episode = rollout(env, "script:cooperator", steps=400)
    assert episode.gauges["clean_water"][150:].mean() > 110
    assert episode.raw_returns.min() > 50


def test_cooperators_of_coop_mining_mine_gold_together_and_no_iron():
    env = sociarium.make("coop_mining")
    episode = rollout(env, "script:cooperator", steps=500)
    kinds = [row.kind for row in episode.events]
    assert kinds.count("mined_gold") > 30
    assert kinds.count("mined_iron") == 0


def test_cooperators_of_harvest_never_take_a_last_apple():
    episode = rollout(sociarium.make("harvest_open"), "script:cooperator", steps=400)
    assert not any(row.kind == "ate_last" for row in episode.events)
    assert episode.gauges["patches"][-1] == 6


def test_raiders_strip_the_trees_and_then_zap():
    env = sociarium.make("harvest_open")
    episode = rollout(env, "script:raider", steps=400)
    eaten = [row.step for row in episode.events if row.kind == "ate"]
    fired = [row.step for row in episode.events if row.kind == "fired"]
    assert len(fired) > 200 and np.median(fired) > np.median(eaten)


def test_foragers_of_coins_take_only_their_own():
    episode = rollout(sociarium.make("coins"), "script:forager", steps=300)
    kinds = [row.kind for row in episode.events]
    assert kinds.count("took_own") > 10
    assert kinds.count("took_other") == 0
