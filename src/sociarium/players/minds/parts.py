"""The parts of a mind that ask a model: for fields of their own, or for the choice itself."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sociarium.core.decision import BadAnswer, Decision
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.menu import refusal
from sociarium.core.percept import Percept
from sociarium.language.models.output import OutputForm
from sociarium.players.minds.blackboard import Key, PartLink
from sociarium.players.minds.mind_files import PartTable
from sociarium.players.minds.templates import PartTemplate, part_template
from sociarium.players.minds.thinking import PERCEPT, PartQuestion, Thinking, as_object
from sociarium.players.minds.triggers import check_rule, holds, key_of

CHOICE = "choice"  # what was chosen, which every mind keeps
_GIVEN_TO_QUESTIONS = ("name", "form")


class Part:
    """Something that works once in a decision, when its rules say so.

    A kind of your own derives from this: it has a `kind`, takes the options of `taken`, and writes
    to the blackboard in `think`.
    """

    kind: ClassVar[str]
    taken: ClassVar[Mapping[str, Any]] = {}  # options and what they are unless given
    asks: ClassVar[bool] = False  # whether it needs a template
    remembers: ClassVar[bool] = False  # whether it needs the memory
    crew: ClassVar[bool] = False  # whether it commands several players
    unread: ClassVar[tuple[str, ...]] = ()  # what it writes that nobody needs to read

    def __init__(self, table: PartTable, env: Environment[Any, Any], goal: str = "") -> None:
        self.table, self.env = table, env
        for rule in (*table.when, *table.unless):
            check_rule(rule, table.name)
        self.options = {**self.taken, **self._checked_options()}
        if table.template and not self.asks:
            raise BadArgument(f"{table.name} asks nobody, so it has no template")
        self.prompts = self.templates(table, goal)
        if self.asks:
            self._check_template(self.prompts[0])
        self.check()

    @classmethod
    def templates(cls, table: PartTable, goal: str = "") -> tuple[PartTemplate, ...]:
        """What it asks by, the first of which may name what it reads."""
        named = table.template or table.name
        return (part_template(named, goal, table.beside),) if cls.asks else ()

    def check(self) -> None:
        """What a kind of its own wants of its table."""

    def _checked_options(self) -> dict[str, Any]:
        for name, given in self.table.options.items():
            if name not in self.taken:
                known = ", ".join(self.taken) or "none"
                raise BadArgument(f"{self.table.name} has the option {name}; it takes {known}")
            usual = self.taken[name]
            number = isinstance(usual, float) and isinstance(given, int)
            if not isinstance(given, type(usual)) and not number:
                raise BadArgument(f"{name} of {self.table.name} is like {usual!r}; given {given!r}")
        return dict(self.table.options)

    def _check_template(self, template: PartTemplate) -> None:
        """Templates see what their part reads, and nothing else."""
        reads = {one.removesuffix(":before") for one in self.table.reads}
        known = {*reads, *template.optional, *self.more_values, *_GIVEN_TO_QUESTIONS}
        if unread := sorted(template.asks_for - {"thought"} - known):
            raise BadArgument(
                f"the template {template.name} names {unread[0]}, which {self.table.name} does "
                f"not read; it reads {', '.join(sorted(reads)) or 'nothing'}"
            )
        shown = {PERCEPT, *self.used_in_code}.union(*(one.asks_for for one in self.prompts))
        if unused := sorted(reads - shown):
            raise BadArgument(
                f"{self.table.name} reads {unused[0]}, but its template {template.name} does not "
                f"name it: write {{{{ {unused[0]} }}}} into a template of your own, or take it out "
                "of `reads`"
            )

    @property
    def used_in_code(self) -> tuple[str, ...]:
        """What it reads that need not be in its template."""
        return ()

    @property
    def more_values(self) -> tuple[str, ...]:
        """Values that its template may name besides what it reads."""
        return ()

    @property
    def name(self) -> str:
        """What it is called in its mind."""
        return self.table.name

    @property
    def link(self) -> PartLink:
        """What it reads and writes, rules included."""
        keyed = [key_of(rule) for rule in (*self.table.when, *self.table.unless)]
        own = {one.removesuffix(":before"): one for one in self.table.reads}
        more = [key for key in dict.fromkeys(keyed) if key and key not in own]
        return PartLink(self.name, (*self.table.reads, *more), self.table.writes)

    def keys(self) -> tuple[Key[Any], ...]:
        """What it writes, with types."""
        return tuple(self.key(name) for name in self.table.writes)

    def own_keys(self) -> tuple[Key[Any], ...]:
        """What it keeps for itself from one decision to the next."""
        return ()

    def key(self, name: str) -> Key[Any]:
        """One of its keys; lines of text unless the kind says otherwise."""
        return Key(name, tuple, (), name in self.table.keeps)

    def works(self, thinking: Thinking) -> bool:
        """Whether it is time."""
        view = thinking.view(self.link.reads)
        percept, table = thinking.percept, self.table
        if any(holds(rule, percept, view) for rule in table.unless):
            return False
        return not table.when or any(holds(rule, percept, view) for rule in table.when)

    async def think(self, thinking: Thinking) -> None:
        """Works: reads, perhaps asks, and writes."""
        raise NotImplementedError

    def question(self, thinking: Thinking, *, chooses: bool = False, **more: Any) -> PartQuestion:
        """What it asks by its template."""
        return PartQuestion(
            role=self.table.asks,
            template=self.prompts[0],
            values={**thinking.view(self.table.reads), **more},
            fields=self.table.answer,
            sees=any(one == PERCEPT for one in self.table.reads),
            chooses=chooses,
            temperature=self.table.temperature,
        )


class AskPart(Part):
    """Asks a model for some fields, and writes those that are keys."""

    kind, asks = "ask", True

    def check(self) -> None:
        """Every key is a field of the answer."""
        if unknown := set(self.table.writes) - {one.name for one in self.table.answer}:
            raise BadArgument(f"{self.name} writes {unknown.pop()}, for which it does not ask")
        if not self.table.answer:
            raise BadArgument(f"{self.name} asks for nothing: give it an answer")

    def key(self, name: str) -> Key[Any]:
        """A text, several, or whether something is so."""
        field = next(one for one in self.table.answer if one.name == name)
        return Key(name, type(field.empty), field.empty, name in self.table.keeps)

    async def think(self, thinking: Thinking) -> None:
        """One call; without an answer in the form what stood there still stands."""
        answer = await thinking.ask(self.name, self.question(thinking))
        if answer is not None:
            for name in self.table.writes:
                thinking.board.write(name, answer[name])


class ActPart(Part):
    """Asks a model for the choice; what it thinks before comes first in the answer."""

    kind, asks = "act", True
    unread = (CHOICE,)

    def keys(self) -> tuple[Key[Any], ...]:
        """What was chosen, in words."""
        return (Key(CHOICE, str, "", kept=True),)

    @property
    def link(self) -> PartLink:
        """It writes what it chose."""
        found = super().link
        return PartLink(found.name, found.reads, (CHOICE,))

    def check(self) -> None:
        """It writes its choice alone."""
        if self.table.writes:
            raise BadArgument(f"{self.name} writes {CHOICE}, and nothing else")

    async def think(self, thinking: Thinking) -> None:
        """One decision, which keeps to what the percept offers."""
        readers: list[ChoiceReader] = []

        def reading(form: OutputForm) -> ChoiceReader:
            readers.append(ChoiceReader(form, thinking.percept))
            return readers[-1]

        answered = await thinking.choose(self.question(thinking, chooses=True), reading)
        reader = readers[-1]
        thinking.decide(answered.value)
        thinking.rung = answered.rung
        thinking.thought = reader.thought
        if self.table.answer and self.table.answer[0].name != "thought":
            thinking.note(self.name, **reader.before)
        thinking.board.write(CHOICE, in_words(answered.value, thinking.percept, reader.reason))


class ChoiceReader:
    """Reads a model's answer by its form; the decision must keep to what the percept offers."""

    def __init__(self, form: OutputForm, percept: Percept) -> None:
        self.form, self.percept = form, percept
        self.before: dict[str, Any] = {}

    @property
    def thought(self) -> str:
        """What it thought."""
        return str(self.before.get("thought", ""))

    @property
    def reason(self) -> str:
        """The last that it thought before it chose."""
        texts = [one for one in self.before.values() if isinstance(one, str) and one]
        return texts[-1] if texts else ""

    def __call__(self, answer: Any) -> Decision:
        """The decision; raises `BadAnswer` for what is none."""
        answer = as_object(answer)
        names = {one.name for one in self.form.before}
        fields = {name: x for name, x in answer.items() if name not in names}
        decision = self.form.menu.read(fields, lenient=True)
        self.check(decision)
        self.before = {}
        for one in self.form.before:
            try:
                self.before[one.name] = one.read(answer[one.name])
            except (BadAnswer, KeyError):
                continue  # a choice without its thoughts is a choice
        return decision

    def check(self, decision: Decision) -> None:
        """Raises `BadAnswer` for what is not possible now."""
        if wrong := refusal(decision, self.percept):
            raise BadAnswer(wrong)


def commands_in_words(decisions: Mapping[int, Decision], percepts: Sequence[Percept]) -> str:
    """What each player was told to do."""
    return "; ".join(f"{one.name}: {in_words(decisions[one.seat], one)}" for one in percepts)


def in_words(decision: Decision, percept: Percept, reason: str = "") -> str:
    """What was chosen, and why, for the next decision."""
    if decision.skill is None:
        told = decision.action or "stay"
    else:
        names = {"player": lambda seat: percept.names[seat] if percept.names else f"seat {seat}"}
        given = [str(names.get(name, str)(value)) for name, value in decision.arguments.items()]
        told = " ".join([decision.skill, *given])
    return f"{told} ({reason})" if reason else told
