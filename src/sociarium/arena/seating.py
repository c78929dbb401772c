"""Who sits where: one line-up in a lane, or a different one in every lane of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from sociarium import catalogue
from sociarium.arena.seat_policies import Roster, Seating, SeatPolicies
from sociarium.core import random
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.players import roster
from sociarium.players.protocol import PurePlayer

Chair = roster.Seat | PurePlayer  # a seat string that was read, or a player
Seats = str | Sequence[str | Chair]
DRAWN_SEATS = 0x5EA7  # folds a lane's key into the stream its seats are drawn from


def chairs_for(env: Environment[Any, Any], seats: Seats) -> tuple[Chair, ...]:
    """One chair for each player of the world; a single one fills them all."""
    chairs = chairs_of(seats)
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


@dataclass(frozen=True)
class Lineup:
    """Who sits in each seat of a lane: names by seat, the players, and which of them by number."""

    names: tuple[str, ...]
    roster: Roster
    who: Int[np.ndarray, " seats"]

    def seated(self, lanes: int = 1) -> tuple[SeatPolicies, Seating]:
        """The players in the same seats of so many lanes."""
        return self.roster.seated(np.tile(self.who, (lanes, 1)))


def chairs_of(seats: Seats) -> tuple[Chair, ...]:
    """The chairs, one after another, that a seat string or a list of players describes."""
    if isinstance(seats, str):
        return roster.parse(seats)
    chairs: list[Chair] = []
    for seat in seats:
        chairs += roster.parse(seat) if isinstance(seat, str) else [seat]
    return tuple(chairs)


def lineup(env: Environment[Any, Any], chairs: Sequence[Chair | None]) -> Lineup:
    """These chairs with their players; equal seat strings are one player.

    Somebody else decides for a chair that is None: no player sits there (-1).
    """
    players: list[PurePlayer] = []
    number: dict[Any, int] = {}
    who: list[int] = []
    for chair in chairs:
        if chair is None:
            who.append(-1)
            continue
        named = isinstance(chair, roster.Seat)
        key = chair if named else id(chair)
        if key not in number:
            number[key] = len(players)
            players.append(roster.player(chair, env) if named else chair)
        who.append(number[key])
    names = tuple("" if chair is None else name_of(chair) for chair in chairs)
    return Lineup(names, Roster(tuple(players)), np.array(who, np.int32))


def name_of(chair: Chair) -> str:
    """What a chair is called in a record."""
    return str(chair) if isinstance(chair, roster.Seat) else f"agent:{type(chair).__name__}"


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
