"""The last window seen, laid over the present one, and bearings that turn with every step."""

from functools import cached_property

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt8, UInt32

from sociarium.core.specs import ViewSpec
from sociarium.mechanics import turning
from sociarium.players.planning import paths

UNSEEN = 0  # the ground code of what was not in sight


class Glimpse(eqx.Module):
    """What lay around a player in the last step, and what it did then."""

    ground: UInt8[Array, "rows cols"]
    action: Int[Array, ""]


class Album:
    """Lays an earlier window over a later one."""

    def __init__(self, spec: ViewSpec) -> None:
        self.spec = spec

    def blank(self) -> Glimpse:
        """No memory at all."""
        return Glimpse(jnp.zeros((self.spec.rows, self.spec.cols), jnp.uint8), jnp.int32(0))

    def aligned(
        self, glimpse: Glimpse, ground: UInt8[Array, "rows cols"]
    ) -> UInt8[Array, "rows cols"]:
        """The earlier ground where it would lie in the present window, UNSEEN where it was not.

        A step may have failed; it is taken to have done so where standing still contradicts less of
        what is seen.
        """
        before = jnp.append(glimpse.ground.ravel(), jnp.uint8(UNSEEN))
        move = jnp.where(glimpse.action < len(turning.MOVES), glimpse.action, turning.STAY)
        went = before[jnp.asarray(self._overlay)[move]].reshape(ground.shape)
        steps = (move >= turning.FORWARD) & (move <= turning.STEP_RIGHT)
        failed = steps & (_contradictions(glimpse.ground, ground) < _contradictions(went, ground))
        return jnp.where(failed, glimpse.ground, went)

    @cached_property
    def _overlay(self) -> Int[np.ndarray, "moves size"]:
        """For each move, which cell of the earlier window each cell of the present one was."""
        spec, (row, col) = self.spec, self.spec.ego_origin
        rows, cols = np.divmod(np.arange(spec.rows * spec.cols), spec.cols)
        far, aside = row - rows, cols - col
        places = {
            turning.STAY: (far, aside),
            turning.FORWARD: (far + 1, aside),
            turning.BACK: (far - 1, aside),
            turning.STEP_LEFT: (far, aside - 1),
            turning.STEP_RIGHT: (far, aside + 1),
            turning.TURN_LEFT: (aside, -far),
            turning.TURN_RIGHT: (-aside, far),
        }
        overlay = np.full((len(places), len(far)), len(far), np.int32)
        for move, (was_far, was_aside) in places.items():
            r, c = row - was_far, col + was_aside
            inside = (r >= 0) & (r < spec.rows) & (c >= 0) & (c < spec.cols)
            overlay[move] = np.where(inside, r * spec.cols + c, len(far))
        return overlay


def _contradictions(
    before: UInt8[Array, "rows cols"], now: UInt8[Array, "rows cols"]
) -> Int[Array, ""]:
    return jnp.sum((before != now) & (before != UNSEEN), dtype=jnp.int32)


class Bearing(eqx.Module):
    """Where something lay when last seen: cells ahead and to the right, if it was ever seen."""

    ahead: Int[Array, ""]
    right: Int[Array, ""]
    known: Bool[Array, ""]

    @classmethod
    def unknown(cls) -> "Bearing":
        """Nothing seen yet."""
        return cls(jnp.int32(0), jnp.int32(0), jnp.bool_(False))

    def seen(
        self, mask: Bool[Array, "rows cols"], ego_origin: tuple[int, int], in_play: Bool[Array, ""]
    ) -> "Bearing":
        """The nearest cell of a mask, or what was remembered; out of play all is forgotten."""
        rows, cols = (np.arange(extent) for extent in mask.shape)
        ahead = np.broadcast_to((ego_origin[0] - rows)[:, None], mask.shape)
        right = np.broadcast_to((cols - ego_origin[1])[None], mask.shape)
        far = jnp.where(mask, jnp.asarray(abs(ahead) + abs(right)), sum(mask.shape))
        nearest = jnp.argmin(far)
        found = mask.any()
        return Bearing(
            ahead=jnp.where(found, jnp.asarray(ahead.ravel())[nearest], self.ahead),
            right=jnp.where(found, jnp.asarray(right.ravel())[nearest], self.right),
            known=(found | self.known) & in_play,
        )

    def after(
        self, action: Int[Array, ""], blocked: Bool[Array, "rows cols"], ego_origin: tuple[int, int]
    ) -> "Bearing":
        """The same place from where this action leads; a blocked step leads nowhere."""
        row, col = ego_origin
        forward = (action == turning.FORWARD) & ~blocked[row - 1, col]
        back = (action == turning.BACK) & ~blocked[row + 1, col]
        left = (action == turning.STEP_LEFT) & ~blocked[row, col - 1]
        right = (action == turning.STEP_RIGHT) & ~blocked[row, col + 1]
        ahead = self.ahead - forward + back
        aside = self.right - right + left
        to_left, to_right = action == turning.TURN_LEFT, action == turning.TURN_RIGHT
        return Bearing(
            ahead=jnp.where(to_left, -aside, jnp.where(to_right, aside, ahead)),
            right=jnp.where(to_left, ahead, jnp.where(to_right, -ahead, aside)),
            known=self.known,
        )

    def approach(
        self,
        blocked: Bool[Array, "rows cols"],
        ego_origin: tuple[int, int],
        word: UInt32[Array, ""],
    ) -> Int[Array, ""]:
        """A step toward the place, or a stroll if it was never seen."""
        step = paths.make_for(self.ahead, self.right, blocked, ego_origin, word)
        return jnp.where(self.known, step, paths.stroll(blocked, ego_origin, word))
