"""What worlds on a grid have in common: land, windows, pictures and what may be done."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt, UInt8

from sociarium.core.environment import Environment, Params, State, View, compiled, frame
from sociarium.core.facets import Bench, Board, Cooperation
from sociarium.core.scene import Scene
from sociarium.core.specs import OwnSpec
from sociarium.mechanics import beams, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.terrain import Terrain
from sociarium.mechanics.windows import Window

WALL = "#"  # the glyph of walls on every map
LONG = 32767  # the most a private number can show


def timer(name: str) -> OwnSpec:
    """The spec of a private number that counts steps."""
    return OwnSpec(name, 0, LONG)


class GridWorld(Environment[State, Params]):
    """A world whose players walk on cells and see a window of them.

    `tiles` names the codes of the ground and `lights` those of the beams. A state has `clock`,
    `body` and `heading`; params have `horizon`.
    """

    tiles: tuple[str, ...]
    lights: tuple[str, ...] = ()
    own: tuple[OwnSpec, ...] = ()
    region: np.ndarray | None = None

    def build_from_map(
        self,
        drawing: Drawing,
        players: int,
        changing: Int[np.ndarray, " places"],
        floor: Mapping[str, int],
        other: int,
    ) -> None:
        """Takes the land from a drawing.

        The ground of `changing` cells comes first in a grid of codes, the other cells follow with
        the ground their glyph has in `floor`, or `other`; walls lie beyond the edge.
        """
        self.players = players
        self.glyphs = drawing.glyphs
        self.terrain = Terrain(drawing.mask(WALL))
        rest = np.setdiff1d(np.arange(self.terrain.cells), changing)
        self.window = Window(self.terrain, order=np.concatenate([changing, rest]))
        glyphs = drawing.glyphs.ravel()[rest]
        ground = np.select([glyphs == glyph for glyph in floor], list(floor.values()), other)
        self.floor = np.append(ground, self.window.beyond(floor[WALL])).astype(np.uint8)
        self.view_spec = self.window.spec(
            self.tiles,
            players,
            self.lights,
            self.own,
            solid=(self.tiles[0], self.tiles[floor[WALL]]),
        )

    def declare(self, cooperation: Cooperation, draws: int) -> None:
        """Declares the facets: the board, what cooperating means, and draws of the bare engine."""
        regions: dict[str, tuple[int, ...]] = {}
        if self.region is not None:
            for number in range(int(self.region.max(initial=-1)) + 1):
                cells = np.flatnonzero(self.region == number)
                regions[f"patch {number}"] = tuple(cells.tolist())
        shape = (self.terrain.rows, self.terrain.cols)
        board = Board(shape, lambda state: (state.body, state.heading), regions=regions)
        self.facets = (board, cooperation, Bench(draws))

    @abstractmethod
    def codes(self, state: State, params: Params) -> UInt[Array, " entries"]:
        """What lies, shines and stands on every cell."""

    @abstractmethod
    def private(self, state: State) -> tuple[Int[Array, " players"], ...]:
        """Each player's own numbers, in the order of `own`."""

    def bags(self, state: State) -> dict[str, Int[Any, " players"]]:
        """The units of every kind that each player holds, where players hold any."""
        return {}

    def present(self, state: Any) -> Bool[Array, " players"]:
        """Who is in play."""
        return state.body != self.terrain.nowhere

    def glow(
        self, fired: Int[Array, " players"], footprint: Bool[Array, "5 3"]
    ) -> UInt8[Array, " entries"]:
        """A grid lit by the beams of the last step; `fired` holds their poses, -1 for none."""
        pose, fires = jnp.maximum(fired, 0), fired >= 0
        light = beams.lit(self.terrain, footprint, fires, pose >> 2, pose & 3)
        return self.window.shine(light, pose)

    def observe(self, state: Any, params: Any) -> View:
        """Window and private numbers."""
        codes = self.codes(state, params)
        numbers = self.private(state)
        nothing = jnp.zeros((self.players, 0), jnp.int16)
        return View(
            cells=self.window.look(codes, state.body, state.heading, lights=bool(self.lights)),
            own=jnp.stack(numbers, axis=1).astype(jnp.int16) if numbers else nothing,
        )

    def scene(self, state: Any, params: Any, player: int | None = None) -> Scene:
        """The whole map, or exactly the cells in one player's view."""
        return frame(self, self.draw_map(state, params), state, params, player)

    def draw_map(self, state: Any, params: Any) -> Scene:
        """The whole map, with its regions if it has any."""
        scene = self.window.overview(
            compiled(self, "codes")(state, params),
            state.body,
            state.heading,
            tiles=self.tiles,
            lights=self.lights,
            clock=state.clock,
            horizon=params.horizon,
            region=self.region,
        )
        bags = {kind: np.asarray(units) for kind, units in self.bags(state).items()}
        held = [{kind: int(bags[kind][seat]) for kind in bags} for seat in range(self.players)]
        return replace(scene, holdings=tuple(held) if bags else ())

    def may(self, state: Any, *ready: Bool[Array, " players"]) -> Bool[Array, "players actions"]:
        """Out of play one may only stay; in play one may move, and do what is ready."""
        return turning.legal(self.present(state), *ready)
