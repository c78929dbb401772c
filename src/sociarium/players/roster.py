"""Seat strings: `kind[:ref][?k=v&k=v][*n]`, several separated by spaces."""

import re
from dataclasses import dataclass
from typing import Any

from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.players.protocol import PurePlayer
from sociarium.players.scripted import SCRIPTS, Uniform

KINDS = ("random", "script")
_SEAT = re.compile(r"(?P<kind>[a-z]+)(:(?P<ref>[^?*\s]+))?(\?(?P<options>[^*\s]+))?(\*(?P<n>\d+))?")


@dataclass(frozen=True)
class Seat:
    """One chair: the kind of player, which one, and its options."""

    kind: str
    ref: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.kind + (f":{self.ref}" if self.ref else "")


def parse(seats: str) -> tuple[Seat, ...]:
    """The chairs a seat string describes, in order."""
    chairs: list[Seat] = []
    for word in seats.split():
        match = _SEAT.fullmatch(word)
        if match is None:
            raise BadArgument(
                f"{word!r} is not a seat; write kind[:ref][?k=v&k=v][*n], as in script:forager*3"
            )
        if match["kind"] not in KINDS:
            raise UnknownName("kind of player", match["kind"], KINDS)
        pairs = [pair.partition("=") for pair in (match["options"] or "").split("&") if pair]
        options = tuple((name, value) for name, _, value in pairs)
        chairs += [Seat(match["kind"], match["ref"] or "", options)] * int(match["n"] or 1)
    return tuple(chairs)


def player(seat: Seat, env: Environment[Any, Any]) -> PurePlayer:
    """The player for a chair in this environment."""
    if seat.kind == "random":
        return Uniform(env)
    if seat.ref not in SCRIPTS:
        raise UnknownName("script", seat.ref, tuple(SCRIPTS))
    return SCRIPTS[seat.ref](env)
