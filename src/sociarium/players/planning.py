"""From what is seen to the next step: shortest paths inside a player's own window."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from sociarium.mechanics import turning

FAR = 1e6


def distances(
    goal: Bool[Array, "rows cols"], blocked: Bool[Array, "rows cols"]
) -> Float[Array, "rows cols"]:
    """Steps to the nearest goal through free cells of the window; FAR where there is no way."""

    def relax(_: Any, steps: Float[Array, "rows cols"]) -> Float[Array, "rows cols"]:
        edge = jnp.pad(steps, 1, constant_values=FAR)
        near = jnp.minimum(
            jnp.minimum(edge[:-2, 1:-1], edge[2:, 1:-1]),
            jnp.minimum(edge[1:-1, :-2], edge[1:-1, 2:]),
        )
        return jnp.where(blocked, FAR, jnp.minimum(steps, near + 1))

    start = jnp.where(goal & ~blocked, 0.0, FAR)
    return jax.lax.fori_loop(0, sum(goal.shape), relax, start)


def step_toward(
    goal: Bool[Array, "rows cols"],
    blocked: Bool[Array, "rows cols"],
    home: tuple[int, int],
    word: UInt32[Array, ""],
) -> tuple[Int[Array, ""], Bool[Array, ""]]:
    """The first step of a shortest way from `home` to a goal, and whether there is one.

    Equally good steps are chosen by lot. Standing on a goal is staying.
    """
    row, col = home
    ways = distances(goal, blocked.at[row, col].set(False))
    after = jnp.stack(
        [ways[row - 1, col], ways[row + 1, col], ways[row, col - 1], ways[row, col + 1]]
    )
    lot = (jnp.arange(4, dtype=jnp.uint32) * jnp.uint32(0x9E3779B9) + word) >> 12
    best = jnp.argmin(after + lot.astype(jnp.float32) / 2**21)
    arrived = ways[row, col] == 0
    action = jnp.where(arrived, turning.STAY, best + turning.FORWARD)
    return action.astype(jnp.int32), arrived | (after.min() < FAR)


def stroll(
    blocked: Bool[Array, "rows cols"], home: tuple[int, int], word: UInt32[Array, ""]
) -> Int[Array, ""]:
    """Straight on, with a turn now and then and before whatever is in the way."""
    row, col = home
    turn = jnp.where(word >> 31 == 0, turning.TURN_LEFT, turning.TURN_RIGHT)
    turns = blocked[row - 1, col] | ((word & 0xF) == 0)
    return jnp.where(turns, turn, turning.FORWARD).astype(jnp.int32)
