"""Pure players in their seats, of one lane or of many, deciding inside compiled code.

Players are values: a player is a PyTree, and its arrays (weights) are arguments of programs. Two
players have one structure if they differ in nothing but the numbers in their arrays. Players of one
structure are stacked and decide together, in blocks of `BLOCK` chairs that belong to one player
each, so that a hundred checkpoints of one network are one program, and a policy computes the same
bits alone in a match and among thousands of lanes. A structure without arrays needs no blocks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium.core import random
from sociarium.core.environment import View
from sociarium.mechanics.layout import merged
from sociarium.players.protocol import PurePlayer

BLOCK = 32  # chairs of one player that decide together


@dataclass(frozen=True)
class PlayerStructure:
    """What players have in common who differ only in the numbers in their arrays."""

    statics: tuple[Any, ...]  # leaves that are no arrays, such as a whole script
    tree: Any
    shapes: tuple[tuple[tuple[int, ...], str], ...]  # and types, of the arrays

    @classmethod
    def of(cls, player: PurePlayer) -> "PlayerStructure":
        """The structure of a player."""
        arrays, statics = eqx.partition(player, eqx.is_array)
        leaves, tree = jax.tree.flatten(statics, is_leaf=lambda leaf: leaf is None)
        shapes = ((x.shape, str(x.dtype)) for x in jax.tree.leaves(arrays))
        return cls(tuple(leaves), tree, tuple(shapes))

    def player(self, arrays: Any) -> Any:
        """The player of this structure with these arrays."""
        return eqx.combine(arrays, jax.tree.unflatten(self.tree, self.statics))


class Seating(NamedTuple):
    """Who sits where, for each structure.

    `arrays` are those of its players, stacked; `chairs` its chairs as lane * seats + seat, in rows
    of one block, where a number beyond the last chair is nobody; `owner` whose each block is.
    Without arrays the chairs are one row for all.
    """

    arrays: Any
    chairs: Any
    owner: Any


@dataclass(frozen=True)
class SeatPolicies:
    """The structures of all players in `seats` seats a lane; equal ones share their programs.

    With `sole`, one player has every chair of every lane.
    """

    structures: tuple[PlayerStructure, ...]
    seats: int
    sole: bool = False

    @property
    def have_weights(self) -> bool:
        """Whether any player computes with numbers that are not whole."""
        types = {dtype for structure in self.structures for _, dtype in structure.shapes}
        return any("float" in dtype for dtype in types)

    def begin(self, keys: Key[Array, "*lanes"], seating: Seating) -> list[Any]:
        """What everybody remembers at the start of the episodes of these keys."""
        return [
            self._each(number, seating, lambda player, key: player.begin(key), (drawn,))
            for number, drawn in enumerate(self._keys(keys, seating))
        ]

    def act(
        self,
        step_keys: Key[Array, "*lanes"],
        view: View,
        legal: Bool[Array, "*lanes seats actions"],
        seating: Seating,
        memories: list[Any],
    ) -> tuple[Int[Array, "*lanes seats"], list[Any]]:
        """Everybody's action, by seat, and what they remember then."""
        lanes = legal.shape[:-2]
        every = math.prod(lanes) * self.seats
        flat = lambda x: x.reshape(every, *x.shape[len(lanes) + 1 :])  # noqa: E731
        seen = jax.tree.map(flat, (view, legal))
        actions, after = jnp.zeros(every, jnp.int32), []
        drawn = self._keys(step_keys, seating)
        for number, (keys, memory) in enumerate(zip(drawn, memories, strict=True)):
            chairs = jnp.asarray(seating.chairs[number])
            given = (keys, *self._seen(seen, chairs), memory)
            chosen, memory = self._each(number, seating, lambda player, *x: player.act(*x), given)
            if self.sole:
                actions = chosen.reshape(-1)[:every]
            else:
                actions = actions.at[chairs.ravel()].set(chosen.ravel(), mode="drop")
            after.append(memory)
        return actions.reshape(*lanes, self.seats), after

    def renewed(
        self,
        memories: list[Any],
        ended: Bool[Array, " lanes"],
        keys: Key[Array, " lanes"],
        seating: Seating,
    ) -> list[Any]:
        """Memories of players who forget where a lane has ended; `keys` are the new episodes'."""
        if not memories:
            return memories

        def forget() -> list[Any]:
            fresh, found = self.begin(keys, seating), []
            for blank, memory, chairs in zip(fresh, memories, seating.chairs, strict=True):
                lane = jnp.minimum(jnp.asarray(chairs) // self.seats, len(ended) - 1)
                found.append(merged(ended[lane], blank, memory))
            return found

        return jax.lax.cond(ended.any(), forget, lambda: memories)

    def _seen(self, seen: Any, chairs: Int[Array, "..."]) -> Any:
        """What the players on these chairs see and may do."""
        if self.sole and chairs.size == len(seen[1]):
            return jax.tree.map(lambda x: x.reshape(*chairs.shape, *x.shape[1:]), seen)
        return jax.tree.map(lambda x: x.at[chairs].get(mode="clip"), seen)

    def _each(self, number: int, seating: Seating, decide: Any, given: Any) -> Any:
        """Has every chair of a structure decided for by its player."""
        structure, arrays = self.structures[number], seating.arrays[number]
        if not structure.shapes:
            player = structure.player(arrays)
            return jax.vmap(lambda *x: decide(player, *x))(*given)

        def block(arrays: Any, *given: Any) -> Any:
            player = structure.player(arrays)
            return jax.vmap(lambda *x: decide(player, *x))(*given)

        if len(jax.tree.leaves(arrays)[0]) == 1:
            only = jax.tree.map(lambda x: x[0], arrays)
            return jax.vmap(lambda *x: block(only, *x))(*given)
        owner = jnp.asarray(seating.owner[number])
        own = jax.tree.map(lambda x: x.at[owner].get(mode="promise_in_bounds"), arrays)
        return jax.vmap(block)(own, *given)

    def _keys(self, keys: Key[Array, "*lanes"], seating: Seating) -> list[Key[Array, "..."]]:
        """The key from which each chair draws, by structure: `random.player_keys` of its lane."""
        lanes = keys.reshape(-1)
        moves = jax.vmap(lambda key: jax.random.fold_in(key, random.PLAYER_MOVES))(lanes)

        def chair(number: Int[Array, ""]) -> Key[Array, ""]:
            lane = jnp.minimum(number // self.seats, len(lanes) - 1)
            return jax.random.fold_in(moves[lane], number % self.seats)

        every = [jnp.asarray(chairs) for chairs in seating.chairs]
        return [jax.vmap(chair)(c.ravel()).reshape(c.shape) for c in every]


@dataclass(frozen=True)
class Roster:
    """Players that may sit somewhere, each in the stack of its structure."""

    players: tuple[PurePlayer, ...]

    @cached_property
    def structures(self) -> tuple[PlayerStructure, ...]:
        """The structures there are, in the order in which they first come."""
        return tuple(dict.fromkeys(self.of))

    @cached_property
    def of(self) -> tuple[PlayerStructure, ...]:
        """The structure of each player."""
        return tuple(map(PlayerStructure.of, self.players))

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Of each structure, the numbers of its players."""
        return tuple(
            tuple(n for n, mine in enumerate(self.of) if mine == structure)
            for structure in self.structures
        )

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """Of each structure, the arrays of its players, stacked."""
        every = [eqx.filter(player, eqx.is_array) for player in self.players]
        return tuple(
            jax.tree.map(lambda *x: jnp.stack(x), *(every[n] for n in members))
            for members in self.members
        )

    def seated(
        self, who: Int[np.ndarray, "lanes seats"], devices: int = 1
    ) -> tuple[SeatPolicies, Seating]:
        """These players on the chairs that `who` says by number (-1: somebody else decides).

        Lanes are split evenly over devices, and chairs numbered within each; all devices have
        equally many blocks.
        """
        seats, parts = who.shape[1], np.reshape(who, (devices, -1))
        sole = len(self.players) == 1 and bool((who == 0).all())
        chairs, owners = [], []
        for structure, members in zip(self.structures, self.members, strict=True):
            blocks = [_blocks(part, members, structure) for part in parts]
            most = max(len(owner) for _, owner in blocks)
            chairs.append(
                np.concatenate([_filled(taken, most, parts.shape[1]) for taken, _ in blocks])
            )
            owners.append(np.concatenate([_filled(owner, most, 0) for _, owner in blocks]))
        policies = SeatPolicies(self.structures, seats, sole)
        return policies, Seating(self.arrays, tuple(chairs), tuple(owners))

    def seated_anywhere(self, who: Int[np.ndarray, " seats"]) -> tuple[SeatPolicies, Seating]:
        """These players in one lane, so that any of them could sit in any seat.

        Who sits where changes no shape, and a seat has its own place for each player, where its
        memory is: the programs of one line-up play all others of the same players.
        """
        seats, blocks = len(who), -(-len(who) // BLOCK)
        chairs, owners = [], []
        for structure, members in zip(self.structures, self.members, strict=True):
            if not structure.shapes:
                mine = np.isin(who, members)
                chairs.append(np.where(mine, np.arange(seats), seats).astype(np.int32))
                owners.append(np.zeros(seats, np.int32))
                continue
            mine = np.array([who == member for member in members])
            rows = np.where(mine, np.arange(seats), seats)
            rows = np.pad(rows, ((0, 0), (0, blocks * BLOCK - seats)), constant_values=seats)
            chairs.append(rows.reshape(-1, BLOCK).astype(np.int32))
            owners.append(np.repeat(np.arange(len(members), dtype=np.int32), blocks))
        policies = SeatPolicies(self.structures, seats)
        return policies, Seating(self.arrays, tuple(chairs), tuple(owners))


def rows_of_chairs(
    structure: PlayerStructure,
    members: Sequence[int],
    chairs: Int[Array, " chairs"],
    who: Int[Array, " chairs"],
    nobody: int,
) -> tuple[Int[Array, "..."], Int[Array, " rows"]]:
    """As `_blocks`, of chairs whose players are known only when the program runs."""
    mine = who[None] == jnp.asarray(members)[:, None]
    if not structure.shapes:
        return jnp.where(mine.any(0), chairs, nobody), jnp.zeros(len(chairs), jnp.int32)
    most = -(-len(chairs) // BLOCK) + (len(members) if len(members) > 1 else 0)
    blocks = -(-mine.sum(1) // BLOCK)
    last = jnp.cumsum(blocks)
    place = (last - blocks)[:, None] * BLOCK + jnp.cumsum(mine, 1) - 1
    place = jnp.where(mine, place, most * BLOCK).min(0)
    rows = jnp.full(most * BLOCK, nobody).at[place].set(chairs, mode="drop")
    owner = jnp.searchsorted(last, jnp.arange(most), side="right")
    return rows.reshape(most, BLOCK), jnp.minimum(owner, len(members) - 1).astype(jnp.int32)


def _filled(rows: Int[np.ndarray, "rows ..."], most: int, nobody: int) -> np.ndarray:
    """So many rows, those that were missing full of one number."""
    width = ((0, most - len(rows)),) + ((0, 0),) * (rows.ndim - 1)
    return np.pad(rows, width, constant_values=nobody).astype(np.int32)


def _blocks(
    part: Int[np.ndarray, " chairs"], members: Sequence[int], structure: PlayerStructure
) -> tuple[Int[np.ndarray, "..."], Int[np.ndarray, " blocks"]]:
    """The chairs of a structure's players in rows of one block, and whose each row is.

    There are as many rows as any line-up of so many chairs could need. Without arrays the chairs
    are one row, and so are their owners.
    """
    if not structure.shapes:
        taken = np.flatnonzero(np.isin(part, members))
        return taken, np.zeros(len(taken), int)
    rows: list[np.ndarray] = []
    owner: list[int] = []
    for place, member in enumerate(members):
        taken = np.flatnonzero(part == member)
        for first in range(0, len(taken), BLOCK):
            row = taken[first : first + BLOCK]
            rows.append(np.pad(row, (0, BLOCK - len(row)), constant_values=len(part)))
            owner.append(place)
    held = int(np.isin(part, members).sum())
    most = -(-held // BLOCK) + (len(members) if len(members) > 1 else 0)
    nobody = [np.full(BLOCK, len(part))] * (most - len(rows))
    return np.array([*rows, *nobody]).reshape(-1, BLOCK), np.array([*owner, *([0] * len(nobody))])
