"""Who sits where: one line-up in a lane, or a different one in every lane of a batch."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from sociarium import catalogue
from sociarium.arena.seat_policies import PlayerStructure, Roster, Seating, SeatPolicies
from sociarium.core import random
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.percept_builder import default_names
from sociarium.players import roster
from sociarium.players.lifting import Decider, Function, is_host_player
from sociarium.players.protocol import HostPlayer, PurePlayer

# A seat string read, or a player.
Chair = roster.Seat | PurePlayer | HostPlayer | Decider | Function
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


def world_for(
    env: Environment[Any, Any] | str, seats: Seats, players: int | None = None
) -> Environment[Any, Any]:
    """The environment, or the one of this name with a player for each of several seats."""
    if not isinstance(env, str):
        return env
    chairs = len(chairs_of(seats))
    return catalogue.make(env, players=chairs if players is None and chairs > 1 else players)


@dataclass(frozen=True)
class Lineup:
    """Who sits in each seat of a lane: names by seat, the players, and which of them by number.

    `sources` has what each player was made from: a seat, or the player itself.
    """

    names: tuple[str, ...]
    roster: Roster
    who: Int[np.ndarray, " seats"]
    sources: tuple[Any, ...] = ()

    def seated(self, lanes: int = 1) -> tuple[SeatPolicies, Seating]:
        """The players in the same seats of so many lanes."""
        return self.roster.seated(np.tile(self.who, (lanes, 1)))

    def seated_anywhere(self) -> tuple[SeatPolicies, Seating]:
        """The players in one lane, in which they may change seats."""
        return self.roster.seated_anywhere(self.who)

    def reseated(self, env: Environment[Any, Any], seat: int, chair: Chair | None) -> "Lineup":
        """The line-up with somebody else in a seat; None: somebody outside decides there.

        A player that is known is not made again. A new one takes the place of one of its structure
        that sits nowhere, if there is one, so that nothing need be compiled.
        """
        who, players, sources = self.who.copy(), list(self.roster.players), list(self.sources)
        who[seat] = -1
        if chair is not None:
            number = _number(sources, chair)
            if number is None:
                made = _player(chair, env)
                idle = (n for n in range(len(players)) if n not in who)
                alike = PlayerStructure.of(made)
                number = next((n for n in idle if self.roster.of[n] == alike), len(players))
                players[number : number + 1] = [made]
                sources[number : number + 1] = [chair]
            who[seat] = number
        return Lineup(self.names, Roster(tuple(players)), who, tuple(sources))


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
                "a seat is a string such as 'script:cooperator', a player with begin and act, a "
                f"host player, or a function of a percept; given {seat!r}"
            )
    return tuple(chairs)


def _is_chair(seat: Any) -> TypeGuard[Chair]:
    return isinstance(seat, roster.Seat | PurePlayer) or is_host_player(seat)


def lineup(env: Environment[Any, Any], chairs: Sequence[Chair | None]) -> Lineup:
    """These chairs with their players; equal seat strings are one player.

    Somebody else decides for a chair that is None: no player sits there (-1).
    """
    players: list[PurePlayer] = []
    sources: list[Chair] = []
    who: list[int] = []
    for chair in chairs:
        if chair is None:
            who.append(-1)
            continue
        number = _number(sources, chair)
        if number is None:
            number = len(players)
            players.append(_player(chair, env))
            sources.append(chair)
        who.append(number)
    numbers = np.array(who, np.int32)
    return Lineup(names_of(chairs), Roster(tuple(players)), numbers, tuple(sources))


def _number(sources: Sequence[Any], chair: Chair) -> int | None:
    """Which of the players that were made from `sources` sits on such a chair."""
    for number, source in enumerate(sources):
        if source is chair or (
            isinstance(chair, roster.Seat)
            and isinstance(source, roster.Seat)
            and (source.kind, source.ref, source.own_options)
            == (chair.kind, chair.ref, chair.own_options)
        ):
            return number
    return None


def _player(chair: Chair, env: Environment[Any, Any]) -> PurePlayer:
    return roster.player(chair, env) if isinstance(chair, roster.Seat) else _pure(chair)


def _pure(player: Any) -> PurePlayer:
    if is_host_player(player):
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


NOBODYS = ("all", "you", "somebody", "nobody")  # words that are no names


def player_names(chairs: Sequence[Chair], given: Mapping[int, str]) -> tuple[str, ...]:
    """What players call each other: as given, as their seat strings say, or by their seats."""
    names = []
    for seat, name in enumerate(default_names(len(chairs))):
        chair = chairs[seat]
        own = chair.name if isinstance(chair, roster.Seat) else ""
        names.append(given.get(seat, own) or name)
    often, many = Counter(name.casefold() for name in names).most_common(1)[0]
    if many > 1:
        given = next(name for name in names if name.casefold() == often)
        raise BadArgument(f"every player has a name of its own; {given!r} is given {many} times")
    for name in names:
        if name.casefold() in NOBODYS or not name[0].isalnum():
            raise BadArgument(
                "the name of a player begins with a letter or a digit, and is none of "
                f"{', '.join(NOBODYS)}; given {name!r}"
            )
    return tuple(names)


def decides_outside(chair: Chair) -> bool:
    """Whether a host player sits on a chair."""
    return chair.outside if isinstance(chair, roster.Seat) else is_host_player(chair)


def same_kind(one: Chair, other: Chair) -> bool:
    """Whether a player can go on with what the other remembers."""
    if isinstance(one, roster.Seat) and isinstance(other, roster.Seat):
        return one.kind == other.kind and (one.ref == other.ref or one.kind == "policy")
    return type(one) is type(other)


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
