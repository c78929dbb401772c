"""Names for every number a world shows: planes and codes of a view, events, gauges."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sociarium.core.errors import UnknownName

BYTE = 256
OCCUPANTS = ("nobody", "myself", "facing my way", "facing right", "facing me", "facing left")
_SEAT = re.compile(r"\bseat (\d+)\b")
MOST_SEATS_NAMED = 254  # with more players a view tells only that somebody stands there
ANONYMOUS = ("nobody", "somebody")


def name_seats(text: str, names: Sequence[str]) -> str:
    """A text with the names of players in place of their seats, where they have names."""

    def named(seat: re.Match[str]) -> str:
        number = int(seat[1])
        return names[number] if number < len(names) else seat[0]

    return _SEAT.sub(named, text)


def with_article(noun: str) -> str:
    """As in "a pot" and "an oven"."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def seat_codes(players: int) -> tuple[str, ...]:
    """The codes of a plane of seats: one for each, or one for all where there are too many."""
    if players > MOST_SEATS_NAMED:
        return ANONYMOUS
    return ("nobody", *(f"seat {seat}" for seat in range(players)))


Role = Literal[
    "ground",  # what a cell is made of; code 0 is what is not seen
    "occupant",  # whether somebody is there, and who of us: one of `OCCUPANTS`
    "seat",  # who is there
    "facing",  # where whoever is there faces: nobody, then the four points of `actions.COMPASS`
    "hands",  # what whoever is there holds
    "light",  # what shines there in this step
    "goods",  # how many units of what the plane is named after lie there
    "item",  # what lies there: one thing, by its kind
    "station",  # what can be done there
    "contents",  # what is inside the station that is there
    "work",  # whether that station is at work: no, done, or for one, two, three more steps
    "hazard",  # what roams about and does harm
    "group",  # who belongs together: players with the same code
    "mark",  # anything else
]


OF_PLAYERS: tuple[Role, ...] = ("occupant", "seat", "facing", "hands")  # planes about who is there


@dataclass(frozen=True)
class PlaneSpec:
    """One layer of a view: code k means `codes[k]`. A player out of play sees only code 0.

    `role` says how to read it, for whoever does not know the world. One cannot walk onto a cell
    with one of the `solid` codes.
    """

    name: str
    codes: tuple[str, ...]
    role: Role = "mark"
    solid: tuple[str, ...] = ()


@dataclass(frozen=True)
class OwnSpec:
    """One private number: what it is and its range.

    Where `told` names its values, the lowest first, a society tells it to one's contacts too. A
    number that all share may be about the player in a `seat`: then its name begins with "seat" and
    that number, for which a percept has what the player is called. It counts in a `unit`.
    """

    name: str
    low: int
    high: int
    told: tuple[str, ...] = ()
    seat: int | None = None
    unit: float = 1

    def told_as(self, value: int) -> int | float | str:
        """A value in its unit, or by its name where it has one."""
        if self.told and 0 <= value - self.low < len(self.told):
            return self.told[value - self.low]
        counted = round(value * self.unit, 9)
        return int(counted) if counted == int(counted) else counted

    def value(self, told: int | float | str) -> int:
        """The value that is told like this."""
        if isinstance(told, str):
            return self.low + self.told.index(told)
        return round(told / self.unit)

    def called(self, names: Sequence[str]) -> str:
        """Its name where players have these `names`."""
        if self.seat is None:
            return self.name
        return names[self.seat] + self.name.removeprefix(f"seat {self.seat}")


def seat_planes(seats: int) -> tuple[PlaneSpec, ...]:
    """The planes that tell a seat, counted from 1, or nobody (0): a byte in each, lowest first.

    Up to 255 seats have one plane with a name for each; however many there are, no two seats have
    the same codes.
    """
    if seats < BYTE:
        return (PlaneSpec("seat", ("nobody", *(f"seat {seat}" for seat in range(seats)))),)
    planes, unit = [], 1
    while unit <= seats:
        codes = min(seats // unit, BYTE - 1) + 1
        name = "seat from 1" if unit == 1 else f"seat from 1, times {unit}"
        planes.append(PlaneSpec(name, tuple(str(code) for code in range(codes))))
        unit *= BYTE
    return tuple(planes)


@dataclass(frozen=True)
class SocialSpec:
    """What a player sees of its society: codes about itself and about each of its contacts.

    Up to `shared_views` windows of others come beside its own: whose they are is one of so many
    `seats`, and they stand at most `far` cells away along rows and columns. `numbers` are those of
    the charter.
    """

    own: tuple[PlaneSpec, ...]
    ties: tuple[PlaneSpec, ...]
    contacts: int
    shared_views: int = 0
    seats: int = 0
    far: int = 0
    numbers: tuple[OwnSpec, ...] = ()

    @property
    def bytes_per_player(self) -> int:
        """Size of one player's codes and numbers in memory; windows of others come on top."""
        return len(self.own) + self.contacts * len(self.ties) + 2 * len(self.numbers)


@dataclass(frozen=True)
class ViewSpec:
    """What a player sees: `rows x cols` cells in several planes, and its own private numbers.

    `ego_origin` is the player's own place in the window, as (row, column); in a window that is
    fixed it means nothing. `shared` are numbers that all who are present see. `social` is what a
    society adds.
    """

    planes: tuple[PlaneSpec, ...]
    rows: int
    cols: int
    ego_origin: tuple[int, int]
    own: tuple[OwnSpec, ...]
    social: SocialSpec | None = None
    shared: tuple[OwnSpec, ...] = ()

    @property
    def numbers(self) -> tuple[OwnSpec, ...]:
        """One's own numbers, then those that all share, then those of the charter."""
        return (*self.own, *self.shared, *(() if self.social is None else self.social.numbers))

    def with_role(self, role: Role) -> tuple[int, ...]:
        """The indices of all planes with this role."""
        return tuple(n for n, plane in enumerate(self.planes) if plane.role == role)

    def plane(self, name: str) -> int:
        """The index of the plane of this name."""
        return [plane.name for plane in self.planes].index(name)

    def has(self, name: str) -> bool:
        """Whether there is a plane of this name."""
        return any(plane.name == name for plane in self.planes)

    @property
    def seats_named(self) -> int:
        """How many players can be told apart by their seats; 0 where all are somebody."""
        seats = self.with_role("seat")
        codes = self.planes[seats[0]].codes if seats else ANONYMOUS
        return 0 if codes == ANONYMOUS else len(codes) - 1

    @property
    def bytes_per_player(self) -> int:
        """Size of one player's view in memory: a byte a cell, two for each number."""
        return len(self.planes) * self.rows * self.cols + 2 * (len(self.own) + len(self.shared))


@dataclass(frozen=True)
class EventSpec:
    """Something that happens. `axis` says what the event's arrays run over.

    actor: entry i is done by player i, to `other` if that is not -1.
    target: entry i is done to player i, by `other` if that is not -1.
    place: entry i is about the i-th place of a kind; nobody does it.
    With more than one of `slots` there are so many entries for each player or place, since several
    can happen in a step. The sentence may use {actor}, {target}, {row}, {col} and {value}. Where
    `values` names things, an event's value is the number of one of them.

    It is `visible` to those involved and to whoever sees the `cell` it happens on (if it happens
    on none and has no target, to all), to those `involved` only, to `all`, or to `nobody`: then it
    is there for metrics. `causes` are the verbs
    of actions that can cause it: whoever is present and may do one of them has the opportunity.
    `does` says what somebody does who does it, as in "zaps somebody", the best way first, where
    {value} stands for one of `values`; and `unit` what its value counts, as in "cells".
    `passed_up` names the event that somebody could have done it and did not, if there is one.
    An `attack` is meant to hurt another player, and `harm` is what it does to the target.
    """

    name: str
    sentence: str
    axis: Literal["actor", "target", "place"] = "actor"
    values: tuple[str, ...] = ()
    visible: Literal["cell", "involved", "all", "nobody"] = "cell"
    causes: tuple[str, ...] = ()
    slots: int = 1
    role: Literal["", "attack", "harm"] = ""
    does: tuple[str, ...] = ()
    unit: str = ""
    passed_up: str = ""

    @property
    def has_amounts(self) -> bool:
        """Whether values can be added up; the number of a thing stands for one of it."""
        return not self.values


@dataclass(frozen=True)
class GaugeSpec:
    """A level that can be read at any time, such as the number of apples standing."""

    name: str
    meaning: str


def find_gauge(specs: Sequence[GaugeSpec], name: str) -> GaugeSpec:
    """The spec of this name."""
    known = tuple(spec.name for spec in specs)
    if name not in known:
        raise UnknownName("gauge", name, known)
    return specs[known.index(name)]
