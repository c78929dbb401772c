"""What a player outside compiled code is told before it decides: what a policy in its seat knows.

A percept is plain data: every code by its name, every player by its name, and no environment. It
goes to models, people and programs elsewhere alike, and `percept_builder` makes it.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sociarium.core.actions import Compass
from sociarium.core.errors import CannotRead, first_wrong
from sociarium.core.patches import LONGEST_TEXT, TO_ALL

PROTOCOL = 2
MOST_BYTES = 1 << 24  # of JSON
UNSEEN = "unseen"  # a cell of a map that was never in view

Name = Annotated[str, Field(max_length=200)]
Sentence = Annotated[str, Field(max_length=4000)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Seat = Annotated[int, Field(ge=0)]
Plane = tuple[tuple[Name | int, ...], ...]  # rows of names, or of numbers where goods are counted
Planes = dict[Name, Plane]


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Player(_Told):
    """A player by its seat and name."""

    seat: Seat
    name: Name


class Pose(_Told):
    """Where a player stands on the map and faces; without a place while it is out of play."""

    row: int | None
    col: int | None
    heading: Compass


class Contact(_Told):
    """One of those whom a society tells a player about; nobody where there are fewer of them."""

    seat: Seat | None
    name: Name | None
    ties: dict[Name, Name]


class ShownWindow(_Told):
    """What another player sees and shows.

    It stands so far ahead and to the right, and is turned by so many quarters to the right.
    """

    seat: Seat
    name: Name
    ahead: int
    right: int
    turned: int
    view: Planes


class SeenEvent(_Told):
    """Something that a player noticed, also in words.

    Its place is told only to who knows where it is on the map itself.
    """

    step: int
    kind: Name
    actor: Seat | None
    target: Seat | None
    row: int | None
    col: int | None
    value: Finite
    text: Sentence


class Heard(_Told):
    """A text from another player, to one or to all (-1): what that player wrote and no more."""

    step: int
    seat: Seat
    name: Name
    to: Annotated[int, Field(ge=TO_ALL)]
    text: Annotated[str, Field(max_length=LONGEST_TEXT)]


class Choice(_Told):
    """What a player who decides first in this step has chosen: an action, or a skill."""

    seat: Seat
    name: Name
    action: Name | None
    skill: Name | None
    arguments: dict[Name, int | Name | tuple[int, int]]


class Meeting(_Told):
    """Where and when another player was last seen."""

    seat: Seat
    name: Name
    row: int
    col: int
    step: int


class KnownMap(_Told):
    """The map as a player remembers it; `seen` is when each cell was last in view, -1 if never.

    `layers` are what else lies about, each only where something does.
    """

    ground: tuple[tuple[Name, ...], ...]
    layers: Planes
    seen: tuple[tuple[int, ...], ...]
    met: tuple[Meeting, ...]


class SkillOffer(_Told):
    """A skill with what it can be given now.

    `place` are the rows and columns of the map, `steps` the fewest and the most. Of each group in
    `requires` at least one must be given; all else may be left out.
    """

    name: Name
    says: Sentence
    requires: tuple[tuple[Literal["place", "thing", "player", "steps"], ...], ...] = ()
    things: tuple[Name, ...] = ()
    players: tuple[Player, ...] = ()
    place: tuple[int, int] | None = None
    steps: tuple[int, int] | None = None


class Percept(_Told):
    """One player's view before a step, what it noticed and was told since it last decided.

    `home` is its own place in the window, none where the window is fixed; `places` name the columns
    of a world of places. `map` is there for who keeps one, `pose` and `score` for who is told them.
    `rules` come with the `first` percept.
    """

    protocol: Literal[2] = PROTOCOL
    world: Name
    seat: Seat
    name: Name
    names: tuple[Name, ...]  # of all players, unless there are too many
    step: Annotated[int, Field(ge=0)]
    legal: tuple[Name, ...]
    view: Planes
    home: tuple[int, int] | None
    window: Literal["turns", "follows", "fixed"]
    places: tuple[Name, ...]
    own: dict[Name, int | float | Name]  # names where a world names the values
    shared: dict[Name, int | float | Name]
    social: dict[Name, Name]
    numbers: dict[Name, Finite]  # of the charter, such as fines
    law: tuple[Sentence, ...]  # the clauses that stand now, whomever they bind
    contacts: tuple[Contact, ...]
    windows: tuple[ShownWindow, ...]
    events: tuple[SeenEvent, ...]
    messages: tuple[Heard, ...]
    chosen: tuple[Choice, ...]
    knowledge: tuple[Sentence, ...]
    map: KnownMap | None
    skills: tuple[SkillOffer, ...]
    status: Annotated[str, Field(max_length=100)]  # how the last skill ended
    pose: Pose | None
    score: Finite | None
    hidden: dict[Name, Finite | tuple[Finite, ...]]
    first: bool
    rules: dict[Name, Sentence]

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, told: Mapping[str, object]) -> "Percept":
        """The percept with these plain values; raises `CannotRead` for what is none."""
        try:
            text = json.dumps(told, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise CannotRead(f"This is no percept: {error}.") from None
        if len(text) > MOST_BYTES:
            raise CannotRead(f"A percept has at most {MOST_BYTES} bytes of JSON.")
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise CannotRead(f"This is no percept: {first_wrong(error)}.") from None

    @model_validator(mode="after")
    def _fits_together(self) -> "Percept":
        """All planes have one shape, and players are called by the names they have."""
        windows = [self.view, *(window.view for window in self.windows)]
        shapes = {_shape(plane) for window in windows for plane in window.values()}
        if len(shapes) > 1 or None in shapes:
            raise ValueError("the planes of a view have different shapes")
        if self.names and (self.seat >= len(self.names) or self.name != self.names[self.seat]):
            raise ValueError("the player in this seat has another name")
        if self.rules and not self.first:
            raise ValueError("rules come with the first percept only")
        return self


def _shape(plane: Plane) -> tuple[int, int] | None:
    """Rows and columns; none where rows are of different lengths."""
    lengths = {len(row) for row in plane}
    return (len(plane), min(lengths, default=0)) if len(lengths) <= 1 else None
