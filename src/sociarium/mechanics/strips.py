"""A land in strips of rows, one to a device, with whoever stands on a strip kept beside it.

The land wraps around, so strips form a ring. Everything here runs under `jax.shard_map` over the
axis STRIPS. Cells are counted from the first of a strip; with a border, from the first of the row
above it, so that the rows next to a strip have cells too. Players are in slots, in any order; what
is drawn or compared goes by their seats, and a free slot stands nowhere.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt, UInt32

from sociarium.mechanics import movement
from sociarium.mechanics.terrain import Terrain
from sociarium.mechanics.windows import Window

STRIPS = "strips"


class StripRing:
    """So many `strips` of `rows` x `cols` cells, seen from one of them."""

    def __init__(self, strips: int, rows: int, cols: int) -> None:
        self.strips, self.rows, self.cols = strips, rows, cols
        self.cells = rows * cols
        self.bordered = self.cells + 2 * cols  # cells with those of a border; also its nowhere

    def from_above(self, sent: Any) -> Any:
        """What the strip above sends; everybody sends to the strip below."""
        return self._passed(sent, 1)

    def from_below(self, sent: Any) -> Any:
        """What the strip below sends; everybody sends to the strip above."""
        return self._passed(sent, -1)

    def _passed(self, sent: Any, down: int) -> Any:
        ways = [(strip, (strip + down) % self.strips) for strip in range(self.strips)]
        return jax.tree.map(lambda x: jax.lax.ppermute(x, STRIPS, ways), sent)

    def first_cell(self) -> Int[Array, ""]:
        """The number of the strip's first cell on the whole land."""
        return jax.lax.axis_index(STRIPS).astype(jnp.int32) * self.cells

    def anywhere(self, here: Bool[Array, "*shape"]) -> Bool[Array, ""]:
        """Whether it is so for anything on any strip."""
        return jax.lax.pmax(here.any().astype(jnp.int32), STRIPS) > 0

    def grid(self, layer: Array) -> Array:
        """A layer of the strip's entries as rows."""
        return layer[: self.cells].reshape(self.rows, self.cols)

    def with_border(self, grid: Array, rows: int = 1) -> Array:
        """The rows with those next to them, so many on each side."""
        above, below = self.from_above(grid[-rows:]), self.from_below(grid[:rows])
        return jnp.concatenate([above, grid, below])

    def step_to(
        self,
        cell: Int[Array, " players"],
        down: Int[Array, " players"],
        right: Int[Array, " players"],
        block: Bool[Array, " entries"],
    ) -> Int[Array, " players"]:
        """The cell one step on, with a border; the same one before a block or from nowhere."""
        col = cell % self.cols + right
        col = jnp.where(col < 0, self.cols - 1, jnp.where(col >= self.cols, 0, col))
        there = (cell // self.cols + down + 1) * self.cols + col
        there = jnp.where(cell == self.cells, self.bordered, there)
        stopped = jnp.append(self.with_border(self.grid(block)).ravel(), True)
        stopped = stopped.at[there].get(mode="promise_in_bounds")
        return jnp.where(stopped, self.on_border(cell), there)

    def on_border(self, cell: Int[Array, " players"]) -> Int[Array, " players"]:
        """The same cells, counted with a border."""
        return jnp.where(cell == self.cells, self.bordered, cell + self.cols)


def resolve(
    ring: StripRing,
    draw: UInt32[Array, " slots"],
    seat: Int[Array, " slots"],
    here: Int[Array, " slots"],
    there: Int[Array, " slots"],
    players: int,
) -> Int[Array, " slots"]:
    """What `movement.resolve` with swaps says of all `players`, for those of a strip.

    Cells are counted with a border. A player stays if it does not win its cell, or if one who
    stays stands there. Queues may cross strips: strips tell each other who stays on their borders
    until nothing changes, which is the one least solution.
    """
    slot, moves = jnp.arange(len(here), dtype=jnp.int32), here != there
    lot = movement.lots(draw, seat, ~moves, players)
    best = jnp.zeros(ring.bordered + 1, jnp.uint32).at[there].max(lot, mode="promise_in_bounds")
    outbid = moves & (_over_border(ring, best).at[there].get(mode="promise_in_bounds") != lot)
    standing = jnp.full(ring.bordered + 1, -1, jnp.int32)
    standing = standing.at[here].set(slot, mode="promise_in_bounds")
    leader = jnp.where(moves, standing.at[there].get(mode="promise_in_bounds"), -1)
    leader = jnp.where(leader < 0, slot, leader)
    first, last = standing[ring.cols : 2 * ring.cols], standing[-2 * ring.cols - 1 : -ring.cols - 1]
    above, below = there < ring.cols, (there >= ring.bordered - ring.cols) & moves
    col = there % ring.cols

    def told(stays: Bool[Array, " slots"]) -> Bool[Array, " slots"]:
        """Those who stay once the borders of the neighbours are known."""
        held = [(row >= 0) & stays[jnp.maximum(row, 0)] for row in (first, last)]
        held_above, held_below = ring.from_above(held[1]), ring.from_below(held[0])
        return stays | (above & held_above[col]) | (below & held_below[col])

    def go_on(carry: tuple[Bool[Array, " slots"], Bool[Array, ""]]) -> Any:
        stays, _ = carry
        more = told(stays)
        return _closed(more, leader), ring.anywhere(more != stays)

    stays = _closed(~moves | outbid, leader)
    stays, _ = jax.lax.while_loop(lambda carry: carry[1], go_on, go_on((stays, jnp.bool_(True))))
    return jnp.where(stays, here, there)


def _over_border(ring: StripRing, best: UInt32[Array, " bordered"]) -> UInt32[Array, " bordered"]:
    """The best lot on every cell, those of the neighbours' players counted too."""
    grid = best[:-1].reshape(ring.rows + 2, ring.cols)
    asked_from_above, asked_from_below = ring.from_above(grid[-1]), ring.from_below(grid[0])
    own = grid[1:-1].at[0].max(asked_from_above).at[-1].max(asked_from_below)
    return jnp.append(ring.with_border(own).ravel(), best[-1])


def _closed(stays: Bool[Array, " slots"], leader: Int[Array, " slots"]) -> Bool[Array, " slots"]:
    """Those who stay, or wait for one who does, directly or along a queue.

    Pointers double along queues; where a doubling adds nobody no later one does.
    """

    def follow(carry: tuple[Bool[Array, " slots"], Int[Array, " slots"], Bool[Array, ""]]) -> Any:
        stays, leader, _ = carry
        more = stays | stays.at[leader].get(mode="promise_in_bounds")
        further = leader.at[leader].get(mode="promise_in_bounds")
        return more, further, (more != stays).any()

    carry = stays, leader, jnp.bool_(True)
    return jax.lax.while_loop(lambda carry: carry[2], follow, carry)[0]


def migrate(
    ring: StripRing, bordered: Int[Array, " slots"], luggage: Any
) -> tuple[Int[Array, " slots"], Any, Int[Array, ""], Int[Array, ""]]:
    """Players and their luggage on the strip where they stand now.

    Cells come counted with a border, and are returned as cells of the strip. Whoever crosses
    travels at its column of a row, so a row has room for all. Newcomers take free slots, the lowest
    first. The last results are how many came, and how many of them found none: they are lost.
    """
    slots, cols, cells = len(bordered), ring.cols, ring.cells
    down = bordered - (ring.bordered - cols)
    leaves_down, leaves_up = (down >= 0) & (down < cols), bordered < cols
    berth = jnp.where(leaves_up, bordered, jnp.where(leaves_down, cols + down, 2 * cols))
    who = jnp.full(2 * cols + 1, slots, jnp.int32)
    who = who.at[berth].set(jnp.arange(slots, dtype=jnp.int32), mode="promise_in_bounds")[:-1]
    sent = jax.tree.map(lambda x: x.at[who].get(mode="clip"), luggage), who < slots
    going_up, going_down = (jax.tree.map(lambda x, way=way: x[way], sent) for way in _ways(cols))
    came = ring.from_above(going_down), ring.from_below(going_up)
    arriving, came_in = jax.tree.map(lambda *both: jnp.concatenate(both), *came)

    body = jnp.where(leaves_up | leaves_down | (down >= cols), cells, bordered - cols)
    free = body == cells
    turn, number = jnp.cumsum(came_in) - 1, jnp.cumsum(free) - 1
    wanted = jnp.where(free, jnp.minimum(number, 2 * cols), 2 * cols)
    slot_of = jnp.full(2 * cols + 1, slots, jnp.int32)
    slot_of = slot_of.at[wanted].set(jnp.arange(slots, dtype=jnp.int32), mode="promise_in_bounds")
    slot_of = slot_of.at[-1].set(slots)
    to = jnp.where(came_in, slot_of[jnp.maximum(turn, 0)], slots)
    ends = np.arange(cols), np.arange(cells - cols, cells)
    body = body.at[to].set(np.concatenate(ends).astype(np.int32), mode="drop")
    luggage = jax.tree.map(lambda x, new: x.at[to].set(new, mode="drop"), luggage, arriving)
    lost = jnp.sum(came_in & (to == slots), dtype=jnp.int32)
    return body, luggage, jnp.sum(came_in, dtype=jnp.int32), lost


def _ways(cols: int) -> tuple[slice, slice]:
    return slice(cols), slice(cols, None)


def in_seat_order(seat: Int[Array, " slots"], column: Array, players: int) -> Array:
    """A column over all slots of all strips, in the order of seats; a free slot has no seat."""
    seats, values = (jax.lax.all_gather(x, STRIPS, tiled=True) for x in (seat, column))
    ordered = jnp.zeros((players, *column.shape[1:]), column.dtype)
    return ordered.at[seats].set(values, mode="drop")


class StripWindow(Window):
    """A window on a strip, whose margin are the rows of its neighbours."""

    def __init__(self, ring: StripRing, reach: int) -> None:
        """It reaches as far in each direction."""
        super().__init__(
            Terrain(np.zeros((ring.rows, ring.cols), bool)),
            ahead=reach,
            behind=reach,
            side=reach,
            wraps=True,
        )
        self.ring = ring

    @property
    def tabled(self) -> bool:
        """Never: a table would have to know the neighbours."""
        return False

    def heightened(self, grid: UInt[Array, "rows cols"]) -> UInt[Array, "spread_rows cols"]:
        """The strip with the neighbours' rows above and below."""
        return self.ring.with_border(grid, self._margin)
