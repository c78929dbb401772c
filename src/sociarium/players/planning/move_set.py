"""How one walks in a world, known by its actions alone."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.core.actions import COMPASS, SIDES, STAY, Actions, actions_by_direction
from sociarium.core.environment import Environment
from sociarium.players.planning import paths


class MoveSet:
    """Steps relative to one's heading, with turns; or steps by the compass, without any."""

    def __init__(self, actions: Actions) -> None:
        steps, turns = (actions_by_direction(actions, verb) for verb in ("move", "turn"))
        self.turns = {"left", "right"} <= set(turns)
        if self.turns:
            self.turn_left, self.turn_right = turns["left"], turns["right"]
        ways = SIDES if self.turns else COMPASS
        self.steps = np.array([steps[way] for way in ways], np.int32)

    @classmethod
    def of(cls, env: Environment[Any, Any]) -> "MoveSet | None":
        """The moves of a world; none where one cannot walk."""
        steps, turns = (actions_by_direction(env.actions, verb) for verb in ("move", "turn"))
        by_side = set(SIDES) <= set(steps) and {"left", "right"} <= set(turns)
        return cls(env.actions) if by_side or set(COMPASS) <= set(steps) else None

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
        if not self.turns:
            heading = jnp.zeros_like(heading)  # steps by the compass lead the same way for all
        toward = (paths.one_of(ways, word) - heading) & 3
        ahead = ways[heading & 3]
        toward = jnp.where(looks & ahead, 0, toward)
        action = jnp.asarray(self.steps)[toward]
        if self.turns:
            turn = jnp.where(toward == 3, self.turn_left, self.turn_right)
            action = jnp.where(looks & (toward > 0), turn, action)
        return jnp.where(ways.any(), action, STAY).astype(jnp.int32)

    def stroll(
        self,
        blocked: Bool[Array, "rows cols"],
        ego_origin: tuple[int, int],
        word: UInt32[Array, ""],
    ) -> Int[Array, ""]:
        """A step of somebody who knows no place to go to."""
        if self.turns:
            return paths.stroll(blocked, ego_origin, word)
        row, col = ego_origin
        beside = ((row - 1, col), (row, col + 1), (row + 1, col), (row, col - 1))
        free = jnp.stack([~blocked[cell] for cell in beside])
        return self.step(free, jnp.int32(0), jnp.bool_(False), word)
