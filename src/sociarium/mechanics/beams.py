"""Beams: short footprints ahead of a player that stop at walls and pass through players.

Where walls stop them is worked out once for every pose of a map: `Terrain.beam_reach`.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from sociarium.core.actions import ActionSpec
from sociarium.core.events import Events, event
from sociarium.core.specs import EventSpec
from sociarium.mechanics import turning
from sociarium.mechanics.layout import FEW, lanes_last
from sociarium.mechanics.terrain import BEAM_LENGTH, BEAM_WIDTH, Terrain


def footprint(length: int, half_width: int) -> Bool[np.ndarray, "5 3"]:
    """The cells a beam covers where no wall is near: [ahead - 1, side + 1]."""
    mask = np.zeros((BEAM_LENGTH, BEAM_WIDTH), bool)
    mask[:length, 1 - half_width : 2 + half_width] = True
    return mask


SMALL = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]], bool)  # SocialJax's beam


ZAP = ActionSpec("zap", "zap", sentence="fire your zap beam at whoever stands ahead")
ZAPPING = (
    EventSpec(
        "fired",
        "{actor} fired the zap beam",
        causes=("zap",),
        role="attack",
        does=("fires the zap beam",),
    ),
    EventSpec(
        "zapped",
        "{actor} zapped {target}",
        "target",
        causes=("zap",),
        role="harm",
        does=("zaps somebody",),
    ),
    EventSpec("returned", "{actor} came back", does=("comes back",)),
)


def zapping(
    fires: Bool[Array, " players"],
    zapped_by: Int[Array, " players"],
    body: Int[Array, " players"],
    back: Bool[Array, " players"],
    landed: Int[Array, " players"],
) -> Events:
    """The events of `ZAPPING`: who fired, who was hit by whom, and who came back where."""
    return {
        "fired": event(fires, cell=body),
        "zapped": event(zapped_by >= 0, other=zapped_by, cell=body),
        "returned": event(back, cell=landed),
    }


def lit(
    terrain: Terrain,
    mask: Bool[Array, "5 3"],
    fires: Bool[Array, " players"],
    body: Int[Array, " players"],
    heading: Int[Array, " players"],
) -> Int[Array, " players"]:
    """The cells that beams light, as bits of `Terrain.beam_reach`; 0 for who does not fire."""
    weights = 1 << np.arange(BEAM_LENGTH * BEAM_WIDTH)
    wanted = jnp.sum(mask.ravel() * jnp.asarray(weights), dtype=jnp.int32)
    pose = body * 4 + heading
    reach = jnp.asarray(terrain.beam_reach).at[pose].get(mode="promise_in_bounds").astype(jnp.int32)
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
    """Axis 0 is the shooter, axis 1 the target."""
    players = len(rows)
    hit, _, _ = _in_beam(light, from_rows, from_cols, heading, rows, cols)
    shooter = jnp.arange(players, dtype=jnp.int32).reshape(players, *[1] * rows.ndim)
    by = jnp.min(jnp.where(hit, shooter, players), axis=0)
    return jnp.where(by == players, -1, by)


def aimed(
    terrain: Terrain,
    light: Int[Array, " players"],
    origin: Int[Array, " players"],
    heading: Int[Array, " players"],
    body: Int[Array, " players"],
) -> Int[Array, " players"]:
    """The first player in each beam, or how many players there are.

    Nearer rows come first; in a row the middle, then the left, then the right.
    """
    if len(body) <= FEW:
        rows, cols = terrain.place(body)
        from_rows, from_cols = terrain.place(origin)
        return _aimed_few(light, from_rows, from_cols, heading, rows, cols)
    players = len(body)
    standing = jnp.full(terrain.cells + 2, players, jnp.int32)
    standing = standing.at[body].set(jnp.arange(players, dtype=jnp.int32))
    standing = standing.at[terrain.nowhere].set(players)
    met = standing[covered(terrain, light, origin, heading)]
    order = np.arange(BEAM_LENGTH * BEAM_WIDTH).reshape(BEAM_LENGTH, BEAM_WIDTH)[:, [1, 0, 2]]
    met = met[:, order.ravel()]
    first = jnp.argmax(met < players, axis=1)
    return jnp.take_along_axis(met, first[:, None], axis=1)[:, 0]


@lanes_last
def _aimed_few(
    light: Int[Array, "players *lanes"],
    from_rows: Int[Array, "players *lanes"],
    from_cols: Int[Array, "players *lanes"],
    heading: Int[Array, "players *lanes"],
    rows: Int[Array, "players *lanes"],
    cols: Int[Array, "players *lanes"],
) -> Int[Array, "players *lanes"]:
    """Axis 0 is the shooter, axis 1 the target; packs how far and who into one number."""
    players = len(rows)
    hit, far, side = _in_beam(light, from_rows, from_cols, heading, rows, cols)
    target = jnp.arange(players, dtype=jnp.int32).reshape(1, players, *[1] * (rows.ndim - 1))
    rank = far * 4 + (side != 0) + (side > 0)
    nearest = jnp.min(jnp.where(hit, rank * 64 + target, 64 * 64 + players), axis=1)
    return nearest & 63


def _in_beam(
    light: Int[Array, "players *lanes"],
    from_rows: Int[Array, "players *lanes"],
    from_cols: Int[Array, "players *lanes"],
    heading: Int[Array, "players *lanes"],
    rows: Int[Array, "players *lanes"],
    cols: Int[Array, "players *lanes"],
) -> tuple[
    Bool[Array, "players players *lanes"],
    Int[Array, "players players *lanes"],
    Int[Array, "players players *lanes"],
]:
    """Whether each shooter's beam (axis 0) lights each target (axis 1), how far and how aside.

    Nowhere is beyond the edge, where no beam goes.
    """
    players = len(rows)
    far, side = turning.relative(
        rows[None] - from_rows[:, None],
        cols[None] - from_cols[:, None],
        jnp.broadcast_to(heading[:, None], (players, players, *rows.shape[1:])),
    )
    inside = (far >= 1) & (far <= BEAM_LENGTH) & (abs(side) <= 1)
    bit = jnp.where(inside, (far - 1) * BEAM_WIDTH + side + 1, 31)
    return (light[:, None] >> bit) & 1 == 1, far, side


def straight(length: Int[Array, ""]) -> Bool[Array, "5 3"]:
    """The footprint of a beam one cell wide."""
    ahead = jnp.arange(BEAM_LENGTH)[:, None] < length
    return ahead & jnp.asarray([[False, True, False]])


def stopped_by_solids(
    light: Int[Array, " players"], solid: Bool[Array, "players 5"]
) -> tuple[Int[Array, " players"], Int[Array, " players"]]:
    """Straight beams that end at the first solid cell ahead: what they light, and how far it is.

    The distance is 0 where a beam meets nothing solid.
    """
    meets = jnp.zeros_like(light)
    for far in range(BEAM_LENGTH, 0, -1):
        shines = (light >> ((far - 1) * BEAM_WIDTH + 1)) & 1 == 1
        meets = jnp.where(solid[:, far - 1] & shines, far, meets)
    kept = jnp.where(meets > 0, (1 << (meets * BEAM_WIDTH)) - 1, -1)
    return light & kept, meets


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
