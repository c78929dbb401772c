"""Sets of bits against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.mechanics import bitsets

SIZES = (1, 24, 32, 33, 60, 147)


pack = jax.vmap(bitsets.packed, 1, 1)  # lanes last


def some(size, lanes=5):
    return np.random.default_rng(size).random((size, lanes)) < 0.4


@pytest.mark.parametrize("size", SIZES)
def test_size_counts_the_entries(size):
    mask = some(size)
    words = pack(jnp.asarray(mask))
    assert words.shape == (-(-size // 32), 5)
    np.testing.assert_array_equal(bitsets.size(words), mask.sum(0))


@pytest.mark.parametrize("size", SIZES)
def test_nth_finds_every_entry_in_order(size):
    mask = some(size)
    find = jax.jit(bitsets.nth)
    words = pack(jnp.asarray(mask))
    for lane in range(mask.shape[1]):
        for number, entry in enumerate(np.flatnonzero(mask[:, lane])):
            found = find(words, jnp.full(mask.shape[1], number, jnp.int32))
            assert int(found[lane]) == entry


def test_nth_takes_several_numbers_at_once():
    mask = np.ones((40, 2), bool)
    number = jnp.array([[0, 39], [31, 32], [33, 5]], jnp.int32)
    found = bitsets.nth(pack(jnp.asarray(mask)), number)
    np.testing.assert_array_equal(found, number)


@pytest.mark.parametrize("size", SIZES)
def test_holding_is_the_set_of_the_given_entries(size):
    entries = np.random.default_rng(size).integers(0, size + 1, (7, 3)).astype(np.int32)
    words = bitsets.holding(jnp.asarray(entries), -(-(size + 1) // 32))
    mask = np.zeros((size + 1, 3), bool)
    for lane in range(3):
        mask[entries[:, lane], lane] = True
    np.testing.assert_array_equal(words, pack(jnp.asarray(mask)))


@pytest.mark.parametrize("size", [1, 7, 32])
def test_few_entries_are_packed_into_one_word(size):
    mask = jnp.asarray(some(size))
    np.testing.assert_array_equal(bitsets.packed_few(mask), pack(mask)[0])


@pytest.mark.parametrize("size", SIZES)
def test_bit_e_of_the_words_is_entry_e(size):
    mask = some(size)
    words = np.asarray(pack(jnp.asarray(mask)))
    entry = np.arange(size)
    np.testing.assert_array_equal(words[entry // 32] >> (entry % 32)[:, None] & 1, mask)
