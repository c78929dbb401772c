"""Who asks for the same thing: comparisons between a few players, scatters among many."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.mechanics.layout import FEW, lanes_last

NOBODY = -1


def lots(draw: UInt32[Array, " players"]) -> Int[Array, " players"]:
    """One lot for each player, never negative and all different; the highest wins."""
    players = len(draw)
    seat_bits = max(1, math.ceil(math.log2(max(2, players))))
    lot = (draw >> (seat_bits + 1) << seat_bits) | jnp.arange(players, dtype=jnp.uint32)
    return lot.astype(jnp.int32)


def count(
    asked: Int[Array, " asking"], held: Int[Array, " holding"], things: int
) -> Int[Array, " asking"]:
    """How many hold the thing each one asks about; thing number `things` is none."""
    if len(held) <= 2 * FEW:
        return _count_few(asked, held)
    holders = jnp.zeros(things + 1, jnp.int32).at[held].add(1, mode="promise_in_bounds")
    return holders.at[asked].get(mode="promise_in_bounds")


@lanes_last
def _count_few(
    asked: Int[Array, "asking *lanes"], held: Int[Array, "holding *lanes"]
) -> Int[Array, "asking *lanes"]:
    return jnp.sum(asked[:, None] == held[None], axis=1, dtype=jnp.int32)


def greatest(
    asked: Int[Array, " asking"],
    held: Int[Array, " holding"],
    value: Int[Array, " holding"],
    things: int,
) -> Int[Array, " asking"]:
    """The greatest value among those who hold what each one asks about, or -1."""
    if len(held) <= 2 * FEW:
        return _greatest_few(asked, held, value)
    best = jnp.full(things + 1, NOBODY).at[held].max(value, mode="promise_in_bounds")
    return best.at[asked].get(mode="promise_in_bounds")


@lanes_last
def _greatest_few(
    asked: Int[Array, "asking *lanes"],
    held: Int[Array, "holding *lanes"],
    value: Int[Array, "holding *lanes"],
) -> Int[Array, "asking *lanes"]:
    return jnp.max(jnp.where(asked[:, None] == held[None], value[None], NOBODY), axis=1)


def winners(
    draw: UInt32[Array, " players"], wanted: Int[Array, " players"], things: int
) -> Bool[Array, " players"]:
    """Who gets what it wants: of those who want one thing, one by lot."""
    lot = lots(draw)
    return (wanted != things) & (greatest(wanted, wanted, lot, things) == lot)


def pairs(
    draw: UInt32[Array, " players"], partner: Int[Array, " players"]
) -> Bool[Array, " players"]:
    """Whose proposal to meet `partner` stands, where nobody may be in two meetings.

    A proposal stands if its lot is the highest of all proposals by or to either of the two.
    `partner` is the number of players for who proposes to nobody.
    """
    players = len(partner)
    seat = jnp.arange(players, dtype=jnp.int32)
    lot = jnp.where(partner == players, NOBODY, lots(draw))
    held = jnp.concatenate([jnp.where(partner == players, players, seat), partner])
    best = greatest(jnp.concatenate([seat, partner]), held, jnp.concatenate([lot, lot]), players)
    return (partner != players) & (best[:players] == lot) & (best[players:] == lot)
