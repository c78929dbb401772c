"""How one walks in a world, known by the names of its actions alone."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.core.environment import STAY, Environment
from sociarium.core.scene import HEADINGS
from sociarium.mechanics import turning
from sociarium.players.planning import paths

STRIDES = ("forward", "step right", "back", "step left")  # by the way they lead from one's heading


class Gait:
    """Steps relative to one's heading, with turns; or steps by the compass, without any."""

    def __init__(self, actions: tuple[str, ...]) -> None:
        self.turns = set(turning.MOVES) <= set(actions)
        names = STRIDES if self.turns else HEADINGS
        self.steps = np.array([actions.index(name) for name in names], np.int32)

    @classmethod
    def of(cls, env: Environment[Any, Any]) -> "Gait | None":
        """The gait of a world; none where one cannot walk."""
        walks = (set(names) <= set(env.actions) for names in (turning.MOVES, HEADINGS))
        return cls(env.actions) if any(walks) else None

    def step(
        self,
        ways: Bool[Array, "4"],
        heading: Int[Array, ""],
        looks: Bool[Array, ""],
        word: UInt32[Array, ""],
    ) -> Int[Array, ""]:
        """A step toward one of these headings, chosen by lot; staying where there is none.

        Who `looks` where it goes turns there first.
        """
        toward = (paths.one_of(ways, word) - heading) & 3
        ahead = ways[heading & 3]
        toward = jnp.where(looks & ahead, 0, toward)
        action = jnp.asarray(self.steps)[toward]
        if self.turns:
            turn = jnp.where(toward == 3, turning.TURN_LEFT, turning.TURN_RIGHT)
            action = jnp.where(looks & (toward > 0), turn, action)
        return jnp.where(ways.any(), action, STAY).astype(jnp.int32)

    def stroll(
        self, blocked: Bool[Array, "rows cols"], home: tuple[int, int], word: UInt32[Array, ""]
    ) -> Int[Array, ""]:
        """A step of somebody who knows no place to go to."""
        if self.turns:
            return paths.stroll(blocked, home, word)
        row, col = home
        beside = ((row - 1, col), (row, col + 1), (row + 1, col), (row, col - 1))
        free = jnp.stack([~blocked[cell] for cell in beside])
        return self.step(free, jnp.int32(0), jnp.bool_(False), word)
