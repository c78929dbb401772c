"""Players of bare worlds in societies: they work as they did, and have social policies."""

import jax
import numpy as np
import pytest

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.players import roster


def played(world, seats, steps):
    env = sociarium.make(world, players=4)
    episode = rollout(env, seats, steps=steps)
    states = episode.states
    return env, episode, jax.tree.map(lambda x: x[-1], states)


def test_without_a_charter_scripts_play_as_they_do_in_the_bare_world():
    seats = "script:cooperator*2 script:defector*2"
    _, bare, _ = played("coins", seats, 40)
    _, society, _ = played("coins+none", seats, 40)
    np.testing.assert_array_equal(bare.actions, society.actions)
    np.testing.assert_array_equal(bare.raw, society.raw)


def test_while_the_world_stands_still_workers_wait_and_then_play_as_ever():
    seats = "script:cooperator*2 script:defector*2"
    _, episode, _ = played("coins+contract?rounds=1", seats, 4 + 30)
    assert not episode.actions[:4].any() and episode.actions[4:].any()
    assert not episode.raw[:4].any()


def test_signers_join_their_group_on_their_turn():
    seats = (
        "script:cooperator?social=signer*2 script:defector?social=signer&group=2 script:defector"
    )
    _, episode, last = played("coins+contract?rounds=2", seats, 8)
    assert last.social["contract"].group.tolist() == [0, 0, 2, 1]
    assert sum(row.kind == "joined" for row in episode.events) == 3


def test_joiners_under_a_contract_join_the_largest_group():
    seats = "script:cooperator?social=joiner*4"
    _, _, last = played("coins+contract?rounds=2", seats, 8)
    assert last.social["contract"].group.tolist() == [0] * 4


def test_joiners_in_an_open_society_join_those_who_earn_most():
    seats = (
        "script:cooperator?social=signer&group=1*2 script:defector?social=signer&group=3 "
        "script:cooperator?social=joiner"
    )
    _, _, last = played("coins+open", seats, 200)
    assert int(last.social["open"].group[3]) in (1, 3)


def test_negotiators_unite_and_split_by_heads():
    seats = "script:cooperator?social=negotiator*4"
    _, _, last = played("coins+negotiation?steps=60", seats, 60)
    assert last.social["negotiation"].coalition.tolist() == [0, 0, 0, 0]
    share = last.social["negotiation"].weight / last.social["negotiation"].weight.sum()
    assert share.max() < 0.5 and share.min() > 0.1


def test_voters_bring_their_groups_into_one_union():
    _, _, last = played("coins+hierarchy", "script:cooperator?social=voter*4", 12)
    assert last.social["hierarchy"].union.tolist() == [0, 0]


def test_anybody_can_be_seated_at_random():
    _, episode, _ = played("coins+open", "script:cooperator?social=random*3 random", 30)
    assert {row.kind for row in episode.events} & {"connected", "joined"}


def test_unknown_social_policies_are_refused_and_so_are_those_without_a_use():
    env = sociarium.make("coins+contract")
    with pytest.raises(UnknownName, match="signer"):
        roster.player(roster.parse("script:cooperator?social=singer")[0], env)
    with pytest.raises(BadArgument, match="negotiator needs a charter"):
        roster.player(roster.parse("script:cooperator?social=negotiator")[0], env)
