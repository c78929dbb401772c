"""A match: any mix of players in one episode, from its first step to its last."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium.arena.host_seats import HostSeat
from sociarium.arena.replay import Replay
from sociarium.arena.screening import PlayedEpisode
from sociarium.arena.seating import Chair, Seats
from sociarium.arena.session import Session
from sociarium.arena.tick import Tick
from sociarium.core.environment import Environment
from sociarium.core.record import Record
from sociarium.views.progress import OnProgress, silent


class Match:
    """Players of any kind seated in a world, from the first step to the last.

    >>> async def greedy(percept):
    ...     return "forward" if "forward" in percept.legal else "stay"
    >>> match = Match(make("coins"), [greedy, "script:cooperator"], steps=100)
    >>> match.run()
    >>> match.episode().film()

    `seats` and all other arguments are those of `Session`. Where an event loop runs, as in a
    notebook, `async for tick in match` plays one step after another, and `match.stop()` ends it.
    """

    def __init__(
        self,
        env: Environment[Any, Any] | str,
        seats: Seats,
        *,
        on_progress: OnProgress = silent,
        **terms: Any,
    ) -> None:
        self.session = Session(env, seats, **terms)
        self.env, self.on_progress = self.session.env, on_progress

    def run(self) -> Record:
        """Plays to the end, and waits for nobody who is still thinking then.

        Where an event loop runs already, as in a notebook, it plays in a thread beside it.
        """
        return run_apart(self.play)

    async def play(self, until: int | None = None) -> Record:
        """Plays to the end, to a step at which the match can be taken up again, or to a stop."""
        if until is not None and self.step >= until:
            return self.record()
        async for tick in self:
            if until is not None and tick.step + 1 >= until:
                self.stop()
        return self.record()

    async def __aiter__(self) -> AsyncIterator[Tick]:
        try:
            async for tick in self.session:
                self.on_progress(self.session.step, self.session.steps)
                yield tick
        finally:
            await self.session.close()

    def reseat(self, seat: int, player: str | Chair, *, keep_memory: bool = False) -> None:
        """Somebody else sits in a seat from now on: a seat string, or a player."""
        self.session.reseat(seat, player, keep_memory=keep_memory)

    def stop(self) -> None:
        """Ends after the step that is being played; the match can be taken up again."""
        self.session.stop()

    @property
    def step(self) -> int:
        """Steps played."""
        return self.session.step

    @property
    def ended(self) -> str:
        """Why it is over, or nothing."""
        return self.session.ended

    @property
    def paused(self) -> str:
        """Why a player paused it, or nothing."""
        return self.session.paused

    @property
    def hosts(self) -> Mapping[int, HostSeat]:
        """The seats of host players."""
        return self.session.hosts

    @property
    def failures(self) -> dict[int, dict[str, int]]:
        """How often host players failed, by seat and kind of failure; only those who did."""
        return {seat: dict(one.failures) for seat, one in self.hosts.items() if one.failures}

    @property
    def usage(self) -> dict[str, dict[str, float]]:
        """What host players used, such as tokens, by their seats."""
        return {mind.key: dict(mind.usage) for mind in self.session.minds if mind.usage}

    def record(self) -> Record:
        """Everything from which the match can be rebuilt."""
        return self.session.record()

    @property
    def raw_returns(self) -> Float[np.ndarray, " players"]:
        """What the world paid each player so far."""
        return self.session.raw_returns

    @property
    def reward_returns(self) -> Float[np.ndarray, " players"]:
        """What the charter left each player of it so far."""
        return self.session.reward_returns

    def episode(self) -> PlayedEpisode:
        """The episode so far, for metrics and pictures."""
        return Replay(self.env, self.record()).episode()[0]


def run_apart(play: Callable[[], Any]) -> Any:
    """The result of an async function, on a loop of its own; beside one that runs, in a thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(play())
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(lambda: _run(play())).result()


def _run(coroutine: Any) -> Any:
    """What it leaves undone is given up."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.set_exception_handler(lambda loop, context: None)
        loop.close()
