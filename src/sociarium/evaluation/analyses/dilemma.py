"""Is it a dilemma? What makes a world's selfish learners fail, found by best responses.

The others are scripted: no, half or all of them cooperate. Whether a response cooperates is read
from what it leaves to the others, between what a scripted defector and a scripted cooperator leave
in the same seat. Learners may miss a good answer, so the scripts are answers too: defecting pays
where the best unkind answer found earns more than the best kind one. A learner that earns clearly
less than the better script has not found a best response, and nothing is concluded from what it
does. Alone, there is nobody to wrong: who fails there fails in time, not socially.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.evaluation.analyses.best_response import Response, best_responses, scripted_response
from sociarium.metrics.bootstrap import Estimate, difference, over_episodes, over_seeds, student
from sociarium.networks.stored import NETWORK_VERSION

COOPERATOR, DEFECTOR, RANDOM = "script:cooperator", "script:defector", "random"
DISCOUNTS = (0.9, 0.99, 0.997)
KIND = 0.5  # of the way from what a defector leaves to what a cooperator leaves
IMPATIENT = 0.8  # of what the most successful learner earns alone

PAYS = {
    "defect": "defecting pays",
    "cooperate": "cooperating pays",
    "either": "neither pays more",
    "undefined": "kindness is not defined",
}

Tell = Callable[[str], None]
Learners = Callable[[Any, str, str], dict[float, "Answer"]]  # in a world, beside others, told as


@dataclass(frozen=True)
class Answer:
    """What a player in the first seat earned, and what it left to each of the others."""

    own: Estimate
    others: Estimate

    @classmethod
    def of(cls, response: Response) -> "Answer":
        """The means of a scripted response over its episodes, with their intervals."""
        return cls(over_episodes(response.own), over_episodes(response.others))

    @classmethod
    def of_seeds(cls, response: Response) -> "Answer":
        """The means of a learned response over its training seeds."""
        return cls(_over_few_seeds(response.own), _over_few_seeds(response.others))

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Answer":
        """Read back from plain numbers."""
        return cls(Estimate.read(row["own"]), Estimate.read(row["others"]))

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {"own": self.own.as_dict(), "others": self.others.as_dict()}


@dataclass(frozen=True)
class DilemmaSetting:
    """Answers beside some others, or alone: of learners by discount, of scripts, of random play."""

    cooperating: int  # of the others
    learners: dict[float, Answer]
    cooperator: Answer
    defector: Answer
    random: Answer

    @property
    def script(self) -> Answer:
        """The answer of the script that earns more."""
        return max(self.cooperator, self.defector, key=lambda answer: answer.own.mean)

    @property
    def learner(self) -> Answer:
        """The answer of the learner that earns most."""
        return max(self.learners.values(), key=lambda answer: answer.own.mean)

    def is_best_response(self, discount: float) -> bool:
        """Whether a learner does not earn clearly less than the better script."""
        return not difference(self.learners[discount].own, self.script.own).below_zero

    def kindness(self, answer: Answer) -> Estimate | None:
        """Where an answer stands between defector (0) and cooperator (1) in what it leaves.

        None where a cooperator does not clearly leave more than a defector.
        """
        if not difference(self.cooperator.others, self.defector.others).above_zero:
            return None
        least = self.defector.others.mean
        span = self.cooperator.others.mean - least
        left = answer.others
        mean, low, high = ((x - least) / span for x in (left.mean, left.low, left.high))
        return Estimate(mean, low, high)

    def temptation(self) -> Estimate | None:
        """What the best unkind answer earns above the best kind one; None without kindness."""
        compared = self._compared()
        return compared and difference(*(_tested(answer.own) for answer in compared))

    def _compared(self) -> tuple[Answer, Answer] | None:
        """The best unkind answer and the best kind one."""
        answers = [(self.cooperator, True), (self.defector, False)]
        for learner in self.learners.values():
            kindness = self.kindness(learner)
            if kindness is None:
                return None
            answers.append((learner, kindness.mean > KIND))
        unkind, kind = (
            max((a for a, k in answers if k is wanted), key=lambda answer: answer.own.mean)
            for wanted in (False, True)
        )
        return unkind, kind

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            "cooperating": self.cooperating,
            "temptation": _shown(self.temptation()),
            "cooperator": self.cooperator.as_dict(),
            "defector": self.defector.as_dict(),
            "random": self.random.as_dict(),
            "learner": {
                str(discount): {
                    **answer.as_dict(),
                    "kindness": _shown(self.kindness(answer)),
                    "best_response": self.is_best_response(discount),
                }
                for discount, answer in self.learners.items()
            },
        }

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "DilemmaSetting":
        """Read back from plain numbers."""
        return cls(
            row["cooperating"],
            {float(discount): Answer.read(told) for discount, told in row["learner"].items()},
            *(Answer.read(row[kind]) for kind in ("cooperator", "defector", "random")),
        )


@dataclass(frozen=True)
class DilemmaVerdict:
    """One world's row of the table."""

    world: str
    players: int
    settings: dict[str, DilemmaSetting]  # none, half, all
    solo: DilemmaSetting

    @property
    def failure(self) -> str:
        """Which failure it is, and what pays beside none, half and all."""
        shown = {setting.cooperating: name for name, setting in self.settings.items()}
        return failure({name: self.settings[name].temptation() for name in shown.values()})

    @property
    def impatience(self) -> str:
        """How learners do alone: whether the impatient ones do worse, whether they find a way."""
        best, scripted = self.solo.learner.own.mean, self.solo.script.own.mean
        if max(best, scripted) <= 0:
            return "nothing to earn alone"
        if not any(map(self.solo.is_best_response, self.solo.learners)):
            return "not found alone"
        impatient = self.solo.learners[min(self.solo.learners)].own.mean
        return "intertemporal" if impatient < IMPATIENT * best else "no"

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            "world": self.world,
            "players": self.players,
            "network_version": NETWORK_VERSION,
            "failure": self.failure,
            "impatience": self.impatience,
            "settings": {name: setting.as_dict() for name, setting in self.settings.items()},
            "solo": self.solo.as_dict(),
        }

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "DilemmaVerdict":
        """Read back from plain numbers; what is concluded from them is concluded anew."""
        settings = {name: DilemmaSetting.read(told) for name, told in row["settings"].items()}
        return cls(row["world"], row["players"], settings, DilemmaSetting.read(row["solo"]))


def verdict(
    world: str,
    *,
    discounts: Sequence[float] = DISCOUNTS,
    seeds: Sequence[int] = (0, 1),
    steps: int = 500_000,
    episodes: int = 30,
    on_progress: Tell = lambda stage: None,
) -> DilemmaVerdict:
    """Trains best responses beside no, half and all cooperators, and alone."""

    def trained(env: Any, others: str, what: str) -> dict[float, Answer]:
        def told(done: int, updates: int) -> None:
            on_progress(f"{what}: update {done} of {updates}")

        found = best_responses(
            env, others, discounts=discounts, seeds=seeds, steps=steps, on_progress=told
        )
        return dict(zip(discounts, map(Answer.of_seeds, found), strict=True))

    return _verdict(world, trained, episodes)


def with_scripts_again(stored: DilemmaVerdict, *, episodes: int = 30) -> DilemmaVerdict:
    """A verdict with its scripts and random play played anew, and its learners as they are."""
    learners = {setting.cooperating: setting.learners for setting in stored.settings.values()}

    def kept(env: Any, others: str, what: str) -> dict[float, Answer]:
        return learners[others.split().count(COOPERATOR)] if others else stored.solo.learners

    return _verdict(stored.world, kept, episodes)


def _verdict(world: str, learners: Learners, episodes: int) -> DilemmaVerdict:
    env = catalogue.make(world)
    alone = catalogue.make(catalogue.without(world, "players"), players=1)
    beside = env.players - 1

    def answers(env: Any, cooperating: int, others: str, what: str) -> DilemmaSetting:
        seats = (COOPERATOR, DEFECTOR, RANDOM)
        played = [scripted_response(env, seat, others, episodes=episodes) for seat in seats]
        return DilemmaSetting(cooperating, learners(env, others, what), *map(Answer.of, played))

    @cache
    def setting(cooperating: int) -> DilemmaSetting:
        others = " ".join([COOPERATOR] * cooperating + [DEFECTOR] * (beside - cooperating))
        return answers(env, cooperating, others, f"{cooperating} of {beside} others cooperate")

    counts = {"none": 0, "half": (beside + 1) // 2, "all": beside}
    settings = {name: setting(cooperating) for name, cooperating in counts.items()}
    return DilemmaVerdict(env.id, env.players, settings, answers(alone, 0, "", "alone"))


def failure(temptations: Mapping[str, Estimate | None]) -> str:
    """Which failure it is, from what defecting earns more beside ever more cooperators.

    Every line-up counts. Social: defecting pays, and cooperating nowhere or only beside fewer
    cooperators. Coordination: cooperating pays beside more cooperators than defecting does. Open:
    for some line-up it cannot be said, because there kindness is not defined.
    """
    names = list(temptations)
    pays = {name: _pays(found) for name, found in temptations.items()}
    beside = {what: [n for n in names if pays[n] == what] for what in dict.fromkeys(pays.values())}
    kind, unkind = ([names.index(n) for n in beside.get(w, [])] for w in ("cooperate", "defect"))
    if "undefined" in beside:
        label = "open"
    elif not unkind:
        label = "none" if kind else "not shown"
    elif not kind or max(kind) < min(unkind):
        label = "social"
    else:
        label = "coordination" if max(unkind) < min(kind) else "mixed"
    parts = [f"{PAYS[what]} beside {_listed(beside[what])}" for what in PAYS if what in beside]
    return f"{label}: {', '.join(parts)}"


def _pays(temptation: Estimate | None) -> str:
    """What pays where defecting earns so much more; either, where the interval holds zero."""
    if temptation is None:
        return "undefined"
    if not (temptation.above_zero or temptation.below_zero):
        return "either"
    return "defect" if temptation.above_zero else "cooperate"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _over_few_seeds(values: Float[np.ndarray, " seeds"]) -> Estimate:
    """The mean over training seeds; of two their range, which screens and is no 95% interval."""
    found = over_seeds(values)
    if found.bounded:
        return found
    return replace(found, low=float(values.min()), high=float(values.max()))


def _tested(found: Estimate) -> Estimate:
    """With Student's interval if it is of training seeds, be they only two."""
    return student(np.array(found.values)) if len(found.values) > 1 else found


def _shown(found: Estimate | None) -> dict[str, float] | None:
    return None if found is None else found.as_dict()
