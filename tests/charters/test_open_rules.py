"""The rules of the open charter, one test or more for each, by name and in large societies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.charters.article import CONTACTS, NONE
from sociarium.charters.open import LATELY, Open
from sociarium.charters.society import Society
from sociarium.core.errors import BadArgument
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY
from tests.charters.sharing import circumstances, proceedings, shared

WORLD = sociarium.make("coins-v0", players=4)
SOCIETY = Society(WORLD, Open(percent=30))
(CHARTER,), PARAMS = SOCIETY.charter.articles, SOCIETY.params()
NUMBERS, START = PARAMS.charter["open"], circumstances(SOCIETY)
ACTION = {action.name: number for number, action in enumerate(CHARTER.actions)}
CROWD = Society(sociarium.make("frontier_exploration", players=400, tiles=(8, 8)), Open(percent=30))


def begin():
    return CHARTER.begin(sociarium.key(0), START, NUMBERS)


def act(state, *deeds):
    numbers = [NONE if deed is None else ACTION[deed] for deed in deeds]
    return CHARTER.act(None, state, jnp.array(numbers, jnp.int32), START, NUMBERS)


def share(state, *points):
    return shared(CHARTER, points, state, START, NUMBERS)


def test_c1_a_connection_gives_sight_and_a_part_of_ones_points():
    state, events = act(begin(), "connect to seat 2", None, None, None)
    assert events["connected"].other.tolist() == [2, -1, -1, -1]
    assert CHARTER.shows(state, START, NUMBERS)[:, 0].tolist() == [NOBODY, NOBODY, 0, NOBODY]
    assert share(state, 10, 0, 0, 0) == [7, 0, 3, 0]


def test_c1_a_connection_can_be_taken_back():
    state, _ = act(begin(), "connect to seat 2", None, None, None)
    state, events = act(state, "disconnect from seat 2", None, None, None)
    assert events["disconnected"].other.tolist() == [2, -1, -1, -1]
    assert not state.edges.sight.any() and not state.edges.share.any()


def test_c1_nobody_gives_more_than_it_has_nor_connects_to_itself():
    state, _ = act(begin(), "connect to seat 1", None, None, None)
    state, _ = act(state, "connect to seat 2", None, None, None)
    state, _ = act(state, "connect to seat 3", None, None, None)
    assert int(state.edges.share[0].sum()) == 90
    assert not CHARTER.legal(state, START, NUMBERS)[0, :4].any()
    assert not np.diag(CHARTER.legal(begin(), START, NUMBERS)[:, :4]).any()


def test_c1_whoever_acts_socially_stays_in_the_world():
    start = SOCIETY.reset(sociarium.key(0), PARAMS)
    first = len(WORLD.actions)
    actions = jnp.array([first + 1, 1, 1, 1], jnp.int32)
    stayed = actions.at[0].set(0)
    world, _ = WORLD.step(sociarium.key(1), start.world, stayed, PARAMS.world)
    after, _ = SOCIETY.step(sociarium.key(1), start, actions, PARAMS)
    assert jax.tree.all(jax.tree.map(np.array_equal, after.world, world))


def test_c2_joining_leaves_the_old_group_and_members_split_equally():
    state, _ = act(begin(), "join group 1", "join group 1", "join group 0", None)
    assert state.group.tolist() == [1, 1, 0, NOBODY]
    assert share(state, 4, 0, 3, 2) == [2, 2, 3, 2]
    state, _ = act(state, None, "join group 0", None, None)
    assert share(state, 4, 0, 3, 2) == [4, 1.5, 1.5, 2]
    state, events = act(state, None, "leave", None, None)
    assert events["left"].mask.tolist() == [False, True, False, False]
    assert state.group.tolist() == [1, NOBODY, 0, NOBODY]


def test_c2_connections_come_before_groups():
    state, _ = act(begin(), "connect to seat 2", None, None, None)
    state, _ = act(state, "join group 0", "join group 0", None, None)
    assert share(state, 10, 0, 0, 0) == [3.5, 3.5, 3, 0]


def test_c3_everybody_sees_what_everybody_earned_lately():
    step = proceedings(SOCIETY, raw=[1, 1 / 30, 0, -1])
    state, nothing = begin(), Parts.of(jnp.zeros(4))
    reckon = jax.jit(lambda state: CHARTER.adjust(nothing, state, step, NUMBERS)[1])
    for _ in range(5 * LATELY):
        state = reckon(state)
    levels = CHARTER.tell(state, START, NUMBERS).ties[0, :, 3]
    assert levels.tolist() == [6, 2, 0, 0]


def test_c4_in_large_societies_one_addresses_ties_and_the_nearest():
    env, params = CROWD, CROWD.params()
    assert len(env.charter.actions) == 4 * CONTACTS + 1
    state = jax.jit(env.reset)(sociarium.key(0), params)
    near = np.asarray(state.near)
    whoever = int(np.flatnonzero(near[:, 0] != NOBODY)[0])
    other, first = int(near[whoever, 0]), len(env.world.actions)
    actions = jnp.zeros(400, jnp.int32).at[whoever].set(first)
    state, transition = jax.jit(env.step)(sociarium.key(1), state, actions, params)
    assert transition.events["connected"].other[whoever] == other
    assert state.social["open"].edges.to[whoever].tolist() == [other] + [NOBODY] * (CONTACTS - 1)
    now = circumstances(env, near=state.near, states=state.social)
    left = shared(env.charter, np.arange(400) == whoever, state.social, now, params.charter)
    assert (left[whoever], left[other], sum(left)) == (0.7, 0.3, 1)


def test_c4_joining_the_group_of_somebody_who_has_none_founds_one():
    env, params = CROWD, CROWD.params()
    state = jax.jit(env.reset)(sociarium.key(0), params)
    near = np.asarray(state.near)
    whoever = int(np.flatnonzero(near[:, 0] != NOBODY)[0])
    other = int(near[whoever, 0])
    join = 2 * CONTACTS + CONTACTS  # the group of the nearest
    deeds = jnp.full(400, NONE).at[whoever].set(join)
    now = circumstances(env, near=near, states=state.social)
    (rules,) = env.charter.articles
    social, _ = rules.act(None, state.social["open"], deeds, now, params.charter["open"])
    assert social.group[whoever] == social.group[other] == other
    assert (np.delete(np.asarray(social.group), [whoever, other]) == NOBODY).all()


def test_c4_in_large_societies_a_connection_gives_but_shows_nothing():
    assert CROWD.charter.shared_views == CROWD.view_spec.social.shared_views == 0
    assert "shows nobody what one sees" in CROWD.sheet.rules["C4"]
    seen = jax.eval_shape(
        CROWD.observe,
        jax.eval_shape(CROWD.reset, sociarium.key(0), CROWD.params()),
        CROWD.params(),
    )
    assert seen.social.windows.shape[1] == 0


def test_percentages_beyond_all_are_refused():
    with pytest.raises(BadArgument, match="100"):
        Open(percent=101)
