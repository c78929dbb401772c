"""The rules of the contract charter, one test or more for each."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.charters.charter import CONTACTS, NONE
from sociarium.charters.contract import Contract
from sociarium.charters.society import Society
from sociarium.mechanics.social import NOBODY
from tests.charters.sharing import shared

WORLD = sociarium.make("clean_up-v0", players=4)
SOCIETY = Society(WORLD, Contract(rounds=2))
PARAMS = SOCIETY.params()
STEP = jax.jit(SOCIETY.step)
JOIN = len(WORLD.actions)


def start(seed=0):
    return jax.jit(SOCIETY.reset)(sociarium.key(seed), PARAMS)


def play(state, actions, seed=0):
    return STEP(sociarium.key(seed), state, jnp.array(actions, jnp.int32), PARAMS)


def joined(state, *groups):
    """Everybody in these groups, with the joining done."""
    social = state.social
    for turn in range(8):
        seat = int(social.order[turn % 4])
        deeds = np.full(4, NONE)
        deeds[seat] = groups[seat]
        social, _ = SOCIETY.charter.act(None, social, jnp.array(deeds, jnp.int32), PARAMS.charter)
        social = SOCIETY.charter.turn(None, social, jnp.bool_(False), social.near, PARAMS.charter)
    return eqx.tree_at(lambda s: s.social, state, social)


def test_c1_rounds_of_joining_come_first_and_the_world_stands_still():
    state = start()
    for step in range(8):
        after, transition = play(state, [1, 1, 1, 1], seed=step)
        assert jax.tree.all(jax.tree.map(np.array_equal, after.world, state.world))
        assert not transition.raw.any() and not transition.reward.any()
        assert not any(kind.mask.any() for kind in transition.events.values())
        state = after
    after, _ = play(state, [1, 1, 1, 1])
    assert int(after.world.clock) == 1


def test_c1_everybody_has_one_turn_in_each_round_in_a_drawn_order():
    state, turns = start(), []
    for step in range(8):
        may = SOCIETY.legal(state, PARAMS)[:, JOIN:].any(1)
        turns.append(int(np.flatnonzero(may).item()))
        state, _ = play(state, [0] * 4, seed=step)
    assert sorted(turns[:4]) == [0, 1, 2, 3] and turns[4:] == turns[:4]
    orders = {tuple(np.asarray(start(seed).social.order).tolist()) for seed in range(30)}
    assert len(orders) > 10


def test_c2_only_who_has_its_turn_can_join_and_leaves_the_group_it_was_in():
    state = start()
    first = int(state.social.order[0])
    state, transition = play(state, [JOIN + 2] * 4)
    assert state.social.group.tolist() == [2 if seat == first else -1 for seat in range(4)]
    assert np.flatnonzero(transition.events["joined"].mask).tolist() == [first]
    for _ in range(3):
        state, _ = play(state, [0] * 4)
    state, _ = play(state, [JOIN + 1] * 4)
    assert state.social.group[first] == 1


def test_c3_groups_stay_as_they_are_once_the_world_goes_on():
    state = joined(start(), 0, 0, 1, 2)
    legal = SOCIETY.legal(state, PARAMS)
    assert not legal[:, JOIN:].any() and legal[:, 1:JOIN].any()
    after, _ = play(state, [JOIN + 3] * 4)
    assert after.social.group.tolist() == [0, 0, 1, 2]


def test_c4_members_pool_all_points_and_split_them_equally():
    state = joined(start(), 0, 0, 0, 1)
    left = shared(SOCIETY.charter, [3, 0, 0, 5], state.social, PARAMS.charter)
    assert left == [1, 1, 1, 5]


def test_c4_who_is_in_no_group_keeps_its_own():
    state = start()
    left = shared(SOCIETY.charter, [3, 0, 0, 5], state.social, PARAMS.charter)
    assert left == [3, 0, 0, 5]


def test_c5_players_can_be_put_into_groups_at_the_start():
    drawn = jax.jit(jax.vmap(SOCIETY.reset, (0, None)))
    keys = jax.random.split(sociarium.key(0), 500)
    for forced, first in ((1.0, 1.0), (0.5, 0.5 + 0.5 / 4), (0.0, 0.25)):
        group = drawn(keys, SOCIETY.params(forced=forced)).social.group
        assert abs((group == 0).mean() - first) < 0.04
        assert set(np.unique(group)) <= {0, 1, 2, 3}
    assert (drawn(keys, SOCIETY.params(forced=-1)).social.group == -1).all()


CROWD = Society(sociarium.make("coins-v0", players=300, tiles=(3, 3)), Contract(rounds=2))


def crowd():
    """300 players at the start; the second is near the first, and so on around."""
    near = np.full((300, CONTACTS), NOBODY, np.int32)
    near[:, 0] = (np.arange(300) + 1) % 300
    params = CROWD.params().charter
    return CROWD.charter.begin(sociarium.key(0), jnp.asarray(near), params), params


def test_c6_in_large_societies_all_have_their_turn_at_once_and_a_round_is_one_step():
    (state, params), rules = crowd(), CROWD.charter
    assert int(CROWD.params().charter.deliberation) == 2
    assert rules.actions[0].name == "join group 0" and len(rules.actions) == 32
    for round_ in range(2):
        assert bool(rules.paused(state, params)) and rules.legal(state, params).all()
        deeds = jnp.asarray((np.arange(300) + round_) % 32, jnp.int32)
        state, events = rules.act(None, state, deeds, params)
        assert events["joined"].mask.all() and (state.group == deeds).all()
        state = rules.turn(None, state, jnp.bool_(False), state.near, params)
    assert not rules.paused(state, params) and not rules.legal(state, params).any()


def test_c6_in_large_societies_one_is_told_its_own_group_and_those_of_the_nearest():
    (state, params), rules = crowd(), CROWD.charter
    group = np.arange(300) % 32
    state = eqx.tree_at(lambda s: s.group, state, jnp.asarray(group, jnp.int32))
    told = rules.tell(state, params)
    assert [plane.name for plane in rules.own_specs] == ["stage", "turn", "group"]
    np.testing.assert_array_equal(told.own, np.stack([group * 0, group * 0 + 1, group + 1], 1))
    np.testing.assert_array_equal(told.ties[:, 0, 0], np.roll(group + 1, -1))
    assert told.ties.shape == (300, CONTACTS, 1) and not told.ties[:, 1:].any()
    moved = rules.turn(None, state, jnp.bool_(True), jnp.full_like(state.near, NOBODY), params)
    assert not rules.tell(moved, params).ties.any()


def test_everybody_is_told_the_stage_its_turn_and_all_groups():
    state = joined(start(), 0, 2, 0, 1)
    seen = SOCIETY.observe(state, PARAMS).social
    assert seen.own[:, 0].tolist() == [1] * 4 and not seen.own[:, 1].any()
    assert seen.ties[1, :, 1].tolist() == [1, 3, 1, 2]
    assert seen.ties[1, :, 0].tolist() == [0, 1, 0, 0]


def test_the_whole_episode_has_the_joining_and_the_worlds_horizon():
    assert int(SOCIETY.horizon(PARAMS)) == 8 + int(PARAMS.world.horizon)
