"""The parts of a mind that plans: what is impossible, how the last plan ended, the next plan.

After the LLM with a rule-based controller of AdaSociety (Huang et al., 2024): a model chooses one
plan of a vocabulary, skills carry it out, and a monitor tells why a plan came to nothing.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from sociarium.core.decision import BadAnswer, Decision
from sociarium.core.errors import BadArgument
from sociarium.core.menu import refusal
from sociarium.core.percept import Percept
from sociarium.language.menus import Menu, MenuItem
from sociarium.language.models.budget import CapReached
from sociarium.language.models.output import OutputForm
from sociarium.language.models.repair import RUNGS, NoAnswer
from sociarium.language.models.requests import CallError
from sociarium.language.prompts import Prompt
from sociarium.language.spoken import spoken
from sociarium.players.minds.blackboard import Key, PartLink
from sociarium.players.minds.parts import CHOICE, ActPart, ChoiceReader, Part, in_words
from sociarium.players.minds.thinking import Thinking
from sociarium.players.planning.vocabulary import JOB, GoodsTable, PlanChecker

WAIT, STAY = "wait", "stay"
ENDS = {  # of skills, in words, where nothing else tells why
    "blocked": "there was no way to it, or somebody stood there",
    "invalid": "it made no sense",
    "timeout": "it took too long",
    "interrupted": "something happened to you",
}


class JobPart(Part):
    """What a player's job can carry, and what goods are worth to it; nothing in other worlds."""

    kind = "job"

    def check(self) -> None:
        """It writes one key."""
        check_writes(self, 1)
        self._goods = GoodsTable.of(self.env)

    async def think(self, thinking: Thinking) -> None:
        """Only looks."""
        job = str(thinking.percept.own.get(JOB, ""))
        known = self._goods is not None and job in self._goods.jobs
        lines = self._goods.lines(job) if self._goods is not None and known else ()
        thinking.board.write(self.table.writes[0], lines)


class HintsPart(Part):
    """What of the menu is impossible now, and why; plans with the same reason in one line.

    Reasons are those that a player can know: by what it sees, holds, remembers and was told.
    """

    kind = "hints"

    def check(self) -> None:
        """It writes one key."""
        check_writes(self, 1)
        self._checker = PlanChecker(self.env)

    async def think(self, thinking: Thinking) -> None:
        """Looks at every choice."""
        percept, why = thinking.percept, dict[str, list[str]]()
        for item in menu_of(thinking).items:
            if reason := reason_against(item, percept, self._checker):
                why.setdefault(reason, []).append(spoken(item.id))
        lines = [f"{', '.join(plans)}: {reason}" for reason, plans in why.items()]
        thinking.board.write(self.table.writes[0], tuple(lines))


class MonitorPart(Part):
    """Why the last plan came to nothing, and how the last few plans ended.

    It reads what was chosen, and why answers were refused, if they were. It writes the reason as a
    text, empty after a plan that was carried out, then, where it is asked to, the plans as lines,
    the newest last.
    """

    kind = "monitor"
    taken: ClassVar[Mapping[str, Any]] = {"most": 3}  # plans

    def check(self) -> None:
        """It writes the reason, and perhaps the plans."""
        check_writes(self, 1, 2)
        self._checker = PlanChecker(self.env)

    def key(self, name: str) -> Key[Any]:
        """The reason is a text."""
        text = name == self.table.writes[0]
        return Key(name, str if text else tuple, "" if text else (), name in self.table.keeps)

    def own_keys(self) -> tuple[Key[Any], ...]:
        """When each thing was known last, the step of the last decision, and the plans."""
        return (Key(self._record, dict, {}, kept=True),)

    @property
    def _record(self) -> str:
        return f"{self.name}_record"

    async def think(self, thinking: Thinking) -> None:
        """Compares what was chosen with what became of it."""
        percept, view = thinking.percept, thinking.view(self.table.reads)
        record = thinking.board.read(self._record)
        known, past = dict(record.get("known", {})), list(record.get("past", ()))
        plan = str(view[CHOICE]).partition(" (")[0]
        refused = "".join(str(x) for name, x in view.items() if name != CHOICE)
        failed = refused or (self._why(plan, percept, known) if plan else "")
        if plan or refused:
            end = failed or percept.status
            line = ": ".join(filter(None, (f"step {record.get('step', 0)}", plan, end)))
            past = [*past, line][-self.options["most"] :]
        seen = {thing for offer in percept.skills for thing in offer.things}
        known |= dict.fromkeys(sorted(seen), percept.step)
        reason, *plans = self.table.writes
        thinking.board.write(reason, f"{plan}: {failed}" if failed and plan else failed)
        for name in plans:
            thinking.board.write(name, tuple(past))
        told = {"known": known, "step": percept.step, "past": past}
        thinking.board.write(self._record, told)

    def _why(self, plan: str, percept: Percept, known: dict[str, int]) -> str:
        """Why a plan ended without success; nothing where it did not."""
        if percept.status not in ENDS:
            return ""
        skill, _, thing = plan.partition(" ")
        stands = self._checker.obstacle(skill, thing, percept)
        if stands is None:
            return ENDS[percept.status]
        since = known.get(stands.unknown)
        return stands.why if since is None else f"{stands.why} (last known at step {since})"


class PlanActPart(ActPart):
    """Asks for one plan; what is impossible is refused with the reason, and asked for again.

    Nobody is asked where there is one choice only, or nothing but to wait. A skill that takes a
    number of steps goes on for `steps` unless the answer says how many.
    """

    kind = "plan_act"
    taken: ClassVar[Mapping[str, Any]] = {"steps": 8}

    def check(self) -> None:
        """It may write why it got no answer."""
        if len(self.table.writes) > 1:
            raise BadArgument(f"{self.name} writes {CHOICE}, and why answers were refused")
        self._checker = PlanChecker(self.env)

    def keys(self) -> tuple[Key[Any], ...]:
        """What was chosen, and why answers were refused."""
        kept = self.table.keeps
        return (*super().keys(), *(Key(n, str, "", n in kept) for n in self.table.writes))

    @property
    def link(self) -> PartLink:
        """It writes what it chose, and why not."""
        found = super().link
        return PartLink(found.name, found.reads, (*found.writes, *self.table.writes))

    async def think(self, thinking: Thinking) -> None:
        """One plan, by rule where there is no choice, else by the model."""
        percept = thinking.percept
        if self._decides_by_rule(thinking):
            return
        readers: list[PlanReader] = []

        def reading(form: OutputForm) -> PlanReader:
            readers.append(PlanReader(form, percept, self._checker, self.options["steps"]))
            return readers[-1]

        try:
            asked = self.question(thinking, chooses=True)
            answered = await thinking.choose(asked, reading)
        except (NoAnswer, CallError, CapReached) as error:
            self._note(thinking, readers)
            self._write(thinking, "", str(error))
            raise
        self._note(thinking, readers)
        thinking.decide(answered.value)
        thinking.rung = answered.rung
        thinking.thought = readers[-1].thought
        self._write(thinking, in_words(answered.value, percept, readers[-1].reason))

    def _decides_by_rule(self, thinking: Thinking) -> bool:
        """Takes the one choice that there is; whether there is such a one."""
        menu = menu_of(thinking)
        only = only_choice(menu, thinking.percept, self._checker)
        if only is None:
            return False
        decision = menu.read({"choice": only.id})
        thinking.decide(decision)
        thinking.rung = RUNGS[0]
        thinking.note(self.name, asked=False)
        self._write(thinking, in_words(decision, thinking.percept))
        return True

    def _note(self, thinking: Thinking, readers: list["PlanReader"]) -> None:
        if readers and readers[-1].refused:
            thinking.note(self.name, refused=list(readers[-1].refused))

    def _write(self, thinking: Thinking, choice: str, refused: str = "") -> None:
        thinking.board.write(CHOICE, choice)
        for name in self.table.writes:
            thinking.board.write(name, refused)


class PlanReader(ChoiceReader):
    """Reads a plan; one that is impossible now is no answer, and `refused` has the reasons."""

    def __init__(
        self, form: OutputForm, percept: Percept, checker: PlanChecker, steps: int
    ) -> None:
        super().__init__(form, percept)
        self._checker, self._steps = checker, steps
        self.refused: dict[str, None] = {}

    def check(self, decision: Decision) -> None:
        """Raises `BadAnswer` with the reason for a plan that is impossible."""
        if why := against(decision, self.percept, self._checker):
            told = f"{in_words(decision, self.percept)} is impossible now: {why}"
            self.refused[told] = None
            raise BadAnswer(told)

    def __call__(self, answer: Any) -> Decision:
        """The decision; raises `BadAnswer` for what is none."""
        decision = super().__call__(answer)
        offer = next((one for one in self.percept.skills if one.name == decision.skill), None)
        if offer is None or offer.steps is None or decision.skill == WAIT:
            return decision
        return decision.model_copy(update={"steps": decision.steps or self._steps})


def against(decision: Decision, percept: Percept, checker: PlanChecker) -> str:
    """Why a decision cannot be followed now; nothing where it can."""
    stands = None
    if decision.skill is not None:
        stands = checker.obstacle(decision.skill, decision.thing or "", percept)
    return stands.why if stands is not None else refusal(decision, percept)


def reason_against(item: MenuItem, percept: Percept, checker: PlanChecker) -> str:
    """Why a choice of a menu is impossible now; nothing where it is not."""
    if item.needs:  # it depends on what else is given
        return ""
    return against(Decision(**item.fields), percept, checker)


def only_choice(menu: Menu, percept: Percept, checker: PlanChecker) -> MenuItem | None:
    """The choice where there is no other, or none but to wait; nothing may be written, either."""
    if menu.writes:
        return None
    possible = [item for item in menu.items if not reason_against(item, percept, checker)]
    idle = [one for one in possible if one.id in (STAY, WAIT)]
    if len(possible) == 1 or (possible and len(idle) == len(possible)):
        return possible[0]
    return None


def menu_of(thinking: Thinking) -> Menu:
    """What the player of a decision can choose."""
    prompt = thinking.asker.prompt(thinking.percepts, thinking.number)
    assert isinstance(prompt, Prompt)
    return prompt.menu


def check_writes(part: Part, *counts: int) -> None:
    """Raises unless a part writes as many keys as its kind does."""
    given = len(part.table.writes)
    if given not in counts:
        known = " or ".join(map(str, counts))
        raise BadArgument(f"{part.name} writes {known} keys; given {given}")
