"""The rules of the hierarchy, one test or more for each, and a worked example of three layers."""

import jax.numpy as jnp
import pytest

import sociarium
from sociarium.charters.charter import NONE
from sociarium.charters.hierarchy import Hierarchy
from sociarium.charters.society import Society
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.mechanics.social import NOBODY
from tests.charters.sharing import shared


def charter(decides="majority", players=7, **numbers):
    world = sociarium.make("clean_up-v0", players=players)
    return Society(world, Hierarchy(decides=decides, **{"size": 3, "unions": 2, **numbers})).charter


def decided(decides, votes, before=None):
    rules = charter(decides)
    before = jnp.full(rules.groups, NOBODY) if before is None else jnp.array(before)
    return rules.decided(jnp.array(votes), before).tolist()


def test_c1_groups_are_of_neighbouring_seats():
    assert charter().group.tolist() == [0, 0, 0, 1, 1, 1, 2]


def test_c2_a_vote_stands_until_it_is_changed():
    rules = charter()
    params = rules.defaults()
    state = rules.begin(sociarium.key(0), None, params)
    for deed, standing in ((1, 1), (NONE, 1), (2, NOBODY), (0, 0)):
        deeds = jnp.full(7, NONE).at[4].set(deed)
        state, events = rules.act(None, state, deeds, params)
        assert state.vote.tolist() == [NOBODY] * 4 + [standing] + [NOBODY] * 2
        assert bool(events["voted"].mask[4]) == (deed != NONE)


def test_c2_only_another_vote_than_the_standing_one_is_legal():
    rules = charter()
    params = rules.defaults()
    state = rules.begin(sociarium.key(0), None, params)
    assert rules.legal(state, params)[0].tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("decides", "votes", "unions"),
    [
        ("delegation", [1, 0, 0, NOBODY, 1, 1, 0], [1, NOBODY, 0]),
        ("majority", [1, 0, 0, 1, 1, NOBODY, 0], [0, 1, 0]),
        ("majority", [1, 0, NOBODY, 1, 1, 1, NOBODY], [NOBODY, 1, NOBODY]),
        ("consensus", [0, 0, 0, 1, 1, 0, 1], [0, NOBODY, 1]),
    ],
)
def test_c3_a_group_decides_by_its_rule(decides, votes, unions):
    assert decided(decides, votes) == unions


def test_c3_without_a_decision_things_stay_as_they_are():
    assert decided("consensus", [0, 0, 1, 1, 1, 1, 0], before=[1, 0, NOBODY]) == [1, 1, 0]


def test_c3_groups_decide_every_so_many_steps():
    rules = charter(period=3)
    params = rules.defaults()
    state = rules.begin(sociarium.key(0), None, params)
    deeds, unions = jnp.zeros(7, jnp.int32), []
    for _ in range(3):
        state, _ = rules.act(None, state, deeds, params)
        unions.append(state.union.tolist())
        state = rules.turn(None, state, jnp.bool_(True), None, params)
    assert unions == [[NOBODY] * 3, [NOBODY] * 3, [0, 0, 0]]


def test_c4_points_flow_through_groups_and_unions():
    # Groups {0,1,2}, {3,4,5} and {6}. The first and the last are united: 3 members and 1.
    # Their 12 points go 3 to 1 to the groups, 9 and 3; the second group keeps its 6.
    rules = charter()
    params = rules.defaults()
    state = rules.begin(sociarium.key(0), None, params)
    state = type(state)(state.clock, state.vote, jnp.array([0, NOBODY, 0]))
    assert shared(rules, [12, 0, 0, 6, 0, 0, 0], state, params) == [3, 3, 3, 2, 2, 2, 3]


def test_unknown_ways_to_decide_and_impossible_sizes_are_refused():
    with pytest.raises(UnknownName, match="majority"):
        Hierarchy(decides="mayority")
    with pytest.raises(BadArgument, match="at least 1"):
        Hierarchy(size=0)
