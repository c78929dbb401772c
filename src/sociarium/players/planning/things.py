"""What can lie on a cell, by name, and where a player remembers it."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from sociarium.core.errors import UnknownName
from sociarium.players.planning.map_memory import MapMemory, MapTracker

ANY = 0  # any amount
NO_LAYER = -1


class Things:
    """The names of everything a map can show: grounds, goods, places and beasts."""

    def __init__(self, map_tracker: MapTracker) -> None:
        planes = map_tracker.planes
        layers = tuple(plane.name for plane in planes)
        goods = [(layer, plane) for layer, plane in enumerate(planes) if plane.role == "goods"]
        found = {plane.name: (layer, ANY) for layer, plane in goods}
        for layer, plane in enumerate(planes):
            for code, kind in enumerate(plane.codes[1:] if plane.role != "goods" else (), start=1):
                found[kind if kind not in found else f"{kind} ({plane.name})"] = layer, code
        self.names = tuple(found)
        self.layer, self.code = np.array(list(found.values()), np.int32).reshape(-1, 2).T
        self.layers = layers
        self.solid = tuple(kind for kind in found if kind in map_tracker.sight.solid)
        self.grounds = tuple(
            kind for kind, (layer, _) in found.items() if not layer and kind not in self.solid
        )
        walls = tuple(kind for kind in self.of(layers[0]) if kind in self.solid)
        self.surroundings = (*self.grounds[:1], *walls)  # the floor is the first ground
        self.own = [number.name for number in map_tracker.spec.own]

    def of(self, layer: str) -> tuple[str, ...]:
        """The names of what one layer can show; none where there is no such layer."""
        number = self.layers.index(layer) if layer in self.layers else NO_LAYER
        return tuple(n for n, at in zip(self.names, self.layer, strict=True) if at == number)

    def numbered(self, names: tuple[str, ...]) -> Int[np.ndarray, " names"]:
        """The numbers of these names."""
        for name in names:
            if name not in self.names:
                raise UnknownName("thing", name, self.names)
        return np.array([self.names.index(name) for name in names], np.int32)

    def where(self, memory: MapMemory, thing: Int[Array, ""]) -> Bool[Array, "rows cols"]:
        """Where this thing is remembered to lie."""
        pages = jnp.concatenate([memory.known[None], memory.lying])
        return self._is(pages[jnp.asarray(self.layer)[thing]], thing)

    def any_of(self, memory: MapMemory, names: tuple[str, ...]) -> Bool[Array, "rows cols"]:
        """Where any of these things is remembered to lie."""
        nowhere = jnp.zeros(memory.known.shape, bool)
        for thing in self.numbered(names):
            nowhere = nowhere | self.where(memory, jnp.int32(thing))
        return nowhere

    def taken(self, memory: MapMemory, thing: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether this thing was just taken: gone from under one's feet, or more of it in the bag.

        What is known of a cell is from before the player set foot on it.
        """
        pages = jnp.concatenate([memory.known[None], memory.lying]).reshape(len(memory.found), -1)
        now = pages.at[:, memory.cell].get(mode="fill", fill_value=0)
        layer = jnp.asarray(self.layer)[thing]
        gone = self._is(memory.found[layer], thing) & ~self._is(now[layer], thing)
        more = jnp.bool_(False)
        for number, name in enumerate(self.names):
            if name in self.own:
                slot = self.own.index(name)
                more = more | ((thing == number) & (memory.own[slot] > memory.had[slot]))
        return (gone & (memory.cell < memory.known.size)) | more

    def _is(self, codes: Array, thing: Int[Array, ""]) -> Bool[Array, "*shape"]:
        code = jnp.asarray(self.code)[thing].astype(codes.dtype)
        return jnp.where(code == ANY, codes > 0, codes == code)
