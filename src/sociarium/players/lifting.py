"""Simple forms of host players, lifted into the whole protocol: functions and plain objects."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from sociarium.core.decision import Answer, Reply, as_reply
from sociarium.core.errors import BadArgument
from sociarium.core.percept import Percept
from sociarium.players.protocol import HostPlayer, PurePlayer, SimpleHostPlayer

WHOLE = ("open", "decide", "close", "snapshot", "restore")  # what a host player has

Function = Callable[[Percept], Answer | Awaitable[Answer]]


@runtime_checkable
class Decider(Protocol):
    """An object that decides for one seat at a time, async or plain."""

    def decide(self, percept: Percept, deadline: float) -> Any:
        """A decision, the name of an action, fields of a decision, or None to stay."""
        ...


class BusyPlayer(TimeoutError):
    """A plain function still computes its last answer."""


class FunctionPlayer(SimpleHostPlayer):
    """A function of a percept, async or plain, as a player in one seat.

    It answers with a decision, the name of an action, a dictionary of a decision's fields, or None
    to stay. A plain function runs in a thread of its own, so that it cannot stall a match. What it
    remembers is its own business: a match that is resumed does not bring it back.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self._call: Any = function if _is_async(function) else _Threaded(function)
        self.skilled = getattr(function, "skilled", True)

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """What the function answers."""
        (percept,) = percepts
        return as_reply(await self._call(percept), (percept.seat,))


class ObjectPlayer(SimpleHostPlayer):
    """An object with `decide(percept, deadline)`, async or plain, as a player in one seat.

    If it has `snapshot` and `restore`, it remembers.
    """

    def __init__(self, player: Any) -> None:
        self.player = player
        self._call = player.decide if _is_async(player.decide) else _Threaded(player.decide)
        self.skilled = getattr(player, "skilled", True)

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """What the object decides."""
        (percept,) = percepts
        return as_reply(await self._call(percept, deadline), (percept.seat,))

    def snapshot(self) -> Any:
        """What the object says that it remembers."""
        return self.player.snapshot() if hasattr(self.player, "snapshot") else None

    def restore(self, snapshot: Any) -> None:
        """Has the object remember."""
        if hasattr(self.player, "restore"):
            self.player.restore(snapshot)


class _Threaded:
    """A plain function, awaited: one call at a time, in threads that nobody waits for at the end.

    Whoever asks while an earlier call still runs is told that it is late.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self._busy = function, threading.Lock()

    async def __call__(self, *given: Any) -> Any:
        if not self._busy.acquire(blocking=False):
            raise BusyPlayer("still computes its last answer")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def tell(done: Callable[[Any], None], value: Any) -> None:
            if not answer.done():
                done(value)

        def call() -> None:
            try:
                outcome = answer.set_result, self.function(*given)
            except BaseException as error:
                what = error if isinstance(error, Exception) else RuntimeError(repr(error))
                outcome = answer.set_exception, what
            finally:
                self._busy.release()
            try:
                loop.call_soon_threadsafe(tell, *outcome)
            except RuntimeError:  # the loop is closed: nobody waits any more
                pass

        threading.Thread(target=call, daemon=True).start()
        return await answer


def _is_async(function: Any) -> bool:
    """Also where an object is called whose class says how."""
    call = getattr(type(function), "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def is_host_player(player: Any) -> bool:
    """Whether somebody decides outside compiled code: a host player, or a simple form of one."""
    if isinstance(player, type | str) or isinstance(player, PurePlayer):
        return False
    return callable(getattr(player, "decide", None)) or callable(player)


def lift(player: Any) -> HostPlayer:
    """The host player that an object is, or that a function or a simple object is made into."""
    if isinstance(player, HostPlayer):
        return player
    if callable(getattr(player, "open", None)):
        missing = [name for name in WHOLE if not callable(getattr(player, name, None))]
        raise BadArgument(
            f"{type(player).__name__} has open, so it is asked as a whole host player; it lacks "
            f"{', '.join(missing)}"
        )
    if callable(getattr(player, "decide", None)):
        return ObjectPlayer(player)
    if callable(player):
        function: Any = player
        return FunctionPlayer(function)
    raise BadArgument(
        "a host player has open, decide, close, snapshot and restore; or is an object with "
        f"decide(percept, deadline), or a function of a percept; given {type(player).__name__}"
    )
