"""How a model's answer is held to a form: the schema, what it is told about it, and its length."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sociarium.language.menus import Menu
from sociarium.language.models.config import OutputMode

LONGEST_THOUGHT = 200  # characters
LONGEST_SAY = 120  # characters
LETTERS_A_TOKEN = 2  # at least, in what models write
AROUND = 48  # tokens of names, numbers, quotes and brackets


@dataclass(frozen=True)
class OutputForm:
    """The form of one answer: fields before the choice, and all that the menu takes.

    Whoever was spoken to is asked for an answer, which may be empty.
    """

    menu: Menu
    before: tuple[str, ...] = ()  # such as thought
    spoken_to: bool = False

    def schema(self, mode: OutputMode) -> dict[str, Any] | None:
        """The schema for a mode; without one, words have to do."""
        if mode == "text":
            return None
        found = self._fields
        required = [*self.before, "choice", *(["say"] if self.spoken_to else [])]
        if mode != "legal_schema":
            found, required = {name: _static(name, one) for name, one in found.items()}, [*found]
        return {
            "type": "object",
            "properties": found,
            "required": required,
            "additionalProperties": False,
        }

    def minimal(self, mode: OutputMode) -> dict[str, Any] | None:
        """The schema with the choice alone."""
        whole = OutputForm(Menu(self.menu.items)).schema(mode)
        if whole is not None:
            whole["properties"] = {"choice": whole["properties"]["choice"]}
            whole["required"] = ["choice"]
        return whole

    @cached_property
    def _fields(self) -> dict[str, Any]:
        text = {"type": "string", "maxLength": LONGEST_THOUGHT}
        found = {**dict.fromkeys(self.before, text), **self.menu.schema["properties"]}
        if "say" in found:
            said = {"type": "string", "maxLength": LONGEST_SAY}
            others = {n: x for n, x in found.items() if n not in (*self.before, "choice", "say")}
            first = {n: found[n] for n in (*self.before, "choice")}
            found = {**first, "say": said, **others} if self.spoken_to else {**found, "say": said}
        return found

    def words(self, mode: OutputMode) -> str:
        """What the model is told about the form."""
        say, told = self.menu.phrases, []
        for name in self._fields:
            if name == "choice":
                key = "form.choice_name" if mode == "legal_schema" else "form.choice"
                told.append(say(key))
            elif name in self.before:
                told.append(say(f"form.{name}"))
            elif name == "say":
                told.append(say("form.say", most=LONGEST_SAY))
            elif name == "say_to":
                told.append(say("form.say_to"))
            else:
                told.append(say("form.argument", name=name))
        lines = [say("form.json", fields=say.semicolons(told))]
        if self.spoken_to:
            lines.append(say("form.spoken_to"))
        return " ".join(lines)

    @property
    def most_tokens(self) -> int:
        """What the longest answer in this form takes."""
        texts = LONGEST_THOUGHT * len(self.before)
        texts += LONGEST_SAY if "say" in self.menu.writes else 0
        longest = max(len(item.id) for item in self.menu.items)
        arguments = 8 * (len(self._fields) - len(self.before) - 1)
        return AROUND + arguments + (texts + longest) // LETTERS_A_TOKEN


def _static(name: str, field: Mapping[str, Any]) -> dict[str, Any]:
    """A field that has the same schema in every menu: what is legal is in the words."""
    if name == "choice":
        return {"type": "integer"}
    kind = "string" if "enum" in field else field["type"]
    return {"type": [kind, "null"]} if name != "thought" else {"type": kind}
