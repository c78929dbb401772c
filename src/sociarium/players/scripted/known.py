"""Every script that there is for a world, by its name."""

import importlib
from collections.abc import Callable
from typing import Any

from sociarium import catalogue
from sociarium.core.environment import Environment
from sociarium.core.errors import UnknownName
from sociarium.core.extensions import extensions
from sociarium.players.protocol import PurePlayer
from sociarium.players.scripted import anywhere


def scripts(env: Environment[Any, Any]) -> dict[str, Callable[..., PurePlayer]]:
    """The scripts for this world by name: its own, then those for any world."""
    own = catalogue.find(env.id).scripts if env.id else ""
    table = importlib.import_module(own).SCRIPTS if own else {}
    added = {n: kind for n, kind in extensions("players").items() if hasattr(kind, "act")}
    return {**added, **anywhere.scripts(env), **table}


def script_maker(name: str, env: Environment[Any, Any]) -> Callable[..., PurePlayer]:
    """What makes the script of a name; an unknown name is refused with those that there are."""
    known = scripts(env)
    if name not in known:
        world = env.id or type(env).__name__
        raise UnknownName("script", name, tuple(known), f"{world} has {', '.join(known)}.")
    return known[name]
