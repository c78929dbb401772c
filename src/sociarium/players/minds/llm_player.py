"""A language model in a seat: it is told what is perceived, and chooses from the menu.

Its mind says how: at once, after a thought, or by parts that remember, react, plan and reflect.
"""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from sociarium.core import disk
from sociarium.core.decision import Decision, Reply
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.percept import Percept, SkillOffer
from sociarium.core.text import Json
from sociarium.language.attention import attention as read_attention
from sociarium.language.menus import MENU_KINDS, MenuKind, Vocabulary
from sociarium.language.models.budget import CapReached
from sociarium.language.models.probe_form import ProbeForm
from sociarium.language.models.repair import NoAnswer
from sociarium.language.models.requests import EMBED, CallError
from sociarium.language.models.runtime import (
    FAKE,
    DecisionCalls,
    ModelRuntime,
    PauseNeeded,
    RunCalls,
    current_runtime,
)
from sociarium.language.probes import Probe
from sociarium.language.prompts import PromptWriter
from sociarium.language.renderings import STYLES, Style
from sociarium.language.tokens import TokenCounter, count_tokens, exact_counter
from sociarium.players.archetypes import Archetypes
from sociarium.players.minds.blackboard import BEFORE
from sociarium.players.minds.embedding import EndpointEmbedder
from sociarium.players.minds.memory_stream import (
    EMBEDDERS,
    MEMORY,
    Embedder,
    MemoryStream,
    make_embedder,
)
from sociarium.players.minds.mind import make_mind
from sociarium.players.minds.mind_files import SUFFIX, read_mind
from sociarium.players.minds.templates import find_personality, part_template
from sociarium.players.minds.thinking import ACT, Asker, PartQuestion, Thinking, as_object
from sociarium.players.planning.offers import every_skill
from sociarium.players.planning.vocabulary import plan_vocabulary
from sociarium.players.protocol import HostPlayer, HostSeating, late_message

T = TypeVar("T")
MOST_COUNTED = 256  # texts whose tokens are remembered
WORDLLAMA = "wordllama"
MIND = "mind.json"  # in the folder of a player whose mind is a file
_OPTIONS = (
    *("mind", "without", "goal", "personality", "about", "style", "attention", "menu", "skills"),
    ACT,
)
PROBE = "probe"  # the prompt of comprehension probes, and where traces have their answers


class LlmPlayer:
    """A model in one seat.

    `alias` names a model of the runtime, and `roles` others for parts of its mind; `goal` is what
    it is told to aim at, `personality` what it is told it is like. `skills` says whether it may
    pursue skills, or only act; `options` are those of parts, by `PART.OPTION`. What it remembers is
    which decision is next, what its mind keeps, and how many rows its memory has.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        alias: str,
        *,
        mind: str = "zero_shot",
        without: Sequence[str] = (),
        goal: str = "",
        personality: str = "",
        about: str = "",
        style: str = "sentences",
        attention: str = "",
        menu: str = "",
        skills: bool = True,
        roles: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
        runtime: ModelRuntime | None = None,
    ) -> None:
        self.env, self.skilled, self._from_file = env, skills, mind.endswith(SUFFIX)
        self.mind = make_mind(mind, env, goal, without, options or {})
        if about and not personality:
            raise BadArgument(f"about={about} goes with a personality, as in personality=informed")
        beside = self.mind.table.beside
        self._personality = find_personality(personality, beside).told(about) if personality else ""
        self.runtime = runtime or current_runtime()
        self.aliases = self._aliases(alias, dict(roles or {}))
        self._style: Style = _among(STYLES, "style", style)
        self.menu: MenuKind = _among(MENU_KINDS, "menu", menu or self.mind.table.menu)
        attended = attention or self.mind.table.attention
        self._attention = read_attention(attended) if attended else None
        self.decision = 0  # the number of the next one
        self._kept: dict[str, Any] = {}  # by the mind
        self._memory: MemoryStream | None = None
        self._left: Path | None = None  # the file of a memory that was closed
        self._trial: int | None = None  # that the memory was last opened for
        self._earlier = 0  # steps in trials before this one, for the memory
        self._rows: int | None = None  # of a memory that is restored once it is opened
        self._open: RunCalls | None = None
        self._refused = 0  # matches that asked for this player while it sat in another
        self._unreported: Counter[str] = Counter()  # of decisions that came too late
        self._thinking: Thinking | None = None  # the decision that is being made
        self._rows_before = 0  # of the memory, when that began
        self._asked_by = self.name, self.mind.hash  # the prompts of that decision, for traces

    def _aliases(self, alias: str, roles: dict[str, str]) -> dict[str, str]:
        """Which model each role of the mind has."""
        self._embedder_name = roles.pop(EMBED, WORDLLAMA)
        known = self.mind.table.roles
        for role in roles:
            if role not in known:
                raise UnknownName("role", role, (*known, EMBED))
        models = self.runtime.models
        usual = lambda role: role if role in models.roles else ACT  # noqa: E731
        found = {role: models.for_role(usual(role), roles.get(role, alias)) for role in known}
        for one in found.values():
            self.runtime.check(one)
        if self.mind.remembers and self._embedder_name not in EMBEDDERS:
            self.runtime.check(self._embedder_name)
        return found

    @property
    def name(self) -> str:
        """What traces call its mind."""
        return self.mind.name

    async def open(self, seating: HostSeating) -> None:
        """Sits down: its prompts are made ready, and whether its models are there is checked."""
        if len(seating.seats) != 1 and not self.mind.crew:
            raise BadArgument(f"{self.mind.name} decides for one seat; given {seating.seats}")
        if self.runtime.replays and seating.clock.startswith("realtime"):
            raise BadArgument(
                "calls of a match in real time cannot be replayed, since it waits for nobody: "
                "`sociarium replay` plays its record"
            )
        if self._open is not None:
            self._refused += 1
            raise BadArgument(
                "this player sits in another match that is still open; give each match its own"
            )
        if seating.step == 0 and seating.trial == 0:
            self._begin_anew()
        self._seats, self._seat = seating.seats, seating.seats[0]
        match = json.dumps([self.env.id, *seating.identity, seating.trial])
        self._open = self.runtime.run_calls(seating.run, seating.trial, match, seating.session)
        self._open.opened()
        if seating.folder is not None and self._from_file:
            self._keep_mind(seating.folder / MIND, seating.step)
        self._prepare(seating)
        for alias in dict.fromkeys(self.aliases.values()):
            self._open.check(alias, self._seat)
        count = self._counter()
        writer = PromptWriter(
            self.env,
            style=self._style,
            attention=self._attention,
            menu=self.menu,
            skills=self._every_skill(),
            persona=self._personality,
            count=count,
        )
        run = self._open
        self._asker = Asker(
            run, self._seat, seating.identity, self.aliases, writer, count, self.mind.crew
        )
        if self.mind.remembers:
            self._embedder = self._make_embedder()
            self._open_memory(seating)

    def _begin_anew(self) -> None:
        """Forgets earlier matches."""
        if self._memory is not None:
            self._memory.close()
        self.decision, self._kept, self._unreported = 0, {}, Counter()
        self._memory = self._left = self._trial = self._rows = None
        self._earlier = 0

    def _every_skill(self) -> Sequence[SkillOffer] | Vocabulary:
        """What stands in menus that do not depend on what is possible now."""
        if self.menu == "vocabulary":
            return plan_vocabulary(self.env)
        return every_skill(self.env) if self.menu == "all" else ()

    def _keep_mind(self, file: Path, step: int) -> None:
        """Writes down a mind that is not of the package, or checks that it is still the same."""
        text = self.mind.table.model_dump_json(indent=1).encode()
        if step and file.exists() and file.read_bytes() != text:
            raise BadArgument(
                f"the mind {self.mind.table.id}, or a file beside it, has changed since this match "
                f"began ({file} is what it was); play a new match, or bring the old files back"
            )
        disk.replace(file, text)

    def _prepare(self, seating: HostSeating) -> None:
        """What a kind of its own needs before it is asked."""

    def _make_embedder(self) -> Embedder:
        assert self._open is not None
        name = self._embedder_name
        if name in EMBEDDERS:
            return make_embedder(name)
        return EndpointEmbedder(name, self._open.model(name, self._seat)[0].model)

    def _open_memory(self, seating: HostSeating) -> None:
        """Its memory, in its folder: as it was before this step, or of the trial before."""
        name, trial = self._embedder.name, seating.trial
        path = None if seating.folder is None else seating.folder / MEMORY
        left, self._left = self._left, None
        if self._memory is None and left is not None:
            self._memory = MemoryStream(left, name)
        if self._memory is not None and self._trial not in (None, trial):
            newest = self._memory.rows_number
            self._earlier = self._memory.row(newest).step + 1 if newest else 0
            if path is not None:
                path.unlink(missing_ok=True)
                self._memory.copy_to(path, newest)
        self._trial = trial
        if self._memory is not None and self._memory.path != path:
            self._memory.close()
            self._memory = None
        if self._memory is None:
            self._memory = MemoryStream(path, name)
            self._cut(self._rows or 0)
        self._rows = None

    def _cut(self, rows: int) -> None:
        """Forgets what was remembered after a snapshot."""
        assert self._memory is not None
        if rows < self._memory.rows_number:
            self._memory.truncate(rows)
        elif rows > self._memory.rows_number:
            raise BadArgument(
                f"the memory in seat {self._seat} has {self._memory.rows_number} rows; "
                f"{rows} were written: {MEMORY} is missing or another one"
            )

    def _counter(self) -> TokenCounter:
        assert self._open is not None
        file = self._open.model(self.aliases[ACT], self._seat)[0].tokenizer
        counter = exact_counter(Path(file)) if file else count_tokens
        return lru_cache(MOST_COUNTED)(counter)  # most of a prompt comes again

    async def close(self) -> None:
        """Gets up; the file of calls is whole once everybody has."""
        if self._refused:  # the match that closes is one that could not have this player
            self._refused -= 1
            return
        if self._open is not None:
            run, self._open = self._open, None
            await run.close()
        if self._memory is not None and self._memory.path is not None:
            memory, self._memory = self._memory, None
            self._rows, self._left = memory.rows_number, memory.path
            memory.close()

    def snapshot(self) -> Json:
        """Which decision is next, what the mind keeps, and how many rows are remembered."""
        found: dict[str, Any] = {"decision": self.decision}
        if self._kept:
            found["kept"] = {
                n: list(x) if isinstance(x, tuple) else x for n, x in self._kept.items()
            }
        rows = self._rows if self._memory is None else self._memory.rows_number
        if rows is not None:
            found |= {"rows": rows, "earlier": self._earlier}
        return found

    def restore(self, snapshot: Json) -> None:
        """Goes on from that decision."""
        if isinstance(snapshot, dict) and isinstance(snapshot.get("decision"), int):
            self.decision = int(str(snapshot["decision"]))
            kept, rows = snapshot.get("kept"), snapshot.get("rows")
            earlier = snapshot.get("earlier")
            self._earlier = earlier if isinstance(earlier, int) else 0
            self._kept = dict(kept) if isinstance(kept, dict) else {}
            if isinstance(rows, int) and self._memory is not None:
                self._cut(rows)
            elif isinstance(rows, int):
                self._rows = rows

    def missed(self, seats: Sequence[int]) -> None:
        """Its answer came too late, which a replay must know; it remembers nothing of it."""
        thinking, self._thinking = self._thinking, None
        if thinking is not None:
            calls = thinking.calls
            self._forget()
            why = late_message(calls.deadline)
            calls.conclude("late", why)
            self._unreported.update(_usage(calls, None))
            if not calls.traced:
                self._report(calls, "late", {}, why=why)

    def _forget(self) -> None:
        """A decision that does not count leaves nothing in the memory."""
        if self._memory is not None:
            self._cut(self._rows_before)

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """What the model chooses; where it gives no answer, why."""
        self._asked_by = self.name, self.mind.hash
        return await self._reply_of(self.mind.think, tuple(percepts), deadline)

    async def answer(
        self, percept: Percept, probe: Probe, number: int, deadline: float
    ) -> tuple[int | None, Reply]:
        """The option that the model chooses for a comprehension probe, if any, and its reply.

        Args:
            percept: What the probe is about. The model reads it as in a match, without its mind.
            probe: The question and its options.
            number: Of the question, by which its calls are recorded.
            deadline: Seconds until the answer must be there.

        """
        chosen: list[int] = []
        template = part_template(PROBE)

        async def think(thinking: Thinking) -> None:
            form = ProbeForm(probe.options)
            question = PartQuestion(ACT, template, {"lines": probe.lines()}, form=form)
            read = lambda form: lambda answer: form.read(as_object(answer))  # noqa: E731
            answered = await thinking.choose(question, read)
            chosen.append(answered.value)
            thinking.rung = answered.rung

        self.decision, self._asked_by = number, (template.name, template.hash)
        reply = await self._reply_of(think, (percept,), deadline)
        return (chosen[0] if chosen else None), reply

    async def _reply_of(
        self,
        think: Callable[[Thinking], Awaitable[None]],
        percepts: tuple[Percept, ...],
        deadline: float,
    ) -> Reply:
        """What comes of thinking, whatever fails in it."""
        thinking = self._begin(percepts, deadline)
        calls, why, failure = thinking.calls, "", ""
        try:
            calls.obey()
            await think(thinking)
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
        self._kept = thinking.board.kept
        return self._reply(thinking, failure, why)

    def _begin(self, percepts: tuple[Percept, ...], deadline: float) -> Thinking:
        assert self._open is not None
        percept = percepts[0]
        calls = self._open.decision(self._seat, self.decision, deadline)
        number, self.decision = self.decision, self.decision + 1
        calls.attributes = {"sociarium.step": percept.step, "sociarium.player": percept.name}
        memory = self._memory
        self._rows_before = 0 if memory is None else memory.rows_number
        board = self.mind.board(self._kept)
        embedder = self._embedder if self.mind.remembers else None
        self._thinking = Thinking(
            percepts, number, self._asker, calls, board, memory, embedder, self._earlier
        )
        return self._thinking

    def _reply(self, thinking: Thinking, failure: str, why: str) -> Reply:
        """The decision with what it took and what explains it."""
        assert self._open is not None
        calls, decisions, rung = thinking.calls, thinking.decisions, thinking.rung
        told = {"template": self._asked_by[0], "rung": rung, "calls": calls.usage["calls"]}
        told |= {"model": self._open.cheaper, "degraded": True} if calls.degraded else {}
        told |= {"thought": thinking.thought} if thinking.thought else {}
        told |= {"parts": thinking.parts} if thinking.parts else {}
        more = {"why": why, "thought": thinking.thought, "failure": failure}
        self._report(calls, rung, decisions, parts=thinking.parts, **more)
        usage = _usage(calls, rung) + self._unreported
        usage.update({"failed_part": sum(thinking.failed.values())} if thinking.failed else {})
        usage.update(thinking.counts)
        self._unreported = Counter()
        return Reply(decisions, dict(usage), told, failure=failure or "malformed", why=why)

    def _pause(self, calls: DecisionCalls, why: str) -> Reply:
        """The match had better wait, and a replay of it waits there, too."""
        self._forget()
        calls.conclude("paused", why)
        self._report(calls, "paused", {}, why=why)
        return Reply(pause=why)

    def _report(
        self, calls: DecisionCalls, rung: str, decisions: Mapping[int, Decision], **more: Any
    ) -> None:
        """Writes the trace of a decision, or of one for each of several seats."""
        every = {
            seat: one.model_dump(mode="json", exclude_none=True) for seat, one in decisions.items()
        }
        told = every if self.mind.crew else next(iter(every.values()), None)
        attributes = {"sociarium.template": self._asked_by[0], "sociarium.rung": rung}
        attributes |= {"sociarium.template.hash": self._asked_by[1]}
        attributes |= {f"sociarium.{name}": value for name, value in more.items() if value}
        calls.trace({**attributes, "sociarium.choice": told})


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
) -> HostPlayer:
    """The model that a seat string means: `llm:ALIAS?mind=cot&goal=cooperate&act=OTHER`.

    Every role of its mind is an option, too: `llm:big?mind=generative&reflect=small`. With
    `archetypes=near` all equal seats share answers.
    """
    from sociarium.players.minds.fake_model import FakePlayer

    if "archetypes" in options:
        return _sharing(ref, env, options)
    mind = read_mind(options.get("mind", "zero_shot"))
    roles = {n: options.pop(n) for n in tuple(options) if n in (*mind.roles, EMBED)}
    own = {n: options.pop(n) for n in tuple(options) if "." in n}
    fake = roles.get(ACT, ref) == FAKE
    known = (*_OPTIONS, *mind.roles, EMBED)
    # A fake acts, and pursues nothing unless it is to choose plans.
    plans = "yes" if options.get("menu", mind.menu) == "vocabulary" else "no"
    given = _checked(
        {"skills": plans, **options} if fake else options, (*known, "level") if fake else known
    )
    if fake:
        embeds = {EMBED: roles[EMBED]} if EMBED in roles else {}
        player: LlmPlayer = FakePlayer(env, roles=embeds, options=own, **given)
    else:
        player = LlmPlayer(env, ref, roles=roles, options=own, **given)
    if len(seats) > 1 and not player.mind.crew:
        raise BadArgument(
            f"mind={mind.id} sits in one seat, mind=dispatcher commands several; given seats "
            f"{', '.join(map(str, seats))}"
        )
    return player


def _sharing(ref: str, env: Environment[Any, Any], options: Mapping[str, str]) -> Archetypes:
    """Equal seats that share answers, whose minds remember nothing."""
    own = {name: told for name, told in options.items() if name != "archetypes"}
    make = lambda seat: make_llm(ref, env, (seat,), **{**own, "skills": "no"})  # noqa: E731
    refuse_memory(make(0))
    return Archetypes(env, options["archetypes"], make)


def refuse_memory(player: HostPlayer) -> None:
    """Refuses minds whose answer is not one for all who are in a situation."""
    assert isinstance(player, LlmPlayer)
    looks_back = any(
        read.endswith(BEFORE) for part in player.mind.parts for read in part.table.reads
    )
    if player.mind.remembers or player.mind.crew or looks_back:
        why = "commands several seats" if player.mind.crew else "remembers what it saw"
        raise BadArgument(
            f"mind={player.mind.table.id} {why}, so that its answer is not one for all who are "
            "in a situation; archetypes take minds without memory: mind=zero_shot or mind=cot"
        )


def _checked(options: Mapping[str, str], known: Sequence[str]) -> dict[str, Any]:
    for name in options:
        if name not in known:
            shown = dict.fromkeys((*known, "name", "deadline", "fallback"))
            raise UnknownName("option of llm", name, tuple(shown))
    found: dict[str, Any] = dict(options)
    if "skills" in found:
        if found["skills"] not in ("yes", "no"):
            raise BadArgument(f"skills is yes or no; given {found['skills']!r}")
        found["skills"] = found["skills"] == "yes"
    if "without" in found:  # a + in a seat string is read as a space
        found["without"] = tuple(re.split(r"[ +]", found["without"]))
    return found
