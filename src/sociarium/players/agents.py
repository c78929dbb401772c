"""The kind `agent`: `agent:http://...` over the wire, `agent:my_players.py:Polite` in Python."""

from typing import Any

from sociarium.core.code import load_code, names_code
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, SociariumError
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
    if ref not in added and not names_code(ref):
        known = f" or one of {', '.join(added)}" if added else ""
        raise BadArgument(
            f"{ref!r} is no agent; write agent:http://host:port/path, agent:file.py:Class, "
            f"agent:package.module:Class{known}"
        )
    kind = added[ref] if ref in added else load_code(ref)
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
