"""The catalogue: every world by its versioned name. Nothing is imported until asked for."""

import importlib
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sociarium.core.errors import BadArgument, UnknownName

if TYPE_CHECKING:
    from sociarium.core.environment import Environment


@dataclass(frozen=True)
class Entry:
    """A world's id, where it lives (`module:Class`), its fixed arguments, and who invented it.

    `cast` seats the players of a demonstration.
    """

    id: str
    where: str
    players: int
    paper: str
    summary: str
    cast: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The id without its version."""
        return self.id.rsplit("-v", 1)[0]

    @property
    def version(self) -> int:
        """The number after -v; it rises when behaviour changes."""
        return int(self.id.rsplit("-v", 1)[1])

    def load(self) -> "type[Environment[Any, Any]]":
        """The class behind the entry."""
        module, name = self.where.split(":")
        return getattr(importlib.import_module(module), name)


_HARVEST = "sociarium.envs.dilemmas.harvest:Harvest"
_FORAGERS = "script:forager*6 random"
_JANSSEN = "Janssen et al., 2010; Perolat et al., 2017"

WORLDS = (
    Entry(
        "coins-v0",
        "sociarium.envs.dilemmas.coins:Coins",
        2,
        "Lerer and Peysakhovich, 2017",
        "take your own coins, or the other's at their cost",
        "script:forager random",
    ),
    Entry(
        "harvest_open-v0",
        _HARVEST,
        7,
        _JANSSEN,
        "apples regrow only near apples; one open orchard",
        _FORAGERS,
        {"map": "open"},
    ),
    Entry(
        "harvest_closed-v0",
        _HARVEST,
        7,
        _JANSSEN,
        "two rooms with one entrance each, which one can defend",
        _FORAGERS,
        {"map": "closed"},
    ),
    Entry(
        "harvest_partnership-v0",
        _HARVEST,
        7,
        _JANSSEN,
        "two rooms with two entrances each, which two can defend",
        _FORAGERS,
        {"map": "partnership"},
    ),
    Entry(
        "clean_up-v0",
        "sociarium.envs.dilemmas.clean_up:CleanUp",
        7,
        "Hughes et al., 2018",
        "apples grow only while somebody cleans the river",
        "script:cleaner*3 script:forager*4",
    ),
)


def find(name: str) -> Entry:
    """The entry of an id; without a version, the newest of the family."""
    exact = [entry for entry in WORLDS if entry.id == name]
    family = [entry for entry in WORLDS if entry.family == name]
    if exact:
        return exact[0]
    if family:
        return max(family, key=lambda entry: entry.version)
    known = tuple(entry.id for entry in WORLDS)
    raise UnknownName("world", name, known, "`sociarium list` shows them all.")


def make(name: str, *, players: int | None = None, **arguments: Any) -> "Environment[Any, Any]":
    """The world of this name; `players` and other constructor arguments replace the defaults."""
    entry = find(name)
    if players is not None and players < 1:
        raise BadArgument(f"players must be at least 1; given {players}")
    chosen = {**entry.arguments, "players": entry.players if players is None else players}
    known = tuple(inspect.signature(entry.load()).parameters)
    for argument in arguments:
        if argument not in known:
            raise UnknownName(f"argument of {entry.id}", argument, known)
    env = entry.load()(**{**chosen, **arguments})
    env.id = entry.id
    return env
