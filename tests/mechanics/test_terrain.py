"""What a map's walls allow, against walks over it cell by cell."""

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.mechanics.terrain import Terrain
from tests.mechanics.maps import ALL_CROWDS, STEPS, crowd, open_there


@ALL_CROWDS
def test_neighbour_steps_onto_open_cells_and_stays_before_walls_and_edges(shape, walls, players):
    terrain = crowd(shape, walls, players).terrain
    cells, toward = (grid.ravel() for grid in np.mgrid[: terrain.cells + 1, :4].astype(np.int32))
    reached = np.asarray(jax.jit(terrain.neighbour)(jnp.asarray(cells), jnp.asarray(toward)))
    for cell, heading, next_cell in zip(cells, toward, reached, strict=True):
        rows, cols = STEPS[heading]
        free = cell != terrain.nowhere and open_there(terrain, cell, rows, cols)
        assert next_cell == (cell + rows * terrain.cols + cols if free else cell)


def test_numbering_counts_the_chosen_and_calls_all_else_the_count():
    terrain = Terrain(np.zeros((2, 3), bool))
    np.testing.assert_array_equal(terrain.numbering(np.array([4, 1])), [2, 1, 2, 2, 0, 2, 2])


def test_place_is_row_and_column():
    rows, cols = jax.jit(Terrain(np.zeros((3, 5), bool)).place)(jnp.arange(15))
    np.testing.assert_array_equal(rows, np.repeat([0, 1, 2], 5))
    np.testing.assert_array_equal(cols, np.tile([0, 1, 2, 3, 4], 3))
