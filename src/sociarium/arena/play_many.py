"""Many matches at once, on one event loop and by one compiled program."""

import asyncio
from collections.abc import Iterable

from sociarium.arena.joint_steps import JointSteps
from sociarium.arena.match import Match, run_apart
from sociarium.core.errors import BadArgument
from sociarium.core.stopping import asked_to_stop
from sociarium.machine import keep_loaded
from sociarium.views.progress import OnProgress, watched

LIMIT = 64  # matches at once


def play_many(
    matches: Iterable[Match], *, limit: int = LIMIT, on_progress: OnProgress | None = None
) -> list[Match]:
    """Plays all matches, at most `limit` at once, and gives them back in their order.

    >>> matches = (Match(env, [agent(), "random"], seed=seed) for seed in range(200))
    >>> returns = [match.raw_returns for match in play_many(matches)]

    While some wait for their players, others go on. Matches of one world and of players of one
    structure share their programs, and those whose steps are due at once play them as one batch.
    An iterator is asked for the next match when one has ended, so that few are in memory. Ctrl-C
    stops all of them after the step that each is playing and raises `KeyboardInterrupt`; those that
    have a folder can be taken up again. A match that a player paused is given back with `paused`.
    `on_progress` is told matches that are over, and how many there are as far as that is known;
    without it there is a bar.
    """
    with watched(on_progress, "matches") as told:
        playing = ManyMatches(matches, limit, told)
        keep_loaded()
        with asked_to_stop(lambda number: playing.stop()):
            played = run_apart(playing.play)
        over = sum(bool(match.ended) for match in played)
        if playing.cut_short:
            raise KeyboardInterrupt(f"stopped: {over} of {playing.known} matches are over")
        return played


class ManyMatches:
    """Matches that are played at once."""

    def __init__(self, matches: Iterable[Match], limit: int, on_progress: OnProgress) -> None:
        if limit < 1:
            raise BadArgument(f"limit is 1 or more matches at once; given {limit}")
        self._waiting = enumerate(matches)
        self._known = len(matches) if isinstance(matches, list | tuple) else 0
        self._limit = min(limit, self._known or limit)
        self._joint, self._on_progress = JointSteps(self._limit), on_progress
        self._playing: dict[int, Match] = {}
        self._played: dict[int, Match] = {}
        self._over, self._stopping = 0, False

    @property
    def known(self) -> int:
        """How many matches there are, as far as that is known."""
        return max(self._known, len(self._played))

    @property
    def cut_short(self) -> bool:
        """Whether a stop left matches that are not over."""
        left = [one for one in self._played.values() if not (one.ended or one.paused)]
        return self._stopping and bool(left or self.known > len(self._played))

    def stop(self) -> None:
        """All end after the step that each is playing, and no other is begun."""
        self._stopping = True
        for match in self._playing.values():
            match.stop()

    async def play(self) -> list[Match]:
        """Plays all; should one raise, the others are stopped and it is raised here."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._limit):
                    group.create_task(self._play_some())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        return [self._played[number] for number in sorted(self._played)]

    async def _play_some(self) -> None:
        """One match after another, as long as any wait."""
        for number, match in self._waiting:
            if self._stopping:
                return
            self._playing[number] = self._played[number] = match
            session = match.session
            session.joint = self._joint
            try:
                if not session.all_pure:
                    self._joint.ready(session.runner, session.now)
                await match.play()
            finally:
                del self._playing[number]
            self._over += 1
            self._on_progress(self._over, self.known)
