"""To bring a beam to bear on something in sight: fire, turn to it, or walk up to it."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.core.environment import STAY
from sociarium.mechanics import turning
from sociarium.players import planning


class Beam:
    """A beam of this length and half-width, fired by an action of this number."""

    def __init__(self, action: int, length: int, half_width: int) -> None:
        self.action, self.length, self.half_width = action, length, half_width

    def reaches(
        self,
        target: Bool[Array, "rows cols"],
        barrier: Bool[Array, "rows cols"],
        home: tuple[int, int],
        turns: int = 0,
    ) -> Bool[Array, ""]:
        """Whether a target lies in the beam, if fired after so many turns to the right.

        Each lane of the beam ends at its first barrier, which it still touches.
        """
        row, col = home
        struck, stops = (
            jnp.rot90(jnp.pad(mask, self.length), turns)  # a turn right brings the right side up
            for mask in (target, barrier)
        )
        places = np.zeros(target.shape, bool)
        places[row, col] = True
        ((row, col),) = np.argwhere(np.rot90(np.pad(places, self.length), turns))
        lanes = slice(col - self.half_width, col + self.half_width + 1)
        struck = struck[row - self.length : row, lanes][::-1]
        stops = stops[row - self.length + 1 : row + 1, lanes][::-1]
        return (struck & (jnp.cumsum(stops, axis=0) == 0)).any()

    def hunt(
        self,
        target: Bool[Array, "rows cols"],
        barrier: Bool[Array, "rows cols"],
        blocked: Bool[Array, "rows cols"],
        home: tuple[int, int],
        ready: Bool[Array, ""],
        word: UInt32[Array, ""],
    ) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """Fire at a target, turn to one at one's side, or walk to the nearest; and whether it can.

        While the beam recharges, whoever has a target ahead waits.
        """
        row, col = home
        target, barrier = (mask.at[row, col].set(False) for mask in (target, barrier))
        ahead, right, behind, left = (
            self.reaches(target, barrier, home, turns) for turns in range(4)
        )
        walk, found = planning.step_toward(target, blocked & ~target, home, word)
        turn = jnp.where(left, turning.TURN_LEFT, turning.TURN_RIGHT)
        action = jnp.where(left | right | behind, turn, walk)
        fire = jnp.where(ready, self.action, STAY)
        return jnp.where(ahead, fire, action).astype(
            jnp.int32
        ), ahead | left | right | behind | found
