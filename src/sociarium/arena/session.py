"""A session: an episode played step by step, each step recorded before it is told.

Pure players decide inside the compiled step. Host players are asked around it, all at once, and
their answers count in seat order, so that who answers first changes nothing. Whoever is late, dead
or talks nonsense is replaced by its fallback for a step, and counted; the session goes on.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sociarium.arena.clocks import Realtime
from sociarium.arena.episode_play import EpisodePlay
from sociarium.arena.host_seats import (
    Question,
    SeatedHost,
    folder_of,
    outcome,
)
from sociarium.arena.joint_steps import JointSteps
from sociarium.arena.tick import Tick
from sociarium.core.actions import STAY
from sociarium.core.decision import BadAnswer, Decision, Reply, as_reply
from sociarium.core.errors import BadArgument, CannotWrite, printable
from sociarium.core.percept import Percept
from sociarium.players.protocol import HostSeating

log = logging.getLogger(__name__)


class Paused(Exception):
    """A host player asked to pause before anything of a step was committed."""


class Session(EpisodePlay):
    """Players of any kind in one episode, one tick after another.

    >>> async for tick in Session(make("coins"), [my_async_function, "script:cooperator"]):
    ...     print(tick.step, tick.action_names, tick.raw)

    `seats` is a seat string, or a list of players, functions and seat strings; one alone fills all
    seats. `guests` are host players that sit in some seats instead. Whoever may sit down later is
    on `reserve`: then nothing is compiled when it does.
    """

    joint: JointSteps | None = None  # with whom its steps are played

    def __aiter__(self) -> "Session":
        return self

    async def __anext__(self) -> Tick:
        if self.ended or self._stopping or self.step >= self.steps:
            await self.close()
            raise StopAsyncIteration
        try:
            return await self._tick()
        except Paused as pause:
            self.paused = str(pause)
            await self.close()
            raise StopAsyncIteration from None
        except CannotWrite:  # what is on disk ends with the last step that was written whole
            await self.close(keep=False)
            raise
        except BaseException:
            await self.close()
            raise

    async def _tick(self) -> Tick:
        self.begin_record()
        await self._open()
        if self.all_pure:
            await asyncio.sleep(0)
            return self.advance_pure()
        if isinstance(self.clock, Realtime):
            await asyncio.sleep(max(0.0, self._due - time.monotonic()))
            self._due = max(self._due, time.monotonic()) + self.clock.tick
        before = self.checkpoint()
        try:
            await self._hear()
            chosen = self.chosen_actions()
            if self.joint is None:
                return self.advance(chosen)
            others = self.clock.others_move(self.step)
            played = await self.joint.step(self.runner, self.now, chosen, others)
        except (Paused, asyncio.CancelledError):  # nothing of the step counts
            self.return_to(before)
            raise
        return self.advance_to(*played)

    def stop(self) -> None:
        """Ends after the step that is being played; the session can be taken up again."""
        self._stopping = True

    async def _open(self) -> None:
        """Players sit down, and the clock starts."""
        if self._lock is not None:
            self._lock.take()
        if not self._began:
            self._began = time.monotonic() - self.spent
            if isinstance(self.clock, Realtime) and self.hosts:
                self.runner.step(self.now, {seat: STAY for seat in self.hosts})  # compiles it
            self._due = time.monotonic()
        if self._closed:
            self._closed, self.paused = False, ""
            self._began = time.monotonic() - self.spent
        for mind in self.minds:
            if not mind.opened:
                mind.opened = True
                own = folder_of(mind, self.folder)
                if own is not None:
                    own.mkdir(parents=True, exist_ok=True)
                await self._seat_down(mind, own)
                self.remember(mind)

    async def _seat_down(self, mind: SeatedHost, folder: Path | None) -> None:
        """Tells a mind where it sits; one that cannot sit down in time ends the match."""
        seating = HostSeating(
            env=self.env,
            seats=mind.seats,
            names=self.names,
            rules=dict(self.env.sheet.rules),
            knowledge=self.builder.knowledge,
            deadline=mind.deadline,
            folder=folder,
            step=self.step,
            trial=self.trial,
            identity=self.runner.identity,
            run=self.folder,
            clock=str(self.clock),
            session=self,
        )
        try:
            async with asyncio.timeout(mind.deadline):
                await mind.player.open(seating)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise BadArgument(
                f"the player in seat {mind.key} cannot sit down: {printable(why)}"
            ) from error

    async def close(self, keep: bool = True) -> None:
        """Nobody is waited for any longer, and host players get up.

        Unless `keep`, the record is left as it is.
        """
        if self._closed:
            return
        self._closed, self._stopping = True, False
        try:
            await self._end(keep)
        finally:
            if self._lock is not None:
                self._lock.close()

    async def _end(self, keep: bool) -> None:
        self.settle()
        self.spent = time.monotonic() - self._began if self._began else 0.0
        if not self.ended and not self.paused and self.step >= self.steps:
            self.ended = f"steps {self.steps}"
        for mind in (*self.minds, *self.left):
            mind.forget_question()
            if mind.opened:
                mind.opened = False
                try:
                    async with asyncio.timeout(mind.deadline):
                        await mind.player.close()
                except Exception as error:
                    log.warning("seat %s: cannot close (%s)", mind.key, printable(error))
        if keep:
            self.recorder.remember(self.step, self.memories())
            self.recorder.finish(self)

    async def _hear(self) -> None:
        """Asks whoever the clock says, and commits what has been answered, in seat order."""
        self.chosen = []
        for one in self.hosts.values():
            one.action = STAY
        self._poll()
        for phase in self.clock.phases(self.clock.asks(*self.free())):
            self._ask(phase)
            if self.clock.waits:
                await self._answers()
            self._commit()
        if not self.clock.waits:
            await asyncio.sleep(0)
            self._commit()

    def _poll(self) -> None:
        """Takes the newest input of players who are not awaited."""
        for mind in self.minds:
            if not mind.polled:
                continue
            seats = [seat for seat in mind.seats if not self.hosts[seat].pursues]
            percepts = [self.percept(seat) for seat in seats]
            try:
                given = mind.poll(percepts)
                reply = Reply() if given is None else as_reply(given, seats)
            except Exception as error:
                failure = "malformed" if isinstance(error, BadAnswer) else "error"
                for percept in percepts:
                    why = f"{type(error).__name__}: {error}"
                    self.land(percept, self.step, None, failure, why)
                continue
            if reply.pause:
                raise Paused(reply.pause)
            for percept in percepts:
                self._enter(percept, reply.decisions.get(percept.seat, Decision()))

    def _enter(self, percept: Percept, decision: Decision) -> None:
        """The input of a polled player counts; it is noted where it is another than before."""
        one = self.hosts[percept.seat]
        one.events, one.messages = [], []
        lasts = not decision.skill and not decision.writes(self.step, percept.seat, 0)
        if lasts and decision == (one.entered or Decision()):
            self.take_up(percept, decision)
        else:
            self.land(percept, self.step, decision, "", "")
        one.entered = decision

    def _ask(self, seats: Sequence[int]) -> None:
        """Asks the minds in these seats, each once, unless they are still thinking."""
        free = set(seats)
        for mind in self.minds:
            asked = [seat for seat in mind.seats if seat in free]
            if not asked or mind.question is not None:
                continue
            groups = self.groups(mind, asked)
            mind.ask([self.percept(first) for first, *_ in groups], groups, self.step)
            for seat in asked:
                self.hosts[seat].events, self.hosts[seat].messages = [], []

    async def _answers(self) -> None:
        """Until everybody has answered or is late; all of them think at once."""
        await asyncio.sleep(0)  # whoever answers at once is not waited for
        for mind in self.minds:
            if mind.question is not None and not mind.question.task.done():
                left = mind.question.since + mind.deadline - time.monotonic()
                if left > 0:
                    await asyncio.wait([mind.question.task], timeout=left)

    def _commit(self) -> None:
        """What has been answered becomes actions, skills and writes, in seat order."""
        now = time.monotonic()
        landed: list[tuple[Percept, tuple[int, ...], Question, Any]] = []
        for mind in self.minds:
            question = mind.question
            late = question is not None and now - question.since >= mind.deadline
            if question is None or not (question.task.done() or late):
                continue
            failure, why, reply = outcome(question)
            if failure == "late":
                mind.missed(question.seats)
            if reply is not None and reply.pause:
                raise Paused(reply.pause)
            mind.question = None
            self._time(mind, question, now - question.since, reply)
            answers = zip(question.percepts, question.groups, strict=True)
            landed += [(*each, question, (failure, why, reply)) for each in answers]
        landed.sort(key=lambda each: each[0].seat)
        for percept, group, question, (failure, why, reply) in landed:
            decision = None if reply is None else reply.decisions.get(percept.seat)
            if reply is not None and decision is None:
                failure, why = reply.failure, reply.why
            first = percept.seat == question.seats[0]
            trace = reply.trace if reply is not None and first else None
            self.land(percept, question.step, decision, failure, why, trace)
            self.share(group, decision)

    def _time(
        self, mind: SeatedHost, question: Question, seconds: float, reply: Reply | None
    ) -> None:
        usage = {} if reply is None else dict(reply.usage)
        mind.usage.update(usage)
        row: dict[str, Any] = {"seats": list(question.seats), "asked": question.step}
        row |= {"landed": self.step, "seconds": seconds}
        self.timing.append(row | ({"usage": usage} if usage else {}))
