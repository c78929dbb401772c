"""What learners of Overcooked are usually shown: 26 planes of the whole kitchen.

    MultiAgent("overcooked?layout=coordination_ring", observe=LosslessPlanes)

Planes are those of overcooked_ai, as (columns, rows, 26), each player's own first. They say all
there is to know in a kitchen of two cooks.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt8

from sociarium.arena.observers import Observer
from sociarium.core.actions import COMPASS
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument
from sociarium.envs.kitchens.overcooked import (
    COUNTER,
    DISH,
    MYSELF,
    ONION,
    RECIPES,
    SOMEBODY,
    SOUP,
    STATIONS,
    TOMATO,
)

WAYS = ("north", "south", "east", "west")  # in the order of the published planes
_HEADINGS = tuple(1 + COMPASS.index(way) for way in WAYS)  # pyright: ignore[reportArgumentType]
FACES, BARE, READY = 8, len(STATIONS), 1  # headings, a counter, and a soup that is ready, as codes
PLACES = (
    STATIONS.index("pot"),
    BARE,
    *map(STATIONS.index, ("onion crate", "tomato crate", "dish rack", "hatch")),
)
_ONIONS, _TOMATOES = (np.array([0, *(soup[n] for soup in RECIPES)], np.uint8) for n in (0, 1))
CHANNELS = (
    "I am here",
    "partner is here",
    *(f"I face {way}" for way in WAYS),
    *(f"partner faces {way}" for way in WAYS),
    "pot",
    "counter",
    "onion crate",
    "tomato crate",
    "dish rack",
    "hatch",
    "onions in idle pot",
    "tomatoes in idle pot",
    "onions in soup",
    "tomatoes in soup",
    "steps until ready",
    "soup ready",
    "dish",
    "onion",
    "tomato",
    "last steps",
)


class LosslessPlanes(Observer):
    """The published encoding, made from views."""

    channels = CHANNELS
    dtype = np.dtype(np.uint8)
    low, high = 0.0, 255.0

    def __init__(self, env: Environment[Any, Any]) -> None:
        spec = env.view_spec
        known = [plane.name for plane in spec.planes]
        if not {"station", "facing", "holding", "item", "pot with", "soup"} <= set(known):
            raise BadArgument(f"these planes are those of Overcooked; given {env.id or env!r}")
        if env.players != 2:
            raise BadArgument(f"these planes are for two cooks; given {env.players}")
        self.env, self._plane = env, {name: number for number, name in enumerate(known)}
        self._hurry = [number.name for number in spec.shared].index("last steps")
        self.shape = (spec.cols, spec.rows, len(CHANNELS))

    def look(self, view: View, memory: Any) -> UInt8[Array, "*batch players cols rows 26"]:
        """What the players are shown."""
        show = {
            name: jnp.swapaxes(view.cells[..., number, :, :], -2, -1)
            for name, number in self._plane.items()
        }
        who, way = show["occupant"], show["facing"]
        stands = who * FACES + way
        place = jnp.where(
            (show["ground"] == COUNTER) & (show["station"] == 0), BARE, show["station"]
        )
        held, soup = jnp.maximum(show["holding"], show["item"]), show["soup"]  # never both
        carried, inside, idle = _soup(held), show["pot with"], soup == 0
        cooked = jnp.where(idle, carried, inside)
        last = view.shared[..., self._hurry, None, None] > 0
        numbers = (
            *(jnp.where(idle, _of(table, inside), 0) for table in (_ONIONS, _TOMATOES)),
            *(_of(table, cooked) for table in (_ONIONS, _TOMATOES)),
            jnp.maximum(soup, 1) - 1,
            (soup == READY) | (carried > 0),
        )
        parts = (
            _hot(who, (MYSELF, SOMEBODY)),
            _hot(stands, [one * FACES + way for one in (MYSELF, SOMEBODY) for way in _HEADINGS]),
            _hot(place, PLACES),
            jnp.stack([number.astype(jnp.uint8) for number in numbers], -1),
            _hot(held, (DISH, ONION, TOMATO)),
            jnp.broadcast_to(last, who.shape)[..., None].astype(jnp.uint8),
        )
        return jnp.concatenate(parts, -1)


def _hot(codes: UInt8[Array, "*shape"], wanted: Sequence[int]) -> UInt8[Array, "*shape wanted"]:
    """A channel for each of the codes."""
    among = np.array(wanted, np.uint8).reshape(*[1] * codes.ndim, -1)
    return (codes[..., None] == among).astype(jnp.uint8)


def _soup(item: UInt8[Array, "*shape"]) -> UInt8[Array, "*shape"]:
    """Which soup an item is, counted from 1; 0 for what is none."""
    return jnp.where(item >= SOUP, item - (SOUP - 1), 0).astype(jnp.uint8)


def _of(table: np.ndarray, soup: UInt8[Array, "*shape"]) -> UInt8[Array, "*shape"]:
    """How much of an ingredient is in each soup: two bits of a word for each."""
    word = jnp.uint32(sum(int(many) << 2 * number for number, many in enumerate(table)))
    return ((word >> (2 * soup.astype(jnp.uint32))) & 3).astype(jnp.uint8)
