"""The parts of a mind that remember: they write rows, find them again, and reflect upon them."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from sociarium.core.errors import BadArgument
from sociarium.core.text import strip_text
from sociarium.language.models.output import AnswerField
from sociarium.language.quoting import quotation_mark
from sociarium.players.minds.blackboard import Key
from sociarium.players.minds.memory_stream import (
    SUMMARY,
    MemoryRow,
    Retrieved,
    importance_of,
    importance_table,
)
from sociarium.players.minds.mind_files import PartTable
from sociarium.players.minds.parts import CHOICE, Part
from sociarium.players.minds.templates import PartTemplate, part_template
from sociarium.players.minds.thinking import PartQuestion, Thinking

PERCEPTION, INSIGHT, HEARD_ROW = "perception", "insight", "heard"
PUBLISHED = 10.0  # how much every memory matters in the published runs
LONGEST_ROW = 4000  # characters


class RememberPart(Part):
    """Writes down what is perceived, one row for each decision, and what others said.

    With `by_event` a row matters as much as the most important thing that happened, else all rows
    matter the same.
    """

    kind, remembers = "remember", True
    taken: ClassVar = {"importance": PUBLISHED, "by_event": False}

    def key(self, name: str) -> Key[Any]:
        """The number of the newest row."""
        return Key(name, int, 0)

    async def think(self, thinking: Thinking) -> None:
        """Adds the rows, with their vectors."""
        percept, view = thinking.percept, thinking.view(self.table.reads)
        chosen = view.get(CHOICE, "") if CHOICE in view else ""
        seen = thinking.asker.perceived(percept)
        text = f"You had chosen: {chosen}. {seen}" if chosen else seen
        table = importance_table() if self.options["by_event"] else {}
        events = [one.kind for one in percept.events]
        rows = [
            (PERCEPTION, _row_text(text), "self", importance_of(events, table, self._usual)),
        ]
        for said in percept.messages:
            matters = importance_of(["said"], table, self._usual)
            rows.append((HEARD_ROW, _row_text(said.text), f"heard:{said.name}", matters))
        vectors = await thinking.embed([text for _, text, _, _ in rows])
        for (kind, text, source, importance), vector in zip(rows, vectors, strict=True):
            thinking.memory.add(
                step=thinking.step,
                decision=thinking.number,
                kind=kind,
                text=text,
                importance=importance,
                source=source,
                events=events if kind == PERCEPTION else (),
                vector=vector,
            )
        for name in self.table.writes:
            thinking.board.write(name, thinking.memory.rows_number)

    @property
    def _usual(self) -> float:
        return float(self.options["importance"])


class NewestPart(Part):
    """The newest rows of a kind from before this step, as lines; the oldest of them first."""

    kind, remembers = "newest", True
    taken: ClassVar = {"of": INSIGHT, "most": 10}

    def check(self) -> None:
        """It writes one key."""
        _writes_one(self)

    async def think(self, thinking: Thinking) -> None:
        """Only looks."""
        of, most = self.options["of"], self.options["most"]
        rows = thinking.memory.newest(of, most, before=thinking.step)
        thinking.board.write(self.table.writes[0], as_lines(rows[::-1]))


class RecallPart(Part):
    """The rows that fit best to what it reads, by the published score; as lines, the best first.

    What was written in this step is perceived now, so it is not recalled.
    """

    kind, remembers = "recall", True
    taken: ClassVar = {"most": 10, "candidates": 100, "most_heard": 3}

    def check(self) -> None:
        """It writes one key, and looks for something."""
        _writes_one(self)
        if not self.table.reads:
            raise BadArgument(f"{self.name} looks for what it reads, so it reads something")

    async def think(self, thinking: Thinking) -> None:
        """One vector of what it looks for, and the rows near to it."""
        view = thinking.view(self.table.reads)
        told = [x for x in view.values() if isinstance(x, str | tuple)]
        texts = [x if isinstance(x, str) else "\n".join(map(str, x)) for x in told]
        query = "\n".join(text for text in texts if text)
        found: tuple[Retrieved, ...] = ()
        if query:
            (vector,) = await thinking.embed([query])
            found = thinking.memory.retrieve(
                vector,
                thinking.step - 1,
                most=self.options["most"],
                candidates=self.options["candidates"],
                most_heard=self.options["most_heard"],
            )
        thinking.note(self.name, recalled=scores(found))
        thinking.board.write(self.table.writes[0], as_lines([one.row for one in found]))


class ReflectPart(Part):
    """Once enough has happened, asks questions about it, and writes an insight for each as a row.

    What was perceived since the last time adds up to the `threshold`. The model is asked for
    questions, then, with the memories that fit each, for the insights.
    """

    kind, asks, remembers = "reflect", True, True
    taken: ClassVar = {
        "threshold": 30.0,
        "most": 50,  # perceptions that it looks back on
        "memories": 3,  # for a question
        "candidates": 100,
        "most_heard": 1,
        "insights": "insights",  # the template of the second question
    }

    @classmethod
    def templates(cls, table: PartTable, goal: str = "") -> tuple[PartTemplate, ...]:
        """That of the questions, and that of the insights."""
        second = str(table.options.get("insights", cls.taken["insights"]))
        return (*super().templates(table, goal), part_template(second, goal, table.beside))

    @property
    def more_values(self) -> tuple[str, ...]:
        """What was perceived."""
        return ("perceptions",)

    @property
    def used_in_code(self) -> tuple[str, ...]:
        """It looks back after all that it reads was written."""
        return self.table.reads

    def own_keys(self) -> tuple[Key[Any], ...]:
        """The newest row that it has looked back on."""
        return (Key(self._upto, int, 0, kept=True),)

    @property
    def _upto(self) -> str:
        return f"{self.name}_upto"

    def check(self) -> None:
        """It asks for questions, as texts; what it finds is in the memory."""
        kinds = [one.kind for one in self.table.answer]
        if kinds != ["texts"] or self.table.writes:
            raise BadArgument(f"{self.name} asks for questions, as texts, and writes no key")

    async def think(self, thinking: Thinking) -> None:
        """Two calls, if it is time."""
        memory = thinking.memory
        upto = thinking.board.read(self._upto)
        rows = memory.since(upto, (PERCEPTION,))
        if sum(row.importance for row in rows) < self.options["threshold"]:
            return
        newest_first = rows[::-1][: self.options["most"]]
        answer = await thinking.ask(
            self.name, self.question(thinking, perceptions=as_lines(newest_first))
        )
        thinking.board.write(self._upto, memory.rows_number)
        if answer is None:
            return
        questions = answer[self.table.answer[0].name]
        groups = await self._found(thinking, questions)
        form = AnswerField(
            name="insights",
            kind="texts",
            count=len(questions),
            most=self.table.answer[0].most,
            says="one insight for each question, in the same order",
        )
        rows = {one.row.id: one.row for found in groups for one in found}
        numbers = {id: number for number, id in enumerate(sorted(rows), 1)}
        told = [
            {"question": question, "memories": [numbers[one.row.id] for one in found]}
            for question, found in zip(questions, groups, strict=True)
        ]
        lines = as_lines([rows[id] for id in sorted(rows)])
        second = PartQuestion(
            self.table.asks,
            self.prompts[1],
            {"groups": told, "memories": lines},
            (form,),
            sees=False,
        )
        given = await thinking.ask(f"{self.name}_insights", second)
        if given is None:
            return
        vectors = await thinking.embed(given["insights"])
        for text, found, vector in zip(given["insights"], groups, vectors, strict=True):
            if not text:
                continue
            memory.add(
                step=thinking.step,
                decision=thinking.number,
                kind=INSIGHT,
                text=_row_text(text),
                importance=PUBLISHED,
                parents=[one.row.id for one in found],
                vector=vector,
            )

    async def _found(
        self, thinking: Thinking, questions: Sequence[str]
    ) -> list[tuple[Retrieved, ...]]:
        """The memories that fit each question."""
        vectors = await thinking.embed(questions)
        groups = [
            thinking.memory.retrieve(
                vector,
                thinking.step,
                most=self.options["memories"],
                candidates=self.options["candidates"],
                most_heard=self.options["most_heard"],
            )
            for vector in vectors
        ]
        thinking.note(self.name, recalled=[scores(found) for found in groups])
        return groups


class SummarisePart(Part):
    """Keeps the memory bounded: asks for a summary of the oldest rows, which stands for them."""

    kind, asks, remembers = "summarise", True, True
    taken: ClassVar = {"keep": 100, "leave": 60}

    @property
    def more_values(self) -> tuple[str, ...]:
        """The rows."""
        return ("rows",)

    @property
    def used_in_code(self) -> tuple[str, ...]:
        """It condenses after all that it reads was written."""
        return self.table.reads

    def check(self) -> None:
        """It asks for one text."""
        if [one.kind for one in self.table.answer] != ["text"] or self.table.writes:
            raise BadArgument(f"{self.name} asks for one text, and writes no key")
        if self.options["leave"] >= self.options["keep"]:
            raise BadArgument(f"{self.name} leaves fewer rows than it keeps")

    async def think(self, thinking: Thinking) -> None:
        """One call, when there is too much to remember."""
        kinds = (PERCEPTION, INSIGHT, SUMMARY)
        options, memory = self.options, thinking.memory
        rows = memory.rows_to_condense(kinds, options["keep"], options["leave"])
        if not rows:
            return
        answer = await thinking.ask(self.name, self.question(thinking, rows=as_lines(rows)))
        if answer is None:
            return
        text = _row_text(answer[self.table.answer[0].name])
        (vector,) = await thinking.embed([text])
        memory.add(
            step=thinking.step,
            decision=thinking.number,
            kind=SUMMARY,
            text=text,
            importance=max(row.importance for row in rows),
            parents=[row.id for row in rows],
            vector=vector,
        )


def as_lines(rows: Sequence[MemoryRow]) -> tuple[str, ...]:
    """Rows as they stand in prompts; what others said is quoted between two marks."""
    mark = quotation_mark([row.text for row in rows if row.heard])
    return tuple(f"Step {row.step}: {_line(row, mark)}" for row in rows)


def _line(row: MemoryRow, mark: str) -> str:
    if not row.heard:
        return row.text
    speaker, quoted = row.source.partition(":")[2], json.dumps(row.text, ensure_ascii=False)
    return f"{speaker} said, between two marks {mark}: {mark}{quoted}{mark}"


def scores(found: Sequence[Retrieved]) -> list[list[float | int]]:
    """For traces: the number of each row, and the parts of its score."""
    return [
        [one.row.id, *(round(x, 4) for x in (one.recency, one.importance, one.relevance))]
        for one in found
    ]


def _row_text(text: str) -> str:
    return " ".join(strip_text(text)[0].split())[:LONGEST_ROW]


def _writes_one(part: Part) -> None:
    if len(part.table.writes) != 1:
        raise BadArgument(f"{part.name} writes one key; given {len(part.table.writes)}")
