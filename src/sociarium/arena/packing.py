"""Small results of a compiled step, brought to the host as one array instead of dozens."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt8


class Packing:
    """Packs trees of one shape into bytes inside a program, and unpacks them outside it.

    Each array that is fetched from a device costs tens of microseconds, however small it is.
    """

    def __init__(self) -> None:
        self._tree: Any = None
        self._arrays: list[tuple[tuple[int, ...], np.dtype[Any], int]] = []

    def pack(self, tree: Any) -> UInt8[Array, " bytes"]:
        """All arrays of the tree, one after another; its shape is noted while it is traced."""
        leaves, self._tree = jax.tree.flatten(tree)
        self._arrays = [(x.shape, np.dtype(x.dtype), x.size * x.dtype.itemsize) for x in leaves]
        return jnp.concatenate([jnp.zeros(0, jnp.uint8), *map(_as_bytes, leaves)])

    def unpack(self, packed: UInt8[Array, " bytes"]) -> Any:
        """The tree again, as NumPy."""
        data, at, leaves = np.asarray(packed).tobytes(), 0, []
        for shape, dtype, size in self._arrays:
            leaves.append(np.frombuffer(data, dtype, size // dtype.itemsize, at).reshape(shape))
            at += size
        return jax.tree.unflatten(self._tree, leaves)


def _as_bytes(array: Array) -> UInt8[Array, " bytes"]:
    if array.dtype == bool:
        return array.astype(jnp.uint8).ravel()
    return jax.lax.bitcast_convert_type(array, jnp.uint8).ravel()
