"""Citizens of Gift Refinement: give tokens away to grow, or use them up."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from sociarium.core import random
from sociarium.core.actions import find_action
from sociarium.core.environment import Environment, View
from sociarium.players.planning.skills import Aimed, Collect, Deed
from sociarium.players.scripted import reciprocity
from sociarium.players.scripted.script import Script

FULL = 15  # tokens of one level in a bag
GIFT = Aimed(
    "gift",
    "Walk up to a player and give it a token, which grows into three.",
    verb="gift",
    beam=(5, 0),
    until_gone=False,
)


class GiftRefinementCooperator(Script):
    """Gives raw and refined tokens to whom it sees, gathers, and consumes precious ones.

    It consumes when it has `plenty` precious tokens and nothing to give, or a full bag of them.
    """

    def __init__(self, env: Environment[Any, Any], plenty: int = 9) -> None:
        super().__init__(env)
        self.plenty = plenty
        self.consume = find_action(env.actions, "consume")
        self.tool = GIFT.tool(env.actions, self.sight)

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Consume, give or look for somebody to give to, gather, or stroll."""
        word, blocked = random.bits(key), self.sight.blocked(view)
        gather = self.forage(view, word, ("token",))
        others = self.sight.others(view)
        give, found = self.tool.hunt(others, view, legal, blocked, word)
        gifts = self.sight.own(view, "raw") + self.sight.own(view, "refined")
        action = jnp.where((gifts > 0) & found, give, gather)
        precious = self.sight.own(view, "precious")
        rich = ((precious >= self.plenty) & (gifts == 0)) | (precious >= FULL)
        return jnp.where(rich, self.consume, action), None


class GiftRefinementDefector(Script):
    """Gathers tokens and consumes whatever it has at once."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        super().__init__(env)
        self.consume = find_action(env.actions, "consume")

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Consume, gather, or stroll."""
        gather = self.forage(view, random.bits(key), ("token",))
        bag = sum(self.sight.own(view, level) for level in ("raw", "refined", "precious"))
        return jnp.where(bag > 0, self.consume, gather), None


class GiftRefinementConditional(reciprocity.Conditional):
    """Keeps its tokens when others were seen to gather without giving."""

    cooperator, defector = GiftRefinementCooperator, GiftRefinementDefector

    def __init__(
        self, env: Environment[Any, Any], enough: float = 0.5, lately: float = 200.0
    ) -> None:
        super().__init__(env, enough, lately)

    def witnessed(
        self, before: UInt8[Array, "rows cols"], view: View
    ) -> tuple[Float[Array, "rows cols"], Float[Array, "rows cols"]]:
        """Kind: to fire the gift beam. Unkind: to stand where a token lay."""
        return self.sight.firing(view, "gift") * 1.0, self.sight.is_any(before, "token") * 1.0


SCRIPTS = {
    "cooperator": GiftRefinementCooperator,
    "defector": GiftRefinementDefector,
    "conditional": GiftRefinementConditional,
}
SKILLS = (
    Collect("gather", "Walk to the nearest token that you know of and take it.", taken=("token",)),
    GIFT,
    Deed("consume", "Use up all tokens in your bag, for a point each.", verb="consume"),
)
