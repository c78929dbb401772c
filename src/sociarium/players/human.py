"""The kind `human`: a person who plays by a keyboard, as `sociarium play` gives it one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

from sociarium.core.decision import Decision, Reply
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.percept import Percept
from sociarium.players.protocol import HostSeating, SimpleHostPlayer

WEEK = 7 * 24 * 3600.0  # seconds


@runtime_checkable
class Keyboard(Protocol):
    """Shows a person what it perceives, and gives what it enters.

    A `polled` one is for matches in real time: it is never awaited, and asked for its `newest`
    entry at every step. A `skilled` one can enter skills. Once the person has `left`, nothing that
    it gives counts.
    """

    polled: bool
    skilled: bool
    left: bool

    async def open(self, seating: HostSeating) -> None:
        """The person sits down."""
        ...

    async def ask(self, percept: Percept) -> Decision:
        """What the person decides, however long that takes."""
        ...

    def newest(self, percept: Percept) -> Decision | None:
        """What the person entered last since it was last asked, or nothing."""
        ...

    async def close(self) -> None:
        """The person gets up."""
        ...


class HumanPlayer(SimpleHostPlayer):
    """A person in one seat. Nobody hurries it, and when it leaves the match pauses."""

    own_deadline = WEEK

    def __init__(self, keyboard: Keyboard) -> None:
        self.keyboard = keyboard
        self.polled, self.skilled = keyboard.polled, keyboard.skilled

    async def open(self, seating: HostSeating) -> None:
        """Sits down at the keyboard."""
        await self.keyboard.open(seating)

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """What the person decides."""
        (percept,) = percepts
        return self._reply(percept, await self.keyboard.ask(percept))

    def poll(self, percepts: Sequence[Percept]) -> Reply | None:
        """What the person entered last; silence, and a message that is being typed, is to stay."""
        (percept,) = percepts
        newest = self.keyboard.newest(percept)
        return self._reply(percept, newest) if newest or self.keyboard.left else None

    def _reply(self, percept: Percept, decision: Decision | None) -> Reply:
        if self.keyboard.left:
            return Reply(pause=f"{percept.name} left")
        return Reply({percept.seat: decision})

    async def close(self) -> None:
        """Gets up."""
        await self.keyboard.close()


_KEYBOARD: ContextVar[Keyboard | None] = ContextVar("keyboard", default=None)


@contextmanager
def at_keyboard(keyboard: Keyboard) -> Iterator[None]:
    """While it lasts, whoever sits down as `human` plays by this keyboard.

    >>> with at_keyboard(my_keyboard):
    ...     match = Match(make("coins"), "human script:cooperator")
    """
    before = _KEYBOARD.set(keyboard)
    try:
        yield
    finally:
        _KEYBOARD.reset(before)


def make_human(
    ref: str, env: Environment[Any, Any], seats: tuple[int, ...], **options: str
) -> HumanPlayer:
    """The person that a seat string means, at the keyboard that there is."""
    if ref or options:
        given = f":{ref}" if ref else f"?{next(iter(options))}="
        raise BadArgument(
            f"a person is written human, perhaps with ?name=, deadline or fallback; given {given!r}"
        )
    if len(seats) > 1:
        raise BadArgument(f"a person sits in one seat; given {', '.join(map(str, seats))}")
    keyboard = _KEYBOARD.get()
    if keyboard is None:
        raise BadArgument(
            "human is a person, who needs a keyboard: `sociarium play WORLD` gives it one "
            "(`sociarium play --resume FOLDER` for a match that has begun)"
        )
    return HumanPlayer(keyboard)
