"""Memory between steps: an LSTM or a GRU over features."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from sociarium.core.errors import UnknownName
from sociarium.networks.layers import Dense, dense

CORES = ("none", "lstm", "gru")


class NoMemory(eqx.Module):
    """No memory: features pass through."""

    def begin(self, *shape: int) -> tuple[()]:
        """Nothing to remember."""
        return ()

    def __call__(self, x: Float[Array, "*batch features"], memory: Any) -> tuple[Array, Any]:
        """The features as they came."""
        return x, memory


class Lstm(eqx.Module):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997), forget gates open at first."""

    gates: Dense

    def begin(self, *shape: int) -> tuple[Array, Array]:
        """An empty memory for a batch of this shape."""
        units = self.gates.bias.shape[-1] // 4
        return jnp.zeros((*shape, units)), jnp.zeros((*shape, units))

    def __call__(
        self, x: Float[Array, "*batch features"], memory: tuple[Array, Array]
    ) -> tuple[Float[Array, "*batch units"], tuple[Array, Array]]:
        """What comes out, and what is remembered."""
        shown, cell = memory
        takes, forgets, gives, offers = jnp.split(
            self.gates(jnp.concatenate([x, shown], -1)), 4, axis=-1
        )
        cell = jax.nn.sigmoid(forgets + 1.0) * cell + jax.nn.sigmoid(takes) * jnp.tanh(offers)
        shown = jax.nn.sigmoid(gives) * jnp.tanh(cell)
        return shown, (shown, cell)


class Gru(eqx.Module):
    """A gated recurrent unit (Cho et al., 2014)."""

    gates: Dense
    offer: Dense

    def begin(self, *shape: int) -> Float[Array, "..."]:
        """An empty memory for a batch of this shape."""
        return jnp.zeros((*shape, self.offer.bias.shape[-1]))

    def __call__(
        self, x: Float[Array, "*batch features"], memory: Float[Array, "*batch units"]
    ) -> tuple[Float[Array, "*batch units"], Float[Array, "*batch units"]]:
        """What comes out, which is what is remembered."""
        renew, recall = jnp.split(
            jax.nn.sigmoid(self.gates(jnp.concatenate([x, memory], -1))), 2, axis=-1
        )
        offered = jnp.tanh(self.offer(jnp.concatenate([x, recall * memory], -1)))
        memory = (1 - renew) * memory + renew * offered
        return memory, memory


Core = NoMemory | Lstm | Gru


def core(key: Key[Array, ""], features: int, kind: Literal["none", "lstm", "gru"] = "none") -> Core:
    """A new memory as wide as the features."""
    if kind not in CORES:
        raise UnknownName("recurrent core", kind, CORES)
    if kind == "none":
        return NoMemory()
    k_gates, k_offer = jax.random.split(key)
    if kind == "lstm":
        return Lstm(dense(k_gates, 2 * features, 4 * features, 1.0))
    return Gru(
        dense(k_gates, 2 * features, 2 * features, 1.0), dense(k_offer, 2 * features, features, 1.0)
    )
