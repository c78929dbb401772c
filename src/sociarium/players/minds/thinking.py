"""One decision while it is being made: what is perceived, what parts have written, whom to ask."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from sociarium.core.decision import BadAnswer, Decision
from sociarium.core.percept import Percept
from sociarium.core.text import BadText, read_json
from sociarium.language.crew_prompts import CrewPrompt, CrewWriter
from sociarium.language.models.config import OutputMode
from sociarium.language.models.crew_form import CrewForm
from sociarium.language.models.output import (
    LONGEST_THOUGHT,
    AnswerField,
    FieldsForm,
    OutputForm,
)
from sociarium.language.models.probe_form import ProbeForm
from sociarium.language.models.repair import Answered, NoAnswer, ask_until_valid
from sociarium.language.models.requests import MESSAGE_TOKENS, CallAddress, ChatMessage, Request
from sociarium.language.models.runtime import DecisionCalls, RunCalls
from sociarium.language.prompts import Prompt, PromptWriter, Section, Stability
from sociarium.language.quoting import quotation_mark
from sociarium.language.tokens import TokenCounter
from sociarium.players.minds.blackboard import Blackboard, BoardView, Key
from sociarium.players.minds.embedding import EndpointEmbedder
from sociarium.players.minds.memory_stream import Embedder, MemoryStream
from sociarium.players.minds.templates import PartTemplate

T = TypeVar("T")
ACT = "act"
PERCEPT = "percept"  # whoever reads it is told what is perceived
NEVER_TOLD = "menu"  # the section that only those who choose are told
# What is on every blackboard before anybody works.
GIVEN: tuple[Key[Any], ...] = (
    Key(PERCEPT, str, ""),
    Key("step", int, 0),
    Key("status", str, ""),
)
AnyForm = OutputForm | FieldsForm | CrewForm | ProbeForm
MOST_TRACED = 4000  # characters of what a part wrote


@dataclass(frozen=True)
class PartQuestion:
    """What a part asks a model: by which template, with what, and in which form."""

    role: str
    template: PartTemplate
    values: Mapping[str, Any]
    fields: tuple[AnswerField, ...] = ()
    sees: bool = True  # whether it is told what is perceived
    chooses: bool = False  # from the menu
    form: ProbeForm | None = None  # of an answer about the menu that chooses nothing from it
    temperature: float | None = None  # that of the model, unless it is given


class Asker:
    """Writes the requests of one player: a prompt for each part, the most stable text first."""

    def __init__(
        self,
        run: RunCalls,
        seat: int,
        identity: tuple[int, int, int],
        aliases: Mapping[str, str],
        writer: PromptWriter,
        count: TokenCounter,
        crew: bool = False,
    ) -> None:
        self.run, self._seat, self._identity = run, seat, identity
        self.aliases, self.writer, self._count = aliases, writer, count
        self._crew = CrewWriter(writer) if crew else None
        self._written: tuple[Any, Prompt | CrewPrompt] | None = None

    def _drawn(self, address: CallAddress) -> str:
        return hashlib.sha256(address.hash(*self._identity).encode()).hexdigest()

    def prompt(self, percepts: Sequence[Percept], number: int) -> Prompt | CrewPrompt:
        """All that a player, or a crew, is told for a decision; parts are told some of it."""
        which = number, *map(id, percepts)
        if self._written is None or self._written[0] != which:
            heard = [one.text for percept in percepts for one in percept.messages]
            mark = quotation_mark(heard, *self._identity, self._seat, number)
            prompt: Prompt | CrewPrompt
            if self._crew is not None:
                prompt = self._crew.write(percepts, mark)
            else:
                prompt = self.writer.write(percepts[0], mark=mark)
            self._written = which, prompt
        return self._written[1]

    def perceived(self, percept: Percept) -> str:
        """What is perceived, without what others said."""
        return self.writer.renderer.render(percept.model_copy(update={"messages": ()}))

    def request(
        self, question: PartQuestion, percepts: Sequence[Percept], number: int, alias: str = ""
    ) -> tuple[Request, AnyForm]:
        """What is asked, of the model of its role or another, and the form of the answer."""
        alias = alias or self.aliases[question.role]
        config, _ = self.run.model(alias, self._seat)
        address = CallAddress(self._seat, number, question.role)
        prompt, percept = self.prompt(percepts, number), percepts[0]
        form: AnyForm = question.form or FieldsForm(question.fields)
        if question.form is not None:
            pass
        elif question.chooses and isinstance(prompt, CrewPrompt):
            form = CrewForm(tuple(percepts), prompt.menus, question.fields)
        elif question.chooses and isinstance(prompt, Prompt):
            spoken_to = bool(percept.messages) and "say" in prompt.menu.writes
            form = OutputForm(prompt.menu, question.fields, spoken_to)
        sections = [one for one in prompt.sections if _told(one, question)]
        messages = self._messages(percept, sections, question, form, config.structured)
        counts = sum(section.tokens for section in sections)
        counts += self._count(messages[0].parts[0]) + self._count(messages[1].parts[-1])
        request = Request(
            address=address,
            alias=alias,
            model=config.model,
            messages=messages,
            mode=config.structured,
            schema=form.schema(config.structured),
            max_tokens=form.most_tokens,
            temperature=(
                config.temperature if question.temperature is None else question.temperature
            ),
            seed=int(self._drawn(address)[8:16], 16) >> 1,
            prompt_tokens=counts + MESSAGE_TOKENS * len(messages),
            sections=tuple(sections),
            percept=percept,
            percepts=tuple(percepts),
            menu=form.menu if isinstance(form, OutputForm) else None,
            form=form.schema("legal_schema"),
        )
        return request, form

    def _messages(
        self,
        percept: Percept,
        sections: Sequence[Section],
        question: PartQuestion,
        form: AnyForm,
        mode: OutputMode,
    ) -> tuple[ChatMessage, ...]:
        """The most stable first: instructions and rules, then what changes, then the question."""
        laid_out = {s.name: f"\n\n{s.heading}\n{s.text}" for s in sections}
        stable = [s.name for s in sections if s.stability == Stability.WORLD]
        rest = [text for name, text in laid_out.items() if name not in stable]
        values = {**question.values, "name": percept.name, "form": form.words(mode)}
        asked = question.template.ask(**values).strip()
        instructions = question.template.instructions(thought=LONGEST_THOUGHT, **question.values)
        return (
            ChatMessage("system", (instructions, *(laid_out[name] for name in stable))),
            ChatMessage("user", (rest[0].lstrip("\n"), *rest[1:], f"\n\n{asked}")),
        )


def _told(section: Section, question: PartQuestion) -> bool:
    """Whether a section stands in the prompt of a part."""
    if section.name == NEVER_TOLD:
        return question.chooses or question.form is not None
    return question.sees or section.stability <= Stability.SOCIETY


@dataclass
class Thinking:
    """One decision while it is being made, for one player or for several."""

    percepts: tuple[Percept, ...]
    number: int
    asker: Asker
    calls: DecisionCalls
    board: Blackboard
    stream: MemoryStream | None = None
    embedder: Embedder | None = None
    earlier: int = 0  # steps in trials before this one
    decisions: dict[int, Decision] = field(default_factory=dict)  # by seat
    counts: Counter[str] = field(default_factory=Counter)  # of what parts noticed
    rung: str = "fallback"
    thought: str = ""
    parts: dict[str, Any] = field(default_factory=dict)  # what they wrote, for traces
    failed: Counter[str] = field(default_factory=Counter)  # parts that got no answer

    @property
    def percept(self) -> Percept:
        """What the player perceives; of several, the first."""
        return self.percepts[0]

    def decide(self, decision: Decision) -> None:
        """What the one player does."""
        self.decisions = {self.percept.seat: decision}

    @property
    def memory(self) -> MemoryStream:
        """What is remembered; minds that remember nothing have none."""
        assert self.stream is not None
        return self.stream

    @property
    def step(self) -> int:
        """The step, counted over all trials of a series."""
        return self.earlier + self.percept.step

    def view(self, reads: Sequence[str]) -> BoardView:
        """What a part may read."""
        return self.board.view(reads)

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of texts, by the embedder of this player."""
        if isinstance(self.embedder, EndpointEmbedder):
            return await self.embedder.by(self.calls, texts)
        assert self.embedder is not None
        return await self.embedder.embed(texts)

    def note(self, part: str, **told: Any) -> None:
        """Adds to the trace what a part did."""
        self.parts.setdefault(part, {}).update(told)

    async def ask(self, part: str, question: PartQuestion) -> dict[str, Any] | None:
        """The fields that a model gives; nothing where it gave no answer in the form."""
        request, form = self._request(question)
        assert isinstance(form, FieldsForm)
        try:
            answered = await self._asked(request, form, lambda given: form.read(as_object(given)))
        except NoAnswer as error:
            self.failed[part] += 1
            self.note(part, failed=str(error)[:200])
            return None
        told = {"rung": answered.rung} if answered.rung != "parsed" else {}
        self.note(part, **told, **{n: _short(x) for n, x in answered.value.items()})
        return answered.value

    async def choose(self, question: PartQuestion, read: Any) -> Answered[Any]:
        """What a model decides, as `read(form)` reads it; raises `NoAnswer`."""
        request, form = self._request(question)
        return await self._asked(request, form, read(form))

    def _request(self, question: PartQuestion) -> tuple[Request, AnyForm]:
        redraft = lambda alias: self.asker.request(question, self.percepts, self.number, alias)[0]  # noqa: E731
        self.calls.redraft = redraft
        return self.asker.request(question, self.percepts, self.number)

    async def _asked(self, request: Request, form: AnyForm, read: Any) -> Any:
        minimal = lambda asked: replace(asked, schema=form.minimal(asked.mode))  # noqa: E731
        return await ask_until_valid(self.calls.call, request, read, minimal)


def as_object(answer: Any) -> Mapping[str, Any]:
    """The object in an answer; a text that is none is a choice."""
    if isinstance(answer, str) and answer.strip().startswith("{"):
        try:
            answer = read_json(answer.strip().encode())
        except (BadText, UnicodeEncodeError) as error:
            raise BadAnswer(f"the answer {error}") from None
    elif isinstance(answer, str):
        answer = {"choice": answer.strip()}
    if not isinstance(answer, Mapping):
        raise BadAnswer("the answer is no JSON object")
    return answer


def _short(value: Any) -> Any:
    return value[:MOST_TRACED] if isinstance(value, str) else value
