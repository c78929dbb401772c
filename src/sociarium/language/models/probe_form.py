"""The form of an answer to a multiple-choice question: the letter of one option."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sociarium.core.decision import BadAnswer
from sociarium.core.errors import printable
from sociarium.language.models.config import OutputMode
from sociarium.language.models.output import AROUND, object_schema
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.probes import LETTERS

_LETTER = re.compile(r"\(?([A-Za-z])(?:[.):].*)?", re.DOTALL)  # "B", "(b)" or "B. 4 cells"


@dataclass(frozen=True)
class ProbeForm:
    """The form of an answer to a question with these options."""

    options: tuple[str, ...]
    phrases: Phrases = IN_ENGLISH

    @property
    def letters(self) -> list[str]:
        """The letters of the options."""
        return list(LETTERS[: len(self.options)])

    def schema(self, mode: OutputMode) -> dict[str, Any] | None:
        """The schema for a mode; `text` has none."""
        if mode == "text":
            return None
        letter: dict[str, Any] = {"type": "string"}
        if mode == "legal_schema":
            letter["enum"] = self.letters
        return object_schema({"choice": letter})

    def minimal(self, mode: OutputMode) -> dict[str, Any] | None:
        """The same schema: it has only the choice."""
        return self.schema(mode)

    def words(self, mode: OutputMode) -> str:
        """The sentence that asks for this form."""
        return self.phrases("form.json", fields=self.phrases("probe.choice"))

    @property
    def most_tokens(self) -> int:
        """The length limit of an answer in tokens."""
        return AROUND

    def read(self, answer: Mapping[str, Any]) -> int:
        """The number of the chosen option, from 0: by its letter, or by its text."""
        given = answer.get("choice")
        text = str(given).strip() if isinstance(given, str | int) else ""
        if text in self.options and text not in self.letters:
            return self.options.index(text)
        found = _LETTER.fullmatch(text)
        letter = found[1].upper() if found else ""
        if letter in self.letters:
            return self.letters.index(letter)
        shown = printable(str(given))[:60]
        letters = self.phrases.commas(self.letters)
        raise BadAnswer(self.phrases("probe.refused", given=shown, letters=letters))
