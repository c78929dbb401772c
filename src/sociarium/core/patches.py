"""What is written into a society from outside its actions: texts, pacts, votes, ties, seats.

Policies and scripts only act. Whoever decides outside compiled code may write too: a patch is
applied between two steps, in seat order, by `Society.apply`, and is part of the episode's record,
so that a replay writes the same.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

TO_ALL = -1
MOST_STEPS, MOST_SEATS, MOST_TEXTS = 10_000_000, 1_000_000, 1_000_000
LONGEST_TEXT, LONGEST_TERMS = 2000, 300  # characters
ONE_CHAIR = r"^[^\s\x00-\x1f\x7f-\x9f]{1,500}$"

SeatNumber = Annotated[int, Field(ge=0, lt=MOST_SEATS)]
Number = Annotated[int, Field(ge=0, lt=1000)]
TermsHash = Annotated[str, Field(pattern=r"^[0-9a-f]{0,16}$")]  # or nothing


class _Write(BaseModel):
    """Before step `step`, by the player in seat `seat`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    step: Annotated[int, Field(ge=0, le=MOST_STEPS)]
    seat: SeatNumber


class Message(_Write):
    """A text to one player or to all, by its number in the episode's table of texts."""

    kind: Literal["message"] = "message"
    text: Annotated[int, Field(ge=0, lt=MOST_TEXTS)]
    to: Annotated[int, Field(ge=TO_ALL, lt=MOST_SEATS)] = TO_ALL


class Draft(_Write):
    """A clause put to the others: who does `what` pays the fine. Its author has signed it."""

    kind: Literal["clause"] = "clause"
    what: Annotated[str, Field(min_length=1, max_length=100)]
    fine: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]


class Proposal(_Write):
    """Terms put to the others, as a sentence."""

    kind: Literal["proposal"] = "proposal"
    terms: Annotated[str, Field(min_length=1, max_length=LONGEST_TERMS)]


class Signature(_Write):
    """Binds the player to a clause that was drafted, or to a proposal by who made it.

    With the hash of its terms nobody signs others than it read.
    """

    kind: Literal["signature"] = "signature"
    clause: Number
    terms: TermsHash = ""


class Ballot(_Write):
    """A vote on a clause: with more than half of all players for it, it binds everybody."""

    kind: Literal["ballot"] = "ballot"
    clause: Number
    yes: bool


class Tie(_Write):
    """What part of the player's points goes to another, and whether that one sees its window."""

    kind: Literal["edge"] = "edge"
    to: SeatNumber
    percent: Annotated[int, Field(ge=0, le=100)] = 0
    sight: bool = False


class NewPlayer(_Write):
    """Somebody else sits in the seat from here on, as a seat string says.

    It may keep what the player before it remembered.
    """

    kind: Literal["seat"] = "seat"
    player: Annotated[str, Field(pattern=ONE_CHAIR)]
    keeps_memory: bool = False


# What players call each kind that they can write.
WRITES: dict[type, Literal["say", "draft", "propose", "sign", "vote", "link"]] = {
    Message: "say",
    Draft: "draft",
    Proposal: "propose",
    Signature: "sign",
    Ballot: "vote",
    Tie: "link",
}

Patch = Annotated[
    Message | Draft | Proposal | Signature | Ballot | Tie | NewPlayer, Field(discriminator="kind")
]
