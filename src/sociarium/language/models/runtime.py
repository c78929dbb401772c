"""The path of a call: replayed, or reserved, limited, made, retried, settled; recorded and traced.

A `ModelRuntime` says which models there are, how calls are kept and what they may cost. Each match
has its `RunCalls`, which all its seats share, and each decision its `DecisionCalls`.
"""

import asyncio
import math
import random
import time
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import ValidationError

from sociarium.core.errors import BadArgument, SociariumError, printable
from sociarium.language.models.budget import AT_CAP, CHEAPER, AtCap, Budget, CapReached, Caps
from sociarium.language.models.config import ModelConfig, Models, find_models
from sociarium.language.models.limiter import Limiter, MustWait, RateLimiter, limiter_of
from sociarium.language.models.openai_model import OpenAIModel, import_openai
from sociarium.language.models.requests import (
    FATAL,
    RETRIED,
    UNCHARGED,
    CallAddress,
    CallError,
    Completion,
    Request,
)
from sociarium.language.models.store import (
    CALLS,
    CallReplay,
    CallStore,
    DamagedCalls,
    DecisionOutcome,
    MissingCall,
    ReplayMismatch,
)
from sociarium.language.models.tracing import Tracer, call_attributes

MOST_TRIES = 4  # of one call that fails in a way that may pass
FAKE = "fake"  # the alias of models that play by scripts
BACKOFF = 0.5, 30.0  # seconds: of the first wait, and the longest
AFTER_OTHERS = 2  # rounds of the event loop: whoever got our slot asks before we look at the answer
BREAKER = 10  # calls in a row that failed, after which a match pauses


@runtime_checkable
class LanguageModel(Protocol):
    """Answers requests; `OpenAIModel`, `FunctionModel` and fake models do."""

    async def complete(self, request: Request) -> Completion:
        """The answer; raises `CallError`."""
        ...


class PauseNeeded(Exception):
    """A match cannot go on now; the text says why."""


@dataclass(frozen=True)
class ModelRuntime:
    """Which models there are, how calls are kept, and what they may cost.

    `calls` is live, record, or replay:FILE; `budget` is written as `Caps.read` says. A replay that
    `asks_fakes` refuses recorded answers of fake models that differ from what they answer now, and
    reads nothing about fake models from the file.
    """

    models: Models = field(default_factory=find_models)
    calls: str = "live"
    budget: str = ""
    at_cap: AtCap = "pause"
    given: Mapping[str, LanguageModel] = field(default_factory=dict)  # by alias, instead of servers
    asks_fakes: bool = False

    def __post_init__(self) -> None:
        if self.calls not in ("live", "record") and not self.calls.startswith("replay:"):
            raise BadArgument(f"calls is live, record or replay:FILE; given {self.calls!r}")
        if self.at_cap not in AT_CAP:
            raise BadArgument(f"at_cap is one of {', '.join(AT_CAP)}; given {self.at_cap!r}")
        known = self.replays or CHEAPER in self.models.roles
        if self.at_cap == CHEAPER and self.budget and not known:
            raise BadArgument(
                f'at the cap a cheaper model is called: name it, as in [roles] {CHEAPER} = "small" '
                f'of models.toml, or in Python Models(models, {{"{CHEAPER}": "small"}})'
            )
        Caps.read(self.budget)

    def check(self, alias: str) -> None:
        """Raises unless there is a model of this alias; a replay knows it from its file."""
        if not self.replays and alias not in (*self.given, FAKE):
            self.models.find(alias)

    @property
    def replays(self) -> bool:
        """Whether answers come from a file."""
        return self.calls.startswith("replay:")

    def run_calls(
        self, folder: Path | None, trial: int, match: str, session: object = None
    ) -> "RunCalls":
        """What the seats of one match share: the same for one folder, or for one session."""
        found = _unkept.get(session) if folder is None else _open.get(folder)
        if found is None:
            found = RunCalls(self, folder, trial, match)
            if folder is not None:
                _open[folder] = found
            elif session is not None:
                _unkept[session] = found
        return found


_open: dict[Path, "RunCalls"] = {}  # of matches that are being played
# Of matches without a folder, as long as these are there: what they used counts after a pause.
_unkept: weakref.WeakKeyDictionary[Any, "RunCalls"] = weakref.WeakKeyDictionary()
_runtime: ContextVar[ModelRuntime | None] = ContextVar("models", default=None)


def current_runtime() -> ModelRuntime:
    """The runtime that is in use, else one with the models of this folder or of the user."""
    return _runtime.get() or ModelRuntime()


@contextmanager
def use_runtime(runtime: ModelRuntime) -> Iterator[ModelRuntime]:
    """While it lasts, whoever sits down as `llm` calls models by this runtime."""
    before = _runtime.set(runtime)
    try:
        yield runtime
    finally:
        _runtime.reset(before)


@contextmanager
def use_models(
    models: "str | Path | Models | Mapping[str, Any] | None" = None,
    *,
    calls: str = "live",
    budget: str = "",
    at_cap: AtCap = "pause",
) -> Iterator[ModelRuntime]:
    """While it lasts, seats `llm:ALIAS` call these models: a file, or models by alias.

    >>> with use_models({"polite": FunctionModel(answer)}, budget="calls=100"):
    ...     match = Match(make("coins"), "llm:polite script:cooperator")
    """
    given: dict[str, LanguageModel] = {}
    if isinstance(models, Models):
        found = models
    elif models is None or isinstance(models, str | Path):
        found = find_models(None if models is None else Path(models))
    else:
        given = {name: one for name, one in models.items() if not isinstance(one, ModelConfig)}
        configs = {name: one for name, one in models.items() if isinstance(one, ModelConfig)}
        for name, one in given.items():
            if not isinstance(one, LanguageModel):
                raise BadArgument(f"{name} is no model: it has no complete(request)")
        found = Models(configs)
    runtime = ModelRuntime(found, calls, budget, at_cap, given)
    with use_runtime(runtime):
        yield runtime


class _Nobody:
    async def complete(self, request: Request) -> Completion:
        raise AssertionError("a replay asks nobody")


_NOBODY = _Nobody()
# What is known of a model that is a function or a fake: it has no address, and no limits.
_HERE = ModelConfig(base_url="http://here", model="here", structured="legal_schema")


class RunCalls:
    """The calls of one match: its file, its budget, its trace, and the models it asks."""

    def __init__(self, runtime: ModelRuntime, folder: Path | None, trial: int, match: str) -> None:
        self.runtime, self.folder, self.match = runtime, folder, match
        self.budget = Budget(Caps.read(runtime.budget))
        self.replay = self.store = None
        if runtime.replays:
            self.replay = CallReplay(_recorded(Path(runtime.calls.partition(":")[2]), trial))
        elif folder is not None:
            self.store = CallStore(folder / CALLS, record=runtime.calls == "record")
            self.store.restore(self.budget)
            known = {alias: _public(one) for alias, one in runtime.models.models.items()}
            self.store.note(models=known, roles=dict(runtime.models.roles))
        elif runtime.calls == "record":
            raise BadArgument(
                "calls are recorded into the folder of a match: give it one "
                "(--out DIR, in Python Match(..., folder=DIR))"
            )
        self.tracer = Tracer(folder, match)
        self._models: dict[str, LanguageModel] = dict(runtime.given)
        self._of_seats: dict[tuple[str, int], LanguageModel] = {}
        self._configs: dict[str, ModelConfig] = {}  # of a recorded run
        self._users = 0

    def give(self, alias: str, seat: int, model: LanguageModel) -> None:
        """Gives a seat a model of its own under an alias."""
        self._of_seats[alias, seat] = model

    def fake(self, seat: int) -> LanguageModel | None:
        """The fake model of a seat, if a replay asks it."""
        return self._of_seats.get((FAKE, seat)) if self.runtime.asks_fakes else None

    def model(self, alias: str, seat: int = -1) -> tuple[ModelConfig, LanguageModel]:
        """A model by its alias, with what is known of it."""
        here = self._of_seats.get((alias, seat)) or self.runtime.given.get(alias)
        if self.replay is not None:
            return self._recorded(alias), here or _NOBODY
        if here is not None:
            known = self.runtime.models.models.get(alias)
            return known or _HERE.model_copy(update={"model": alias}), here
        config = self.runtime.models.find(alias)
        if alias not in self._models:
            self._models[alias] = OpenAIModel(config)
        return config, self._models[alias]

    @property
    def cheaper(self) -> str:
        """The alias of the model that is asked at a cap."""
        if self.replay is None:
            return self.runtime.models.for_role(CHEAPER)
        roles = self.replay.note("roles") or {}
        if not isinstance(roles, dict):
            raise DamagedCalls(self.replay.path, "the roles of models are no table")
        return str(roles.get(CHEAPER, ""))

    def _recorded(self, alias: str) -> ModelConfig:
        """What a recorded run knew of a model; a function or a fake has no config."""
        assert self.replay is not None
        if alias not in self._configs:
            told = self.replay.note("models") or {}
            if alias == FAKE and self.runtime.asks_fakes:  # the file could change its prompts
                told = {}
            try:
                found = told.get(alias) or _HERE.model_dump() | {"model": alias}
                self._configs[alias] = ModelConfig.model_validate(found)
            except (AttributeError, ValidationError) as error:
                raise DamagedCalls(self.replay.path, f"the model {alias}: {error}") from error
        return self._configs[alias]

    def check(self, alias: str, seat: int) -> None:
        """Raises unless the model can be called, as far as one can know without calling it."""
        config, model = self.model(alias, seat)
        if isinstance(model, OpenAIModel) and self.replay is None:
            config.key()
            import_openai()
        if self.budget.caps.money and not config.priced and config.base_url != _HERE.base_url:
            raise BadArgument(
                f"the budget has a cap on money, but no price of {alias} is known: give price_in, "
                f"price_out and price_date in {self.runtime.models.source}"
            )

    def opened(self) -> None:
        """One more seat uses it."""
        self._users += 1

    async def close(self) -> None:
        """One seat less uses it; after the last one its file is whole."""
        self._users -= 1
        if self._users <= 0:
            if self.folder is not None:
                _open.pop(self.folder, None)
            for model in self._models.values():
                if isinstance(model, OpenAIModel):
                    await model.close()
            if self.store is not None:
                self.store.close()
            if self.replay is not None:
                self.replay.close()

    def decision(self, seat: int, number: int, deadline: float = math.inf) -> "DecisionCalls":
        """The calls of one decision, with its deadline in seconds."""
        return DecisionCalls(self, seat, number, deadline)


def _public(config: ModelConfig) -> dict[str, Any]:
    """What a file may hold of a config: not where the model is, nor anything that may be secret."""
    told = config.model_dump(mode="json", exclude={"key_env", "tokenizer", "extra_body"})
    return {**told, "base_url": "http://recorded"}


def _recorded(path: Path, trial: int) -> Path:
    """The file of calls at a path: itself, or the one in a folder of a match or of a series."""
    if path.is_dir():
        whole = path / CALLS
        return whole if whole.exists() else path / f"trial-{trial}" / CALLS
    return path


class DecisionCalls:
    """The calls of one decision: counted, retried, recorded and traced."""

    def __init__(self, run: RunCalls, seat: int, number: int, deadline: float = math.inf) -> None:
        self.run, self.seat, self.number, self.deadline = run, seat, number, deadline
        self.attempts: Counter[str] = Counter()  # by role
        self.failures: Counter[str] = Counter()
        self.usage: Counter[str] = Counter()
        self.cost = 0.0
        self.degraded = False
        self.traced = False
        self.attributes: dict[str, Any] = {}  # of the decision, for its trace
        self.redraft: Callable[[str], Request] | None = None  # the question to another model
        self.asked: Request | None = None  # and not answered
        self.rows: list[dict[str, Any]] = []
        self.times: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self.outcome = DecisionOutcome("decided")
        run.tracer.begin(seat, number)
        if run.replay is not None:
            self.outcome = run.replay.outcome(seat, number)
        elif run.store is not None:
            run.store.begin(seat, number)

    @property
    def address(self) -> CallAddress:
        """Of the decision."""
        return CallAddress(self.seat, self.number)

    def obey(self) -> None:
        """What a replay must do before anything is asked: be late, or pause."""
        if self.outcome.outcome != "decided" and self.run.fake(self.seat) is not None:
            raise ReplayMismatch(
                f"the fake model in seat {self.seat} is recorded as {self.outcome.outcome} at "
                f"decision {self.number}; in a replay it answers"
            )
        if self.outcome.outcome == "late":
            raise TimeoutError(self.outcome.why)
        if self.outcome.outcome == "paused":
            raise PauseNeeded(self.outcome.why)

    def conclude(self, outcome: str, why: str = "") -> None:
        """Notes what came of the decision besides its calls."""
        if self.run.store is not None:
            self.run.store.conclude(self.seat, self.number, outcome, why)

    async def call(self, draft: Request) -> Completion:
        """An answer, after at most a few tries.

        Raises `CallError` where none came, `CapReached` where none may be asked for any more, and
        `PauseNeeded` where the match had better wait.
        """
        for tries in range(1, MOST_TRIES + 1):
            self.asked = request = self._addressed(draft)
            try:
                answer = await self._answer(request)
            except CapReached as cap:
                self.asked = None
                if self.run.runtime.at_cap != CHEAPER or self.degraded:
                    raise
                self.degraded = True
                self.conclude("degraded", str(cap))
                return await self.call(draft)
            self.attempts[request.address.role] += 1
            self._note(request, answer)
            if isinstance(answer, Completion):
                return answer
            if answer.kind in FATAL:
                raise PauseNeeded(f"{request.alias}: {answer}")
            if answer.kind not in RETRIED or tries == MOST_TRIES:
                raise answer
            if self.run.replay is None:
                if (answer.retry_after or 0.0) > self.deadline:
                    raise self._pause_for(request, answer.retry_after or 0.0)
                await asyncio.sleep(_backoff(tries, answer.retry_after))
        raise AssertionError("unreachable")

    def _pause_for(self, request: Request, seconds: float) -> PauseNeeded:
        return PauseNeeded(
            f"{request.alias}: the server asks to wait {seconds:.0f} s, longer than the deadline "
            f"of {self.deadline:g} s"
        )

    def _addressed(self, draft: Request) -> Request:
        """The request with its attempt; of the cheaper model, once a cap was reached."""
        role = CHEAPER if self.degraded else draft.address.role
        address = replace(draft.address, role=role)
        if self.degraded:
            assert self.redraft is not None
            draft = self.redraft(self.run.cheaper)
        return replace(draft, address=address).at(self.attempts[role])

    async def _answer(self, request: Request) -> Completion | CallError:
        replay, outcome = self.run.replay, self.outcome
        if replay is None:
            return await self._live(request)
        try:
            recorded = replay.answer(request)
        except MissingCall:
            if outcome.outcome in ("degraded", "capped"):
                raise CapReached(outcome.why) from None
            raise
        fake = self.run.fake(self.seat)
        if fake is None or request.alias != FAKE:
            return recorded
        if recorded != await _completed(fake, request, _UNLIMITED):
            raise ReplayMismatch(
                f"the recorded answer at {request.address} is not the one of the fake model"
            )
        return recorded

    async def _live(self, request: Request) -> Completion | CallError:
        """Reserves, waits for its turn, calls, and settles, whatever comes of it."""
        run, at = self.run, request.address
        config, model = run.model(request.alias, at.seat)
        tokens = request.prompt_tokens + request.max_tokens
        most = config.cost(request.prompt_tokens, request.max_tokens)
        reservation = run.budget.reserve(at.seat, at.role, tokens, most)
        if run.store is not None:
            run.store.reserve(reservation, run.budget.elapsed)
        limiter = limiter_of(config) if isinstance(model, OpenAIModel) else _UNLIMITED
        asked = began = time.monotonic()
        done = 0.0
        used, cost = 0.0, 0.0  # what a call counts for that was given up before it was made
        answer: Completion | CallError | None = None
        try:
            async with limiter.slot(tokens, self.deadline):
                began, used, cost = time.monotonic(), float(tokens), most  # or broken off
                answer = await _completed(model, request, limiter)
            if isinstance(answer, Completion):
                answer = answer.with_credible_usage(request)
                usage = answer.usage
                used, cost = usage.tokens, config.cost(usage.input_tokens, usage.output_tokens)
            elif answer.kind in UNCHARGED:  # all other failures count as reserved
                used, cost = 0.0, 0.0
            done = time.monotonic()
            for _ in range(AFTER_OTHERS if limiter.waiting else 0):
                await asyncio.sleep(0)
        except MustWait as wait:
            raise self._pause_for(request, wait.seconds) from None
        finally:
            done = done or time.monotonic()
            seconds = done - began if used else 0.0
            run.budget.settle(reservation, used, cost, seconds)
            if run.store is not None:
                with run.store.together():
                    run.store.settle(reservation, used, cost, seconds, run.budget.elapsed)
                    if answer is not None:
                        run.store.write(request, answer)
        assert answer is not None
        times = {"queued": began - asked, "seconds": done - began}
        self.times.append(
            {"span_id": run.tracer.span_id(at), "start": time.time() - times["seconds"], **times}
        )
        _break_after(config, answer)
        return answer

    def _note(self, request: Request, answer: Completion | CallError) -> None:
        """Counts a call, and adds its row to the trace."""
        run, cost, self.asked = self.run, 0.0, None
        self.usage["calls"] += 1
        if isinstance(answer, Completion):
            config, usage = run.model(request.alias, self.seat)[0], answer.usage
            cost = config.cost(usage.input_tokens, usage.output_tokens)
            self.usage.update(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
            )
            self.cost += cost
            self.texts.append(answer.text)
        else:
            self.failures[answer.kind] += 1
        self._add_row(request, answer, cost)

    def _add_row(self, request: Request, answer: Completion | CallError, cost: float) -> None:
        self.texts += [part for message in request.messages for part in message.parts]
        self.rows.append(
            {
                "name": f"chat {request.model}",
                "span_id": self.run.tracer.span_id(request.address),
                "parent_span_id": self.run.tracer.span_id(self.address, "decision"),
                "attributes": call_attributes(request, answer, cost),
            }
        )

    def trace(self, attributes: Mapping[str, Any]) -> None:
        """Writes the rows of the decision and of its calls, one without an answer included."""
        if self.asked is not None:
            given_up = CallError("stalled", "the decision was over before the answer came")
            self._add_row(self.asked, given_up, 0.0)
        row = {
            "name": "decide",
            "span_id": self.run.tracer.span_id(self.address, "decision"),
            "parent_span_id": None,
            "attributes": {
                "sociarium.seat": self.seat,
                "sociarium.decision": self.number,
                "sociarium.cost": self.cost,
                **self.attributes,
                **attributes,
            },
        }
        self.run.tracer.write([row, *self.rows], self.times, self.texts)
        self.rows, self.times, self.texts, self.traced = [], [], [], True


_UNLIMITED = RateLimiter(1 << 30)
_failed_in_a_row: defaultdict[tuple[str, str], int] = defaultdict(int)


async def _completed(
    model: LanguageModel, request: Request, limiter: Limiter
) -> Completion | CallError:
    try:
        answer = await model.complete(request)
    except CallError as error:
        if error.kind == "rate_limited":
            limiter.too_much(error.retry_after)
        return error
    except SociariumError:
        raise
    except Exception as error:  # of a function; a replay must know of it
        return CallError("broken", printable(f"{type(error).__name__}: {error}"))
    limiter.went_well()
    return answer


def _break_after(config: ModelConfig, answer: Completion | CallError) -> None:
    """After many failures in a row the match had better wait; a server that is busy is there."""
    if isinstance(answer, Completion) or answer.kind == "rate_limited":
        _failed_in_a_row[config.endpoint] = 0
        return
    _failed_in_a_row[config.endpoint] += 1
    if _failed_in_a_row[config.endpoint] >= BREAKER:
        _failed_in_a_row[config.endpoint] = 0
        raise PauseNeeded(f"{BREAKER} calls in a row failed, the last with {answer}")


def _backoff(tries: int, retry_after: float | None) -> float:
    """Seconds to wait: what the server says, or a draw that grows with the tries."""
    first, longest = BACKOFF
    drawn = random.uniform(0, min(longest, first * 2**tries))
    return max(drawn, retry_after or 0.0)
