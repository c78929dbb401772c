"""Masks as words of bits, and floods that spread over them: a row of 32 cells is one word."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.mechanics.bitsets import WORD
from sociarium.mechanics.layout import lanes_last
from sociarium.mechanics.terrain import STEPS


def packed(mask: Bool[Array, "*shape cols"]) -> UInt32[Array, "*shape words"]:
    """The mask with every row packed; column c is bit c % 32 of word c // 32."""
    *shape, cols = mask.shape
    words = -(-cols // WORD)
    mask = jnp.pad(mask, [*[(0, 0)] * len(shape), (0, words * WORD - cols)])
    bit = jnp.uint32(1) << jnp.arange(WORD, dtype=jnp.uint32)
    bit = bit.reshape(*[1] * len(shape), 1, WORD)
    return jnp.sum(jnp.where(mask.reshape(*shape, words, WORD), bit, 0), -1, dtype=jnp.uint32)


def unpacked(front: UInt32[Array, "*shape words"], cols: int) -> Bool[Array, "*shape cols"]:
    """The mask behind packed rows."""
    *shape, words = front.shape
    bit = jnp.arange(WORD, dtype=jnp.uint32).reshape(*[1] * (len(shape) + 1), WORD)
    cells = (front[..., None] >> bit) & 1 == 1
    return cells.reshape(*shape, words * WORD)[..., :cols]


def beside(
    front: UInt32[Array, "rows words *lanes"], cols: int, wraps: bool = False
) -> tuple[Any, Any, Any, Any]:
    """The front moved one cell north, east, south and west; bits may stand beyond the last column.

    Where the map `wraps` what leaves it comes back at the opposite side.
    """
    none_above = front[-1:] if wraps else jnp.zeros_like(front[:1])
    none_below = front[:1] if wraps else jnp.zeros_like(front[:1])
    last = (cols - 1) % WORD
    around_east = front[:, -1:] >> last & 1 if wraps else jnp.zeros_like(front[:, :1])
    around_west = (front[:, :1] & 1) << last if wraps else jnp.zeros_like(front[:, :1])
    carry_east = jnp.concatenate([around_east, front[:, :-1] >> (WORD - 1)], 1)
    carry_west = front[:, 1:] << (WORD - 1)
    carry_west = jnp.concatenate([carry_west, around_west], 1)
    return (
        jnp.concatenate([front[1:], none_below]),
        front << 1 | carry_east,
        jnp.concatenate([none_above, front[:-1]]),
        front >> 1 | carry_west,
    )


def spread(
    front: UInt32[Array, "rows words *lanes"],
    free: UInt32[Array, "rows words *lanes"],
    cols: int,
    wraps: bool = False,
) -> UInt32[Array, "rows words *lanes"]:
    """The front and all cells one step from it, as far as they are free."""
    north, east, south, west = beside(front, cols, wraps)
    return (front | north | east | south | west) & free


def within(
    near: Bool[Array, "rows cols"], steps: Int[Array, ""], wraps: bool = False
) -> Bool[Array, "rows cols"]:
    """Cells at most so many steps from a cell of the mask, walls or not."""
    rows, cols = near.shape
    everywhere = packed(jnp.ones_like(near))
    most = jnp.minimum(steps, rows + cols)
    return unpacked(_growth(cols, wraps)(packed(near), everywhere, most), cols)


def region(
    near: Bool[Array, "rows cols"], free: Bool[Array, "rows cols"], wraps: bool = False
) -> Bool[Array, "rows cols"]:
    """All free cells to which one can walk from a cell of the mask over others that are free."""
    rows, cols = near.shape
    longest = jnp.int32(rows * cols // 2 + 1)  # a way that winds through half of the cells
    return unpacked(_growth(cols, wraps)(packed(near & free), packed(free), longest), cols)


@cache
def _growth(cols: int, wraps: bool) -> Callable[..., Any]:
    """Spreads a front so many times."""

    @lanes_last
    def grown(front: Any, free: Any, steps: Any) -> Any:
        def unfinished(growing: Any) -> Any:
            return (growing[1] > 0).any()

        def grow(growing: Any) -> Any:
            front, left = growing
            further = spread(front, free, cols, wraps)
            return jnp.where((left > 0)[None, None], further, front), left - 1

        return jax.lax.while_loop(unfinished, grow, (front, steps))[0]

    return grown


def moved(mask: Bool[Array, "rows cols"], way: int) -> Bool[Array, "rows cols"]:
    """Where the next cell toward a heading (an index of `actions.COMPASS`) is one of the mask."""
    wide = jnp.pad(mask, 1)
    rows, cols = mask.shape
    down, right = STEPS[way]
    return wide[1 + down : 1 + down + rows, 1 + right : 1 + right + cols]
