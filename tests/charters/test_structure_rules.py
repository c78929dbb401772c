"""The rules of imposed structures, one test or more for each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.charters.society import Society
from sociarium.charters.structure import DYNAMIC, KINDS, Structure, wings
from sociarium.core.environment import compiled
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.facets import Board
from sociarium.mechanics.social import NOBODY
from tests.charters import sharing


def society(kind, players=8):
    return Society(sociarium.make("harvest_open-v0", players=players), Structure(kind))


def groups_of(kind, players=8):
    """The members of each group, and their weights."""
    (rules,) = society(kind, players).charter.articles
    of, weight = rules.of[0], rules.weight[0]
    found = {}
    for seat, slot in np.argwhere(of != NOBODY):
        found.setdefault(int(of[seat, slot]), {})[int(seat)] = int(weight[seat, slot])
    return dict(sorted(found.items()))


def shared(kind, points):
    env = society(kind, len(points))
    charter, now = env.charter, sharing.circumstances(env)
    params = charter.params()
    state = charter.begin(sociarium.key(0), now, params)
    return sharing.shared(charter, points, state, now, params)


def test_c1_the_groups_are_those_of_the_paper_for_eight_players():
    independent = [{0, 1, 4, 5}, {2, 3, 6, 7}]
    halves = [{0, 1, 2, 3}, {4, 5, 6, 7}]
    assert groups_of("isolation") == groups_of("connection") == {}
    assert [set(g) for g in groups_of("independent").values()] == independent
    assert [set(g) for g in groups_of("overlapping").values()] == independent + halves
    assert [set(g) for g in groups_of("inequality").values()] == independent


def test_c1_the_groups_for_four_players_are_those_of_the_easy_game():
    assert [set(g) for g in groups_of("independent", 4).values()] == [{0, 2}, {1, 3}]
    overlapping = [{0, 2}, {1, 3}, {0, 1}, {2, 3}]
    assert [set(g) for g in groups_of("overlapping", 4).values()] == overlapping


@pytest.mark.parametrize("players", range(1, 12))
def test_c1_wings_part_the_players_in_seat_order(players):
    assert [seat for wing in wings(players) for seat in wing] == list(range(players))


def test_c1_under_inequality_one_member_of_each_group_gets_85_percent():
    shares = [
        {seat: round(weight / sum(group.values()), 4) for seat, weight in group.items()}
        for group in groups_of("inequality").values()
    ]
    assert shares == [
        {0: 0.85, 1: 0.05, 4: 0.05, 5: 0.05},
        {2: 0.05, 3: 0.05, 6: 0.85, 7: 0.05},
    ]


def test_c2_points_are_pooled_in_equal_parts_and_paid_out():
    assert shared("isolation", [8, 0, 0, 0]) == [8, 0, 0, 0]
    assert shared("independent", [8, 0, 0, 0]) == [4, 0, 4, 0]
    assert shared("overlapping", [8, 0, 0, 0]) == [4, 2, 2, 0]
    assert shared("inequality", [20, 0, 0, 0]) == [17, 0, 3, 0]


def test_c3_sight_has_the_edges_of_the_paper():
    edges = {kind: int(society(kind).charter.articles[0].sight[0].sum()) for kind in KINDS}
    assert edges == {
        "isolation": 0,
        "connection": 40,
        "independent": 56,
        "overlapping": 40,
        "inequality": 24,
    }


def test_c3_sharing_sight_shows_exactly_the_others_window():
    env = society("inequality", 6)
    params = env.params()
    state = jax.jit(env.reset)(sociarium.key(0), params)
    view = jax.jit(env.observe)(state, params)
    sight, seen = env.charter.articles[0].sight[0], view.social
    for player in range(6):
        (sources,) = np.nonzero(sight[:, player])
        assert seen.shared_view[player, : len(sources)].tolist() == (sources + 1).tolist()
        assert not seen.shared_view[player, len(sources) :].any()
        np.testing.assert_array_equal(
            seen.windows[player, : len(sources)], np.asarray(view.cells)[sources]
        )
        assert not seen.windows[player, len(sources) :].any()


def test_c3_offsets_lead_from_ones_own_window_into_the_others():
    env = society("independent", 6)
    params = env.params()
    for seed in range(5):
        state = jax.jit(env.reset)(sociarium.key(seed), params)
        seen = jax.jit(env.observe)(state, params).social
        cell, heading = (np.asarray(x) for x in env.facet(Board).poses(state))
        cols = env.facet(Board).shape[1]
        steps = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)])
        for player in range(6):
            ahead, right = steps[heading[player]], steps[(heading[player] + 1) % 4]
            for slot, source in enumerate(np.asarray(seen.shared_view[player], int) - 1):
                far, aside, turned = np.asarray(seen.offsets[player, slot], int)
                there = np.array(divmod(cell[player], cols)) + far * ahead + aside * right
                assert there.tolist() == list(divmod(int(cell[source]), cols))
                assert (heading[player] + turned) % 4 == heading[source]


def test_c4_a_schedule_changes_on_its_steps_after_the_points_were_shared():
    env = Society(
        sociarium.make("harvest_open-v0", players=4), Structure("isolation,3:independent")
    )
    params, step = env.params(), jax.jit(env.step)
    state = compiled(env, "reset")(sociarium.key(0), params)
    for clock in range(4):
        now = sharing.circumstances(env, state.clock)
        given = sharing.shared(env.charter, [8, 0, 0, 0], state.social, now, params.charter)
        assert given == ([8, 0, 0, 0] if clock < 3 else [4, 0, 4, 0])
        told = int(compiled(env, "observe")(state, params).social.own[0, 0])
        assert told == (clock >= 3)
        state, _ = step(sociarium.key(clock), state, jnp.zeros(4, jnp.int32), params)


def test_c4_the_published_schedule_has_three_structures():
    charter = Structure(DYNAMIC)
    assert charter.kinds == ("inequality", "independent", "overlapping")
    assert charter.begins == (0, 30, 60)


@pytest.mark.parametrize(
    "text",
    [
        "independent,overlapping",
        "30:independent",
        "isolation,x:connection",
        "isolation,5:isolation,5:isolation",
    ],
)
def test_unreadable_schedules_are_refused(text):
    with pytest.raises(BadArgument, match="schedule"):
        Structure(text)


def test_unknown_structures_are_refused():
    with pytest.raises(UnknownName, match="independent"):
        Structure("independant")
