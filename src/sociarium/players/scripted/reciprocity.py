"""Conditional cooperation: to do as most others were lately seen to do."""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from sociarium.core.environment import Environment, View
from sociarium.players.scripted.memory import Album, Glimpse
from sociarium.players.scripted.script import Script

TRUST = 0.5  # the benefit of the doubt: this much that is unkind is overlooked
FAINT = 0.1  # deeds that have faded to less are forgotten


class Repute(eqx.Module):
    """What each seat was seen doing, for and against the others, fading with time."""

    kind: Float[Array, " seats"]
    unkind: Float[Array, " seats"]


class Standing(eqx.Module):
    """A conditional player's memory: both its sides', the last glimpse, and everybody's repute."""

    generous: Any
    selfish: Any
    glimpse: Glimpse
    repute: Repute


class Conditional(Script):
    """Cooperates while at least `enough` of those it lately saw acting were kind.

    It judges every seat by its own deeds, and half of what it remembers fades in `lately` steps.
    Where it remembers nobody's deeds it has good faith.
    """

    cooperator: ClassVar[type[Script]]
    defector: ClassVar[type[Script]]

    def __init__(
        self, env: Environment[Any, Any], enough: float = 0.5, lately: float = 100.0
    ) -> None:
        super().__init__(env)
        self.generous, self.selfish = self.cooperator(env), self.defector(env)
        self.album = Album(env.view_spec)
        self.enough, self.fading = enough, 0.5 ** (1 / lately)

    @abc.abstractmethod
    def witnessed(
        self, before: UInt8[Array, "rows cols"], view: View
    ) -> tuple[Float[Array, "rows cols"], Float[Array, "rows cols"]]:
        """How kind and how unkind the deeds are that whoever stands on a cell has just done.

        `before` is the ground as it lay one step ago; cells where nobody else stands do not count.
        """

    def begin(self, key: Key[Array, ""]) -> Standing:
        """Good faith."""
        k_generous, k_selfish = jax.random.split(key)
        nobody = jnp.zeros(self.sight.seats, jnp.float32)
        return Standing(
            generous=self.generous.begin(k_generous),
            selfish=self.selfish.begin(k_selfish),
            glimpse=self.album.blank(),
            repute=Repute(kind=nobody, unkind=nobody),
        )

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Standing
    ) -> tuple[Int[Array, ""], Standing]:
        """What its better or its worse self would do."""
        before = self.album.aligned(memory.glimpse, self.sight.ground(view))
        repute = self.judged(memory.repute, *self.witnessed(before, view), view)
        k_generous, k_selfish = jax.random.split(key)
        give, generous = self.generous.decide(k_generous, view, legal, memory.generous)
        take, selfish = self.selfish.decide(k_selfish, view, legal, memory.selfish)
        action = jnp.where(self.share(repute) >= self.enough, give, take)
        return action, Standing(generous, selfish, memory.glimpse, repute)

    def carried(self, view: View, action: Int[Array, ""], memory: Standing) -> Standing:
        """Both sides know what was done; the window is kept for the next step."""
        return Standing(
            generous=self.generous.carried(view, action, memory.generous),
            selfish=self.selfish.carried(view, action, memory.selfish),
            glimpse=Glimpse(self.sight.ground(view), action),
            repute=memory.repute,
        )

    def judged(
        self,
        repute: Repute,
        kind: Float[Array, "rows cols"],
        unkind: Float[Array, "rows cols"],
        view: View,
    ) -> Repute:
        """Everybody's repute after these deeds."""
        seat = jnp.where(self.sight.others(view), self.sight.seat(view), 0)
        who = jnp.arange(self.sight.seats, dtype=seat.dtype)[:, None, None] == seat[None]
        return Repute(
            kind=repute.kind * self.fading + jnp.sum(who * kind[None], axis=(1, 2)),
            unkind=repute.unkind * self.fading + jnp.sum(who * unkind[None], axis=(1, 2)),
        )

    def guilt(self, repute: Repute) -> Float[Array, " seats"]:
        """How far everybody's unkind deeds outweigh the kind ones and a little trust."""
        return repute.unkind - (repute.kind + TRUST)

    def share(self, repute: Repute) -> Float[Array, ""]:
        """The share of kind players among those whose deeds are remembered; 1 where none are."""
        known = repute.kind + repute.unkind >= FAINT
        kind = known & (self.guilt(repute) <= 0)
        count = jnp.sum(known[1:], dtype=jnp.float32)
        return jnp.where(count > 0, jnp.sum(kind[1:]) / jnp.maximum(count, 1), 1.0)
