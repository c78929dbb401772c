"""A model that only counts: it chooses anything legal, in words of a usual length."""

import json
import random

from sociarium.language.models.output import LONGEST_SAY, LONGEST_THOUGHT
from sociarium.language.models.requests import Completion, Request, Usage
from sociarium.language.tokens import count_tokens

USUAL_SHARE = 0.6  # of the longest text that models write


class DryModel:
    """Stands in for a real model where one wants to know what it would cost."""

    async def complete(self, request: Request) -> Completion:
        """Some choice, drawn by the address of the call."""
        drawn = random.Random(request.address.hash())
        choices = [] if request.menu is None else list(enumerate(request.menu.items, 1))
        simple = [(number, item) for number, item in choices if not item.needs] or choices
        number, item = drawn.choice(simple)
        fields = request.schema["properties"] if request.schema is not None else {}
        text = lambda most: "so be it " * int(USUAL_SHARE * most / 9)  # noqa: E731
        answer: dict[str, object] = (
            {"thought": text(LONGEST_THOUGHT)} if "thought" in fields else {}
        )
        answer["choice"] = item.id if request.mode == "legal_schema" else number
        if request.schema is not None and "say" in request.schema["required"]:
            answer["say"] = text(LONGEST_SAY)
        told = json.dumps(answer, indent=1)
        return Completion(told, Usage(request.prompt_tokens, count_tokens(told)), model="dry")
