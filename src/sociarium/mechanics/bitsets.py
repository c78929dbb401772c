"""Small sets as bits of 32-bit words, with any lane axes after the word axis."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.mechanics.layout import no_inline

WORD = 32


def packed(mask: Bool[Array, "entries *lanes"]) -> UInt32[Array, "words *lanes"]:
    """The set of True entries."""
    entries, lanes = len(mask), mask.shape[1:]
    words = -(-entries // WORD)
    mask = jnp.concatenate([mask, jnp.zeros((words * WORD - entries, *lanes), bool)])
    return no_inline(_packed, mask.reshape(words, WORD, *lanes))


def _packed(mask: Bool[Array, "words 32 *lanes"]) -> UInt32[Array, "words *lanes"]:
    bit = jnp.arange(WORD, dtype=jnp.uint32).reshape(1, WORD, *[1] * (mask.ndim - 2))
    return jnp.sum(jnp.where(mask, jnp.uint32(1) << bit, 0), axis=1, dtype=jnp.uint32)


def holding(entries: Int[Array, "many *lanes"], words: int) -> UInt32[Array, "words *lanes"]:
    """The set of these entries; those beyond its words are left out."""
    word = jnp.arange(words).reshape(words, *[1] * entries.ndim)
    bit = jnp.uint32(1) << (entries % WORD).astype(jnp.uint32)
    return jnp.bitwise_or.reduce(jnp.where(entries[None] // WORD == word, bit[None], 0), axis=1)


def size(words: UInt32[Array, "words *lanes"]) -> Int[Array, "*lanes"]:
    """How many entries the set has."""
    return jnp.sum(jax.lax.population_count(words), axis=0, dtype=jnp.int32)


def ranks(words: UInt32[Array, "words *lanes"], entries: int) -> Int[Array, "entries *lanes"]:
    """How many entries of the set come before each of 0..entries-1."""
    sizes = jax.lax.population_count(words).astype(jnp.int32)
    before = jnp.cumsum(sizes, axis=0) - sizes
    bit = jnp.tile(jnp.arange(WORD, dtype=jnp.uint32), len(words)).reshape(
        -1, *[1] * (words.ndim - 1)
    )
    below = jnp.repeat(words, WORD, axis=0) & ((jnp.uint32(1) << bit) - 1)
    rank = jnp.repeat(before, WORD, axis=0) + jax.lax.population_count(below).astype(jnp.int32)
    return rank[:entries]


def nth(words: UInt32[Array, "words *lanes"], number: Int[Array, "*more"]) -> Int[Array, "*more"]:
    """The n-th entry of the set in order, counted from 0; undefined where there are fewer.

    `number` has the lane axes of `words` last, and may have more before them.
    """
    missing = number.ndim + 1 - words.ndim
    words = words.reshape(len(words), *[1] * missing, *words.shape[1:])
    which, left = jnp.zeros_like(number), number
    word = jnp.broadcast_to(words[0], number.shape)
    for later in range(1, len(words)):
        here = jax.lax.population_count(words[later - 1]).astype(jnp.int32)
        past = (left >= here) & (which == later - 1)
        which = which + past
        left = jnp.where(past, left - here, left)
        word = jnp.where(past, words[later], word)
    place = which * WORD
    for width in (16, 8, 4, 2, 1):
        low = word & jnp.uint32((1 << width) - 1)
        here = jax.lax.population_count(low).astype(jnp.int32)
        past = left >= here
        left = jnp.where(past, left - here, left)
        word = jnp.where(past, word >> width, low)
        place = place + past * width
    return place
