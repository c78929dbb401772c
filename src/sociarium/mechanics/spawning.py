"""Where players start, and how they leave play and come back."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Int, Key, UInt8, UInt32

from sociarium.core import random
from sociarium.core.errors import BadMap
from sociarium.mechanics import bitsets
from sociarium.mechanics.layout import FEW, lanes_last, no_inline
from sociarium.mechanics.terrain import Terrain

MANY = 512  # sets up to this size are kept as bits
LARGE = 2**18  # maps of more cells are sorted by NumPy where that can be done
SHORT = 256  # lists up to this length are ranked by comparing all pairs, which compiles quickly


def enough_places(cells: int, players: int, what: str) -> None:
    """Raises where a map has fewer places than players."""
    if cells < players:
        raise BadMap(
            f"{players} players need {players} {what}, and the map has {cells}; "
            "use fewer players or draw a map with more"
        )


def shuffled(key: Key[Array, ""], count: int) -> Int[Array, " count"]:
    """A uniform order of 0..count-1: the ranks of as many draws."""
    draw = random.bits(key, count)
    if count > SHORT:
        order = jnp.argsort(draw, stable=True)
        return jnp.zeros(count, jnp.int32).at[order].set(jnp.arange(count, dtype=jnp.int32))
    index = jnp.arange(count)
    tied = (draw[None] == draw[:, None]) & (index[None] < index[:, None])
    return jnp.sum((draw[None] < draw[:, None]) | tied, axis=1, dtype=jnp.int32)


def drawn(
    key: Key[Array, ""], cells: Int[np.ndarray, " places"], players: int
) -> Int[Array, " players"]:
    """Different cells for all players, drawn by lot."""
    return jnp.asarray(cells)[shuffled(key, len(cells))][:players]


def scattered_over(
    key: Key[Array, ""], taken: Bool[Array, " cells"], things: int
) -> Int[Array, " things"]:
    """Different cells that are not taken, as many as there are things, drawn by lot.

    Outside compiled code the lots of large maps are sorted by NumPy, which is much faster.
    """
    lots = _lots(key, taken)
    if len(taken) > LARGE and not isinstance(lots, Tracer):
        return jnp.asarray(_least_by_numpy(np.asarray(lots), things))
    return jnp.argsort(lots, stable=True)[:things].astype(jnp.int32)


@partial(jax.jit, inline=True)
def _lots(key: Key[Array, ""], taken: Bool[Array, " cells"]) -> UInt32[Array, " cells"]:
    """A lot for each cell; the highest for one that is taken."""
    draw = random.bits(key, len(taken)) >> 1
    return jnp.where(taken, jnp.uint32(0xFFFFFFFF), draw)


def _least_by_numpy(lots: UInt32[np.ndarray, " cells"], things: int) -> Int[np.ndarray, " things"]:
    """The places of the least lots, the least first; of equal ones the first comes first."""
    numbered = lots.astype(np.uint64) << 32 | np.arange(len(lots), dtype=np.uint64)
    if 0 < things < len(lots):
        numbered = np.partition(numbered, things - 1)[:things]
    return (np.sort(numbered)[:things] & 0xFFFFFFFF).astype(np.int32)


def headings(key: Key[Array, ""], players: int) -> Int[Array, " players"]:
    """A uniform heading for each player."""
    return (random.bits(key, players) >> 30).astype(jnp.int32)


def scattered(cells: Int[np.ndarray, " places"]) -> Int[np.ndarray, " places"]:
    """The cells in a fixed order without pattern, so that neighbours in it are far apart."""
    return np.random.default_rng(0).permutation(cells)


class Respawn:
    """Who is sent away, and who comes back and where.

    `spawn` cells must be in `scattered` order. A player sent away for n steps misses n steps and
    is back at the end of the last of them. One free cell is drawn uniformly; the players who come
    back in this step take it and the free cells after it in the order of `spawn`, by seat, so each
    lands uniformly and no two together. Where too few cells are free the rest wait a step.
    """

    def __init__(self, terrain: Terrain, spawn: Int[np.ndarray, " places"]) -> None:
        self.terrain = terrain
        self.spawn = spawn
        self.slot = terrain.numbering(spawn)

    def __call__(
        self,
        key: Key[Array, ""],
        body: Int[Array, " players"],
        heading: Int[Array, " players"],
        away: Int[Array, " players"],
        sent: Bool[Array, " players"],
        duration: Int[Array, ""] | Int[Array, " players"],
    ) -> tuple[
        Int[Array, " players"],
        Int[Array, " players"],
        Int[Array, " players"],
        Bool[Array, " players"],
    ]:
        """Bodies, headings, steps away after departures and returns, and who came back."""
        nowhere = self.terrain.nowhere
        away = jnp.where(sent, duration, jnp.maximum(away - 1, 0))
        body = jnp.where(sent, nowhere, body)
        word = random.bits(key, len(body) + 1)
        due = (body == nowhere) & (away == 0)
        place = self._places(word[-1], body, due)
        back = due & (place != nowhere)
        facing = (word[:-1] >> 30).astype(jnp.int32)
        return jnp.where(back, place, body), jnp.where(back, facing, heading), away, back

    def _places(
        self, word: UInt32[Array, ""], body: Int[Array, " players"], due: Bool[Array, " players"]
    ) -> Int[Array, " players"]:
        if len(body) <= FEW and len(self.spawn) <= MANY:
            stood_on = jnp.asarray(self.slot).at[body].get(mode="promise_in_bounds")
            slot = _slots_few(word, stood_on, due, bitsets.packed(jnp.ones(len(self.spawn), bool)))
            return jnp.append(jnp.asarray(self.spawn), self.terrain.nowhere)[slot]
        slots = len(self.spawn)
        free = ~occupied(jnp.asarray(self.slot)[body], slots)
        rank = jnp.cumsum(free) - 1
        count = rank[-1] + 1
        by_rank = jnp.full(slots + 1, self.terrain.nowhere, jnp.int32)
        by_rank = by_rank.at[jnp.where(free, rank, slots)].set(self.spawn)
        turn = jnp.cumsum(due) - 1
        wanted = random.randint_from_bits(word, count) + turn
        wanted = jnp.where(wanted < count, wanted, wanted - count)
        return jnp.where(due & (turn < count), by_rank[wanted], self.terrain.nowhere)


@lanes_last
def _slots_few(
    word: UInt32[Array, "*lanes"],
    stood_on: Int[Array, "players *lanes"],
    due: Bool[Array, "players *lanes"],
    every: UInt32[Array, "words *lanes"],
) -> Int[Array, "players *lanes"]:
    """The slot each player who is due comes back to; for the others, the number of slots."""
    free = every & ~bitsets.holding(stood_on, len(every))
    count = bitsets.size(free)
    seat = jnp.arange(len(due), dtype=jnp.uint32).reshape(len(due), *[1] * word.ndim)
    before = bitsets.packed_few(due)[None] & ((jnp.uint32(1) << seat) - 1)
    turn = jax.lax.population_count(before).astype(jnp.int32)
    wanted = no_inline(_in_turn, word, count, turn)
    slot = bitsets.nth(free, jnp.where(wanted < count[None], wanted, wanted - count[None]))
    return jnp.where(due & (turn < count[None]), slot, bitsets.size(every)[None])


def _in_turn(
    word: UInt32[Array, "*lanes"], count: Int[Array, "*lanes"], turn: Int[Array, "players *lanes"]
) -> Int[Array, "players *lanes"]:
    return random.randint_from_bits(word, count)[None] + turn


def draw_one(
    word: UInt32[Array, ""], mask: Bool[Array, " entries"]
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """A uniformly drawn True entry (the length if there is none), and how many there are."""
    first, _, count = _runs(word, mask, jnp.zeros(0, jnp.int32))
    return jnp.where(count > 0, first, len(mask)), count


def in_runs(
    word: UInt32[Array, ""], free: Bool[Array, " entries"], lengths: Int[Array, " runs"]
) -> UInt8[Array, " entries"]:
    """The run each free entry belongs to, from 1, when one after the other is laid from a lot.

    The first run begins at a free entry that is drawn uniformly, and takes the free entries after
    it; behind the last entry comes the first. Entries that are not free or that no run reaches
    have 0. With entries in `scattered` order the places of a run are each uniform and no two the
    same.
    """
    entries = len(free)
    first, ends, _ = _runs(word, free, lengths)
    far = jnp.arange(entries, dtype=jnp.int32) - first
    far = jnp.where(far < 0, far + entries, far)
    run = sum(((far >= end).astype(jnp.uint8) for end in ends[:-1]), jnp.uint8(1))
    return jnp.where(free & (far < ends[-1]), run, jnp.uint8(0))


def _runs(
    word: UInt32[Array, ""], free: Bool[Array, " entries"], lengths: Int[Array, " runs"]
) -> tuple[Int[Array, ""], Int[Array, " runs"], Int[Array, ""]]:
    """Where the first run begins, how far behind it each run ends, and the number of free entries.

    A run that would need more than the free entries ends as far behind as there are entries.
    """
    entries = len(free)
    if entries <= MANY:
        words = bitsets.packed(free)
        ends, entry, count = _runs_few(word, words, lengths)
    else:
        passed = jnp.cumsum(free, dtype=jnp.int32)
        count = passed[-1]
        ends, number = _numbers(word, count, lengths)
        entry = jnp.sum(passed[None] <= number[:, None], axis=1, dtype=jnp.int32)
    far = entry[1:] - entry[0]
    far = jnp.where(far < 0, far + entries, far)
    return entry[0], jnp.where(ends < count, far, entries), count


@lanes_last
def _runs_few(
    word: UInt32[Array, "*lanes"],
    words: UInt32[Array, "words *lanes"],
    lengths: Int[Array, "runs *lanes"],
) -> tuple[Int[Array, "runs *lanes"], Int[Array, "more *lanes"], Int[Array, "*lanes"]]:
    count = bitsets.size(words)
    ends, number = _numbers(word, count, lengths)
    return ends, bitsets.nth(words, number), count


def _numbers(
    word: UInt32[Array, "*lanes"], count: Int[Array, "*lanes"], lengths: Int[Array, "runs *lanes"]
) -> tuple[Int[Array, "runs *lanes"], Int[Array, "more *lanes"]]:
    """How many free entries the runs take together, and which free entry each begins with."""
    ends = jnp.cumsum(lengths, axis=0, dtype=jnp.int32)
    number = random.randint_from_bits(word, count)[None] + jnp.append(
        jnp.zeros_like(count)[None], ends, 0
    )
    return ends, jnp.where(number < count[None], number, number - count[None])


def occupied(place: Int[Array, " players"], places: int) -> Bool[Array, " places"]:
    """Which places somebody stands on; a player who stands on none has number `places`."""
    feet = jnp.zeros(places + 1, bool).at[place].set(True, mode="promise_in_bounds")
    return feet[:-1]
