"""The rules of the hierarchy, one test or more for each, and a worked example of three layers."""

import jax.numpy as jnp
import pytest

import sociarium
from sociarium.charters.article import NONE
from sociarium.charters.hierarchy import Hierarchy
from sociarium.charters.society import Society
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.mechanics.social import NOBODY
from tests.charters.sharing import circumstances, shared


def charter(decides="majority", players=7, **numbers):
    """The article as it is bound to a world, and the circumstances of each of its steps."""
    world = sociarium.make("clean_up-v0", players=players)
    society = Society(world, Hierarchy(decides=decides, **{"size": 3, "unions": 2, **numbers}))
    (rules,) = society.charter.articles
    return rules, lambda clock=0: circumstances(society, clock)


def decided(decides, votes, before=None):
    rules, _ = charter(decides)
    before = jnp.full(rules.groups, NOBODY) if before is None else jnp.array(before)
    return rules.decided(jnp.array(votes), before).tolist()


def test_c1_groups_are_of_neighbouring_seats():
    assert charter()[0].group.tolist() == [0, 0, 0, 1, 1, 1, 2]


def test_c2_a_vote_stands_until_it_is_changed():
    rules, at = charter()
    params = rules.defaults()
    state = rules.begin(sociarium.key(0), at(), params)
    for deed, standing in ((1, 1), (NONE, 1), (2, NOBODY), (0, 0)):
        deeds = jnp.full(7, NONE).at[4].set(deed)
        state, events = rules.act(None, state, deeds, at(), params)
        assert state.vote.tolist() == [NOBODY] * 4 + [standing] + [NOBODY] * 2
        assert bool(events["voted"].mask[4]) == (deed != NONE)


def test_c2_only_another_vote_than_the_standing_one_is_legal():
    rules, at = charter()
    params = rules.defaults()
    state = rules.begin(sociarium.key(0), at(), params)
    assert rules.legal(state, at(), params)[0].tolist() == [True, True, False]


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
    rules, at = charter(period=3)
    params = rules.defaults()
    state = rules.begin(sociarium.key(0), at(), params)
    deeds, unions = jnp.zeros(7, jnp.int32), []
    for clock in range(3):
        state, _ = rules.act(None, state, deeds, at(clock), params)
        unions.append(state.union.tolist())
        state = rules.turn(sociarium.key(clock), state, at(clock + 1), params)
    assert unions == [[NOBODY] * 3, [NOBODY] * 3, [0, 0, 0]]


def test_c4_points_flow_through_groups_and_unions():
    # Groups {0,1,2}, {3,4,5} and {6}. The first and the last are united: 3 members and 1.
    # Their 12 points go 3 to 1 to the groups, 9 and 3; the second group keeps its 6.
    rules, at = charter()
    params = rules.defaults()
    state = rules.begin(sociarium.key(0), at(), params)
    state = type(state)(state.vote, jnp.array([0, NOBODY, 0]))
    assert shared(rules, [12, 0, 0, 6, 0, 0, 0], state, at(), params) == [3, 3, 3, 2, 2, 2, 3]


def test_unknown_ways_to_decide_and_impossible_sizes_are_refused():
    with pytest.raises(UnknownName, match="majority"):
        Hierarchy(decides="mayority")
    with pytest.raises(BadArgument, match="at least 1"):
        Hierarchy(size=0)
