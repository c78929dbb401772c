"""What a learner from pixels is shown: the picture of the window that a person sees."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt8

from sociarium.arena.observers import Observer
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument
from sociarium.core.scene import Scene
from sociarium.core.specs import Role, ViewSpec
from sociarium.views import people, pixels, sprites


class Rgb(Observer):
    """The picture of the window that a person sees, `size` pixels a cell.

    Below 10 pixels a cell it is `views.pixels.board` pixel by pixel, but for what stands out of a
    player's cell, which is left away; from 10 on grounds meet with straight edges.
    """

    def __init__(self, env: Environment[Any, Any], size: int = 8) -> None:
        if size < pixels.LEAST:
            raise BadArgument(f"a cell needs at least {pixels.LEAST} pixels; given {size}")
        spec = env.view_spec
        if spec.social is not None:
            raise BadArgument(
                f"{env.id or type(env).__name__} is a society: this picture would leave out what a "
                "society tells; use Codes or OneHot"
            )
        drawn = ("ground", "occupant", "seat", "light")
        hidden = {plane.name for plane in spec.planes if plane.role not in drawn}
        hidden |= {number.name for number in spec.shared}
        if hidden:
            raise BadArgument(
                f"{env.id or type(env).__name__} also shows {', '.join(sorted(hidden))}, which "
                "this picture would leave out; use the codes or OneHot"
            )
        self.env, self.size = env, size
        self.channels = ("red", "green", "blue")
        self.shape = (spec.rows * size, spec.cols * size, 3)
        self.dtype = np.dtype(np.uint8)
        self.low, self.high = 0, 255
        self.looks, self.cells = _cells(spec, env.players, size)
        self.seats = len(_of_role(spec, "seat")) - 1
        self.bodies = _bodies(self.seats, size)

    def look(self, view: View, memory: Any) -> UInt8[Array, "*batch players height width 3"]:
        """Grounds and things, beams over them, players on top."""
        spec, size = self.env.view_spec, self.size
        ground, beam = self._plane(view, "ground"), self._plane(view, "light")
        look = _to_rank(jnp.asarray(self.looks), ground.ndim)
        place = jnp.arange(spec.rows * spec.cols).reshape(
            (1,) * (ground.ndim - 2) + (spec.rows, spec.cols)
        )
        kind = (look * len(_tiles(spec)) + ground) * len(_lights(spec)) + beam
        back = jnp.asarray(self.cells)[kind * place.size + place]
        front = jnp.asarray(self.bodies)[self._body(view)]
        picture = _pasted(back, front)
        *batch, rows, cols = ground.shape
        picture = picture.reshape(*batch, rows, cols, size, size, 3).swapaxes(-4, -3)
        return picture.reshape(*batch, rows * size, cols * size, 3)

    def _body(self, view: View) -> Int[Array, "*batch players rows cols"]:
        """Who stands on each cell, as a row of `bodies`."""
        occupant, seat = self._plane(view, "occupant"), self._plane(view, "seat")
        me = jnp.arange(self.env.players) % self.seats
        other = self.seats + (seat - 1) * 4 + occupant - 2
        body = jnp.where(occupant == 1, _to_rank(me, occupant.ndim), other)
        return jnp.where(occupant == 0, 0, body + 1)

    def _plane(self, view: View, role: Role) -> Int[Array, "*batch players rows cols"]:
        """The codes of the plane with this role; zeros where there is none."""
        for plane in self.env.view_spec.with_role(role):
            return view.cells[..., plane, :, :].astype(jnp.int32)
        return jnp.zeros_like(view.cells[..., 0, :, :], jnp.int32)


def _to_rank(by_player: Int[Array, " players"], rank: int) -> Int[Array, "..."]:
    """An array over players for use beside one whose last three axes are player, row and column."""
    return by_player.reshape((1,) * (rank - 3) + (-1, 1, 1))


def _tiles(spec: ViewSpec) -> tuple[str, ...]:
    return _of_role(spec, "ground")


def _lights(spec: ViewSpec) -> tuple[str, ...]:
    return _of_role(spec, "light") or ("none",)


def _of_role(spec: ViewSpec, role: Role) -> tuple[str, ...]:
    """The codes of the plane with this role, if there is one."""
    return next((spec.planes[plane].codes for plane in spec.with_role(role)), ())


def _cells(
    spec: ViewSpec, players: int, size: int
) -> tuple[Int[np.ndarray, " players"], UInt8[np.ndarray, "cells size size 3"]]:
    """Which set of pictures each player sees, and all cells of all sets by ground, light, place."""
    sets: dict[tuple[str, ...], int] = {}
    looks, pictures = [], []
    for seat in range(players):
        scene = Scene(
            ground=np.zeros((spec.rows, spec.cols), np.uint8),
            tiles=_tiles(spec),
            bodies=(),
            lit=np.zeros((spec.rows, spec.cols), np.uint8),
            lights=_lights(spec),
            clock=0,
            horizon=0,
            players=players,
            me=seat,
        )
        names = tuple(sprites.as_drawn(name, scene) for name in scene.tiles)
        if names not in sets:
            sets[names] = len(sets)
            pictures.append(_of_one_kind(scene, size))
        looks.append(sets[names])
    return np.array(looks, np.int32), np.concatenate(pictures)


def _of_one_kind(scene: Scene, size: int) -> UInt8[np.ndarray, "cells size size 3"]:
    """The cells of windows that show one ground under one light, for all of them in turn."""
    rows, cols = scene.ground.shape
    kinds = [
        replace(scene, ground=np.full_like(scene.ground, tile), lit=np.full_like(scene.lit, light))
        for tile in range(len(scene.tiles))
        for light in range(len(scene.lights))
    ]
    boards = [np.asarray(pixels.board(kind, size)) for kind in kinds]
    cut = np.stack(boards).reshape(-1, rows, size, cols, size, 3).swapaxes(2, 3)
    return cut.reshape(-1, size, size, 3)


def _bodies(seats: int, size: int) -> UInt8[np.ndarray, "bodies size size 4"]:
    """Nobody, then each seat seen by itself, then each seat by relative heading."""
    nobody = np.zeros((size, size, 4), np.uint8)
    mine = [_inside_its_cell(seat, 0, size, me=True) for seat in range(seats)]
    theirs = [_inside_its_cell(seat, way, size) for seat in range(seats) for way in range(4)]
    return np.stack([nobody, *mine, *theirs])


def _inside_its_cell(
    seat: int, heading: int, size: int, me: bool = False
) -> UInt8[np.ndarray, "size size 4"]:
    """A player, who is a little larger than a cell, without what stands out of it."""
    large = size + 2 if size < sprites.DETAILED else round(size * pixels.TALL)
    right, down = people.AHEAD[heading]
    x, y = ((large - size) * (1 + ahead) // 2 for ahead in (right, down))
    body = people.body(seat, heading, large, me)
    return np.asarray(body.crop((x, y, x + size, y + size)))


def _pasted(
    back: UInt8[Array, "*batch size size 3"], front: UInt8[Array, "*batch size size 4"]
) -> UInt8[Array, "*batch size size 3"]:
    """One picture over another by its opacity, rounded as Pillow does."""
    opacity = front[..., 3:].astype(jnp.uint16)
    blend = back.astype(jnp.uint16) * (255 - opacity) + front[..., :3] * opacity + 128
    return ((blend + (blend >> 8)) >> 8).astype(jnp.uint8)
