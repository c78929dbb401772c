"""What can be seen, as plain NumPy: the source of pictures, words and the browser's canvas."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from sociarium.core.specs import PlaneSpec, ViewSpec


@dataclass(frozen=True)
class Body:
    """A player that can be seen: its seat, place and heading (an index of `actions.COMPASS`).

    The seat is -1 where a view does not tell it; `holds` are things in its hands.
    """

    seat: int
    row: int
    col: int
    heading: int
    holds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """A named station in a scene without a board: for how many more steps it is at work."""

    name: str
    busy: int = 0
    capacity: int = 0  # players, 0 where there is no limit


@dataclass(frozen=True)
class PanelEntry:
    """A line of the panel that everybody sees, such as an open order; `left` of `whole` steps."""

    name: str
    left: int = 0
    whole: int = 0


Sort = Literal["goods", "place", "beast"]


@dataclass(frozen=True)
class Thing:
    """Something on a cell: goods and how many units, a place and what it makes, or a beast.

    Of a place that works, `inside` tells what is in it, and `left` for how many more steps it is at
    work: 0 if it is done, and nothing if it is idle.
    """

    name: str
    row: int
    col: int
    units: int = 1
    sort: Sort = "goods"
    makes: str = ""
    inside: str = ""
    left: int | None = None


@dataclass(frozen=True)
class Circle:
    """A group and what part of its pool each member gets; members are seats, or groups by name."""

    name: str
    shares: dict[int | str, float]


@dataclass(frozen=True)
class Bonds:
    """Who is tied to whom in a society, at one moment.

    `layers` are groups of players, then groups of groups. `sight` are pairs (who shows, to whom),
    `gifts` triples (who gives, to whom, what part of its points), `words` triples (who says, to
    whom or -1 for all, which word).
    """

    players: int
    stage: str = ""
    layers: tuple[tuple[Circle, ...], ...] = ()
    sight: tuple[tuple[int, int], ...] = ()
    gifts: tuple[tuple[int, int, float], ...] = ()
    words: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class Scene:
    """A grid of named things with players on it.

    `ground[row, col]` indexes `tiles`; `lit[row, col]` indexes `lights` (0 is none). For the whole
    map up is north; for one player's window up is where that player faces, `me` is its seat and
    `private` its own numbers. `region` numbers the parts of the map (-1 is none), such as patches;
    `marks` are levels worth showing in a corner (gauges of the whole map). `things` lie on the
    ground, later ones on earlier ones, where a cell can hold more than its tile tells.
    `holdings` are the units of every kind, held or not, of each seat, where players hold any; one
    player's window has none but its own, among its `private` numbers. `bonds` are those of a
    society, which everybody knows. `shared` are the lines of a panel that everybody sees.

    In a scene without a board the one row of `ground` has a cell for each of `places`, at which
    there can be several bodies.
    """

    ground: np.ndarray
    tiles: tuple[str, ...]
    bodies: tuple[Body, ...]
    lit: np.ndarray
    lights: tuple[str, ...]
    clock: int
    horizon: int
    players: int
    region: np.ndarray | None = None
    me: int | None = None
    private: dict[str, int] = field(default_factory=dict)
    marks: dict[str, float] = field(default_factory=dict)
    things: tuple[Thing, ...] = ()
    holdings: tuple[dict[str, int], ...] = ()
    bonds: Bonds | None = None
    places: tuple[Place, ...] = ()
    shared: tuple[PanelEntry, ...] = ()

    def with_ground(self, ground: np.ndarray) -> "Scene":
        """The same scene with other tiles, given cell by cell."""
        return replace(self, ground=ground.reshape(self.ground.shape))

    def standing(self, row: int, col: int) -> Body | None:
        """Who stands there."""
        return next((body for body in self.bodies if (body.row, body.col) == (row, col)), None)


def through_eyes_of(
    player: int, cells: np.ndarray, own: np.ndarray, spec: ViewSpec, overview: Scene
) -> Scene:
    """The scene in one player's window, decoded from the very codes a policy would read."""
    ground, occupant, seat, light, facing, hands = (
        next(iter(spec.with_role(role)), None)
        for role in ("ground", "occupant", "seat", "light", "facing", "hands")
    )
    nothing = np.zeros((spec.rows, spec.cols), np.uint8)
    layer = lambda plane: nothing if plane is None else cells[plane]  # noqa: E731
    bodies = tuple(
        Body(
            seat=player if code == 1 else int(layer(seat)[at]) - 1 if spec.seats_named else -1,
            row=int(at[0]),
            col=int(at[1]),
            heading=_heading(int(code), None if facing is None else int(cells[facing][at])),
            holds=() if hands is None else _held(spec.planes[hands], int(cells[hands][at])),
        )
        for at, code in np.ndenumerate(layer(occupant))
        if code
    )
    known = {thing.name: thing for thing in overview.things}
    things = tuple(
        replace(known[plane.name], row=row, col=col, units=units)
        if plane.role == "goods"
        else replace(known[plane.codes[units]], row=row, col=col, **_doing(cells, spec, row, col))
        for plane, codes in zip(spec.planes, cells.tolist(), strict=True)
        if plane.role in ("goods", "item", "station", "hazard")
        for row, line in enumerate(codes)
        for col, units in enumerate(line)
        if units
    )
    return replace(
        overview,
        ground=layer(ground),
        tiles=("nothing",) if ground is None else spec.planes[ground].codes,
        bodies=bodies,
        lit=layer(light),
        lights=("none",) if light is None else spec.planes[light].codes,
        region=None,
        me=player,
        things=things,
        marks={},
        holdings=(),
        private={number.name: int(value) for number, value in zip(spec.own, own, strict=True)},
    )


def _heading(occupant: int, facing: int | None) -> int:
    """Where a body faces: by a plane for that, else as the code of the occupant tells it."""
    if facing is not None:
        return facing - 1
    return 0 if occupant == 1 else occupant - 2


def _doing(cells: np.ndarray, spec: ViewSpec, row: int, col: int) -> dict[str, Any]:
    """What is inside of what is there, and how long it is at work, where planes tell that."""
    found: dict[str, Any] = {}
    for number in spec.with_role("contents"):
        code = int(cells[number, row, col])
        found["inside"] = spec.planes[number].codes[code] if code else ""
    for number in spec.with_role("work"):
        code = int(cells[number, row, col])
        found["left"] = code - 1 if code else None
    return found


def _held(plane: PlaneSpec, code: int) -> tuple[str, ...]:
    return (plane.codes[code],) if code else ()
