"""Citizens of Coins: take one's own coins only, or every coin."""

from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from sociarium.core import random
from sociarium.core.environment import View
from sociarium.players.planning.skills import Collect
from sociarium.players.scripted import anywhere, reciprocity
from sociarium.players.scripted.script import Script

COINS = ("my coin", "their coin")


class CoinsCooperator(Script):
    """Takes coins of its own colour and walks around all others."""

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """A step toward the nearest coin of mine, or a stroll."""
        return self.forage(view, random.bits(key), ("my coin",), ("their coin",)), None


class CoinsDefector(Script):
    """Takes every coin."""

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """A step toward the nearest coin, or a stroll."""
        return self.forage(view, random.bits(key), COINS), None


class CoinsConditional(reciprocity.Conditional):
    """Takes others' coins when others were seen to take its own."""

    cooperator, defector = CoinsCooperator, CoinsDefector

    def witnessed(
        self, before: UInt8[Array, "rows cols"], view: View
    ) -> tuple[Float[Array, "rows cols"], Float[Array, "rows cols"]]:
        """Kind: to stand where a coin not mine lay. Thrice as unkind: where one of mine lay."""
        theirs = self.sight.is_any(before, "their coin")
        return theirs * 1.0, self.sight.is_any(before, "my coin") * 3.0


class CoinsForager(anywhere.Forager):
    """Walks to the nearest thing worth having that it sees, and strolls where it sees none."""

    WANTS = ("my coin",)
    SHUNS = ("their coin",)


SCRIPTS = {
    "forager": CoinsForager,
    "cooperator": CoinsCooperator,
    "defector": CoinsDefector,
    "conditional": CoinsConditional,
}
SKILLS = (
    Collect(
        "take",
        "Walk to the nearest coin of a kind that you know of and take it.",
        taken=COINS,
    ),
)
