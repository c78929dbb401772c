"""The rules of the negotiation charter, one test or more for each."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.charters.article import NONE
from sociarium.charters.negotiation import WHOLE, Negotiation, united
from sociarium.charters.society import Society
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY
from tests.charters.sharing import circumstances, proceedings, shared

WORLD = sociarium.make("clean_up-v0", players=4)
SOCIETY = Society(WORLD, Negotiation(steps=6, sight=True, bans=("zapped", "ate"), fine=3.0))
(CHARTER,), PARAMS = SOCIETY.charter.articles, SOCIETY.params()
NUMBERS, START = PARAMS.charter["negotiation"], circumstances(SOCIETY)
ACT = jax.jit(lambda key, state, deeds: CHARTER.act(key, state, deeds, START, NUMBERS))
ACTION = {action.name: number for number, action in enumerate(CHARTER.actions)}


def begin():
    return CHARTER.begin(sociarium.key(0), START, NUMBERS)


def act(state, deeds, seed=0):
    """The state after these social actions by name, None for none."""
    numbers = [NONE if deed is None else ACTION[deed] for deed in deeds]
    return ACT(sociarium.key(seed), state, jnp.array(numbers, jnp.int32))


def legal(state, seat):
    may = np.asarray(CHARTER.legal(state, START, NUMBERS))[seat]
    return {name for name, number in ACTION.items() if may[number]}


def bargaining(opener=0, other=1):
    """Two in a session in which `opener` has the word."""
    state = begin()
    return eqx.tree_at(
        lambda s: (s.partner, s.speaks),
        state,
        (
            state.partner.at[opener].set(other).at[other].set(opener),
            state.speaks.at[opener].set(True),
        ),
    )


def shares(state):
    weight = np.asarray(state.weight) / 1.0
    label = np.asarray(state.coalition)
    alone = label == NOBODY
    return [
        1.0 if alone[seat] else weight[seat] / weight[label == label[seat]].sum()
        for seat in range(len(weight))
    ]


def test_c1_the_world_stands_still_for_exactly_as_many_steps_as_named():
    state = SOCIETY.reset(sociarium.key(0), PARAMS)
    step = jax.jit(SOCIETY.step)
    for clock in range(8):
        moved = clock >= 6
        after, transition = step(sociarium.key(clock), state, jnp.ones(4, jnp.int32), PARAMS)
        assert int(after.world.clock) - int(state.world.clock) == moved
        if not moved:
            assert not transition.raw.any() and not transition.reward.any()
        state = after


def test_c1_sessions_lapse_when_negotiating_is_over_and_coalitions_stay():
    state = bargaining()
    state = eqx.tree_at(lambda s: s.coalition, state, jnp.full(4, 0))
    before, over = circumstances(SOCIETY, stood=5), circumstances(SOCIETY, stood=6)
    assert (CHARTER.turn(None, state, before, NUMBERS).partner != NOBODY).any()
    state = CHARTER.turn(None, state, over, NUMBERS)
    assert (state.partner == NOBODY).all() and not state.speaks.any()
    assert (state.coalition == 0).all()
    assert not CHARTER.legal(state, over, NUMBERS).any()


def test_c2_two_who_ask_each_other_begin_to_bargain():
    state, events = act(begin(), ["ask seat 2", "ask seat 0", "ask seat 0", None])
    assert state.partner.tolist() == [2, NOBODY, 0, NOBODY]
    assert events["matched"].mask.tolist() == [True, False, True, False]
    assert state.speaks[0] != state.speaks[2]


def test_c2_one_cannot_ask_oneself_a_partner_or_who_bargains():
    state = bargaining(0, 1)
    state = eqx.tree_at(lambda s: s.coalition, state, jnp.array([NOBODY, 1, 1, NOBODY]))
    assert legal(state, 3) == {"ask seat 2"}
    state = eqx.tree_at(lambda s: s.partner, state, jnp.full(4, NOBODY))
    assert legal(state, 2) & {f"ask seat {seat}" for seat in range(4)} == {
        "ask seat 0",
        "ask seat 3",
    }


def test_c3_the_first_to_speak_is_drawn():
    first = [
        int(np.argmax(act(begin(), ["ask seat 1", "ask seat 0", None, None], seed)[0].speaks))
        for seed in range(60)
    ]
    assert 15 < sum(first) < 45


def test_c3_first_one_can_only_propose_and_then_the_other_has_the_word():
    state = bargaining()
    assert {name.split()[0] for name in legal(state, 0)} == {"propose"}
    assert legal(state, 1) == set()
    state, _ = act(state, ["propose 0.7", None, None, None])
    assert legal(state, 0) == set()
    assert {name.split()[0] for name in legal(state, 1)} == {"propose", "accept", "end"}


def test_c3_ending_closes_the_session_for_both():
    state, _ = act(bargaining(), ["propose 0.7", None, None, None])
    state, events = act(state, [None, "end", None, None])
    assert (state.partner == NOBODY).all() and (state.coalition == NOBODY).all()
    assert events["ended"].mask.tolist() == [False, True, False, False]


def test_c4_two_on_their_own_split_as_proposed():
    state, _ = act(bargaining(), ["propose 0.7", None, None, None])
    state, _ = act(state, [None, "accept", None, None])
    assert state.coalition.tolist() == [0, 0, NOBODY, NOBODY]
    np.testing.assert_allclose(shares(state), [0.7, 0.3, 1, 1], atol=1e-6)


def test_c4_the_published_example_of_two_coalitions():
    weight = jnp.array([0.4, 0.6, 0.6, 0.4]) * WHOLE
    accepts = jnp.array([False, False, True, False])
    coalition, weight = united(
        jnp.array([0, 0, 2, 2]),
        weight.astype(jnp.int32),
        accepts,
        jnp.zeros(4, jnp.int32),
        jnp.array([0, 0, 8, 0]),
    )
    assert coalition.tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(weight / weight.sum(), [0.32, 0.48, 0.12, 0.08], atol=1e-6)


def one_after_the_other(coalition, share, agreements):
    """The rule as it is written: each yes scales both sides, unions and sums come at the end."""
    players = len(coalition)
    side = [seat if label == NOBODY else label for seat, label in enumerate(coalition)]
    share, near = list(share), {label: {label} for label in side}
    for yes, proposer, tenths in agreements:
        for seat in range(players):
            if side[seat] == side[yes]:
                share[seat] *= 1 - tenths / 10
            if side[seat] == side[proposer]:
                share[seat] *= tenths / 10
        union = near[side[yes]] | near[side[proposer]]
        for label in union:
            near[label] = union
    new, touched = [], {side[seat] for yes, by, _ in agreements for seat in (yes, by)}
    for seat in range(players):
        union = near[side[seat]]
        members = [other for other in range(players) if side[other] in union]
        whole = sum(share[other] for other in members)
        inside = union & touched or coalition[seat] != NOBODY
        new.append((min(side[m] for m in members) if inside else NOBODY, share[seat] / whole))
    return new


def test_c4_agreements_of_one_step_count_in_any_order():
    rng = np.random.default_rng(0)
    for _ in range(60):
        players = 7
        side = rng.integers(0, 4, players)
        coalition = np.full(players, NOBODY)
        for label in range(4):
            (members,) = np.nonzero(side == label)
            if len(members) > 1:
                coalition[members] = members.min()
        weight = np.where(coalition == NOBODY, WHOLE, rng.integers(WHOLE // 9, WHOLE, players))
        share = [
            weight[s] / weight[coalition == coalition[s]].sum() if coalition[s] != NOBODY else 1.0
            for s in range(players)
        ]
        order = rng.permutation(players)
        pairs = [tuple(map(int, order[at : at + 2])) for at in range(0, 6, 2)]
        agreements = [
            (yes, by, int(rng.integers(1, 10))) for yes, by in pairs[: rng.integers(1, 4)]
        ]
        accepts, partner, claimed = (np.zeros(players, int) for _ in range(3))
        for yes, by, tenths in agreements:
            accepts[yes], partner[yes], claimed[yes] = 1, by, tenths
        label, weight = united(
            *(jnp.asarray(x, jnp.int32) for x in (coalition, weight)),
            jnp.asarray(accepts, bool),
            *(jnp.asarray(x, jnp.int32) for x in (partner, claimed)),
        )
        weight = np.asarray(weight, float)
        for turn in itertools.permutations(agreements):
            expected = one_after_the_other(coalition.tolist(), share, turn)
            assert label.tolist() == [label for label, _ in expected]
            for seat, (mine, part) in enumerate(expected):
                whole = weight[np.asarray(label) == mine].sum() if mine != NOBODY else weight[seat]
                assert abs(weight[seat] / whole - part) < 2e-5


def test_c5_coalitions_split_by_shares_and_who_is_in_none_keeps_its_own():
    state, _ = act(bargaining(), ["propose 0.7", None, None, None])
    state, _ = act(state, [None, "accept", None, None])
    left = shared(CHARTER, [10, 0, 4, 0], state, START, NUMBERS)
    np.testing.assert_allclose(left, [7, 3, 4, 0], atol=1e-4)


def test_c6_a_yes_to_sight_makes_both_show_what_they_see():
    state, _ = act(bargaining(2, 0), [None, None, "propose sight", None])
    state, _ = act(state, ["accept", None, None, None])
    assert np.argwhere(np.asarray(state.sight)).tolist() == [[0, 2], [2, 0]]
    assert (state.coalition == NOBODY).all()
    assert CHARTER.shows(state, START, NUMBERS)[:, 0].tolist() == [2, NOBODY, 0, NOBODY]


def test_c6_a_ban_binds_who_said_yes_and_costs_for_each_breach():
    state, _ = act(bargaining(2, 0), [None, None, "propose no ate", None])
    state, _ = act(state, ["accept", None, None, None])
    assert np.argwhere(np.asarray(state.banned)).tolist() == [[0, 1]]
    ate = SOCIETY.world.step(
        sociarium.key(0),
        SOCIETY.world.reset(sociarium.key(0), PARAMS.world),
        jnp.zeros(4, int),
        PARAMS.world,
    )[1].events
    ate["ate"] = eqx.tree_at(lambda e: e.mask, ate["ate"], jnp.array([True, True, False, False]))
    before = Parts.of(jnp.array([1.0, 1.0, 0.0, 0.0]))
    left, _, _ = CHARTER.adjust(before, state, proceedings(SOCIETY, ate), NUMBERS)
    np.testing.assert_allclose(left.points(), [-2, 2, 1, 1])


def test_unknown_bans_are_refused_with_the_events_there_are():
    with pytest.raises(UnknownName, match="zapped"):
        Society(WORLD, Negotiation(bans=("zaped",)))


def test_too_many_players_to_name_are_refused():
    with pytest.raises(BadArgument, match="256"):
        Society(sociarium.make("harvest_open-v0", players=300, tiles=(7, 7)), Negotiation())
