"""Is it a dilemma? What makes a world's selfish learners fail, found by best responses.

The others are scripted: no, half or all of them cooperate. Whether a response cooperates is read
from what it leaves to the others, between what a scripted defector and a scripted cooperator leave
in the same seat. Learners may miss a good answer, so the scripts are answers too: defecting pays
where the best unkind answer found earns more than the best kind one. Alone, there is nobody to
wrong: who fails there fails in time, not socially.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sociarium import catalogue
from sociarium.learning.best_response import Response, best_responses, scripted_response
from sociarium.metrics.bootstrap import Estimate, difference, over_episodes
from sociarium.networks.stored import NETWORK_VERSION

COOPERATOR, DEFECTOR = "script:cooperator", "script:defector"
DISCOUNTS = (0.9, 0.99, 0.997)
PATIENT = 0.997
KIND = 0.5  # of the way from what a defector leaves to what a cooperator leaves
FOUND = 0.5  # of what a script earns alone, for a learner to have found a way
FAILURES = {  # what pays among defectors, what pays among cooperators
    ("cooperate", "cooperate"): "none: it pays to cooperate whatever the others do",
    ("cooperate", "defect"): "social: it pays to cooperate only if the others do not",
    ("cooperate", "either"): "weak: it pays to cooperate among defectors, else it is all the same",
    ("defect", "cooperate"): "coordination: it pays to cooperate if the others do",
    ("defect", "defect"): "social: it pays to defect whatever the others do",
    ("defect", "either"): "social: it pays to defect among defectors, else it is all the same",
    (
        "either",
        "cooperate",
    ): "none: it pays to cooperate among cooperators, else it is all the same",
    ("either", "defect"): "social: it pays to defect among cooperators, else it is all the same",
    ("either", "either"): "not shown: neither pays more",
}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """Responses beside some others: of learners by discount, and of the two scripts."""

    cooperating: int  # of the others
    learners: dict[float, Response]
    cooperator: Response
    defector: Response

    def kindness(self, discount: float) -> Estimate | None:
        """Where the learner stands between defector (0) and cooperator (1) in what it leaves."""
        span = self.cooperator.others.mean() - self.defector.others.mean()
        if span <= 0:
            return None
        left = (self.learners[discount].others - self.defector.others.mean()) / span
        return over_episodes(left)

    def temptation(self) -> Estimate | None:
        """What the best unkind answer earns above the best kind one."""
        kindness = {discount: self.kindness(discount) for discount in self.learners}
        if None in kindness.values():
            return None
        answers = [(self.cooperator, True), (self.defector, False)]
        answers += [(self.learners[d], found.mean > KIND) for d, found in kindness.items() if found]
        kind, unkind = (
            over_episodes(max((a.own for a, k in answers if k is wanted), key=np.mean))
            for wanted in (True, False)
        )
        return difference(unkind, kind)


@dataclass(frozen=True)
class Verdict:
    """One world's row of the table."""

    world: str
    players: int
    settings: dict[str, Setting]  # none, half, all
    solo: dict[float, Response]
    solo_cooperator: Response
    solo_defector: Response

    @property
    def failure(self) -> str:
        """Which failure it is; half cooperators count where among all it makes no difference."""
        tempted = {name: setting.temptation() for name, setting in self.settings.items()}
        return failure(tempted["none"], tempted["all"] or tempted["half"])

    @property
    def impatience(self) -> str:
        """How learners do alone: whether the impatient ones do worse, whether they find a way."""
        best = max(response.own.mean() for response in self.solo.values())
        scripted = max(self.solo_cooperator.own.mean(), self.solo_defector.own.mean())
        if max(best, scripted) <= 0:
            return "nothing to earn alone"
        if best < FOUND * scripted:
            return "not found alone"
        return "intertemporal" if self.solo[min(self.solo)].own.mean() < 0.8 * best else "no"

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            "world": self.world,
            "players": self.players,
            "network_version": NETWORK_VERSION,
            "failure": self.failure,
            "impatience": self.impatience,
            "settings": {
                name: {
                    "cooperating": setting.cooperating,
                    "temptation": _shown(setting.temptation()),
                    "cooperator": _told(setting.cooperator),
                    "defector": _told(setting.defector),
                    "learner": {
                        str(discount): {
                            **_told(response),
                            "kindness": _shown(setting.kindness(discount)),
                        }
                        for discount, response in setting.learners.items()
                    },
                }
                for name, setting in self.settings.items()
            },
            "solo": {
                "cooperator": _told(self.solo_cooperator),
                "defector": _told(self.solo_defector),
                "learner": {str(d): _told(response) for d, response in self.solo.items()},
            },
        }


def verdict(
    world: str,
    *,
    discounts: Sequence[float] = DISCOUNTS,
    seeds: Sequence[int] = (0, 1),
    steps: int = 500_000,
    episodes: int = 30,
    tell: Tell = lambda stage: None,
) -> Verdict:
    """Trains best responses beside no, half and all cooperators, and alone."""
    env = catalogue.make(world)

    def trained(env: Any, others: str, what: str) -> dict[float, Response]:
        def told(done: int, updates: int) -> None:
            tell(f"{what}: update {done} of {updates}")

        found = best_responses(
            env, others, discounts=discounts, seeds=seeds, steps=steps, tell=told
        )
        return dict(zip(discounts, found, strict=True))

    @cache
    def setting(cooperating: int) -> Setting:
        others = " ".join([COOPERATOR] * cooperating + [DEFECTOR] * (beside - cooperating))
        return Setting(
            cooperating,
            trained(env, others, f"{cooperating} of {beside} others cooperate"),
            scripted_response(env, COOPERATOR, others, episodes=episodes),
            scripted_response(env, DEFECTOR, others, episodes=episodes),
        )

    beside = env.players - 1
    counts = {"none": 0, "half": (beside + 1) // 2, "all": beside}
    settings = {name: setting(cooperating) for name, cooperating in counts.items()}
    alone = catalogue.make(world, players=1)
    return Verdict(
        env.id,
        env.players,
        settings,
        trained(alone, "", "alone"),
        scripted_response(alone, COOPERATOR, "", episodes=episodes),
        scripted_response(alone, DEFECTOR, "", episodes=episodes),
    )


def failure(among_defectors: Estimate | None, among_cooperators: Estimate | None) -> str:
    """Which failure it is, from what defecting earns more; where nothing differs, either pays."""
    return FAILURES[_pays(among_defectors), _pays(among_cooperators)]


def _pays(temptation: Estimate | None) -> str:
    """What pays where defecting earns so much more; either, where the interval holds zero."""
    if temptation is None or not (temptation.above_zero or temptation.below_zero):
        return "either"
    return "defect" if temptation.above_zero else "cooperate"


def _told(response: Response) -> dict[str, Any]:
    return {
        "own": _shown(over_episodes(response.own)),
        "others": _shown(over_episodes(response.others)),
    }


def _shown(found: Estimate | None) -> dict[str, float] | None:
    return None if found is None else found.as_dict()
