"""Who is near whom, at a cost that grows with the number of players and not with its square."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from sociarium.mechanics.social import NOBODY

REACH = 2  # cells in each direction


def nearest(
    cell: Int[Array, " players"], map_shape: tuple[int, int], wraps: bool, most: int
) -> Int[Array, "players most"]:
    """The nearest few players within reach, nearest first, the rest NOBODY.

    Of players equally far away those further north come first, then those further west. A player
    whose cell is beyond the map is near nobody.
    """
    (rows, cols), players = map_shape, len(cell)
    cells = rows * cols
    who = jnp.full(cells + 1, NOBODY, jnp.int32).at[cell].set(jnp.arange(players, dtype=jnp.int32))
    who = who.at[cells].set(NOBODY)
    down, right = (offset[:, None] for offset in _offsets())
    cell = cell[None]
    row, col = cell // cols + down, cell % cols + right
    inside = (row >= 0) & (row < rows) & (col >= 0) & (col < cols) if not wraps else True
    there = jnp.where(inside & (cell < cells), row % rows * cols + col % cols, cells)
    seen = who[there]
    rank = jnp.cumsum(seen != NOBODY, 0)
    found = [
        jnp.max(jnp.where((rank == number + 1) & (seen != NOBODY), seen, NOBODY), 0)
        for number in range(most)
    ]
    return jnp.stack(found, 1) if most else jnp.zeros((players, 0), jnp.int32)


def _offsets() -> tuple[np.ndarray, np.ndarray]:
    """All cells within reach but one's own, nearest first."""
    span = np.arange(-REACH, REACH + 1)
    down, right = (x.ravel() for x in np.meshgrid(span, span, indexing="ij"))
    order = np.lexsort((right, down, abs(down) + abs(right)))[1:]
    return down[order].astype(np.int32), right[order].astype(np.int32)
