"""Things that grow back where their neighbours stand."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from sociarium.core import random
from sociarium.mechanics.spawning import occupied

DENSE = 1024  # up to this many plots, neighbours are counted by one small matrix product


class Neighbourhood:
    """Which plots lie within a radius of each other, and how many of those are grown."""

    def __init__(self, cells: Int[np.ndarray, " plots"], cols: int, radius: int) -> None:
        offsets = [
            (down, right)
            for down in range(-radius, radius + 1)
            for right in range(-radius, radius + 1)
            if 0 < down * down + right * right <= radius * radius
        ]
        rows, columns = np.divmod(cells.astype(np.int64), cols)
        height = int(rows.max()) + 1 if len(cells) else 1
        plot_of = np.full((height + 2 * radius, cols + 2 * radius), len(cells), np.int32)
        plot_of[rows + radius, columns + radius] = np.arange(len(cells))
        self.near = np.stack(
            [plot_of[rows + radius + down, columns + radius + right] for down, right in offsets], 1
        )
        self.plots = len(cells)

    def grown(self, standing: Bool[Array, " plots"]) -> Int[Array, " plots"]:
        """How many neighbours of each plot are standing."""
        if self.plots <= DENSE:
            adjacent = np.zeros((self.plots, self.plots + 1), np.float32)
            np.put_along_axis(adjacent, self.near, 1.0, axis=1)
            counts = standing.astype(jnp.float32) @ jnp.asarray(adjacent[:, :-1].T)
            return counts.astype(jnp.int32)
        fenced = jnp.append(standing, False)
        return jnp.sum(fenced[jnp.asarray(self.near)], axis=1, dtype=jnp.int32)

    def patches(self) -> Int[np.ndarray, " plots"]:
        """The patch of each plot: plots that can feed one another, numbered in map order."""
        first = np.append(np.arange(self.plots), self.plots)
        while True:
            lower = np.minimum(first[:-1], first[self.near].min(axis=1, initial=self.plots))
            if (lower == first[:-1]).all():
                return np.unique(lower, return_inverse=True)[1].astype(np.int32)
            first[:-1] = lower


def taken(
    standing: Bool[Array, " plots"], plot: Int[Array, " players"]
) -> tuple[Bool[Array, " plots"], Bool[Array, " players"]]:
    """What is left, and who took something: whoever stands on a plot where something stands.

    `plot` is the number of plots for a player who stands on none.
    """
    fenced = jnp.append(standing, False)
    took = fenced.at[plot].get(mode="promise_in_bounds")
    return fenced.at[plot].set(False, mode="promise_in_bounds")[:-1], took


def sprouted(
    word: UInt32[Array, " plots"],
    standing: Bool[Array, " plots"],
    plot: Int[Array, " players"],
    chance: Float[Array, ""],
) -> Bool[Array, " plots"]:
    """What stands after each bare plot that nobody stands on has grown with the same chance."""
    grows = random.bernoulli_from_bits(word, jnp.broadcast_to(random.threshold(chance), word.shape))
    return standing | (grows & ~occupied(plot, len(standing)))
