"""Views within their specs, and the same with one thing changed: what is seen must show it."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.charters.open import Open
from sociarium.charters.society import Society
from sociarium.core.environment import Social, View
from tests.toys.meadow import Meadow

SOCIAL = ("own", "ties", "shared_view", "offsets", "windows", "numbers")
FIELDS = ("cells", "own", "shared", *(f"social.{name}" for name in SOCIAL))
PLANES = {"cells": -3, "social.windows": -3}  # the axis of planes; of other parts it is the last


def ranges(spec):
    """The lowest and the highest value of every number of one player's view, by field."""
    planes = np.array([len(plane.codes) - 1 for plane in spec.planes])
    window = np.broadcast_to(planes[:, None, None], (len(planes), spec.rows, spec.cols))
    own = np.array([(number.low, number.high) for number in spec.own]).reshape(-1, 2).T
    shared = np.array([(number.low, number.high) for number in spec.shared]).reshape(-1, 2).T
    found = {"cells": (0 * window, window), "own": tuple(own), "shared": tuple(shared)}
    if spec.social is None:
        return found
    told, slots = spec.social, spec.social.shared_views
    highest = {
        "own": np.array([len(plane.codes) - 1 for plane in told.own], int),
        "ties": np.tile([len(plane.codes) - 1 for plane in told.ties], (told.contacts, 1)),
        "shared_view": np.full(slots, min(told.seats, np.iinfo(types()["social.shared_view"]).max)),
        "offsets": np.tile([told.far, told.far, 3], (slots, 1)),
        "windows": np.tile(window, (slots, 1, 1, 1)),
        "numbers": np.array([number.high for number in told.numbers], int),
    }
    lowest = {name: 0 * high for name, high in highest.items()}
    lowest["numbers"] = np.array([number.low for number in told.numbers], int)
    lowest["offsets"] = np.tile([-told.far, -told.far, 0], (slots, 1))
    return found | {f"social.{name}": (lowest[name], highest[name]) for name in highest}


def as_view(numbers):
    """A view of these numbers by field."""
    parts = {field: jnp.asarray(array, types()[field]) for field, array in numbers.items()}
    if "social.own" not in parts:
        return View(parts["cells"], parts["own"], parts["shared"])
    social = Social(*(parts[f"social.{name}"] for name in SOCIAL))
    return View(parts["cells"], parts["own"], parts["shared"], social)


@cache
def types():
    """The types of all parts, as a society shows them."""
    env = Society(Meadow(players=2), Open())
    state = jax.eval_shape(env.reset, sociarium.key(0), env.params())
    view = jax.eval_shape(env.observe, state, env.params())
    social = {f"social.{name}": getattr(view.social, name).dtype for name in SOCIAL}
    numbers = {"own": view.own.dtype, "shared": view.shared.dtype}
    return {"cells": view.cells.dtype, **numbers, **social}


def drawn(spec, *batch, seed=0):
    """Numbers of a view by field, anywhere in their ranges."""
    lot = np.random.default_rng(seed)
    return {
        field: lot.integers(low, high + 1, size=(*batch, *low.shape))
        for field, (low, high) in ranges(spec).items()
    }


def changes(spec, numbers, seed=1):
    """Each declared part that can vary, and the numbers with all of that part drawn anew.

    Parts are planes, or numbers of one kind, as (field, which).
    """
    again = drawn(spec, *numbers["own"].shape[:-1], seed=seed)
    for field, (low, high) in ranges(spec).items():
        other = np.where(again[field] == numbers[field], low, again[field])
        other = np.where(other == numbers[field], high, other)
        axis = PLANES.get(field, -1)
        for which in range(low.shape[axis]):
            part = (np.arange(low.shape[axis]) == which).reshape(-1, *[1] * (-1 - axis))
            if (np.where(part, low < high, False)).any():
                yield (field, which), {**numbers, field: np.where(part, other, numbers[field])}
