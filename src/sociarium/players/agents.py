"""Players from elsewhere: `agent:http://...` over the wire, `agent:my_players.py:Polite` in Python.

Both are asked with a percept and answer with a decision; over the wire both are JSON. An address
gets a POST for each decision and answers with one object, such as `{"action": "forward"}` or
`{"skill": "collect", "thing": "apple", "say": {"text": "mine", "to": 2}}`.
"""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sociarium.core.environment import Environment
from sociarium.core.errors import (
    BadArgument,
    CannotRead,
    MissingExtra,
    SociariumError,
    first_wrong,
)
from sociarium.core.extensions import extensions
from sociarium.players.decision import Decision
from sociarium.players.percept import Percept
from sociarium.players.protocol import HostPlayer

MOST_ANSWER = 1 << 16  # bytes


class BadAnswer(SociariumError):
    """An answer that is no decision: too long, not JSON, or of another shape."""


class Remote:
    """Somebody at an address. It keeps its memory itself, so there is nothing to snapshot."""

    def __init__(self, url: str) -> None:
        try:
            self._http = importlib.import_module("httpx2")
        except ImportError as error:
            raise MissingExtra("httpx2", "agents") from error
        self.url = url
        self._client: Any = None

    async def decide(self, percept: Percept, deadline: float) -> Decision:
        """Posts the percept; the answer is read no further than it may be long."""
        if self._client is None:
            self._client = self._http.AsyncClient(trust_env=False, follow_redirects=False)
        asked = {**percept.as_dict(), "deadline": deadline}
        answer = bytearray()
        plain = {"Accept-Encoding": "identity"}
        post = self._client.stream("POST", self.url, json=asked, headers=plain, timeout=deadline)
        async with post as response:
            if response.status_code != 200:
                raise BadAnswer(f"answered with status {response.status_code}")
            async for chunk in response.aiter_raw():
                answer += chunk
                if len(answer) > MOST_ANSWER:
                    raise BadAnswer(f"answered with more than {MOST_ANSWER} bytes")
        return parse_answer(bytes(answer))

    async def close(self) -> None:
        """Lets go of the connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def snapshot(self) -> None:
        """Nothing that is kept here."""

    def restore(self, snapshot: None) -> None:
        """Nothing to remember."""


class FunctionPlayer:
    """An async function of a percept as a player; it answers with the name of an action.

    It may also answer with a `Decision`, with a dictionary of its fields, or with None to stay.
    What it remembers is its own business: a match that is resumed does not bring it back.
    """

    def __init__(self, function: Callable[[Percept], Awaitable[Any]]) -> None:
        self.function = function

    async def decide(self, percept: Percept, deadline: float) -> Decision:
        """Awaits the function."""
        return as_decision(await self.function(percept))

    def snapshot(self) -> None:
        """Nothing that can be known from here."""

    def restore(self, snapshot: None) -> None:
        """Nothing to remember."""


def as_decision(answer: Any) -> Decision:
    """The decision that a function means by its answer."""
    if isinstance(answer, Decision):
        return answer
    if answer is None or isinstance(answer, str):
        return Decision(action=answer)
    if isinstance(answer, dict):
        try:
            return Decision.model_validate(answer)
        except ValidationError as error:
            raise BadAnswer(first_wrong(error)) from None
    raise BadAnswer(
        f"answered with {type(answer).__name__}; an answer is the name of an action, a Decision, "
        "its fields as a dictionary, or None"
    )


def decides_outside(player: Any) -> bool:
    """Whether a player decides outside compiled code: an async function, or a host player."""
    return inspect.iscoroutinefunction(player) or isinstance(player, HostPlayer)


def lifted(player: Any) -> HostPlayer:
    """The host player that an object is, or that an async function is made into."""
    return FunctionPlayer(player) if inspect.iscoroutinefunction(player) else player


def parse_answer(answer: bytes) -> Decision:
    """The decision in an answer."""
    try:
        return Decision.model_validate_json(answer)
    except ValidationError as error:
        raise BadAnswer(first_wrong(error)) from None


def agent(ref: str, env: Environment[Any, Any], seat: int, **options: str) -> HostPlayer:
    """The player that a seat string means: at an address, or a class in a file or a module."""
    if ref.startswith(("http://", "https://")):
        if "@" in ref:
            raise BadArgument("an agent's address must not hold a name or a password")
        if options:
            given = ", ".join(options)
            raise BadArgument(
                f"an address takes no options but deadline and fallback; given {given}"
            )
        return Remote(ref)
    added = {name: kind for name, kind in extensions("players").items() if hasattr(kind, "decide")}
    where, _, name = ref.rpartition(":")
    if ref not in added and not (where and name.isidentifier()):
        known = f" or one of {', '.join(added)}" if added else ""
        raise BadArgument(
            f"{ref!r} is no agent; write agent:http://host:port/path, agent:file.py:Class, "
            f"agent:package.module:Class{known}"
        )
    kind = added[ref] if ref in added else _class(where, name)
    try:
        made = kind(env, seat, **options)
    except (SociariumError, TypeError, ValueError) as error:
        raise BadArgument(f"{ref} cannot sit in seat {seat} of {env.id}: {error}") from error
    if not isinstance(made, HostPlayer):
        raise BadArgument(f"{ref} lacks decide, snapshot or restore, which every agent has")
    return made


def _class(where: str, name: str) -> Any:
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
