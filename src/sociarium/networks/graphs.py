"""From what a player is told of its society to features: a small graph network.

Every contact is a node, with what is known about it. Nodes with the same code in a plane that
`joins` (a group, a coalition) are neighbours; each round a node hears the mean of its neighbours
and of all. One's own node, the mean of all nodes and what is told about oneself are mixed.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, UInt8

from sociarium.core.environment import Social, View
from sociarium.core.specs import PlaneSpec, SocialSpec, ViewSpec
from sociarium.networks.layers import Dense, dense
from sociarium.networks.torsos import FEATURES, Torso

WIDTH = 32
ROUNDS = 2
TOLD = 1  # the branch of a torso's key from which this network is drawn
SEAT_AXES = {"cells": -4, "own": -2, "ties": -3, "lookout": -2, "offsets": -3, "windows": -5}
MYSELF = 0  # the plane of the ties that tells which node is one's own


class Codes(eqx.Module):
    """What each code of each plane stands for; the sum over planes."""

    rows: tuple[Float[Array, "_codes width"], ...]

    def __call__(self, codes: UInt8[Array, "*batch planes"]) -> Float[Array, "*batch width"]:
        """The vectors of these codes, added up."""
        total = jnp.zeros((*codes.shape[:-1], WIDTH))
        for plane, row in enumerate(self.rows):
            total = total + row.at[codes[..., plane].astype(jnp.int32)].get(mode="clip")
        return total


class Graph(eqx.Module):
    """Rounds of hearing from neighbours and from all."""

    own: Codes
    nodes: Codes
    rounds: tuple[Dense, ...]
    mix: Dense
    joining: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, seen: Social) -> Float[Array, "*batch features"]:
        """Features of what is told."""
        node = self.nodes(seen.ties)
        near = jnp.zeros((*seen.ties.shape[:-1], seen.ties.shape[-2]), bool)
        for plane in self.joining:
            code = seen.ties[..., plane]
            near = near | ((code[..., :, None] == code[..., None, :]) & (code > 0)[..., None, :])
        weight = near / jnp.maximum(near.sum(-1, keepdims=True), 1).astype(jnp.float32)
        for layer in self.rounds:
            everybody = jnp.broadcast_to(node.mean(-2, keepdims=True), node.shape)
            heard = jnp.concatenate([node, weight @ node, everybody], -1)
            node = jax.nn.relu(layer(heard))
        myself = (seen.ties[..., MYSELF] == 1)[..., None]
        mine = jnp.where(myself, node, 0).sum(-2)
        return self.mix(jnp.concatenate([mine, node.mean(-2), self.own(seen.own)], -1))


def graph(key: Key[Array, ""], spec: SocialSpec, features: int) -> Graph:
    """A new network for what this spec tells."""
    k_own, k_nodes, k_mix, *k_rounds = jax.random.split(key, 3 + ROUNDS)
    return Graph(
        own=_codes(k_own, spec.own),
        nodes=_codes(k_nodes, spec.ties),
        rounds=tuple(dense(k, 3 * WIDTH, WIDTH) for k in k_rounds),
        mix=dense(k_mix, 3 * WIDTH, features),
        joining=tuple(number for number, plane in enumerate(spec.ties) if plane.joins),
    )


def society(key: Key[Array, ""], spec: ViewSpec) -> Graph | None:
    """A new network where a view tells of a society, and none where it does not."""
    key = jax.random.fold_in(key, TOLD)
    return None if spec.social is None else graph(key, spec.social, FEATURES)


def seen(view: View, torso: Torso, society: Graph | None) -> Float[Array, "*batch features"]:
    """Features of all that is seen and told."""
    features = torso(view.cells, view.own)
    if society is None or view.social is None:
        return features
    return jax.nn.relu(features + society(view.social))


def seat_axes(view: View) -> View:
    """Where the seats are among the axes of each part of a view, counted from the last."""
    return jax.tree_util.tree_map_with_path(lambda path, _: SEAT_AXES[path[-1].name], view)


def _codes(key: Key[Array, ""], planes: tuple[PlaneSpec, ...]) -> Codes:
    keys = jax.random.split(key, max(len(planes), 1))
    scale = (WIDTH * max(len(planes), 1)) ** -0.5
    return Codes(
        tuple(
            scale * jax.random.normal(k, (len(plane.codes), WIDTH)).at[0].set(0.0)
            for k, plane in zip(keys, planes, strict=False)
        )
    )
