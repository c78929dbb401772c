"""What a suite will ask of language models, before it is played: from a few steps of each arm."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sociarium.arena.call_estimate import CountingModel, RoleUse, estimate_calls, role_use
from sociarium.arena.ends import calls_code
from sociarium.arena.match import run_apart
from sociarium.core.environment import Environment
from sociarium.evaluation.comprehension import Examination, draw_questions
from sociarium.evaluation.series_units import match_terms
from sociarium.evaluation.suite_run import SuiteRun, SuiteUnit
from sociarium.language.models.config import Models
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.players.protocol import Absent
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent

SAMPLE = 6  # steps, or rounds of turns, that are played of an arm


@dataclass(frozen=True)
class SuiteEstimate:
    """Episodes that are left, and decisions, calls, tokens and money of the models in them.

    `roles` has calls, tokens and money by the part of a mind that asks, without fakes; `seconds`
    are what this machine needs beside the models, which are asked at once.
    """

    episodes: int
    asked: int  # those in which a language model sits
    decisions: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    money: float | None = 0.0  # unknown without prices
    seconds: float = 0.0
    calls: float = 0.0
    roles: Mapping[str, RoleUse] = field(default_factory=dict)


def estimate_suite(
    run: SuiteRun, models: Models, on_progress: OnProgress = silent
) -> SuiteEstimate:
    """Plays some steps of one episode of each arm and set of models, which then only count."""
    done = run.done()
    left = {unit.episode: unit for unit in run.units if unit.key not in done}
    asked = [unit for unit in left.values() if _models(unit)]
    by_place: dict[tuple[str, frozenset[Seat]], list[SuiteUnit]] = {}
    for unit in asked:
        by_place.setdefault((unit.arm.id, frozenset(_models(unit))), []).append(unit)
    total = SuiteEstimate(len(left), len(asked))
    for number, units in enumerate(by_place.values()):
        on_progress(number, len(by_place))
        total = _more(run, total, units, models)
    return total


def _models(unit: SuiteUnit) -> list[Seat]:
    return [chair for chair in unit.chairs if chair.kind == "llm"]


def _more(
    run: SuiteRun, total: SuiteEstimate, units: Sequence[SuiteUnit], models: Models
) -> SuiteEstimate:
    """Scales a sample of one episode by the seats of models in all of them."""
    first, told = units[0], units[0].arm.terms
    env = run.world(first.arm)
    if told.probes:
        return _more_questions(env, total, units, models)
    terms = match_terms(told)
    # No agent is asked and no function is called: agents stay where they are.
    agents = [seat for seat, chair in enumerate(first.chairs) if chair.outside]
    agents = [seat for seat in agents if first.chairs[seat].kind != "llm"]
    guests = {seat: Absent() for seat in agents}
    seats = " ".join(map(str, first.chairs))
    terms = replace(terms, ends=tuple(end for end in terms.ends if not calls_code(end)))
    params = env.params(**told.params)
    asked = {"params": params, "guests": guests}
    estimate_calls(env, seats, terms, models, sample=1, **asked)  # compiles
    began = time.perf_counter()
    found = estimate_calls(env, seats, terms, models, sample=SAMPLE, **asked)
    took = (time.perf_counter() - began) * found.steps / max(found.sampled, 1)
    times = told.trials * sum(len(_models(unit)) for unit in units) / len(_models(first))
    roles = dict(total.roles)
    for role, used in found.roles.items():
        roles[role] = roles.get(role, RoleUse()).plus(used.times(times))
    return SuiteEstimate(
        total.episodes,
        total.asked,
        total.decisions + times * found.decisions,
        total.input_tokens + times * found.input_tokens,
        total.output_tokens + times * found.output_tokens,
        None if total.money is None or found.money is None else total.money + times * found.money,
        total.seconds + times * took,
        total.calls + times * found.calls,
        roles,
    )


def _more_questions(
    env: Environment[Any, Any], total: SuiteEstimate, units: Sequence[SuiteUnit], models: Models
) -> SuiteEstimate:
    """Scales a few questions of one unit by the questions of all of them."""
    first, counting = units[0], {alias: CountingModel() for alias in models.models}
    began = time.perf_counter()
    drawn = first.arm, first.chairs, first.focal, first.seed
    asked = Examination(env, *drawn, draw_questions(env, *drawn))
    sample = min(SAMPLE, len(asked.questions))
    with use_runtime(ModelRuntime(models, given=counting)):
        run_apart(lambda: asked.ask(sample))
    scale = len(units) * len(asked.questions) / sample
    roles, money = dict(total.roles), total.money
    for alias, one in counting.items():
        for role, counts in one.counts.items():
            used = role_use(counts, models, alias).times(scale)
            roles[role] = roles.get(role, RoleUse()).plus(used)
            money = None if money is None or used.money is None else money + used.money
    return SuiteEstimate(
        total.episodes,
        total.asked,
        total.decisions + len(units) * len(asked.questions),
        total.input_tokens + scale * asked.used["input_tokens"],
        total.output_tokens + scale * asked.used["output_tokens"],
        money,
        total.seconds + len(units) * (time.perf_counter() - began),
        total.calls + scale * asked.used["calls"],
        roles,
    )
