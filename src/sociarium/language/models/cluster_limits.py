"""One limiter for all workers of a cluster: an actor by which all of them wait for their turn.

It outlives the command that made it, so that two commands on one cluster share their limits too.
A turn that a lost worker holds ends when its call would have timed out. If the machine of the actor
is lost it begins anew on another, and does not know of the calls that are in flight just then.
"""

import asyncio
import hashlib
import math
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import uuid4

from sociarium.cluster import import_ray
from sociarium.language.models.config import ModelConfig
from sociarium.language.models.limiter import RateLimiter, use_limiters

NAME = "sociarium-rate-limit"
WAITING = 10_000  # calls that may wait at a time
SLACK = 30.0  # seconds that a turn lasts longer than its call may


@dataclass(frozen=True)
class Limits:
    """What the actor is told of a model: neither where it is nor how it is paid for."""

    endpoint: str  # a hash of it
    max_in_flight: int
    rpm: int | None
    tpm: int | None
    timeout: float

    @classmethod
    def of(cls, model: ModelConfig) -> "Limits":
        """The limits of a model."""
        endpoint = hashlib.sha256(repr(model.endpoint).encode()).hexdigest()[:16]
        return cls(endpoint, model.max_in_flight, model.rpm, model.tpm, model.timeout)


class RateLimits:
    """The actor: a limiter for each endpoint, and who has a turn."""

    def __init__(self) -> None:
        self._limiters: dict[str, RateLimiter] = {}
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._held: dict[str, tuple[AsyncExitStack, asyncio.TimerHandle]] = {}
        self._given_up: set[str] = set()  # before they began: messages may overtake each other

    async def take(
        self, turn: str, limits: Limits, tokens: int, patience: float = math.inf
    ) -> None:
        """Waits for a turn, which lasts until it is given back, or until its call timed out."""
        if self._is_given_up(turn):
            return
        held, loop = AsyncExitStack(), asyncio.get_running_loop()
        entered = held.enter_async_context(self._limiter(limits).slot(tokens, patience))
        self._waiting[turn] = loop.create_task(entered)
        try:
            await self._waiting[turn]
        finally:
            del self._waiting[turn]
        if self._is_given_up(turn):
            await held.aclose()
            return
        after = limits.timeout + SLACK
        over = loop.call_later(after, lambda: loop.create_task(self.give_back(turn)))
        self._held[turn] = held, over

    async def give_back(self, turn: str) -> None:
        """The call is over, or nobody waits for the turn any longer."""
        if turn in self._held:
            held, over = self._held.pop(turn)
            over.cancel()
            await held.aclose()
        elif turn not in self._waiting or not self._waiting[turn].cancel():
            self._given_up.add(turn)
            asyncio.get_running_loop().call_later(SLACK, self._given_up.discard, turn)

    async def went_well(self, limits: Limits) -> None:
        """A call was answered."""
        self._limiter(limits).went_well()

    async def too_much(self, limits: Limits, retry_after: float | None) -> None:
        """The server refused a call because there are too many."""
        self._limiter(limits).too_much(retry_after)

    def _is_given_up(self, turn: str) -> bool:
        given_up = turn in self._given_up
        self._given_up.discard(turn)
        return given_up

    def _limiter(self, limits: Limits) -> RateLimiter:
        known = self._limiters.setdefault(limits.endpoint, RateLimiter(limits.max_in_flight))
        known.set_limits(limits.max_in_flight, limits.rpm, limits.tpm)
        return known


class ClusterLimiter:
    """The limiter of an endpoint as a worker has it."""

    waiting = False

    def __init__(self, actor: Any, limits: Limits) -> None:
        self._actor, self._limits = actor, limits

    @asynccontextmanager
    async def slot(self, tokens: int, patience: float = math.inf) -> AsyncIterator[None]:
        """Waits for its turn; the call is in flight until the end of the block."""
        turn = uuid4().hex
        try:
            await self._actor.take.remote(turn, self._limits, tokens, patience)
            yield
        finally:
            self._actor.give_back.remote(turn)

    def went_well(self) -> None:
        """A call was answered."""
        self._actor.went_well.remote(self._limits)

    def too_much(self, retry_after: float | None) -> None:
        """The server refused a call because there are too many."""
        self._actor.too_much.remote(self._limits, retry_after)


def use_cluster_limits() -> None:
    """In this worker all calls wait for their turn among those of the whole cluster."""
    use_limiters(lambda model: ClusterLimiter(_actor(), Limits.of(model)))


@cache
def _actor() -> Any:
    """The actor of the cluster, made by whoever asks for it first."""
    kind = import_ray().remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(RateLimits)
    named = {"name": NAME, "get_if_exists": True, "lifetime": "detached"}
    return kind.options(**named, max_concurrency=WAITING).remote()
