"""Who sits where: one line-up in a lane, or a different one in every lane of a batch."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium import catalogue
from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument
from sociarium.players import roster

DRAWN_SEATS = 0x5EA7  # folds a lane's key into the stream its seats are drawn from


def chairs_for(env: Environment[Any, Any], seats: str) -> tuple[roster.Seat, ...]:
    """One chair for each player of the world; a single seat string fills them all."""
    chairs = roster.parse(seats)
    if len(chairs) == 1:
        chairs *= env.players
    if len(chairs) != env.players:
        raise BadArgument(f"{env.players} players need {env.players} seats; given {len(chairs)}")
    return chairs


def demonstration(cast: str, players: int) -> str:
    """The cast's seats, repeated or cut to the number of players."""
    chairs = [str(seat) for seat in roster.parse(cast)]
    return " ".join(chairs[seat % len(chairs)] for seat in range(players))


def seated(world: str, seats: str, players: int | None) -> tuple[Environment[Any, Any], str]:
    """A world of the catalogue with room for these seats, or with its demonstration if none."""
    chairs = len(roster.parse(seats))
    env = catalogue.make(world, players=players or (chairs if chairs > 1 else None))
    return env, seats or demonstration(catalogue.find(world).cast, env.players)


class Cast:
    """Pure players in their seats of one lane; players of one kind decide together."""

    def __init__(self, env: Environment[Any, Any], chairs: tuple[roster.Seat, ...]) -> None:
        kinds = dict.fromkeys(chairs)
        self.seats = [np.array([s for s, c in enumerate(chairs) if c == kind]) for kind in kinds]
        self.players = [roster.player(kind, env) for kind in kinds]
        self.order = np.argsort(np.concatenate(self.seats))

    def begin(self, key: Key[Array, ""]) -> list[Any]:
        """What everybody remembers at the start of the episode of this key."""
        return [
            jax.vmap(player.begin)(random.player_keys(key, seats))
            for player, seats in zip(self.players, self.seats, strict=True)
        ]

    def act(
        self,
        step_key: Key[Array, ""],
        view: View,
        legal: Bool[Array, "players actions"],
        minds: list[Any],
    ) -> tuple[Int[Array, " players"], list[Any]]:
        """Everybody's action, by seat, and what they remember."""
        actions, after = [], []
        for player, seats, mind in zip(self.players, self.seats, minds, strict=True):
            sees = jax.tree.map(lambda x, seats=seats: x[seats], view)
            keys = random.player_keys(step_key, seats)
            action, mind = jax.vmap(player.act)(keys, sees, legal[seats], mind)
            actions.append(action)
            after.append(mind)
        return jnp.concatenate(actions)[self.order], after


Places = tuple[Int[Array, " _"], ...]  # of each kind, its chairs as lane * players + seat


class Population:
    """Pure players of several kinds over many lanes, each lane with its own line-up.

    A kind decides for its own chairs only, wherever they are, so a batch of mixed line-ups costs
    what the same number of uniform ones would.
    """

    def __init__(
        self, env: Environment[Any, Any], kinds: Sequence[roster.Seat], sole: bool = False
    ) -> None:
        """With `sole`, the only kind has every chair, in order."""
        self.seats, self.sole = env.players, sole
        self.kinds = tuple(kinds)
        self.players = [roster.player(kind, env) for kind in kinds]

    def begin(self, keys: Key[Array, " lanes"], places: Places) -> list[Any]:
        """What everybody remembers at the start of the episodes of these keys."""
        return [
            jax.vmap(player.begin)(self._keys(keys, place))
            for player, place in zip(self.players, places, strict=True)
        ]

    def act(
        self,
        step_keys: Key[Array, " lanes"],
        view: View,
        legal: Bool[Array, "lanes players actions"],
        places: Places,
        minds: list[Any],
    ) -> tuple[Int[Array, "lanes players"], list[Any]]:
        """Everybody's action, by lane and seat, and what they remember."""
        lanes, seats, _ = legal.shape
        view, legal = jax.tree.map(lambda x: x.reshape(lanes * seats, *x.shape[2:]), (view, legal))
        actions, after = jnp.zeros(lanes * seats, jnp.int32), []
        for player, place, mind in zip(self.players, places, minds, strict=True):
            sees, may = view, legal
            if not self.sole:
                mine = lambda x, place=place: x.at[place].get(mode="clip")  # noqa: E731
                sees, may = jax.tree.map(mine, (view, legal))
            action, mind = jax.vmap(player.act)(self._keys(step_keys, place), sees, may, mind)
            actions = action if self.sole else actions.at[place].set(action, mode="drop")
            after.append(mind)
        return actions.reshape(lanes, seats), after

    def _keys(self, keys: Key[Array, " lanes"], place: Int[Array, " chairs"]) -> Any:
        moves = jax.vmap(lambda key: jax.random.fold_in(key, random.PLAYER_MOVES))(keys)
        lane = jnp.minimum(place // self.seats, len(keys) - 1)
        return jax.vmap(jax.random.fold_in)(moves[lane], place % self.seats)


def places(
    kind: Int[np.ndarray, "lanes players"], kinds: int, devices: int
) -> tuple[Int[np.ndarray, " _"], ...]:
    """The chairs of each kind, for lanes split evenly over devices, numbered within a device.

    Every device has equally many; a chair beyond the last lane stands for none.
    """
    blocks = np.reshape(kind, (devices, -1))
    found = []
    for number in range(kinds):
        chairs = [np.flatnonzero(block == number) for block in blocks]
        most = max(map(len, chairs))
        filled = [np.pad(c, (0, most - len(c)), constant_values=blocks.shape[1]) for c in chairs]
        found.append(np.concatenate(filled).astype(np.int32))
    return tuple(found)


def shuffled(
    kind: Int[np.ndarray, "lanes players"], seed: int, first: int = 0
) -> Int[np.ndarray, "lanes players"]:
    """Each lane's line-up with seats drawn by lot, from the seed and the lane's number alone."""
    lanes, players = kind.shape

    def words(lane: Int[Array, ""]) -> Array:
        key = jax.random.fold_in(random.key(seed), lane)
        return random.bits(jax.random.fold_in(key, DRAWN_SEATS), players)

    drawn = np.asarray(jax.vmap(words)(first + jnp.arange(lanes)))
    return np.take_along_axis(kind, np.argsort(drawn, axis=1, kind="stable"), axis=1)
