"""Kitchens to cook in: the five published ones, and new ones drawn from a seed."""

import numpy as np

from sociarium.core.errors import BadArgument, UnknownName
from sociarium.mechanics.cartography import ATTEMPTS, NoRoom, beside, checked_seed, connected

LEGEND = {
    "X": "counter",
    ".": "floor",
    "O": "onion crate",
    "T": "tomato crate",
    "D": "dish rack",
    "P": "pot",
    "S": "hatch",
    **{str(seat): "start" for seat in range(1, 10)},
}
FLOORS = (".", *(str(seat) for seat in range(1, 10)))  # what one can stand on
LAYOUTS = {
    "cramped_room": """
        XXPXX
        O..2O
        X1..X
        XDXSX
    """,
    "asymmetric_advantages": """
        XXXXXXXXX
        O.XSXOX.S
        X...P.1.X
        X2..P...X
        XXXDXDXXX
    """,
    "coordination_ring": """
        XXXPX
        X.1.P
        D2X.X
        O...X
        XOSXX
    """,
    "forced_coordination": """
        XXXPX
        O.X1P
        O2X.X
        D.X.X
        XXXSX
    """,
    "counter_circuit": """
        XXXPPXXX
        X..2...X
        D.XXXX.S
        X..1...X
        XXXOOXXX
    """,
}
USUAL_LAYOUT = "cramped_room"
SIZES = ((4, 5), (5, 5), (5, 7), (5, 8), (6, 7))  # rows and columns of drawn kitchens
MOST_ISLAND = 5  # counters in the middle of a drawn kitchen


def find_layout(layout: str | None, seed: int | None, players: int) -> str:
    """The drawing of a layout by its name, or the drawing itself; with a seed, a new one."""
    if seed is not None:
        if layout is not None:
            raise BadArgument(
                f"a kitchen has a layout or a layout_seed; given {layout!r} and {seed}: leave out "
                "one of them"
            )
        return draw_layout(checked_seed("layout_seed", seed), players)
    if "\n" in str(layout).strip():
        return str(layout)
    if layout not in LAYOUTS:
        raise UnknownName("layout", str(layout), tuple(LAYOUTS), "A drawing has several lines.")
    return LAYOUTS[layout]


def draw_layout(seed: int, players: int) -> str:
    """A kitchen in which everybody can reach everything, with one or two pots."""
    for attempt in range(ATTEMPTS):
        try:
            return _sketched(np.random.default_rng((seed, attempt)), players)
        except NoRoom:
            continue
    raise BadArgument(f"found no kitchen for {players} cooks")


def _sketched(rng: np.random.Generator, players: int) -> str:
    """Counters around the floor and on it, and stations on counters that one can stand beside."""
    rows, cols = SIZES[int(rng.integers(len(SIZES)))]
    glyphs = np.full((rows, cols), "X")
    glyphs[1:-1, 1:-1] = "."
    inner = np.argwhere(glyphs == ".")
    island = inner[rng.permutation(len(inner))[: int(rng.integers(MOST_ISLAND + 1))]]
    glyphs[tuple(island.T)] = "X"
    floor = glyphs == "."
    if floor.sum() < players + 3 or not connected(floor) or not _roomy(floor):
        raise NoRoom
    sides = np.argwhere(beside(floor) & ~floor)
    stations = ["P", "O", "D", "S", *(glyph for glyph in "PO" if rng.integers(2))]
    if len(sides) < len(stations) + 1:
        raise NoRoom
    for glyph, place in zip(stations, sides[rng.permutation(len(sides))], strict=False):
        glyphs[tuple(place)] = glyph
    cells = np.argwhere(floor)
    for seat, place in enumerate(cells[rng.permutation(len(cells))[: min(players, 9)]]):
        glyphs[tuple(place)] = str(seat + 1)
    return "\n".join("".join(row) for row in glyphs)


def _roomy(floor: np.ndarray) -> bool:
    """Whether two can get past each other everywhere: no cell of floor cuts the rest in two."""
    for row, col in np.argwhere(floor):
        without = floor.copy()
        without[row, col] = False
        if not connected(without):
            return False
    return True
