"""Citizens of Gift Refinement: give tokens away to grow, or use them up."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.players import planning
from sociarium.players.scripted import reciprocity
from sociarium.players.scripted.aiming import Beam
from sociarium.players.scripted.script import Script
from sociarium.players.scripted.sight import IMPASSABLE

FULL = 15  # tokens of one level in a bag


class Cooperator(Script):
    """Gives raw and refined tokens to whom it sees, gathers, and consumes precious ones.

    It consumes when it has `plenty` precious tokens and nothing to give, or a full bag of them.
    """

    def __init__(self, env: Environment[Any, Any], plenty: int = 9) -> None:
        super().__init__(env)
        self.plenty = plenty
        self.consume = env.action("consume")
        self.beam = Beam(env.action("gift"), length=5, half_width=0)

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Consume, give or look for somebody to give to, gather, or stroll."""
        word, blocked = random.bits(key), self.sight.blocked(view)
        gather = planning.seek(self.sight.shows(view, "token"), blocked, self.home, word)
        give, found = self.beam.hunt(
            self.sight.others(view),
            self.sight.shows(view, *IMPASSABLE),
            blocked,
            self.home,
            legal[self.beam.action],
            word,
        )
        gifts = self.sight.own(view, "raw") + self.sight.own(view, "refined")
        action = jnp.where((gifts > 0) & found, give, gather)
        precious = self.sight.own(view, "precious")
        rich = ((precious >= self.plenty) & (gifts == 0)) | (precious >= FULL)
        return jnp.where(rich, self.consume, action), None


class Defector(Script):
    """Gathers tokens and consumes whatever it has at once."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        super().__init__(env)
        self.consume = env.action("consume")

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Consume, gather, or stroll."""
        token = self.sight.shows(view, "token")
        gather = planning.seek(token, self.sight.blocked(view), self.home, random.bits(key))
        bag = sum(self.sight.own(view, level) for level in ("raw", "refined", "precious"))
        return jnp.where(bag > 0, self.consume, gather), None


class Conditional(reciprocity.Conditional):
    """Keeps its tokens when others were seen to gather without giving."""

    cooperator, defector = Cooperator, Defector

    def __init__(
        self, env: Environment[Any, Any], enough: float = 0.5, lately: float = 200.0
    ) -> None:
        super().__init__(env, enough, lately)

    def witnessed(
        self, before: UInt8[Array, "rows cols"], view: View
    ) -> tuple[Float[Array, "rows cols"], Float[Array, "rows cols"]]:
        """Kind: to fire the gift beam. Unkind: to stand where a token lay."""
        return self.sight.firing(view, "gift") * 1.0, self.sight.is_any(before, "token") * 1.0


SCRIPTS = {"cooperator": Cooperator, "defector": Defector, "conditional": Conditional}
