"""What a view shows, by the roles and names in the world's own view spec."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt8

from sociarium.core.environment import View
from sociarium.core.specs import OCCUPANTS, ViewSpec

SOMEBODY = OCCUPANTS.index("facing my way")  # codes from here on are other players


class Sight:
    """Reads the views of one world; every mask is a window, `ego_origin` is where I stand in it."""

    def __init__(self, spec: ViewSpec) -> None:
        self.spec = spec
        self.ego_origin = spec.ego_origin
        self.ground_plane, self.occupant_plane, self.seat_plane, self.light_plane = (
            next(iter(spec.with_role(role)), None)
            for role in ("ground", "occupant", "seat", "light")
        )
        self.tiles = () if self.ground_plane is None else spec.planes[self.ground_plane].codes
        self.solid = () if self.ground_plane is None else spec.planes[self.ground_plane].solid
        self.seats = 1 + spec.seats_named

    def ground(self, view: View) -> UInt8[Array, "rows cols"]:
        """What lies on each cell, as codes of `tiles`."""
        return self._plane(view, self.ground_plane)

    def shows(self, view: View, *tiles: str) -> Bool[Array, "rows cols"]:
        """Where any of these lies; what the world does not know lies nowhere."""
        return self.is_any(self.ground(view), *tiles)

    def is_any(self, ground: UInt8[Array, "rows cols"], *tiles: str) -> Bool[Array, "rows cols"]:
        """Which cells of a ground plane hold any of these."""
        codes = sum(1 << code for code, name in enumerate(self.tiles) if name in tiles)
        return (jnp.uint32(codes) >> ground.astype(jnp.uint32)) & 1 == 1

    def others(self, view: View) -> Bool[Array, "rows cols"]:
        """Where somebody else stands."""
        return self._plane(view, self.occupant_plane) >= SOMEBODY

    def seat(self, view: View) -> UInt8[Array, "rows cols"]:
        """Who stands on each cell, counted from 1; the same for all where seats are not named."""
        return self._plane(view, self.seat_plane)

    def lit(self, view: View, beam: str) -> Bool[Array, "rows cols"]:
        """Where this beam shines."""
        assert self.light_plane is not None
        codes = self.spec.planes[self.light_plane].codes
        return view.cells[self.light_plane] == codes.index(beam)

    def _plane(self, view: View, plane: int | None) -> UInt8[Array, "rows cols"]:
        """One plane of the window; zeros where the world has none such."""
        return jnp.zeros_like(view.cells[0]) if plane is None else view.cells[plane]

    def faced(
        self, view: View, mask: Bool[Array, "rows cols"], far: int = 1
    ) -> Bool[Array, "rows cols"]:
        """Where somebody else stands who has a cell of the mask so many cells straight ahead."""
        rows, cols = mask.shape
        wide = jnp.pad(mask, far)
        ahead = {
            "facing my way": wide[:rows, far:-far],
            "facing right": wide[far:-far, 2 * far :],
            "facing me": wide[2 * far :, far:-far],
            "facing left": wide[far:-far, :cols],
        }
        occupant = self._plane(view, self.occupant_plane)
        return jnp.stack(
            [(occupant == OCCUPANTS.index(way)) & cells for way, cells in ahead.items()]
        ).any(0)

    def firing(self, view: View, beam: str) -> Bool[Array, "rows cols"]:
        """Where somebody else stands whose beam begins in the cell ahead."""
        return self.faced(view, self.lit(view, beam))

    def own(self, view: View, name: str) -> Int[Array, ""]:
        """One of my private numbers."""
        index = [own.name for own in self.spec.own].index(name)
        return view.own[index].astype(jnp.int32)

    def blocked(self, view: View, *shunned: str) -> Bool[Array, "rows cols"]:
        """Where I cannot or will not walk: walls, other players, and what I shun."""
        return self.shows(view, *self.solid, *shunned) | self.others(view)


def near(mask: Bool[Array, "rows cols"], steps: int) -> Bool[Array, "rows cols"]:
    """Cells within so many steps of a cell of the mask, along rows and columns."""
    for _ in range(steps):
        wide = jnp.pad(mask, 1)
        mask = mask | wide[:-2, 1:-1] | wide[2:, 1:-1] | wide[1:-1, :-2] | wide[1:-1, 2:]
    return mask
