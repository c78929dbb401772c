"""What a player sees: an egocentric window cut from a grid of packed codes.

A cell's code is a word: four bits of ground, two of light, and ten for who stands there (heading
and seat). In 32-bit codes the upper half is the world's own. The window is cut once, as words, and
split into planes afterwards.
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, SupportsInt

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Int, UInt, UInt8, UInt32

from sociarium.core.scene import Body, Scene
from sociarium.core.specs import (
    MOST_SEATS_NAMED,
    OCCUPANTS,
    OwnSpec,
    PlaneSpec,
    ViewSpec,
    seat_codes,
)
from sociarium.mechanics import beams
from sociarium.mechanics.layout import no_inline
from sociarium.mechanics.terrain import STEPS, Terrain

LIGHT, HEADING, SEAT, EXTRA = 4, 6, 8, 16  # where each part starts in a code
TABLE_CELLS = 4096  # maps up to this size look their windows up in a table


class Window:
    """A window of `ahead + 1 + behind` rows and `2 * side + 1` columns, heading up.

    `order` lists all cells in the order in which the caller keeps its grid. Three more entries
    follow them: what lies outside the map, what a player out of play sees, and scrap, where things
    that are nowhere leave their mark and nobody looks.
    """

    def __init__(
        self,
        terrain: Terrain,
        order: Int[np.ndarray, " cells"] | None = None,
        ahead: int = 9,
        behind: int = 1,
        side: int = 5,
        wraps: bool = False,
    ) -> None:
        """With `wraps` the map has no edge: it goes on at the opposite side."""
        self.terrain = terrain
        self.wraps = wraps
        self.ahead, self.side = ahead, side
        self.rows, self.cols = ahead + 1 + behind, 2 * side + 1
        self.size = self.rows * self.cols
        self.ego_origin = (ahead, side)
        self.outside, self.void, self.scrap = (terrain.cells + extra for extra in range(3))
        self.entries = terrain.cells + 3
        self.plain = order is None and not self.tabled
        order = np.arange(terrain.cells) if order is None else order
        self.entry = np.full(terrain.cells + 2, self.scrap, np.int32)
        self.entry[order] = np.arange(terrain.cells)

    @property
    def tabled(self) -> bool:
        """Whether windows are looked up in a table."""
        return self.terrain.cells <= TABLE_CELLS

    def beyond(self, outside: int) -> UInt8[np.ndarray, "3"]:
        """The ground of the last three entries, given that of the outside."""
        return np.array([outside, 0, 0], np.uint8)

    def code(
        self,
        ground: UInt[Array, " entries"],
        body: Int[Array, " players"],
        heading: Int[Array, " players"],
        light: UInt8[Array, " entries"] | None = None,
        marks: UInt32[Array, " players"] | None = None,
    ) -> UInt[Array, " entries"]:
        """The grid of codes: what lies, shines and stands on every cell.

        Without `marks` of players their seats are in order.
        """
        word = jnp.uint32 if ground.dtype == jnp.uint32 else jnp.uint16
        if marks is None:
            marks = self.marks(jnp.arange(len(body)), len(body))
        person = heading.astype(word) << HEADING | marks.astype(word) << SEAT
        codes = jnp.zeros(self.entries, word)
        codes = codes.at[self.at(body)].set(person, mode="promise_in_bounds")
        codes = codes | ground.astype(word)
        if light is not None:
            codes = codes | light.astype(word) << LIGHT
        return codes

    def marks(self, seats: Int[Array, " some"], players: int) -> UInt32[Array, " some"]:
        """What stands for these of all players: indices of `core.specs.seat_codes`."""
        named = players <= MOST_SEATS_NAMED
        return (seats + 1 if named else jnp.ones_like(seats)).astype(jnp.uint32)

    def at(self, cell: Int[Array, "*shape"]) -> Int[Array, "*shape"]:
        """The entries of cells in the caller's grid."""
        if self.plain:
            return jnp.where(cell < self.terrain.cells, cell, self.scrap)
        return jnp.asarray(self.entry).at[cell].get(mode="promise_in_bounds")

    def dark(self) -> UInt8[Array, " entries"]:
        """A grid without light."""
        return jnp.zeros(self.entries, jnp.uint8)

    def shine(
        self,
        light: Int[Array, " players"],
        pose: Int[Array, " players"],
        code: UInt8[Array, " players"] | None = None,
    ) -> UInt8[Array, " entries"]:
        """A grid with each player's code on the cells its beam lights; the highest is seen.

        Without codes each beam is 1.
        """
        if self.tabled:
            start = jnp.zeros(pose.shape, jnp.uint32)
            table = jnp.asarray(self._beam_table)
            beam = light, pose.astype(jnp.uint32), start
            if code is None:
                return _paint(self.dark(), *beam, table)
            return _paint_brightest(self.dark(), *beam, code, table)
        entries = self.at(beams.covered(self.terrain, light, pose >> 2, pose & 3))
        if code is None:
            return self.dark().at[entries].set(1, mode="promise_in_bounds")
        codes = jnp.broadcast_to(code[:, None], entries.shape)
        return self.dark().at[entries].max(codes, mode="promise_in_bounds")

    @cached_property
    def _beam_table(self) -> Int[np.ndarray, "15 poses"]:
        """The entry behind each bit of a beam, for every pose; scrap where it cannot reach."""
        terrain = self.terrain
        pose = np.arange(terrain.cells * 4)
        with jax.ensure_compile_time_eval():
            light = jnp.asarray(terrain.beam_reach[:-4], jnp.int32)
            covered = jax.jit(partial(beams.covered, terrain))
            cells = covered(light, jnp.asarray(pose >> 2), jnp.asarray(pose & 3))
        table = self.entry[np.asarray(cells)].astype(np.int16).T
        return np.append(table, np.full((len(table), 4), self.scrap, np.int16), axis=1)

    def cut(
        self,
        codes: UInt[Array, " entries"],
        body: Int[Array, " players"],
        heading: Int[Array, " players"],
    ) -> UInt[Array, "players size"]:
        """Each player's window, row by row; a player who is nowhere sees only void."""
        if self.tabled:
            pose = (body * 4 + heading).astype(jnp.uint32)
            return _cut(codes, jnp.zeros_like(pose), pose, jnp.asarray(self._table))
        margin, stride = self._margin, self.terrain.cols + 2 * self._margin
        spread = self.spread(codes)
        row, col = self.terrain.place(body)
        base = ((row + margin) * stride + col + margin).astype(jnp.uint32)
        base = jnp.where(body == self.terrain.nowhere, margin * stride + margin, base)
        seen = _cut(spread, base, heading.astype(jnp.uint32), jnp.asarray(self._offsets))
        return jnp.where(body[:, None] == self.terrain.nowhere, codes[self.void], seen)

    def spread(self, codes: UInt[Array, " entries"]) -> UInt[Array, " spread"]:
        """The codes of the map with a margin around it."""
        if self.plain and self.wraps:
            grid = codes[: self.terrain.cells].reshape(self.terrain.rows, self.terrain.cols)
            return no_inline(self._widened, self.heightened(grid))
        return no_inline(_spread, codes, jnp.asarray(self._spread_entries))

    def heightened(self, grid: UInt[Array, "rows cols"]) -> UInt[Array, "spread_rows cols"]:
        """The grid of a map that wraps around with a margin above and below."""
        return jnp.concatenate([grid[-self._margin :], grid, grid[: self._margin]])

    @cached_property
    def _widened(self) -> Callable[[UInt[Array, "spread_rows cols"]], UInt[Array, " spread"]]:
        return partial(_widen, self._margin)

    @property
    def _margin(self) -> int:
        return max(self.ahead, self.side, self.rows - 1 - self.ahead)

    @cached_property
    def _spread_entries(self) -> Int[np.ndarray, " spread"]:
        """The entry behind each cell of the map with a margin of outside around it."""
        terrain = self.terrain
        cells = self.entry[: terrain.cells].reshape(terrain.rows, terrain.cols)
        if self.wraps:
            return np.pad(cells, self._margin, mode="wrap").ravel()
        return np.pad(cells, self._margin, constant_values=self.outside).ravel()

    @cached_property
    def _offsets(self) -> Int[np.ndarray, "4 size"]:
        """How far each window cell lies from its player on the map with its margin, by heading."""
        stride = self.terrain.cols + 2 * self._margin
        far, aside = self._reach
        return np.stack(
            [
                (far * down + aside * right) * stride + far * right - aside * down
                for down, right in STEPS
            ]
        ).astype(np.int32)

    @property
    def _reach(self) -> tuple[Int[np.ndarray, " size"], Int[np.ndarray, " size"]]:
        """How far ahead and to the right each window cell lies."""
        far = np.repeat(self.ahead - np.arange(self.rows), self.cols)
        return far, np.tile(np.arange(self.cols) - self.side, self.rows)

    @cached_property
    def _table(self) -> Int[np.ndarray, "poses size"]:
        """The entry behind each window cell, for every pose."""
        terrain = self.terrain
        row, col = np.divmod(np.arange(terrain.cells), terrain.cols)
        far, aside = self._reach
        table = np.full((terrain.cells + 1, 4, self.size), self.void, np.int16)
        for heading, (down, right) in enumerate(STEPS):
            rows = row[:, None] + far * down + aside * right
            cols = col[:, None] + far * right - aside * down
            if self.wraps:
                rows, cols = rows % terrain.rows, cols % terrain.cols
            inside = (rows >= 0) & (rows < terrain.rows) & (cols >= 0) & (cols < terrain.cols)
            cell = np.where(inside, rows * terrain.cols + cols, 0)
            table[:-1, heading] = np.where(inside, self.entry[cell], self.outside)
        return table.reshape(-1, self.size)

    def ground(self, codes: UInt[Array, "players size"]) -> UInt[Array, "players size"]:
        """What lies on each cell."""
        return codes & 0xF

    def light(self, codes: UInt[Array, "players size"]) -> UInt[Array, "players size"]:
        """What shines on each cell."""
        return (codes >> LIGHT) & 0x3

    def seat(self, codes: UInt[Array, "players size"]) -> UInt[Array, "players size"]:
        """Who stands there, as an index of `core.specs.seat_codes`."""
        return (codes >> SEAT) & 0xFF

    def occupant(
        self, codes: UInt[Array, "players size"], heading: Int[Array, " players"]
    ) -> UInt[Array, "players size"]:
        """Nobody, myself, or another by relative heading: an index of `core.specs.OCCUPANTS`."""
        theirs = codes >> HEADING
        other = ((theirs - heading.astype(codes.dtype)[:, None]) & 3) + 2
        ego_origin = np.arange(self.size) == self.ego_origin[0] * self.cols + self.ego_origin[1]
        someone = jnp.where(jnp.asarray(ego_origin)[None], jnp.ones((), codes.dtype), other)
        return jnp.where(self.seat(codes) > 0, someone, 0)

    def look(
        self,
        codes: UInt[Array, " entries"],
        body: Int[Array, " players"],
        heading: Int[Array, " players"],
        lights: bool = True,
    ) -> UInt8[Array, "players planes rows cols"]:
        """The planes of `spec`: ground, occupant, seat and, where there are lights, beam."""
        seen = self.cut(codes, body, heading)
        planes = self.ground(seen), self.occupant(seen, heading), self.seat(seen)
        return self.stack(*planes, *([self.light(seen)] if lights else []))

    def spec(
        self,
        tiles: tuple[str, ...],
        players: int,
        lights: tuple[str, ...] = (),
        own: tuple[OwnSpec, ...] = (),
        solid: tuple[str, ...] = (),
    ) -> ViewSpec:
        """The view spec of worlds that show what `look` returns."""
        planes = (
            PlaneSpec("ground", tiles, "ground", solid),
            PlaneSpec("occupant", OCCUPANTS, "occupant"),
            PlaneSpec("seat", seat_codes(players), "seat"),
        )
        if lights:
            planes = (*planes, PlaneSpec("beam", ("none", *lights), "light"))
        return ViewSpec(planes, self.rows, self.cols, self.ego_origin, own)

    def overview(
        self,
        codes: UInt[Array | np.ndarray, " entries"],
        body: Int[Array | np.ndarray, " players"],
        heading: Int[Array | np.ndarray, " players"],
        *,
        tiles: tuple[str, ...],
        lights: tuple[str, ...] = (),
        clock: SupportsInt,
        horizon: SupportsInt,
        region: np.ndarray | None = None,
    ) -> Scene:
        """The whole map behind the codes, north up."""
        terrain = self.terrain
        grid = np.asarray(codes)[self.entry[: terrain.cells]].reshape(terrain.rows, terrain.cols)
        return Scene(
            ground=(grid & 0xF).astype(np.uint8),
            tiles=tiles,
            bodies=tuple(
                Body(seat, *divmod(int(cell), terrain.cols), int(facing))
                for seat, (cell, facing) in enumerate(
                    zip(np.asarray(body), np.asarray(heading), strict=True)
                )
                if cell != terrain.nowhere
            ),
            lit=((grid >> LIGHT) & 0x3).astype(np.uint8),
            lights=("none", *lights),
            clock=int(clock),
            horizon=int(horizon),
            players=len(body),
            region=region,
        )

    def stack(
        self, *planes: UInt[Array, "players size"]
    ) -> UInt8[Array, "players planes rows cols"]:
        """The planes of a view."""
        bytes_ = jnp.stack([plane.astype(jnp.uint8) for plane in planes], axis=1)
        return bytes_.reshape(*bytes_.shape[:2], self.rows, self.cols)


@custom_vmap
def _cut(
    codes: UInt[Array, " entries"],
    base: UInt32[Array, " players"],
    pose: UInt32[Array, " players"],
    table: Int[Array, "poses size"],
) -> UInt[Array, "players size"]:
    return no_inline(_look_up, codes, base, pose, table)


@_cut.def_vmap
def _(size: int, batched: list[bool], *arrays: Any) -> tuple[jax.Array, bool]:
    """Lays all lanes' grids end to end, so that one flat look-up serves them all."""
    *parts, table = arrays
    table = table[0] if batched[-1] else table  # a constant of the map, the same in every lane
    codes, base, pose = (
        part if is_batched else jnp.broadcast_to(part, (size, *part.shape))
        for part, is_batched in zip(parts, batched, strict=False)
    )
    start = jnp.arange(size, dtype=jnp.uint32)[:, None] * codes.shape[1]
    flat = _cut(codes.ravel(), (base + start).ravel(), pose.ravel(), table)
    return flat.reshape(*pose.shape, -1), True


def _spread(
    codes: UInt[Array, " entries"], entries: Int[Array, " spread"]
) -> UInt[Array, " spread"]:
    return codes.at[entries].get(mode="promise_in_bounds")


def _widen(margin: int, grid: UInt[Array, "spread_rows cols"]) -> UInt[Array, " spread"]:
    return jnp.concatenate([grid[:, -margin:], grid, grid[:, :margin]], 1).ravel()


def _look_up(
    codes: UInt[Array, " entries"],
    base: UInt32[Array, " players"],
    pose: UInt32[Array, " players"],
    table: Int[Array, "poses size"],
) -> UInt[Array, "players size"]:
    entries = table.at[pose].get(mode="promise_in_bounds").astype(jnp.uint32)
    return codes.at[base[:, None] + entries].get(mode="promise_in_bounds")


@custom_vmap
def _paint(
    grid: UInt8[Array, " entries"],
    light: Int[Array, "players *lanes"],
    pose: UInt32[Array, "players *lanes"],
    start: UInt32[Array, "players *lanes"],
    table: Int[Array, "15 poses"],
) -> UInt8[Array, " entries"]:
    """Writes 1 where beams shine; `start` is where each player's own grid begins."""
    where = no_inline(_lit_entries, light, pose, start, table)
    return grid.at[where.ravel()].set(1, mode="promise_in_bounds")


@custom_vmap
def _paint_brightest(
    grid: UInt8[Array, " entries"],
    light: Int[Array, "players *lanes"],
    pose: UInt32[Array, "players *lanes"],
    start: UInt32[Array, "players *lanes"],
    code: UInt8[Array, "players *lanes"],
    table: Int[Array, "15 poses"],
) -> UInt8[Array, " entries"]:
    """Writes the highest `code` where beams shine; `start` is as in `_paint`."""
    where, codes = no_inline(_lit_codes, light, pose, start, code, table)
    return grid.at[where.ravel()].max(codes.ravel(), mode="promise_in_bounds")


def _lit_entries(
    light: Int[Array, "players *lanes"],
    pose: UInt32[Array, "players *lanes"],
    start: UInt32[Array, "players *lanes"],
    table: Int[Array, "15 poses"],
) -> Int[Array, "15 players *lanes"]:
    bits, poses = table.shape
    scrap = table[0, -1].astype(jnp.uint32)
    bit = jnp.arange(bits, dtype=jnp.uint32).reshape(bits, *[1] * pose.ndim)
    entry = table.ravel().at[bit * poses + pose[None]].get(mode="promise_in_bounds")
    lit = (light[None] >> bit.astype(jnp.int32)) & 1 == 1
    where = start[None] + jnp.where(lit, entry.astype(jnp.uint32), scrap)
    return where.astype(jnp.int32)


def _lit_codes(
    light: Int[Array, "players *lanes"],
    pose: UInt32[Array, "players *lanes"],
    start: UInt32[Array, "players *lanes"],
    code: UInt8[Array, "players *lanes"],
    table: Int[Array, "15 poses"],
) -> tuple[Int[Array, "15 players *lanes"], UInt8[Array, "15 players *lanes"]]:
    where = _lit_entries(light, pose, start, table)
    return where, jnp.broadcast_to(code[None], where.shape)


def _over_lanes(paint: Callable[..., Any]) -> Callable[..., tuple[jax.Array, bool]]:
    """Lays all lanes' grids end to end and puts the lane axis of the players last."""

    def rule(size: int, batched: list[bool], *arrays: Any) -> tuple[jax.Array, bool]:
        *parts, table = arrays
        table = table[0] if batched[-1] else table  # a constant of the map, the same in every lane
        grid, *beams = (
            part if is_batched else jnp.broadcast_to(part, (size, *part.shape))
            for part, is_batched in zip(parts, batched, strict=False)
        )
        light, pose, start, *code = (jnp.moveaxis(part, 0, -1) for part in beams)
        own = jnp.arange(size, dtype=jnp.uint32) * grid.shape[1]
        start = start + own.reshape(*[1] * (start.ndim - 1), size)
        return paint(grid.ravel(), light, pose, start, *code, table).reshape(grid.shape), True

    return rule


_paint.def_vmap(_over_lanes(_paint))
_paint_brightest.def_vmap(_over_lanes(_paint_brightest))
