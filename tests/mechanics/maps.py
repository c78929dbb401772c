"""Random maps and people on them, for the tests of this folder."""

from dataclasses import dataclass

import numpy as np
import pytest

from sociarium.mechanics.terrain import Terrain

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # north, east, south, west


@dataclass(frozen=True)
class Crowd:
    """A map and many lanes of people on it: [lane, player]; `nowhere` means out of play."""

    terrain: Terrain
    body: np.ndarray
    heading: np.ndarray
    rng: np.random.Generator


def placed(rng: np.random.Generator, terrain: Terrain, players: int) -> np.ndarray:
    """Players on distinct open cells; some, and all who find no cell, are nowhere."""
    open_cells = rng.permutation(np.flatnonzero(~terrain.wall))[:players]
    body = np.full(players, terrain.nowhere)
    body[: len(open_cells)] = np.where(
        rng.random(len(open_cells)) < 0.1, terrain.nowhere, open_cells
    )
    return rng.permutation(body)


def crowd(shape: tuple[int, int], walls: float, players: int, lanes: int = 40) -> Crowd:
    """The same for the same arguments, so that what is compiled for it can be kept."""
    rng = np.random.default_rng([*shape, players])
    terrain = Terrain(rng.random(shape) < walls)
    body = np.stack([placed(rng, terrain, players) for _ in range(lanes)]).astype(np.int32)
    return Crowd(terrain, body, rng.integers(0, 4, body.shape).astype(np.int32), rng)


ALL_CROWDS = pytest.mark.parametrize(
    ("shape", "walls", "players"),
    [((1, 7), 0.2, 3), ((6, 9), 0.2, 12), ((9, 6), 0.5, 32), ((13, 12), 0.1, 40)],
)


def there(terrain: Terrain, cell: int, rows: int, cols: int) -> int | None:
    """The cell displaced by (rows, cols), or None where that is off the map."""
    row, col = cell // terrain.cols + rows, cell % terrain.cols + cols
    if 0 <= row < terrain.rows and 0 <= col < terrain.cols:
        return row * terrain.cols + col
    return None


def open_there(terrain: Terrain, cell: int, rows: int, cols: int) -> bool:
    other = there(terrain, cell, rows, cols)
    return other is not None and not terrain.wall.flat[other]


def egocentric(heading: int, ahead: int, right: int) -> tuple[int, int]:
    """Rows and columns on the map of a place ahead and to the right: a map turned in the hand."""
    rows, cols = -ahead, right  # facing north
    for _ in range(heading):
        rows, cols = cols, -rows
    return rows, cols
