"""Scripts for any world: random and idle players, and what foragers of several worlds share."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium.core import random
from sociarium.core.actions import STAY
from sociarium.core.environment import Environment, View
from sociarium.core.identity import ByArguments
from sociarium.players.planning import paths
from sociarium.players.protocol import PurePlayer
from sociarium.players.scripted.script import Script


class Uniform(ByArguments):
    """Draws every action with the same chance, legal or not; with `legal=1` only legal ones."""

    def __init__(self, env: Environment[Any, Any], legal: int = 0) -> None:
        self.count, self.legal = len(env.actions), legal

    def begin(self, key: Key[Array, ""]) -> None:
        """Nothing to remember."""

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Any action."""
        if self.legal:
            return paths.one_of(legal, random.bits(key)), None
        return random.randint_from_bits(random.bits(key), jnp.int32(self.count)), None


class Idle(ByArguments):
    """Stays where it is."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        pass

    def begin(self, key: Key[Array, ""]) -> None:
        """Nothing to remember."""

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Stay."""
        return jnp.int32(STAY), None


class Forager(Script):
    """Walks to the nearest thing worth having that it sees, and strolls where it sees none."""

    WANTS: tuple[str, ...] = ()
    SHUNS: tuple[str, ...] = ()

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """A step toward food, or a stroll."""
        return self.forage(view, random.bits(key), self.WANTS, self.SHUNS), None


def scripts(env: Environment[Any, Any]) -> dict[str, type[PurePlayer]]:
    """The scripts that suit every world."""
    return {"random": Uniform, "idle": Idle}
