"""A fake model that answers comprehension probes: a perfect reader, or one that guesses.

The reader finds the question in the prompt by its words, and works out the answer from the percept
that the prompt was written from. It never receives the answer of a probe.
"""

import json
import random
from typing import Any

from sociarium.core.environment import Environment
from sociarium.core.percept import Percept
from sociarium.core.text import Json
from sociarium.language.models.requests import Completion, Request, Usage
from sociarium.language.probes import LETTERS, ProbeWriter
from sociarium.language.tokens import count_tokens


class FakeReader:
    """Answers every probe correctly, or with `guesses` uniformly at random among its options."""

    def __init__(self, env: Environment[Any, Any], guesses: bool = False) -> None:
        self._writer, self._guesses = ProbeWriter(env), guesses
        self._percept: Percept | None = None
        self._answers: dict[str, set[str]] = {}  # to every question about that percept

    async def complete(self, request: Request) -> Completion:
        """The letter of an option."""
        assert request.percept is not None and request.form is not None
        letters = request.form["properties"]["choice"]["enum"]
        if self._guesses:
            letter = random.Random(request.hash).choice(letters)
        else:
            letter = self._read(request.percept, request.messages[-1].text, letters)
        text = json.dumps({"choice": letter})
        return Completion(text, Usage(request.prompt_tokens, count_tokens(text)), model="fake")

    def _read(self, percept: Percept, prompt: str, letters: list[str]) -> str:
        """The letter of the option that is correct by the percept."""
        if percept is not self._percept:
            self._percept, self._answers = percept, {}
            for query, right in self._writer.ask(percept).items():
                question = self._writer.text(percept, query)
                self._answers.setdefault(question, set()).update(right)
        lines = prompt.splitlines()
        first = max(place for place, line in enumerate(lines) if line.startswith(f"{LETTERS[0]}. "))
        options = [line.partition(". ")[2] for line in lines[first : first + len(letters)]]
        right = self._answers[lines[first - 1]]
        return next(one for one, text in zip(letters, options, strict=True) if text in right)

    def snapshot(self) -> Json:
        """Nothing: it remembers nothing."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Does nothing."""
