"""Who sits where: one line-up in a lane, or a different one in every lane of a batch."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

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
from sociarium.players.agents import decides_outside
from sociarium.players.decision import Answer
from sociarium.players.percept import Percept
from sociarium.players.protocol import HostPlayer, PurePlayer

AsyncFunction = Callable[[Percept], Awaitable[Answer]]
Chair = roster.Seat | PurePlayer | HostPlayer | AsyncFunction  # a seat string read, or a player
Seats = str | Chair | Sequence[str | Chair]
DRAWN_SEATS = 0x5EA7  # folds a lane's key into the stream its seats are drawn from


def chairs_for(env: Environment[Any, Any], seats: Seats) -> tuple[Chair, ...]:
    """One chair for each player of the world; a single one fills them all."""
    chairs = chairs_of(seats)
    if len(chairs) == 1:
        chairs *= env.players
    if len(chairs) != env.players:
        raise BadArgument(
            f"{env.players} players need {env.players} seats; given {len(chairs)}. One seat alone "
            "fills them all"
        )
    return chairs


def demonstration(cast: str, players: int) -> str:
    """The cast's seats, repeated or cut to the number of players."""
    chairs = [str(seat) for seat in roster.parse(cast)]
    return " ".join(chairs[seat % len(chairs)] for seat in range(players))


def seated(world: str, seats: str, players: int | None) -> tuple[Environment[Any, Any], str]:
    """A world of the catalogue with room for these seats, or with its demonstration if none."""
    chairs = len(roster.parse(seats))
    wanted = chairs if players is None and chairs > 1 else players
    env = catalogue.make(world, players=wanted)
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
    given = [seats] if isinstance(seats, str) or not isinstance(seats, Sequence) else seats
    chairs: list[Chair] = []
    for seat in given:
        if isinstance(seat, str):
            chairs += roster.parse(seat)
        elif _is_chair(seat):
            chairs.append(seat)
        else:
            raise BadArgument(
                "a seat is a string such as 'script:cooperator', a player with begin and act, or "
                f"an async function of a percept; given {seat!r}"
            )
    return tuple(chairs)


def _is_chair(seat: Any) -> TypeGuard[Chair]:
    return isinstance(seat, roster.Seat | PurePlayer) or decides_outside(seat)


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
            players.append(roster.player(chair, env) if named else _pure(chair))
        who.append(number[key])
    return Lineup(names_of(chairs), Roster(tuple(players)), np.array(who, np.int32))


def _pure(player: Any) -> PurePlayer:
    if decides_outside(player):
        raise BadArgument(
            f"{name_of(player)} decides outside compiled code: seat it in a Match, where players "
            "are awaited"
        )
    return player


def names_of(chairs: Sequence[Chair | None]) -> tuple[str, ...]:
    """What chairs are called in a record; different players of one name are numbered."""
    names = ["" if chair is None else name_of(chair) for chair in chairs]
    alike: dict[str, list[Any]] = {}
    for name, chair in zip(names, chairs, strict=True):
        if chair is not None and not isinstance(chair, roster.Seat):
            others = alike.setdefault(name, [])
            if not any(chair is other for other in others):
                others.append(chair)
    for place, chair in enumerate(chairs):
        several = alike.get(names[place], [])
        if len(several) > 1:
            which = next(n for n, other in enumerate(several, 1) if other is chair)
            names[place] = f"{names[place]}-{which}"
    return tuple(names)


def name_of(chair: Chair) -> str:
    """What a chair is called in a record."""
    if isinstance(chair, roster.Seat):
        return str(chair)
    return f"agent:{getattr(chair, '__name__', type(chair).__name__)}"


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
