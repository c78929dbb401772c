"""A model that only counts: it chooses what is possible, in words of a usual length."""

import json
import random
from collections.abc import Mapping
from typing import Any

from sociarium.core.decision import Decision
from sociarium.core.menu import refusal
from sociarium.core.percept import Percept
from sociarium.language.menus import Menu, MenuItem
from sociarium.language.models.output import LONGEST_SAY, LONGEST_THOUGHT
from sociarium.language.models.requests import EMBED, Completion, Request, Usage
from sociarium.language.tokens import count_tokens

USUAL_SHARE = 0.6  # of the longest text that models write


class DryModel:
    """Stands in for a real model where one wants to know what it would cost."""

    async def complete(self, request: Request) -> Completion:
        """Some choice, drawn by the address of the call."""
        drawn = random.Random(request.address.hash())
        if request.address.role == EMBED:
            return Completion("[1.0]", Usage(request.prompt_tokens), model="dry")
        if request.menu is None:
            told = json.dumps(_usual(request.form or {}, drawn), indent=1)
            return Completion(told, Usage(request.prompt_tokens, count_tokens(told)), model="dry")
        item, more = self.chosen(request, request.menu, drawn)
        number = 1 + next(n for n, one in enumerate(request.menu.items) if one is item)
        fields = request.form["properties"] if request.form is not None else {}
        thoughts = request.thoughts(request.form)
        answer: dict[str, object] = {name: _usual(fields[name], drawn) for name in thoughts}
        answer["choice"] = item.id if request.mode == "legal_schema" else number
        answer |= more
        if request.form is not None and "say" in request.form["required"]:
            answer["say"] = _text(LONGEST_SAY)
        told = json.dumps(answer, indent=1)
        return Completion(told, Usage(request.prompt_tokens, count_tokens(told)), model="dry")

    def chosen(
        self, request: Request, menu: Menu, drawn: random.Random
    ) -> tuple[MenuItem, Mapping[str, Any]]:
        """A choice by lot among what is possible, and what the answer says beside it."""
        items = [one for one in menu.items if _possible(one, request.percept)] or menu.items
        return drawn.choice([one for one in items if not one.needs] or items), {}


def _possible(item: MenuItem, percept: Percept | None) -> bool:
    """Whether a choice can be followed, as far as a percept tells: whole vocabularies are shown."""
    return percept is None or bool(item.needs) or not refusal(Decision(**item.fields), percept)


def _text(most: int) -> str:
    return "so be it " * int(USUAL_SHARE * most / 9)


def _usual(schema: Mapping[str, Any], drawn: random.Random) -> Any:
    """A value of a usual length for a schema."""
    if "enum" in schema:
        return drawn.choice(schema["enum"])
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: _usual(one, drawn) for name, one in schema.get("properties", {}).items()}
    if kind == "array":
        return [_usual(schema["items"], drawn) for _ in range(schema.get("minItems", 1))]
    if kind == "boolean":
        return drawn.random() < 0.5
    return _text(schema.get("maxLength", LONGEST_THOUGHT))
