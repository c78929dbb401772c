"""Citizens of Mushrooms: eat for the others and the wood, or for oneself."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from sociarium.core import random
from sociarium.core.environment import View
from sociarium.players.planning import paths
from sociarium.players.planning.skills import Collect
from sociarium.players.scripted import reciprocity
from sociarium.players.scripted.script import Script


class MushroomsPicky(Script):
    """Eats the first kind it likes, the second where it sees none of the first, and no other."""

    first: str
    second: str
    never: tuple[str, ...]

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """A step toward the nearest mushroom it wants now, or a stroll."""
        first, second = self.sight.shows(view, self.first), self.sight.shows(view, self.second)
        spoilt = first.any()
        wanted = jnp.where(spoilt, first, second)
        blocked = self.sight.blocked(view, *self.never) | (second & spoilt)
        return paths.seek(wanted, blocked, self.ego_origin, random.bits(key)), None


class MushroomsCooperator(MushroomsPicky):
    """Eats blue mushrooms, green ones where it sees no blue, and walks around the others."""

    first, second = "blue mushroom", "green mushroom"
    never = ("red mushroom", "orange mushroom")


class MushroomsDefector(MushroomsPicky):
    """Eats red mushrooms, green ones where it sees no red, and walks around the others."""

    first, second = "red mushroom", "green mushroom"
    never = ("blue mushroom", "orange mushroom")


class MushroomsConditional(reciprocity.Conditional):
    """Eats for itself when others were seen to."""

    cooperator, defector = MushroomsCooperator, MushroomsDefector

    def witnessed(
        self, before: UInt8[Array, "rows cols"], view: View
    ) -> tuple[Float[Array, "rows cols"], Float[Array, "rows cols"]]:
        """Kind: to stand where a blue mushroom stood. Unkind: where a red or orange one."""
        blue = self.sight.is_any(before, "blue mushroom")
        return blue * 1.0, self.sight.is_any(before, "red mushroom", "orange mushroom") * 1.0


SCRIPTS = {
    "cooperator": MushroomsCooperator,
    "defector": MushroomsDefector,
    "conditional": MushroomsConditional,
}
SKILLS = (
    Collect(
        "eat",
        "Walk to the nearest mushroom of a kind that you know of and eat it.",
        taken=("red mushroom", "green mushroom", "blue mushroom", "orange mushroom"),
    ),
)
