"""What a player outside compiled code answers when it is asked."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from sociarium.core.patches import (
    LONGEST_TEXT,
    MOST_SEATS,
    TO_ALL,
    Ballot,
    Draft,
    Message,
    Number,
    Patch,
    SeatNumber,
    Signature,
    Tie,
)

Cells = Annotated[int, Field(ge=0, lt=1 << 20)]
WORDS = r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$"  # also tabs and new lines


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Say(_Answer):
    """A text to one player, or to all."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, pattern=WORDS)]
    to: Annotated[int, Field(ge=TO_ALL, lt=MOST_SEATS)] = TO_ALL


class Propose(_Answer):
    """A clause for all to sign: whoever does this pays so much."""

    what: Annotated[str, Field(min_length=1, max_length=100)]
    fine: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]


class Vote(_Answer):
    """For or against a clause."""

    clause: Number
    yes: bool


class Link(_Answer):
    """What part of one's points goes to another, and whether it sees what one sees."""

    to: SeatNumber
    percent: Annotated[int, Field(ge=0, le=100)] = 0
    sight: bool = False


class Decision(_Answer):
    """One action by its name, or a skill with what it asks for; and what to write besides.

    A skill goes on by itself in the following steps, until it is done or interrupted. With neither,
    the player stays.
    """

    action: Annotated[str, Field(max_length=100)] | None = None
    skill: Annotated[str, Field(min_length=1, max_length=50)] | None = None
    place: tuple[Cells, Cells] | None = None  # row and column
    thing: Annotated[str, Field(max_length=50)] | None = None
    player: SeatNumber | None = None
    steps: Annotated[int, Field(ge=1, le=10_000)] | None = None
    say: Say | None = None
    draft: Propose | None = None
    sign: Number | None = None
    vote: Vote | None = None
    link: Link | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """What the skill was given."""
        given = {name: getattr(self, name) for name in ("place", "thing", "player", "steps")}
        return {name: value for name, value in given.items() if value is not None}

    def writes(self, step: int, seat: int, text: int) -> list[Patch]:
        """What is written before this step; the text, if there is one, gets this number."""
        by: dict[str, Any] = {"step": step, "seat": seat}
        found: list[Patch] = []
        if self.say is not None:
            found.append(Message(**by, text=text, to=self.say.to))
        if self.draft is not None:
            found.append(Draft(**by, what=self.draft.what, fine=self.draft.fine))
        if self.sign is not None:
            found.append(Signature(**by, clause=self.sign))
        if self.vote is not None:
            found.append(Ballot(**by, clause=self.vote.clause, yes=self.vote.yes))
        if self.link is not None:
            found.append(Tie(**by, **self.link.model_dump()))
        return found


# What an async function in a seat answers: a decision, its entries, the name of an action, nothing.
Answer = Decision | Mapping[str, object] | str | None
