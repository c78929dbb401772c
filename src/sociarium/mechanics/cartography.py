"""Draws new maps from a seed: the same kind of land, laid out otherwise."""

from collections.abc import Callable, Iterable

import numpy as np
from jaxtyping import Bool

from sociarium.core.errors import BadArgument, BadMap
from sociarium.mechanics.terrain import STEPS

WALL = "#"
SEED = "a whole number from 0 on"
ATTEMPTS = 300  # sketches begun before a kind of map is given up


class NoRoom(Exception):
    """A sketch has no place left for what should be on it."""


def chosen(text: str, seed: int | None, lay_out: Callable[["Sketch"], None]) -> str:
    """The map itself, or a new one of its size that `lay_out` fills in from a seed."""
    if seed is None:
        return text
    checked_seed("map_seed", seed)
    lines = text.split()
    for attempt in range(ATTEMPTS):
        sketch = Sketch(len(lines), len(lines[0]), np.random.default_rng((seed, attempt)))
        try:
            lay_out(sketch)
        except NoRoom:
            continue
        return sketch.text
    raise BadMap(f"found no room for everything on a map of {len(lines)} x {len(lines[0])} cells")


def checked_seed(name: str, seed: object) -> int:
    """The seed that something is drawn from, if it is one."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise BadArgument(f"{name} is {SEED}; given {seed!r}")
    return int(seed)


class Sketch:
    """A map in the making, filled by lot; walls it places leave all open cells connected."""

    def __init__(self, rows: int, cols: int, rng: np.random.Generator, ground: str = ".") -> None:
        self.glyphs = np.full((rows, cols), ground)
        self.ground = ground
        self.rng = rng

    @property
    def text(self) -> str:
        """The drawing."""
        return "\n".join("".join(row) for row in self.glyphs)

    def paint(self, glyph: str, cells: Iterable[tuple[int, int]]) -> None:
        """Puts a glyph on these cells."""
        for row, col in cells:
            self.glyphs[row, col] = glyph

    def fence(self) -> None:
        """Walls all around."""
        self.glyphs[[0, -1]] = WALL
        self.glyphs[:, [0, -1]] = WALL

    def bars(self, cells: int, longest: int = 4) -> None:
        """Straight pieces of wall, so many cells in all, none touching another."""
        while cells:
            length = min(int(self.rng.integers(1, longest + 1)), cells)
            down, right = STEPS[int(self.rng.integers(1, 3))]
            self.stamp(WALL, [(step * down, step * right) for step in range(length)], apart=1)
            cells -= length
        if not connected(self.glyphs != WALL):
            raise NoRoom

    def scatter(
        self, glyph: str, count: int, apart: int = 0, rows: tuple[int, int] | None = None
    ) -> None:
        """So many glyphs on open ground, in a band of rows if given."""
        for _ in range(count):
            self.stamp(glyph, [(0, 0)], apart, rows)

    def stamp(
        self,
        glyph: str,
        shape: list[tuple[int, int]],
        apart: int,
        rows: tuple[int, int] | None = None,
    ) -> None:
        """One shape on open ground, with more than `apart` cells to others of its glyph."""
        places = self._open_to(glyph, shape, apart)
        first, last = rows or (0, len(self.glyphs))
        places[:first], places[last:] = False, False
        options = np.argwhere(places)
        if not len(options):
            raise NoRoom
        row, col = options[self.rng.integers(len(options))].tolist()
        self.paint(glyph, [(row + down, col + right) for down, right in shape])

    def _open_to(
        self, glyph: str, shape: list[tuple[int, int]], apart: int
    ) -> Bool[np.ndarray, "rows cols"]:
        """Where a shape could be put."""
        same, free = self.glyphs == glyph, self.glyphs == self.ground
        reach = range(-apart, apart + 1)
        for down in reach:
            for right in reach:
                free &= ~_shifted(same, down, right)
        places = np.ones_like(free)
        for down, right in shape:
            places &= _shifted(free, down, right)
        return places


def _shifted(
    cells: Bool[np.ndarray, "rows cols"], down: int, right: int
) -> Bool[np.ndarray, "rows cols"]:
    """For each cell, what lies so far down and to the right of it."""
    rows, cols = cells.shape
    margin = max(abs(down), abs(right))
    wide = np.pad(cells, margin)
    return wide[margin + down : margin + down + rows, margin + right : margin + right + cols]


def beside(cells: Bool[np.ndarray, "rows cols"]) -> Bool[np.ndarray, "rows cols"]:
    """Cells with one of these to the north, east, south or west."""
    wide = np.pad(cells, 1)
    return wide[:-2, 1:-1] | wide[2:, 1:-1] | wide[1:-1, :-2] | wide[1:-1, 2:]


def connected(free: Bool[np.ndarray, "rows cols"]) -> bool:
    """Whether one can walk from any free cell to any other."""
    first = np.zeros_like(free)
    first.flat[np.flatnonzero(free)[:1]] = True
    return bool((reached(first, free) == free).all())


def reached(
    cells: Bool[np.ndarray, "rows cols"], free: Bool[np.ndarray, "rows cols"]
) -> Bool[np.ndarray, "rows cols"]:
    """These cells and the free ones that one can walk to from them."""
    while True:
        grown = cells | (beside(cells) & free)
        if (grown == cells).all():
            return cells
        cells = grown
