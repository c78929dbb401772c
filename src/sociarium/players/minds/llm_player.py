"""A language model in a seat: it is told what is perceived, and chooses from the menu.

The simplest minds: `zero_shot` chooses at once, `cot` thinks first, within bounds.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from sociarium.core.decision import BadAnswer, Decision, Reply
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.menu import refusal
from sociarium.core.percept import Percept
from sociarium.core.text import BadText, Json, read_json
from sociarium.language.menus import MENU_KINDS, Menu, MenuKind
from sociarium.language.models.budget import CapReached
from sociarium.language.models.config import OutputMode
from sociarium.language.models.output import LONGEST_THOUGHT, OutputForm
from sociarium.language.models.repair import NoAnswer, ask_until_valid
from sociarium.language.models.requests import (
    MESSAGE_TOKENS,
    CallAddress,
    CallError,
    ChatMessage,
    Request,
)
from sociarium.language.models.runtime import (
    FAKE,
    DecisionCalls,
    ModelRuntime,
    PauseNeeded,
    RunCalls,
    current_runtime,
)
from sociarium.language.prompts import Prompt, PromptWriter, Stability
from sociarium.language.renderings import STYLES, Style
from sociarium.language.tokens import TokenCounter, count_tokens, exact_counter
from sociarium.players.minds.templates import mind_template
from sociarium.players.planning.offers import every_skill
from sociarium.players.protocol import HostSeating

T = TypeVar("T")
ROLE = "act"
MOST_COUNTED = 256  # texts whose tokens are remembered
_OPTIONS = ("mind", "goal", "style", "menu", "skills", ROLE)


class LlmPlayer:
    """A model in one seat. What it remembers is which decision is next; the rest is perceived.

    `alias` names a model of the runtime; `goal` what it is told to aim at; `skills` whether it may
    pursue skills, or only act.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        alias: str,
        *,
        mind: str = "zero_shot",
        goal: str = "",
        style: str = "sentences",
        menu: str = "legal",
        skills: bool = True,
        runtime: ModelRuntime | None = None,
    ) -> None:
        self.env, self.template, self.skilled = env, mind_template(mind, goal), skills
        self.runtime = runtime or current_runtime()
        self.alias = self.runtime.models.for_role(ROLE, alias)
        self.runtime.check(self.alias)
        self._style: Style = _among(STYLES, "style", style)
        self._menu: MenuKind = _among(MENU_KINDS, "menu", menu)
        self.decision = 0  # the number of the next one
        self._open: RunCalls | None = None
        self._unreported: Counter[str] = Counter()  # of decisions that came too late
        self._calls: DecisionCalls | None = None  # of the decision that is being made

    async def open(self, seating: HostSeating) -> None:
        """Sits down: its prompts are made ready, and whether its model can be called is checked."""
        if len(seating.seats) != 1:
            raise BadArgument(f"{self.template.id} decides for one seat; given {seating.seats}")
        if self.runtime.replays and seating.clock.startswith("realtime"):
            raise BadArgument(
                "calls of a match in real time cannot be replayed, since it waits for nobody: "
                "`sociarium replay` plays its record"
            )
        self._seat, self._identity = seating.seats[0], seating.identity
        match = json.dumps([self.env.id, *seating.identity, seating.trial])
        self._open = self.runtime.run_calls(seating.run, seating.trial, match, seating.session)
        self._open.opened()
        self._prepare(seating)
        self._open.check(self.alias, self._seat)
        self._count = self._counter()
        self._instructions = self.template.instructions(thought=LONGEST_THOUGHT)
        offers = every_skill(self.env) if self._menu == "all" else ()
        self._writer = PromptWriter(
            self.env,
            style=self._style,
            menu=self._menu,
            skills=offers,
            count=self._count,
        )

    def _prepare(self, seating: HostSeating) -> None:
        """What a kind of its own needs before it is asked."""

    def _counter(self) -> TokenCounter:
        assert self._open is not None
        file = self._open.model(self.alias, self._seat)[0].tokenizer
        counter = exact_counter(Path(file)) if file else count_tokens
        return lru_cache(MOST_COUNTED)(counter)  # most of a prompt comes again

    async def close(self) -> None:
        """Gets up; the file of calls is whole once everybody has."""
        if self._open is not None:
            run, self._open = self._open, None
            await run.close()

    def snapshot(self) -> Json:
        """Which decision is next."""
        return {"decision": self.decision}

    def restore(self, snapshot: Json) -> None:
        """Goes on from that decision."""
        if isinstance(snapshot, dict) and isinstance(snapshot.get("decision"), int):
            self.decision = int(str(snapshot["decision"]))

    def missed(self, seats: Sequence[int]) -> None:
        """Its answer came too late, which a replay must know."""
        calls, self._calls = self._calls, None
        if calls is not None:
            calls.conclude("late")
            self._unreported.update(_usage(calls, None))
            if not calls.traced:
                self._report(calls, "late", None)

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """What the model chooses; where it gives no answer, why."""
        (percept,) = percepts
        assert self._open is not None
        calls = self._calls = self._open.decision(percept.seat, self.decision)
        number, self.decision = self.decision, self.decision + 1
        calls.attributes = {"sociarium.step": percept.step, "sociarium.player": percept.name}
        request, form = self.request(percept, number)
        calls.redraft = lambda alias: self.request(percept, number, alias)[0]
        read = Reader(form, percept)
        failure, why, rung, decision = "", "", "fallback", None
        try:
            calls.obey()
            minimal = lambda asked: _minimal(asked, form)  # noqa: E731
            answered = await ask_until_valid(calls.call, request, read, minimal)
            decision, rung = answered.value, answered.rung
        except PauseNeeded as pause:
            return self._pause(calls, str(pause))
        except CapReached as cap:
            if self.runtime.at_cap != "rules":
                return self._pause(calls, f"the budget is used up: {cap}")
            calls.conclude("capped", str(cap))
            failure, why = "capped", str(cap)
        except CallError as error:
            failure, why = "unanswered", str(error)
        except NoAnswer as error:
            failure, why = "malformed", str(error)
        told = {"template": self.template.name, "rung": rung, "calls": calls.usage["calls"]}
        told |= {"model": self._open.cheaper, "degraded": True} if calls.degraded else {}
        told |= {"thought": read.thought} if read.thought else {}
        self._report(calls, rung, decision, why=why, thought=read.thought, failure=failure)
        usage = _usage(calls, rung) + self._unreported
        self._unreported = Counter()
        decisions = {} if decision is None else {percept.seat: decision}
        return Reply(decisions, dict(usage), told, failure=failure or "malformed", why=why)

    def _pause(self, calls: DecisionCalls, why: str) -> Reply:
        """The match had better wait, and a replay of it waits there, too."""
        calls.conclude("paused", why)
        self._report(calls, "paused", None, why=why)
        return Reply(pause=why)

    def request(self, percept: Percept, number: int, alias: str = "") -> tuple[Request, OutputForm]:
        """What is asked for a percept, of this model or another, and the form of the answer."""
        assert self._open is not None
        alias = alias or self.alias
        config, _ = self._open.model(alias, percept.seat)
        address = CallAddress(percept.seat, number, ROLE)
        drawn = hashlib.sha256(address.hash(*self._identity).encode()).hexdigest()
        prompt = self._writer.write(percept, mark=f"<<{drawn[:8]}>>")
        spoken_to = bool(percept.messages) and "say" in prompt.menu.writes
        form = OutputForm(prompt.menu, self.template.answer[:-1], spoken_to)
        messages = self._messages(percept, prompt, form, config.structured)
        counts = sum(section.tokens for section in prompt.sections)
        counts += self._count(messages[0].parts[0]) + self._count(messages[1].parts[-1])
        return Request(
            address=address,
            alias=alias,
            model=config.model,
            messages=messages,
            mode=config.structured,
            schema=form.schema(config.structured),
            max_tokens=form.most_tokens,
            temperature=config.temperature,
            seed=int(drawn[8:16], 16) >> 1,
            prompt_tokens=counts + MESSAGE_TOKENS * len(messages),
            sections=prompt.sections,
            percept=percept,
            menu=prompt.menu,
        ), form

    def _messages(
        self, percept: Percept, prompt: Prompt, form: OutputForm, mode: OutputMode
    ) -> tuple[ChatMessage, ...]:
        """The most stable first: instructions and rules, then what changes, then the question."""
        laid_out = {s.name: f"\n\n{s.heading}\n{s.text}" for s in prompt.sections}
        stable = [s.name for s in prompt.sections if s.stability == Stability.WORLD]
        rest = [text for name, text in laid_out.items() if name not in stable]
        question = self.template.ask(name=percept.name, form=form.words(mode))
        return (
            ChatMessage("system", (self._instructions, *(laid_out[name] for name in stable))),
            ChatMessage("user", (rest[0].lstrip("\n"), *rest[1:], f"\n\n{question}")),
        )

    def _report(
        self, calls: DecisionCalls, rung: str, decision: Decision | None, **more: str
    ) -> None:
        """Writes the trace of a decision."""
        told = decision and decision.model_dump(mode="json", exclude_none=True)
        attributes = {"sociarium.template": self.template.name, "sociarium.rung": rung}
        attributes |= {"sociarium.template.hash": self.template.hash}
        attributes |= {f"sociarium.{name}": value for name, value in more.items() if value}
        calls.trace({**attributes, "sociarium.choice": told})


class Reader:
    """Reads a model's answer by its form; the decision must keep to what the percept offers."""

    def __init__(self, form: OutputForm, percept: Percept) -> None:
        self.form, self.percept, self.thought = form, percept, ""

    def __call__(self, answer: Any) -> Decision:
        """The decision; raises `BadAnswer` for what is none."""
        menu: Menu = self.form.menu
        if isinstance(answer, str) and answer.strip().startswith("{"):
            try:
                answer = read_json(answer.strip().encode())
            except (BadText, UnicodeEncodeError) as error:
                raise BadAnswer(f"the answer {error}") from None
        elif isinstance(answer, str):
            answer = {"choice": answer.strip()}
        if not isinstance(answer, Mapping):
            raise BadAnswer("the answer is no JSON object")
        fields = {name: x for name, x in answer.items() if name not in self.form.before}
        decision = menu.read(fields, lenient=True)
        if wrong := refusal(decision, self.percept):
            raise BadAnswer(wrong)
        thought = answer.get("thought", "")
        self.thought = thought if isinstance(thought, str) else ""
        return decision


def _minimal(request: Request, form: OutputForm) -> Request:
    return replace(request, schema=form.minimal(request.mode))


def _usage(calls: DecisionCalls, rung: str | None) -> Counter[str]:
    """What a decision used, and what went wrong, as numbers by name."""
    usage: Counter[str] = Counter(calls.usage)
    if calls.cost:
        usage["money"] = calls.cost  # pyright: ignore[reportArgumentType]
    usage.update({f"failed_{kind}": count for kind, count in calls.failures.items()})
    if rung is not None:
        usage[f"rung_{rung}"] += 1
    if calls.degraded:
        usage["degraded"] += 1
    return usage


def _among(known: Sequence[T], what: str, given: str) -> T:
    """The known word that is given."""
    for word in known:
        if word == given:
            return word
    raise UnknownName(what, given, tuple(map(str, known)))


def make_llm(
    ref: str, env: Environment[Any, Any], seats: tuple[int, ...], **options: str
) -> LlmPlayer:
    """The model that a seat string means: `llm:ALIAS?mind=cot&goal=cooperate&act=OTHER`."""
    from sociarium.players.minds.fake_model import FakePlayer

    if len(seats) > 1:
        raise BadArgument(f"a model sits in one seat; given {', '.join(map(str, seats))}")
    alias = options.pop(ROLE, ref)
    if alias == FAKE:
        return FakePlayer(env, **_checked({**_FAKE, **options}, (*_OPTIONS, "level")))
    return LlmPlayer(env, alias, **_checked(options, _OPTIONS))


_FAKE = {"skills": "no"}  # it acts, and pursues nothing


def _checked(options: Mapping[str, str], known: Sequence[str]) -> dict[str, Any]:
    for name in options:
        if name not in known:
            raise UnknownName("option of llm", name, (*known, "name", "deadline", "fallback"))
    found: dict[str, Any] = dict(options)
    if "skills" in found:
        if found["skills"] not in ("yes", "no"):
            raise BadArgument(f"skills is yes or no; given {found['skills']!r}")
        found["skills"] = found["skills"] == "yes"
    return found
