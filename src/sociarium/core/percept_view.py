"""A player's view again, out of its percept: for scripts that are asked like any host player."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool

from sociarium.core.actions import action_names
from sociarium.core.environment import Environment, View
from sociarium.core.percept import Percept, Planes
from sociarium.core.specs import OwnSpec, PlaneSpec


class ViewReader:
    """Reads the views of one environment's players out of their percepts, as NumPy.

    Everything that a percept names is there; windows that are shown come first among their slots.
    """

    def __init__(self, env: Environment[Any, Any]) -> None:
        self.env, self.spec = env, env.view_spec
        self._actions = {name: number for number, name in enumerate(action_names(env.actions))}
        self._planes = [_codes(plane) for plane in self.spec.planes]

    def legal(self, percept: Percept) -> Bool[np.ndarray, " actions"]:
        """Which actions are legal."""
        found = np.zeros(len(self._actions), bool)
        found[[self._actions[name] for name in percept.legal]] = True
        return found

    def view(self, percept: Percept) -> View:
        """The view, without a player axis."""
        view = jax.tree.map(np.zeros_like, self._blank)
        view.cells[:] = self._cells(percept.view)
        view.own[:] = _values(self.spec.own, percept.own)
        if view.shared is not None:
            view.shared[:] = _values(self.spec.shared, percept.shared)
        if view.social is not None:
            self._fill(view.social, percept)
        return view

    def _cells(self, planes: Planes) -> np.ndarray:
        cells = np.zeros((len(self.spec.planes), self.spec.rows, self.spec.cols), np.uint8)
        for number, (spec, codes) in enumerate(zip(self.spec.planes, self._planes, strict=True)):
            rows = planes[spec.name]
            cells[number] = [[_code(codes, cell) for cell in row] for row in rows]
        return cells

    @cached_property
    def _blank(self) -> Any:
        """A view of nothing, with the shapes of this environment."""
        params = self.env.params()
        state = jax.eval_shape(self.env.reset, jax.eval_shape(lambda: jax.random.key(0)), params)
        seen = jax.eval_shape(self.env.observe, state, params)
        return jax.tree.map(lambda x: np.zeros(x.shape[1:], x.dtype), seen)

    def _fill(self, social: Any, percept: Percept) -> None:
        """Writes down what a player is told of its society."""
        spec = self.spec.social
        assert spec is not None
        social.own[:] = [_code(_codes(plane), percept.social[plane.name]) for plane in spec.own]
        social.numbers[:] = [round(percept.numbers[one.name] / one.unit) for one in spec.numbers]
        tables = [(plane.name, _codes(plane)) for plane in spec.ties]
        for row, contact in enumerate(percept.contacts):
            social.ties[row] = [_code(codes, contact.ties[name]) for name, codes in tables]
        for slot, shown in enumerate(percept.windows):
            social.shared_view[slot] = shown.seat + 1
            social.offsets[slot] = shown.ahead, shown.right, shown.turned
            social.windows[slot] = self._cells(shown.view)


def _codes(plane: PlaneSpec) -> Mapping[str, int]:
    return {name: code for code, name in enumerate(plane.codes)}


def _code(codes: Mapping[str, int], cell: str | int) -> int:
    """The code of a name; where goods are counted, the number itself."""
    if isinstance(cell, int):
        return cell
    return codes[cell] if cell in codes else int(cell.removeprefix("code "))


def _values(specs: Sequence[OwnSpec], told: Mapping[str, int | float | str]) -> np.ndarray:
    """Numbers in the order of their specs, which is that of a percept, whatever they are called."""
    found = [spec.value(value) for spec, value in zip(specs, told.values(), strict=True)]
    return np.array(found, np.int16)
