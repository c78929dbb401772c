"""From what a player sees to features: the symbolic planes are embedded, never made one-hot.

`lean` looks every cell up in an embedding table and mixes all cells in one dense layer: the fastest
on a CPU. `paper` is the convolutional network of the SocialJax paper (5x5x32, 3x3x32, 3x3x32, dense
64). Both take any view spec; a torso for graphs has its place beside them.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int16, Key, UInt8

from sociarium.core.errors import UnknownName
from sociarium.core.specs import ViewSpec
from sociarium.networks.layers import Dense, dense

FEATURES = 64
TORSOS = ("lean", "paper")
LEAN_WIDTH = 4  # numbers that stand for a cell
LARGEST_TABLE = 4096  # planes are looked up together while their codes have no more combinations

Cells = UInt8[Array, "*batch planes rows cols"]
Own = Int16[Array, "*batch own"]


class Tables(eqx.Module):
    """What each code of each plane stands for; a cell is the sum over its planes.

    Planes whose codes have few combinations are looked up at once, in a table of all their sums.
    """

    rows: tuple[Float[Array, "_codes width"], ...]

    def __call__(self, cells: Cells) -> Float[Array, "*batch rows cols width"]:
        """Every cell as a vector."""
        planes = [cells[..., plane, :, :].astype(jnp.int32) for plane in range(len(self.rows))]
        total = 0.0
        for first, last in _groups([len(row) for row in self.rows]):
            code, table = planes[first], self.rows[first]
            for plane in range(first + 1, last):
                row = self.rows[plane]
                code = code * len(row) + planes[plane]
                table = (table[:, None] + row[None]).reshape(-1, row.shape[1])
            total = total + table.at[code].get(mode="promise_in_bounds")
        return jnp.asarray(total)


def tables(key: Key[Array, ""], spec: ViewSpec, width: int) -> Tables:
    """Random vectors of about unit length in sum; code 0, nothing there, is zero in every plane."""
    keys = jax.random.split(key, len(spec.planes))
    scale = (width * len(spec.planes)) ** -0.5
    return Tables(
        tuple(
            scale * jax.random.normal(k, (len(plane.codes), width)).at[0].set(0.0)
            for k, plane in zip(keys, spec.planes, strict=True)
        )
    )


class Lean(eqx.Module):
    """An embedding table and one dense layer."""

    tables: Tables
    mix: Dense

    def __call__(self, cells: Cells, own: Own) -> Float[Array, "*batch features"]:
        """Features of what is seen."""
        seen = self.tables(cells)
        flat = seen.reshape(*seen.shape[:-3], -1)
        return jax.nn.relu(self.mix(jnp.concatenate([flat, squashed(own)], -1)))


class Paper(eqx.Module):
    """Three convolutions and one dense layer; each convolution is a product over patches."""

    tables: Tables
    convolutions: tuple[Dense, ...]
    mix: Dense
    sides: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, cells: Cells, own: Own) -> Float[Array, "*batch features"]:
        """Features of what is seen."""
        seen = self.tables(cells)
        for side, convolution in zip(self.sides, self.convolutions, strict=True):
            seen = jax.nn.relu(convolution(_patches(seen, side)))
        flat = seen.reshape(*seen.shape[:-3], -1)
        return jax.nn.relu(self.mix(jnp.concatenate([flat, squashed(own)], -1)))


Torso = Lean | Paper


def torso(key: Key[Array, ""], spec: ViewSpec, kind: Literal["lean", "paper"] = "lean") -> Torso:
    """A new torso for views of this kind."""
    if kind not in TORSOS:
        raise UnknownName("torso", kind, TORSOS)
    k_tables, k_mix, *k_layers = jax.random.split(key, 5)
    area, own = spec.rows * spec.cols, 2 * len(spec.numbers)
    if kind == "lean":
        return Lean(
            tables(k_tables, spec, LEAN_WIDTH), dense(k_mix, area * LEAN_WIDTH + own, FEATURES)
        )
    codes, channels, sides = sum(len(plane.codes) for plane in spec.planes), 32, (5, 3, 3)
    depths = (codes, channels, channels)
    layers = tuple(
        dense(k, side * side * depth, channels)
        for k, side, depth in zip(k_layers, sides, depths, strict=True)
    )
    own_codes = Tables(tuple(_rows_of_identity(spec)))
    return Paper(own_codes, layers, dense(k_mix, area * channels + own, FEATURES), sides)


def squashed(numbers: Int16[Array, "*batch n"]) -> Float[Array, "*batch twice_n"]:
    """Private numbers as two features each: whether it is not zero, and its size by logarithm."""
    x = numbers.astype(jnp.float32)
    return jnp.concatenate([jnp.sign(x), jnp.sign(x) * jnp.log1p(jnp.abs(x))], -1)


def _rows_of_identity(spec: ViewSpec) -> list[Float[Array, "codes total"]]:
    """Tables that start as the one-hot codes of the paper; they are learned like the rest."""
    sizes = [len(plane.codes) for plane in spec.planes]
    rows = np.split(np.eye(sum(sizes), dtype=np.float32), np.cumsum(sizes)[:-1])
    return [jnp.asarray(row) for row in rows]


def _patches(
    seen: Float[Array, "*batch rows cols width"], side: int
) -> Float[Array, "*batch rows cols patch"]:
    """The side x side neighbourhood of every cell, zeros beyond the edge."""
    around = side // 2
    rows, cols = seen.shape[-3:-1]
    keep = [(0, 0)] * (seen.ndim - 3)
    padded = jnp.pad(seen, [*keep, (around, around), (around, around), (0, 0)])
    shifted = [
        padded[..., row : row + rows, col : col + cols, :]
        for row in range(side)
        for col in range(side)
    ]
    return jnp.concatenate(shifted, -1)


def _groups(sizes: list[int]) -> list[tuple[int, int]]:
    """Runs of neighbouring planes, as (first, last + 1), that are looked up together."""
    groups, first, combinations = [], 0, 1
    for plane, size in enumerate(sizes):
        if plane > first and combinations * size > LARGEST_TABLE:
            groups.append((first, plane))
            first, combinations = plane, 1
        combinations *= size
    return [*groups, (first, len(sizes))]
