"""What a player has seen of the whole map, and where it stands on it.

Whoever uses skills is given a map and a compass: its own cell and heading, from `env.poses`. All
else on the map it has seen in its own window.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Int16, UInt8

from sociarium.core.environment import Environment, View
from sociarium.core.facets import ground_plan
from sociarium.core.specs import PlaneSpec
from sociarium.mechanics import turning
from sociarium.mechanics.layout import no_inline
from sociarium.players.planning.sight import Sight

UNSEEN = 0  # the ground code of what was never seen
NEVER = -1  # the step at which that was
# Roles of what stays on a cell for a while.
LASTING = ("goods", "item", "station", "contents", "work", "hazard", "mark")
ROAMING = "hazard"  # the role of what is known only while it is in sight


class MapMemory(eqx.Module):
    """One player's map. `layers` are the planes of its view that tell what else lies on a cell."""

    known: UInt8[Array, "rows cols"]  # ground codes as last seen
    lying: UInt8[Array, "layers rows cols"]
    seen_at: Int[Array, "rows cols"]  # the step
    met: Int[Array, " seats"]  # the cell on which each other player was last seen
    met_at: Int[Array, " seats"]  # the step
    cell: Int[Array, ""]  # beyond the last one while out of play
    heading: Int[Array, ""]
    own: Int16[Array, " numbers"]  # private numbers
    had: Int16[Array, " numbers"]  # the same one look ago
    found: UInt8[Array, " ground_and_layers"]  # what was known of this cell before looking


class MapTracker:
    """Keeps the maps of one world's players; everything here is about a single player."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        self.board = ground_plan(env)
        self.shape, self.wraps, self.nowhere = self.board.shape, self.board.wraps, self.board.cells
        self.spec = env.view_spec
        if self.board.window == "fixed":
            rows, cols = self.shape
            size = {"rows": 2 * rows - 1, "cols": 2 * cols - 1}
            self.spec = replace(env.view_spec, ego_origin=(rows - 1, cols - 1), **size)
        self.sight = Sight(self.spec)
        self.layers = [n for n, plane in enumerate(self.spec.planes) if plane.role in LASTING]
        ground = PlaneSpec("ground", self.sight.tiles, "ground")
        self.planes = (ground, *(self.spec.planes[layer] for layer in self.layers))

    def unknown(self) -> MapMemory:
        """A map on which nothing has been seen yet."""
        layers, seats = len(self.layers), self.sight.seats - 1
        own = jnp.zeros(len(self.spec.own), jnp.int16)
        return MapMemory(
            known=jnp.full(self.shape, UNSEEN, jnp.uint8),
            lying=jnp.zeros((layers, *self.shape), jnp.uint8),
            seen_at=jnp.full(self.shape, NEVER, jnp.int32),
            met=jnp.full(seats, self.nowhere, jnp.int32),
            met_at=jnp.full(seats, NEVER, jnp.int32),
            cell=jnp.int32(self.nowhere),
            heading=jnp.int32(0),
            own=own,
            had=own,
            found=jnp.zeros(1 + layers, jnp.uint8),
        )

    def centred(self, view: View, cell: Int[Array, ""]) -> View:
        """The view with its player in the middle; a window that is not fixed is so already."""
        if self.board.window != "fixed":
            return view
        rows, cols = self.shape
        wide = jnp.pad(view.cells, ((0, 0), (rows - 1, rows - 1), (cols - 1, cols - 1)))
        size = (len(view.cells), self.spec.rows, self.spec.cols)
        cells = jax.lax.dynamic_slice(wide, (0, cell // cols, cell % cols), size)
        return eqx.tree_at(lambda view: view.cells, view, cells)

    def looked(
        self,
        memory: MapMemory,
        view: View,
        cell: Int[Array, ""],
        heading: Int[Array, ""],
        clock: Int[Array, ""],
    ) -> MapMemory:
        """The map after a look around from this cell, at this step."""
        view = self.centred(view, cell)
        ground = self.laid(self.sight.ground(view), cell, heading)
        seen = ground != UNSEEN
        lies = [self.laid(view.cells[layer], cell, heading) for layer in self.layers]
        lying = [
            jnp.where(seen, now, 0 if plane.role == ROAMING else before)
            for plane, now, before in zip(self.planes[1:], lies, memory.lying, strict=True)
        ]
        met, in_sight = self._met(view, cell, heading)
        pages = jnp.concatenate([memory.known[None], memory.lying]).reshape(len(self.planes), -1)
        return MapMemory(
            known=jnp.where(seen, ground, memory.known),
            lying=jnp.stack(lying) if lying else memory.lying,
            seen_at=jnp.where(seen, clock, memory.seen_at),
            met=jnp.where(in_sight, met, memory.met),
            met_at=jnp.where(in_sight, clock, memory.met_at),
            cell=cell,
            heading=heading,
            own=view.own,
            had=memory.own,
            found=pages.at[:, cell].get(mode="fill", fill_value=0),
        )

    def laid(
        self, plane: UInt8[Array, "window_rows window_cols"], cell: Any, heading: Any
    ) -> UInt8[Array, "rows cols"]:
        """A plane of the window on the map, at the right place and turn; 0 out of sight."""
        rows, cols = self.shape
        down = jnp.broadcast_to((jnp.arange(rows) - cell // cols)[:, None], self.shape)
        right = jnp.broadcast_to((jnp.arange(cols) - cell % cols)[None], self.shape)
        if self.wraps:
            down = (down + rows // 2) % rows - rows // 2
            right = (right + cols // 2) % cols - cols // 2
        turned = jnp.broadcast_to(self._turned(heading), self.shape)
        ahead, aside = turning.relative(down, right, turned)
        row, col = self.spec.ego_origin[0] - ahead, self.spec.ego_origin[1] + aside
        inside = (row >= 0) & (row < self.spec.rows) & (col >= 0) & (col < self.spec.cols)
        entry = jnp.where(inside & (cell < self.nowhere), row * self.spec.cols + col, plane.size)
        return no_inline(_read, plane.ravel(), entry)

    def _turned(self, heading: Int[Array, ""]) -> Int[Array, ""]:
        """Where the top of the window is."""
        return jnp.asarray(heading) if self.board.window == "turns" else jnp.int32(0)

    def here(self, memory: MapMemory) -> Bool[Array, "rows cols"]:
        """The player's own cell; none while it is out of play."""
        return self.spot(memory.cell)

    def spot(self, cell: Int[Array, ""]) -> Bool[Array, "rows cols"]:
        """One cell."""
        return jnp.arange(self.nowhere).reshape(self.shape) == cell

    def _met(
        self, view: View, cell: Int[Array, ""], heading: Int[Array, ""]
    ) -> tuple[Int[Array, " seats"], Bool[Array, " seats"]]:
        """The cells of all other players, and which of them are in sight."""
        if self.sight.seats == 1:
            return jnp.zeros(0, jnp.int32), jnp.zeros(0, bool)
        seat = jnp.where(self.sight.others(view), self.sight.seat(view), 0).ravel()
        who = jnp.arange(1, self.sight.seats, dtype=seat.dtype)[:, None] == seat[None]
        place = jnp.argmax(who, axis=1).astype(jnp.int32)
        ahead = self.spec.ego_origin[0] - place // self.spec.cols
        aside = place % self.spec.cols - self.spec.ego_origin[1]
        down, right = turning.ahead(self._turned(heading))
        row = cell // self.shape[1] + ahead * down + aside * right
        col = cell % self.shape[1] + ahead * right - aside * down
        if self.wraps:
            row, col = row % self.shape[0], col % self.shape[1]
        return row * self.shape[1] + col, who.any(1)


def _read(
    plane: UInt8[Array, " size"], entry: Int[Array, "rows cols"]
) -> UInt8[Array, "rows cols"]:
    return plane.at[entry].get(mode="fill", fill_value=0)
