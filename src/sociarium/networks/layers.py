"""The layers that every network is made of; each maps the last axis and keeps the others."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

STRAIGHTENED = 40  # rounds; each takes a short direction half as far again


class Dense(eqx.Module):
    """A linear map with a bias."""

    weight: Float[Array, "ins outs"]
    bias: Float[Array, " outs"]

    def __call__(self, x: Float[Array, "*batch ins"]) -> Float[Array, "*batch outs"]:
        """The weighted sums of the inputs."""
        return _matmul(x, self.weight) + self.bias.reshape((1,) * (x.ndim - 1) + (-1,))


def dense(key: Key[Array, ""], ins: int, outs: int, scale: float = 2**0.5) -> Dense:
    """A layer with orthogonal weights and no bias yet."""
    return Dense(scale * orthogonal(key, ins, outs), jnp.zeros(outs))


def orthogonal(key: Key[Array, ""], ins: int, outs: int) -> Float[Array, "ins outs"]:
    """A uniformly drawn matrix whose shorter side is an orthonormal set.

    It is the orthogonal factor of a Gaussian matrix, by products alone (Bjorck and Bowie, 1971):
    XLA's CPU backend can lock up when several QR decompositions run at once.
    """
    drawn = jax.random.normal(key, (ins, outs))
    drawn = drawn / jnp.sqrt((drawn**2).sum())

    def straighten(_: Any, x: Float[Array, "ins outs"]) -> Float[Array, "ins outs"]:
        square = x @ (x.T @ x) if ins >= outs else (x @ x.T) @ x
        return 1.5 * x - 0.5 * square

    return jax.lax.fori_loop(0, STRAIGHTENED, straighten, drawn)


class Head(eqx.Module):
    """One hidden layer and an output."""

    hidden: Dense
    out: Dense

    def __call__(self, x: Float[Array, "*batch ins"]) -> Float[Array, "*batch outs"]:
        """The outputs for these features."""
        return self.out(jax.nn.relu(self.hidden(x)))


def head(key: Key[Array, ""], ins: int, outs: int, scale: float, hidden: int = 64) -> Head:
    """A head whose first outputs are about `scale` in size."""
    k_hidden, k_out = jax.random.split(key)
    return Head(dense(k_hidden, ins, hidden), dense(k_out, hidden, outs, scale))


def _matmul(x: Float[Array, "*batch ins"], weight: Float[Array, "ins outs"]) -> Array:
    flat = x.reshape(-1, x.shape[-1]) @ weight
    return flat.reshape(*x.shape[:-1], weight.shape[-1])
