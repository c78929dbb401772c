"""What can be mended in an answer without asking again, and the bounded ladder of asking again."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
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

_FENCE = re.compile(r"```[a-z]*\s*(.*?)(?:```|$)", re.DOTALL)
_CHOICE = re.compile(r"""["']?(?:choice|answer|action)["']?\s*[:=]\s*["']?([\w .:-]+)""", re.I)
_NUMBER = re.compile(r"^[\s*#>(\"']*([0-9]{1,4})\s*(?:[.):\]\"'*]|$)")

T = TypeVar("T")


@dataclass(frozen=True)
class Answered(Generic[T]):
    """What an answer means, how far down the ladder it was found, and the answer itself."""

    value: T
    rung: Rung
    response: Completion


class NoAnswer(Exception):
    """The model was asked as often as it may be, and never answered in the form."""


def local_fixes(text: str) -> Iterator[Any]:
    """Readings of an answer that is not in its form: out of a fence, out of prose, mended, closed.

    The most cautious come first.
    """
    fenced = _FENCE.search(text)
    for place in (fenced.group(1) if fenced else "", text):
        start = place.find("{")
        if start < 0:
            continue
        inner = place[start:]
        end = inner.rfind("}")
        for whole in (inner[: end + 1] if end > 0 else "", inner):
            yield from _objects(whole)
        yield from _objects(_closed(inner))
        yield from _objects(_finished(inner))
    if found := _CHOICE.search(text):
        yield {"choice": found.group(1).strip()}
    if found := _NUMBER.search(text):
        yield {"choice": int(found.group(1))}
    line = text.strip().strip("\"'`*. ").splitlines()
    if line:
        yield {"choice": line[0].strip("\"'`*. ")}


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The object in a text, as it is or with its commas and quotes mended."""
    without_commas = re.sub(r",\s*([}\]])", r"\1", text)
    quoted = re.sub(r"'([^'\"\n]*)'", r'"\1"', without_commas)
    for one in dict.fromkeys((text, without_commas, quoted)):
        try:
            value = json.loads(one)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


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
    response = await call(request)
    try:
        return Answered(read(response.text), "parsed", response)
    except BadAnswer as error:
        wrong = error
    for value in local_fixes(response.text):
        try:
            return Answered(read(value), "local_fix", response)
        except BadAnswer:
            continue
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
        for value in (response.text, *local_fixes(response.text)):
            try:
                return Answered(read(value), rung, response)
            except BadAnswer as error:
                wrong = wrong if value is not response.text else error
    raise NoAnswer(str(wrong))
