"""Citizens of Coop Mining: strike gold together, or iron alone."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.players.planning import paths
from sociarium.players.planning.sight import near
from sociarium.players.planning.skills import Aimed
from sociarium.players.scripted import reciprocity
from sociarium.players.scripted.script import Script

GOLD = ("gold", "open gold")
COMPANY = 3  # whoever stands this near to gold may strike it
MINE = Aimed(
    "mine",
    "Walk to the nearest ore of a kind that you know of and strike it.",
    verb="mine",
    beam=(3, 0),
    at=("iron", *GOLD),
    stops=("iron", *GOLD),
)


class CoopMiningMiner(Script):
    """Brings the mining beam to bear on the ore it wants."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        super().__init__(env)
        self.tool = MINE.tool(env.actions, self.sight)

    def strike(
        self,
        key: Key[Array, ""],
        view: View,
        legal: Bool[Array, " actions"],
        ore: Bool[Array, "rows cols"],
    ) -> Int[Array, ""]:
        """Mine the ore ahead, turn or walk to ore in sight, or stroll."""
        word, blocked = random.bits(key), self.sight.blocked(view)
        action, found = self.tool.hunt(ore, view, legal, blocked, word)
        return jnp.where(found, action, paths.stroll(blocked, self.ego_origin, word))


class CoopMiningDefector(CoopMiningMiner):
    """Mines iron and leaves gold alone."""

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Strike the nearest iron, or stroll."""
        return self.strike(key, view, legal, self.sight.shows(view, "iron")), None


class CoopMiningPatience(eqx.Module):
    """How long one has been alone at gold, and how long one will still pass lonely gold by."""

    waited: Int[Array, ""]
    bored: Int[Array, ""]


class CoopMiningCooperator(CoopMiningMiner):
    """Strikes gold whenever it can, goes to gold that has company, and mines no iron.

    Two that strike one gold whenever their beams are ready always meet in its opening. Of players
    at different gold the higher seat joins the lower. Whoever waits alone for `patience` steps
    passes lonely gold by for as long.
    """

    def __init__(self, env: Environment[Any, Any], patience: int = 20) -> None:
        super().__init__(env)
        self.patience = patience

    def begin(self, key: Key[Array, ""]) -> CoopMiningPatience:
        """Eager."""
        return CoopMiningPatience(jnp.int32(0), jnp.int32(0))

    def decide(
        self,
        key: Key[Array, ""],
        view: View,
        legal: Bool[Array, " actions"],
        memory: CoopMiningPatience,
    ) -> tuple[Int[Array, ""], CoopMiningPatience]:
        """Strike open gold, gold a lower seat is at, gold in company, or lonely gold."""
        gold, opened = self.sight.shows(view, *GOLD), self.sight.shows(view, "open gold")
        others, seat = self.sight.others(view), self.sight.seat(view)
        led = gold & near(others & (seat < seat[self.ego_origin]), COMPANY)
        joined = gold & near(others, COMPANY)
        lonely = gold & (memory.bored == 0)
        wanted = jnp.where(joined.any(), joined, lonely)
        wanted = jnp.where(led.any(), led, wanted)
        wanted = jnp.where(opened.any(), opened, wanted)
        return self.strike(key, view, legal, wanted), self.waiting(gold, joined, memory)

    def waiting(
        self,
        gold: Bool[Array, "rows cols"],
        joined: Bool[Array, "rows cols"],
        memory: CoopMiningPatience,
    ) -> CoopMiningPatience:
        """Patience wears out at gold that nobody comes to."""
        here = jnp.zeros_like(gold).at[self.ego_origin].set(True)
        alone = (gold & near(here, COMPANY)).any() & ~joined.any()
        waited = jnp.where(alone, memory.waited + 1, 0)
        fed_up = waited >= self.patience
        bored = jnp.where(fed_up, self.patience, jnp.maximum(memory.bored - 1, 0))
        return CoopMiningPatience(jnp.where(fed_up, 0, waited), bored)


class CoopMiningConditional(reciprocity.Conditional):
    """Mines iron when others were seen to."""

    cooperator, defector = CoopMiningCooperator, CoopMiningDefector

    def witnessed(
        self, before: UInt8[Array, "rows cols"], view: View
    ) -> tuple[Float[Array, "rows cols"], Float[Array, "rows cols"]]:
        """Kind: to fire the mining beam at gold. Unkind: to fire it at anything else."""
        gold = self.sight.is_any(before, *GOLD) | self.sight.shows(view, *GOLD)
        at_gold = jnp.stack([self.sight.faced(view, gold, far) for far in (1, 2, 3)]).any(0)
        fires = self.sight.firing(view, "mine")
        return (fires & at_gold) * 1.0, (fires & ~at_gold) * 1.0


SCRIPTS = {
    "cooperator": CoopMiningCooperator,
    "defector": CoopMiningDefector,
    "conditional": CoopMiningConditional,
}
SKILLS = (MINE,)
