"""The kind `agent`: `agent:http://...` over the wire, `agent:my_players.py:Polite` in Python."""

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead, SociariumError
from sociarium.core.extensions import extensions
from sociarium.players.http_player import HttpPlayer
from sociarium.players.lifting import is_host_player, lift
from sociarium.players.protocol import HostPlayer


def make_agent(
    ref: str, env: Environment[Any, Any], seats: tuple[int, ...], **options: str
) -> HostPlayer:
    """The player that a seat string means: at an address, or a class or function in a file.

    A class with `open` is made from its options; a simpler one from the environment, its seat and
    its options.
    """
    if ref.startswith(("http://", "https://")):
        if options:
            given = ", ".join(options)
            raise BadArgument(
                f"an address takes no options but name, crew, deadline and fallback; given {given}"
            )
        return HttpPlayer(ref)
    added = {name: kind for name, kind in extensions("players").items() if hasattr(kind, "decide")}
    where, _, name = ref.rpartition(":")
    if ref not in added and not (where and name.isidentifier()):
        known = f" or one of {', '.join(added)}" if added else ""
        raise BadArgument(
            f"{ref!r} is no agent; write agent:http://host:port/path, agent:file.py:Class, "
            f"agent:package.module:Class{known}"
        )
    kind = added[ref] if ref in added else _named(where, name)
    whole = hasattr(kind, "open")
    if len(seats) > 1 and not whole:
        raise BadArgument(
            f"{ref} decides for one seat; to sit in seats {', '.join(map(str, seats))} as one mind "
            "it needs open, decide(percepts, deadline) and close"
        )
    try:
        if not isinstance(kind, type):
            made = kind
        else:
            made = kind(**options) if whole else kind(env, *seats, **options)
    except (SociariumError, TypeError, ValueError) as error:
        seated = f"seat {seats[0]}" if len(seats) == 1 else f"seats {', '.join(map(str, seats))}"
        raise BadArgument(f"{ref} cannot sit in {seated} of {env.id}: {error}") from error
    if not is_host_player(made):
        raise BadArgument(f"{ref} has no decide, which every agent has")
    return lift(made)


def file_of_agent(ref: str) -> str:
    """The file that an agent comes from, if it comes from one."""
    where = ref.rpartition(":")[0]
    return where if where.endswith(".py") else ""


def _named(where: str, name: str) -> Any:
    """The class or function of this name in a file or a module."""
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location(f"agents in {where}", where)
        if spec is None or spec.loader is None or not Path(where).exists():
            raise CannotRead(f"There is no file {where} to take {name} from.")
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        try:
            module = importlib.import_module(where)
        except ImportError as error:
            raise CannotRead(f"{where} cannot be imported ({error}).") from error
    if not hasattr(module, name):
        raise CannotRead(f"{where} has no {name}.")
    return getattr(module, name)
