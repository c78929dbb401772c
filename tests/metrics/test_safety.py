"""Peace and attacks, worked out by hand."""

import equinox as eqx
import numpy as np

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.charters.contract import Contract
from sociarium.charters.society import Society
from sociarium.metrics.safety import effective, fired, hits, peace, presence
from tests.metrics.records import episode, happened

QUIET = episode([[0, 0, 0]] * 2)
RAID = episode(
    [[0, 0, 0]] * 4,
    present=[[1, 1, 1], [1, 0, 1], [1, 0, 0], [1, 1, 0]],
    events=[
        happened(0, "fired", actor=0),
        happened(0, "zapped", actor=0, target=1),
        happened(0, "zapped", actor=0, target=2),
        happened(1, "fired", actor=0),
        happened(1, "fired", actor=2),
        happened(1, "ate", actor=1),
        happened(3, "fired", actor=0),
        happened(3, "zapped", actor=0, target=2),
    ],
)


def test_peace_is_the_share_of_player_steps_in_play():
    assert presence(RAID).tolist() == [1, 0.5, 0.5]
    assert peace(RAID) == 8 / 12
    assert peace(QUIET) == 1


def test_presence_is_that_of_the_world_under_a_charter_too():
    """Whoever waits for its turn to join a group is in play."""
    env = sociarium.make("coins+contract?rounds=1")
    episode = rollout(env, "random", steps=6)
    assert episode.present.all() and peace(episode) == 1


def test_a_player_sent_out_is_not_present():
    env = sociarium.make("harvest_one_tree", players=2)
    params = env.params()
    state = env.reset(sociarium.key(0), params)
    out = eqx.tree_at(lambda s: s.body, state, state.body.at[1].set(env.terrain.nowhere))
    assert env.present(out).tolist() == [True, False]
    society = Society(env, Contract(rounds=1))
    start = society.reset(sociarium.key(0), society.params())
    assert society.present(eqx.tree_at(lambda s: s.world, start, out)).tolist() == [True, False]


def test_before_any_step_there_is_peace():
    assert peace(episode(np.zeros((0, 2)))) == 1


def test_attacks_are_counted_by_who_fires():
    assert fired(RAID).tolist() == [3, 0, 1]
    assert fired(QUIET).tolist() == [0, 0, 0]


def test_an_attack_is_effective_once_however_many_it_hits():
    assert effective(RAID).tolist() == [2, 0, 0]
    assert effective(QUIET).tolist() == [0, 0, 0]


def test_the_matrix_says_who_hit_whom():
    assert hits(RAID).tolist() == [[0, 1, 2], [0, 0, 0], [0, 0, 0]]
    assert hits(QUIET).sum() == 0


def test_a_hit_by_nobody_is_nobodys():
    accident = episode([[0, 0]], events=[happened(0, "zapped", target=1)])
    assert hits(accident).sum() == 0 and effective(accident).sum() == 0
