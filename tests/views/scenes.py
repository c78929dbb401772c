"""Scenes drawn by hand for the tests of pictures."""

import numpy as np

from sociarium.core.scene import Body, Scene

TILES = ("nothing", "grass", "wall", "apple", "orchard", "moon rock")
LIGHTS = ("none", "zap", "clean", "gaze")


def meadow(*bodies: Body, players: int = 2, rows: int = 5, cols: int = 7, **changes) -> Scene:
    """A lawn of grass with players on it, at step 20 of 100."""
    settings = {
        "ground": np.full((rows, cols), TILES.index("grass"), np.uint8),
        "tiles": TILES,
        "bodies": bodies,
        "lit": np.zeros((rows, cols), np.uint8),
        "lights": LIGHTS,
        "clock": 20,
        "horizon": 100,
        "players": players,
        "marks": {"apples": 3.0},
    }
    return Scene(**{**settings, **changes})


def marked(shape: tuple[int, int], cell: tuple[int, int], code: int, rest: int = 0) -> np.ndarray:
    """A grid of `rest` with one cell set."""
    grid = np.full(shape, rest, np.uint8)
    grid[cell] = code
    return grid
