"""From what is seen to the next step: shortest paths inside a player's own window."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.core import random
from sociarium.mechanics import turning
from sociarium.mechanics.layout import lanes_last
from sociarium.players.planning import floods

HURRY = 24  # a stroll turns aside once in this many steps


def step_toward(
    goal: Bool[Array, "rows cols"],
    blocked: Bool[Array, "rows cols"],
    ego_origin: tuple[int, int],
    word: UInt32[Array, ""],
) -> tuple[Int[Array, ""], Bool[Array, ""]]:
    """The first step of a shortest way from `ego_origin` to a goal, and whether there is one.

    The way leads through free cells of the window; equally good steps are chosen by lot. Standing
    on a goal is staying.
    """
    row, col = ego_origin
    free = floods.packed(~blocked.at[row, col].set(False))
    ways = _flood(ego_origin, blocked.shape[1])(floods.packed(goal) & free, free)
    is_way = ways >> jnp.arange(4, dtype=jnp.uint32) & 1 == 1
    action = jnp.where(goal[row, col], turning.STAY, turning.FORWARD + one_of(is_way, word))
    return action.astype(jnp.int32), goal[row, col] | (ways > 0)


def seek(
    goal: Bool[Array, "rows cols"],
    blocked: Bool[Array, "rows cols"],
    ego_origin: tuple[int, int],
    word: UInt32[Array, ""],
) -> Int[Array, ""]:
    """A step toward the nearest goal in sight, or a stroll where none can be reached."""
    action, found = step_toward(goal, blocked, ego_origin, word)
    return jnp.where(found, action, stroll(blocked, ego_origin, word))


def make_for(
    ahead: Int[Array, ""],
    right: Int[Array, ""],
    blocked: Bool[Array, "rows cols"],
    ego_origin: tuple[int, int],
    word: UInt32[Array, ""],
) -> Int[Array, ""]:
    """A step toward a place so many cells ahead and to the right, in sight or not.

    One turns to what lies behind, and walks to the free cell in sight that is nearest to the place.
    """
    row, col = ego_origin
    rows, cols = (jnp.arange(extent) for extent in blocked.shape)
    far = jnp.abs(row - rows - ahead)[:, None] + jnp.abs(cols - col - right)[None]
    far = jnp.where(blocked.at[row, col].set(False), sum(blocked.shape) + far, far)
    step, found = step_toward(far == far.min(), blocked, ego_origin, word)
    turn = jnp.where(right < 0, turning.TURN_LEFT, turning.TURN_RIGHT)
    behind = ahead < row + 1 - blocked.shape[0]
    step = jnp.where(found & (step != turning.STAY), step, stroll(blocked, ego_origin, word))
    return jnp.where(behind, turn, step).astype(jnp.int32)


def stroll(
    blocked: Bool[Array, "rows cols"], ego_origin: tuple[int, int], word: UInt32[Array, ""]
) -> Int[Array, ""]:
    """Straight on, with a turn now and then; before an obstacle, a turn to the more open side."""
    row, col = ego_origin
    left = _free_run(blocked[row, :col][::-1])
    right = _free_run(blocked[row, col + 1 :])
    coin = word >> 31 == 0
    to_left = (left > right) | ((left == right) & coin)
    aside = (word & 0xFFFF) * HURRY < 0x10000
    turns_left = jnp.where(blocked[row - 1, col], to_left, coin)
    turn = jnp.where(turns_left, turning.TURN_LEFT, turning.TURN_RIGHT)
    return jnp.where(blocked[row - 1, col] | aside, turn, turning.FORWARD).astype(jnp.int32)


def _free_run(blocked: Bool[Array, " cells"]) -> Int[Array, ""]:
    """How many cells are free before the first blocked one."""
    return jnp.sum(jnp.cumsum(blocked) == 0, dtype=jnp.int32)


def one_of(choices: Bool[Array, " choices"], word: UInt32[Array, ""]) -> Int[Array, ""]:
    """The number of one of the choices that are open, by lot; 0 where none is."""
    rank = jnp.cumsum(choices)
    chosen = random.randint_from_bits(word, rank[-1]) + 1
    return jnp.argmax(choices & (rank == chosen)).astype(jnp.int32)


@cache
def _flood(ego_origin: tuple[int, int], cols: int) -> Callable[..., Any]:
    """A flood from the goals until it reaches home: the bits of the neighbours it comes by.

    A row of the window, of up to 32 cells, is one word, so a step of the flood is a few shifts.
    """
    row, col = ego_origin

    def at(words: Any, row: int, col: int) -> Any:
        return words[row, 0] >> col & 1

    @lanes_last
    def flood(
        front: UInt32[Array, "rows words *lanes"], free: UInt32[Array, "rows words *lanes"]
    ) -> UInt32[Array, "*lanes"]:
        def unfinished(flooding: Any) -> Any:
            return flooding[2]

        def rise(flooding: Any) -> Any:
            front, ways, _ = flooding
            beside = (
                at(front, row - 1, col)
                | at(front, row + 1, col) << 1
                | at(front, row, col - 1) << 2
                | at(front, row, col + 1) << 3
            )
            ways = jnp.where(at(front, row, col) == 1, ways, beside)
            after = floods.spread(front, free, cols)
            return after, ways, ((after != front).any((0, 1)) & (at(after, row, col) == 0)).any()

        dry = jnp.zeros_like(front[0, 0])
        start = (front, dry, jnp.bool_(True))
        front, ways, _ = jax.lax.while_loop(unfinished, rise, start)
        return ways

    return flood
