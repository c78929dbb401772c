"""What of all that is in view and has happened is put into words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sociarium.core.errors import BadArgument
from sociarium.core.percept import SeenEvent
from sociarium.language.sightings import Sighting

PUBLISHED = 10  # sentences that pass in the paper's agents


@dataclass(frozen=True)
class Attended:
    """What is told: sightings, nearest first, and events, oldest first; and how much is not."""

    sightings: tuple[Sighting, ...]
    events: tuple[SeenEvent, ...]
    more_things: int = 0
    more_events: int = 0


@runtime_checkable
class Attention(Protocol):
    """Chooses what is told."""

    def attend(self, sightings: Sequence[Sighting], events: Sequence[SeenEvent]) -> Attended:
        """What is told of sightings, nearest first, and events, oldest first."""
        ...


@dataclass(frozen=True)
class AttendAll:
    """Everything is told."""

    def attend(self, sightings: Sequence[Sighting], events: Sequence[SeenEvent]) -> Attended:
        """All of it."""
        return Attended(tuple(sightings), tuple(events))


@dataclass(frozen=True)
class Nearest:
    """The nearest few are told, whatever they are; what is solid is not."""

    most: int = PUBLISHED

    def attend(self, sightings: Sequence[Sighting], events: Sequence[SeenEvent]) -> Attended:
        """The nearest sightings; events have no place and come first, the newest of them."""
        shown = [one for one in sightings if one.sort != "solid"]
        told = tuple(events[-self.most :])
        left = self.most - len(told)
        return Attended(
            tuple(shown[:left]), told, max(0, len(shown) - left), len(events) - len(told)
        )


@dataclass(frozen=True)
class Salience:
    """Players and events have places of their own, and no kind of thing crowds out another.

    Of each kind the nearest is told, then the second nearest of each, and so on.
    """

    things: int = 10
    players: int = 5
    events: int = 6

    def attend(self, sightings: Sequence[Sighting], events: Sequence[SeenEvent]) -> Attended:
        """The nearest players, the newest events, and things of every kind."""
        players = [one for one in sightings if one.sort == "player"]
        others = [one for one in sightings if one.sort not in ("player", "solid")]
        kinds: dict[str, int] = {}
        ranked = []
        for nearest, one in enumerate(others):
            kinds[one.what] = kinds.get(one.what, -1) + 1
            ranked.append((kinds[one.what], nearest, one))
        chosen = {id(one) for _, _, one in sorted(ranked, key=lambda x: x[:2])[: self.things]}
        chosen |= {id(one) for one in players[: self.players]}
        told = tuple(one for one in sightings if id(one) in chosen)
        return Attended(
            told,
            tuple(events[-self.events :]),
            len(players) + len(others) - len(told),
            max(0, len(events) - self.events),
        )


def attention(text: str) -> Attention:
    """What a word says: all, nearest, nearest:20, salience or salience:8."""
    name, _, number = text.partition(":")
    kinds = {"all": AttendAll, "nearest": Nearest, "salience": Salience}
    many = number.isascii() and number.isdigit() and 0 < int(number) < 10_000
    if name not in kinds or (number and (name == "all" or not many)):
        raise BadArgument(
            f"attention is all, nearest, nearest:10, salience or salience:10; given {text!r}"
        )
    return kinds[name](int(number)) if number else kinds[name]()
