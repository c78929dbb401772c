"""Judges that see more than the player they judge: all windows, the state, the others' actions."""

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


class Sight(eqx.Module):
    """What a critic looks at besides the player's own features; leading axes are a batch."""

    view: View | None = None  # of all players
    facts: Float[Array, "*batch facts"] | None = None
    actions: Int[Array, "*batch players"] | None = None


class FromViews(eqx.Module):
    """Everybody's windows through one torso, the judged player first, the others in seat order."""

    torso: Torso
    judge: Head
    society: Graph | None = None

    def __call__(self, sight: Sight, seats: Int[Array, " seats"]) -> Float[Array, "*batch seats"]:
        """The value of the situation to each of these seats."""
        assert sight.view is not None
        features = seen(sight.view, self.torso, self.society)
        *batch, players, width = features.shape
        order = (seats[:, None] + jnp.arange(players)[None]) % players
        ordered = jnp.take(features, order.reshape(-1), axis=-2)
        return self.judge(ordered.reshape(*batch, len(seats), players * width))[..., 0]


class FromState(eqx.Module):
    """The world's whole state as facts, whose value is asked, and perhaps what the others do."""

    world: Dense
    asked: Dense
    judge: Head
    players: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)  # 0 where the others' actions are not seen

    def __call__(self, sight: Sight, seats: Int[Array, " seats"]) -> Float[Array, "*batch seats"]:
        """The value of the situation to each of these seats."""
        assert sight.facts is not None
        known = self.world(sight.facts)
        batch = known.shape[:-1]
        who = jax.nn.one_hot(seats, self.players)
        who = jnp.broadcast_to(who, (*batch, *who.shape))
        if self.actions:
            assert sight.actions is not None
            done = jax.nn.one_hot(sight.actions, self.actions)[..., None, :, :]
            others = jnp.arange(self.players)[None] != seats[:, None]
            seen = done * others.reshape(*[1] * len(batch), *others.shape, 1)
            who = jnp.concatenate([who, seen.reshape(*seen.shape[:-2], -1)], -1)
        return self.judge(jax.nn.relu(known[..., None, :] + self.asked(who)))[..., 0]


Critic = FromViews | FromState


def critic(
    key: Key[Array, ""],
    sees: Sees,
    spec: ViewSpec,
    players: int,
    actions: int,
    facts: int,
    kind: Literal["lean", "paper"],
) -> Critic:
    """A new critic that sees more than its player does."""
    k_first, k_asked, k_judge = jax.random.split(key, 3)
    if sees == "views":
        judge = head(k_judge, players * FEATURES, 1, 1.0)
        return FromViews(torso(k_first, spec, kind), judge, society(k_first, spec))
    actions = actions if sees == "state+others_actions" else 0
    return FromState(
        dense(k_first, facts, FEATURES),
        dense(k_asked, players * (1 + actions), FEATURES),
        head(k_judge, FEATURES, 1, 1.0),
        players,
        actions,
    )


def facts(state: Any) -> Float[Array, " facts"]:
    """Any world's state as numbers near 1.

    Truths are 0 or 1; a whole number is shown by its logarithm and its lowest bits, so that the
    number of a cell can be read too; bit sets by all their bits; other numbers by their logarithm.
    """
    return jnp.concatenate([_shown(leaf).reshape(-1) for leaf in jax.tree.leaves(state)])


def _shown(leaf: Array) -> Float[Array, "..."]:
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
