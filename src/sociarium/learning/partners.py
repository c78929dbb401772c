"""Who plays beside learners: the same players in the last seats, or others in every episode.

Partners that are drawn come out of a pool, one into each seat that does not learn, and learners sit
in seats drawn by lot: both anew in every lane at the start of every episode, from its key alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium.arena.seat_policies import Seating, SeatPolicies, rows_of_chairs
from sociarium.arena.seating import DRAWN_SEATS, lineup
from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument
from sociarium.mechanics.layout import merged
from sociarium.players.roster import Seat


@dataclass(frozen=True)
class Partners:
    """Frozen players: `fixed` ones in the last seats, or a `pool` to draw from for each episode.

    With a pool, `learners` seats learn; otherwise all do that are not taken.
    """

    fixed: tuple[Seat, ...] = ()
    pool: tuple[Seat, ...] = ()
    learners: int = 1

    def learning(self, players: int) -> int:
        """How many of so many seats learn."""
        if self.fixed and self.pool:
            raise BadArgument(
                "others sit in the last seats of all episodes, or partners are drawn for each: "
                f"give one of the two; given {_told(self.fixed)} and {_told(self.pool)}"
            )
        if self.learners != 1 and not self.pool:
            raise BadArgument(
                f"learners are counted beside partners that are drawn; given {self.learners} "
                "learners and no partners"
            )
        learn = self.learners if self.pool else players - len(self.fixed)
        if self.pool and not 1 <= learn < players:
            raise BadArgument(
                f"beside partners 1 to {players - 1} of {players} seats learn; given {learn}"
            )
        if learn < 1:
            raise BadArgument(f"{len(self.fixed)} others leave no seat to learn in {players} seats")
        return learn


ALONE = Partners()


class SeatDraw(NamedTuple):
    """Who sits where in every lane, in this episode."""

    learners: Int[Array, "lanes learners"]  # their seats
    others: Int[Array, "lanes others"]  # the seats of all others
    who: Int[Array, "lanes others"]  # which of the players each of them is


class SeatSampler:
    """Deals the seats of `lanes` lanes, and plays the frozen players in theirs."""

    def __init__(self, env: Environment[Any, Any], lanes: int, partners: Partners) -> None:
        self.players, self.lanes, self.drawn = env.players, lanes, bool(partners.pool)
        self.learners = partners.learning(env.players)
        self.lineup = lineup(env, partners.pool or partners.fixed)
        self.roster = self.lineup.roster
        self.policies = SeatPolicies(self.roster.structures, env.players)
        self.arrays = self.roster.arrays
        # Of each structure, the others' places in which it may be found.
        self.places = [
            np.arange(self.others) if self.drawn else np.flatnonzero(np.isin(self.lineup.who, some))
            for some in self.roster.members
        ]

    @property
    def others(self) -> int:
        """Seats that do not learn."""
        return self.players - self.learners

    def deal(self, keys: Key[Array, " lanes"]) -> SeatDraw:
        """Who sits where in the episodes of these keys."""
        if not self.drawn:
            seats = jnp.broadcast_to(jnp.arange(self.players), (len(keys), self.players))
            who = jnp.broadcast_to(jnp.asarray(self.lineup.who), (len(keys), self.others))
            return SeatDraw(seats[:, : self.learners], seats[:, self.learners :], who)
        pool = jnp.asarray(self.lineup.who)  # equal players of a pool are one, and come as often

        def lane(key: Key[Array, ""]) -> SeatDraw:
            k_seats, k_who = jax.random.split(jax.random.fold_in(key, DRAWN_SEATS))
            order = jnp.argsort(random.bits(k_seats, self.players))
            drawn = random.randint_from_bits(
                random.bits(k_who, self.others), jnp.full(self.others, len(pool))
            )
            return SeatDraw(order[: self.learners], order[self.learners :], pool[drawn])

        return jax.vmap(lane)(keys)

    def own(self, tree: Any, seats: SeatDraw) -> Any:
        """What belongs to the learners, of arrays with the axes (lane, seat, ...)."""
        if not self.drawn:
            return jax.tree.map(lambda x: x[:, : self.learners], tree)
        return by_seat(tree, seats.learners)

    def learners_first(self, tree: Any, seats: SeatDraw) -> Any:
        """The same arrays with the learners before all others."""
        if not self.drawn:
            return tree
        return by_seat(tree, jnp.concatenate([seats.learners, seats.others], 1))

    def with_learners(
        self,
        actions: Int[Array, "lanes players"],
        own: Int[Array, "lanes learners"],
        seats: SeatDraw,
    ) -> Int[Array, "lanes players"]:
        """Everybody's actions, with those of the learners in their seats."""
        if not self.drawn:
            return actions.at[:, : self.learners].set(own)
        return actions.at[jnp.arange(len(own))[:, None], seats.learners].set(own)

    def begin(self, keys: Key[Array, " lanes"], seats: SeatDraw) -> list[Any]:
        """What everybody remembers at the start of these episodes, by chair."""
        seating = self._seating(seats)
        return self._by_chair(self.policies.begin(keys, seating), seating)

    def act(
        self,
        keys: Key[Array, " lanes"],
        view: View,
        legal: Bool[Array, "lanes players actions"],
        seats: SeatDraw,
        memories: list[Any],
    ) -> tuple[Int[Array, "lanes players"], list[Any]]:
        """What the frozen players do (0 in the seats of learners) and remember then."""
        seating = self._seating(seats)
        gathered = [
            jax.tree.map(lambda x, c=chairs: _flat(x, 2).at[c].get(mode="clip"), memory)
            for memory, chairs in zip(memories, seating.chairs, strict=True)
        ]
        actions, after = self.policies.act(keys, view, legal, seating, gathered)
        return actions, self._by_chair(after, seating)

    def renewed(
        self,
        seats: SeatDraw,
        memories: list[Any],
        ended: Bool[Array, " lanes"],
        keys: Key[Array, " lanes"],
    ) -> tuple[SeatDraw, list[Any]]:
        """Seats and memories after a step: new ones where a lane has ended."""
        if not self.others:
            return seats, memories

        def again() -> tuple[SeatDraw, list[Any]]:
            dealt = merged(ended, self.deal(keys), seats)
            return dealt, merged(ended, self.begin(keys, dealt), memories)

        return jax.lax.cond(ended.any(), again, lambda: (seats, memories))

    def _seating(self, seats: SeatDraw) -> Seating:
        """The chairs of each structure, as `SeatPolicies` takes them."""
        lanes = len(seats.who)
        chair = jnp.arange(lanes)[:, None] * self.players + seats.others
        found = []
        for structure, members, places in zip(
            self.roster.structures, self.roster.members, self.places, strict=True
        ):
            taken, who = chair[:, places].ravel(), seats.who[:, places].ravel()
            found.append(rows_of_chairs(structure, members, taken, who, lanes * self.players))
        rows, owners = zip(*found, strict=True) if found else ((), ())
        return Seating(self.arrays, rows, owners)

    def _by_chair(self, memories: list[Any], seating: Seating) -> list[Any]:
        """Memories in the order of chairs, (lane, seat, ...); those nobody owns mean nothing."""

        def ordered(memory: Any, chairs: Int[Array, "..."]) -> Any:
            rows = jnp.arange(chairs.size, dtype=jnp.int32)
            row = jnp.zeros(self.lanes * self.players, jnp.int32)
            row = row.at[chairs.ravel()].set(rows, mode="drop").reshape(self.lanes, self.players)
            return jax.tree.map(lambda x: _flat(x, chairs.ndim)[row], memory)

        return [ordered(*pair) for pair in zip(memories, seating.chairs, strict=True)]


def by_seat(tree: Any, seats: Int[Array, "lanes some"]) -> Any:
    """These seats of arrays with the axes (lane, seat, ...), other ones in every lane."""
    lane = jnp.arange(len(seats))[:, None]
    return jax.tree.map(lambda x: x[lane, seats], tree)


def _flat(x: Array, axes: int) -> Array:
    """The first axes as one."""
    return x.reshape(-1, *x.shape[axes:])


def _told(seats: Sequence[Seat]) -> str:
    return " ".join(map(str, seats))
