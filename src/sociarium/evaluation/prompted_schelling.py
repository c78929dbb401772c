"""Schelling diagrams of language models that are told to cooperate or to defect.

The mixtures are the line-ups of a suite with two contestants, one model with two goals; so they can
be stopped and taken up again, and all calls are recorded.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sociarium.charters.society import Society
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.schelling import Diagram, diagram, two_kinds
from sociarium.evaluation.suite import ArmTerms, Metric, Suite, SuiteArm, contestant
from sociarium.evaluation.suite_run import SuiteRun, UnitResult
from sociarium.players import roster
from sociarium.views.progress import OnProgress

GOALS = "cooperate", "defect"
EARNED = "earned"


def prompted_seats(model: str) -> tuple[str, str]:
    """The seats of a model that is told to cooperate, and of the same one told to defect."""
    seats = [contestant(model, f"?goal={goal}") for goal in GOALS]
    if any(roster.chair(seat).kind != "llm" for seat in seats):
        raise BadArgument(
            "--model is an alias of a language model, as in --model MY_ALIAS or --model fake; "
            f"given {model!r}. Other players are given by --cooperators and --defectors"
        )
    return seats[0], seats[1]


def mixture_suite(world: str, env: Environment[Any, Any], steps: int | None = None) -> Suite:
    """The suite of all mixtures of two contestants; in a society of what its charter leaves."""
    terms = ArmTerms(steps=steps, lineups="mixtures")
    arm = SuiteArm(id="mixtures", world=world, seats=f"{{model}}*{env.players}", terms=terms)
    measure = "reward" if isinstance(env, Society) else "return"
    return Suite(
        id="schelling",
        title=f"What cooperating and defecting pay in {world}",
        defaults=terms,
        arm=(arm,),
        metric=(Metric(id=EARNED, measure=measure),),
    )


def play_mixtures(
    world: str,
    env: Environment[Any, Any],
    cooperators: str,
    defectors: str,
    out: Path,
    *,
    episodes: int,
    steps: int | None = None,
    on_progress: OnProgress | None = None,
) -> Diagram:
    """Plays what is left of all mixtures in a folder, and draws the diagram.

    Episode e of every mixture has the seed e, by which seats turn.
    """
    two_kinds(env, cooperators, defectors)
    run = SuiteRun(mixture_suite(world, env, steps), [cooperators, defectors], out, episodes)
    run.begin()
    done = run.play(on_progress)
    results = [done[unit.key] for unit in run.units]
    return diagram_of(results, cooperators, defectors, env.players, episodes)


def diagram_of(
    results: Iterable[UnitResult], cooperators: str, defectors: str, players: int, episodes: int
) -> Diagram:
    """The diagram of what both contestants earned in every line-up."""
    earned = {who: np.full((players + 1, 1, episodes), np.nan) for who in (cooperators, defectors)}
    for one in results:
        earned[one.model][one.lineup.count(cooperators), 0, one.seed] = one.values[EARNED]
    return diagram(earned[cooperators], earned[defectors])
