"""The parts of a mind that works with a partner: what stands around, what the partner will do.

After ProAgent (Zhang et al., 2024): a model is asked for one skill after another, its choice is
verified before it is followed, and what it expected of its partner is held against what it did.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from sociarium.charters.society import Society
from sociarium.core.decision import Decision
from sociarium.core.errors import BadArgument
from sociarium.core.menu import refusal
from sociarium.core.percept import Percept, SeenEvent
from sociarium.language.models.budget import CapReached
from sociarium.language.models.output import OutputForm
from sociarium.language.models.repair import NoAnswer
from sociarium.language.models.requests import CallError
from sociarium.language.spoken import spoken
from sociarium.players.minds.blackboard import Key
from sociarium.players.minds.crew_parts import AdvisePart, family_of, told_text
from sociarium.players.minds.parts import CHOICE, ActPart, Part, in_words
from sociarium.players.minds.plan_parts import (
    PlanActPart,
    PlanReader,
    check_writes,
    menu_of,
    reason_against,
)
from sociarium.players.minds.thinking import Thinking, as_object
from sociarium.players.planning.surroundings import Fixture, Surroundings, SurroundingsReader
from sociarium.players.planning.vocabulary import PlanChecker

OBSTACLES = "obstacles"  # why choices are impossible
INTENTION = "intention"  # what one expects of one's partner
ANY_VALUE = "any"  # of an event
CORRECTIONS = ("replace", "mark", "none")


class LibraryPart(AdvisePart):
    """What stands in a file about a family of worlds: advice, skills, and a worked example.

    Skills are told if they stand in the menu. Of the examples it tells those for kitchens whose
    stations are `together`, or `apart`, so that one player cannot come to all of them.
    """

    kind = "library"
    taken: ClassVar[Mapping[str, Any]] = {"file": "knowledge"}

    def check(self) -> None:
        """The text is read once."""
        super().check()
        self._table = told_text(self.options["file"]).get(family_of(self.env), {})
        self._reader = SurroundingsReader(self.env)

    def lines(self, table: Mapping[str, Any]) -> Sequence[str]:
        """Advice that holds in all worlds of the family."""
        return table.get(family_of(self.env), {}).get("advice", ())

    async def think(self, thinking: Thinking) -> None:
        """Tells it."""
        around = self._reader.read(thinking.percept)
        lines = [*self._lines]
        if around is not None and self._lines:
            offered = {str(one.fields.get("skill", "")) for one in menu_of(thinking).items}
            skills = self._table.get("skills", {})
            lines += [f"{spoken(name)}: {text}" for name, text in skills.items() if name in offered]
            lines += self._table.get("apart" if around.apart else "together", ())
        thinking.board.write(self.table.writes[0], tuple(lines))


class SurroundingsPart(Part):
    """What oneself and others hold, and what is on and in everything around, in short lines.

    It tells no places, only what is out of reach. It writes nothing where nobody has hands.
    """

    kind = "surroundings"

    def check(self) -> None:
        """It writes one key."""
        check_writes(self, 1)
        self._reader = SurroundingsReader(self.env)

    async def think(self, thinking: Thinking) -> None:
        """Only looks."""
        thinking.board.write(self.table.writes[0], self.lines(thinking.percept))

    def lines(self, percept: Percept) -> tuple[str, ...]:
        """What is told of a percept."""
        around = self._reader.read(percept)
        return () if around is None else tuple(self._lines(around))

    def _lines(self, around: Surroundings) -> Iterator[str]:
        """Hands, stations, then what lies about."""
        yield f"You hold {around.holds or 'nothing'}."
        yield from (f"{name} holds {held or 'nothing'}." for name, held in around.others.items())
        vessels, others = dict[str, list[str]](), dict[str, None]()
        for one in around.stations:
            if self._reader.holds_things(one.station) or one.inside or one.work:
                vessels.setdefault(one.station, []).append(_inside(one))
            else:
                others[f"{one.station}{_reach(one)}"] = None
        for name, told in vessels.items():
            for number, text in enumerate(told, 1):
                yield f"{name} {number}: {text}." if len(told) > 1 else f"{name}: {text}."
        if others:
            yield f"There is: {', '.join(others)}."
        lying = [f"{one.item}{_reach(one)}" for one in around.surfaces if one.item]
        if lying:
            yield f"On counters: {', '.join(lying)}."
        if around.apart:
            shared = sum(1 for one in around.surfaces if one.mine and one.theirs and not one.item)
            yield f"Free counters that you and others reach: {shared}."


def _inside(one: Fixture) -> str:
    """What is inside a station, whether it is at work, and whether one can come to it."""
    return ", ".join(filter(None, (one.inside or "empty", one.work))) + _reach(one)


def _reach(one: Fixture) -> str:
    return "" if one.mine else " (out of your reach)"


class BeliefPart(Part):
    """What was expected of partners, held against what they were seen to do.

    What they did are the events that the player noticed, in the words of skills, by a table. The
    `correction` says what becomes of an expectation: it is `replace`d by what was done, it stays
    and gets a `mark` whether it was right, or with `none` both are told as they are.
    """

    kind = "belief"
    taken: ClassVar[Mapping[str, Any]] = {
        "correction": "replace",
        "file": "behaviours",
        "most": 3,  # expectations, the newest
    }

    def check(self) -> None:
        """It reads what was expected, and writes what is told of it."""
        check_writes(self, 1)
        if self.table.reads != (f"{INTENTION}:before",):
            raise BadArgument(f"{self.name} reads {INTENTION}:before, and nothing else")
        if self.options["correction"] not in CORRECTIONS:
            given, known = self.options["correction"], ", ".join(CORRECTIONS)
            raise BadArgument(f"correction of {self.name} is one of {known}; given {given!r}")
        self._behaviours = Behaviours(self.env, self.options["file"])

    def own_keys(self) -> tuple[Key[Any], ...]:
        """Steps with what was expected and what was done, the newest last; and the last step."""
        return (
            Key(f"{self.name}_past", tuple, (), kept=True),
            Key(f"{self.name}_step", int, 0, kept=True),
        )

    async def think(self, thinking: Thinking) -> None:
        """Adds what partners did since the last decision."""
        board, percept = thinking.board, thinking.percept
        expected = str(thinking.view(self.table.reads)[INTENTION])
        done = self._behaviours.of(percept)
        past = [*board.read(f"{self.name}_past")]
        if expected or done:
            past.append((board.read(f"{self.name}_step"), expected, done))
        past = past[-self.options["most"] :]
        lines = (self._line(step, told, seen) for step, told, seen in past)
        board.write(self.table.writes[0], tuple(lines))
        board.write(f"{self.name}_past", tuple(past))
        board.write(f"{self.name}_step", percept.step)

    def _line(self, step: int, expected: str, done: Sequence[str]) -> str:
        """One expectation after its correction."""
        did = "; ".join(done) or "nothing that you saw"
        correction = self.options["correction"]
        if not expected or (correction == "replace" and done):
            return f"Since step {step} they did: {did}."
        told = f"At step {step} you expected: {expected.rstrip('.')}."
        if correction == "mark" and done:
            right = any(same_behaviour(expected, one) for one in done)
            return f"{told} {'Right' if right else 'Wrong'}: {did}."
        return told if correction == "replace" else f"{told} They did: {did}."


class Behaviours:
    """Which skill of a partner each event shows, by the table of a world's family."""

    def __init__(self, env: Any, file: str) -> None:
        self._table: Mapping[str, Any] = told_text(file).get(family_of(env), {})
        world = env.world if isinstance(env, Society) else env
        self._values = {one.name: one.values for one in world.event_specs}
        if unknown := sorted(set(self._table) - set(self._values)):
            known = ", ".join(self._values)
            raise BadArgument(f"{file} has {unknown[0]}, which is no event; events are {known}")

    @property
    def shown(self) -> tuple[str, ...]:
        """The events that show a skill."""
        return tuple(self._table)

    def of(self, percept: Percept) -> tuple[str, ...]:
        """What others were seen to do, one after the other, each with its name."""
        found = []
        for one in percept.events:
            skill = self._skill(one)
            if skill and one.actor is not None and one.actor != percept.seat:
                known = one.actor < len(percept.names)
                name = percept.names[one.actor] if known else f"seat {one.actor}"
                found.append(f"{name}: {spoken(skill)}")
        return tuple(found)

    def _skill(self, event: SeenEvent) -> str:
        shown = self._table.get(event.kind, {})
        values, number = self._values.get(event.kind) or (), int(event.value)
        value = values[number] if 0 <= number < len(values) else ""
        return str(shown.get(value, shown.get(ANY_VALUE, "")))


def same_behaviour(expected: str, done: str) -> bool:
    """Whether an expectation names the skill that was then seen, as in `player 1: fetch a dish`."""
    skill = done.rpartition(": ")[2]
    return skill.casefold() in spoken(expected).casefold()


class VerifyPart(Part):
    """Why each choice of the menu is impossible now, by its name: the act that reads it verifies.

    Reasons are those that a player can know, by what it perceives.
    """

    kind = "verify"

    def check(self) -> None:
        """It writes one key."""
        check_writes(self, 1)
        self._checker = PlanChecker(self.env)

    async def think(self, thinking: Thinking) -> None:
        """Looks at every choice."""
        reasons = {
            item.id: reason_against(item, thinking.percept, self._checker)
            for item in menu_of(thinking).items
        }
        told = tuple((name, why) for name, why in reasons.items() if why)
        thinking.board.write(self.table.writes[0], told)


class SkillActPart(PlanActPart):
    """Asks for one skill, verifies it, and asks again with an explanation if it is impossible.

    After `retry` more choices that are impossible it waits for a step. It verifies by the
    `obstacles` that it reads; without them it waits when it chose in vain, and nobody tells it why.
    Fields of its answer that it writes become keys; another key is why choices were refused.
    """

    kind = "skill_act"
    taken: ClassVar[Mapping[str, Any]] = {"retry": 3, "steps": 8}

    @property
    def used_in_code(self) -> tuple[str, ...]:
        """Why choices are impossible, which is told when one of them was chosen."""
        return (OBSTACLES,)

    def check(self) -> None:
        """It may write fields of its answer, and one text more."""
        self._fields = {one.name: one for one in self.table.answer if one.name in self.table.writes}
        if len(self.table.writes) - len(self._fields) > 1:
            raise BadArgument(
                f"{self.name} writes fields of its answer, and why choices were refused; given "
                f"{', '.join(self.table.writes)}"
            )
        self._checker = PlanChecker(self.env)

    def key(self, name: str) -> Key[Any]:
        """A text, but for fields that are none."""
        empty = self._fields[name].empty if name in self._fields else ""
        return Key(name, type(empty), empty, name in self.table.keeps)

    def keys(self) -> tuple[Key[Any], ...]:
        """What was chosen, and whatever else it writes."""
        return (*ActPart.keys(self), *(self.key(name) for name in self.table.writes))

    @property
    def more_values(self) -> tuple[str, ...]:
        """Why choices were refused, where it is asked again."""
        return ("again",)

    async def think(self, thinking: Thinking) -> None:
        """One skill, or some that are refused and then a step of waiting."""
        verifies = OBSTACLES in self.table.reads
        if verifies and self._decides_by_rule(thinking):
            return
        refused, tries = list[str](), 1 + self.options["retry"] * verifies
        reader, decision = None, Decision()
        while len(refused) < tries:
            reader = await self._asked(thinking, tuple(refused))
            why = self._why_not(reader, thinking)
            if not why:
                decision = reader.decision
                break
            chosen = in_words(reader.decision, thinking.percept)
            refused.append(f"{spoken(chosen)} is impossible now: {why}")
        assert reader is not None
        thinking.decide(decision)
        thinking.counts["skills_refused"] += len(refused)
        if refused:
            thinking.note(self.name, refused=refused)
        if len(refused) < tries:
            return self._write(thinking, reader.words, before=reader.before)
        thinking.counts["skills_given_up"] += 1
        return self._write(thinking, "", refused[-1], reader.before)

    async def _asked(self, thinking: Thinking, again: tuple[str, ...]) -> "SkillReader":
        """What a model chose, possible or not."""
        readers: list[SkillReader] = []

        def reading(form: OutputForm) -> SkillReader:
            steps = self.options["steps"]
            readers.append(SkillReader(form, thinking.percept, self._checker, steps))
            return readers[-1]

        question = self.question(thinking, chooses=True, again=again)
        try:
            answered = await thinking.choose(question, reading)
        except (NoAnswer, CallError, CapReached) as error:
            self._write(thinking, "", str(error))
            raise
        thinking.rung, reader = answered.rung, readers[-1]
        thinking.thought = reader.thought
        reader.decision = answered.value
        if reader.before and not reader.thought:
            thinking.note(self.name, **reader.before)
        return reader

    def _why_not(self, reader: "SkillReader", thinking: Thinking) -> str:
        """What stands against a choice; nothing where it can be followed."""
        verifies = OBSTACLES in self.table.reads
        reasons = dict(thinking.view(self.table.reads)[OBSTACLES]) if verifies else {}
        return reasons.get(reader.chosen, "") or refusal(reader.decision, thinking.percept)

    def _write(
        self,
        thinking: Thinking,
        choice: str,
        refused: str = "",
        before: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """What was chosen, the fields of the answer, and why nothing was chosen."""
        thinking.board.write(CHOICE, choice)
        for name in self.table.writes:
            told = before.get(name, self.key(name).nothing) if name in self._fields else refused
            thinking.board.write(name, told)


class SkillReader(PlanReader):
    """Reads a skill as it was chosen; whoever asked verifies it afterwards."""

    decision = Decision()
    chosen = ""  # what the menu calls it

    def __call__(self, answer: Any) -> Decision:
        """The decision; raises `BadAnswer` for what is none."""
        self.decision = super().__call__(answer)
        item = self.form.menu.find(as_object(answer).get("choice"))
        self.chosen = "" if item is None else item.id
        return self.decision

    def check(self, decision: Decision) -> None:
        """Nothing is refused here."""

    @property
    def words(self) -> str:
        """What was chosen, and what was thought first."""
        thoughts = [one for one in self.before.values() if isinstance(one, str)]
        return in_words(self.decision, self.percept, "".join(thoughts[:1]))
