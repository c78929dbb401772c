"""What a player outside compiled code answers when it is asked."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from sociarium.core.errors import SociariumError, first_wrong, printable
from sociarium.core.patches import (
    LONGEST_TERMS,
    LONGEST_TEXT,
    MOST_SEATS,
    TO_ALL,
    Ballot,
    Draft,
    Message,
    Number,
    Patch,
    Proposal,
    SeatNumber,
    Signature,
    TermsHash,
    Tie,
)
from sociarium.core.text import (
    DEEPEST,
    BadText,
    deeper_than,
    read_json,
    refuse_text,
    strip_text,
    text_validator,
)

MOST_ANSWER = 1 << 17  # bytes of JSON
MOST_USAGE = 32  # entries
MOST_TRACE = 1 << 16  # bytes of JSON
LONGEST_REASON = 500  # characters
LONGEST_SKILL = 10_000  # steps

Cells = Annotated[int, Field(ge=0, lt=1 << 20)]


class BadAnswer(SociariumError):
    """An answer that is no decision: too long, not JSON, or of another shape."""


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Say(_Answer):
    """A text to one player, or to all; characters that the policy of texts forbids are removed."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
    to: Annotated[int, Field(ge=TO_ALL, lt=MOST_SEATS)] = TO_ALL
    _removed: int = PrivateAttr(0)

    @property
    def removed(self) -> int:
        """How many characters were removed from the text."""
        return self._removed

    @model_validator(mode="wrap")
    @classmethod
    def _strip(cls, given: Any, handler: Any) -> "Say":
        if not (isinstance(given, Mapping) and isinstance(given.get("text"), str)):
            return handler(given)
        text, removed = strip_text(given["text"])
        said = handler({**given, "text": text})
        said._removed = removed
        return said


class Propose(_Answer):
    """A clause for all to sign: whoever does this pays so much."""

    what: Annotated[str, Field(min_length=1), text_validator(100)]
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

    action: Annotated[str, text_validator(100)] | None = None
    skill: Annotated[str, Field(min_length=1), text_validator(50)] | None = None
    place: Annotated[tuple[Cells, Cells], Field(strict=False)] | None = None  # row and column
    thing: Annotated[str, text_validator(50)] | None = None
    player: SeatNumber | None = None
    steps: Annotated[int, Field(ge=1, le=LONGEST_SKILL)] | None = None
    say: Say | None = None
    draft: Propose | None = None
    propose: Annotated[str, Field(min_length=1), text_validator(LONGEST_TERMS)] | None = None
    sign: Number | None = None
    terms: TermsHash | None = None  # of what it signs, so that it signs no others than it read
    vote: Vote | None = None
    link: Link | None = None

    @property
    def arguments(self) -> dict[str, int | str | tuple[int, int]]:
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
        if self.propose is not None:
            found.append(Proposal(**by, terms=self.propose))
        if self.sign is not None:
            found.append(Signature(**by, clause=self.sign, terms=self.terms or ""))
        if self.vote is not None:
            found.append(Ballot(**by, clause=self.vote.clause, yes=self.vote.yes))
        if self.link is not None:
            found.append(Tie(**by, **self.link.model_dump()))
        return found


# What a function in a seat answers: a decision, its fields, the name of an action, nothing.
Answer = Decision | Mapping[str, object] | str | None


@dataclass(frozen=True)
class Reply:
    """What a host player answers: a decision for each of its seats that was asked, or a pause.

    `decisions` are by seat; who is left out falls back, which counts as a failure: of the kind
    `failure`, for the reason `why`. `usage` are numbers such as tokens, `trace` any JSON that
    explains the decisions. With a reason to `pause` the match stops before this step.
    """

    decisions: Mapping[int, Any] = field(default_factory=dict)  # or what `as_decision` takes
    usage: Mapping[str, float | int] = field(default_factory=dict)
    trace: Any = None
    pause: str = ""
    failure: str = "malformed"  # of seats without a decision
    why: str = "has no decision for this seat"


def as_decision(answer: Any) -> Decision:
    """The decision that is meant by an answer; raises `BadAnswer` for any other value."""
    if isinstance(answer, Decision):
        return answer
    if answer is None or isinstance(answer, str):
        answer = {"action": answer}
    if not isinstance(answer, Mapping):
        raise BadAnswer(
            f"answered with {type(answer).__name__}; an answer is the name of an action, a "
            "Decision, its fields as a dictionary, or None"
        )
    try:
        return Decision.model_validate(dict(answer))
    except ValidationError as error:
        raise BadAnswer(first_wrong(error)) from None


def as_reply(answer: Any, seats: Sequence[int]) -> Reply:
    """The reply that is meant by what a Python player answers for the seats that were asked.

    It is a `Reply`, answers by seat, or where one seat was asked what `as_decision` takes.
    """
    if isinstance(answer, Reply):
        found = _checked(answer.decisions, seats, answer.usage, answer.trace, answer.pause)
        return replace(found, failure=_reason(answer.failure)[:40], why=_reason(answer.why))
    by_seat = isinstance(answer, Mapping) and any(isinstance(key, int) for key in answer)
    if by_seat or (isinstance(answer, Mapping) and not answer and len(seats) != 1):
        return _checked(answer, seats)
    if len(seats) == 1:
        return Reply({seats[0]: as_decision(answer)})
    raise BadAnswer(
        f"answered with {type(answer).__name__} for {len(seats)} seats; an answer for several is "
        "a Reply or a dictionary from seats to decisions"
    )


def parse_reply(answer: bytes, seats: Sequence[int]) -> Reply:
    """The reply in an answer over the wire; where one seat was asked it may be one decision."""
    try:
        value = read_json(answer, most=MOST_ANSWER)
    except BadText as error:
        raise BadAnswer(f"the answer {error}") from None
    if not isinstance(value, dict):
        raise BadAnswer(f"the answer is a JSON {type(value).__name__}, not an object")
    parts = {"decisions", "usage", "trace", "pause"}
    if not parts & set(value):
        if len(seats) != 1:
            raise BadAnswer(
                f'{len(seats)} seats were asked, so the answer is {{"decisions": {{SEAT: ...}}}}'
            )
        return Reply({seats[0]: as_decision(value)})
    if not set(value) <= parts:
        other = sorted(set(value) - parts)[0]
        raise BadAnswer(f"a reply has decisions, usage, trace and pause; given {printable(other)}")
    decisions = value.get("decisions", {})
    if not isinstance(decisions, dict):
        raise BadAnswer(f"decisions is an object by seat, not a {type(decisions).__name__}")
    named = {str(seat): seat for seat in seats}
    by_seat = {named.get(key, key): one for key, one in decisions.items()}
    pause = value.get("pause", "")
    return _checked(by_seat, seats, value.get("usage", {}), value.get("trace"), pause)


def _checked(
    decisions: Any, seats: Sequence[int], usage: Any = None, trace: Any = None, pause: Any = ""
) -> Reply:
    """A reply of which every part has been examined."""
    if not isinstance(decisions, Mapping):
        raise BadAnswer(f"decisions are a mapping by seat, not a {type(decisions).__name__}")
    for seat in decisions:
        if isinstance(seat, bool) or seat not in seats:
            asked = ", ".join(str(one) for one in seats)
            raise BadAnswer(f"decides for seat {printable(seat)[:40]}; asked were seats {asked}")
    found = {}
    for seat, answer in decisions.items():
        try:
            found[int(seat)] = as_decision(answer)
        except BadAnswer as error:
            raise BadAnswer(f"seat {seat}: {error}") from None
    return Reply(found, _usage({} if usage is None else usage), _trace(trace), _reason(pause))


def _usage(usage: Any) -> dict[str, float]:
    if not isinstance(usage, Mapping) or len(usage) > MOST_USAGE:
        raise BadAnswer(f"usage is an object of at most {MOST_USAGE} numbers by name")
    for name, number in usage.items():
        if not isinstance(name, str):
            raise BadAnswer("usage is by name")
        try:
            refuse_text(name, "a name in usage")
        except BadText as error:
            raise BadAnswer(str(error)) from None
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise BadAnswer(f"usage of {printable(name)} is no number")
        if not 0 <= number <= 1e300:
            raise BadAnswer(f"usage of {printable(name)} is a finite number from 0; given {number}")
    return {name: float(number) for name, number in usage.items()}


def _trace(trace: Any) -> Any:
    """The trace as plain values of its own."""
    if trace is None:
        return None
    try:
        if deeper_than(trace, DEEPEST):
            raise BadAnswer(f"the trace is nested more than {DEEPEST} deep")
        text = ""
        for part in json.JSONEncoder(allow_nan=False).iterencode(trace):
            text += part
            if len(text) > MOST_TRACE:
                raise BadAnswer(f"the trace has more than {MOST_TRACE} bytes of JSON")
    except (TypeError, ValueError, RecursionError) as error:
        raise BadAnswer(f"the trace is not JSON: {printable(error)}") from None
    return json.loads(text)


def _reason(pause: Any) -> str:
    if not isinstance(pause, str):
        raise BadAnswer(f"pause is a reason in words, not a {type(pause).__name__}")
    return strip_text(pause, multiline=False)[0][:LONGEST_REASON]
