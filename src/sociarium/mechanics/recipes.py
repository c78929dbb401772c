"""Recipes as data: what goes in, what comes out, and what has to be held to know of them.

Kinds of goods are numbered, and a set of kinds is a word with a bit for each: so whether somebody
holds all that is needed is one comparison. Row 0 of every table is "no recipe".
"""

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

MOST_KINDS = 32  # kinds in one word


def bits(chosen: Bool[Array, "*shape kinds"]) -> UInt32[Array, "*shape"]:
    """A set of kinds as a word."""
    bit = jnp.uint32(1) << jnp.arange(chosen.shape[-1], dtype=jnp.uint32)
    return jnp.sum(jnp.where(chosen, bit, jnp.uint32(0)), axis=-1, dtype=jnp.uint32)


def unpacked(word: UInt32[Array, "*shape"], kinds: int) -> Bool[Array, "*shape kinds"]:
    """The set behind a word."""
    bit = jnp.arange(kinds, dtype=jnp.uint32).reshape(*[1] * word.ndim, kinds)
    return word[..., None] >> bit & 1 == 1


def met(
    needs: UInt32[Array, " things"], held: UInt32[Array, " players"]
) -> Bool[Array, "players things"]:
    """For whom each thing's needs are met."""
    return needs[None] & ~held[:, None] == 0


def affordable(
    inputs: Int[Array, "players kinds"],
    outputs: Int[Array, "players kinds"],
    inventory: Int[Array, "players kinds"],
    capacity: Int[Array, "players kinds"],
) -> Bool[Array, " players"]:
    """Who has all inputs of the recipe before them, and room for what comes out."""
    enough = inventory >= inputs
    room = inventory - inputs + outputs <= jnp.maximum(capacity, inventory)
    return (enough & room).all(axis=1)


def table(
    kinds: Sequence[str], rows: Sequence[Mapping[str, int]]
) -> Int[np.ndarray, "recipes_and_none kinds"]:
    """Amounts by name as a table, after a row of zeros."""
    amounts = [[row.get(kind, 0) for kind in kinds] for row in ({}, *rows)]
    return np.array(amounts, np.int32).reshape(len(rows) + 1, len(kinds))
