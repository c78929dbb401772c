"""What a session tells of each step."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from sociarium.core.environment import Environment
from sociarium.core.events import EventTable
from sociarium.core.record import Asked
from sociarium.core.scene import Scene


@dataclass(frozen=True, repr=False)
class Tick:
    """One step of a session, as it was recorded.

    `step` is its number, from 0. `mark` is the hash of the state after it where one was taken, and
    `ended` why the session is over, if it is.
    """

    env: Environment[Any, Any]
    step: int
    actions: Int[np.ndarray, " players"]
    asked: tuple[Asked, ...]  # whose answers counted from this step on
    raw: Float[np.ndarray, " players"]
    reward: Float[np.ndarray, " players"]
    events: EventTable
    mark: str
    ended: str
    _state: Callable[[], Any] = field(compare=False)
    _params: Any = field(compare=False)

    def __repr__(self) -> str:
        done = ", ".join(self.action_names)
        return f"Tick({self.step}: {done}; {len(self.events)} events)"

    @property
    def action_names(self) -> tuple[str, ...]:
        """What everybody did."""
        return tuple(self.env.actions[action].name for action in self.actions)

    def scene(self, player: int | None = None) -> Scene:
        """What there is to see after the step, for all or through the eyes of one."""
        return self.env.scene(self._state(), self._params, player)
