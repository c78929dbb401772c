"""Scripts: rules of thumb on one's own view, for any world that shows the right things."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium.core import random
from sociarium.core.environment import STAY, Environment, View
from sociarium.core.errors import BadArgument
from sociarium.core.specs import ViewSpec
from sociarium.mechanics import turning
from sociarium.players import planning


class Uniform:
    """Draws every action with the same chance, legal or not."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        self.count = len(env.actions)

    def begin(self, key: Key[Array, ""]) -> None:
        """Nothing to remember."""

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Any action."""
        return random.below(random.bits(key), jnp.int32(self.count)), None


class Forager:
    """Walks to the nearest thing worth having that it sees, and strolls where it sees none."""

    def __init__(
        self, env: Environment[Any, Any], wants: tuple[str, ...] = ("apple", "my coin")
    ) -> None:
        self.spec = env.view_spec
        tiles = self.spec.planes[self.spec.plane("ground")].codes
        self.wants = _codes(tiles, wants)
        self.shuns = _codes(tiles, ("wall", "nothing", "their coin"))
        if not self.wants:
            raise BadArgument(
                f"nothing to forage for: the world shows {', '.join(tiles)}, "
                f"and a forager wants {', '.join(wants)}"
            )

    def begin(self, key: Key[Array, ""]) -> None:
        """Nothing to remember."""

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """A step toward food, or a stroll."""
        word = random.bits(key)
        blocked = self.blocked(view)
        action, found = planning.step_toward(
            shows(view, self.spec, self.wants), blocked, self.spec.home, word
        )
        return jnp.where(found, action, planning.stroll(blocked, self.spec.home, word)), None

    def blocked(self, view: View) -> Bool[Array, "rows cols"]:
        """Cells with a wall, another player or what is not one's own."""
        occupant = view.cells[self.spec.plane("occupant")]
        return shows(view, self.spec, self.shuns) | (occupant > 1)


class Cleaner(Forager):
    """Cleans what its beam would reach, walks to the nearest waste, and forages if it sees none."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        super().__init__(env)
        tiles = self.spec.planes[self.spec.plane("ground")].codes
        self.waste = _codes(tiles, ("waste",))
        if not self.waste or "clean" not in env.actions:
            raise BadArgument(f"there is nothing to clean here: the world shows {', '.join(tiles)}")
        self.clean = env.action("clean")

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Clean, turn to waste at one's side, walk to waste further off, or forage."""
        row, col = self.spec.home
        waste = shows(view, self.spec, self.waste).at[row, col].set(False)
        ahead = waste[row - 3 : row, col - 1 : col + 2].any()
        left = waste[row - 1 : row + 2, col - 3 : col].sum()
        right = waste[row - 1 : row + 2, col + 1 : col + 4].sum()
        forage, _ = super().act(key, view, legal, memory)
        walk, found = planning.step_toward(
            waste, self.blocked(view), self.spec.home, random.bits(key)
        )
        action = jnp.where(found, walk, forage)
        turn = jnp.where(left > right, turning.TURN_LEFT, turning.TURN_RIGHT)
        action = jnp.where(left + right > 0, turn, action)
        return jnp.where(ahead, jnp.where(legal[self.clean], self.clean, STAY), action), None


def shows(view: View, spec: ViewSpec, codes: tuple[int, ...]) -> Bool[Array, "rows cols"]:
    """Where the ground shows any of these codes."""
    ground = view.cells[spec.plane("ground")]
    return jnp.isin(ground, jnp.array(codes, jnp.uint8))


def _codes(tiles: tuple[str, ...], names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(code for code, name in enumerate(tiles) if name in names)


SCRIPTS = {"forager": Forager, "cleaner": Cleaner}
