"""Recipes as arrays: sets of kinds as words, and who can make what."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sociarium.mechanics import recipes
from sociarium.mechanics.recipes import MOST_KINDS

KINDS = ("wood", "stone", "hammer", "coal")
sets = st.lists(st.booleans(), min_size=MOST_KINDS, max_size=MOST_KINDS)
PACK = jax.jit(recipes.bits)
UNPACK = jax.jit(recipes.unpacked, static_argnums=1)


@given(sets)
def test_a_set_is_a_word_with_a_bit_for_each_kind(chosen):
    word = PACK(jnp.array(chosen))
    assert word.dtype == jnp.uint32
    assert int(word) == sum(1 << kind for kind, held in enumerate(chosen) if held)
    np.testing.assert_array_equal(UNPACK(word, MOST_KINDS), chosen)


@pytest.mark.parametrize("kinds", [1, 3, 31, 32])
def test_any_number_of_kinds_and_any_leading_axes_will_do(kinds):
    chosen = np.random.default_rng(kinds).random((2, 5, kinds)) < 0.5
    words = recipes.bits(jnp.asarray(chosen))
    assert words.shape == (2, 5)
    np.testing.assert_array_equal(recipes.unpacked(words, kinds), chosen)


@given(sets, sets)
def test_needs_are_met_by_whoever_holds_them_all(needed, held):
    needs, holds = (sum(1 << kind for kind, yes in enumerate(s) if yes) for s in (needed, held))
    met = recipes.met(jnp.array([needs, 0], jnp.uint32), jnp.array([holds], jnp.uint32))
    wanted = {kind for kind, yes in enumerate(needed) if yes}
    assert met.tolist() == [[wanted <= {kind for kind, yes in enumerate(held) if yes}, True]]


def test_a_table_has_a_row_of_zeros_and_one_for_each_recipe():
    rows = recipes.table(KINDS, [{"wood": 1, "stone": 2}, {}, {"coal": 3}])
    assert rows.dtype == np.int32
    assert rows.tolist() == [[0, 0, 0, 0], [1, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3]]
    assert recipes.table(KINDS, []).tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("bag", "room", "able"),
    [
        ([1, 1, 0], [9, 9, 9], True),
        ([1, 0, 5], [9, 9, 9], False),  # an input is missing
        ([0, 1, 5], [9, 9, 9], False),
        ([1, 1, 8], [9, 9, 9], True),
        ([1, 1, 9], [9, 9, 9], False),  # no room
        ([7, 1, 0], [2, 0, 9], True),  # too much of an input already
        ([1, 1, 12], [9, 9, 9], False),  # too much of the output already
    ],
)
def test_a_recipe_needs_all_inputs_and_room_for_what_comes_out(bag, room, able):
    inputs, outputs = ([[1, 1, 0]], [[0, 0, 1]])
    rows = (jnp.array(row, jnp.int32) for row in (inputs, outputs, [bag], [room]))
    assert recipes.affordable(*rows).tolist() == [able]


def test_what_a_recipe_gives_back_of_its_inputs_needs_no_more_room():
    rows = (jnp.array([row], jnp.int32) for row in ([2, 0], [1, 1], [3, 0], [0, 1]))
    assert recipes.affordable(*rows).tolist() == [True]
