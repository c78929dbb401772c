"""A window as a map of characters, with a legend of those that are in it."""

from collections.abc import Callable
from dataclasses import dataclass

from sociarium.core.percept import Percept, Planes
from sociarium.core.specs import OF_PLAYERS, ViewSpec
from sociarium.language.phrases import Phrases
from sociarium.language.sightings import UNSEEN, Sighting, SightingReader
from sociarium.language.spoken import spoken

SELF, SEATS, CROWD = "@", "0123456789", "&"
FIXED = {UNSEEN: " ", 1: "."}  # glyphs of the ground
SPARE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ*+=~%$^<>?!|"
OPAQUE = "#"


@dataclass(frozen=True)
class DrawnMap:
    """The lines of a map, and what is drawn on each cell: the name of a thing, or a glyph."""

    lines: tuple[str, ...]
    shown: dict[tuple[int, int], str]

    def covers(self, one: Sighting) -> bool:
        """Whether something else is drawn on a cell of a sighting."""
        return any(what != one.what for cell, what in self.shown.items() if one.covers(*cell))


NOT_DRAWN = (*OF_PLAYERS, "contents", "work")  # roles of planes that are told in words


class AsciiMap:
    """Draws the windows of one view spec; every name has the same character in all of them."""

    def __init__(self, spec: ViewSpec, phrases: Phrases) -> None:
        self._spec, self._say = spec, phrases
        self._glyphs: dict[tuple[str, str], str] = {}
        free = list(SPARE)
        for plane in spec.planes:
            if plane.role in NOT_DRAWN:
                continue
            names = (plane.name,) if plane.role == "goods" else plane.codes
            for code, name in enumerate(names):
                if plane.role == "ground" and code in FIXED:
                    self._glyphs[plane.name, name] = FIXED[code]
                elif name in plane.solid and OPAQUE not in self._glyphs.values():
                    self._glyphs[plane.name, name] = OPAQUE
                elif code or plane.role == "goods":
                    self._glyphs[plane.name, name] = _pick(name, free)

    def draw(
        self,
        percept: Percept,
        view: Planes,
        reader: SightingReader,
        called: Callable[[Percept, int], str],
    ) -> DrawnMap:
        """The rows of the map and the legend."""
        say, rows, cols = self._say, self._spec.rows, self._spec.cols
        grid = [[" "] * cols for _ in range(rows)]
        meanings: dict[str, str] = {}
        shown: dict[tuple[int, int], str] = {}
        names: dict[str, list[str]] = {}
        for plane in self._spec.planes:
            if plane.role in NOT_DRAWN:
                continue
            for row, line in enumerate(view[plane.name]):
                for col, code in enumerate(line):
                    name = plane.name if plane.role == "goods" else str(code)
                    empty = not code if plane.role == "goods" else code == plane.codes[0]
                    if not empty:
                        glyph = self._glyphs[plane.name, name]
                        meaning = spoken(name)
                        if plane.role == "light":
                            meaning = say("percept.light", what=meaning, plane=spoken(plane.name))
                        grid[row][col], meanings[glyph] = glyph, meaning
                        shown[row, col] = name
        for one in reader.of_planes(view, percept.home, percept.seat):
            if one.sort == "player":
                glyph = SEATS[one.seat] if 0 <= one.seat < len(SEATS) else CROWD
                grid[one.row][one.col] = shown[one.row, one.col] = glyph
                names.setdefault(glyph, []).append(called(percept, one.seat))
                meanings[glyph] = say.all_of(names[glyph])
        here = reader.own_place(view) or percept.home
        if here is not None:
            grid[here[0]][here[1]], meanings[SELF] = SELF, say("map.you")
            shown[here] = SELF
        entries = [say("map.entry", glyph=glyph, meaning=what) for glyph, what in meanings.items()]
        up = say("map.up" if percept.window == "turns" else "map.north")
        legend = say("map.legend", entries=say.commas(entries))
        return DrawnMap((up, *("".join(row) for row in grid), legend), shown)


def _pick(name: str, free: list[str]) -> str:
    """A letter of the name that no other has, or any that is left."""
    wished = [letter for letter in (*name.lower(), *name.upper()) if letter in free]
    glyph = wished[0] if wished else free[0] if free else CROWD
    if glyph in free:
        free.remove(glyph)
    return glyph
