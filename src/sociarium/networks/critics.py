"""Centralised critics, which see more than their player: all windows, the state, actions."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Integer, Key

from sociarium.core.environment import View
from sociarium.core.specs import ViewSpec
from sociarium.networks.graphs import Graph, seen, society
from sociarium.networks.layers import Dense, Head, dense, head
from sociarium.networks.torsos import FEATURES, Torso, torso

CRITICS = ("own", "views", "state", "state+others_actions")
BITS = 12  # of a whole number that are shown one by one

Sees = Literal["own", "views", "state", "state+others_actions"]


class CriticInput(eqx.Module):
    """What a critic is given besides the player's own features; leading axes are a batch."""

    view: View | None = None  # of all players
    features: Float[Array, "*batch features"] | None = None  # of the state
    actions: Int[Array, "*batch players"] | None = None


class ViewsCritic(eqx.Module):
    """Everybody's windows through one torso, the player in question first, then in seat order."""

    torso: Torso
    value_head: Head
    society: Graph | None = None

    def __call__(
        self, critic_input: CriticInput, seats: Int[Array, " seats"]
    ) -> Float[Array, "*batch seats"]:
        """The value of the situation to each of these seats."""
        assert critic_input.view is not None
        features = seen(critic_input.view, self.torso, self.society)
        *batch, players, width = features.shape
        order = (seats[:, None] + jnp.arange(players)[None]) % players
        ordered = jnp.take(features, order.reshape(-1), axis=-2)
        return self.value_head(ordered.reshape(*batch, len(seats), players * width))[..., 0]


class StateCritic(eqx.Module):
    """Features of the whole state, whose value is asked for, and perhaps what the others do."""

    world: Dense
    asked: Dense
    value_head: Head
    players: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)  # 0 where the others' actions are not seen

    def __call__(
        self, critic_input: CriticInput, seats: Int[Array, " seats"]
    ) -> Float[Array, "*batch seats"]:
        """The value of the situation to each of these seats."""
        assert critic_input.features is not None
        known = self.world(critic_input.features)
        batch = known.shape[:-1]
        who = jax.nn.one_hot(seats, self.players)
        who = jnp.broadcast_to(who, (*batch, *who.shape))
        if self.actions:
            assert critic_input.actions is not None
            done = jax.nn.one_hot(critic_input.actions, self.actions)[..., None, :, :]
            others = jnp.arange(self.players)[None] != seats[:, None]
            seen = done * others.reshape(*[1] * len(batch), *others.shape, 1)
            who = jnp.concatenate([who, seen.reshape(*seen.shape[:-2], -1)], -1)
        return self.value_head(jax.nn.relu(known[..., None, :] + self.asked(who)))[..., 0]


Critic = ViewsCritic | StateCritic


def critic(
    key: Key[Array, ""],
    sees: Sees,
    spec: ViewSpec,
    players: int,
    actions: int,
    state_size: int,
    kind: Literal["lean", "paper"],
) -> Critic:
    """A new critic that sees more than its player does."""
    k_first, k_asked, k_value = jax.random.split(key, 3)
    if sees == "views":
        value_head = head(k_value, players * FEATURES, 1, 1.0)
        return ViewsCritic(torso(k_first, spec, kind), value_head, society(k_first, spec))
    actions = actions if sees == "state+others_actions" else 0
    return StateCritic(
        dense(k_first, state_size, FEATURES),
        dense(k_asked, players * (1 + actions), FEATURES),
        head(k_value, FEATURES, 1, 1.0),
        players,
        actions,
    )


def state_features(state: Any) -> Float[Array, " features"]:
    """Features of any world's state, as numbers near 1.

    Truths are 0 or 1; a whole number is shown by its logarithm and its lowest bits, so that the
    number of a cell can be read too; bit sets by all their bits; other numbers by their logarithm.
    """
    return jnp.concatenate([_features_of(leaf).reshape(-1) for leaf in jax.tree.leaves(state)])


def _features_of(leaf: Array) -> Float[Array, "..."]:
    if leaf.dtype == bool:
        return leaf.astype(jnp.float32)
    if jnp.issubdtype(leaf.dtype, jnp.unsignedinteger):
        return _bits(leaf, 8 * leaf.dtype.itemsize)
    x = leaf.astype(jnp.float32)
    size = jnp.sign(x) * jnp.log1p(jnp.abs(x))
    if jnp.issubdtype(leaf.dtype, jnp.floating):
        return size
    return jnp.concatenate([size[..., None], _bits(leaf, BITS)], -1)


def _bits(numbers: Integer[Array, "*shape"], count: int) -> Float[Array, "*shape count"]:
    places = jnp.arange(count, dtype=numbers.dtype).reshape(*[1] * numbers.ndim, -1)
    return ((numbers[..., None] >> places) & 1).astype(jnp.float32)
