"""Seat strings: `kind[:ref][?k=v&k=v][*n]`, several separated by spaces."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from sociarium import catalogue
from sociarium.charters.society import Society
from sociarium.core.code import code_file
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.extensions import extensions
from sociarium.core.patches import MOST_SEATS
from sociarium.core.queries import read_query, write_query
from sociarium.players.agents import make_agent
from sociarium.players.human import make_human
from sociarium.players.kinds import SeatKind
from sociarium.players.policy import load_policy, trained_in
from sociarium.players.protocol import PurePlayer
from sociarium.players.scripted import social
from sociarium.players.scripted.known import script_maker, scripts
from sociarium.players.scripted.lawful import LAW_SCRIPTS
from sociarium.players.society_policy import SocietyPolicy

_EXAMPLE = "KIND?name=value&name=value, as in script:cooperator?social=joiner"
_SEAT = re.compile(
    r"(?P<kind>[a-z_]+)(:(?P<ref>[^?*\s]+))?(\?(?P<options>[^*\s]+))?(\*(?P<n>\d+))?"
)


@dataclass(frozen=True)
class Seat:
    """One chair: the kind of player, which one, and its options."""

    kind: str
    ref: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def outside(self) -> bool:
        """Whether its player decides outside compiled code."""
        return kinds()[self.kind].outside

    @property
    def name(self) -> str:
        """What the player is called, or nothing if it has no name of its own."""
        return dict(self.options).get("name", "")

    @property
    def own_options(self) -> dict[str, str]:
        """The options but for the player's name, which its maker does not ask for."""
        return {option: value for option, value in self.options if option != "name"}

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
        if match["kind"] not in kinds():
            hint = f"If {match['kind']} is a script, write script:{match['kind']}."
            raise UnknownName("kind of player", match["kind"], tuple(kinds()), hint)
        options = tuple(read_query(match["options"] or "", _EXAMPLE).items())
        number = match["n"] or "1"
        if len(number) > len(str(MOST_SEATS)) or len(chairs) + int(number) > MOST_SEATS:
            raise BadArgument(f"there are at most {MOST_SEATS:,} seats; given {seats[:60]!r}")
        chairs += [Seat(match["kind"], match["ref"] or "", options)] * int(number)
    return tuple(chairs)


def chair(text: str) -> Seat:
    """The one chair that a text describes."""
    chairs = parse(text)
    if len(chairs) != 1:
        raise BadArgument(f"one player can sit in a seat, as in script:defector; given {text!r}")
    return chairs[0]


def file_of(seat: Seat) -> str:
    """The file or the folder that a player comes from, if there is one."""
    return kinds()[seat.kind].file_of(seat.ref)


def player(seat: Seat, env: Environment[Any, Any]) -> PurePlayer:
    """The pure player for a chair in this environment.

    In a society scripts, and policies of its bare world, work there as they would without a
    charter, with the social policy that `social` names; some scripts see the law.
    """
    kind = kinds()[seat.kind]
    if isinstance(env, Society) and kind.of_world(seat.ref, env):
        ref, options = seat.ref, seat.own_options
        usual = "loner"
        if seat.kind == "script" and ref in social.STAND_FOR:
            ref, usual = social.STAND_FOR[ref]
        name = options.pop("social", usual)
        if name not in social.SOCIAL_POLICIES:
            raise UnknownName("social policy", name, tuple(social.SOCIAL_POLICIES))
        policy_maker: Any = social.SOCIAL_POLICIES[name]
        asked = list(inspect.signature(policy_maker).parameters)[1:]
        given = {option: options.pop(option) for option in tuple(options) if option in asked}
        own = _options(str(seat), given, policy_maker)
        if seat.kind == "script" and ref not in script_names(env):
            raise UnknownName("script", ref, script_names(env))
        if seat.kind == "script" and ref in LAW_SCRIPTS:
            maker: Any = LAW_SCRIPTS[ref]
            worker = maker(env, **_options(str(seat), options, maker))
        else:
            worker = player(Seat(seat.kind, ref, tuple(options.items())), env.world)
        social_policy = policy_maker(env, **own)
        return SocietyPolicy(
            worker,
            social_policy,
            deeds=len(env.world.actions),
            social=len(env.charter.actions),
            stage=env.charter.stage,
        )
    if kind.outside:
        raise BadArgument(
            f"{seat} decides outside compiled code, so it can sit only in a match: "
            f"`sociarium {kind.command}`, or Match in Python"
        )
    return kind.make(seat.ref, env, **seat.own_options)


def script_names(env: Environment[Any, Any]) -> tuple[str, ...]:
    """Every script that can sit there: the world's, and in a society those that know charters."""
    if not isinstance(env, Society):
        return tuple(scripts(env))
    return (*scripts(env.world), *LAW_SCRIPTS, *social.STAND_FOR)


def script(name: str, env: Environment[Any, Any] | str, **options: object) -> PurePlayer:
    """The scripted player of this name, as the seat string `script:name?option=value` makes it.

    >>> rollout(env, [script("cooperator", env), "script:defector"])
    """
    given = tuple((option, str(value)) for option, value in options.items())
    return player(Seat("script", name, given), catalogue.environment(env))


@cache
def kinds() -> dict[str, SeatKind]:
    """Every kind of player by name: those built in, then those that packages add."""
    built_in = (
        SeatKind("random", "draws among what is legal", partial(_scripted, "random")),
        SeatKind("idle", "stays", partial(_scripted, "idle")),
        SeatKind(
            "script",
            "plays by a rule of the world",
            lambda ref, env, **options: _script(ref, env, **options),
            of_world=lambda ref, society: True,
        ),
        SeatKind(
            "policy",
            "has learned",
            lambda ref, env, **options: load_policy(
                ref, env, **_options(f"policy:{ref}", options, load_policy, skipped=2)
            ),
            file_of=lambda ref: ref,
            of_world=lambda ref, society: trained_in(ref) == society.world.id != society.id,
        ),
        SeatKind(
            "agent",
            "a program elsewhere, or a class or function in Python",
            make_agent,
            outside=True,
            needs_trust=True,
            resumed="snapshot",
            file_of=code_file,
        ),
        SeatKind(
            "llm",
            "a language model, by its alias in models.toml",
            _make_llm,
            outside=True,
            resumed="snapshot",
        ),
        SeatKind(
            "human",
            "a person at the keyboard",
            make_human,
            outside=True,
            command="play",
            resumed="elsewhere",
        ),
    )
    added = {kind.name: kind for kind in extensions("seat_kinds").values()}
    return {**added, **{kind.name: kind for kind in built_in}}


def _make_llm(ref: str, env: Environment[Any, Any], seats: tuple[int, ...], **options: str) -> Any:
    """Models are known to who asks for them: what they need takes a while to import."""
    from sociarium.players.minds.llm_player import make_llm

    return make_llm(ref, env, seats, **options)


def _scripted(name: str, ref: str, env: Environment[Any, Any], **options: str) -> PurePlayer:
    """A script that is a kind of its own."""
    if ref:
        raise BadArgument(f"{name}:{ref} names {ref!r}, but {name} players are all alike")
    return _script(name, env, **options)


def _script(name: str, env: Environment[Any, Any], **options: str) -> PurePlayer:
    maker = script_maker(name, env)
    return maker(env, **_options(f"script:{name}", options, maker))


def _options(
    who: str, given: Mapping[str, str], maker: Callable[..., PurePlayer], skipped: int = 1
) -> dict[str, Any]:
    """Options as the numbers that a player's maker asks for after its first few arguments."""
    parameters = list(inspect.signature(maker).parameters.values())[skipped:]
    asked = {parameter.name: parameter.annotation for parameter in parameters}
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        if not asked:
            raise BadArgument(f"{who} has the option {name!r}, but this player takes none")
        if name not in asked:
            raise UnknownName(f"option of {who}", name, tuple(asked))
        try:
            chosen[name] = asked[name](value)
        except ValueError:
            kind = {int: "a whole number", float: "a number"}[asked[name]]
            raise BadArgument(f"{name} of {who} must be {kind}; given {value!r}") from None
    return chosen
