"""Tries out what a model's server can do: whether it answers, and how answers keep to a form."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sociarium.core.errors import SociariumError, printable
from sociarium.language.models.config import OUTPUT_MODES, ModelConfig, OutputMode
from sociarium.language.models.openai_model import OpenAIModel
from sociarium.language.models.requests import (
    CallAddress,
    CallError,
    ChatMessage,
    Completion,
    Request,
)

_CHOICES = ["north", "south", "wait"]
_ASKED = "Choose one of 1. north, 2. south, 3. wait. Answer with a JSON object that has choice."
_LEGAL = {"choice": {"type": "string", "enum": _CHOICES}}
_STATIC = {"choice": {"type": "integer"}}


@dataclass(frozen=True)
class ModelReport:
    """What was found out about one model."""

    alias: str
    modes: dict[str, str] = field(default_factory=dict)  # "yes", or what went wrong
    seconds: float | None = None  # of the quickest answer, if there was any
    wrong: str = ""  # why nothing could be asked

    @property
    def best(self) -> OutputMode | None:
        """The strictest way in which it answers."""
        return next((mode for mode in OUTPUT_MODES if self.modes.get(mode) == "yes"), None)


async def probe(alias: str, config: ModelConfig) -> ModelReport:
    """Asks a model once for every way to hold an answer to a form."""
    modes: dict[str, str] = {}
    quickest = float("inf")
    model = OpenAIModel(config)
    try:
        for mode in OUTPUT_MODES:
            began = time.monotonic()
            try:
                answer = await model.complete(_request(alias, config, mode))
            except CallError as error:
                modes[mode] = str(error)
                if error.kind in ("connection", "unauthorized", "unknown_model"):
                    return ModelReport(alias, wrong=str(error))
                continue
            quickest = min(quickest, time.monotonic() - began)
            modes[mode] = "yes" if _keeps(mode, answer) else f"answered {printable(answer.text)!r}"
    except SociariumError as error:
        return ModelReport(alias, wrong=str(error))
    finally:
        await model.close()
    return ModelReport(alias, modes, None if quickest == float("inf") else quickest)


def _request(alias: str, config: ModelConfig, mode: OutputMode) -> Request:
    fields = _LEGAL if mode == "legal_schema" else _STATIC
    schema = {
        "type": "object",
        "properties": fields,
        "required": ["choice"],
        "additionalProperties": False,
    }
    return Request(
        address=CallAddress(0, 0, "probe"),
        alias=alias,
        model=config.model,
        messages=(ChatMessage("user", (_ASKED,)),),
        mode=mode,
        schema=None if mode == "text" else schema,
        max_tokens=48,
    )


def _keeps(mode: OutputMode, answer: Completion) -> bool:
    """Whether an answer has the form that was asked for; in words, whether there is one."""
    if mode == "text":
        return bool(answer.text.strip())
    try:
        chosen = json.loads(answer.text)["choice"]
    except (ValueError, KeyError, TypeError):
        return False
    fits: Callable[[object], bool] = lambda one: (  # noqa: E731
        one in _CHOICES if mode == "legal_schema" else isinstance(one, int)
    )
    return fits(chosen)
