"""What the units of a suite show: means with intervals, scores between controls, and verdicts."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium.evaluation.analyses.tournaments import Tournament, tournament
from sociarium.evaluation.comprehension import PART
from sociarium.evaluation.decision_measures import PROBES
from sociarium.evaluation.episode_curves import curve_axis
from sociarium.evaluation.suite import (
    FAKE_MODEL,
    Hypothesis,
    Metric,
    Suite,
    SuiteArm,
    SuiteCurve,
    may_be_model,
)
from sociarium.evaluation.suite_run import SuiteUnit, UnitResult
from sociarium.evaluation.values import shares
from sociarium.metrics.bootstrap import RESAMPLES, Estimate, estimate, over_episodes
from sociarium.metrics.comparison import (
    Verdict,
    equivalence,
    eta_squared,
    holm,
    paired_difference,
    ratio_of_sums,
    sign_flip_p,
    verdict,
)
from sociarium.metrics.power import units_needed

BACKGROUNDS = 5  # arms of one world from which on it is told how much partners matter
ALPHA = 0.05
ONE_POLICY = "one trained policy is one training seed, the unit of a claim about learners"
ROUNDING = 1e-12  # of differences that are all the same


@dataclass(frozen=True)
class ArmMetric:
    """A metric of a contestant in an arm, over its seeds."""

    arm: str
    model: str
    metric: str
    seeds: int
    estimate: Estimate
    median: float
    score: Estimate | None = None  # between the controls of the arm, where it has two

    def as_dict(self) -> dict[str, Any]:
        """As plain values; a share of nothing is null."""
        return _plain(vars(self))


@dataclass(frozen=True)
class Finding:
    """A hypothesis about some arms and contestants, and what came of it."""

    id: str
    says: str
    about: str
    seeds: int
    effect: Estimate | None
    p: float | None
    adjusted: float | None
    against: float | None  # the adjusted p-value of the opposite
    verdict: Verdict
    why: str = ""
    needed: int | None = None  # seeds to find an effect of this size
    published: str = ""  # what others reported

    @property
    def not_run(self) -> bool:
        """Whether an arm it is about was not played."""
        return self.why.startswith("not run")

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return _plain(vars(self))


@dataclass(frozen=True)
class CurvePoints:
    """A curve of a contestant in an arm: means over seeds at some rounds or steps."""

    curve: str
    arm: str
    model: str
    side: str
    axis: str  # rounds or steps
    at: tuple[float, ...]
    means: tuple[Estimate, ...]
    seeds: int

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "means": [one.as_dict() for one in self.means]}


@dataclass(frozen=True)
class TemplateAccuracy:
    """The accuracy of a contestant at one template of questions, over all arms and seeds."""

    metric: str
    template: str  # or "all"
    model: str
    questions: int
    chance: float  # the accuracy of guessing uniformly among the options of each question
    accuracy: Estimate  # whose interval treats the questions of one unit as dependent

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return _plain(vars(self))


@dataclass(frozen=True)
class Pair:
    """What one contestant has more than another in an arm, under the same seeds."""

    arm: str
    first: str
    second: str
    seeds: int
    difference: Estimate
    p: float
    adjusted: float  # over all arms and pairs

    @property
    def apart(self) -> bool:
        """Whether the two are told apart: an interval without zero, and a test that agrees."""
        return (self.difference.above_zero or self.difference.below_zero) and self.p <= ALPHA

    @property
    def surely_apart(self) -> bool:
        """Whether they are, after all p-values are adjusted."""
        return self.apart and self.adjusted <= ALPHA

    @property
    def tied(self) -> bool:
        """Whether both got the same under every seed."""
        return self.difference == Estimate(0.0, 0.0, 0.0)

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**_plain(vars(self)), "apart": self.apart}


@dataclass(frozen=True)
class PairInArms:
    """Two contestants in all arms that both played."""

    first: str
    second: str
    pairs: tuple[Pair, ...]

    @property
    def apart(self) -> int:
        """In how many arms they are told apart."""
        return sum(pair.apart for pair in self.pairs)

    @property
    def surely_apart(self) -> int:
        """In how many they are, after all p-values are adjusted."""
        return sum(pair.surely_apart for pair in self.pairs)

    @property
    def tied(self) -> list[Pair]:
        """Where both got the same under every seed."""
        return [pair for pair in self.pairs if pair.tied]

    @property
    def unclear(self) -> list[Pair]:
        """Where they differ, and are not told apart."""
        return [pair for pair in self.pairs if not pair.apart and not pair.tied]


@dataclass(frozen=True)
class Failures:
    """How many decisions of a contestant failed in an arm: what it got there is not all its own."""

    arm: str
    model: str
    failures: int
    decisions: int

    @property
    def share(self) -> float:
        """Of all that it was asked for."""
        return self.failures / self.decisions


class Findings:
    """All that is known of a suite, from the units that are done."""

    def __init__(
        self, suite: Suite, units: Iterable[SuiteUnit], done: Mapping[str, UnitResult]
    ) -> None:
        self.suite = suite
        units = list(units)
        self._planned = {(unit.arm.id, unit.model) for unit in units}
        self._rows = suite.rows
        self._mixed = {arm.id for arm in suite.arm if arm.terms.lineups == "mixtures"}
        self.results = tuple(done[unit.key] for unit in units if unit.key in done)
        self._found: dict[tuple[str, str], dict[int, list[UnitResult]]] = {}
        for one in self.results:
            by_seed = self._found.setdefault((one.arm, one.model), {})
            by_seed.setdefault(one.seed, []).append(one)
        self.models = tuple(dict.fromkeys(model for _, model in self._found))

    def values(self, arm: str, model: str, metric: str) -> dict[int, Any]:
        """A metric by seed; over all line-ups that a contestant was in, seat by seat.

        Of a row of an average it is over its arms, under the seeds that all of them have.
        """
        if arm in self._rows:
            each = [self.values(one, model, metric) for one in self._rows[arm]]
            seeds = sorted(set(each[0]).intersection(*each[1:]))
            return {seed: _over_arms([values[seed] for values in each]) for seed in seeds}
        return self._by_seed(arm, model, metric, lambda one: True)

    @cached_property
    def cells(self) -> list[ArmMetric]:
        """Every metric of every contestant in every arm."""
        return [
            cell
            for arm, model in self._found
            for metric in self.suite.metric
            if (cell := self._cell(arm, model, metric)) is not None
        ]

    @cached_property
    def averages(self) -> list[ArmMetric]:
        """The same for rows of averages, in the metrics that they show."""
        return [
            cell
            for one in self.suite.average
            for row in filter(one.has, self._rows)
            for model in self.models
            for metric in self.suite.metric
            if metric.id in (one.metrics or (self.suite.metric[0].id,))
            if (cell := self._cell(row, model, metric)) is not None
        ]

    def _cell(self, arm: str, model: str, metric: Metric) -> ArmMetric | None:
        values = list(self.values(arm, model, metric.id).values())
        if not values:
            return None
        if isinstance(values[0], tuple):
            done, times = (np.array(x, np.float64) for x in zip(*values, strict=True))
            share = ratio_of_sums(done, times)
            return ArmMetric(arm, model, metric.id, len(values), share, share.mean)
        numbers = np.array(values, np.float64)
        return ArmMetric(
            arm,
            model,
            metric.id,
            len(values),
            over_episodes(numbers),
            float(np.median(numbers)),
            self._score(arm, model, metric),
        )

    def _score(self, arm: str, model: str, metric: Metric) -> Estimate | None:
        """0 is what the low control gets under the same seeds, 1 what the high one gets."""
        if arm in self._rows:
            return None
        terms = self.suite.find_arm(arm).terms
        if not terms.low or not terms.high or not model or metric != self.suite.metric[0]:
            return None  # controls are chosen for the first metric
        mine = self.values(arm, model, metric.id)
        low, high = (self._alone(arm, who, metric.id) for who in (terms.low, terms.high))
        seeds = sorted(mine.keys() & low.keys() & high.keys())
        if len(seeds) < 2:
            return None
        a, b, c = (np.array([x[seed] for seed in seeds], np.float64) for x in (mine, low, high))
        draws = np.random.default_rng(0).integers(len(seeds), size=(RESAMPLES, len(seeds)))
        span, spans = c.mean() - b.mean(), (c - b)[draws].mean(1)
        told = spans != 0
        if span == 0 or not told.any():
            return None
        return estimate((a - b).mean() / span, (a - b)[draws].mean(1)[told] / spans[told])

    def _alone(self, arm: str, model: str, metric: str) -> dict[int, Any]:
        """A metric by seed where no other contestant plays."""
        return self._by_seed(arm, model, metric, lambda one: set(one.lineup) == {model})

    def _by_seed(
        self, arm: str, model: str, metric: str, chosen: Callable[[UnitResult], bool]
    ) -> dict[int, Any]:
        found, mixed = self._found.get((arm, model), {}), arm in self._mixed
        by_seed = {
            seed: [one for one in results if metric in one.values and chosen(one)]
            for seed, results in sorted(found.items())
        }
        return {seed: _mean(some, metric, mixed) for seed, some in by_seed.items() if some}

    @cached_property
    def interdependence(self) -> dict[str, dict[str, Estimate]]:
        """By world and contestant: how much of its return depends on who its partners are.

        Where a suite has it play beside enough backgrounds, and arms differ in nothing else that
        it is told, such as a mind or a personality.
        """
        metric = self.suite.metric[0].id
        worlds: dict[str, list[str]] = {}
        told: dict[str, set[str]] = {}
        for arm in self.suite.arm:
            if arm.has_model and arm.has_others:
                worlds.setdefault(arm.name, []).append(arm.id)
                told.setdefault(arm.name, set()).add(arm.model_options)
        worlds = {world: arms for world, arms in worlds.items() if len(told[world]) == 1}
        found: dict[str, dict[str, Estimate]] = {}
        for world, arms in worlds.items():
            for model in self.models if len(arms) >= BACKGROUNDS else ():
                groups = {arm: list(self.values(arm, model, metric).values()) for arm in arms}
                if all(len(group) > 1 for group in groups.values()):
                    numbers = {arm: np.array(x, np.float64) for arm, x in groups.items()}
                    found.setdefault(world, {})[model] = eta_squared(numbers)
        return found

    @cached_property
    def given(self) -> tuple[str, ...]:
        """Contestants that are controls or on the roster of no arm."""
        always = {model for arm in self.suite.arm for model in arm.terms.always}
        return tuple(model for model in self.models if model and model not in always)

    @cached_property
    def failures(self) -> tuple[Failures, ...]:
        """Where host players gave no valid answer in time, and stayed instead."""
        found = [
            Failures(
                arm,
                model,
                sum(one.failures for some in by_seed.values() for one in some),
                sum(one.decisions for some in by_seed.values() for one in some),
            )
            for (arm, model), by_seed in self._found.items()
        ]
        return tuple(one for one in found if one.failures)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every two contestants in every arm, by the first metric: those given, if there are two.

        With one given, it is beside the controls.
        """
        metric, drafts, given = self.suite.metric[0].id, [], self.given
        for arm in self.suite.arm:
            playing = given if len(given) > 1 else list(dict.fromkeys([*given, *arm.terms.always]))
            for first, second in itertools.combinations(playing, 2):
                left, right = (self.values(arm.id, who, metric) for who in (first, second))
                seeds = sorted(left.keys() & right.keys())
                if len(seeds) < 2 or isinstance(left[seeds[0]], tuple):
                    continue
                a, b = (np.array([x[seed] for seed in seeds], np.float64) for x in (left, right))
                difference, p = paired_difference(a, b), sign_flip_p(a - b)
                drafts.append(Pair(arm.id, first, second, len(seeds), difference, p, p))
        adjusted = holm([draft.p for draft in drafts])
        return tuple(
            replace(draft, adjusted=1.0 if p is None else p)
            for draft, p in zip(drafts, adjusted, strict=True)
        )

    @cached_property
    def pairs_in_arms(self) -> tuple[PairInArms, ...]:
        """The same by the two who are compared."""
        by_names: dict[tuple[str, str], list[Pair]] = {}
        for pair in self.pairs:
            by_names.setdefault((pair.first, pair.second), []).append(pair)
        return tuple(PairInArms(*names, tuple(some)) for names, some in by_names.items())

    @cached_property
    def tournaments(self) -> tuple[Tournament, ...]:
        """The arms in which contestants meet in all line-ups, by the first metric."""
        first = self.suite.metric[0].id
        found = [tournament(arm, self.results, first) for arm in self.suite.arm]
        return tuple(one for one in found if one is not None)

    @cached_property
    def curves(self) -> tuple[CurvePoints, ...]:
        """Every curve of every contestant in every arm, by sides."""
        found = []
        for one in self.suite.curve:
            for (arm, model), by_seed in self._found.items():
                for side in one.of:
                    name = f"{one.id} {side}"
                    results = [one for some in by_seed.values() for one in some]
                    rows = [each.curves[name] for each in results if name in each.curves]
                    if rows:
                        found.append(self._curve(one, arm, model, side, np.array(rows)))
        return tuple(found)

    def _curve(
        self, one: SuiteCurve, arm: str, model: str, side: str, rows: Float[np.ndarray, "seeds _"]
    ) -> CurvePoints:
        axis, far = curve_axis(self.suite.find_arm(arm).terms)
        at = np.linspace(0, far, one.points + 1)
        means = tuple(over_episodes(column) for column in rows.T)
        return CurvePoints(one.id, arm, model, side, axis, tuple(at.tolist()), means, len(rows))

    @cached_property
    def templates(self) -> tuple[TemplateAccuracy, ...]:
        """The accuracy of each contestant at each template of questions, and at all together."""
        measures = {one.measure: one.id for one in self.suite.metric if one.measure in PROBES}
        if len(measures) < len(PROBES):
            return ()
        metric, chance = (measures[one] for one in PROBES)
        parts = {name.partition(PART)[2] for one in self.results for name in one.values}
        found = []
        for part in [*sorted(parts - {""}), ""]:
            names = [f"{one}{PART}{part}" if part else one for one in (metric, chance)]
            for model in self.models:
                values = [one.values for one in self.results if one.model == model]
                rows = [tuple(map(row.get, names)) for row in values if names[1] in row]
                if rows:
                    found.append(_template(metric, part or "all", model, rows))
        return tuple(found)

    @cached_property
    def machinery_check(self) -> bool:
        """Whether fakes or scripts played in place of language models, and no model did."""
        seats = [word for arm in self.suite.arm for word in arm.seats.split()]
        names = [str(one) for one in (*self.models, *seats)]
        fakes = any(FAKE_MODEL.fullmatch(name) for name in names)
        minds = any("mind=" in seat for seat in seats)
        return (fakes or minds) and not any(map(may_be_model, filter(None, names)))

    @cached_property
    def hypotheses(self) -> list[Finding]:
        """Every hypothesis for every pair it is about; p-values adjusted over all of them."""
        drafts = [draft for one in self.suite.hypothesis for draft in self._tested(one)]
        adjusted = holm([draft.p for draft in drafts])
        against = holm([draft.against for draft in drafts])
        return [_judged(*each) for each in zip(drafts, adjusted, against, strict=True)]

    def _tested(self, one: Hypothesis) -> Iterable["_Draft"]:
        if one.untested:
            yield _Draft(one, ", ".join(one.arms), 0, why=one.untested)
        for about, ((arm, who), (other_arm, other)) in self._pairs(one):
            left = shares(self.values(arm, who, one.metric))
            right = shares(self.values(other_arm, other, one.than or one.metric))
            if one.level is not None:
                right = dict.fromkeys(left, float(one.level))
            seeds = sorted(left.keys() & right.keys())
            values = [np.array([x[s] for s in seeds], np.float64) for x in (left, right)]
            if len(seeds) < 2:
                yield _Draft(one, about, len(seeds), why="there are fewer than two seeds of both")
            else:
                draft = _draft(one, about, *values)
                yield replace(draft, one_policy=any(map(_is_trained, (who, other))))

    def _pairs(self, one: Hypothesis) -> Iterable[tuple[str, tuple[Any, Any]]]:
        """What is compared with what: two arms by each contestant, or two contestants by arm.

        Controls and a roster are not asked about, unless there is nobody else.
        """
        if one.untested:
            return
        if one.models:
            first, second = one.models
            arms = one.arms or tuple(arm.id for arm in self.suite.arm if arm.has_model)
            for arm in arms:
                yield f"{first} and {second} in {arm}", ((arm, first), (arm, second))
            return
        first, second = one.arms if len(one.arms) == 2 else one.arms * 2
        has = [all(arm.has_model for arm in self._arms(name)) for name in (first, second)]
        always = {m for name in one.arms for arm in self._arms(name) for m in arm.terms.always}
        given = [model for model in self.models if model and model not in always]
        for model in (given or self.models) if any(has) else ("",):
            left, right = (
                (arm, model if mine else "") for arm, mine in zip((first, second), has, strict=True)
            )
            about = first if one.one_arm and first == second else f"{first} and {second}"
            if self._is_planned(*left) and self._is_planned(*right):
                yield about + (f" with {model}" if model else ""), (left, right)

    def _arms(self, name: str) -> list[SuiteArm]:
        """The arm of this name, or those in this row of an average."""
        return [self.suite.find_arm(arm) for arm in self._rows.get(name, (name,))]

    def _is_planned(self, name: str, model: str) -> bool:
        return all((arm.id, model) in self._planned for arm in self._arms(name))

    def as_dict(self) -> dict[str, Any]:
        """Everything, as plain values in one order."""
        return {
            "suite": self.suite.id,
            "digest": self.suite.digest,
            "title": self.suite.title,
            "cells": [cell.as_dict() for cell in self.cells],
            "interdependence": {
                world: {model: share.as_dict() for model, share in models.items()}
                for world, models in self.interdependence.items()
            },
            "failures": [asdict(one) for one in self.failures],
            "pairs": [pair.as_dict() for pair in self.pairs],
            "tournaments": [one.as_dict() for one in self.tournaments],
            "hypotheses": [finding.as_dict() for finding in self.hypotheses],
            "averages": [cell.as_dict() for cell in self.averages],
            "curves": [one.as_dict() for one in self.curves],
            "templates": [one.as_dict() for one in self.templates],
            "not_run": list(self.suite.left_out),
            "other_ends": list(self.suite.other_ends),
            "machinery_check": self.machinery_check,
        }


def _template(
    metric: str, template: str, model: str, rows: Sequence[tuple[Any, ...]]
) -> TemplateAccuracy:
    """From the counts of correct answers and questions, and the chance level, of each unit."""
    right, asked = (np.array([row[0][place] for row in rows], np.float64) for place in (0, 1))
    chance = float(np.average([row[1] for row in rows], weights=asked))
    accuracy = ratio_of_sums(right, asked)
    return TemplateAccuracy(metric, template, model, int(asked.sum()), chance, accuracy)


def _mean(results: Sequence[UnitResult], metric: str, mixed: bool) -> Any:
    """Over line-ups, each as often as others would be drawn beside a contestant; shares add up."""
    values = [one.values[metric] for one in results]
    if isinstance(values[0], tuple):
        return _over_arms(values)
    weights = [_orders(one) if mixed else len(one.focal) or 1 for one in results]
    return float(np.average(values, weights=weights))


def _over_arms(values: Sequence[Any]) -> Any:
    """The mean; shares add up."""
    if isinstance(values[0], tuple):
        return tuple(np.sum(values, 0).tolist())
    return float(np.mean(values))


def _orders(one: UnitResult) -> int:
    """In how many orders the others of a mixture can sit beside one of this contestant."""
    others = Counter(one.lineup) - Counter([one.model])
    each = math.prod(math.factorial(many) for many in others.values())
    return math.factorial(others.total()) // each


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """With nothing in place of numbers that are none."""
    told = {name: _plain(x.as_dict()) if isinstance(x, Estimate) else x for name, x in row.items()}
    return {
        n: None if isinstance(x, float) and not math.isfinite(x) else x for n, x in told.items()
    }


@dataclass(frozen=True)
class _Draft:
    """A hypothesis that is tested, before all p-values are adjusted."""

    hypothesis: Hypothesis
    about: str
    seeds: int
    effect: Estimate | None = None
    p: float | None = None
    against: float | None = None  # the p-value of the opposite
    why: str = ""
    equal: str = ""  # what a test of equivalence says
    needed: int | None = None
    one_policy: bool = False  # whether a contestant is one trained policy


def _is_trained(model: str) -> bool:
    return model.startswith("policy:")


def _draft(
    one: Hypothesis,
    about: str,
    left: Float[np.ndarray, " seeds"],
    right: Float[np.ndarray, " seeds"],
) -> _Draft:
    effect = paired_difference(left, right, one.statistic)
    assert one.test
    if one.test == "equivalent":
        found = equivalence(left, right, margin=float(one.margin), unit=one.unit)
        return _Draft(one, about, len(left), found.difference, found.p, equal=found.verdict)
    gaps = left - right
    spread = float(gaps.std(ddof=1))
    mean = abs(float(gaps.mean()))
    size = mean / spread if spread > ROUNDING * max(mean, 1.0) else 0.0
    needed = units_needed(size) if size > 0.01 else None
    against = None if one.test == "different" else sign_flip_p(-gaps, one.test)
    p = sign_flip_p(gaps, one.test)
    return _Draft(one, about, len(left), effect, p, against, needed=needed)


def _judged(draft: _Draft, adjusted: float | None, against: float | None) -> Finding:
    one = draft.hypothesis
    say: Verdict
    if draft.effect is None:
        say = "not tested"
    elif one.test == "equivalent":
        equal = draft.equal == "identical" or (adjusted is not None and adjusted <= ALPHA)
        say = "supported" if equal else "inconclusive"
    else:
        assert adjusted is not None and one.test
        say = verdict(adjusted, against, draft.effect, one.test, ALPHA)
    why = draft.why or ("the values are identical" if draft.equal == "identical" else "")
    if draft.one_policy and say in ("supported", "contradicted"):
        say, why = "inconclusive", ONE_POLICY
    return Finding(
        one.id,
        one.says,
        draft.about,
        draft.seeds,
        draft.effect,
        draft.p,
        adjusted,
        against,
        say,
        why,
        draft.needed,
        one.published,
    )
