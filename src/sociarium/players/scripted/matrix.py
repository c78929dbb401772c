"""Players of games in one table: by a fixed move, or by what was played before.

Moves are ordered as the game lists them, the least cooperative first.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium.core.environment import View
from sociarium.core.errors import BadArgument
from sociarium.envs.rounds.matrix import Matrix
from sociarium.players.scripted.script import Script


class Strategy(Script):
    """The base: knows the cooperative move, and reads what everybody just played."""

    def __init__(self, env: Matrix) -> None:
        super().__init__(env)
        self.moves, self.players = len(env.game.moves), env.players
        self.best = env.game.best

    def last(self, view: View) -> Int[Array, " players"]:
        """The move that everybody made in the last round, or -1 before the first."""
        return view.shared[1 : 1 + self.players].astype(jnp.int32) - 1

    def of_others(self, view: View) -> Int[Array, ""]:
        """The least of the moves that others made in the last round; the best before the first."""
        last, me = self.last(view), jnp.arange(self.players) == self.sight.own(view, "seat")
        least = jnp.min(jnp.where(me, self.moves, last))
        return jnp.where((last < 0).all(), self.best, jnp.minimum(least, self.moves - 1))


class FixedMove(Strategy):
    """Always makes the same `move`, counted from 0."""

    def __init__(self, env: Matrix, move: int = 0) -> None:
        super().__init__(env)
        if not 0 <= move < self.moves:
            raise BadArgument(f"moves are 0 to {self.moves - 1}; given {move}")
        self.move = move

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """That move."""
        return jnp.int32(1 + self.move), None


class AlwaysCooperate(FixedMove):
    """Always makes the cooperative move."""

    def __init__(self, env: Matrix) -> None:
        super().__init__(env, env.game.best)


class AlwaysDefect(FixedMove):
    """Always makes the first move."""

    def __init__(self, env: Matrix) -> None:
        super().__init__(env, 0)


class TitForTat(Strategy):
    """Begins with the cooperative move, then makes the least that any other made."""

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """What was done to it."""
        return (1 + self.of_others(view)).astype(jnp.int32), None


class Grim(Strategy):
    """Makes the cooperative move until somebody makes another, and then the first for ever."""

    def begin(self, key: Key[Array, ""]) -> Bool[Array, ""]:
        """Nobody has let it down."""
        return jnp.bool_(False)

    def decide(
        self,
        key: Key[Array, ""],
        view: View,
        legal: Bool[Array, " actions"],
        memory: Bool[Array, ""],
    ) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """The best, or the first move."""
        hurt = memory | (self.of_others(view) != self.best)
        return jnp.where(hurt, 1, 1 + self.best).astype(jnp.int32), hurt


class WinStay(Strategy):
    """Repeats its move while that paid at least what all would get who cooperate; else changes.

    It changes between the cooperative and the first move.
    """

    def __init__(self, env: Matrix) -> None:
        super().__init__(env)
        self.payoffs = env.game.payoffs
        self.cooperated = self.payoffs[(self.best,) * env.players]

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """Stay with what wins."""
        last, seat = self.last(view), self.sight.own(view, "seat")
        started = (last >= 0).all()
        known = jnp.maximum(last, 0)
        paid = jnp.asarray(self.payoffs)[tuple(known[n] for n in range(self.players))][seat]
        won = paid >= jnp.asarray(self.cooperated)[seat]
        mine = known[seat]
        other = jnp.where(mine == self.best, 0, self.best)
        return (1 + jnp.where(started, jnp.where(won, mine, other), self.best)).astype(
            jnp.int32
        ), None


SCRIPTS: dict[str, Any] = {
    "cooperator": AlwaysCooperate,
    "defector": AlwaysDefect,
    "fixed": FixedMove,
    "tit_for_tat": TitForTat,
    "grim": Grim,
    "win_stay": WinStay,
}
SKILLS = ()  # a round is one step, and every move an action
