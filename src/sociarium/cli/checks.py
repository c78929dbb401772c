"""Arguments that many commands take, and what is checked before anything is played."""

import dataclasses
import re
import sys
from typing import Annotated, Any

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from sociarium import catalogue
from sociarium.arena.seating import demonstration, world_for
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument

_UNITS = {"": 1, "k": 10**3, "m": 10**6}


def read_count(words: list[str]) -> int:
    """A number of steps, such as 20_000_000, 2e6, 500k or 2m."""
    match = re.fullmatch(r"(-?\d[\d_]*(?:\.\d+)?(?:e\d+)?)([km]?)", words[0].strip().lower())
    number = float(match[1].replace("_", "")) * _UNITS[match[2]] if match else 0.5
    if number != int(number):
        raise ValueError(f"a whole number such as 20_000_000, 2e6, 500k or 2m; given {words[0]!r}")
    return int(number)


Steps = Annotated[
    int,
    PrimitiveConstructorSpec(
        nargs=1,
        metavar="N",
        instance_from_str=read_count,
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    ),
]

OptionalSteps = Annotated[
    int | None,
    PrimitiveConstructorSpec(
        nargs=1,
        metavar="N",
        instance_from_str=read_count,
        is_instance=lambda value: value is None or isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    ),
]
Count = Annotated[int | None, tyro.conf.arg(metavar="N")]

World = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="WORLD")]
On = Annotated[
    str,
    tyro.conf.arg(
        metavar="ENGINE",
        help="local, ray (on this machine), or ray:ADDRESS of a cluster (see docs/scale.md)",
    ),
]


def as_begun(command: Any, *may: str) -> None:
    """Refuses arguments beside --resume other than these: what was agreed stays as it was."""
    usual = {field.name: field.default for field in dataclasses.fields(command)}
    given = [name for name, default in usual.items() if getattr(command, name) != default]
    if others := [name for name in given if name not in ("resume", *may)]:
        raise BadArgument(
            f"a match goes on as it was begun; leave out {', '.join(others)}, or fork it"
        )


def at_least(name: str, value: int | None, least: int = 1) -> None:
    """Refuses a number below the least that makes sense; None is the default and passes."""
    if value is not None and value < least:
        raise BadArgument(f"--{name} must be at least {least}; given {value}")


def seated(world: str, seats: str, players: int | None) -> tuple[Environment[Any, Any], str]:
    """A world with a player for each seat, or with its demonstration where no seats are given.

    A world that gets another number of players than its default is announced on stderr.
    """
    env = world_for(world, seats, players)
    entry = catalogue.find(world)
    asked = players is not None or "players" in catalogue.arguments_of(world)
    if entry.players and env.players != entry.players and not asked and not entry.sized_by:
        print(
            f"{env.id} with {env.players} players, one for each seat given (its default is "
            f"{entry.players}; one seat alone fills them all)",
            file=sys.stderr,
        )
    return env, seats or demonstration(entry.cast, env.players)


@dataclasses.dataclass(frozen=True)
class WorldCommand:
    """A command about one world, whose parameters can be set."""

    params: Annotated[
        str,
        tyro.conf.arg(
            metavar="SET|FILE",
            help="a named set of the world's parameters, such as socialjax, or a TOML file of them",
        ),
    ] = dataclasses.field(default="", kw_only=True)


def with_params_in_name(command: Any) -> Any:
    """The command with its --params in the name of its world."""
    if not getattr(command, "params", ""):
        return command
    if not command.world:
        raise BadArgument("--params sets the parameters of a world; name the world")
    world = catalogue.with_params(command.world, command.params)
    return dataclasses.replace(command, world=world, params="")
