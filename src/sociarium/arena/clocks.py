"""Three ways in which time passes for host players: by turns, in lockstep, in real time."""

import re
from collections.abc import Collection, Iterable, Sequence

from sociarium.core.errors import BadArgument, UnknownName


class Clock:
    """Lockstep: everybody moves in every step, and the world waits for all who are asked.

    The seats of `leaders` are asked first; the others are told what they chose.
    """

    waits = True  # the world, for answers

    def __init__(self, leaders: Sequence[int] = ()) -> None:
        self.rounds = 0  # how often everybody had its turn
        self.seats: list[int] = []
        self.leaders = tuple(sorted(set(leaders)))

    def __str__(self) -> str:
        led = ",".join(map(str, self.leaders))
        return f"lockstep:leaders={led}" if led else "lockstep"

    def begin(self, seats: Sequence[int]) -> None:
        """These are the seats of host players, from now on."""
        if strangers := sorted(set(self.leaders) - set(seats)):
            raise BadArgument(
                f"leaders are seats of host players ({', '.join(map(str, seats)) or 'none here'}); "
                f"given {', '.join(map(str, strangers))}"
            )
        self.seats = list(seats)

    def asks(self, free: Collection[int], able: Collection[int]) -> list[int]:
        """Who is asked now: all who pursue nothing (`free`) and may do something (`able`)."""
        return [seat for seat in self.seats if seat in free and seat in able]

    def phases(self, asked: Sequence[int]) -> list[list[int]]:
        """Those who are asked, by turns of asking: leaders first, if any are among them."""
        leading = [seat for seat in asked if seat in self.leaders]
        following = [seat for seat in asked if seat not in self.leaders]
        return [phase for phase in (leading, following) if phase]

    def moves(self) -> list[int]:
        """Which seats of host players move in the coming step."""
        return self.seats

    def others_move(self, step: int) -> bool:
        """Whether the pure players move in this step."""
        return True

    def passed(self, busy: Collection[int]) -> None:
        """A step has passed, after which these seats still pursue something."""
        self.rounds += 1


class Realtime(Clock):
    """The world ticks every `tick` seconds and waits for nobody."""

    waits = False

    def __init__(self, tick: float = 0.25) -> None:
        if not 0 < tick <= 3600:
            raise BadArgument(f"a tick is more than 0 and at most 3600 seconds; given {tick}")
        super().__init__()
        self.tick = tick

    def __str__(self) -> str:
        return f"realtime:{self.tick:g}"


class Turns(Clock):
    """One host player after another, in seat order, each for a whole skill; the rest stand.

    The pure players move only in every `bot_period`-th step.
    """

    def __init__(self, bot_period: int = 2) -> None:
        if bot_period < 1:
            raise BadArgument(f"bot_period is 1 or more; given {bot_period}")
        super().__init__()
        self.bot_period = bot_period
        self.turn = -1  # the seat that is moving

    def __str__(self) -> str:
        return f"turns:{self.bot_period}"

    def begin(self, seats: Sequence[int]) -> None:
        """These take turns, in this order; if the one whose turn it is has left, the next."""
        if not seats and not self.seats:
            raise BadArgument("turns are taken by agents and people; here nobody is one")
        super().begin(seats)
        if self.turn not in self.seats:
            self._next()

    def asks(self, free: Collection[int], able: Collection[int]) -> list[int]:
        """Whoever's turn it is; who can do nothing loses its turn."""
        for _ in self.seats:
            if self.turn in able:
                return [self.turn] if self.turn in free else []
            self._next()
        return []

    def moves(self) -> list[int]:
        """Whoever's turn it is."""
        return [self.turn]

    def others_move(self, step: int) -> bool:
        """In every so many steps."""
        return step % self.bot_period == 0

    def passed(self, busy: Collection[int]) -> None:
        """The turn goes on while its skill does."""
        if self.turn not in busy:
            self._next()

    def _next(self) -> None:
        later = [seat for seat in self.seats if seat > self.turn]
        self.rounds += not later
        self.turn = next(iter(later or self.seats), -1)


NAMES = ("lockstep", "turns", "realtime")
ROUNDS = re.compile(r"rounds:(\d+)")


def rounds_of(told: str, ends: Iterable[str]) -> int:
    """How many rounds a match has by the words of its clock and ends; 0 where none ends it."""
    found = [int(match[1]) for end in ends if (match := ROUNDS.fullmatch(end))]
    return min(found) if found and isinstance(clock(told), Turns) else 0


def clock(text: str) -> Clock:
    """From words: `lockstep`, `turns`, `turns:3` (a bot period), `realtime:0.5` (a tick).

    `lockstep:leaders=0,2` asks the players in these seats before all others.
    """
    name, _, number = text.partition(":")
    if name not in NAMES:
        raise UnknownName("clock", name, NAMES)
    try:
        if name == "turns":
            return Turns(int(number)) if number else Turns()
        if name == "realtime":
            return Realtime(float(number)) if number else Realtime()
    except ValueError:
        raise BadArgument(f"{number!r} is no number for the clock {name}") from None
    word, _, seats = number.partition("=")
    numbers = seats.split(",")
    if number and (word != "leaders" or not all(map(str.isdigit, numbers))):
        raise BadArgument(
            f"lockstep has no number but leaders, as in lockstep:leaders=0,2; given {number!r}"
        )
    return Clock([int(seat) for seat in numbers] if number else ())
