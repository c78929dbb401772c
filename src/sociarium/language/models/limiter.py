"""One limiter for all matches of a process: calls in flight, calls and tokens a minute.

After a server said that it is too much, half as many calls are in flight; after twenty that went
well, one more.
"""

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from sociarium.language.models.config import ModelConfig

MINUTE = 60.0  # seconds
GROWS_AFTER = 20  # calls that went well


class MustWait(Exception):
    """The server asked for a wait that is longer than the caller's patience."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@runtime_checkable
class Limiter(Protocol):
    """What lets calls to one endpoint through."""

    @property
    def waiting(self) -> bool:
        """Whether anybody waits for a turn in this process."""
        ...

    def slot(self, tokens: int, patience: float = math.inf) -> AbstractAsyncContextManager[None]:
        """Waits for its turn; the call is in flight until the end of the block.

        Raises `MustWait` where the server asked for a wait of more than `patience` seconds.
        """
        ...

    def went_well(self) -> None:
        """A call was answered."""
        ...

    def too_much(self, retry_after: float | None) -> None:
        """The server refused a call because there are too many."""
        ...


@dataclass(eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Future[None]
    tokens: int
    until: float  # the longest wait that the server may ask for


@dataclass(frozen=True)
class _Made:
    """A call of the last minute."""

    since: float
    tokens: int


class RateLimiter:
    """The limits of one endpoint; whoever came first is let through first."""

    def __init__(
        self,
        max_in_flight: int,
        rpm: int | None = None,
        tpm: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most, self.limit = max_in_flight, max_in_flight
        self.rpm, self.tpm, self._now = rpm, tpm, now
        self.in_flight, self._good, self._not_before = 0, 0, 0.0
        self._waiters: deque[_Waiter] = deque()
        self._minute: deque[_Made] = deque()
        self._lock = threading.Lock()
        self._alarm: Any = None

    def set_limits(self, max_in_flight: int, rpm: int | None, tpm: int | None) -> None:
        """The newest config says what the limits are."""
        self.rpm, self.tpm = rpm, tpm
        if self.most != max_in_flight:
            self.most = self.limit = max_in_flight

    @property
    def waiting(self) -> bool:
        """Whether anybody waits for a turn."""
        return bool(self._waiters)

    @asynccontextmanager
    async def slot(self, tokens: int, patience: float = math.inf) -> AsyncIterator[None]:
        """Waits for its turn; the call is in flight until the end of the block."""
        until = self._now() + patience
        with self._lock:
            if self._not_before > until:
                raise MustWait(self._not_before - self._now())
            at_once = not self._waiters and self.in_flight < self.limit
            at_once = at_once and self._wait(tokens) <= 0
            if at_once:
                self._take(tokens)
        if not at_once:
            await self._turn(tokens, until)
        try:
            yield
        finally:
            with self._lock:
                self.in_flight -= 1
            self._let_through()

    async def _turn(self, tokens: int, until: float) -> None:
        """Waits behind all others; whoever gives up leaves its place to the next."""
        loop = asyncio.get_running_loop()
        waiter = _Waiter(loop, loop.create_future(), tokens, until)
        with self._lock:
            self._waiters.append(waiter)
        self._let_through()
        try:
            await waiter.turn
        except BaseException:
            with self._lock:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                else:  # it was let through, and is gone
                    self.in_flight -= 1
            self._let_through()
            raise

    def _take(self, tokens: int) -> None:
        self.in_flight += 1
        self._minute.append(_Made(self._now(), tokens))

    def went_well(self) -> None:
        """A call was answered."""
        self._good += 1
        if self._good >= GROWS_AFTER and self.limit < self.most:
            self._good, self.limit = 0, self.limit + 1

    def too_much(self, retry_after: float | None) -> None:
        """The server refused a call because there are too many."""
        with self._lock:
            self._good, self.limit = 0, max(1, self.limit // 2)
            self._not_before = max(self._not_before, self._now() + (retry_after or 0.0))
            refusal = MustWait(self._not_before - self._now())
            for waiter in self._waiters:
                if waiter.until < self._not_before:
                    waiter.loop.call_soon_threadsafe(_refuse, waiter.turn, refusal)

    def _let_through(self) -> None:
        """Everybody whose turn it is; for the first who must wait for time, an alarm is set."""
        with self._lock:
            while self._waiters and self.in_flight < self.limit:
                head = self._waiters[0]
                wait = self._wait(head.tokens)
                if wait > 0:
                    head.loop.call_soon_threadsafe(self._set_alarm, head.loop, wait)
                    return
                self._waiters.popleft()
                self._take(head.tokens)
                if _running_loop() is head.loop:
                    _begin(head.turn)
                else:
                    self._begin_elsewhere(head)

    def _begin_elsewhere(self, head: _Waiter) -> None:
        try:
            head.loop.call_soon_threadsafe(_begin, head.turn)
        except RuntimeError:  # its event loop was closed, and nobody waits there any longer
            self.in_flight -= 1

    def _set_alarm(self, loop: asyncio.AbstractEventLoop, wait: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = loop.call_later(wait, self._let_through)

    def _wait(self, tokens: int) -> float:
        """Seconds until a call of so many tokens may be made."""
        now = self._now()
        while self._minute and self._minute[0].since <= now - MINUTE:
            self._minute.popleft()
        wait = self._not_before - now
        calls = len(self._minute)
        if self.rpm is not None and calls >= self.rpm:
            wait = max(wait, self._minute[calls - self.rpm].since + MINUTE - now)
        if self.tpm is not None and self._minute:
            used, room = sum(one.tokens for one in self._minute), max(self.tpm - tokens, 0)
            for one in self._minute:
                if used <= room:
                    break
                used -= one.tokens
                wait = max(wait, one.since + MINUTE - now)
        return wait


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _begin(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_result(None)


def _refuse(turn: "asyncio.Future[None]", why: MustWait) -> None:
    if not turn.done():
        turn.set_exception(why)


_limiters: dict[tuple[str, str], RateLimiter] = {}
_guard = threading.Lock()
_given: Callable[[ModelConfig], Limiter] | None = None


def limiter_of(model: ModelConfig) -> Limiter:
    """The one limiter of a model's endpoint: of this process, or of all if others were given."""
    if _given is not None:
        return _given(model)
    with _guard:
        known = _limiters.setdefault(model.endpoint, RateLimiter(model.max_in_flight))
        known.set_limits(model.max_in_flight, model.rpm, model.tpm)
        return known


def use_limiters(of: Callable[[ModelConfig], Limiter] | None) -> None:
    """From now on the limiters of this process are those of a function; None for its own."""
    global _given
    _given = of
