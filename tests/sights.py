"""Views within their specs, and the same with one thing changed: what is seen must show it."""

import jax.numpy as jnp
import numpy as np

from sociarium.core.environment import Social, View

FIELDS = ("cells", "own", "social.own", "social.ties", "social.lookout", "social.offsets")
FIELDS = (*FIELDS, "social.windows")


def ranges(spec):
    """The lowest and the highest value of every number of one player's view, by field."""
    planes = np.array([len(plane.codes) - 1 for plane in spec.planes])
    window = np.broadcast_to(planes[:, None, None], (len(planes), spec.rows, spec.cols))
    own = np.array([(number.low, number.high) for number in spec.own]).reshape(-1, 2).T
    found = {"cells": (0 * window, window), "own": (own[0], own[1])}
    if spec.social is None:
        return found
    told, slots = spec.social, spec.social.lookouts
    highest = {
        "own": np.array([len(plane.codes) - 1 for plane in told.own], int),
        "ties": np.tile([len(plane.codes) - 1 for plane in told.ties], (told.contacts, 1)),
        "lookout": np.full(slots, told.seats),
        "offsets": np.tile([told.far, told.far, 3], (slots, 1)),
        "windows": np.tile(window, (slots, 1, 1, 1)),
    }
    lowest = {name: 0 * high for name, high in highest.items()}
    lowest["offsets"] = np.tile([-told.far, -told.far, 0], (slots, 1))
    return found | {f"social.{name}": (lowest[name], highest[name]) for name in highest}


def as_view(numbers, like):
    """A view of these numbers by field, with the types of another."""

    def social(name):
        return jnp.asarray(numbers[f"social.{name}"], getattr(like.social, name).dtype)

    told = None
    if like.social is not None:
        told = Social(*(social(n) for n in ("own", "ties", "lookout", "offsets", "windows")))
    return View(
        jnp.asarray(numbers["cells"], like.cells.dtype),
        jnp.asarray(numbers["own"], like.own.dtype),
        told,
    )


def drawn(spec, *batch, seed=0):
    """Numbers of a view by field, anywhere in their ranges."""
    lot = np.random.default_rng(seed)
    return {
        field: lot.integers(low, high + 1, size=(*batch, *low.shape))
        for field, (low, high) in ranges(spec).items()
    }


def changes(spec, numbers, seed=1):
    """Each declared field that can vary, and the numbers with that field drawn anew."""
    again = drawn(spec, *numbers["own"].shape[:-1], seed=seed)
    for field, (low, high) in ranges(spec).items():
        if (low < high).any():
            other = np.where(again[field] == numbers[field], low, again[field])
            other = np.where(other == numbers[field], high, other)
            yield field, {**numbers, field: other}
