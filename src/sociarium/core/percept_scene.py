"""A percept as a scene: the window that its player is told, for pictures and terminals.

The planes go back to codes, and the codes are read as a policy's are, so that a person sees what a
policy in its seat sees and no more.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from sociarium.core.percept import Percept, Plane, Planes, ShownWindow
from sociarium.core.scene import PanelEntry, Place, Scene, Sort, Thing, through_eyes_of
from sociarium.core.specs import BYTE, PlaneSpec, ViewSpec

SORTS: dict[str, Sort] = {"item": "goods", "station": "place", "hazard": "beast"}  # by role
ELSEWHERE = -1  # the row and column of things that stand for all of their kind


def scene_of(
    percept: Percept, spec: ViewSpec, *, horizon: int = 0, window: ShownWindow | None = None
) -> Scene:
    """The scene in a percept's own window, or in a window that another player shows.

    What only the rules tell is left out: what a place makes, and how busy it is.
    """
    view, seat = (percept.view, percept.seat) if window is None else (window.view, window.seat)
    numbers = np.array([number.value(percept.own[number.name]) for number in spec.own])
    nothing = np.zeros((spec.rows, spec.cols), np.uint8)
    overview = Scene(
        ground=nothing,
        tiles=("nothing",),
        bodies=(),
        lit=nothing,
        lights=("none",),
        clock=percept.step,
        horizon=horizon,
        players=len(percept.names) or spec.seats_named,
        things=_kinds(spec),
        places=tuple(Place(name) for name in percept.places),
        shared=tuple(
            PanelEntry(f"{name} {value}") for name, value in shared_something(percept).items()
        ),
    )
    scene = through_eyes_of(seat, cells_of(view, spec), numbers, spec, overview)
    return scene if window is None else replace(scene, private={})


def shared_something(percept: Percept) -> dict[str, int | float | str]:
    """The numbers that all see and that are not 0 or nothing."""
    return {n: value for n, value in percept.shared.items() if value not in (0, "nothing", "none")}


def cells_of(view: Planes, spec: ViewSpec) -> np.ndarray:
    """The codes `[planes, rows, cols]` behind the names of a view."""
    cells = np.zeros((len(spec.planes), spec.rows, spec.cols), np.uint8)
    for number, plane in enumerate(spec.planes):
        cells[number] = _codes(plane, view[plane.name])
    return cells


def _codes(plane: PlaneSpec, rows: Plane) -> list[list[int]]:
    known = _by_name(plane)
    return [[name if isinstance(name, int) else known[name] for name in row] for row in rows]


@lru_cache(maxsize=1024)
def _by_name(plane: PlaneSpec) -> dict[str, int]:
    """The code of every name; of two alike the first."""
    unnamed = {f"code {code}": code for code in range(len(plane.codes), BYTE)}
    return unnamed | {name: code for code, name in reversed([*enumerate(plane.codes)])}


def _kinds(spec: ViewSpec) -> tuple[Thing, ...]:
    """Everything that planes can tell of, once."""
    goods = [plane.name for plane in spec.planes if plane.role == "goods"]
    found = [Thing(name, ELSEWHERE, ELSEWHERE) for name in goods]
    for plane in spec.planes:
        sort = SORTS.get(plane.role)
        if sort is not None:
            found += [Thing(name, ELSEWHERE, ELSEWHERE, sort=sort) for name in plane.codes[1:]]
    return tuple(found)
