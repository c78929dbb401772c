"""Small sets as bits of 32-bit words, with any lane axes after the word axis."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.mechanics.layout import no_inline

WORD = 32


def packed(mask: Bool[Array, " entries"]) -> UInt32[Array, " words"]:
    """The set of True entries.

    Four bytes of 0 or 1 are read as one number, and a product moves their bits side by side.
    """
    return no_inline(_packed, mask)


def _packed(mask: Bool[Array, " entries"]) -> UInt32[Array, " words"]:
    entries = len(mask)
    words, quarters = -(-entries // WORD), -(-entries // 4)
    padded = jnp.pad(mask.astype(jnp.uint8), (0, quarters * 4 - entries)).reshape(quarters, 4)
    nibbles = (jax.lax.bitcast_convert_type(padded, jnp.uint32) * jnp.uint32(0x10204080)) >> 28
    nibbles = jnp.pad(nibbles, (0, words * 8 - quarters)).reshape(words, 8)
    shifts = jnp.arange(0, WORD, 4, dtype=jnp.uint32)[None]
    return jnp.sum(nibbles << shifts, axis=1, dtype=jnp.uint32)


def packed_few(mask: Bool[Array, "entries *lanes"]) -> UInt32[Array, "*lanes"]:
    """The set of True entries in one word: at most 32 entries."""
    bit = jnp.uint32(1) << jnp.arange(len(mask), dtype=jnp.uint32)
    bit = bit.reshape(len(mask), *[1] * (mask.ndim - 1))
    return jnp.sum(jnp.where(mask, bit, 0), axis=0, dtype=jnp.uint32)


def holding(entries: Int[Array, "many *lanes"], words: int) -> UInt32[Array, "words *lanes"]:
    """The set of these entries; those beyond its words are left out."""
    word = jnp.arange(words).reshape(words, *[1] * entries.ndim)
    bit = jnp.uint32(1) << (entries % WORD).astype(jnp.uint32)
    return jnp.bitwise_or.reduce(jnp.where(entries[None] // WORD == word, bit[None], 0), axis=1)


def size(words: UInt32[Array, "words *lanes"]) -> Int[Array, "*lanes"]:
    """How many entries the set has."""
    return jnp.sum(jax.lax.population_count(words), axis=0, dtype=jnp.int32)


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
