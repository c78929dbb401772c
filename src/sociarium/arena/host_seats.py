"""Seats that host players decide for: who sits there, how it is asked, and what it answers."""

import asyncio
import itertools
import json
import math
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from sociarium.arena.seating import Chair
from sociarium.core.actions import STAY
from sociarium.core.decision import BadAnswer, Reply, as_reply
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument, CannotWrite, MatchAborted
from sociarium.core.events import Row
from sociarium.core.percept import Heard, Percept
from sociarium.players.lifting import is_host_player, lift
from sociarium.players.protocol import Absent, HostPlayer, late_message
from sociarium.players.roster import Seat, kinds

DEADLINE = 60.0  # seconds
FALLBACKS = ("stay", "random", "again")
MOST_SEATS_TOLD = 64  # of one mind, by number
MOST_MEMORY = 1 << 20  # bytes of a snapshot
MINDS = "minds"  # the folder of what host players write down
FORGOTTEN = {"forgotten": True}  # in place of what a player could not say


@dataclass(eq=False)
class Question:
    """Something that was asked before a step and is being thought about."""

    percepts: tuple[Percept, ...]
    groups: tuple[tuple[int, ...], ...]  # for whom each answer counts, the one asked first
    step: int
    since: float
    deadline: float
    task: asyncio.Task[Reply]

    @property
    def seats(self) -> tuple[int, ...]:
        """The seats whose percepts were shown."""
        return tuple(percept.seat for percept in self.percepts)

    @property
    def waiting(self) -> Iterator[int]:
        """All seats for which the answers count."""
        return itertools.chain(*self.groups)


@dataclass(eq=False)
class SeatedHost:
    """A host player with its seats; it thinks about one question at a time."""

    player: HostPlayer
    seats: tuple[int, ...]
    deadline: float = DEADLINE
    opened: bool = False
    question: Question | None = None
    memory: Any = None  # its last snapshot
    usage: Counter[str] = field(default_factory=Counter)

    @property
    def skilled(self) -> bool:
        """Whether it may pursue skills."""
        return getattr(self.player, "skilled", True)

    @property
    def polled(self) -> bool:
        """Whether it is never awaited."""
        return getattr(self.player, "polled", False)

    @property
    def shares(self) -> bool:
        """Whether its seats share answers, as archetypes do."""
        return hasattr(self.player, "groups")

    @property
    def key(self) -> str:
        """What its snapshots are filed under: its seats; of many the first and a checksum."""
        told = ",".join(map(str, self.seats))
        if len(self.seats) <= MOST_SEATS_TOLD:
            return told
        return f"{self.seats[0]}..{zlib.crc32(told.encode()):08x}"

    def groups(
        self, seats: Sequence[int], view: View, legal: Bool[np.ndarray, "seats actions"]
    ) -> list[tuple[int, ...]]:
        """The seats of one that shares answers, by whose answer counts for whom."""
        player: Any = self.player
        return player.groups(seats, view, legal)

    def ask(
        self, percepts: Sequence[Percept], groups: Sequence[tuple[int, ...]], step: int
    ) -> None:
        """Begins to think about these percepts, each of which stands for a group of seats."""
        answer = asyncio.ensure_future(_asked(self.player, percepts, self.deadline))
        self.question = Question(
            tuple(percepts), tuple(groups), step, time.monotonic(), self.deadline, answer
        )

    def poll(self, percepts: Sequence[Percept]) -> Any:
        """The newest input of a polled player, or None."""
        player: Any = self.player
        return player.poll(percepts) if percepts else None

    def missed(self, seats: Sequence[int]) -> None:
        """Tells the player, if it wants to know, that its answer came too late."""
        wants = getattr(self.player, "missed", None)
        if wants is not None:
            wants(seats)

    def remember(self) -> bool:
        """Takes a snapshot; False if the player cannot say what it remembers."""
        try:
            text = json.dumps(self.player.snapshot())
            if len(text) > MOST_MEMORY:
                raise ValueError(f"a snapshot has at most {MOST_MEMORY} bytes; given {len(text)}")
            self.memory = json.loads(text)
        except CannotWrite:
            raise
        except Exception:
            self.memory = FORGOTTEN
            return False
        return True

    def forget_question(self) -> None:
        """Nobody waits for an answer any more."""
        if self.question is not None:
            _give_up(self.question.task)
            self.question = None


@dataclass
class HostSeat:
    """One seat of a host player, and what the player has not been told yet."""

    mind: SeatedHost
    fallback: str = "stay"
    pursues: str = ""  # a skill
    status: str = ""  # how its last skill ended
    action: int = STAY  # in the coming step, unless it pursues something
    entered: Any = None  # the last input of a polled player
    score: float = 0.0
    decisions: int = 0
    events: list[Row] = field(default_factory=list)
    messages: list[Heard] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    def copy(self) -> "HostSeat":
        """The seat as it is now, to come back to."""
        own = {"events": [*self.events], "messages": [*self.messages]}
        return replace(self, **own, failures=Counter(self.failures))

    def fallback_action(self, legal: np.ndarray, last: int, drawn: tuple[int, ...]) -> int:
        """What it does where it failed; `legal` has the actions, `drawn` the seed of a draw."""
        if self.fallback == "again":
            return last if last in legal else STAY
        if self.fallback == "random":
            return int(np.random.default_rng(drawn).choice(legal))
        return STAY


def host_seats(
    env: Environment[Any, Any],
    chairs: Sequence[Chair],
    given: Mapping[int, Any],
    deadline: float,
) -> dict[int, HostSeat]:
    """The seats of host players among these chairs; those that are `given` sit there instead.

    One host player on several chairs is one mind, and so are seat strings that name the same
    `crew`, or are equal and share answers (`archetypes`). A function or a simple object on several
    chairs is asked for each of them. A host seat of an earlier trial that is given keeps its mind.
    """
    minds: dict[Any, list[int]] = {}
    stays: dict[int, HostSeat] = {}
    for seat, chair in enumerate(chairs):
        who = given.get(seat, chair)
        if isinstance(who, HostSeat):
            who.mind.usage = Counter()
            stays[seat] = HostSeat(who.mind, who.fallback)
        elif isinstance(who, Seat):
            if who.outside:
                minds.setdefault(_mind_of(who) or seat, []).append(seat)
        elif is_host_player(who):
            whole = isinstance(who, HostPlayer) and not isinstance(who, Absent)
            minds.setdefault(id(who) if whole else seat, []).append(seat)
    found: dict[int, HostSeat] = {}
    for seats in minds.values():
        who = given.get(seats[0], chairs[seats[0]])
        found |= host_seat(env, who, tuple(seats), deadline)
    return dict(sorted({**found, **stays}.items()))


def _mind_of(who: Seat) -> Any:
    """What seats of one mind have in common; nothing where each has a mind of its own."""
    options = dict(who.options)
    if "archetypes" in options:
        return who
    return (who.kind, who.ref, options["crew"]) if "crew" in options else None


def host_seat(
    env: Environment[Any, Any], who: Any, seats: tuple[int, ...], deadline: float
) -> dict[int, HostSeat]:
    """A host player, or the one that a chair names, in its seats.

    A seat string may give its own deadline and fallback, and a player its `own_deadline`.
    """
    if not isinstance(who, Seat):
        player = lift(who)
        mind = SeatedHost(player, seats, patience(getattr(player, "own_deadline", deadline)))
        return {seat: HostSeat(mind) for seat in seats}
    options = who.own_options
    fallback = options.pop("fallback", "stay")
    if fallback not in FALLBACKS:
        raise BadArgument(f"fallback is one of {', '.join(FALLBACKS)}; given {fallback!r}")
    wanted = options.pop("deadline", None)
    options.pop("crew", None)
    player = lift(kinds()[who.kind].make(who.ref, env, seats, **options))
    seconds = getattr(player, "own_deadline", deadline) if wanted is None else wanted
    mind = SeatedHost(player, seats, patience(seconds))
    return {seat: HostSeat(mind, fallback) for seat in seats}


def folder_of(mind: SeatedHost, folder: Path | None) -> Path | None:
    """A mind's own folder below that of its match."""
    return None if folder is None else folder / MINDS / f"seat-{mind.key.replace(',', '-')}"


def patience(seconds: float | str) -> float:
    """How long somebody may think."""
    try:
        deadline = float(seconds)
    except ValueError:
        deadline = math.nan
    if not 0 < deadline < math.inf:
        raise BadArgument(f"a deadline is a number of seconds above 0; given {seconds!r}")
    return deadline


async def _asked(player: HostPlayer, percepts: Sequence[Percept], deadline: float) -> Reply:
    """Asks within a task of its own, where whatever goes wrong is the player's failure."""
    clock = asyncio.get_running_loop().time
    late = clock() + deadline
    try:
        async with asyncio.timeout_at(late):
            answer = await player.decide(percepts, deadline)
    except SystemExit as error:
        raise RuntimeError("the player wanted to end the program") from error
    if clock() > late:
        raise TimeoutError(late_message(deadline))
    return as_reply(answer, [percept.seat for percept in percepts])


def outcome(question: Question) -> tuple[str, str, Reply | None]:
    """What came of a question: a failure and why, or the reply."""
    task = question.task
    if not task.done():
        _give_up(task)
        return "late", late_message(question.deadline), None
    if task.cancelled():
        return "error", "the player gave up", None
    error = task.exception()
    if isinstance(error, MatchAborted | CannotWrite):
        raise error
    if isinstance(error, BadAnswer):
        return "malformed", str(error), None
    if isinstance(error, TimeoutError):
        return "late", str(error) or late_message(question.deadline), None
    if error is not None:
        return "error", f"{type(error).__name__}: {error}", None
    return "", "", task.result()


def _give_up(task: asyncio.Task[Any]) -> None:
    """Cancels a task; asyncio warns of no exception that it ends with, or ended with already."""
    if task.done():
        _retrieve_exception(task)
    else:
        task.cancel()
        task.add_done_callback(_retrieve_exception)


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
