"""What is in view, thing by thing: from the planes of a percept, read by their roles."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from sociarium.core.percept import Percept, Plane, Planes, ShownWindow
from sociarium.core.specs import OCCUPANTS, OF_PLAYERS, PlaneSpec, ViewSpec

Sort = Literal["thing", "player", "solid", "light"]
Box = tuple[int, int, int, int]  # the first row and column, and the last
UNSEEN, BARE = 0, 1  # codes of the ground


@dataclass(frozen=True)
class Sighting:
    """Something in view: what it is, on which cells of a row or a column, how far away, and who.

    `units` are how many lie there, where that is told; `heading` is where a player faces, in
    quarter turns to the right of one's own heading; `faces` is where by the compass, and `holds`
    what is in its hands, where planes tell that; `plane` is what a mark is a mark of.
    """

    what: str
    sort: Sort
    row: int
    col: int
    last_row: int
    last_col: int
    distance: int
    units: int = 0
    seat: int = -1
    heading: int = -1
    faces: str = ""
    holds: str = ""
    plane: str = ""

    @property
    def cells(self) -> int:
        """On how many cells it is."""
        return self.last_row - self.row + self.last_col - self.col + 1

    @property
    def each_cell(self) -> list[tuple[int, int]]:
        """Its cells of the window, one after another."""
        rows, cols = range(self.row, self.last_row + 1), range(self.col, self.last_col + 1)
        return [(row, col) for row in rows for col in cols]

    def nearest_to(self, home: tuple[int, int] | None) -> "Sighting":
        """Its cell that is nearest to a place."""
        row, col = (self.row, self.col) if home is None else home
        row = min(max(row, self.row), self.last_row)
        col = min(max(col, self.col), self.last_col)
        return replace(self, row=row, col=col, last_row=row, last_col=col)

    def shown_by(self, window: ShownWindow, home: tuple[int, int]) -> "Sighting":
        """The same in one's own window, of what another player shows in its own."""
        corners = []
        for row, col in ((self.row, self.col), (self.last_row, self.last_col)):
            ahead, right = home[0] - row, col - home[1]
            ahead, right = (
                (ahead, right),
                (-right, ahead),
                (-ahead, -right),
                (right, -ahead),
            )[window.turned % 4]
            corners.append((home[0] - window.ahead - ahead, home[1] + window.right + right))
        (row, col), (last_row, last_col) = sorted(corners)
        col, last_col = sorted((col, last_col))
        heading = (self.heading + window.turned) % 4 if self.heading >= 0 else -1
        far = abs(row - home[0]) + abs(col - home[1])
        return replace(
            self,
            row=row,
            col=col,
            last_row=last_row,
            last_col=last_col,
            heading=heading,
            distance=far,
        )

    def covers(self, row: int, col: int) -> bool:
        """Whether it is on this cell."""
        return self.row <= row <= self.last_row and self.col <= col <= self.last_col


class SightingReader:
    """Reads the views of one world's percepts.

    On the ground, what is not seen and bare ground are no things; other planes tell of things where
    they have any code but their first. Equal things side by side are one sighting, by rows or by
    columns, whichever are fewer.
    """

    def __init__(self, spec: ViewSpec) -> None:
        self.spec = spec
        first = {plane.role: plane for plane in reversed(spec.planes)}
        self._occupant, self._seat, self._facing, self._hands = map(first.get, OF_PLAYERS)
        self._station = first.get("station")
        self._others = [plane for plane in spec.planes if plane.role not in OF_PLAYERS]
        self._last: tuple[Percept | None, list[Sighting]] = (None, [])

    def read(self, percept: Percept) -> list[Sighting]:
        """Everything in view, the nearest first."""
        last, found = self._last
        if last is not percept:  # which is asked for by several parts of one prompt
            found = self.of_planes(percept.view, percept.home, percept.seat)
            self._last = percept, found
        return found

    def of_planes(
        self, view: Planes, home: tuple[int, int] | None, seat: int = -1
    ) -> list[Sighting]:
        """Everything in these planes, the nearest to `home` first; the player itself is left out.

        Where nobody is at home, as in a window that is fixed, distances are from where `myself` is.
        """
        home = self.own_place(view) if home is None else home
        found = [*self._players(view, home, seat)]
        for plane in self._others:
            found += self._things(plane, view[plane.name], home)
        return sorted(found, key=_nearest_first)

    def own_place(self, view: Planes) -> tuple[int, int] | None:
        """Where a player sees itself."""
        if self._occupant is None:
            return None
        for row, line in enumerate(view[self._occupant.name]):
            if "myself" in line:
                return row, line.index("myself")
        return None

    def ground(self, view: Planes, row: int, col: int) -> str | None:
        """What a cell of the window is made of, where that is told."""
        grounds = self.spec.with_role("ground")
        if not grounds:
            return None
        return str(view[self.spec.planes[grounds[0]].name][row][col])

    def faces(self, view: Planes, row: int, col: int) -> str:
        """Where whoever is there faces, by the compass; nothing where that is not told."""
        return _told(self._facing, view, row, col)

    def holds(self, view: Planes, row: int, col: int) -> str:
        """What whoever is there holds; nothing where hands are empty or not told."""
        return _told(self._hands, view, row, col)

    def station(self, view: Planes, row: int, col: int) -> str:
        """What can be done there, by the name of the place; nothing where there is none."""
        return _told(self._station, view, row, col)

    @cached_property
    def solid(self) -> frozenset[str]:
        """What one cannot walk onto."""
        return frozenset(code for plane in self.spec.planes for code in plane.solid)

    @cached_property
    def seats(self) -> Mapping[str, int]:
        """The seat that each code of the plane of seats means."""
        if self._seat is None or not self.spec.seats_named:
            return {}
        return {code: number - 1 for number, code in enumerate(self._seat.codes) if number}

    def _players(self, view: Planes, home: tuple[int, int] | None, own: int) -> Iterator[Sighting]:
        if self._occupant is None:
            return
        nobody, told = self._occupant.codes[0], self._occupant.codes == OCCUPANTS
        seats = None if self._seat is None else view[self._seat.name]
        for row, line in enumerate(view[self._occupant.name]):
            for col, code in enumerate(line):
                if code == nobody or code == "myself":
                    continue
                seat = -1 if seats is None else self.seats.get(str(seats[row][col]), -1)
                if seat == own >= 0:
                    continue
                cell = (row, col, row, col)
                heading = OCCUPANTS.index(str(code)) - 2 if told else -1
                yield Sighting(
                    "",
                    "player",
                    *cell,
                    _distance(home, *cell),
                    seat=seat,
                    heading=heading,
                    faces=self.faces(view, row, col),
                    holds=self.holds(view, row, col),
                )

    def _things(
        self, plane: PlaneSpec, cells: Plane, home: tuple[int, int] | None
    ) -> Iterator[Sighting]:
        counted, sort = plane.role == "goods", _SORTS.get(plane.role, "thing")
        if counted:
            left_out: tuple[object, ...] = (0,)
        elif plane.role == "ground":
            left_out = plane.codes[: BARE + 1]
        else:
            left_out = plane.codes[:1]
        unnamed = plane.role in ("mark", "group", "light", "contents", "work")
        runs: dict[object, list[Box]] = {}
        for row, line in enumerate(cells):
            for first, last, code in _runs(line, left_out):
                runs.setdefault(code, []).append((row, first, row, last))
        if not runs:
            return
        across: dict[object, list[Box]] = {}
        for col, line in enumerate(zip(*cells, strict=True)):
            for first, last, code in _runs(line, left_out):
                across.setdefault(code, []).append((first, col, last, col))
        for code, found in runs.items():
            for box in min(found, across[code], key=len):
                yield Sighting(
                    plane.name if counted else str(code),
                    "solid" if code in plane.solid else sort,
                    *box,
                    _distance(home, *box),
                    units=int(str(code)) if counted else 0,
                    plane=plane.name if unnamed else "",
                )


def _told(plane: PlaneSpec | None, view: Planes, row: int, col: int) -> str:
    if plane is None:
        return ""
    code = str(view[plane.name][row][col])
    return "" if code == plane.codes[0] else code


_SORTS: dict[str, Sort] = {"light": "light"}


def _runs(line: Sequence[object], left_out: Sequence[object]) -> Iterator[tuple[int, int, object]]:
    """The first and the last column of each run of equal codes, and the code."""
    start, before = 0, None
    for col, code in enumerate(line):
        if code != before:
            if before is not None and before not in left_out:
                yield start, col - 1, before
            start, before = col, code
    if before is not None and before not in left_out:
        yield start, len(line) - 1, before


def _distance(
    home: tuple[int, int] | None, row: int, col: int, last_row: int, last_col: int
) -> int:
    """Steps to the nearest of these cells."""
    if home is None:
        return 0
    along = max(row - home[0], home[0] - last_row, 0)
    return along + max(col - home[1], home[1] - last_col, 0)


def _nearest_first(sighting: Sighting) -> tuple[int, str, int, int]:
    return sighting.distance, sighting.what, sighting.row, sighting.col
