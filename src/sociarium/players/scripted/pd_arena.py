"""Citizens of the Prisoner's Dilemma Arena: carry cooperation or defection to a meeting."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.players.planning.skills import Aimed, Collect
from sociarium.players.scripted import reciprocity
from sociarium.players.scripted.script import Script

INTERACT = Aimed(
    "interact",
    "Walk up to a player and meet it, with the tokens you carry.",
    verb="interact",
    until_gone=False,
)


class PdArenaCarrier(Script):
    """Fetches a token of its kind, walks around the others, and then meets whom it sees."""

    kind: str
    never: str

    def __init__(self, env: Environment[Any, Any]) -> None:
        super().__init__(env)
        self.tool = INTERACT.tool(env.actions, self.sight)

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Empty-handed a step toward a token, else the way to a meeting."""
        word, blocked = random.bits(key), self.sight.blocked(view, f"{self.never} token")
        fetch = self.forage(view, word, (f"{self.kind} token",), (f"{self.never} token",))
        others = self.sight.others(view)
        meet, found = self.tool.hunt(others, view, legal, blocked, word)
        carries = self.sight.own(view, f"{self.kind} tokens") > 0
        return jnp.where(carries & found, meet, fetch), None


class PdArenaCooperator(PdArenaCarrier):
    """Plays cooperate."""

    kind, never = "cooperate", "defect"


class PdArenaDefector(PdArenaCarrier):
    """Plays defect."""

    kind, never = "defect", "cooperate"


class PdArenaConditional(reciprocity.Conditional):
    """Plays defect when others were seen to fetch defect tokens."""

    cooperator, defector = PdArenaCooperator, PdArenaDefector

    def witnessed(
        self, before: UInt8[Array, "rows cols"], view: View
    ) -> tuple[Float[Array, "rows cols"], Float[Array, "rows cols"]]:
        """Kind: to stand where a cooperate token lay. Unkind: where a defect token lay."""
        kind = self.sight.is_any(before, "cooperate token")
        return kind * 1.0, self.sight.is_any(before, "defect token") * 1.0


SCRIPTS = {
    "cooperator": PdArenaCooperator,
    "defector": PdArenaDefector,
    "conditional": PdArenaConditional,
}
SKILLS = (
    Collect(
        "fetch",
        "Walk to the nearest token of a kind that you know of and take it.",
        taken=("cooperate token", "defect token"),
    ),
    INTERACT,
)
