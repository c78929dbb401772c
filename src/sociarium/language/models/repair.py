"""What can be mended in an answer without asking again, and the bounded ladder of asking again."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar, get_args

from sociarium.core.decision import BadAnswer
from sociarium.language.models.requests import MESSAGE_TOKENS, ChatMessage, Completion, Request
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.tokens import count_tokens

# How far down an answer was found: as it came, mended here, after the validator's message, after a
# smaller schema, or not at all.
Rung = Literal["parsed", "local_fix", "asked_again", "minimal_schema", "fallback"]
RUNGS: tuple[Rung, ...] = get_args(Rung)
MOST_QUOTED = 600  # characters of a wrong answer that the model is shown

MOST_PASSAGES = 64  # of an answer that is not in its form
AMBIGUOUS = "the answer can be read in several ways; give one JSON object and nothing else"

_FENCE = re.compile(r"```[a-z]*")
_CHOICE = re.compile(r"""["']?(?:choice|answer|action)["']?\s*[:=]\s*["']?([\w .:-]+)""", re.I)
_NUMBER = re.compile(r"^[\s*#>(\"']*([0-9]{1,4})\s*(?:[.):\]\"'*]|$)", re.M)

T = TypeVar("T")


@dataclass(frozen=True)
class Answered(Generic[T]):
    """What an answer means, how far down the ladder it was found, and the answer itself."""

    value: T
    rung: Rung
    response: Completion


class NoAnswer(Exception):
    """The model was asked as often as it may be, and never answered in the form."""


@dataclass(frozen=True)
class _Passage:
    """A part of an answer that may be the choice: its text, and readings, the most cautious first.

    A `stated` one says that it is a choice, so it counts even if it cannot be read.
    """

    text: str
    readings: tuple[Any, ...]
    stated: bool = True


def local_fixes(text: str) -> Iterator[Any]:
    """Readings of an answer that is not in its form: out of a fence, out of prose, mended, closed.

    The most cautious come first.
    """
    for passage in _passages(text):
        yield from passage.readings


def _passages(text: str) -> Iterator[_Passage]:
    """Objects, then what follows `choice:`, then numbers and whole lines."""
    rest = []
    for segment in _FENCE.split(text):
        start, closed = 0, True
        while 0 <= (place := segment.find("{", start)):
            if closed:
                rest.append(segment[start:place])
            end = _end_of_object(segment, place)
            whole = segment[place : end or len(segment)]
            values = tuple(_objects(whole)) if end else tuple(_mended(whole))
            yield _Passage(whole, values, bool(_CHOICE.search(whole)))
            # What follows the brace of an object that is not closed may be an answer of its own.
            start, closed = end or place + 1, closed and bool(end)
        if closed:
            rest.append(segment[start:])
    prose = "\n".join(rest)
    for found in _CHOICE.finditer(prose):
        yield _Passage(found.group(), ({"choice": found.group(1).strip()},))
    for number in _NUMBER.findall(prose):
        yield _Passage(number, ({"choice": int(number)},), stated=False)
    for line in prose.splitlines():
        if bare := line.strip("\"'`*. "):
            yield _Passage(line, ({"choice": bare},), stated=False)


def _end_of_object(text: str, start: int) -> int:
    """The place after the brace that closes the object; 0 where none does."""
    depth, inside, escaped = 0, False, False
    for place in range(start, len(text)):
        letter = text[place]
        if inside:
            inside = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            inside = True
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
            if depth == 0:
                return place + 1
    return 0


def _mended(text: str) -> Iterator[Any]:
    """Readings of an object that is not closed."""
    end = text.rfind("}")
    if end > 0:
        yield from _objects(text[: end + 1])
    yield from _objects(_closed(text))
    yield from _objects(_finished(text))


def _only_reading(text: str, read: Callable[[Any], T], heard: Sequence[str]) -> T | None:
    """What all passages of an answer mean; nothing where none can be read.

    Raises `BadAnswer` where passages differ, where one of several stated choices cannot be read,
    and where a stated choice is a quotation of a message that the player heard.
    """
    found = list[tuple[Any, T]]()
    unreadable = False
    for number, passage in enumerate(_passages(text)):
        if number == MOST_PASSAGES:
            raise BadAnswer(AMBIGUOUS)
        for reading in passage.readings:
            try:
                found.append((reading, read(reading)))
                break
            except BadAnswer:
                continue
        else:
            unreadable |= passage.stated
            continue
        if passage.stated and any(passage.text in message for message in heard):
            raise BadAnswer(AMBIGUOUS)
    if not found:
        return None
    if unreadable or any(value != found[0][1] for _, value in found):
        raise BadAnswer(AMBIGUOUS)
    return read(found[0][0])


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The object in a text, as it is or with its commas and quotes mended."""
    without_commas = re.sub(r",\s*([}\]])", r"\1", text)
    quoted = re.sub(r"'([^'\"\n]*)'", r'"\1"', without_commas)
    for one in dict.fromkeys((text, without_commas, quoted)):
        try:
            value = json.loads(one, object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one that has a key twice can be read in two ways."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice")
    return value


def _bare(text: str) -> tuple[list[tuple[int, str]], bool, bool]:
    """The letters outside of texts with their places; whether a text, or an escape, is cut off."""
    found, inside, escaped = list[tuple[int, str]](), False, False
    for place, letter in enumerate(text):
        if inside:
            inside = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            inside = True
        else:
            found.append((place, letter))
    return found, inside, escaped


def _closed(text: str) -> str:
    """An object that was cut off, without what is not whole, and closed."""
    depth, cut = 0, 0  # where the last whole value ends
    for place, letter in _bare(text)[0]:
        if letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
        elif letter == "," and depth == 1:
            cut = place
    return text[:cut] + "}" if cut else ""


def _finished(text: str) -> str:
    """An object that was cut off within a text or a list, which ends there."""
    bare, inside, escaped = _bare(text)
    open_ones: list[str] = []
    for _, letter in bare:
        if letter in "{[":
            open_ones.append("}" if letter == "{" else "]")
        elif letter in "}]" and open_ones:
            open_ones.pop()
    if not open_ones:
        return ""
    whole = text[:-1] if escaped else text
    return whole + ('"' if inside else "") + "".join(reversed(open_ones))


async def ask_until_valid(
    call: Callable[[Request], Awaitable[Completion]],
    request: Request,
    read: Callable[[Any], T],
    minimal: Callable[[Request], Request],
    phrases: Phrases = IN_ENGLISH,
) -> Answered[T]:
    """Asks at most three times; `read` raises `BadAnswer` for what is no answer.

    `minimal` makes the request of the last rung out of the one before. Raises `NoAnswer` at the
    end of the ladder.
    """
    heard = [one.text for percept in request.percepts for one in percept.messages]
    response = await call(request)
    try:
        return Answered(read(response.text), "parsed", response)
    except BadAnswer as error:
        wrong = error
    try:
        if (value := _only_reading(response.text, read, heard)) is not None:
            return Answered(value, "local_fix", response)
    except BadAnswer as error:
        wrong = error
    again: tuple[tuple[Rung, Request], ...] = (
        ("asked_again", request),
        ("minimal_schema", minimal(request)),
    )
    for rung, asked in again:
        shown = ChatMessage("assistant", (response.text[:MOST_QUOTED],))
        told = ChatMessage("user", (phrases("repair.again", why=str(wrong)),))
        more = sum(count_tokens(one.text) + MESSAGE_TOKENS for one in (shown, told))
        response = await call(
            replace(
                asked,
                messages=(*asked.messages, shown, told),
                prompt_tokens=asked.prompt_tokens + more,
            )
        )
        try:
            return Answered(read(response.text), rung, response)
        except BadAnswer as error:
            wrong = error
        try:
            if (value := _only_reading(response.text, read, heard)) is not None:
                return Answered(value, rung, response)
        except BadAnswer as error:
            wrong = error
    raise NoAnswer(str(wrong))
