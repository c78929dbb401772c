"""Actor-critic networks, with one set of weights for all seats or one for each."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from sociarium.core.environment import View
from sociarium.core.specs import ViewSpec
from sociarium.networks.critics import Critic, CriticInput, Sees, critic
from sociarium.networks.graphs import Graph, seat_axes, seen, society
from sociarium.networks.layers import Head, head
from sociarium.networks.recurrence import Core, NoMemory, core
from sociarium.networks.torsos import FEATURES, Torso, torso

ILLEGAL_LOGIT = -1e9  # the logit of what is not legal


class NetworkConfig(eqx.Module):
    """What fixes the shape of a network."""

    torso: Literal["lean", "paper"] = eqx.field(static=True, default="lean")
    core: Literal["none", "lstm", "gru"] = eqx.field(static=True, default="none")
    critic_sees: Sees = eqx.field(static=True, default="own")
    shared: bool = eqx.field(static=True, default=True)  # one set of weights for all seats


class ActorCritic(eqx.Module):
    """Features of what is seen, a memory, a policy head, and a value head or a critic apart.

    Arrays have the axes (time, *batch, seat, ...), a memory (*batch, seat, ...). Weights of their
    own for each seat have a leading seat axis and play through `each_seat`.
    """

    torso: Torso
    core: Core
    policy: Head
    value: Head | Critic
    society: Graph | None = None  # where there is one

    def read(
        self, view: View, reset: Bool[Array, "time *batch"], memory: Any
    ) -> tuple[Float[Array, "time *batch seats features"], Any]:
        """Features after the memory, and the memory after the last step.

        Steps marked `reset` begin an episode, with an empty memory.
        """
        features = seen(view, self.torso, self.society)
        if isinstance(self.core, NoMemory):
            return features, memory

        def step(memory: Any, now: Any) -> Any:
            x, reset = now
            blank = reset[..., None, None]
            out, memory = self.core(x, jax.tree.map(lambda m: jnp.where(blank, 0.0, m), memory))
            return memory, out

        memory, features = jax.lax.scan(step, memory, (features, reset))
        return features, memory

    def logits(
        self,
        features: Float[Array, "*batch seats features"],
        legal: Bool[Array, "*batch seats actions"],
    ) -> Float[Array, "*batch seats actions"]:
        """How much each action is favoured; what is not legal, never."""
        return jnp.where(legal, self.policy(features), ILLEGAL_LOGIT)

    def values(
        self,
        features: Float[Array, "*batch seats features"],
        critic_input: CriticInput,
        seats: Int[Array, " seats"],
    ) -> Float[Array, "*batch seats"]:
        """The value of the situation to each seat."""
        if isinstance(self.value, Head):
            return self.value(features)[..., 0]
        return self.value(critic_input, seats)


class PerSeat:
    """Plays `ActorCritic` weights, shared by all seats or with a leading seat axis."""

    def __init__(self, shared: bool, seats: int) -> None:
        self.shared, self.seats = shared, jnp.arange(seats)

    def read(
        self, weights: ActorCritic, view: View, reset: Bool[Array, "time *batch"], memory: Any
    ) -> tuple[Float[Array, "time *batch seats features"], Any]:
        """As `ActorCritic.read`."""
        if self.shared:
            return weights.read(view, reset, memory)

        def one(weights: ActorCritic, view: View, memory: Any) -> Any:
            view = jax.tree.map(lambda x, axis: jnp.expand_dims(x, axis), view, seat_axes(view))
            memory = jax.tree.map(lambda m: m[..., None, :], memory)
            return jax.tree.map(lambda x: x[..., 0, :], weights.read(view, reset, memory))

        return jax.vmap(one, (0, seat_axes(view), -2), -2)(weights, view, memory)

    def logits(
        self,
        weights: ActorCritic,
        features: Float[Array, "*batch seats features"],
        legal: Bool[Array, "*batch seats actions"],
    ) -> Float[Array, "*batch seats actions"]:
        """As `ActorCritic.logits`."""
        if self.shared:
            return weights.logits(features, legal)
        return jax.vmap(ActorCritic.logits, (0, -2, -2), -2)(weights, features, legal)

    def values(
        self,
        weights: ActorCritic,
        features: Float[Array, "*batch seats features"],
        critic_input: CriticInput,
    ) -> Float[Array, "*batch seats"]:
        """As `ActorCritic.values`."""
        if self.shared:
            return weights.values(features, critic_input, self.seats)

        def one(weights: ActorCritic, features: Array, seat: Array) -> Array:
            return weights.values(features[..., None, :], critic_input, seat[None])[..., 0]

        return jax.vmap(one, (0, -2, 0), -1)(weights, features, self.seats)


def actor_critic(
    key: Key[Array, ""],
    config: NetworkConfig,
    spec: ViewSpec,
    players: int,
    actions: int,
    state_size: int,
) -> ActorCritic:
    """New weights for one player, or for all who share them."""
    k_torso, k_core, k_policy, k_value = jax.random.split(key, 4)
    if config.critic_sees == "own":
        value = head(k_value, FEATURES, 1, 1.0)
    else:
        value = critic(
            k_value, config.critic_sees, spec, players, actions, state_size, config.torso
        )
    return ActorCritic(
        torso(k_torso, spec, config.torso),
        core(k_core, FEATURES, config.core),
        head(k_policy, FEATURES, actions, 0.01),
        value,
        society(k_torso, spec),
    )


def sample_actions(
    bits: UInt32[Array, "*batch"], logits: Float[Array, "*batch actions"]
) -> Int[Array, "*batch"]:
    """An action with the probabilities that the logits give, from random bits."""
    heaped = jnp.cumsum(jax.nn.softmax(logits), -1)
    level = (bits >> 9).astype(jnp.float32) * 2.0**-23 * heaped[..., -1]  # below the top
    return (heaped <= level[..., None]).sum(-1).astype(jnp.int32)
