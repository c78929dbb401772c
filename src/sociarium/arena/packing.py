"""Small results of a compiled step, brought to the host as one array instead of dozens."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt8

MOST_BYTES = 1024  # of an array that is packed; larger ones cost little more by themselves


class Packing:
    """Packs small arrays of a tree into bytes inside a program, and unpacks them outside it.

    Each array that is fetched from a device costs tens of microseconds, however small it is. Large
    ones are left alone: XLA's CPU backend (jax 0.10) crashes where it joins many of them.
    """

    def __init__(self) -> None:
        self._tree: Any = None
        self._arrays: list[tuple[tuple[int, ...], np.dtype[Any]]] = []

    def pack(self, tree: Any) -> tuple[UInt8[Array, " bytes"], list[Array]]:
        """All small arrays one after another, then the others; the tree is noted while traced."""
        leaves, self._tree = jax.tree.flatten(tree)
        self._arrays = [(x.shape, np.dtype(x.dtype)) for x in leaves]
        small = [_as_bytes(x) for x in leaves if _is_small(x.shape, x.dtype)]
        large = [x for x in leaves if not _is_small(x.shape, x.dtype)]
        return jnp.concatenate([jnp.zeros(0, jnp.uint8), *small]), large

    def unpack(self, packed: tuple[UInt8[Array, " bytes"], list[Array]]) -> Any:
        """The tree again, as NumPy."""
        small, large = packed
        data, at, leaves, others = np.asarray(small).tobytes(), 0, [], iter(jax.device_get(large))
        for shape, dtype in self._arrays:
            if _is_small(shape, dtype):
                count = int(np.prod(shape))
                leaves.append(np.frombuffer(data, dtype, count, at).reshape(shape))
                at += count * dtype.itemsize
            else:
                leaves.append(next(others))
        return jax.tree.unflatten(self._tree, leaves)


def _is_small(shape: tuple[int, ...], dtype: Any) -> bool:
    return int(np.prod(shape)) * np.dtype(dtype).itemsize <= MOST_BYTES


def _as_bytes(array: Array) -> UInt8[Array, " bytes"]:
    if array.dtype == bool:
        return array.astype(jnp.uint8).ravel()
    return jax.lax.bitcast_convert_type(array, jnp.uint8).ravel()
