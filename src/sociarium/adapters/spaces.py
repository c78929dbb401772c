"""What Gymnasium and PettingZoo are told about a table: what is shown and what can be done."""

import numpy as np
from gymnasium import spaces
from jaxtyping import UInt8

from sociarium.adapters.table import Table
from sociarium.core.specs import OwnSpec, PlaneSpec, ViewSpec


def shown(table: Table) -> spaces.Space:
    """What one player is shown."""
    observer, spec = table.observer, table.env.view_spec
    if observer is not None:
        dtype = observer.dtype.type
        return spaces.Box(dtype(observer.low), dtype(observer.high), observer.shape, dtype)
    return spaces.Dict({name: space for name, space in _parts(spec).items() if space.low.size})


def _parts(spec: ViewSpec) -> dict[str, spaces.Box]:
    """The parts of a view with the bounds that its spec declares."""
    planes, window = _highest(spec.planes), (len(spec.planes), spec.rows, spec.cols)
    cells = np.broadcast_to(planes[:, None, None], window)
    parts = {"cells": _codes(cells), "own": _numbers(spec.own), "shared": _numbers(spec.shared)}
    told = spec.social
    if told is None:
        return parts
    ties = np.broadcast_to(_highest(told.ties), (told.contacts, len(told.ties)))
    far = np.tile(np.array([told.far, told.far, 3], np.int16), (told.shared_views, 1))
    near = np.tile(np.array([-told.far, -told.far, 0], np.int16), (told.shared_views, 1))
    return parts | {
        "social_own": _codes(_highest(told.own)),
        "social_ties": _codes(ties),
        "social_shared_view": spaces.Box(0, told.seats, (told.shared_views,), np.int32),
        "social_offsets": spaces.Box(near, far, dtype=np.int16),
        "social_windows": _codes(np.broadcast_to(cells, (told.shared_views, *window))),
        "social_numbers": _numbers(told.numbers),
    }


def _numbers(specs: tuple[OwnSpec, ...]) -> spaces.Box:
    """Numbers in the ranges that their specs declare."""
    ranges = np.array([(n.low, n.high) for n in specs], np.int16).reshape(-1, 2)
    return spaces.Box(ranges[:, 0], ranges[:, 1], dtype=np.int16)


def _codes(highest: UInt8[np.ndarray, "..."]) -> spaces.Box:
    """Codes from 0 up to these."""
    return spaces.Box(np.zeros_like(highest), highest, dtype=np.uint8)


def _highest(planes: tuple[PlaneSpec, ...]) -> UInt8[np.ndarray, " planes"]:
    """The highest code of each plane."""
    return np.array([len(plane.codes) - 1 for plane in planes], np.uint8)


def done(table: Table) -> spaces.Discrete:
    """What one player can do."""
    return spaces.Discrete(len(table.env.actions))


def mask(table: Table) -> spaces.MultiBinary:
    """Which actions are legal, as zeros and ones."""
    return spaces.MultiBinary(len(table.env.actions))
