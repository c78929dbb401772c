"""The lie of the land: what a map's walls allow, worked out once when a world is built."""

from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt8, UInt16

from sociarium.mechanics import turning

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # rows, columns; by heading
BEAM_LENGTH, BEAM_WIDTH = 5, 3


class Terrain:
    """A map of walls with its cells, and tables read by movement and beams."""

    def __init__(self, wall: Bool[np.ndarray, "rows cols"]) -> None:
        self.wall = wall
        self.rows, self.cols = wall.shape
        self.cells = wall.size
        self.nowhere = wall.size

    def place(
        self, cell: Int[Array, "*shape"]
    ) -> tuple[Int[Array, "*shape"], Int[Array, "*shape"]]:
        """Row and column of a cell."""
        return cell // self.cols, cell % self.cols

    def numbering(
        self, chosen: Int[np.ndarray, " places"]
    ) -> Int[np.ndarray, " cells_and_nowhere"]:
        """For each cell and nowhere, its number among the chosen cells, or how many there are."""
        number = np.full(self.cells + 1, len(chosen), np.int32)
        number[chosen] = np.arange(len(chosen))
        return number

    def _open(self, rows: int, cols: int) -> Bool[np.ndarray, "rows cols"]:
        """For each cell, whether the one displaced by (rows, cols) is on the map and no wall."""
        pad = BEAM_LENGTH + 1
        free = np.pad(~self.wall, pad)
        return free[
            pad + rows : pad + rows + self.rows,
            pad + cols : pad + cols + self.cols,
        ]

    @cached_property
    def exits(self) -> UInt8[np.ndarray, " cells_and_nowhere"]:
        """Bit h is set where a step toward heading h is possible; nowhere has no exit."""
        bits = sum(self._open(*step).astype(np.uint8) << h for h, step in enumerate(STEPS))
        return np.append(np.asarray(bits, np.uint8).ravel(), np.uint8(0))

    @cached_property
    def beam_reach(self) -> UInt16[np.ndarray, " poses"]:
        """For each pose (cell * 4 + heading), the cells a beam can reach, as bits.

        Bit (a-1) * 3 + (s+1) is the cell a ahead and s to the right. A beam leaves from the
        player's cell and from the open cells at its sides, and each of the three runs ahead
        until a wall or the edge stops it.
        """
        table = np.zeros((self.rows, self.cols, 4), np.uint16)
        for heading, (down, right) in enumerate(STEPS):
            for side in (-1, 0, 1):
                lit = np.ones_like(self.wall)
                if side:
                    lit = self._open(side * right, side * -down)
                for far in range(1, BEAM_LENGTH + 1):
                    lit = lit & self._open(far * down + side * right, far * right + side * -down)
                    bit = np.uint16((far - 1) * BEAM_WIDTH + side + 1)
                    table[:, :, heading] |= lit.astype(np.uint16) << bit
        return np.append(table.ravel(), np.zeros(4, np.uint16))

    def neighbour(
        self, body: Int[Array, "*shape"], toward: Int[Array, "*shape"]
    ) -> Int[Array, "*shape"]:
        """The next cell toward a heading, or the same one if a wall or the edge is in the way."""
        down, right = turning.ahead(toward)
        exits = jnp.asarray(self.exits).at[body].get(mode="promise_in_bounds")
        passable = (exits >> toward.astype(jnp.uint8)) & 1
        return jnp.where(passable == 1, body + down * self.cols + right, body)
