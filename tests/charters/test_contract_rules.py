"""The rules of the contract charter, one test or more for each."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.charters.article import CONTACTS, NONE
from sociarium.charters.contract import Contract
from sociarium.charters.society import Society
from sociarium.mechanics.social import NOBODY
from tests.charters.sharing import circumstances, shared

WORLD = sociarium.make("clean_up-v0", players=4)
SOCIETY = Society(WORLD, Contract(rounds=2))
PARAMS = SOCIETY.params()
STEP = jax.jit(SOCIETY.step)
JOIN = len(WORLD.actions)
WORKING = circumstances(SOCIETY, stood=8)


def start(seed=0):
    return jax.jit(SOCIETY.reset)(sociarium.key(seed), PARAMS)


def play(state, actions, seed=0):
    return STEP(sociarium.key(seed), state, jnp.array(actions, jnp.int32), PARAMS)


def joined(state, *groups):
    """Everybody in these groups, with the joining done."""
    (rules,), social, params = SOCIETY.charter.articles, state.social["contract"], numbers(PARAMS)
    for turn in range(8):
        seat = int(social.order[turn % 4])
        deeds = np.full(4, NONE)
        deeds[seat] = groups[seat]
        now, then = (circumstances(SOCIETY, stood=stood) for stood in (turn, turn + 1))
        social, _ = rules.act(None, social, jnp.array(deeds, jnp.int32), now, params)
        social = rules.turn(None, social, then, params)
    after = {"contract": social}, jnp.int32(8)
    return eqx.tree_at(lambda s: (s.social, s.stood), state, after)


def numbers(params):
    return params.charter["contract"]


def groups(state):
    return state.social["contract"].group


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
    orders = {tuple(start(seed).social["contract"].order.tolist()) for seed in range(30)}
    assert len(orders) > 10


def test_c2_only_who_has_its_turn_can_join_and_leaves_the_group_it_was_in():
    state = start()
    first = int(state.social["contract"].order[0])
    state, transition = play(state, [JOIN + 2] * 4)
    assert groups(state).tolist() == [2 if seat == first else -1 for seat in range(4)]
    assert np.flatnonzero(transition.events["joined"].mask).tolist() == [first]
    for _ in range(3):
        state, _ = play(state, [0] * 4)
    state, _ = play(state, [JOIN + 1] * 4)
    assert groups(state)[first] == 1


def test_c3_groups_stay_as_they_are_once_the_world_goes_on():
    state = joined(start(), 0, 0, 1, 2)
    legal = SOCIETY.legal(state, PARAMS)
    assert not legal[:, JOIN:].any() and legal[:, 1:JOIN].any()
    after, _ = play(state, [JOIN + 3] * 4)
    assert groups(after).tolist() == [0, 0, 1, 2]


def after_joining(rules, society, *groups):
    """The groups when joining ends with everybody in these."""
    params, now = society.params(), circumstances(society, stood=society.players)
    state = rules.begin(sociarium.key(0), now, numbers(params))
    state = eqx.tree_at(lambda s: s.group, state, jnp.array(groups, jnp.int32))
    before = circumstances(society, stood=society.players - 1)
    waiting = rules.turn(None, state, before, numbers(params))
    assert waiting.group.tolist() == list(groups)
    return rules.turn(None, state, now, numbers(params))


def test_c3_who_has_joined_none_enters_an_empty_group_the_lowest_seat_the_first():
    society = Society(WORLD, Contract(rounds=1))
    (rules,) = society.charter.articles
    for before, after in (
        ([NOBODY, 0, NOBODY, 0], [1, 0, 2, 0]),
        ([NOBODY] * 4, [0, 1, 2, 3]),
        ([3, NOBODY, 1, NOBODY], [3, 0, 1, 2]),
        ([2, 2, 2, NOBODY], [2, 2, 2, 0]),
        ([3, 1, 0, 2], [3, 1, 0, 2]),
    ):
        assert after_joining(rules, society, *before).group.tolist() == after


def test_c3_where_no_group_is_empty_one_is_entered_by_lot():
    society = Society(WORLD, Contract(rounds=1, groups=2))
    (rules,), params = society.charter.articles, society.params()
    state = after_joining(rules, society, NOBODY, 1, NOBODY, NOBODY)
    assert state.group.tolist() == [0, 1, *state.lot.tolist()[2:]]
    drawn = jax.jit(jax.vmap(society.reset, (0, None)))
    lots = drawn(jax.random.split(sociarium.key(0), 500), params).social["contract"].lot
    assert set(np.unique(lots)) == {0, 1} and abs(np.mean(lots) - 0.5) < 0.04


def test_c3_whoever_is_put_into_a_group_shares_in_it_from_the_first_step_of_the_world():
    state = start()
    for step in range(8):
        assert (groups(state) == NOBODY).all()
        state, _ = play(state, [0] * 4, seed=step)
    assert groups(state).tolist() == [0, 1, 2, 3] and int(state.clock) == 0


def test_c3_staying_alone_can_be_allowed():
    society = Society(WORLD, Contract(rounds=1, alone=True))
    (rules,) = society.charter.articles
    before = [NOBODY, 0, NOBODY, 0]
    assert after_joining(rules, society, *before).group.tolist() == before


def test_c4_members_pool_all_points_and_split_them_equally():
    state = joined(start(), 0, 0, 0, 1)
    left = shared(SOCIETY.charter, [3, 0, 0, 5], state.social, WORKING, PARAMS.charter)
    assert left == [1, 1, 1, 5]


def test_c4_who_is_in_no_group_keeps_its_own():
    state = start()
    left = shared(SOCIETY.charter, [3, 0, 0, 5], state.social, WORKING, PARAMS.charter)
    assert left == [3, 0, 0, 5]


def test_c5_players_can_be_put_into_groups_at_the_start():
    drawn = jax.jit(jax.vmap(SOCIETY.reset, (0, None)))
    keys = jax.random.split(sociarium.key(0), 500)
    for forced, first in ((1.0, 1.0), (0.5, 0.5 + 0.5 / 4), (0.0, 0.25)):
        group = groups(drawn(keys, SOCIETY.params(forced=forced)))
        assert abs((group == 0).mean() - first) < 0.04
        assert set(np.unique(group)) <= {0, 1, 2, 3}
    assert (groups(drawn(keys, SOCIETY.params(forced=-1))) == -1).all()


CROWD = Society(sociarium.make("coins-v0", players=300, tiles=(3, 3)), Contract(rounds=2))


def crowd():
    """300 players at the start; the second is near the first, and so on around."""
    near = np.full((300, CONTACTS), NOBODY, np.int32)
    near[:, 0] = (np.arange(300) + 1) % 300
    params, now = numbers(CROWD.params()), circumstances(CROWD, near=near)
    (rules,) = CROWD.charter.articles
    return rules, rules.begin(sociarium.key(0), now, params), now, params


def test_c6_in_large_societies_all_have_their_turn_at_once_and_a_round_is_one_step():
    rules, state, now, params = crowd()
    assert int(params.deliberation) == 2
    assert rules.actions[0].name == "join group 0" and len(rules.actions) == 32
    for round_ in range(2):
        now = circumstances(CROWD, stood=round_, near=now.near)
        assert bool(rules.paused(state, now, params)) and rules.legal(state, now, params).all()
        deeds = jnp.asarray((np.arange(300) + round_) % 32, jnp.int32)
        state, events = rules.act(None, state, deeds, now, params)
        assert events["joined"].mask.all() and (state.group == deeds).all()
        now = circumstances(CROWD, stood=round_ + 1, near=now.near)
        state = rules.turn(None, state, now, params)
    assert not rules.paused(state, now, params) and not rules.legal(state, now, params).any()


def test_c6_in_large_societies_one_is_told_its_own_group_and_those_of_the_nearest():
    rules, state, now, params = crowd()
    group = np.arange(300) % 32
    state = eqx.tree_at(lambda s: s.group, state, jnp.asarray(group, jnp.int32))
    told = rules.tell(state, now, params)
    assert [plane.name for plane in rules.own_specs] == ["stage", "turn", "group"]
    np.testing.assert_array_equal(told.own, np.stack([group * 0, group * 0 + 1, group + 1], 1))
    np.testing.assert_array_equal(told.ties[:, 0, 0], np.roll(group + 1, -1))
    assert told.ties.shape == (300, CONTACTS, 1) and not told.ties[:, 1:].any()
    alone = circumstances(CROWD, near=jnp.full_like(now.near, NOBODY))
    assert not rules.tell(state, alone, params).ties.any()


def test_everybody_is_told_the_stage_its_turn_and_all_groups():
    state = joined(start(), 0, 2, 0, 1)
    seen = SOCIETY.observe(state, PARAMS).social
    assert seen.own[:, 0].tolist() == [1] * 4 and not seen.own[:, 1].any()
    assert seen.ties[1, :, -1].tolist() == [1, 3, 1, 2]
    assert seen.ties[1, :, 0].tolist() == [0, 1, 0, 0]


def test_the_whole_episode_has_the_joining_and_the_worlds_horizon():
    assert int(SOCIETY.horizon(PARAMS)) == 8 + int(PARAMS.world.horizon)
