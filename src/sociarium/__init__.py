"""Sociarium: a terrarium for societies of minds.

    import sociarium
    env = sociarium.make("clean_up", players=3)
    episode = sociarium.rollout(env, ["script:cooperator", "script:cooperator", "script:defector"])
    episode.raw_returns                       # what the world paid each player
    sociarium.save_film(episode, "film.gif")  # in a notebook: episode.film()

Names are loaded when they are first used, so importing the package is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sociarium.arena.lanes import Lanes as Lanes
    from sociarium.arena.match import Match as Match
    from sociarium.arena.percepts import percept_at as percept_at
    from sociarium.arena.replay import Replay as Replay
    from sociarium.arena.rollout import rollout as rollout
    from sociarium.arena.screening import save_film as save_film
    from sociarium.arena.session import Session as Session
    from sociarium.catalogue import make as make
    from sociarium.charters.society import Society as Society
    from sociarium.conformance.contract import check as check
    from sociarium.core.actions import find_action as find_action
    from sociarium.core.decision import Decision as Decision
    from sociarium.core.environment import Environment as Environment
    from sociarium.core.environment import Transition as Transition
    from sociarium.core.environment import View as View
    from sociarium.core.episode import Episode as Episode
    from sociarium.core.percept import Percept as Percept
    from sociarium.core.random import key as key
    from sociarium.evaluation.analyses import study as study
    from sociarium.evaluation.analyses.measures import measure as measure
    from sociarium.language.models.function_model import FunctionModel as FunctionModel
    from sociarium.language.models.runtime import use_models as use_models
    from sociarium.language.prompts import PromptWriter as PromptWriter
    from sociarium.machine import configure as configure
    from sociarium.players.policy import load_policy as load_policy
    from sociarium.players.protocol import HostPlayer as HostPlayer
    from sociarium.players.protocol import PurePlayer as PurePlayer
    from sociarium.players.roster import script as script
    from sociarium.runs import Run as Run
    from sociarium.runs import train as train

__version__ = "0.1.0.dev0"

_HOMES = {
    "make": "sociarium.catalogue",
    "key": "sociarium.core.random",
    "check": "sociarium.conformance.contract",
    "configure": "sociarium.machine",
    "Lanes": "sociarium.arena.lanes",
    "rollout": "sociarium.arena.rollout",
    "measure": "sociarium.evaluation.analyses.measures",
    "Match": "sociarium.arena.match",
    "Replay": "sociarium.arena.replay",
    "percept_at": "sociarium.arena.percepts",
    "PromptWriter": "sociarium.language.prompts",
    "FunctionModel": "sociarium.language.models.function_model",
    "use_models": "sociarium.language.models.runtime",
    "train": "sociarium.runs",
    "Run": "sociarium.runs",
    "script": "sociarium.players.roster",
    "Society": "sociarium.charters.society",
    "Environment": "sociarium.core.environment",
    "View": "sociarium.core.environment",
    "Transition": "sociarium.core.environment",
    "Episode": "sociarium.core.episode",
    "Session": "sociarium.arena.session",
    "Percept": "sociarium.core.percept",
    "Decision": "sociarium.core.decision",
    "HostPlayer": "sociarium.players.protocol",
    "PurePlayer": "sociarium.players.protocol",
    "load_policy": "sociarium.players.policy",
    "save_film": "sociarium.arena.screening",
    "study": "sociarium.evaluation.analyses",
    "find_action": "sociarium.core.actions",
}
__all__ = [
    "Decision",
    "Environment",
    "Episode",
    "HostPlayer",
    "Lanes",
    "Match",
    "Percept",
    "PurePlayer",
    "Replay",
    "Run",
    "Session",
    "Society",
    "Transition",
    "View",
    "check",
    "configure",
    "find_action",
    "key",
    "load_policy",
    "make",
    "measure",
    "rollout",
    "save_film",
    "script",
    "study",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sociarium' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
