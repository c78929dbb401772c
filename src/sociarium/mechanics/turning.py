"""Headings and the seven actions every body on a grid has."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from sociarium.core.actions import DO_NOTHING, STAY, ActionSpec

NORTH, EAST, SOUTH, WEST = range(4)

MOVES = (
    DO_NOTHING,
    ActionSpec("forward", "move", direction="ahead", sentence="step one cell ahead"),
    ActionSpec("back", "move", direction="behind", sentence="step back without turning"),
    ActionSpec("step left", "move", direction="left", sentence="step left without turning"),
    ActionSpec("step right", "move", direction="right", sentence="step right without turning"),
    ActionSpec("turn left", "turn", direction="left", sentence="turn left on the spot"),
    ActionSpec("turn right", "turn", direction="right", sentence="turn right on the spot"),
)
FORWARD, BACK, STEP_LEFT, STEP_RIGHT, TURN_LEFT, TURN_RIGHT = range(STAY + 1, len(MOVES))


def turned(
    heading: Int[Array, " players"], actions: Int[Array, " players"]
) -> Int[Array, " players"]:
    """Headings after turning; other actions leave them."""
    return (heading + (actions == TURN_RIGHT) - (actions == TURN_LEFT)) & 3


def course(
    heading: Int[Array, " players"], actions: Int[Array, " players"]
) -> tuple[Bool[Array, " players"], Int[Array, " players"]]:
    """Who wants to step, and toward which heading of the map."""
    walks = (actions >= FORWARD) & (actions <= STEP_RIGHT)
    sideways = (actions == STEP_RIGHT) * 1 + (actions == BACK) * 2 + (actions == STEP_LEFT) * 3
    return walks, (heading + sideways) & 3


def ahead(heading: Int[Array, "*shape"]) -> tuple[Int[Array, "*shape"], Int[Array, "*shape"]]:
    """The step one cell ahead, as (rows, columns)."""
    return (heading == SOUTH) * 1 - (heading == NORTH), (heading == EAST) * 1 - (heading == WEST)


def relative(
    rows: Int[Array, "*shape"], cols: Int[Array, "*shape"], heading: Int[Array, "*shape"]
) -> tuple[Int[Array, "*shape"], Int[Array, "*shape"]]:
    """A displacement as (cells ahead, cells to the right) of somebody with this heading."""
    down, right = ahead(heading)
    return rows * down + cols * right, cols * -down + rows * right


def around(gap: Int[Array, "*shape"], extent: int) -> Int[Array, "*shape"]:
    """The shorter way round, along rows or columns of a map that goes on at the opposite side."""
    return (gap + extent // 2) % extent - extent // 2


def legal(
    present: Bool[Array, " players"], *ready: Bool[Array, " players"]
) -> Bool[Array, "players actions"]:
    """Everybody may stay; whoever is in play may move, and do each further thing if ready."""
    moves = [jnp.ones_like(present)] + [present] * (len(MOVES) - 1)
    return jnp.stack([*moves, *(present & able for able in ready)], axis=1)
