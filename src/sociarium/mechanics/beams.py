"""Beams: short footprints ahead of a player that stop at walls and pass through players."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from sociarium.mechanics import turning
from sociarium.mechanics.layout import FEW, lanes_last
from sociarium.mechanics.terrain import BEAM_LENGTH, BEAM_WIDTH, Terrain


def footprint(length: int, half_width: int) -> Bool[np.ndarray, "5 3"]:
    """The cells a beam covers where no wall is near: [ahead - 1, side + 1]."""
    mask = np.zeros((BEAM_LENGTH, BEAM_WIDTH), bool)
    mask[:length, 1 - half_width : 2 + half_width] = True
    return mask


SMALL = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]], bool)  # SocialJax's beam


def lit(
    terrain: Terrain,
    mask: Bool[Array, "5 3"],
    fires: Bool[Array, " players"],
    body: Int[Array, " players"],
    heading: Int[Array, " players"],
) -> Int[Array, " players"]:
    """The cells each player's beam lights, as bits of `Terrain.reach`; 0 for who does not fire."""
    weights = 1 << np.arange(BEAM_LENGTH * BEAM_WIDTH)
    wanted = jnp.sum(mask.ravel() * jnp.asarray(weights), dtype=jnp.int32)
    pose = body * 4 + heading
    reach = jnp.asarray(terrain.reach).at[pose].get(mode="promise_in_bounds").astype(jnp.int32)
    return jnp.where(fires, reach & wanted, 0)


def struck(
    terrain: Terrain,
    light: Int[Array, " players"],
    origin: Int[Array, " players"],
    heading: Int[Array, " players"],
    body: Int[Array, " players"],
) -> Int[Array, " players"]:
    """By whom each player is hit (the lowest seat, where by several), or -1."""
    if len(body) <= FEW:
        rows, cols = terrain.place(body)
        from_rows, from_cols = terrain.place(origin)
        return _struck_few(light, from_rows, from_cols, heading, rows, cols)
    players = len(body)
    shooter = jnp.broadcast_to(
        jnp.arange(players, dtype=jnp.int32)[:, None], (players, BEAM_LENGTH * BEAM_WIDTH)
    )
    claimed = jnp.full(terrain.cells + 1, players, jnp.int32)
    claimed = claimed.at[covered(terrain, light, origin, heading)].min(shooter, mode="drop")
    by = claimed[body]
    return jnp.where((by == players) | (body == terrain.nowhere), -1, by)


@lanes_last
def _struck_few(
    light: Int[Array, "players *lanes"],
    from_rows: Int[Array, "players *lanes"],
    from_cols: Int[Array, "players *lanes"],
    heading: Int[Array, "players *lanes"],
    rows: Int[Array, "players *lanes"],
    cols: Int[Array, "players *lanes"],
) -> Int[Array, "players *lanes"]:
    """Axis 0 is the shooter, axis 1 the target; nowhere is beyond the edge, where no beam goes."""
    players = len(rows)
    far, side = turning.relative(
        rows[None] - from_rows[:, None],
        cols[None] - from_cols[:, None],
        jnp.broadcast_to(heading[:, None], (players, players, *rows.shape[1:])),
    )
    inside = (far >= 1) & (far <= BEAM_LENGTH) & (abs(side) <= 1)
    bit = jnp.where(inside, (far - 1) * BEAM_WIDTH + side + 1, 31)
    hit = (light[:, None] >> bit) & 1 == 1
    shooter = jnp.arange(players, dtype=jnp.int32).reshape(players, *[1] * rows.ndim)
    by = jnp.min(jnp.where(hit, shooter, players), axis=0)
    return jnp.where(by == players, -1, by)


def covered(
    terrain: Terrain,
    light: Int[Array, " players"],
    origin: Int[Array, " players"],
    heading: Int[Array, " players"],
) -> Int[Array, "players 15"]:
    """The cells behind the bits of `lit`; a bit that is not set gives a cell beyond nowhere."""
    down, right = turning.ahead(heading)
    ahead, aside = down * terrain.cols + right, right * terrain.cols - down
    bit = jnp.arange(BEAM_LENGTH * BEAM_WIDTH, dtype=jnp.int32)[None]
    cell = origin[:, None] + (bit // 3 + 1) * ahead[:, None] + (bit % 3 - 1) * aside[:, None]
    return jnp.where((light[:, None] >> bit) & 1 == 1, cell, terrain.cells + 1)


def cooled(
    cooldown: Int[Array, " players"], fires: Bool[Array, " players"], wait: Int[Array, ""]
) -> Int[Array, " players"]:
    """Steps until the beam may be fired again: `wait` full steps after each shot."""
    return jnp.where(fires, wait, jnp.maximum(cooldown - 1, 0))
