"""Names for every number a world shows: planes and codes of a view, events, gauges."""

from dataclasses import dataclass
from typing import Literal

BYTE = 256
OCCUPANTS = ("nobody", "myself", "facing my way", "facing right", "facing me", "facing left")
MOST_SEATS_NAMED = 254  # with more players a view tells only that somebody stands there
ANONYMOUS = ("nobody", "somebody")


def seat_codes(players: int) -> tuple[str, ...]:
    """The codes of a plane of seats: one for each, or one for all where there are too many."""
    if players > MOST_SEATS_NAMED:
        return ANONYMOUS
    return ("nobody", *(f"seat {seat}" for seat in range(players)))


@dataclass(frozen=True)
class PlaneSpec:
    """One layer of a view: code k means `codes[k]`. A player out of play sees only code 0.

    A layer that `counts` shows how many units of what it is named after lie on each cell. In a
    society, players with the same code in a layer that `joins` belong together.
    """

    name: str
    codes: tuple[str, ...]
    counts: bool = False
    joins: bool = False


@dataclass(frozen=True)
class OwnSpec:
    """One private number: what it is and its range.

    Where `told` names its values, the lowest first, a society tells it to one's contacts too.
    """

    name: str
    low: int
    high: int
    told: tuple[str, ...] = ()


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

    Up to `lookouts` windows of others come beside its own: whose they are is one of so many
    `seats`, and they stand at most `far` cells away along rows and columns.
    """

    own: tuple[PlaneSpec, ...]
    ties: tuple[PlaneSpec, ...]
    contacts: int
    lookouts: int = 0
    seats: int = 0
    far: int = 0

    @property
    def bytes_per_player(self) -> int:
        """Size of one player's codes in memory; the windows of others come on top."""
        return len(self.own) + self.contacts * len(self.ties)


@dataclass(frozen=True)
class ViewSpec:
    """What a player sees: `rows x cols` cells in several planes, and its own private numbers.

    `home` is the player's own place in the window, as (row, column). `social` is what a society
    adds.
    """

    planes: tuple[PlaneSpec, ...]
    rows: int
    cols: int
    home: tuple[int, int]
    own: tuple[OwnSpec, ...]
    social: SocialSpec | None = None

    def plane(self, name: str) -> int:
        """The index of the plane of this name."""
        return [plane.name for plane in self.planes].index(name)

    @property
    def seats_named(self) -> int:
        """How many players can be told apart by their seats; 0 where all are somebody."""
        codes = self.planes[self.plane("seat")].codes if self.has("seat") else ANONYMOUS
        return 0 if codes == ANONYMOUS else len(codes) - 1

    def has(self, name: str) -> bool:
        """Whether there is a plane of this name."""
        return any(plane.name == name for plane in self.planes)

    @property
    def bytes_per_player(self) -> int:
        """Size of one player's view in memory: a byte a cell, two for each own number."""
        return len(self.planes) * self.rows * self.cols + 2 * len(self.own)


@dataclass(frozen=True)
class EventSpec:
    """Something that happens. `axis` says what the event's arrays run over.

    actor: entry i is done by player i, to `other` if that is not -1.
    target: entry i is done to player i, by `other` if that is not -1.
    place: entry i is about the i-th place of a kind; nobody does it.
    The sentence may use {actor}, {target}, {row}, {col} and {value}. Where `values` names things,
    an event's value is the number of one of them.
    """

    name: str
    sentence: str
    axis: Literal["actor", "target", "place"] = "actor"
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class GaugeSpec:
    """A level that can be read at any time, such as the number of apples standing."""

    name: str
    meaning: str


@dataclass(frozen=True)
class CooperationSpec:
    """What cooperating means in a world: acts per opportunity, weighed by the events' values.

    `acts` are events that take an opportunity to cooperate, `refusals` events that pass one up.
    """

    meaning: str
    acts: tuple[str, ...]
    refusals: tuple[str, ...]
