"""A picture of what one player sees, for models that see: made from its percept alone."""

import io

from sociarium.core.percept import Percept
from sociarium.core.percept_scene import scene_of
from sociarium.core.specs import ViewSpec
from sociarium.views.pixels import board

CELL = 32  # pixels


def window_png(percept: Percept, spec: ViewSpec, size: int = CELL) -> bytes:
    """The player's own window as a PNG file, `size` pixels a cell."""
    file = io.BytesIO()
    board(scene_of(percept, spec), size).save(file, "PNG", optimize=True)
    return file.getvalue()
