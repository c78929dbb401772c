"""Caps on calls, tokens, money and time: what is settled and what is reserved never pass them.

A call reserves what it may use at most, and settles what the server says that it used. What a
server reports beyond the reservation is counted as overshoot.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from sociarium.core.errors import BadArgument

Amount = float | int
Measure = Literal["calls", "tokens", "money", "seconds"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
AtCap = Literal["pause", "cheaper", "rules"]
AT_CAP: tuple[AtCap, ...] = get_args(AtCap)
CHEAPER = "cheaper"  # the role that is called at a cap
_HOW = "a budget is written like calls=100,tokens=50000,money=1.5,seconds=600,seat.calls=20"


class CapReached(Exception):
    """A call would pass a cap; nothing was called."""


@dataclass(frozen=True)
class Caps:
    """The most that may be used: by the whole run, by each seat, by each role that is named.

    >>> Caps.read("calls=100,seat.tokens=20000,role.act.money=0.5")
    """

    run: Mapping[Measure, float] = field(default_factory=dict)
    seat: Mapping[Measure, float] = field(default_factory=dict)
    roles: Mapping[str, Mapping[Measure, float]] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> "Caps":
        """The caps that a text names."""
        run: dict[Measure, float] = {}
        seat: dict[Measure, float] = {}
        roles: defaultdict[str, dict[Measure, float]] = defaultdict(dict)
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, value = part.partition("=")
            *scope, measure = name.strip().split(".")
            caps = run if not scope else seat if scope == ["seat"] else None
            if caps is None and len(scope) == 2 and scope[0] == "role":
                caps = roles[scope[1]]
            measured: Measure | None = next((one for one in MEASURES if one == measure), None)
            try:
                most = float(value)
            except ValueError:
                most = -1.0
            if caps is None or measured is None or not 0 <= most < float("inf"):
                raise BadArgument(f"{_HOW},role.act.tokens=9000; given {part!r}")
            caps[measured] = most
        return cls(run, seat, dict(roles))

    def scopes(self, seat: int, role: str) -> list[tuple[str, Mapping[Measure, float]]]:
        """All that a call of this seat and role counts for, with their caps."""
        return [
            ("run", self.run),
            (f"seat {seat}", self.seat),
            (f"role {role}", self.roles.get(role, {})),
        ]

    @property
    def money(self) -> bool:
        """Whether any cap is on money."""
        return any("money" in caps for caps in (self.run, self.seat, *self.roles.values()))


@dataclass(eq=False)
class Reservation:
    """What a call may use at most, until it is settled."""

    number: int
    seat: int
    role: str
    used: Mapping[Measure, Amount]
    row: int = 0  # in the file that keeps what was spent


class Budget:
    """What a run may use and has used; all its seats share it, from any thread."""

    def __init__(self, caps: Caps | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self.caps = caps or Caps()
        self.settled: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.reserved: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.overshoot: defaultdict[str, float] = defaultdict(float)
        self._now, self._began, self._before = now, None, 0.0
        self._number, self._lock = 0, threading.Lock()

    @property
    def elapsed(self) -> float:
        """Seconds since the first call, and those before this process."""
        return self._before + (0.0 if self._began is None else self._now() - self._began)

    def reserve(self, seat: int, role: str, tokens: Amount, money: Amount) -> Reservation:
        """Sets so much aside, or raises `CapReached` and changes nothing."""
        asked: dict[Measure, Amount] = {"calls": 1, "tokens": tokens, "money": money}
        with self._lock:
            if self._began is None:
                self._began = self._now()
            for scope, caps in self.caps.scopes(seat, role):
                for measure, most in caps.items():
                    spent = self.spent(scope, measure)
                    over = spent >= most if measure == "seconds" else spent + asked[measure] > most
                    if over:
                        raise CapReached(
                            f"{scope} may use {most:g} {measure}; {spent:g} are used or reserved"
                            + ("" if measure == "seconds" else f", {asked[measure]:g} are asked")
                        )
            self._number += 1
            reservation = Reservation(self._number, seat, role, asked)
            for scope, _ in self.caps.scopes(seat, role):
                self.reserved[scope].update(asked)
        return reservation

    def spent(self, scope: str, measure: Measure) -> Amount:
        """What is settled and reserved; of time what has passed."""
        if measure == "seconds" and scope == "run":
            return self.elapsed
        return self.settled[scope][measure] + self.reserved[scope][measure]

    def settle(self, one: Reservation, tokens: Amount, money: Amount, seconds: float) -> None:
        """What a reserved call really used."""
        used: dict[Measure, Amount] = {"tokens": tokens, "money": money}
        with self._lock:
            for measure, amount in used.items():
                self.overshoot[measure] += max(0.0, amount - one.used[measure])
            for scope, _ in self.caps.scopes(one.seat, one.role):
                self.reserved[scope].subtract(one.used)
                self.settled[scope].update({**used, "calls": 1, "seconds": seconds})

    def restore(self, seat: int, role: str, used: Mapping[str, Amount]) -> None:
        """Counts what was used before this process."""
        for scope, _ in self.caps.scopes(seat, role):
            self.settled[scope].update(used)

    def restore_elapsed(self, seconds: float) -> None:
        """Counts the time before this process."""
        self._before = max(self._before, seconds)
