"""Everybody moves at once, and nobody shares a cell."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, UInt32

from sociarium.core import random
from sociarium.mechanics import turning
from sociarium.mechanics.layout import FEW, lanes_last
from sociarium.mechanics.terrain import Terrain


def walk(
    key: Key[Array, ""],
    terrain: Terrain,
    body: Int[Array, " players"],
    heading: Int[Array, " players"],
    actions: Int[Array, " players"],
) -> Int[Array, " players"]:
    """Where everybody stands after stepping; walls, edges and other players block."""
    walks, toward = turning.course(heading, actions)
    there = jnp.where(walks, terrain.neighbour(body, toward), body)
    return resolve(random.bits(key, *body.shape), body, there, terrain.nowhere)


def resolve(
    draw: UInt32[Array, " players"],
    here: Int[Array, " players"],
    there: Int[Array, " players"],
    nowhere: int,
    swaps: bool = False,
) -> Int[Array, " players"]:
    """Moves everyone from `here` to `there` at once; the cells on the map stay distinct.

    A cell wanted by several goes to whoever stays on it, else to the one with the highest draw.
    Following one who leaves is allowed, and so are rings of three or more; two players swap only
    where `swaps` allows it. Whoever is nowhere stays there.
    """
    lot = lots(draw, jnp.arange(len(here)), here == there, len(here))
    if len(here) <= FEW:
        return _resolve_few(swaps)(lot, here, there)
    return _resolve_many(lot, here, there, nowhere, swaps)


def lots(
    draw: UInt32[Array, " some"],
    seat: Int[Array, " some"],
    stands: Bool[Array, " some"],
    players: int,
) -> UInt32[Array, " some"]:
    """The lots of these of all players, all different; one who stands has the highest."""
    spare_bits = max(1, math.ceil(math.log2(max(2, players))))
    seat = seat.astype(jnp.uint32)
    lot = (draw >> spare_bits << spare_bits) | seat
    return jnp.where(stands, jnp.uint32(0xFFFFFFFF) << spare_bits | seat, lot)


@cache
def _resolve_few(swaps: bool) -> Callable[..., Any]:
    """Compares all pairs; axis 0 is the one who asks, axis 1 the other."""

    @lanes_last
    def resolve_few(
        lot: UInt32[Array, "players *lanes"],
        here: Int[Array, "players *lanes"],
        there: Int[Array, "players *lanes"],
    ) -> Int[Array, "players *lanes"]:
        """`queue` holds, as bits, everybody somebody waits for, directly or along a chain."""
        players = len(here)
        moves = here != there
        outbid = ((there[:, None] == there[None]) & (lot[None] > lot[:, None])).any(1)
        onto = (there[:, None] == here[None]) & moves[:, None]
        stays = ~moves | outbid
        if not swaps:
            stays = stays | (onto & jnp.swapaxes(onto, 0, 1)).any(1)

        seat = jnp.arange(players, dtype=jnp.uint32).reshape(players, *[1] * (here.ndim - 1))
        queue = jnp.sum(jnp.where(onto, jnp.uint32(1) << seat[None], 0), 1, dtype=jnp.uint32)
        for _ in range(math.ceil(math.log2(max(2, players)))):
            ahead = jnp.where((queue[:, None] >> seat[None]) & 1 == 1, queue[None], 0)
            queue = queue | jnp.bitwise_or.reduce(ahead, axis=1)
        staying = jnp.sum(jnp.where(stays, jnp.uint32(1) << seat, 0), 0, dtype=jnp.uint32)
        return jnp.where(stays | ((queue & staying[None]) != 0), here, there)

    return resolve_few


def _resolve_many(
    lot: UInt32[Array, " players"],
    here: Int[Array, " players"],
    there: Int[Array, " players"],
    nowhere: int,
    swaps: bool,
) -> Int[Array, " players"]:
    """Players write to the cells and read them back; pointers double along queues of followers."""
    players = len(here)
    seat = jnp.arange(players, dtype=jnp.int32)
    moves = here != there
    best = jnp.zeros(nowhere + 1, jnp.uint32).at[there].max(lot, mode="promise_in_bounds")
    outbid = moves & (best[there] != lot)
    standing = jnp.full(nowhere + 1, -1, jnp.int32).at[here].set(seat, mode="promise_in_bounds")
    leader = jnp.where(moves, standing[there], -1)
    leader = jnp.where(leader < 0, seat, leader)
    stays = ~moves | outbid
    if not swaps:
        stays = stays | (moves & (leader != seat) & (leader[leader] == seat))

    def follow(_: Any, carry: tuple[Bool[Array, " players"], Int[Array, " players"]]):
        stays, leader = carry
        return stays | stays[leader], leader[leader]

    jumps = math.ceil(math.log2(players))
    stays, _ = jax.lax.fori_loop(0, jumps, follow, (stays, leader))
    return jnp.where(stays, here, there)
