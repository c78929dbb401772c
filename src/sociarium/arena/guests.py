"""Players outside compiled code as guests of a match: how they are asked, and what they answer."""

import asyncio
import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sociarium.core.actions import STAY
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.events import Row
from sociarium.players import agents
from sociarium.players.agents import BadAnswer
from sociarium.players.decision import Decision
from sociarium.players.percept import Heard, Percept
from sociarium.players.protocol import HostPlayer
from sociarium.players.roster import Seat

DEADLINE = 30.0  # seconds
FALLBACKS = ("stay", "random", "again")
FORGOTTEN = {"forgotten": True}  # in place of what a player could not say


@dataclass
class Guest:
    """A player outside, and what it has not been told yet."""

    player: HostPlayer
    deadline: float = DEADLINE
    fallback: str = "stay"
    pursues: str = ""  # a skill
    status: str = ""  # how its last skill ended
    does: int = STAY  # in the coming step, unless it pursues something
    score: float = 0.0
    decisions: int = 0
    events: list[Row] = field(default_factory=list)
    messages: list[Heard] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def skilled(self) -> bool:
        """Whether it may pursue skills, or does."""
        return bool(self.pursues) or getattr(self.player, "skilled", True)

    def falls_back_on(self, legal: np.ndarray, last: int, drawn: tuple[int, ...]) -> int:
        """What it does where it failed; `legal` has the actions, `drawn` the seed of a draw."""
        if self.fallback == "again":
            return last if last in legal else STAY
        if self.fallback == "random":
            return int(np.random.default_rng(drawn).choice(legal))
        return STAY

    def remembers(self) -> Any:
        """What its player remembers, as JSON can hold it; a player that cannot say it failed."""
        try:
            return json.loads(json.dumps(self.player.snapshot()))
        except Exception:
            self.failures["snapshot"] += 1
            return FORGOTTEN


class Absent:
    """Sits in for somebody of the past who is not called again."""

    async def decide(self, percept: Percept, deadline: float) -> Decision:
        """Stays."""
        return Decision()

    def snapshot(self) -> None:
        """Nothing."""

    def restore(self, snapshot: None) -> None:
        """Nothing."""


def guest(chair: Seat, env: Environment[Any, Any], seat: int, deadline: float) -> Guest:
    """The player outside that a chair names, with its own deadline and fallback if it has them."""
    options = dict(chair.options)
    fallback = options.pop("fallback", "stay")
    if fallback not in FALLBACKS:
        raise BadArgument(f"fallback is one of {', '.join(FALLBACKS)}; given {fallback!r}")
    deadline = patience(options.pop("deadline", deadline))
    return Guest(agents.agent(chair.ref, env, seat, **options), deadline, fallback)


def patience(seconds: float | str) -> float:
    """How long somebody may think."""
    try:
        deadline = float(seconds)
    except ValueError:
        deadline = math.nan
    if not 0 < deadline < math.inf:
        raise BadArgument(f"a deadline is a number of seconds above 0; given {seconds!r}")
    return deadline


async def asked(player: HostPlayer, percept: Percept, deadline: float) -> Decision:
    """Asks within a task of its own, where whatever goes wrong is the player's failure."""
    clock = asyncio.get_running_loop().time
    late = clock() + deadline
    try:
        async with asyncio.timeout_at(late):
            answer = await player.decide(percept, deadline)
    except SystemExit as error:
        raise RuntimeError("the player wanted to end the program") from error
    if clock() > late:
        raise TimeoutError("answered after the deadline")
    return answer


def answered(task: asyncio.Task[Decision]) -> tuple[str, str, Decision | None]:
    """What came of asking: a failure and why, or the decision."""
    if not task.done():
        task.cancel()
        task.add_done_callback(lambda late: late.cancelled() or late.exception())
        return "late", "no answer before the deadline", None
    if task.cancelled():
        return "error", "the player gave up", None
    error = task.exception()
    if isinstance(error, BadAnswer):
        return "malformed", str(error), None
    if isinstance(error, TimeoutError):
        return "late", str(error) or "no answer before the deadline", None
    if error is not None:
        return "error", f"{type(error).__name__}: {error}", None
    answer = task.result()
    if not isinstance(answer, Decision):
        return "malformed", f"answered with {type(answer).__name__}", None
    return "", "", answer
