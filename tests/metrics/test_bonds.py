"""Ties, worked out by hand and compared with networkx and SciPy on random graphs."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import sociarium
from sociarium.core.actions import find_action
from sociarium.core.errors import MissingExtra, UnknownName
from sociarium.core.scene import Bonds, Circle
from sociarium.metrics.bonds import (
    as_networkx,
    clustering,
    degree_reward,
    degrees,
    frequency,
    group_sizes,
    neighbours,
    persistence,
    reciprocity,
    share_ratio,
    ties,
)

SEVEN = Bonds(
    players=7,
    layers=(
        (Circle("group 0", {0: 0.5, 1: 0.5}), Circle("group 1", {2: 0.2, 3: 0.2, 4: 0.6})),
        (Circle("union 0", {"group 0": 0.4, "group 1": 0.6}),),
    ),
    sight=((0, 1), (1, 0), (0, 2), (5, 0)),
    gifts=((0, 1, 0.1), (6, 5, 0.3)),
    words=((3, -1, 2), (4, 3, 0)),
)
ALONE = Bonds(players=3)


PLAYERS = 6
PAIRS = st.lists(
    st.tuples(st.integers(0, PLAYERS - 1), st.integers(0, PLAYERS - 1)).filter(
        lambda pair: pair[0] != pair[1]
    ),
    unique=True,
    max_size=12,
)
GROUPS = st.lists(st.sets(st.integers(0, PLAYERS - 1), min_size=1), max_size=3)


def society(sight, gifts, groups):
    """Six players, some of whom are in one or more groups."""
    return Bonds(
        players=PLAYERS,
        layers=(
            tuple(
                Circle(f"group {number}", {seat: 1 / len(seats) for seat in sorted(seats)})
                for number, seats in enumerate(groups)
            ),
        ),
        sight=tuple(sight),
        gifts=tuple((*pair, 0.1) for pair in gifts),
    )


def test_degrees_by_sort_of_tie():
    found = degrees(SEVEN)
    assert list(found) == ["sight", "gift", "layer 1", "layer 2"]
    assert found["sight"].out.tolist() == [2, 1, 0, 0, 0, 1, 0]
    assert found["sight"].into.tolist() == [2, 1, 1, 0, 0, 0, 0]
    assert found["gift"].out.tolist() == [1, 0, 0, 0, 0, 0, 1]
    assert found["layer 1"].out.tolist() == [1, 1, 1, 1, 1, 0, 0]
    assert found["layer 1"].into.tolist() == [2, 3]
    assert found["layer 2"].out.tolist() == [1, 1]
    assert found["layer 2"].into.tolist() == [2]
    assert found["sight"].as_dict() == {
        "out_average": pytest.approx(4 / 7),
        "out_most": 2,
        "into_average": pytest.approx(4 / 7),
        "into_most": 2,
    }


def test_a_group_without_players_is_a_node_all_the_same():
    bonds = Bonds(1, layers=((Circle("group 0", {0: 1.0}),), (Circle("union", {"group 1": 1.0}),)))
    assert degrees(bonds)["layer 1"].into.tolist() == [1, 0]
    assert degrees(bonds)["layer 2"].out.tolist() == [0, 1]
    assert group_sizes(bonds) == ({"group 0": 1}, {"union": 0})


def test_there_are_no_averages_without_groups():
    found = degrees(Bonds(2, layers=((),)))["layer 1"]
    assert found.out.tolist() == [0, 0] and found.into.tolist() == []
    assert np.isnan(found.as_dict()["into_average"]) and np.isnan(found.as_dict()["into_most"])
    assert found.as_dict()["out_average"] == 0


def test_ties_of_every_kind():
    assert np.argwhere(ties(SEVEN, ("gift",))).tolist() == [[0, 1], [6, 5]]
    said = [[3, seat] for seat in (0, 1, 2, 4, 5, 6)] + [[4, 3]]
    assert np.argwhere(ties(SEVEN, ("said",))).tolist() == said
    assert ties(SEVEN, ("group",)).sum() == 2 + 6
    assert not ties(ALONE).any()
    with pytest.raises(UnknownName, match="kind of tie"):
        ties(SEVEN, ("blood",))


def test_neighbours_count_once_and_in_either_direction():
    assert neighbours(SEVEN).tolist() == [3, 1, 3, 2, 2, 2, 1]


def test_reciprocity_is_the_share_of_ties_that_are_returned():
    assert reciprocity(SEVEN, ("sight",)) == 2 / 4
    assert reciprocity(SEVEN) == 2 / 5
    assert reciprocity(SEVEN, ("group",)) == 1
    assert np.isnan(reciprocity(ALONE))


def test_clustering_is_transitivity():
    assert clustering(SEVEN, ("group",)) == 1
    assert clustering(SEVEN, ("sight",)) == 0  # 0 has three neighbours, none of them tied
    # pairs at 0: 3 (none tied), at 2: 3 (one tied: 3 and 4), at 3 and 4: 1 each, at 5: 1
    assert clustering(SEVEN) == 3 / 9
    assert np.isnan(clustering(ALONE))
    assert np.isnan(clustering(Bonds(2, sight=((0, 1),))))


def test_how_often_and_how_long_pairs_are_tied():
    tied, gone = Bonds(3, sight=((1, 0),)), Bonds(3, gifts=((1, 2, 0.5),))
    history = [tied, tied, gone, tied, gone]
    often, long = frequency(history), persistence(history)
    assert (often == often.T).all()
    assert often[0].tolist() == pytest.approx([0, 3 / 5, 0])
    assert often[1, 2] == pytest.approx(2 / 5)
    assert long[0, 1] == 3 / 2 and long[2, 1] == 1
    assert np.isnan(long[0, 2]) and np.isnan(np.diag(long)).all()


def test_degree_and_reward():
    star = Bonds(4, sight=((0, 1), (0, 2), (0, 3)))
    assert degree_reward([star], np.array([9.0, 1.0, 1.0, 1.0])) == pytest.approx(1)
    assert degree_reward([star], np.array([0.0, 1.0, 1.0, 1.0])) == pytest.approx(-1)
    assert np.isnan(degree_reward([star], np.ones(4)))
    assert np.isnan(degree_reward([Bonds(4)], np.arange(4.0)))
    later = Bonds(4, gifts=((1, 2, 0.1),))  # mean degrees 3/2, 1, 1, 1/2
    assert degree_reward([star, later], np.array([4.0, 2.0, 2.0, 1.0])) == pytest.approx(1)


@given(PAIRS, PAIRS, GROUPS, st.lists(st.integers(0, 4), min_size=PLAYERS, max_size=PLAYERS))
def test_rank_correlation_is_the_usual_one(sight, gifts, groups, returns):
    bonds = society(sight, gifts, groups)
    returns, degree = np.array(returns, float), neighbours(bonds)
    found = degree_reward([bonds], returns)
    if min(len(set(returns)), len(set(degree.tolist()))) == 1:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(scipy.stats.spearmanr(degree, returns).statistic, abs=1e-9)


def test_players_of_every_group():
    assert group_sizes(SEVEN) == ({"group 0": 2, "group 1": 3}, {"union 0": 5})
    assert group_sizes(ALONE) == ()
    twice = Circle("group 1", {0: 0.5, 2: 0.5})
    both = Circle("union 0", {"group 0": 0.5, "group 1": 0.5})
    overlap = Bonds(3, layers=((Circle("group 0", {0: 0.5, 1: 0.5}), twice), (both,)))
    assert group_sizes(overlap)[1] == {"union 0": 3}


def test_the_ratio_of_shares():
    assert share_ratio(SEVEN, (0, 2), (1, 4)) == pytest.approx(0.7 / 1.1)
    assert share_ratio(SEVEN, (5, 6), (4,)) == pytest.approx(2 / 0.6)  # in no group
    assert share_ratio(ALONE, (0, 1), (2,)) == 2
    assert np.isnan(share_ratio(ALONE, (0, 1), ()))


def test_a_society_that_was_played_is_measured():
    env = sociarium.make("coins", players=2, charter="contract?rounds=2&groups=1")
    params, state = env.params(), env.reset(sociarium.key(0), env.params())
    history, joined = [env.scene(state, params).bonds], [0]
    for clock in range(6):  # everybody joins as soon as it may
        wanted = jnp.full(2, find_action(env.actions, "join group 0"))
        state, transition = jax.jit(env.step)(sociarium.key(clock), state, wanted, params)
        history.append(env.scene(state, params).bonds)
        joined.append(min(joined[-1] + int(transition.events["joined"].mask.sum()), 2))
    assert [bonds.stage for bonds in history] == ["joining"] * 4 + ["working"] * 3
    assert joined == [0, 1, 2, 2, 2, 2, 2]
    assert [sum(group_sizes(bonds)[0].values()) for bonds in history] == joined
    assert frequency(history)[0, 1] == pytest.approx(5 / 7)
    assert persistence(history)[0, 1] == 5


def test_without_networkx_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra, match=r'pip install "[^"]+\[graphs\]"'):
        as_networkx(SEVEN)


def test_the_graph_for_networkx_has_every_player_group_and_tie():
    pytest.importorskip("networkx")
    graph = as_networkx(SEVEN)
    assert [graph.nodes[seat]["layer"] for seat in range(7)] == [0] * 7
    assert {name: graph.nodes[name]["layer"] for name in list(graph)[7:]} == {
        "group 0": 1,
        "group 1": 1,
        "union 0": 2,
    }
    edges = [(a, b, d["kind"], d["share"]) for a, b, d in graph.edges(data=True)]
    assert (4, "group 1", "member", 0.6) in edges
    assert ("group 0", "union 0", "member", 0.4) in edges
    assert (5, 0, "sight", 0.0) in edges and (6, 5, "gift", 0.3) in edges
    kinds = [kind for _, _, kind, _ in edges]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "member": 7,
        "sight": 4,
        "gift": 2,
        "said": 7,
    }
    assert graph.edges[3, 0, 0]["word"] == 2


@given(PAIRS, PAIRS, GROUPS)
def test_measures_agree_with_networkx(sight, gifts, groups):
    nx = pytest.importorskip("networkx")
    bonds = society(sight, gifts, groups)
    whole = as_networkx(bonds)
    for kind in ("sight", "gift"):
        some = [edge for edge in whole.edges if whole.edges[edge]["kind"] == kind]
        graph = nx.DiGraph(whole.edge_subgraph(some))
        graph.add_nodes_from(range(bonds.players))
        found = degrees(bonds)[kind]
        assert found.out.tolist() == [graph.out_degree(seat) for seat in range(bonds.players)]
        assert found.into.tolist() == [graph.in_degree(seat) for seat in range(bonds.players)]
        if graph.size():
            assert reciprocity(bonds, (kind,)) == pytest.approx(nx.overall_reciprocity(graph))
    one_mode = nx.Graph(nx.from_numpy_array(ties(bonds, ("sight", "gift", "group"))))
    assert neighbours(bonds).tolist() == [one_mode.degree(seat) for seat in range(bonds.players)]
    found = clustering(bonds)
    assert np.isnan(found) or found == pytest.approx(nx.transitivity(one_mode))
    assert np.isnan(found) <= (nx.transitivity(one_mode) == 0)
