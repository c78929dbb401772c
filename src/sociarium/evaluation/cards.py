"""Cooperation cards: what a world pays for cooperating and defecting, beside four controls.

The controls separate the dilemma from skill: *solo* plays without others, *idle* among others who
stay where they are, and the *planner* is whichever line-up of scripts earns most together. *Random*
play and the planner are what learners' returns are held against.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sociarium import catalogue
from sociarium.arena.seating import demonstration
from sociarium.core.environment import Environment
from sociarium.evaluation.baselines import RANDOM, Baseline, baseline, best_baseline
from sociarium.evaluation.mixtures import LineUp, mixtures, play
from sociarium.evaluation.schelling import (
    COOPERATOR,
    DEFECTOR,
    Diagram,
    diagram,
    two_kinds,
)
from sociarium.metrics.bootstrap import Estimate, over_episodes
from sociarium.players import roster
from sociarium.views.progress import OnProgress, silent

IDLE = "idle"


@dataclass(frozen=True)
class Card:
    """The figures of one world; welfare is the sum of returns, all else the return of one player.

    `gain` is what one defector gets among cooperators above a cooperator there, `loss` what one
    cooperator misses among defectors. `planner` is the line-up of the largest mean welfare.
    """

    all_cooperate: Estimate
    all_defect: Estimate
    gain: Estimate
    loss: Estimate
    solo_cooperator: Estimate
    solo_defector: Estimate
    idle_cooperator: Estimate
    idle_defector: Estimate
    random: Baseline
    planner: Baseline
    diagram: Diagram

    def as_dict(self) -> dict[str, Any]:
        """The card as plain numbers."""
        return {
            "welfare": {
                "all_cooperate": self.all_cooperate.as_dict(),
                "all_defect": self.all_defect.as_dict(),
            },
            "gain_of_one_defector": self.gain.as_dict(),
            "loss_of_one_cooperator": self.loss.as_dict(),
            "solo": {
                "cooperator": self.solo_cooperator.as_dict(),
                "defector": self.solo_defector.as_dict(),
            },
            "idle": {
                "cooperator": self.idle_cooperator.as_dict(),
                "defector": self.idle_defector.as_dict(),
            },
            "random": self.random.as_dict(),
            "planner": self.planner.as_dict(),
            "schelling": self.diagram.as_dict(),
        }


def card(
    env: Environment[Any, Any] | str,
    alone: Environment[Any, Any],
    cooperators: str = COOPERATOR,
    defectors: str = DEFECTOR,
    *,
    idle: str = IDLE,
    cast: str = "",
    rivals: Sequence[LineUp] = (),
    episodes: int = 30,
    seed: int = 0,
    params: Any = None,
    params_alone: Any = None,
    on_progress: OnProgress = silent,
) -> Card:
    """Plays all mixtures, the controls, the demonstration's `cast`, other `rivals` and random play.

    The planner is the best of all but the controls and random play; `alone` has one player.
    """
    env = catalogue.environment(env)
    cooperator, defector = two_kinds(env, cooperators, defectors)
    (bystander,) = roster.parse(idle)
    others = (bystander,) * (env.players - 1)
    lineups = mixtures(cooperator, defector, env.players)
    among_idle = len(lineups)
    lineups += [(cooperator, *others), (defector, *others)]
    candidates = list(range(among_idle))
    shown = [roster.parse(demonstration(cast, env.players))] if cast else []
    for rival in (*shown, *rivals):
        if not any(Counter(rival) == Counter(lineup) for lineup in lineups):
            candidates.append(len(lineups))
            lineups.append(rival)
    lineups.append((RANDOM,) * env.players)

    chances = {"episodes": episodes, "seed": seed}
    played = play(
        env,
        lineups,
        params=params,
        on_progress=lambda done, steps: on_progress(done, 2 * steps),
        **chances,
    )
    solo = play(
        alone,
        [(cooperator,), (defector,)],
        params=params_alone,
        on_progress=lambda done, steps: on_progress(steps + done, 2 * steps),
        **chances,
    )
    of_cooperators, of_defectors = played.mean_of(cooperator), played.mean_of(defector)
    mixed = diagram(of_cooperators[:among_idle, None], of_defectors[:among_idle, None])
    welfare = played.welfare
    return Card(
        all_cooperate=over_episodes(welfare[env.players]),
        all_defect=over_episodes(welfare[0]),
        gain=mixed.greed,
        loss=mixed.fear,
        solo_cooperator=over_episodes(solo.welfare[0]),
        solo_defector=over_episodes(solo.welfare[1]),
        idle_cooperator=over_episodes(of_cooperators[among_idle]),
        idle_defector=over_episodes(of_defectors[among_idle + 1]),
        random=baseline(played, lineups, len(lineups) - 1),
        planner=best_baseline(played, lineups, candidates),
        diagram=mixed,
    )


def markdown(card: dict[str, Any]) -> str:
    """The table of a card's plain numbers; without a dilemma, of its two baselines."""

    def shown(value: dict[str, float]) -> str:
        return str(Estimate.read(value))

    planner = card["planner"]
    rows = [
        (f"planner: welfare of `{planner['seats']}`", shown(planner["welfare"])),
        ("random play: welfare", shown(card["random"]["welfare"])),
    ]
    if "welfare" in card:
        welfare, solo, idle = card["welfare"], card["solo"], card["idle"]
        rows = [
            ("welfare, all cooperate", shown(welfare["all_cooperate"])),
            ("welfare, all defect", shown(welfare["all_defect"])),
            ("gain of one defector among cooperators", shown(card["gain_of_one_defector"])),
            ("loss of one cooperator among defectors", shown(card["loss_of_one_cooperator"])),
            ("solo: a cooperator alone", shown(solo["cooperator"])),
            ("solo: a defector alone", shown(solo["defector"])),
            ("idle: a cooperator whose others stay", shown(idle["cooperator"])),
            ("idle: a defector whose others stay", shown(idle["defector"])),
            *rows,
        ]
    return "\n".join(
        ["| what | points an episode |", "|---|---|", *(f"| {what} | {v} |" for what, v in rows)]
    )
