"""Citizens of Clean Up: keep the river clean and eat, or only eat."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.players.planning import paths
from sociarium.players.planning.skills import Aimed, Collect
from sociarium.players.scripted import anywhere, reciprocity
from sociarium.players.scripted.memory import Bearing
from sociarium.players.scripted.script import Script

GLANCE = 12  # cells of water one must see to judge how foul it is
CLEAN = Aimed("clean", "Walk to waste in the water and clean it away.", verb="clean", at=("waste",))


class CleanUpErrand(eqx.Module):
    """Where river and orchard lie, and whether it is time to work."""

    river: Bearing
    orchard: Bearing
    works: Bool[Array, ""]


class CleanUpDefector(Script):
    """Eats apples, waits in the orchard for more, and never cleans."""

    def begin(self, key: Key[Array, ""]) -> CleanUpErrand:
        """Hungry, and with no idea where anything is."""
        return CleanUpErrand(Bearing.unknown(), Bearing.unknown(), jnp.bool_(False))

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: CleanUpErrand
    ) -> tuple[Int[Array, ""], CleanUpErrand]:
        """A step toward the nearest apple, or back to the orchard."""
        memory = self.reminded(view, legal, memory)
        return self.eat(key, view, memory), memory

    def eat(self, key: Key[Array, ""], view: View, memory: CleanUpErrand) -> Int[Array, ""]:
        """A step toward the nearest apple; where none is in sight, one to or in the orchard."""
        word, blocked = random.bits(key), self.sight.blocked(view)
        apple = self.sight.shows(view, "apple")
        feed, found = paths.step_toward(apple, blocked, self.ego_origin, word)
        return jnp.where(found, feed, memory.orchard.approach(blocked, self.ego_origin, word))

    def reminded(
        self, view: View, legal: Bool[Array, " actions"], memory: CleanUpErrand
    ) -> CleanUpErrand:
        """The memory with what is in sight now; out of play one loses one's bearings."""
        in_play = legal[1:].any()
        river = self.sight.shows(view, "waste", "clean water")
        orchard = self.sight.shows(view, "orchard", "apple")
        return CleanUpErrand(
            river=memory.river.seen(river, self.ego_origin, in_play),
            orchard=memory.orchard.seen(orchard, self.ego_origin, in_play),
            works=memory.works,
        )

    def carried(self, view: View, action: Int[Array, ""], memory: CleanUpErrand) -> CleanUpErrand:
        """Bearings turn with the player."""
        blocked = self.sight.blocked(view)
        return CleanUpErrand(
            river=memory.river.after(action, blocked, self.ego_origin),
            orchard=memory.orchard.after(action, blocked, self.ego_origin),
            works=memory.works,
        )


class CleanUpCooperator(CleanUpDefector):
    """Cleans the river until little waste is in sight, then eats for a while, and so on.

    Work ends when the share of waste in the water it sees falls to `clean`, or after about `shift`
    steps; a meal lasts about `meal` steps.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        clean: float = 0.05,
        shift: float = 150.0,
        meal: float = 60.0,
    ) -> None:
        super().__init__(env)
        self.clean, self.shift, self.meal = clean, shift, meal
        self.tool = CLEAN.tool(env.actions, self.sight)

    def begin(self, key: Key[Array, ""]) -> CleanUpErrand:
        """Ready to work."""
        return CleanUpErrand(Bearing.unknown(), Bearing.unknown(), jnp.bool_(True))

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: CleanUpErrand
    ) -> tuple[Int[Array, ""], CleanUpErrand]:
        """Clean, eat, or walk to where that can be done."""
        memory = self.reminded(view, legal, memory)
        waste, water = self.sight.shows(view, "waste"), self.sight.shows(view, "clean water")
        foul, seen = jnp.sum(waste), jnp.sum(waste | water)
        done = (seen >= GLANCE) & (foul <= self.clean * seen)
        k_change, k_move = jax.random.split(key)
        chance = jnp.where(memory.works, 1 / self.shift, 1 / self.meal)
        enough = random.chance(k_change, chance)
        works = jnp.where(memory.works, ~done & ~enough, enough)
        memory = eqx.tree_at(lambda m: m.works, memory, works)
        work, meal = self.work(k_move, view, legal, memory), self.eat(k_move, view, memory)
        return jnp.where(works, work, meal), memory

    def work(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: CleanUpErrand
    ) -> Int[Array, ""]:
        """Clean the waste ahead, turn or walk to waste in sight, or walk to the river."""
        word, blocked = random.bits(key), self.sight.blocked(view)
        waste = self.sight.shows(view, "waste")
        scrub, found = self.tool.hunt(waste, view, legal, blocked, word)
        return jnp.where(found, scrub, memory.river.approach(blocked, self.ego_origin, word))


class CleanUpConditional(reciprocity.Conditional):
    """Stops cleaning when others were seen in the orchard and hardly ever cleaning."""

    cooperator, defector = CleanUpCooperator, CleanUpDefector

    def __init__(
        self, env: Environment[Any, Any], enough: float = 0.5, lately: float = 200.0
    ) -> None:
        super().__init__(env, enough, lately)

    def witnessed(
        self, before: UInt8[Array, "rows cols"], view: View
    ) -> tuple[Float[Array, "rows cols"], Float[Array, "rows cols"]]:
        """Kind: to fire the cleaning beam. A little unkind: to be in the orchard."""
        orchard = self.sight.shows(view, "orchard", "apple")
        return self.sight.firing(view, "clean") * 1.0, orchard * 0.03


class CleanUpForager(anywhere.Forager):
    """Walks to the nearest thing worth having that it sees, and strolls where it sees none."""

    WANTS = ("apple",)


SCRIPTS = {
    "forager": CleanUpForager,
    "cooperator": CleanUpCooperator,
    "defector": CleanUpDefector,
    "conditional": CleanUpConditional,
}
SKILLS = (
    Collect("eat", "Walk to the nearest apple that you know of and eat it.", taken=("apple",)),
    CLEAN,
)
