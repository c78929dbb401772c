"""What a suite will ask of language models, before it is played: from a few steps of each arm."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sociarium.arena.call_estimate import RoleUse, estimate_calls
from sociarium.arena.ends import calls_code
from sociarium.evaluation.series_units import match_terms
from sociarium.evaluation.suite_run import SuiteRun, SuiteUnit
from sociarium.language.models.config import Models
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
