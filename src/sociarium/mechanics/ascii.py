"""Maps are drawn as text; a legend gives every glyph its meaning."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Int

from sociarium.core.errors import BadMap


class Drawing:
    """A rectangular text map. Cells are numbered row by row."""

    def __init__(self, text: str, legend: dict[str, str], tiles: tuple[int, int] = (1, 1)) -> None:
        """`tiles` repeats the drawing down and across, for large worlds of the same density."""
        lines = [line.strip() for line in text.strip().splitlines()]
        widths = {len(line) for line in lines}
        if len(widths) != 1 or not lines[0]:
            raise BadMap(f"every line of a map must be equally long; found widths {sorted(widths)}")
        self.glyphs = np.tile(np.array([list(line) for line in lines]), tiles)
        unknown = sorted(set(map(str, self.glyphs.flat)) - set(legend))
        if unknown:
            raise BadMap(
                f"the map uses {unknown}, which its legend does not know; "
                f"known are {', '.join(f'{glyph!r} ({name})' for glyph, name in legend.items())}"
            )
        self.rows, self.cols = self.glyphs.shape

    def mask(self, glyphs: Iterable[str]) -> Bool[np.ndarray, "rows cols"]:
        """Where any of these glyphs stands."""
        return np.isin(self.glyphs, list(glyphs))

    def cells(self, glyphs: Iterable[str]) -> Int[np.ndarray, " found"]:
        """The cells of these glyphs, in map order."""
        return np.flatnonzero(self.mask(glyphs)).astype(np.int32)
