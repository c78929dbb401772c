"""To bring a beam to bear on something in sight: fire, turn to it, or walk up to it."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from sociarium.core.actions import STAY
from sociarium.core.environment import View
from sociarium.mechanics import turning
from sociarium.players.planning import paths
from sociarium.players.planning.sight import Sight


class Beam:
    """A beam of this length and half-width, fired by an action of this number."""

    def __init__(self, action: int, length: int, half_width: int) -> None:
        self.action, self.length, self.half_width = action, length, half_width

    def reaches(
        self,
        target: Bool[Array, "rows cols"],
        barrier: Bool[Array, "rows cols"],
        ego_origin: tuple[int, int],
        turns: int = 0,
    ) -> Bool[Array, ""]:
        """Whether a target lies in the beam, if fired after so many turns to the right.

        Each lane of the beam ends at its first barrier, which it still touches.
        """
        row, col = ego_origin
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

    def aim(
        self,
        target: Bool[Array, "rows cols"],
        barrier: Bool[Array, "rows cols"],
        ego_origin: tuple[int, int],
        ready: Bool[Array, ""],
    ) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """Fire at a target ahead or turn to one at one's side; and whether there is one.

        While the beam recharges, whoever has a target ahead waits.
        """
        row, col = ego_origin
        target, barrier = (mask.at[row, col].set(False) for mask in (target, barrier))
        ahead, right, behind, left = (
            self.reaches(target, barrier, ego_origin, turns) for turns in range(4)
        )
        turn = jnp.where(left, turning.TURN_LEFT, turning.TURN_RIGHT)
        fire = jnp.where(ready, self.action, STAY)
        action = jnp.where(ahead, fire, turn).astype(jnp.int32)
        return action, ahead | left | right | behind

    def hunt(
        self,
        target: Bool[Array, "rows cols"],
        barrier: Bool[Array, "rows cols"],
        blocked: Bool[Array, "rows cols"],
        ego_origin: tuple[int, int],
        ready: Bool[Array, ""],
        word: UInt32[Array, ""],
    ) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """Aim at a target within reach, or walk to the nearest in sight; and whether it can."""
        target = target.at[ego_origin].set(False)
        action, bears = self.aim(target, barrier, ego_origin, ready)
        walk, found = paths.step_toward(target, blocked & ~target, ego_origin, word)
        return jnp.where(bears, action, walk), bears | found


class Tool:
    """A beam in the hands of somebody with a view: what stops it, and whether it is ready."""

    def __init__(self, beam: Beam, sight: Sight, stops: tuple[str, ...] = ()) -> None:
        self.beam, self.sight, self.stops = beam, sight, (*sight.solid, *stops)

    def strikes(self, target: Bool[Array, "rows cols"], view: View) -> Bool[Array, ""]:
        """Whether a target lies in the beam now."""
        return self.beam.reaches(target, self.sight.shows(view, *self.stops), self.sight.ego_origin)

    def aim(
        self, target: Bool[Array, "rows cols"], view: View, legal: Bool[Array, " actions"]
    ) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """Fire, wait or turn, and whether a target is within reach."""
        barrier = self.sight.shows(view, *self.stops)
        return self.beam.aim(target, barrier, self.sight.ego_origin, legal[self.beam.action])

    def hunt(
        self,
        target: Bool[Array, "rows cols"],
        view: View,
        legal: Bool[Array, " actions"],
        blocked: Bool[Array, "rows cols"],
        word: UInt32[Array, ""],
    ) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """Fire, wait, turn or walk, and whether a target is in sight that one can get at."""
        barrier, ready = self.sight.shows(view, *self.stops), legal[self.beam.action]
        return self.beam.hunt(target, barrier, blocked, self.sight.ego_origin, ready, word)
