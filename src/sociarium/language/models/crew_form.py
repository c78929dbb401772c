"""The form of an answer that commands several players: an object by their names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sociarium.core.decision import BadAnswer, Decision
from sociarium.core.menu import refusal
from sociarium.core.percept import Percept
from sociarium.language.menus import Menu
from sociarium.language.models.config import OutputMode
from sociarium.language.models.output import AROUND, LETTERS_A_TOKEN, AnswerField, object_schema
from sociarium.language.phrases import IN_ENGLISH, Phrases


@dataclass(frozen=True)
class Commands:
    """What an answer commands: decisions by seat, whom it left out, and what was wrong of whom."""

    decisions: Mapping[int, Decision]
    missing: tuple[str, ...] = ()
    wrong: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CrewForm:
    """One command for each player, by its name; fields before them are thoughts."""

    percepts: tuple[Percept, ...]
    menus: Mapping[int, Menu]
    before: tuple[AnswerField, ...] = ()
    phrases: Phrases = IN_ENGLISH

    @property
    def names(self) -> tuple[str, ...]:
        """Whom it commands."""
        return tuple(percept.name for percept in self.percepts)

    def schema(self, mode: OutputMode) -> dict[str, Any] | None:
        """The schema for a mode; without one, words have to do."""
        if mode == "text":
            return None
        if mode != "legal_schema":
            static = {one.name: one.static for one in self.before}
            return object_schema({**static, **{name: {"type": "string"} for name in self.names}})
        fields: dict[str, Any] = {one.name: one.bounded for one in self.before}
        for percept in self.percepts:
            ids = [item.id for item in self.menus[percept.seat].items if not item.needs]
            fields[percept.name] = {"type": "string", "enum": ids}
        return object_schema(fields)

    def minimal(self, mode: OutputMode) -> dict[str, Any] | None:
        """The commands alone."""
        return CrewForm(self.percepts, self.menus).schema(mode)

    def words(self, mode: OutputMode) -> str:
        """What the model is told about the form."""
        say = self.phrases
        told = [one.words(say) for one in self.before]
        told += [say("form.command", name=name) for name in self.names]
        return say("form.json", fields=say.semicolons(told))

    @property
    def most_tokens(self) -> int:
        """What the longest answer in this form takes."""
        longest = sum(
            len(percept.name) + max(len(item.id) for item in self.menus[percept.seat].items)
            for percept in self.percepts
        )
        fields = sum(one.most_tokens for one in self.before)
        return AROUND + fields + 8 * len(self.percepts) + longest // LETTERS_A_TOKEN

    def read(self, answer: Mapping[str, Any], *, void_all: bool = False) -> Commands:
        """The commands in an answer; a bad one voids itself alone, or with `void_all` every one.

        Raises `BadAnswer` where there is no command at all.
        """
        decisions: dict[int, Decision] = {}
        missing, wrong = [], {}
        for percept in self.percepts:
            said = answer.get(percept.name)
            if said is None or said == "":
                missing.append(percept.name)
                continue
            try:
                decision = self.menus[percept.seat].read(
                    said if isinstance(said, Mapping | int) else str(said), lenient=True
                )
                why = refusal(decision, percept)
            except BadAnswer as error:
                why, decision = str(error), Decision()
            if why:
                wrong[percept.name] = why
            else:
                decisions[percept.seat] = decision
        if len(missing) == len(self.percepts):
            raise BadAnswer(f"the answer has a command for none of {', '.join(self.names)}")
        return Commands({} if void_all and wrong else decisions, tuple(missing), wrong)
