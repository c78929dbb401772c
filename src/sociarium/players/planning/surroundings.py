"""What a player can use with its hands: stations and surfaces around it, and what each one holds.

It is read from a percept alone, by the roles of its planes, so it tells nothing that is not in
view. Worlds in which nobody holds anything have no such surroundings.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sociarium.core.environment import Environment
from sociarium.core.percept import Percept, Planes
from sociarium.core.specs import PlaneSpec, Role, ViewSpec

Cell = tuple[int, int]
BESIDE = ((-1, 0), (0, 1), (1, 0), (0, -1))


@dataclass(frozen=True)
class Fixture:
    """What one uses from beside: a station, or a surface without a name, and what is on and in it.

    It is `mine` if one can come to it, and `theirs` if another player can. Work is empty unless the
    station is at work or done.
    """

    station: str
    item: str = ""
    inside: str = ""
    work: str = ""
    mine: bool = True
    theirs: bool = True


@dataclass(frozen=True)
class Surroundings:
    """What a player holds, what each of the others in view holds, and what can be used."""

    holds: str
    others: Mapping[str, str]  # what is held, or nothing, by name
    fixtures: tuple[Fixture, ...]

    @property
    def stations(self) -> tuple[Fixture, ...]:
        """Those that have a name."""
        return tuple(one for one in self.fixtures if one.station)

    @property
    def surfaces(self) -> tuple[Fixture, ...]:
        """Those that have none."""
        return tuple(one for one in self.fixtures if not one.station)

    @property
    def apart(self) -> bool:
        """Whether there is a kind of station to which one cannot come."""
        near = {one.station for one in self.stations if one.mine}
        return any(one.station not in near for one in self.stations)


class SurroundingsReader:
    """Reads the surroundings of one world's players."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        self._spec: ViewSpec = env.view_spec
        self._by_role: dict[Role, PlaneSpec] = {
            plane.role: plane for plane in reversed(self._spec.planes)
        }
        self._seats = {code: seat for seat, code in enumerate(self._codes("seat"))}
        self._last: tuple[Percept | None, Surroundings | None] = (None, None)

    def holds_things(self, station: str) -> bool:
        """Whether something can be inside such a station: planes of contents are named after it."""
        named = self._by_role.get("contents")
        return named is not None and named.name.startswith(station)

    def read(self, percept: Percept) -> Surroundings | None:
        """What is around a player; nothing where nobody has hands, or while it is out of play."""
        last, found = self._last
        if last is not percept:  # asked for by several parts of one mind
            found = self._read(percept) if "hands" in self._by_role else None
            self._last = percept, found
        return found

    def _codes(self, role: Role) -> tuple[str, ...]:
        plane = self._by_role.get(role)
        return () if plane is None else plane.codes[1:]

    def _read(self, percept: Percept) -> Surroundings | None:
        view, others = percept.view, dict[Cell, str]()
        own = percept.home
        occupied = view[self._by_role["occupant"].name]
        for row, line in enumerate(occupied):
            for col, who in enumerate(line):
                if who == "myself":
                    own = row, col
                elif who != self._by_role["occupant"].codes[0] and (row, col) != own:
                    others[row, col] = self._name(percept, row, col)
        if own is None:
            return None
        mine, theirs = self._region(view, [own]), self._region(view, others)
        held = {name: self._told("hands", view, *cell) for cell, name in others.items()}
        fixtures = [
            self._fixture(view, row, col, mine, theirs)
            for row, line in enumerate(occupied)
            for col in range(len(line))
            if self._usable(view, row, col)
        ]
        return Surroundings(self._told("hands", view, *own), held, tuple(fixtures))

    def _name(self, percept: Percept, row: int, col: int) -> str:
        seat = self._seats.get(self._told("seat", percept.view, row, col), len(percept.names))
        return percept.names[seat] if seat < len(percept.names) else f"somebody at {row}, {col}"

    def _told(self, role: Role, view: Planes, row: int, col: int) -> str:
        """What a plane tells of a cell; nothing where it is the first of its codes."""
        plane = self._by_role.get(role)
        code = "" if plane is None else str(view[plane.name][row][col])
        return "" if plane is None or code == plane.codes[0] else code

    def _solid(self, view: Planes, row: int, col: int) -> bool:
        return any(view[one.name][row][col] in one.solid for one in self._spec.planes if one.solid)

    def _usable(self, view: Planes, row: int, col: int) -> bool:
        """Whether a station or a surface is there, and not only the end of the world."""
        seen = self._told("ground", view, row, col) != ""
        return self._told("station", view, row, col) != "" or (seen and self._solid(view, row, col))

    def _fixture(
        self, view: Planes, row: int, col: int, mine: Collection[Cell], theirs: Collection[Cell]
    ) -> Fixture:
        beside = {(row + down, col + right) for down, right in BESIDE}
        return Fixture(
            station=self._told("station", view, row, col),
            item=self._told("item", view, row, col),
            inside=self._told("contents", view, row, col),
            work=self._told("work", view, row, col),
            mine=not beside.isdisjoint(mine),
            theirs=not beside.isdisjoint(theirs),
        )

    def _region(self, view: Planes, starts: Collection[Cell]) -> set[Cell]:
        """All cells to which one could walk from there, whoever stands in the way."""
        rows, cols = self._spec.rows, self._spec.cols
        found, edge = set(starts), list(starts)
        while edge:
            row, col = edge.pop()
            for down, right in BESIDE:
                cell = row + down, col + right
                inside = 0 <= cell[0] < rows and 0 <= cell[1] < cols
                if inside and cell not in found and not self._solid(view, *cell):
                    found.add(cell)
                    edge.append(cell)
        return found
