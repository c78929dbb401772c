"""Citizens of Commons Harvest: leave apples to seed the next, or strip the trees."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from sociarium.core import random
from sociarium.core.actions import STAY, find_action
from sociarium.core.environment import Environment, View
from sociarium.players.planning import paths
from sociarium.players.planning.sight import near
from sociarium.players.planning.skills import Collect
from sociarium.players.scripted import anywhere, reciprocity
from sociarium.players.scripted.script import Script

REACH = 2  # apples within this distance help each other grow
DISC = tuple(
    (down, right)
    for down in range(-REACH, REACH + 1)
    for right in range(-REACH, REACH + 1)
    if 0 < down * down + right * right <= REACH * REACH
)


class HarvestCooperator(Script):
    """Takes an apple only where at least `leave` others stand around it, and walks around the rest.

    So it never takes the last apple of a patch. Where no apple can be spared it lingers beside
    those in sight until more have grown.
    """

    def __init__(self, env: Environment[Any, Any], leave: int = 4) -> None:
        super().__init__(env)
        self.leave = leave

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """A step to an apple that can be spared, or beside one that cannot, or a stroll."""
        apple = self.sight.shows(view, "apple")
        spare = apple & (around(apple, False) >= self.leave)
        blocked = self.sight.blocked(view) | (apple & ~spare)
        goal = jnp.where(spare.any(), spare, near(apple, 1) & ~blocked)
        word, aside = random.bits(key, 2)
        action = paths.seek(goal, blocked, self.ego_origin, word)
        restless = (action == STAY) & (aside >> 20 & 1 == 1)
        return jnp.where(restless, paths.stroll(blocked, self.ego_origin, aside), action), None


class HarvestDefector(Script):
    """Takes every apple it sees, the last of a patch too."""

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """A step toward the nearest apple, or a stroll."""
        return self.forage(view, random.bits(key), ("apple",)), None


class HarvestRaider(HarvestDefector):
    """Takes every apple it sees, and zaps where it sees none."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        super().__init__(env)
        self.zap = find_action(env.actions, "zap")

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """A step toward the nearest apple; else zap, or stroll while the beam recharges."""
        action, _ = super().decide(key, view, legal, memory)
        hungry = ~self.sight.shows(view, "apple").any()
        return jnp.where(hungry & legal[self.zap], self.zap, action), None


class HarvestConditional(reciprocity.Conditional):
    """Strips the trees when others were seen to."""

    cooperator, defector = HarvestCooperator, HarvestDefector

    def __init__(
        self,
        env: Environment[Any, Any],
        enough: float = 0.5,
        lately: float = 100.0,
        leave: int = 4,
    ) -> None:
        super().__init__(env, enough, lately)
        self.generous, self.leave = HarvestCooperator(env, leave), leave

    def witnessed(
        self, before: UInt8[Array, "rows cols"], view: View
    ) -> tuple[Float[Array, "rows cols"], Float[Array, "rows cols"]]:
        """Kind: to stand where an apple lay among enough others. Thrice as unkind: among fewer.

        Cells that were out of sight count as apples, and one apple fewer than the cooperator leaves
        is still kind: somebody else may have eaten in the same step.
        """
        apple = self.sight.is_any(before, "apple")
        left = around(apple | self.sight.is_any(before, "nothing"), True)
        enough = left >= self.leave - 1
        return (apple & enough) * 1.0, (apple & ~enough) * 3.0


def around(apple: Bool[Array, "rows cols"], beyond: bool) -> Int[Array, "rows cols"]:
    """How many apples stand within reach of each cell; `beyond` is taken to lie off the window."""
    rows, cols = apple.shape
    wide = jnp.pad(apple.astype(jnp.int32), REACH, constant_values=beyond)
    shifted = [
        wide[REACH + down : REACH + down + rows, REACH + right : REACH + right + cols]
        for down, right in DISC
    ]
    return jnp.sum(jnp.stack(shifted), axis=0, dtype=jnp.int32)


class HarvestForager(anywhere.Forager):
    """Walks to the nearest thing worth having that it sees, and strolls where it sees none."""

    WANTS = ("apple",)


SCRIPTS = {
    "forager": HarvestForager,
    "cooperator": HarvestCooperator,
    "defector": HarvestDefector,
    "conditional": HarvestConditional,
    "raider": HarvestRaider,
}
SKILLS = (
    Collect("eat", "Walk to the nearest apple that you know of and eat it.", taken=("apple",)),
)
