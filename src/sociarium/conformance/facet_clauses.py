"""The part of the conformance suite that is about facets: each that is declared is examined.

A clause is given the environment, its parameters, states and views of one random episode with a
leading time axis, and who is present in them; it says what it found against the facet.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.core.facets import Board, Cooperation, Crafting, Hidden, Places
from sociarium.core.params import parameter, parameter_names

Env = Environment[Any, Any]
Present = Bool[np.ndarray, "time players"]


def _board(env: Env, params: Any, states: Any, views: View, present: Present) -> str:
    board, spec = env.facet(Board), env.view_spec
    cell, heading = (np.asarray(x) for x in jax.vmap(board.poses)(states))
    if cell.shape != present.shape or heading.shape != present.shape:
        return f"poses have the shapes {cell.shape[1:]} and {heading.shape[1:]}"
    if ((cell < 0) | (cell > board.cells)).any() or ((heading < 0) | (heading > 3)).any():
        return f"poses leave the {board.shape[0]} x {board.shape[1]} cells or the four headings"
    if (cell[present] == board.cells).any():
        return "somebody is present and on no cell"
    if board.window == "fixed" and (spec.rows, spec.cols) != board.shape:
        return f"the window is fixed, but shows {spec.rows} x {spec.cols} cells"
    for name, cells in board.regions.items():
        if not all(0 <= one < board.cells for one in cells):
            return f"the region {name} leaves the board"
    return ""


def _places(env: Env, params: Any, states: Any, views: View, present: Present) -> str:
    places, spec = env.facet(Places), env.view_spec
    if env.has(Board):
        return "a board and places are both declared"
    if (spec.rows, spec.cols) != (1, len(places.names)):
        return f"views have {spec.rows} x {spec.cols} cells, not 1 x {len(places.names)} places"
    at = np.asarray(jax.vmap(places.at)(states))
    if ((at < 0) | (at > len(places.names))).any():
        return f"somebody is at place {at.max()} of {len(places.names)}"
    if places.capacity:
        beyond = [(at == place).sum(1).max() > most for place, most in enumerate(places.capacity)]
        if any(beyond):
            return f"there are more players at {places.names[beyond.index(True)]} than it takes"
    return ""


def _crafting(env: Env, params: Any, states: Any, views: View, present: Present) -> str:
    crafting = env.facet(Crafting)
    knows = np.asarray(jax.vmap(crafting.knows)(states))
    if knows.shape[1:] != (env.players, len(crafting.recipes)) or knows.dtype != bool:
        return f"knowledge is {knows.dtype}{knows.shape[1:]}"
    events = crafting.made, crafting.taken, crafting.discovered, crafting.handed_over
    return _unknown_events(env, events)


def _hidden(env: Env, params: Any, states: Any, views: View, present: Present) -> str:
    hidden = env.facet(Hidden)
    unknown = set(hidden.names) - set(parameter_names(params))
    if unknown:
        return f"no parameter is called {', '.join(sorted(unknown))}"
    strangers = {*hidden.ranges, *hidden.units} - {*hidden.names}
    if strangers:
        return f"ranges or units of {', '.join(sorted(strangers))}, which is not hidden"
    key = random.key(0)
    for split in ("train", "held_out"):
        drawn, again = hidden.draw(key, split), hidden.draw(key, split)
        if set(drawn) != set(hidden.names):
            return f"{split} draws {sorted(drawn)}, declared {sorted(hidden.names)}"
        for name, value in drawn.items():
            if jnp.shape(value) != jnp.shape(parameter(params, name)):
                return f"{name} is drawn in the shape {jnp.shape(value)}"
            if not np.array_equal(value, again[name]):
                return f"one key draws {name} differently"
            low, high = hidden.ranges.get(name, (-np.inf, np.inf))
            if np.min(value) < low or np.max(value) > high:
                return f"{split} draws {name} = {value}, declared {low}..{high}"
    return ""


def _cooperation(env: Env, params: Any, states: Any, views: View, present: Present) -> str:
    spec = env.facet(Cooperation)
    return _unknown_events(env, (*spec.acts, *spec.refusals))


def _unknown_events(env: Env, names: tuple[str, ...]) -> str:
    unknown = set(names) - {spec.name for spec in env.event_specs}
    return f"no event is called {', '.join(sorted(unknown))}" if unknown else ""


CLAUSES: dict[type, Callable[[Env, Any, Any, View, Present], str]] = {
    Board: _board,
    Places: _places,
    Crafting: _crafting,
    Hidden: _hidden,
    Cooperation: _cooperation,
}
