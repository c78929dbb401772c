"""What is asked of a language model, what it answers, and how it fails."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

from sociarium.core.percept import Percept
from sociarium.language.menus import Menu
from sociarium.language.models.config import OutputMode
from sociarium.language.prompts import Section
from sociarium.language.tokens import count_tokens

Speaker = Literal["system", "user", "assistant"]
MESSAGE_TOKENS = 8  # around each message, at most
# Kinds of failures of a call.
CallFailure = Literal[
    "rate_limited",
    "server_error",
    "unreachable",  # no connection was made
    "connection",  # lost before the answer was whole
    "stalled",
    "unauthorized",
    "unknown_model",
    "bad_request",
    "malformed",
    "broken",  # whatever a model that is a function raises
]
CALL_FAILURES: tuple[CallFailure, ...] = get_args(CallFailure)
EMBED = "embed"  # the role of calls that ask for the vector of a text
RETRIED = ("rate_limited", "server_error", "unreachable", "connection", "stalled", "malformed")
FATAL = ("unauthorized", "unknown_model")
# A call that failed in one of these ways has used no tokens: the model was not asked.
UNCHARGED = ("rate_limited", "unreachable", "bad_request", *FATAL)
LEAST_BELIEVED = 0.25  # of our own estimate: the smallest number of tokens we take from a server
MOST_BELIEVED = 1 << 24  # tokens of one call


@dataclass(frozen=True)
class CallAddress:
    """Which call it is: of a seat's decision, for a part of its mind, and which attempt."""

    seat: int
    decision: int
    role: str = "act"
    attempt: int = 0

    def __str__(self) -> str:
        return f"seat {self.seat}, decision {self.decision}, {self.role}, attempt {self.attempt}"

    def hash(self, *more: object) -> str:
        """A number in hexadecimals that depends on the address, and on what else is given."""
        whole = json.dumps([self.seat, self.decision, self.role, self.attempt, *more])
        return hashlib.sha256(whole.encode()).hexdigest()


@dataclass(frozen=True)
class ChatMessage:
    """One message, in parts of which some come again in other requests."""

    speaker: Speaker
    parts: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        """All parts."""
        return "".join(self.parts)


@dataclass(frozen=True)
class Request:
    """A call before it is made.

    `sections`, the `percept`, the `menu` and the `form` stand beside it, for models that are
    functions; no server is told.
    """

    address: CallAddress
    alias: str
    model: str
    messages: tuple[ChatMessage, ...]
    mode: OutputMode = "text"
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 256
    temperature: float = 0.0
    seed: int = 0
    prompt_tokens: int = 0  # about
    sections: tuple[Section, ...] = ()
    percept: Percept | None = None
    percepts: tuple[Percept, ...] = ()  # of several players
    menu: Menu | None = None
    form: Mapping[str, Any] | None = None  # what an answer looks like, whatever the mode

    @cached_property
    def body(self) -> dict[str, Any]:
        """What the server is told, in plain values."""
        return {
            "model": self.model,
            "messages": [{"role": one.speaker, "content": one.text} for one in self.messages],
            "mode": self.mode,
            "schema": self.schema,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
        }

    @cached_property
    def hash(self) -> str:
        """The same for the same body."""
        return hashlib.sha256(canonical(self.body)).hexdigest()

    def thoughts(self, form: Mapping[str, Any] | None) -> list[str]:
        """The fields of a form of this answer that choose nothing and come before what does."""
        chosen = {one.name for one in self.percepts}
        chosen |= set() if self.menu is None else set(self.menu.schema["properties"])
        return [name for name in (form or {}).get("properties", {}) if name not in chosen]

    def section(self, name: str) -> str:
        """The text of a section of the prompt; empty if it has none of this name."""
        return next((one.text for one in self.sections if one.name == name), "")

    def at(self, attempt: int) -> "Request":
        """The same call, tried again."""
        return replace(self, address=replace(self.address, attempt=attempt))


@dataclass(frozen=True)
class Usage:
    """Tokens of a call, as the server counted them; `estimated` if we replaced a count by ours."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True)
class Completion:
    """What a model answered."""

    text: str
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = "stop"
    model: str = ""  # as the server calls it

    @property
    def cut_off(self) -> bool:
        """Whether it ran into the limit of tokens."""
        return self.finish_reason == "length"

    def with_credible_usage(self, request: Request) -> "Completion":
        """The answer, with our estimate in place of a count of tokens that cannot be true."""
        written = 0 if request.address.role == EMBED else count_tokens(self.text)
        sent = _credible(self.usage.input_tokens, request.prompt_tokens)
        received = _credible(self.usage.output_tokens, written)
        if (sent, received) == (self.usage.input_tokens, self.usage.output_tokens):
            return self
        cached = min(max(self.usage.cached_tokens, 0), sent)
        return replace(self, usage=Usage(sent, received, cached, estimated=True))


def _credible(reported: int, estimate: int) -> int:
    """What a server reports, or the estimate where that is far below it, or absurd."""
    return reported if LEAST_BELIEVED * estimate <= reported < MOST_BELIEVED else estimate


class CallError(Exception):
    """A call that failed; its text holds no key."""

    def __init__(self, kind: CallFailure, why: str, retry_after: float | None = None) -> None:
        super().__init__(f"{kind}: {why}")
        self.kind, self.why, self.retry_after = kind, why, retry_after


def canonical(value: Any) -> bytes:
    """JSON that is the same for the same values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def first_difference(one: Sequence[str], other: Sequence[str], context: int = 60) -> str:
    """Where two texts, given in parts, first differ, with what stands around it in both."""
    left, right = "".join(one), "".join(other)
    at = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    at = min(len(left), len(right)) if at is None else at
    start = max(0, at - context)
    told = [repr(text[start : at + context]) for text in (left, right)]
    return f"at character {at}: {told[0]} before, {told[1]} now"
