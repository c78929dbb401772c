"""The generator behind every draw: a battery over the ways worlds use it, and exact draws.

Seeds are fixed, so nothing here is a matter of luck. `LEVEL` is the chance with which a perfect
generator would fail any test of the battery; each p-value must clear its equal share of it.
"""

from collections.abc import Callable
from functools import cache, partial

import jax
import jax.extend.random
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sociarium
from sociarium.core import random
from sociarium.core.errors import BadArgument
from sociarium.core.random import EPISODE_STEPS, PLAYER_MOVES, step_key

LEVEL = 1e-3
WORDS = 2**18
SIDE = 32  # of the matrices whose ranks are counted


# Statistics: words, in the order in which they were drawn, to one p-value.


def least(p_values: np.ndarray) -> float:
    """One p-value from several: the smallest, times how many there are."""
    return float(min(1.0, p_values.min() * p_values.size))


def two_sided(z: np.ndarray) -> np.ndarray:
    return 2 * stats.norm.sf(np.abs(z))


def poisson(count: int, mean: float) -> float:
    return float(
        min(1.0, 2 * min(stats.poisson.cdf(count, mean), stats.poisson.sf(count - 1, mean)))
    )


def fraction(words: np.ndarray) -> np.ndarray:
    return words / 2.0**32


def byte_counts(words: np.ndarray) -> np.ndarray:
    """How often each value stands in each of a word's four bytes, lowest first."""
    halves = [
        np.bincount(words.astype("<u4").view("<u2")[half::2], minlength=2**16) for half in (0, 1)
    ]
    return np.concatenate(
        [np.stack([h.reshape(256, 256).sum(0), h.reshape(256, 256).sum(1)]) for h in halves]
    )


def bits_are_balanced(words: np.ndarray) -> float:
    set_in = (np.arange(256)[:, None] >> np.arange(8)) & 1
    ones = (byte_counts(words) @ set_in).ravel()
    return least(two_sided((ones - len(words) / 2) / np.sqrt(len(words) / 4)))


def bytes_are_uniform(words: np.ndarray) -> float:
    return least(stats.chisquare(byte_counts(words), axis=1).pvalue)


def pairs_of_nibbles_are_uniform(words: np.ndarray) -> float:
    """Neighbouring words, as cells of a 16 x 16 table, for each of their eight nibbles."""
    p_values = []
    for shift in range(0, 32, 4):
        nibble = (words >> shift) & 0xF
        pair = nibble[0::2] * 16 + nibble[1::2]
        p_values.append(stats.chisquare(np.bincount(pair, minlength=256)).pvalue)
    return least(np.array(p_values))


def words_do_not_correlate(words: np.ndarray) -> float:
    """Serial correlation, at lags of 1 to 64."""
    centred = (fraction(words) - 0.5) * np.sqrt(12)
    sums = [(centred[lag:] * centred[:-lag]).sum() for lag in range(1, 65)]
    z = [total / np.sqrt(len(words) - lag) for lag, total in enumerate(sums, start=1)]
    return least(two_sided(np.array(z)))


@jax.jit
def bit_products(words: jax.Array, others: jax.Array) -> jax.Array:
    """For every bit of the words and every bit of the others, how much more often they agree."""
    signs, other_signs = (
        ((part[:, None] >> jnp.arange(32, dtype=jnp.uint32)[None]) & 1) * 2.0 - 1
        for part in (words, others)
    )
    return signs.T @ other_signs


def bits_do_not_correlate(words: np.ndarray) -> float:
    """Every bit with every bit of the next word, and with the other bits of its own."""
    following = bit_products(words[1:], words[:-1]).ravel() / np.sqrt(len(words) - 1)
    own = bit_products(words, words)[np.triu_indices(32, 1)] / np.sqrt(len(words))
    return least(two_sided(np.append(following, own)))


def runs_are_as_many(words: np.ndarray) -> float:
    """Runs of equal bits along the sequence (Wald and Wolfowitz), at lags of 1, 2, 4 to 256."""
    lags = [1 << power for power in range(9)]
    return least(np.array([bits_are_balanced(words[lag:] ^ words[:-lag]) for lag in lags]))


def orders_are_uniform(words: np.ndarray) -> float:
    """The order of four words in a row is any of the 24."""
    rank = np.argsort(words.reshape(-1, 4), axis=1) @ np.array([64, 16, 4, 1])
    _, seen = np.unique(rank, return_counts=True)
    return float(stats.chisquare(np.append(seen, np.zeros(24 - len(seen)))).pvalue)


def gaps_are_as_long(words: np.ndarray) -> float:
    """Waiting times between words of the lowest, a middle and the highest sixteenth."""
    longest = 64
    chances = stats.geom.pmf(np.arange(1, longest), 1 / 16)
    chances = np.append(chances, stats.geom.sf(longest - 1, 1 / 16))
    p_values = []
    for wanted in (0, 7, 15):
        gaps = np.diff(np.flatnonzero(words >> 28 == wanted))
        seen = np.bincount(np.minimum(gaps, longest), minlength=longest + 1)[1:]
        p_values.append(stats.chisquare(seen, chances * len(gaps)).pvalue)
    return least(np.array(p_values))


def birthdays_are_spaced(words: np.ndarray) -> float:
    """Equal spacings among 512 birthdays in a year of 2^24 days, in the high and low bits."""
    born, p_values = 512, []
    for shift in (8, 4, 0):
        days = np.sort(((words >> shift) & 0xFFFFFF).reshape(-1, born).astype(np.int64), axis=1)
        spacing = np.sort(np.diff(days, axis=1, append=days[:, :1] + 2**24), axis=1)
        equal = int((np.diff(spacing, axis=1) == 0).sum())
        p_values.append(poisson(equal, len(days) * born**3 / 2**26))
    return least(np.array(p_values))


def collisions_are_as_many(words: np.ndarray) -> float:
    """Balls that fall into an urn already filled: 2^14 balls, 2^20 urns, in high and low bits."""
    balls, urns, p_values = 2**14, 2.0**20, []
    empty, both_empty = (1 - 1 / urns) ** balls, (1 - 2 / urns) ** balls
    mean = balls - urns * (1 - empty)
    variance = urns * empty + urns * (urns - 1) * both_empty - (urns * empty) ** 2
    for shift in (12, 0):
        thrown = np.sort(((words >> shift) & 0xFFFFF).reshape(-1, balls), axis=1)
        again = (np.diff(thrown, axis=1) == 0).sum()
        p_values.append(two_sided((again - len(thrown) * mean) / np.sqrt(len(thrown) * variance)))
    return least(np.array(p_values))


def ranks(matrices: np.ndarray) -> np.ndarray:
    """The ranks over GF(2) of matrices given as rows of 32-bit words, all at once."""
    rows, rank = matrices.copy(), np.zeros(len(matrices), np.int64)
    every = np.arange(len(rows))
    for bit in range(32):
        has = (rows >> np.uint32(bit)) & 1 == 1
        candidate = has & (np.arange(rows.shape[1]) >= rank[:, None])
        found = candidate.any(1)
        pivot, target = candidate.argmax(1), np.minimum(rank, rows.shape[1] - 1)
        row = rows[every, pivot]
        swapped = np.where(found, rows[every, target], row)
        rows[every, pivot] = swapped
        rows[every, target] = np.where(found, row, rows[every, target])
        below = ((rows >> np.uint32(bit)) & 1 == 1) & (np.arange(rows.shape[1]) > target[:, None])
        rows = np.where(below & found[:, None], rows ^ row[:, None], rows)
        rank += found
    return rank


def matrices_have_full_rank(words: np.ndarray) -> float:
    """32 x 32 matrices made of whole words, and of one bit of 1024 words."""
    chances = np.array([0.0052854502, 0.1283502644, 0.5775761902, 0.2887880952])
    powers = np.uint32(1) << np.arange(SIDE, dtype=np.uint32)
    counted = [(words.reshape(-1, SIDE), chances)]
    for bit in (0, 1, 15, 16, 31):
        bits = (words >> np.uint32(bit) & 1).reshape(-1, SIDE, SIDE)
        # These are few: the two rarest ranks share a cell.
        counted.append(
            ((bits * powers).sum(2, dtype=np.uint32), np.array([sum(chances[:2]), *chances[2:]]))
        )
    p_values = []
    for matrices, expected in counted:
        cell = np.maximum(ranks(matrices) - (33 - len(expected)), 0)
        seen = np.bincount(cell, minlength=len(expected))
        p_values.append(stats.chisquare(seen, expected / expected.sum() * len(matrices)).pvalue)
    return least(np.array(p_values))


STATISTICS = (
    bits_are_balanced,
    bytes_are_uniform,
    pairs_of_nibbles_are_uniform,
    words_do_not_correlate,
    bits_do_not_correlate,
    runs_are_as_many,
    orders_are_uniform,
    gaps_are_as_long,
    birthdays_are_spaced,
    collisions_are_as_many,
    matrices_have_full_rank,
)


# Streams: the ways in which words are drawn from one key, each WORDS long.


def first_words(keys: jax.Array, each: int = 1) -> jax.Array:
    return jax.vmap(lambda key: random.bits(key, each))(keys).ravel()


def fold_all(key: jax.Array, data: jax.Array) -> jax.Array:
    return jax.vmap(lambda number: jax.random.fold_in(key, number))(data)


def key_words(keys: jax.Array) -> jax.Array:
    return jax.random.key_data(keys).ravel()


def one_key(key):
    return random.bits(key, WORDS)


def split_children(key):
    return first_words(jax.random.split(key, WORDS))


def split_child_keys(key):
    return key_words(jax.random.split(key, WORDS // 2))


def split_siblings_compared(key):
    """The same draw of two siblings, one XOR the other: uniform only if they are independent."""
    drawn = first_words(jax.random.split(key, 256), WORDS // 128).reshape(256, -1)
    return (drawn[0::2] ^ drawn[1::2]).ravel()


def split_in_generations(key):
    """Only children of only children: one chain, as long as an episode of splitting every step."""

    def generation(key, _):
        key, own = jax.random.split(key)
        return key, random.bits(own, 16)

    return jax.lax.scan(generation, key, None, WORDS // 16)[1].ravel()


def parent_and_split_child_compared(key):
    parent, child = random.bits(key, WORDS), random.bits(jax.random.split(key, 3)[1], WORDS)
    return parent ^ child


def fold_children(key):
    return first_words(fold_all(key, jnp.arange(WORDS)))


def fold_child_keys(key):
    return key_words(fold_all(key, jnp.arange(WORDS // 2)))


def fold_siblings_compared(key):
    drawn = first_words(fold_all(key, jnp.arange(256)), WORDS // 128).reshape(256, -1)
    return (drawn[0::2] ^ drawn[1::2]).ravel()


def parent_and_fold_child_compared(key):
    return random.bits(key, WORDS) ^ random.bits(jax.random.fold_in(key, 1), WORDS)


def key_of_step(key, lane, episode, step):
    start = jax.random.fold_in(jax.random.fold_in(key, lane), episode)
    return jax.random.fold_in(jax.random.fold_in(start, EPISODE_STEPS), step)


def test_the_battery_follows_the_keys_of_lanes():
    key = sociarium.key(5)
    ours = key_of_step(key, 3, 2, 40)
    np.testing.assert_array_equal(
        key_words(ours), key_words(step_key(jax.random.fold_in(key, 3), 2, 40))
    )


def lanes_steps(key, lanes: int, episodes: int, steps: int, each: int) -> jax.Array:
    """What `Lanes` draws: [lane, episode, step, word]."""

    def words(lane, episode, step):
        return random.bits(key_of_step(key, lane, episode, step), each)

    over_steps = jax.vmap(words, (None, None, 0))
    over_episodes = jax.vmap(over_steps, (None, 0, None))
    over_lanes = jax.vmap(over_episodes, (0, None, None))
    return over_lanes(jnp.arange(lanes), jnp.arange(episodes), jnp.arange(steps))


def a_lane_through_its_steps(key):
    return lanes_steps(key, 4, 4, 1024, 16).ravel()


def a_step_across_lanes(key):
    return lanes_steps(key, 4096, 1, 16, 4).transpose(1, 2, 3, 0).ravel()


def an_episode_across_lanes(key):
    return lanes_steps(key, 2048, 128, 1, 1).transpose(1, 2, 3, 0).ravel()


def lanes_compared(key):
    drawn = lanes_steps(key, 256, 1, 128, 16)
    return (drawn[0::2] ^ drawn[1::2]).ravel()


def steps_compared(key):
    drawn = lanes_steps(key, 64, 1, 512, 16)
    return (drawn[:, :, 0::2] ^ drawn[:, :, 1::2]).ravel()


def players_moves(key):
    """One word for each player of each step of an episode."""
    stream = jax.random.fold_in(key, EPISODE_STEPS)

    def moves(step):
        of_step = jax.random.fold_in(jax.random.fold_in(stream, step), PLAYER_MOVES)
        return first_words(fold_all(of_step, jnp.arange(16)))

    return jax.vmap(moves)(jnp.arange(WORDS // 16)).ravel()


def phases_of_a_step(key):
    """A step's key is split by phase, and every phase draws a little."""
    phases = jax.vmap(lambda step: jax.random.split(step, 4))(
        fold_all(key, jnp.arange(WORDS // 64))
    )
    return first_words(phases.ravel(), 16)


def bits_and_split_compared(key):
    children = jax.random.key_data(jax.random.split(key, WORDS // 2))
    return (random.bits(key, WORDS // 2)[:, None] ^ children).ravel()


def bits_and_fold_compared(key):
    children = jax.random.key_data(fold_all(key, jnp.arange(WORDS // 2)))
    return (random.bits(key, WORDS // 2)[:, None] ^ children).ravel()


def split_and_fold_compared(key):
    number = jnp.arange(WORDS // 2)
    split = jax.random.key_data(jax.random.split(key, WORDS // 2))
    return (split ^ jax.random.key_data(fold_all(key, number))).ravel()


def seeds(impl) -> jax.Array:
    """The first 256 words of the seeds 0 to 1023."""
    return first_words(
        jax.vmap(partial(jax.random.key, impl=impl))(jnp.arange(1024)), WORDS // 1024
    )


def of_seed_7(stream: Callable[[jax.Array], jax.Array]) -> Callable[..., jax.Array]:
    return lambda impl: stream(jax.random.key(7, impl=impl))


def across_seeds(impl):
    return seeds(impl).reshape(1024, -1).T.ravel()


def seeds_compared(impl):
    drawn = seeds(impl).reshape(1024, -1)
    return (drawn ^ jnp.roll(drawn, 1, axis=0)).ravel()


def seed_and_bits_compared(impl):
    """Seeding is a purpose of its own: key(n) is not what key 0 draws or folds as its n-th."""
    own = jax.random.key_data(jax.vmap(partial(jax.random.key, impl=impl))(jnp.arange(WORDS // 2)))
    zero = jax.random.wrap_key_data(jnp.zeros(2, jnp.uint32), impl=impl)
    return (own ^ random.bits(zero, WORDS // 2)[:, None]).ravel()


STREAMS = {
    stream.__name__: of_seed_7(stream)
    for stream in (
        one_key,
        split_children,
        split_child_keys,
        split_siblings_compared,
        split_in_generations,
        parent_and_split_child_compared,
        fold_children,
        fold_child_keys,
        fold_siblings_compared,
        parent_and_fold_child_compared,
        a_lane_through_its_steps,
        a_step_across_lanes,
        an_episode_across_lanes,
        lanes_compared,
        steps_compared,
        players_moves,
        phases_of_a_step,
        bits_and_split_compared,
        bits_and_fold_compared,
        split_and_fold_compared,
    )
} | {
    stream.__name__: stream
    for stream in (seeds, across_seeds, seeds_compared, seed_and_bits_compared)
}
SHARE = LEVEL / (len(STREAMS) * len(STATISTICS))


@cache
def drawn(name: str, impl=random.PCG4D) -> np.ndarray:
    return np.asarray(jax.jit(STREAMS[name], static_argnums=0)(impl))


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.__name__)
@pytest.mark.parametrize("stream", STREAMS)
def test_every_stream_passes(stream, statistic):
    p_value = statistic(drawn(stream))
    assert p_value > SHARE, f"{stream}: {statistic.__name__} has p = {p_value:.2g}"


# The battery can fail: generators with known faults, run through the same streams and statistics.

THREEFRY = jax.extend.random.threefry_prng_impl


def congruential_bits(key, bit_width, shape):
    """A counter times a constant, plus the key: an LCG read as a hash."""
    return (key[0] + jnp.arange(np.prod(shape), dtype=jnp.uint32) * 1664525).reshape(shape)


def half_hearted_bits(key, bit_width, shape):
    """Every bit is set with chance 3/4 where it should be 1/2, and repeats in the next word."""
    word = THREEFRY.random_bits(key, bit_width, shape)
    return word | jnp.roll(word, 1)


def added(key, data):
    """A child is the parent plus a number, so grandchildren of different parents are the same."""
    return key.at[0].add(data.astype(jnp.uint32))


CONGRUENTIAL, HALF_HEARTED, ADDING = (
    jax.extend.random.define_prng_impl(
        key_shape=(2,),
        seed=THREEFRY.seed,
        split=THREEFRY.split,
        random_bits=random_bits,
        fold_in=fold_in,
        name=name,
        tag=name[:3],
    )
    for name, random_bits, fold_in in (
        ("congruential", congruential_bits, THREEFRY.fold_in),
        ("half_hearted", half_hearted_bits, THREEFRY.fold_in),
        ("adding", THREEFRY.random_bits, added),
    )
)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.__name__)
def test_every_statistic_rejects_a_generator_with_a_fault(statistic):
    faulty = drawn("one_key", CONGRUENTIAL), drawn("one_key", HALF_HEARTED)
    assert min(statistic(words) for words in faulty) < SHARE


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.__name__)
def test_a_fold_in_that_adds_hides_within_one_stream(statistic):
    assert statistic(drawn("one_key", ADDING)) > SHARE


@pytest.mark.parametrize(
    ("stream", "statistic"),
    [
        ("fold_child_keys", bytes_are_uniform),
        ("an_episode_across_lanes", birthdays_are_spaced),
        ("lanes_compared", collisions_are_as_many),
    ],
)
def test_the_battery_rejects_a_fold_in_that_adds(stream, statistic):
    assert statistic(drawn(stream, ADDING)) < SHARE


# Avalanche: any bit of a key or number, when flipped, flips each bit of the outcome half the time.


def draw_of(key, number):
    return random.bits(key, 4)


def split_of(key, number):
    return key_words(jax.random.split(key))


def fold_of(key, number):
    return key_words(jax.random.fold_in(key, number))


def avalanche(impl, outcome, flips: jax.Array) -> float:
    """The p-value of what each flip, as bits of (key, key, number), changes in the outcome."""

    @jax.jit
    def changes(inputs: jax.Array) -> jax.Array:
        def of(parts: jax.Array) -> jax.Array:
            return outcome(jax.random.wrap_key_data(parts[:2], impl=impl), parts[2])

        return jax.vmap(lambda parts: jax.vmap(lambda flip: of(parts ^ flip) ^ of(parts))(flips))(
            inputs
        )

    trials = np.random.default_rng(0).integers(0, 2**32, (2**13, 3), dtype=np.uint32)
    changed = np.asarray(changes(jnp.asarray(trials)))
    p_values = [
        bits_are_balanced(changed[:, flip, word])
        for flip in range(changed.shape[1])
        for word in range(changed.shape[2])
    ]
    return least(np.array(p_values))


def single_bits(*words: int) -> jax.Array:
    """All flips of one bit in these of the three words."""
    flips = np.zeros((len(words) * 32, 3), np.uint32)
    for place, word in enumerate(words):
        flips[place * 32 : place * 32 + 32, word] = np.uint32(1) << np.arange(32, dtype=np.uint32)
    return jnp.asarray(flips)


AVALANCHES = {
    "key_to_draw": (draw_of, (0, 1)),
    "key_to_split": (split_of, (0, 1)),
    "key_to_fold": (fold_of, (0, 1)),
    "number_to_fold": (fold_of, (2,)),
}


@pytest.mark.parametrize("name", AVALANCHES)
def test_any_flipped_bit_changes_half_of_the_outcome(name):
    outcome, words = AVALANCHES[name]
    p_value = avalanche(random.PCG4D, outcome, single_bits(*words))
    assert p_value > LEVEL / len(AVALANCHES), f"{name}: p = {p_value:.2g}"


@pytest.mark.parametrize("power", range(17))
def test_any_flipped_bit_of_a_draws_index_changes_half_of_the_draw(power):
    words = drawn("one_key")
    index = np.arange(len(words))
    first = index[index >> power & 1 == 0]
    assert bits_are_balanced(words[first] ^ words[first ^ 1 << power]) > LEVEL / 17


def test_avalanche_rejects_keys_that_are_only_added():
    assert avalanche(CONGRUENTIAL, draw_of, single_bits(0)) < LEVEL / len(AVALANCHES)
    assert avalanche(ADDING, fold_of, single_bits(2)) < LEVEL / len(AVALANCHES)


# Children never meet.


def distinct(keys: jax.Array) -> int:
    data = np.asarray(jax.random.key_data(keys)).astype(np.uint64)
    return len(np.unique(data[..., 0] << np.uint64(32) | data[..., 1]))


def million_folded(impl) -> jax.Array:
    return fold_all(jax.random.key(0, impl=impl), jnp.arange(2**20))


def million_steps(impl) -> jax.Array:
    """The step keys of 128 lanes, 8 episodes and 1024 steps."""
    parts = jnp.unravel_index(jnp.arange(2**20), (128, 8, 1024))
    root = jax.random.key(0, impl=impl)
    return jax.vmap(partial(key_of_step, root))(*parts)


def million_split(impl) -> jax.Array:
    return jax.random.split(jax.random.key(0, impl=impl), 2**20)


@pytest.mark.parametrize("children", [million_folded, million_steps, million_split])
def test_a_million_children_are_all_different(children):
    assert distinct(jax.jit(children, static_argnums=0)(random.PCG4D)) == 2**20


def test_steps_meet_where_fold_in_only_adds():
    assert distinct(jax.jit(million_steps, static_argnums=0)(ADDING)) < 2**20


def test_seeds_give_different_keys():
    keys = jax.vmap(partial(jax.random.key, impl=random.PCG4D))(jnp.arange(2**16))
    assert distinct(keys) == 2**16


# One key, one outcome, however it is computed.


def everything(key):
    children = jax.random.split(key, 3)
    folded = jax.random.fold_in(key, 5)
    return (
        random.bits(key, 5),
        key_words(children),
        key_words(folded),
        random.chance(folded, jnp.float32(0.5), 7),
        jax.random.uniform(children[2], (4,)),
    )


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_eager_jit_and_vmap_agree(seed):
    key = sociarium.key(seed)
    eager = everything(key)
    jitted = JITTED(key)
    mapped = MAPPED(jnp.stack([key, sociarium.key(1)]))
    for plain, compiled, lane in zip(eager, jitted, mapped, strict=True):
        np.testing.assert_array_equal(plain, compiled)
        np.testing.assert_array_equal(plain, lane[0])


JITTED, MAPPED = jax.jit(everything), jax.jit(jax.vmap(everything))


def test_a_draw_depends_on_its_index_alone():
    key = sociarium.key(3)
    long = random.bits(key, 24)
    np.testing.assert_array_equal(random.bits(key, 7), long[:7])
    np.testing.assert_array_equal(random.bits(key, 4, 6).ravel(), long)


def test_a_split_child_depends_on_its_index_alone():
    key = sociarium.key(3)
    np.testing.assert_array_equal(
        key_words(jax.random.split(key, 2)), key_words(jax.random.split(key, 9)[:2])
    )


def test_narrow_words_are_uniform():
    narrow = np.asarray(jax.random.bits(sociarium.key(4), (2**16,), jnp.uint8))
    assert stats.chisquare(np.bincount(narrow, minlength=256)).pvalue > LEVEL


def test_wide_words_have_two_different_halves():
    with jax.enable_x64(True):
        wide = np.asarray(jax.random.bits(sociarium.key(4), (2**17,), jnp.uint64))
    low, high = (wide & 0xFFFFFFFF).astype(np.uint32), (wide >> np.uint64(32)).astype(np.uint32)
    for halves in (low, high, low ^ high):
        assert bits_are_balanced(halves) > LEVEL / 3


# `jax.random` works on our keys, and our draws on threefry's.


def test_uniform_is_uniform_and_below_one():
    sample = np.asarray(jax.random.uniform(sociarium.key(0), (2**16,)))
    assert sample.min() >= 0 and sample.max() < 1
    assert stats.kstest(sample, "uniform").pvalue > LEVEL


def test_normal_is_normal():
    sample = np.asarray(jax.random.normal(sociarium.key(0), (2**16,)))
    assert stats.kstest(sample, "norm").pvalue > LEVEL


def test_permutation_is_a_permutation_and_favours_no_place():
    draw = jax.jit(jax.vmap(lambda key: jax.random.permutation(key, 6)))
    orders = np.asarray(draw(jax.random.split(sociarium.key(0), 6000)))
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(6), (6000, 1)))
    first = np.bincount(orders[:, 0], minlength=6)
    assert stats.chisquare(first).pvalue > LEVEL


def test_choice_without_replacement_never_repeats_and_favours_nothing():
    draw = jax.jit(jax.vmap(lambda key: jax.random.choice(key, 8, (3,), replace=False)))
    chosen = np.asarray(draw(jax.random.split(sociarium.key(0), 6000)))
    assert (np.diff(np.sort(chosen, axis=1), axis=1) > 0).all()
    counts = np.bincount(chosen[:, 1], minlength=8)
    assert stats.chisquare(counts).pvalue > LEVEL


def test_threefry_keys_draw_the_same_bits_as_jax():
    key = jax.random.key(9)
    np.testing.assert_array_equal(random.bits(key, 5), jax.random.bits(key, (5,), jnp.uint32))
    happened = int(random.chance(key, jnp.float32(0.25), 2**14).sum())
    assert stats.binomtest(happened, 2**14, 0.25).pvalue > LEVEL


# Exact integer draws.

WORD = st.integers(0, 2**32 - 1) | st.sampled_from([0, 1, 2**16 - 1, 2**16, 2**31, 2**32 - 1])
COUNT = st.integers(0, 2**31 - 1) | st.sampled_from([0, 1, 2**16 - 1, 2**16, 2**16 + 1, 2**31 - 1])
BELOW = jax.jit(random.randint_from_bits)


@given(st.lists(st.tuples(WORD, COUNT), min_size=16, max_size=16))
def test_below_is_the_high_half_of_the_product(pairs):
    word, count = (np.array(part, np.int64) for part in zip(*pairs, strict=True))
    got = BELOW(jnp.asarray(word, jnp.uint32), jnp.asarray(count, jnp.int32))
    assert [int(number) for number in got] == [w * c >> 32 for w, c in pairs]


@pytest.mark.parametrize("count", [2, 3, 7, 100])
def test_below_is_uniform(count):
    words = random.bits(sociarium.key(count), 2**16)
    drawn_numbers = BELOW(words, jnp.full(2**16, count))
    counts = np.bincount(drawn_numbers, minlength=count)
    assert len(counts) == count
    assert stats.chisquare(counts).pvalue > LEVEL


EXTREMES = jnp.array([0, 1, 2, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1], jnp.uint32)


@pytest.mark.parametrize(
    ("given_chance", "happens"), [(0.0, False), (-3.0, False), (1.0, True), (2.0, True)]
)
def test_chance_zero_never_happens_and_chance_one_always(given_chance, happens):
    limit = random.threshold(jnp.float32(given_chance))
    assert (
        random.bernoulli_from_bits(EXTREMES, jnp.broadcast_to(limit, EXTREMES.shape)) == happens
    ).all()
    assert (random.chance(sociarium.key(0), jnp.float32(given_chance), 999) == happens).all()


@given(st.floats(0, 1, width=32))
def test_threshold_counts_the_words_that_fall(chance):
    limit = int(random.threshold(jnp.float32(chance)))
    assert limit == round(chance * 2**31)
    for word in {max(2 * limit - 1, 0), min(2 * limit, 2**32 - 1), min(2 * limit + 1, 2**32 - 1)}:
        assert bool(random.bernoulli_from_bits(jnp.uint32(word), jnp.uint32(limit))) == (
            word // 2 < limit
        )


@pytest.mark.parametrize("probability", [0.001, 0.025, 0.3, 0.5, 0.99])
def test_chance_has_its_frequency(probability):
    happened = random.chance(sociarium.key(11), jnp.float32(probability), 64, 1024)
    assert stats.binomtest(int(happened.sum()), 2**16, probability).pvalue > LEVEL


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), indices=st.lists(st.integers(0, 999), min_size=1))
def test_the_words_at_some_indices_are_those_of_all_words_drawn(seed, indices):
    key, indices = random.key(seed), np.array(indices, np.int32)
    some = jax.jit(random.bits_at)(key, jnp.asarray(np.resize(indices, 40)))
    assert (np.asarray(some) == np.asarray(random.bits(key, 1000))[np.resize(indices, 40)]).all()
    assert (
        np.asarray(some) == np.asarray(random.bits(key, 10, 100)).ravel()[np.resize(indices, 40)]
    ).all()


def test_keys_of_another_generator_have_no_words_at_some_indices():
    with pytest.raises(BadArgument, match="threefry2x32"):
        random.bits_at(jax.random.key(0), jnp.arange(3))
