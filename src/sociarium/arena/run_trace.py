"""The trace in the folder of a match: every decision of a language model, its calls and its texts.

A folder may come from anybody. Rows that are damaged are left out and counted, texts must have the
hash that they are kept under, and everything is bounded.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sociarium.arena.match_folder import DECISIONS
from sociarium.core.errors import CannotRead
from sociarium.core.patches import MOST_SEATS, MOST_STEPS
from sociarium.core.text import BadText, read_json
from sociarium.language.models.tracing import TEXTS, TIMES, TRACE, hash_text

MOST_BYTES = 1 << 29  # of one file
LONGEST_ROW = 1 << 20  # bytes
LONGEST_TEXT_ROW = 1 << 23  # bytes
MOST_ROWS = 1 << 20  # of one file
MOST_PARTS = 512  # of the messages of one call
LONGEST_PROMPT = 1 << 21  # characters of one call
LONGEST_WORD, LONGEST_LINE = 200, 4000  # characters of a name, and of a reason
MOST_COUNT = 10**15
UNANSWERED = ("fallback", "late", "paused")  # rungs without an answer that counted
_HEX = {size: re.compile(f"[0-9a-f]{{{size}}}") for size in (16, 64)}

Row = TypeVar("Row")
Told = Mapping[str, Any]  # attributes of a row


NOT_ON_PAGE = {"page": False}  # metadata of what the page of a trace leaves out


@dataclass(frozen=True)
class TracedCall:
    """One call of a model: its request, and its answer or failure.

    `messages` are speakers with the numbers of the texts that their parts are. `answer` is the
    number of a text, or None where the call failed: with `failure`, because of `why`. It began at
    `start`, in seconds since 1970, and before that it was `queued`; None where that is not known.
    """

    model: str
    alias: str = field(metadata=NOT_ON_PAGE)
    role: str
    attempt: int
    messages: tuple[tuple[str, tuple[int, ...]], ...]
    answer: int | None = None
    failure: str = ""
    why: str = ""
    mode: str = ""
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    start: float | None = field(default=None, metadata=NOT_ON_PAGE)
    queued: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class TracedDecision:
    """One decision of a seat: what was chosen, and the calls that it took.

    `rung` says how the model was brought to answer, `choice` has the fields of the decision.
    `landed` is the step from which it counted, where that is known. A page adds the decision in
    words (`headline` with `details`), the parts of the prompt by subject (`sections`, with numbers
    of texts) and the number of the `chosen` line of the menu. Where texts were `left_out`, to keep
    the page small, sections and calls have none.
    """

    seat: int
    number: int
    step: int
    player: str = field(metadata=NOT_ON_PAGE)
    template: str
    rung: str
    choice: Mapping[str, Any] | None = field(metadata=NOT_ON_PAGE)
    thought: str
    failure: str
    why: str
    landed: int | None
    calls: tuple[TracedCall, ...]
    headline: str = ""
    details: tuple[tuple[str, str], ...] = ()
    sections: tuple[tuple[str, int], ...] = ()
    chosen: int | None = None
    left_out: bool = False

    @property
    def answered(self) -> TracedCall | None:
        """The call whose answer became the decision."""
        found = [call for call in self.calls if call.answer is not None]
        return found[-1] if found and self.rung not in UNANSWERED else None


@dataclass(frozen=True)
class RunTrace:
    """All decisions of a run in order of time, and the texts of their calls by number.

    A text is None where it is missing. `damaged` is the number of rows of each file that were left
    out, because they could not be read.
    """

    decisions: tuple[TracedDecision, ...]
    texts: tuple[str | None, ...] = field(repr=False)
    damaged: Mapping[str, int]

    def text(self, number: int | None) -> str | None:
        """The text with this number; None where it is missing."""
        return None if number is None else self.texts[number]

    def prompt(self, call: TracedCall) -> list[tuple[str, str]] | None:
        """Who says what in a call; None where a text is missing, or all are too long together."""
        found, length = [], 0
        for speaker, numbers in call.messages:
            parts = [self.texts[number] for number in numbers]
            whole = [part for part in parts if part is not None]
            length += sum(map(len, whole))
            if len(whole) < len(parts) or length > LONGEST_PROMPT:
                return None
            found.append((speaker, "".join(whole)))
        return found


def read_trace(folder: Path) -> RunTrace:
    """The trace of the run in a folder; raises `CannotRead` where there is none."""
    return _Reading(folder).trace()


class _Reading:
    """One pass over the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged: dict[str, int] = defaultdict(int)
        self.numbers: dict[str, int] = {}  # of texts, by hash

    def trace(self) -> RunTrace:
        if not (self.folder / TRACE).is_file():
            raise CannotRead(self._no_trace())
        rows, calls = self._spans()
        if not rows:
            raise CannotRead(f"{self.folder / TRACE} has no decision of a language model.")
        times = {row[0]: row[1] for row in self._rows(TIMES, _times_of)}
        landed = self._landed()
        found = []
        for span_id, told in rows.items():
            made = [self._call(about, times.get(one)) for one, about in calls[span_id].items()]
            found.append(_decision(told, tuple(made), landed))
        found.sort(key=lambda one: (one.step, one.seat, one.number))
        return RunTrace(tuple(found), self._texts(), dict(self.damaged))

    def _texts(self) -> tuple[str | None, ...]:
        """The texts that calls refer to, by number."""
        found: list[str | None] = [None] * len(self.numbers)
        for hashed, text in self._rows(TEXTS, _text_of, LONGEST_TEXT_ROW):
            if hashed in self.numbers:
                found[self.numbers[hashed]] = text
        return tuple(found)

    def _number(self, hashed: str) -> int:
        return self.numbers.setdefault(hashed, len(self.numbers))

    def _no_trace(self) -> str:
        trials = sorted(one.name for one in self.folder.glob("trial-*") if one.is_dir())
        if trials:
            return (
                f"{self.folder} holds a series; give one of its trials: {self.folder / trials[0]}"
            )
        return (
            f"{self.folder} has no {TRACE}. A match with a language model in a seat leaves one: "
            "`sociarium match WORLD --seats llm:ALIAS --out RUN`"
        )

    def _spans(self) -> tuple[dict[str, Told], dict[str, dict[str, Told]]]:
        """The attributes of decisions by id, and those of their calls by both ids.

        A decision that was made again, as after a pause, counts as it was made last.
        """
        decisions: dict[str, Told] = {}
        calls: dict[str, dict[str, Told]] = {}
        for name, span_id, parent, told in self._rows(TRACE, _span_of):
            if not name:  # the first row, about the file
                continue
            if name == "decide":
                decisions[span_id], calls[span_id] = told, {}
            elif parent in calls:
                calls[parent][span_id] = told
            else:
                self.damaged[TRACE] += 1
        return decisions, calls

    def _call(self, told: Told, times: Mapping[str, float] | None) -> TracedCall:
        word = lambda name: _words(told.get(name), LONGEST_WORD)  # noqa: E731
        count = lambda name: int(_amount(told.get(name)))  # noqa: E731
        reasons = told.get("gen_ai.response.finish_reasons")
        reason = reasons[0] if isinstance(reasons, list) and reasons else ""
        answer = _id(told.get("sociarium.response.text"), 64)
        return TracedCall(
            model=word("gen_ai.request.model"),
            alias=word("gen_ai.provider.name"),
            role=word("sociarium.role"),
            attempt=count("sociarium.attempt"),
            messages=self._messages(told.get("sociarium.request.messages")),
            answer=self._number(answer) if answer else None,
            failure=word("error.type"),
            why=_words(told.get("error.message"), LONGEST_LINE),
            mode=word("sociarium.output_mode"),
            finish_reason=_words(reason, LONGEST_WORD),
            input_tokens=count("gen_ai.usage.input_tokens"),
            output_tokens=count("gen_ai.usage.output_tokens"),
            cached_tokens=count("gen_ai.usage.cached_tokens"),
            cost=_amount(told.get("sociarium.cost")),
            **(times or {}),
        )

    def _messages(self, told: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Of a request; a part that is no hash has the number of a text that is missing."""
        rows = told if isinstance(told, list) else []
        rows = [row for row in rows if isinstance(row, list) and row]
        if sum(map(len, rows)) > MOST_PARTS:
            return ()
        return tuple(
            (_words(speaker, LONGEST_WORD), tuple(self._number(_id(part, 64)) for part in parts))
            for speaker, *parts in rows
        )

    def _landed(self) -> dict[int, dict[int, int]]:
        """For each seat, before which steps it was asked and from which its answers counted."""
        found: dict[int, dict[int, int]] = defaultdict(dict)
        for seat, asked, landed in self._rows(DECISIONS, _landed_of):
            found[seat][asked] = landed
        return found

    def _rows(
        self, name: str, read: Callable[[Any], Row], longest: int = LONGEST_ROW
    ) -> Iterator[Row]:
        """What `read` makes of the rows of a file; damaged ones are counted."""
        file = self.folder / name
        if not file.is_file():
            return
        for line in _lines(file, longest):
            try:
                yield read(read_json(line, most=longest))
            except (BadText, KeyError, TypeError, ValueError, AttributeError):
                self.damaged[name] += 1


def _lines(file: Path, longest: int) -> Iterator[bytes]:
    """The lines of a file; of one that is too long, only so much that it is refused."""
    try:
        if file.stat().st_size > MOST_BYTES:
            raise CannotRead(f"{file} is larger than {MOST_BYTES >> 20} MiB, which no trace is.")
        with file.open("rb") as opened:
            for _ in range(MOST_ROWS):
                line = opened.readline(longest + 1)
                if not line:
                    return
                rest = line
                while rest and not rest.endswith(b"\n"):
                    rest = opened.readline(longest)
                yield line
    except OSError as error:
        raise CannotRead(f"Cannot read {file}: {error.strerror or error}.") from error
    raise CannotRead(f"{file} has more than {MOST_ROWS} rows, which no trace has.")


# Rows of files; whatever is wrong with one raises.


def _span_of(row: Any) -> tuple[str, str, str, Told]:
    """The name of a row, its id, its parent's, and its attributes; a head has no name."""
    if "name" not in row and "conventions" in row:
        return "", "", "", row
    span_id, parent = _id(row["span_id"], 16), _id(row.get("parent_span_id"), 16)
    told = row["attributes"]
    if not (span_id and isinstance(told, dict) and row["name"] and isinstance(row["name"], str)):
        raise ValueError("no span")
    if row["name"] == "decide" and _within(told["sociarium.seat"], MOST_SEATS) is None:
        raise ValueError("no seat")
    if row["name"] == "decide" and _within(told["sociarium.decision"], MOST_STEPS) is None:
        raise ValueError("no number")
    return row["name"], span_id, parent, told


def _times_of(row: Any) -> tuple[str, dict[str, float]]:
    span_id = _id(row["span_id"], 16)
    if not span_id:
        raise ValueError("no id")
    return span_id, {name: _amount(row.get(name)) for name in ("start", "queued", "seconds")}


def _landed_of(row: Any) -> tuple[int, int, int]:
    seat, asked = _within(row["seat"], MOST_SEATS), _within(row["asked"], MOST_STEPS)
    landed = _within(row["landed"], MOST_STEPS)
    if seat is None or asked is None or landed is None:
        raise ValueError("no seat or step")
    return seat, asked, landed


def _text_of(row: Any) -> tuple[str, str]:
    """A text under its hash."""
    name, text = row["hash"], row["text"]
    if not isinstance(text, str) or hash_text(text) != name:
        raise ValueError("no text of this hash")
    return name, text


def _decision(
    told: Told,
    calls: tuple[TracedCall, ...],
    landed: Mapping[int, Mapping[int, int]],
) -> TracedDecision:
    seat, number = int(told["sociarium.seat"]), int(told["sociarium.decision"])
    step = _within(told.get("sociarium.step"), MOST_STEPS)
    step = number if step is None else step
    choice = told.get("sociarium.choice")
    word = lambda name: _words(told.get(f"sociarium.{name}"), LONGEST_WORD)  # noqa: E731
    line = lambda name: _words(told.get(f"sociarium.{name}"), LONGEST_LINE)  # noqa: E731
    return TracedDecision(
        seat=seat,
        number=number,
        step=step,
        player=word("player"),
        template=word("template"),
        rung=word("rung"),
        choice=choice if isinstance(choice, dict) else None,
        thought=line("thought"),
        failure=word("failure"),
        why=line("why"),
        landed=landed.get(seat, {}).get(step),
        calls=calls,
    )


# Single values of strangers.


def _id(value: Any, size: int) -> str:
    """A number in so many hexadecimals, else nothing."""
    return value if isinstance(value, str) and _HEX[size].fullmatch(value) else ""


def _words(value: Any, longest: int) -> str:
    """A text, cut where it is too long; halves of letters are replaced."""
    if not isinstance(value, str):
        return ""
    return value[:longest].encode("utf-8", "replace").decode()


def _within(value: Any, most: int) -> int | None:
    """A whole number from 0 on."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= most else None


def _amount(value: Any) -> float:
    """A number from 0 on that is not absurd, else 0."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and 0 <= value <= MOST_COUNT else 0.0
