"""The rule of having no charter."""

import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.charters.charter import CONTACTS
from sociarium.core.actions import actions_by_object
from sociarium.mechanics.social import NOBODY
from tests.charters.sharing import shared


def test_c1_nothing_is_shared():
    society = sociarium.make("coins+none")
    params = society.params()
    state = society.reset(sociarium.key(0), params)
    assert shared(society.charter, [5, -3], state.social, params.charter) == [5, -3]
    seen = society.observe(state, params).social
    assert seen.windows.shape[1] == 0 and seen.own.shape[1] == 0
    assert society.actions == society.world.actions


def test_c2_in_large_societies_one_speaks_to_the_nearest_and_hears_them():
    society = sociarium.make("coins+none?words=3", players=300, tiles=(3, 3))
    near = np.full((300, CONTACTS), NOBODY, np.int32)
    near[0, 0], near[1, 1] = 1, 0
    params = society.params().charter
    state = society.charter.begin(sociarium.key(0), jnp.asarray(near), params)
    whom = society.charter.whom(state)
    say = list(actions_by_object(society.speech.actions, "say")).index("2 to near player 0")
    said, events = society.speech.spoken(jnp.zeros(300, jnp.int32).at[0].set(say + 1), whom)
    assert events["said"].other[0] == 1
    heard = np.asarray(society.speech.told(said, whom))
    assert heard[1, 1, 0] == 3 and np.count_nonzero(heard) == 1
    later = society.charter.turn(None, state, jnp.bool_(True), state.near[::-1], params)
    np.testing.assert_array_equal(society.charter.whom(later), near[::-1])
