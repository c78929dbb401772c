"""Schedulers that command a whole crew: what is open, and a command for everybody.

The catalogue names a module of them for a world. They turn an order of priority into commands, so
whoever leads, a model or a rule, need not say who does what.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from sociarium import catalogue
from sociarium.core.decision import Reply
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.percept import Percept
from sociarium.core.text import Json
from sociarium.players.protocol import HostSeating


@dataclass(frozen=True)
class OpenJob:
    """Something that a crew can do for points: what it is called now, what it is, until when."""

    name: str
    what: str
    due: int  # the last step in which it can be done


@runtime_checkable
class CrewScheduler(Protocol):
    """Commands a crew of one world, from what its players perceive."""

    def jobs(self, percept: Percept) -> tuple[OpenJob, ...]:
        """What is open now, whatever is due first before the others."""
        ...

    def commands(
        self, percepts: Sequence[Percept], turn: Sequence[str] | None = None
    ) -> dict[int, str]:
        """An action that is legal for each of these seats.

        Jobs are done in this `turn`, by their names, and those that are left out are not done;
        without one all are done as the scheduler sees fit.
        """
        ...

    def snapshot(self) -> Json:
        """What it remembers, as plain values."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Remembers that."""
        ...


FIRST, BEST = "", "best"  # in place of a name: the first of a table, the last
SECONDS = 0.5  # that a scheduler may solve for one schedule, if it solves
CrewMaker = Callable[..., CrewScheduler]


def crew_schedulers(env: Environment[Any, Any]) -> Mapping[str, CrewMaker]:
    """The schedulers for the crews of a world by name, the best one last; most have none."""
    where = catalogue.find(env.id).crews if env.id else ""
    return importlib.import_module(where).CREW_SCHEDULERS if where else {}


def crew_scheduler(env: Environment[Any, Any], name: str = FIRST, **options: Any) -> CrewScheduler:
    """The scheduler of a name, the first or the best; a world without any is refused."""
    known = crew_schedulers(env)
    if not known:
        some = [entry.id for entry in catalogue.WORLDS if entry.crews]
        raise BadArgument(
            f"{env.id or 'this world'} has no scheduler for crews; worlds that have one: "
            f"{', '.join(some)}"
        )
    name = {FIRST: next(iter(known)), BEST: tuple(known)[-1]}.get(name, name)
    if name not in known:
        raise UnknownName("scheduler", name, tuple(known))
    return known[name](env, **options)


class Scheduled:
    """A scheduler as a host player: `agent:MODULE:Scheduled?by=cp_sat&crew=kitchen*2`."""

    skilled = False

    def __init__(self, by: str = "greedy", seconds: float | str = SECONDS) -> None:
        self._by, self._seconds = by, float(seconds)
        self._scheduler: CrewScheduler | None = None
        self._kept: Json = None

    async def open(self, seating: HostSeating) -> None:
        """Learns whom it commands in which world."""
        self._scheduler = crew_scheduler(seating.env, self._by, seconds=self._seconds)
        if seating.step:
            self._scheduler.restore(self._kept)

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """A command for each of its players."""
        assert self._scheduler is not None
        return Reply(self._scheduler.commands(percepts))

    async def close(self) -> None:
        """Keeps what the scheduler remembers."""
        self._kept = self.snapshot()

    def snapshot(self) -> Json:
        """What the scheduler remembers."""
        return self._kept if self._scheduler is None else self._scheduler.snapshot()

    def restore(self, snapshot: Json) -> None:
        """Goes on from there."""
        self._kept = snapshot
        if self._scheduler is not None:
            self._scheduler.restore(snapshot)
