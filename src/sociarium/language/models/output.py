"""How a model's answer is held to a form: the schema, what it is told about it, and its length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sociarium.core.decision import BadAnswer
from sociarium.core.text import strip_text
from sociarium.language.menus import Menu
from sociarium.language.models.config import OutputMode
from sociarium.language.phrases import IN_ENGLISH, Phrases

LONGEST_THOUGHT = 200  # characters
LONGEST_SAY = 120  # characters
LETTERS_A_TOKEN = 2  # at least, in what models write
AROUND = 48  # tokens of names, numbers, quotes and brackets


class AnswerField(BaseModel):
    """A field of an answer that is no choice from the menu.

    It is a text, several of them, whether something is so, or some of the names `among` which there
    is a ranking. `says` is what the model is told about it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,39}$")]
    kind: Literal["text", "texts", "truth", "ranking"] = "text"
    says: Annotated[str, Field(max_length=300)] = ""
    most: Annotated[int, Field(ge=1, le=4000)] = LONGEST_THOUGHT  # characters of a text
    count: Annotated[int, Field(ge=1, le=20)] = 1  # of texts
    among: tuple[str, ...] = ()  # names that can be ranked; a part knows which

    @property
    def bounded(self) -> dict[str, Any]:
        """The schema of its values, with their lengths."""
        if self.kind == "ranking":
            return array_schema({"type": "string", "enum": list(self.among)}, 1, len(self.among))
        text = {"type": "string", "maxLength": self.most}
        if self.kind == "texts":
            return array_schema(text, self.count, self.count)
        return {"type": "boolean"} if self.kind == "truth" else text

    @property
    def static(self) -> dict[str, Any]:
        """The schema without lengths, which strict servers do not know."""
        if self.kind in ("texts", "ranking"):
            return {"type": "array", "items": {"type": "string"}}
        return {"type": "boolean" if self.kind == "truth" else "string"}

    def words(self, say: Phrases) -> str:
        """What the model is told about it."""
        if not self.says:
            return say("form.thought" if self.name == "thought" else "form.text", name=self.name)
        kinds = {"text": "form.field", "texts": "form.texts", "truth": "form.truth"}
        key = {**kinds, "ranking": "form.ranking"}[self.kind]
        names = ", ".join(self.among)
        return say(key, name=self.name, says=self.says, count=self.count, among=names)

    @property
    def most_tokens(self) -> int:
        """What its longest value takes."""
        if self.kind == "ranking":
            return 8 + sum(4 + len(name) // LETTERS_A_TOKEN for name in self.among)
        texts = 0 if self.kind == "truth" else self.count
        return 8 + texts * (4 + self.most // LETTERS_A_TOKEN)

    @property
    def empty(self) -> Any:
        """What stands for a value that was not given."""
        return {"text": "", "texts": (), "truth": False, "ranking": ()}[self.kind]

    def read(self, value: Any) -> str | bool | tuple[str, ...]:
        """A value out of an answer; raises `BadAnswer` for what is none."""
        if self.kind == "truth":
            said = str(value).strip().lower()
            if said not in _TRUTHS:
                raise BadAnswer(f"{self.name} is true or false")
            return _TRUTHS[said]
        if self.kind == "text":
            return self._text(value)
        if self.kind == "ranking":
            return self._ranking(value)
        if not isinstance(value, list) or len(value) < self.count:
            raise BadAnswer(f"{self.name} is a list of {self.count} texts")
        return tuple(self._text(one) for one in value[: self.count])

    def _ranking(self, value: Any) -> tuple[str, ...]:
        """The known names in a list, each once."""
        said = value if isinstance(value, list) else [value]
        found = [name for one in said for name in self.among if str(one).strip().lower() == name]
        if not found or len(found) < len(said):
            raise BadAnswer(f"{self.name} is a list of some of {', '.join(self.among)}")
        return tuple(dict.fromkeys(found))

    def _text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise BadAnswer(f"{self.name} is a text")
        return strip_text(value)[0].strip()[: self.most]


_TRUTHS = {"true": True, "false": False, "yes": True, "no": False}
THOUGHT = AnswerField(name="thought")


def array_schema(items: Mapping[str, Any], fewest: int, most: int) -> dict[str, Any]:
    """The schema of a list of so many."""
    return {"type": "array", "items": items, "minItems": fewest, "maxItems": most}


def object_schema(
    properties: Mapping[str, Any], required: Sequence[str] | None = None
) -> dict[str, Any]:
    """The schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


@dataclass(frozen=True)
class FieldsForm:
    """The form of an answer that chooses nothing: its fields."""

    fields: tuple[AnswerField, ...]
    phrases: Phrases = IN_ENGLISH

    def schema(self, mode: OutputMode) -> dict[str, Any] | None:
        """The schema for a mode; without one, words have to do."""
        if mode == "text":
            return None
        if mode == "legal_schema":
            return object_schema({one.name: one.bounded for one in self.fields})
        return object_schema({one.name: one.static for one in self.fields})

    def minimal(self, mode: OutputMode) -> dict[str, Any] | None:
        """The same: nothing can be left out."""
        return self.schema(mode)

    def words(self, mode: OutputMode) -> str:
        """What the model is told about the form."""
        told = [one.words(self.phrases) for one in self.fields]
        return self.phrases("form.json", fields=self.phrases.semicolons(told))

    @property
    def most_tokens(self) -> int:
        """What the longest answer in this form takes."""
        return AROUND + sum(one.most_tokens for one in self.fields)

    def read(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an answer; raises `BadAnswer` where one is missing or wrong."""
        for one in self.fields:
            if one.name not in answer:
                raise BadAnswer(f"the answer has no {one.name}")
        return {one.name: one.read(answer[one.name]) for one in self.fields}


@dataclass(frozen=True)
class OutputForm:
    """The form of one answer: fields before the choice, and all that the menu takes.

    Whoever was spoken to is asked for an answer, which may be empty.
    """

    menu: Menu
    before: tuple[AnswerField, ...] = ()  # such as thought
    spoken_to: bool = False

    def schema(self, mode: OutputMode) -> dict[str, Any] | None:
        """The schema for a mode; without one, words have to do."""
        if mode == "text":
            return None
        found = self._fields
        if mode == "legal_schema":
            said = ["say"] if self.spoken_to else []
            return object_schema(found, [*self._before, "choice", *said])
        static = {name: _static(name, one) for name, one in found.items()}
        return object_schema({**static, **{name: one.static for name, one in self._before.items()}})

    def minimal(self, mode: OutputMode) -> dict[str, Any] | None:
        """The schema with the choice alone."""
        whole = OutputForm(Menu(self.menu.items)).schema(mode)
        if whole is not None:
            whole["properties"] = {"choice": whole["properties"]["choice"]}
            whole["required"] = ["choice"]
        return whole

    @cached_property
    def _before(self) -> dict[str, AnswerField]:
        return {one.name: one for one in self.before}

    @cached_property
    def _fields(self) -> dict[str, Any]:
        texts = {name: one.bounded for name, one in self._before.items()}
        found = {**texts, **self.menu.schema["properties"]}
        if "say" in found:
            said = {"type": "string", "maxLength": LONGEST_SAY}
            others = {n: x for n, x in found.items() if n not in (*self._before, "choice", "say")}
            first = {n: found[n] for n in (*self._before, "choice")}
            found = {**first, "say": said, **others} if self.spoken_to else {**found, "say": said}
        return found

    def words(self, mode: OutputMode) -> str:
        """What the model is told about the form."""
        say, told = self.menu.phrases, []
        for name in self._fields:
            if name == "choice":
                key = "form.choice_name" if mode == "legal_schema" else "form.choice"
                told.append(say(key))
            elif name in self._before:
                told.append(self._before[name].words(say))
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
        texts = sum(one.most * one.count for one in self.before if one.kind != "truth")
        texts += LONGEST_SAY if "say" in self.menu.writes else 0
        longest = max(len(item.id) for item in self.menu.items)
        arguments = 8 * (len(self._fields) - len(self.before) - 1)
        names = 8 * max(0, len(self.before) - 1)
        return AROUND + names + arguments + (texts + longest) // LETTERS_A_TOKEN


def _static(name: str, field: Mapping[str, Any]) -> dict[str, Any]:
    """A field that has the same schema in every menu: what is legal is in the words."""
    if name == "choice":
        return {"type": "integer"}
    kind = "string" if "enum" in field else field["type"]
    return {"type": [kind, "null"]}
