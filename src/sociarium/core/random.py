"""Randomness: a counter-based 32-bit generator behind `jax.random`, and exact integer draws.

The generator hashes (key, counter, purpose) with `pcg4d` (Jarzynski and Olano, "Hash Functions for
GPU Rendering", JCGT 2020) and a multiplicative finish, because the plain hash leaves the low bits
of its words dependent. A draw is a pure function of its key and its index, so it does not
depend on batch size, sharding or the order of evaluation. Threefry keys work everywhere too.
"""

from functools import partial
from typing import Any

import jax
import jax.extend.random
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from sociarium.core.errors import BadArgument

Word = Any  # a uint32 scalar or array

_BITS, _SPLIT, _FOLD, _SEED = (0x9E3779B9, 0x7F4A7C15, 0x94D049BB, 0xBF58476D)

SEEDS = 2**32

EPISODE_STEPS = 0x57E9  # folds an episode's key into the stream its steps are drawn from
PLAYER_MOVES = 0xAC75  # folds a step's key into the stream its players draw from


def _pcg4d(x: Word, y: Word, z: Word, w: Word) -> tuple[Word, Word, Word, Word]:
    lcg = jnp.uint32(1664525), jnp.uint32(1013904223)
    x, y, z, w = (v * lcg[0] + lcg[1] for v in (x, y, z, w))
    for last in (False, True):
        x = x + y * w
        y = y + z * x
        z = z + x * y
        w = w + y * z
        if not last:
            x, y, z, w = (v ^ (v >> 16) for v in (x, y, z, w))
    return _finished(x), _finished(y), _finished(z), _finished(w)


def _finished(v: Word) -> Word:
    """Spreads the well-mixed high bits over the whole word."""
    v = (v ^ (v >> 16)) * jnp.uint32(0x9E3779B1)
    return v ^ (v >> 15)


@partial(jax.jit, inline=True)
def _seed(seed: Int[Array, ""]) -> UInt32[Array, "2"]:
    if seed.dtype.itemsize == 8:
        low, high = jnp.uint32(seed & 0xFFFFFFFF), jnp.uint32((seed >> 32) & 0xFFFFFFFF)
    else:
        low, high = seed.astype(jnp.uint32), jnp.uint32(0)
    return jnp.stack(_pcg4d(low, high, jnp.uint32(_SEED), jnp.uint32(_SEED))[2:])


def _split(key: UInt32[Array, "2"], shape: tuple[int, ...]) -> UInt32[Array, "*shape 2"]:
    child = _counter(shape)
    return jnp.stack(_pcg4d(key[0], key[1], child, jnp.uint32(_SPLIT))[2:], axis=-1)


@partial(jax.jit, inline=True)
def _fold_in(key: UInt32[Array, "2"], data: int | UInt32[Array, ""]) -> UInt32[Array, "2"]:
    return jnp.stack(_pcg4d(key[0], key[1], jnp.uint32(data), jnp.uint32(_FOLD))[2:])


def _random_bits(key: UInt32[Array, "2"], bit_width: int, shape: tuple[int, ...]) -> Array:
    low = _words_at(key, _counter(shape))
    if bit_width <= 32:
        return low.astype(f"uint{bit_width}")
    _, _, high, _ = _pcg4d(key[0], key[1], _counter(shape), jnp.uint32(_BITS))
    return (high.astype(jnp.uint64) << 32) | low.astype(jnp.uint64)


def _words_at(key: UInt32[Array, "2"], counter: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    return _pcg4d(key[0], key[1], counter, jnp.uint32(_BITS))[3]


def _counter(shape: tuple[int, ...]) -> UInt32[Array, "*shape"]:
    size = 1
    for extent in shape:
        size *= extent
    return jnp.arange(size, dtype=jnp.uint32).reshape(shape)


PCG4D = jax.extend.random.define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="pcg4d",
    tag="pcg",
)


def key(seed: int) -> Key[Array, ""]:
    """A key of the fast generator, in place of `jax.random.key(seed)`; seeds are 0 to 2^32 - 1."""
    if isinstance(seed, int | np.integer) and not 0 <= seed < SEEDS:
        raise BadArgument(f"a seed is 0 to {SEEDS - 1}; given {seed}")
    return jax.random.key(seed, impl=PCG4D)


def episode_key(seed: int, lane: int = 0, number: int = 0) -> Key[Array, ""]:
    """The key from which an episode begins, as `rollout` with the same arguments plays it."""
    return jax.random.fold_in(jax.random.fold_in(key(seed), lane), number)


def bits(key: Key[Array, ""], *shape: int) -> UInt32[Array, "*shape"]:
    """One 32-bit word for each index of `shape`."""
    return jax.random.bits(key, shape, jnp.uint32)


def bits_at(key: Key[Array, ""], indices: Int[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """The words that `bits` draws at these indices, however many it draws.

    Only our generator has them without drawing the words before.
    """
    if jax.random.key_impl(key) != PCG4D:
        raise BadArgument(
            "words at some indices only are drawn from keys of sociarium.key(seed); given one of "
            f"{jax.random.key_impl(key)}"
        )
    return _words_at(jax.random.key_data(key), indices.astype(jnp.uint32))


def player_bits(step_key: Key[Array, ""], players: int) -> UInt32[Array, " players"]:
    """The word each player may draw its action from, apart from everything the world draws."""
    return bits(jax.random.fold_in(step_key, PLAYER_MOVES), players)


def step_key(
    lane_key: Key[Array, ""], episode: int | Int[Array, ""], step: int | Int[Array, ""]
) -> Key[Array, ""]:
    """The key that step `step` of episode `episode` is drawn from."""
    start = jax.random.fold_in(lane_key, episode)
    return jax.random.fold_in(jax.random.fold_in(start, EPISODE_STEPS), step)


def player_keys(key: Key[Array, ""], seats: Int[Any, " seats"]) -> Key[Array, " seats"]:
    """The key each of these seats draws from in the step, or at the start, of this key."""
    moves = jax.random.fold_in(key, PLAYER_MOVES)
    return jax.vmap(lambda seat: jax.random.fold_in(moves, seat))(jnp.asarray(seats))


def threshold(chance: Float[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """The integer below which a 31-bit draw falls with this chance; 0 is never, 1 is always."""
    return jnp.round(jnp.clip(chance, 0.0, 1.0) * 2.0**31).astype(jnp.uint32)


def bernoulli_from_bits(
    bits: UInt32[Array, "*shape"], limit: UInt32[Array, "*shape"]
) -> Bool[Array, "*shape"]:
    """Whether what the bits draw happens; `limit` is the `threshold` of its probability."""
    return (bits >> 1) < limit


def chance(
    key: Key[Array, ""], probability: Float[Array, ""], *shape: int
) -> Bool[Array, "*shape"]:
    """Independent events of one probability."""
    return bernoulli_from_bits(bits(key, *shape), jnp.broadcast_to(threshold(probability), shape))


def randint_from_bits(
    bits: UInt32[Array, "*shape"], count: Int[Array, "*shape"]
) -> Int[Array, "*shape"]:
    """A number in 0..count-1 (0 where count is 0): the high half of bits * count."""
    count = count.astype(jnp.uint32)
    bits_high, bits_low = bits >> 16, bits & 0xFFFF
    count_high, count_low = count >> 16, count & 0xFFFF
    middle = bits_high * count_low + ((bits_low * count_low) >> 16)
    carry = (middle & 0xFFFF) + bits_low * count_high
    high = bits_high * count_high + (middle >> 16) + (carry >> 16)
    return high.astype(jnp.int32)
