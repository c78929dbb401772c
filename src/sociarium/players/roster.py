"""Seat strings: `kind[:ref][?k=v&k=v][*n]`, several separated by spaces."""

import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sociarium import catalogue
from sociarium.charters.society import Society
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.extensions import extensions
from sociarium.core.queries import read_query, write_query
from sociarium.players.policy import load_policy, trained_in
from sociarium.players.protocol import PurePlayer
from sociarium.players.scripted import anywhere, social
from sociarium.players.society_policy import SocietyPolicy

AGENT = "agent"  # decides outside compiled code
KINDS = ("random", "idle", "script", "policy", AGENT)
_EXAMPLE = "KIND?name=value&name=value, as in script:cooperator?social=joiner"
_SEAT = re.compile(r"(?P<kind>[a-z]+)(:(?P<ref>[^?*\s]+))?(\?(?P<options>[^*\s]+))?(\*(?P<n>\d+))?")


@dataclass(frozen=True)
class Seat:
    """One chair: the kind of player, which one, and its options."""

    kind: str
    ref: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def outside(self) -> bool:
        """Whether its player decides outside compiled code."""
        return self.kind == AGENT

    def __str__(self) -> str:
        return self.kind + (f":{self.ref}" if self.ref else "") + write_query(dict(self.options))


IDLE = Seat("idle")


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
            hint = f"If {match['kind']} is a script, write script:{match['kind']}."
            raise UnknownName("kind of player", match["kind"], KINDS, hint)
        options = tuple(read_query(match["options"] or "", _EXAMPLE).items())
        chairs += [Seat(match["kind"], match["ref"] or "", options)] * int(match["n"] or 1)
    return tuple(chairs)


def chair(text: str) -> Seat:
    """The one chair that a text describes."""
    chairs = parse(text)
    if len(chairs) != 1:
        raise BadArgument(f"one player can sit in a seat, as in script:defector; given {text!r}")
    return chairs[0]


def file_of(seat: Seat) -> str:
    """The file or the folder that a player comes from, if there is one."""
    if seat.kind == "policy":
        return seat.ref
    where = seat.ref.rpartition(":")[0]
    return where if seat.outside and where.endswith(".py") else ""


def scripts(env: Environment[Any, Any]) -> dict[str, Callable[..., PurePlayer]]:
    """The scripts for this world by name: its own, then those for any world."""
    own = catalogue.find(env.id).scripts if env.id else ""
    table = importlib.import_module(own).SCRIPTS if own else {}
    added = {n: kind for n, kind in extensions("players").items() if hasattr(kind, "act")}
    return {**added, **anywhere.scripts(env), **table}


def player(seat: Seat, env: Environment[Any, Any]) -> PurePlayer:
    """The player for a chair in this environment.

    In a society scripts, and policies of its bare world, work there as they would without a
    charter, with the social policy that `social` names.
    """
    if isinstance(env, Society) and _of_the_world(seat, env):
        options = dict(seat.options)
        name = options.pop("social", "loner")
        if name not in social.SOCIAL_POLICIES:
            raise UnknownName("social policy", name, tuple(social.SOCIAL_POLICIES))
        asked = inspect.signature(social.SOCIAL_POLICIES[name]).parameters
        own = {option: int(options.pop(option)) for option in tuple(options) if option in asked}
        worker = player(Seat(seat.kind, seat.ref, tuple(options.items())), env.world)
        social_policy = social.SOCIAL_POLICIES[name](env, **own)
        return SocietyPolicy(worker, social_policy, len(env.world.actions), env.charter.pauses)
    if seat.outside:
        raise BadArgument(
            f"{seat} decides outside compiled code, so it can sit only in a match: "
            "`sociarium match`, or Match in Python"
        )
    if seat.kind == "policy":
        return load_policy(seat.ref, env, **_options(seat, load_policy, skipped=2))
    known = scripts(env)
    if seat.kind != "script" and seat.ref:
        raise BadArgument(f"{seat} names {seat.ref!r}, but {seat.kind} players are all alike")
    name = seat.ref if seat.kind == "script" else seat.kind
    if name not in known:
        world = env.id or type(env).__name__
        hint = f"{world} has {', '.join(known)}."
        raise UnknownName("script", name, tuple(known), hint)
    return known[name](env, **_options(seat, known[name]))


def script(name: str, env: Environment[Any, Any], **options: object) -> PurePlayer:
    """The scripted player of this name, as the seat string `script:name?option=value` makes it.

    >>> rollout(env, [script("cooperator", env), "script:defector"])
    """
    given = tuple((option, str(value)) for option, value in options.items())
    return player(Seat("script", name, given), env)


def _of_the_world(seat: Seat, society: Society) -> bool:
    """Whether a player knows only the world of a society."""
    bare = seat.kind == "policy" and trained_in(seat.ref) == society.world.id != society.id
    return bare or seat.kind == "script"


def _options(seat: Seat, maker: Callable[..., PurePlayer], skipped: int = 1) -> dict[str, Any]:
    """The seat's options as the numbers that its maker asks for after the first few arguments."""
    parameters = list(inspect.signature(maker).parameters.values())[skipped:]
    asked = {parameter.name: parameter.annotation for parameter in parameters}
    chosen: dict[str, Any] = {}
    for name, value in seat.options:
        if not asked:
            raise BadArgument(f"{seat} has the option {name!r}, but this player takes none")
        if name not in asked:
            raise UnknownName(f"option of {seat.kind}:{seat.ref}", name, tuple(asked))
        try:
            chosen[name] = asked[name](value)
        except ValueError:
            kind = {int: "a whole number", float: "a number"}[asked[name]]
            raise BadArgument(f"{name} of {seat} must be {kind}; given {value!r}") from None
    return chosen
