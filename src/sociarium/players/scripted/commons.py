"""Users of a commons, who see how much is left and what the others took."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium.core.environment import View
from sociarium.core.errors import BadArgument
from sociarium.envs.rounds.commons import Commons
from sociarium.players.scripted.script import Script


class FixedDemand(Script):
    """Always asks for the same number of units."""

    def __init__(self, env: Commons, units: int = 1) -> None:
        super().__init__(env)
        if not 0 <= units <= env.most:
            raise BadArgument(f"one can ask for 0 to {env.most} units; given {units}")
        self.units = units

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """So many."""
        return jnp.int32(self.units), None


class Modest(FixedDemand):
    """Always asks for one unit."""

    def __init__(self, env: Commons) -> None:
        super().__init__(env, 1)


class LargestDemand(FixedDemand):
    """Always asks for as much as it may."""

    def __init__(self, env: Commons) -> None:
        super().__init__(env, env.most)


class Sustainable(Script):
    """Asks for one unit while the stock is at least `enough`, else for none."""

    def __init__(self, env: Commons, enough: float = 30.0) -> None:
        super().__init__(env)
        names = [spec.name for spec in env.view_spec.shared]
        self.stock, self.taken = names.index("stock"), names.index("taken by all")
        self.enough = round(enough / env.view_spec.shared[self.stock].unit)
        self.most, self.players = env.most, env.players

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """One, or none."""
        return (view.shared[self.stock] >= self.enough).astype(jnp.int32), None


class Reciprocator(Sustainable):
    """Sustainable, but asks for the most after a round in which the others got 1.5 on average."""

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """As the others did."""
        others = view.shared[self.taken].astype(jnp.int32) - self.sight.own(view, "I got")
        provoked = 2 * others > 3 * 100 * (self.players - 1)  # in hundredths of a unit
        fair, _ = super().decide(key, view, legal, memory)
        return jnp.where(provoked, self.most, fair).astype(jnp.int32), None


SCRIPTS: dict[str, Any] = {
    "sustainable": Sustainable,
    "greedy": LargestDemand,
    "reciprocator": Reciprocator,
    "modest": Modest,
    "fixed": FixedDemand,
    "cooperator": Sustainable,
    "defector": LargestDemand,
}
SKILLS = ()  # a round is one step, and every move an action
