"""From what a player is told of its society to features: a small graph network.

Every contact is a node, with what is known about it: its seat, its job, its groups. Nodes with the
same code in a plane of the role `group` (a group, a coalition) are neighbours; each round a node
hears the mean of its neighbours in each such plane and of all. One's own node, the mean of all
nodes, what is told about oneself and what is seen through the windows of others are mixed. The cost
grows with the number of contacts.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, Key

from sociarium.core.environment import Social, View
from sociarium.core.errors import BadArgument
from sociarium.core.specs import PlaneSpec, SocialSpec, ViewSpec, seat_planes
from sociarium.mechanics.layout import FEW
from sociarium.networks.layers import Dense, dense
from sociarium.networks.torsos import FEATURES, LEAN_WIDTH, Tables, Torso, squashed, tables

WIDTH = 32
ROUNDS = 2
TOLD = 1  # the branch of a torso's key from which this network is drawn
SEAT_AXES = {
    "cells": -4,
    "own": -2,
    "shared": -2,
    "ties": -3,
    "shared_view": -2,
    "offsets": -3,
    "windows": -5,
    "numbers": -2,
}
MYSELF = 0  # the plane of the ties that tells which node is one's own
TURNED = PlaneSpec("turned", ("as I am", "to the right", "around", "to the left"))


class CodeFeatures(eqx.Module):
    """What each code of each plane stands for; the sum over planes."""

    rows: tuple[Float[Array, "_codes width"], ...]

    def __call__(self, codes: Integer[Array, "*batch planes"]) -> Float[Array, "*batch width"]:
        """The vectors of these codes, added up."""
        total = jnp.zeros((*codes.shape[:-1], WIDTH))
        for plane, row in enumerate(self.rows):
            total = total + row.at[codes[..., plane].astype(jnp.int32)].get(mode="clip")
        return total


class SharedViews(eqx.Module):
    """The windows of others: what is seen there, where it is and whose it is, summed up."""

    tables: Tables
    whose: CodeFeatures  # bytes of the seat, then how far that player is turned
    mix: Dense

    def __call__(self, seen: Social) -> Float[Array, "*batch width"]:
        """Features of all windows together."""
        cells = self.tables(seen.windows)
        flat = cells.reshape(*cells.shape[:-3], -1)
        seat = seen.shared_view.astype(jnp.int32)
        places = range(len(self.whose.rows) - 1)
        codes = [*(seat >> 8 * place & 0xFF for place in places), seen.offsets[..., 2]]
        whose = self.whose(jnp.stack([code.astype(jnp.int32) for code in codes], -1))
        where = squashed(seen.offsets[..., :2])
        return jax.nn.relu(self.mix(jnp.concatenate([flat, where, whose], -1))).sum(-2)


class Graph(eqx.Module):
    """Rounds of hearing from neighbours and from all, beside the windows of others."""

    own: CodeFeatures
    nodes: CodeFeatures
    rounds: tuple[Dense, ...]
    mix: Dense
    shared_views: SharedViews | None  # where there are any
    joining: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, seen: Social) -> Float[Array, "*batch features"]:
        """Features of what is told."""
        node = self.nodes(seen.ties)
        groups = [
            (seen.ties[..., plane].astype(jnp.int32), len(self.nodes.rows[plane]))
            for plane in self.joining
        ]
        for layer in self.rounds:
            everybody = jnp.broadcast_to(node.mean(-2, keepdims=True), node.shape)
            near = [mean_of_group(node, *group) for group in groups]
            node = jax.nn.relu(layer(jnp.concatenate([node, *near, everybody], -1)))
        myself = (seen.ties[..., MYSELF] == 1)[..., None]
        mine = jnp.where(myself, node, 0).sum(-2)
        told = [mine, node.mean(-2), self.own(seen.own)]
        if self.shared_views is not None:
            told.append(self.shared_views(seen))
        return self.mix(jnp.concatenate(told, -1))


def mean_of_group(
    node: Float[Array, "*batch contacts width"], group: Int[Array, "*batch contacts"], groups: int
) -> Float[Array, "*batch contacts width"]:
    """For each contact the mean of those with the same group; zero for who is in none (0).

    A few contacts are compared with each other; many add to their group and read it back.
    """
    *batch, contacts, width = node.shape
    inside = (group > 0)[..., None]
    if contacts <= FEW:
        near = (group[..., :, None] == group[..., None, :]) & inside
        return (near / jnp.maximum(near.sum(-1, keepdims=True), 1).astype(jnp.float32)) @ node
    lanes = int(np.prod(batch))
    place = group.reshape(lanes, contacts) + groups * jnp.arange(lanes)[:, None]
    flat = node.reshape(lanes * contacts, width)
    total = jnp.zeros((lanes * groups, width)).at[place.ravel()].add(flat)
    members = jnp.zeros((lanes * groups, 1)).at[place.ravel()].add(1.0)
    mean = (total / jnp.maximum(members, 1)).at[place.ravel()].get(mode="promise_in_bounds")
    return jnp.where(inside, mean.reshape(node.shape), 0)


def society(key: Key[Array, ""], spec: ViewSpec) -> Graph | None:
    """A new network where a view tells of a society, and none where it does not."""
    told = spec.social
    if told is None:
        return None
    k_own, k_nodes, k_shared_views, k_mix, *k_rounds = jax.random.split(
        jax.random.fold_in(key, TOLD), 4 + ROUNDS
    )
    joining = tuple(number for number, plane in enumerate(told.ties) if plane.role == "group")
    shared_views = _shared_views(k_shared_views, spec, told) if told.shared_views else None
    return Graph(
        own=_codes(k_own, told.own),
        nodes=_codes(k_nodes, told.ties),
        rounds=tuple(dense(k, (2 + len(joining)) * WIDTH, WIDTH) for k in k_rounds),
        mix=dense(k_mix, (3 + (shared_views is not None)) * WIDTH, FEATURES),
        shared_views=shared_views,
        joining=joining,
    )


def seen(view: View, torso: Torso, society: Graph | None) -> Float[Array, "*batch features"]:
    """Features of all that is seen and told."""
    if (view.social is None) != (society is None):
        made, shown = (
            "a society" if there else "a bare world"
            for there in (society is not None, view.social is not None)
        )
        raise BadArgument(
            f"a network made for the view of {made} is shown that of {shown}; make one from the "
            "view spec of the environment it is to play in"
        )
    features = torso(view.cells, view.numbers)
    if society is None or view.social is None:
        return features
    return jax.nn.relu(features + society(view.social))


def seat_axes(view: View) -> View:
    """Where the seats are among the axes of each part of a view, counted from the last."""
    return jax.tree_util.tree_map_with_path(lambda path, _: SEAT_AXES[path[-1].name], view)


def _shared_views(key: Key[Array, ""], spec: ViewSpec, told: SocialSpec) -> SharedViews:
    k_tables, k_whose, k_mix = jax.random.split(key, 3)
    numbers = spec.rows * spec.cols * LEAN_WIDTH + 2 * 2 + WIDTH
    return SharedViews(
        tables(k_tables, spec, LEAN_WIDTH),
        _codes(k_whose, (*seat_planes(told.seats), TURNED)),
        dense(k_mix, numbers, WIDTH),
    )


def _codes(key: Key[Array, ""], planes: tuple[PlaneSpec, ...]) -> CodeFeatures:
    keys = jax.random.split(key, max(len(planes), 1))
    scale = (WIDTH * max(len(planes), 1)) ** -0.5
    return CodeFeatures(
        tuple(
            scale * jax.random.normal(k, (len(plane.codes), WIDTH)).at[0].set(0.0)
            for k, plane in zip(keys, planes, strict=False)
        )
    )
