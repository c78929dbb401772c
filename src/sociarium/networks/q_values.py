"""Q networks: noisy layers, dueling streams and a distribution over returns.

Noisy layers are those of Fortunato et al. (2018), dueling streams those of Wang et al. (2016), the
distribution over evenly spaced returns is that of Bellemare et al. (2017). Each can be left out.
"""

from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core.environment import View
from sociarium.core.specs import ViewSpec
from sociarium.networks.graphs import Graph, seen, society
from sociarium.networks.layers import Dense, dense
from sociarium.networks.torsos import FEATURES, Torso, torso

HIDDEN = 64


class Noise(eqx.Module):
    """Factors that disturb a layer's weights: that from i to j by `ins[i] * outs[j]`."""

    ins: Float[Array, "*batch ins"]
    outs: Float[Array, "*batch outs"]


Noises = tuple[Noise, ...] | None  # of the layers of a network


class NoisyDense(eqx.Module):
    """A dense layer whose weights are a mean and, unless there is none, a spread around it."""

    mean: Dense
    sigma: Dense | None

    def __call__(
        self, x: Float[Array, "*batch ins"], noise: Noise | None
    ) -> Float[Array, "*batch outs"]:
        """The weighted sums of the inputs; noise may be one for all of an axis."""
        if self.sigma is None or noise is None:
            return self.mean(x)
        return self.mean(x) + noise.outs * self.sigma(x * noise.ins)


def noisy_dense(
    key: Key[Array, ""], ins: int, outs: int, scale: float, sigma: Float[Array, ""] | None
) -> NoisyDense:
    """A new layer; `sigma` is how far its weights go to and fro, as a share of 1 / sqrt(ins)."""
    mean = dense(key, ins, outs, scale)
    if sigma is None:
        return NoisyDense(mean, None)
    width = sigma / ins**0.5
    return NoisyDense(mean, jax.tree.map(lambda x: jnp.full_like(x, width), mean))


class Stream(eqx.Module):
    """One hidden layer and an output, both perhaps noisy."""

    hidden: NoisyDense
    out: NoisyDense

    def __call__(
        self, x: Float[Array, "*batch ins"], hidden: Noise | None, out: Noise | None
    ) -> Float[Array, "*batch outs"]:
        """The outputs for these features, with noise for both layers."""
        return self.out(jax.nn.relu(self.hidden(x, hidden)), out)


def stream(key: Key[Array, ""], ins: int, outs: int, sigma: Float[Array, ""] | None) -> Stream:
    """A new stream whose first outputs are small."""
    k_hidden, k_out = jax.random.split(key)
    return Stream(
        noisy_dense(k_hidden, ins, HIDDEN, 2**0.5, sigma),
        noisy_dense(k_out, HIDDEN, outs, 0.1, sigma),
    )


class QValues(eqx.Module):
    """What every action is worth to a player, given what it sees.

    With a `support` the worth of an action is a distribution over these returns, and the answer
    holds its logits; without one it is a number, in an axis of length 1. With a `level` stream the
    other one only tells how actions differ.
    """

    torso: Torso
    level: Stream | None
    actions: Stream
    support: Float[Array, " atoms"] | None
    society: Graph | None = None  # where there is one

    def __call__(self, view: View, noise: Noises = None) -> Float[Array, "*batch actions atoms"]:
        """Logits or values; `noise` is that of the method of this name, or none."""
        disturbed = noise or (None,) * 4
        features = seen(view, self.torso, self.society)
        atoms = 1 if self.support is None else self.support.shape[-1]
        each = self.actions(features, *disturbed[:2])
        each = each.reshape(*each.shape[:-1], -1, atoms)
        if self.level is None:
            return each
        return duel(self.level(features, *disturbed[2:]), each)

    def expected_values(
        self, answer: Float[Array, "*batch actions atoms"]
    ) -> Float[Array, "*batch actions"]:
        """The expected return of each action."""
        if self.support is None:
            return answer[..., 0]
        return expected(jax.nn.softmax(answer), jax.lax.stop_gradient(self.support))

    def noise(self, key: Key[Array, ""]) -> Noises:
        """One draw of noise for all layers, if they are noisy; a batch is a `vmap` over keys."""
        streams = (self.actions,) if self.level is None else (self.actions, self.level)
        layers = [layer.sigma for each in streams for layer in (each.hidden, each.out)]
        shapes = [layer.weight.shape[-2:] for layer in layers if layer is not None]
        if not shapes:
            return None
        widths = [width for shape in shapes for width in shape]
        parts = jnp.split(noise_factors(key, sum(widths)), list(accumulate(widths))[:-1])
        return tuple(Noise(*pair) for pair in zip(parts[::2], parts[1::2], strict=True))


@dataclass(frozen=True)
class QNetworkConfig:
    """What fixes the shape of a network."""

    torso: Literal["lean", "paper"] = "lean"
    dueling: bool = True
    noisy: bool = True
    atoms: int = 51  # returns that a distribution tells apart; 0 for no distribution
    shared: bool = True  # one set of weights for all seats


def q_values(
    key: Key[Array, ""],
    config: QNetworkConfig,
    spec: ViewSpec,
    actions: int,
    v_min: Float[Array, ""],
    v_max: Float[Array, ""],
    sigma: Float[Array, ""],
) -> QValues:
    """New weights for one player, or for all who share them.

    Distributions reach from `v_min` to `v_max`; `sigma` is how noisy the weights are at first.
    """
    k_torso, k_level, k_actions = jax.random.split(key, 3)
    noise, atoms = sigma if config.noisy else None, max(config.atoms, 1)
    return QValues(
        torso(k_torso, spec, config.torso),
        stream(k_level, FEATURES, atoms, noise) if config.dueling else None,
        stream(k_actions, FEATURES, actions * atoms, noise),
        v_min + (v_max - v_min) * jnp.linspace(0, 1, atoms) if config.atoms else None,
        society(k_torso, spec),
    )


def noise_factors(key: Key[Array, ""], count: int) -> Float[Array, " count"]:
    """Normal draws of which each has become its root, with its sign."""
    drawn = jax.random.normal(key, (count,))
    return jnp.sign(drawn) * jnp.sqrt(jnp.abs(drawn))


def duel(
    level: Float[Array, "*batch atoms"], each: Float[Array, "*batch actions atoms"]
) -> Float[Array, "*batch actions atoms"]:
    """The level plus how far each action is from the mean of all; their mean is the level."""
    return level[..., None, :] + each - each.mean(-2, keepdims=True)


def expected(
    probabilities: Float[Array, "*batch atoms"], support: Float[Array, " atoms"]
) -> Float[Array, "*batch"]:
    """The mean return of a distribution over the support."""
    return (probabilities * support.reshape((1,) * (probabilities.ndim - 1) + (-1,))).sum(-1)


def greedy_actions(
    values: Float[Array, "*batch actions"], legal: Bool[Array, "*batch actions"]
) -> Int[Array, "*batch"]:
    """The legal action that is worth most, the first of equals."""
    return jnp.argmax(jnp.where(legal, values, -jnp.inf), -1)
