"""What players are: pure ones inside compiled code, and host players that are awaited outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Bool, Int, Key

from sociarium.core.decision import Decision, Reply
from sociarium.core.environment import Environment, View
from sociarium.core.percept import Percept
from sociarium.core.text import Json


def late_message(deadline: float) -> str:
    """Why a decision that came too late does not count, and what helps."""
    return (
        f"no answer within {deadline:g} s; --deadline SECONDS, or ?deadline=SECONDS on the seat, "
        "gives more time"
    )


@runtime_checkable
class PurePlayer(Protocol):
    """Decides inside compiled code, from its own view alone.

    The view has no player axis: `cells[planes, rows, cols]` and `own[numbers]`.
    """

    def begin(self, key: Key[Array, ""]) -> Any:
        """What the player remembers at the start."""
        ...

    def act(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Any]:
        """An action and what to remember."""
        ...


@dataclass(frozen=True)
class HostSeating:
    """What a host player is told when it sits down, before anything is asked of it."""

    env: Environment[Any, Any]
    seats: tuple[int, ...]  # its own
    names: tuple[str, ...]  # of all players, by seat
    rules: Mapping[str, str]
    knowledge: str  # of hidden recipes: none, discovered or full
    deadline: float  # seconds it may think
    folder: Path | None  # its own, if the match has one
    step: int = 0  # at which it sits down, 0 at the start
    trial: int = 0  # of a series
    identity: tuple[int, int, int] = (0, 0, 0)  # of the episode: seed, lane and number
    run: Path | None = None  # the folder of the match, if it has one
    clock: str = "lockstep"
    session: Any = None  # the same object for all who sit in one match


@runtime_checkable
class HostPlayer(Protocol):
    """Decides outside compiled code, in its own time: a model, a person, a program elsewhere.

    One host player may sit in several seats. It is asked for those of its seats whose last skill
    has ended. What it remembers can be put into plain values and taken from them, so that a match
    can be stopped, resumed and forked: small ones, such as a position in a file of its folder.

    A player without skills may say so by `skilled = False`, which saves compiling them. Whoever
    says `polled = True` is never awaited: `poll(percepts)` is called at every step and gives the
    newest reply, or None where nothing was entered, which means to stay. `own_deadline` are seconds
    for which it is waited instead of those of the match. `missed(seats)`, if there is such a
    method, is called when an answer came too late and did not count. Whoever has a method
    `groups(seats, view, legal)` shares answers: it gives the seats in groups, is asked with the
    percept of the first of each, and what that one does all of them do.
    """

    async def open(self, seating: HostSeating) -> None:
        """Sits down."""
        ...

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """What its seats do next; after `deadline` seconds nobody waits any longer."""
        ...

    async def close(self) -> None:
        """Gets up; nothing more is asked."""
        ...

    def snapshot(self) -> Json:
        """What it remembers, as plain values that JSON can hold."""
        ...

    def restore(self, snapshot: Json) -> None:
        """Remembers what it did when the snapshot was taken."""
        ...


class SimpleHostPlayer:
    """The host player that all but `decide` of is left to: one seat, nothing to remember."""

    async def open(self, seating: HostSeating) -> None:
        """Needs nothing."""

    async def close(self) -> None:
        """Holds nothing."""

    def snapshot(self) -> Any:
        """Nothing."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Nothing."""


class Absent(SimpleHostPlayer):
    """Sits in for somebody of the past who is not called again."""

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """Stays."""
        return Reply({percept.seat: Decision() for percept in percepts})
