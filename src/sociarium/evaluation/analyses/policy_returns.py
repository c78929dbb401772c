"""How trained policies do when they fill a world: returns and cooperation, seed by seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.core.environment import Environment
from sociarium.core.facets import Cooperation, find_facet
from sociarium.evaluation.experiments.design import Condition, Design, LineUp
from sociarium.evaluation.experiments.execution import play
from sociarium.metrics.bootstrap import Estimate, over_seeds
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent

HELD_OUT = 1_000_000  # seed of episodes that nobody trained in


@dataclass(frozen=True)
class PolicyReturns:
    """What each seed's policy earned and did, playing with copies of itself."""

    returns: Float[np.ndarray, "seeds episodes"]  # of all players together
    acts: Float[np.ndarray, "seeds episodes"]  # opportunities to cooperate taken
    refusals: Float[np.ndarray, "seeds episodes"]  # and passed up
    has_rate: bool = True  # whether anything passes one up

    @property
    def collective(self) -> Estimate:
        """The return of all players together, with its interval over training seeds."""
        return over_seeds(self.returns.mean(1))

    @property
    def cooperation(self) -> float | None:
        """Acts for each opportunity, over all seeds and episodes; nothing where there was none."""
        chances = float(self.acts.sum() + self.refusals.sum())
        return float(self.acts.sum()) / chances if self.has_rate and chances else None

    @staticmethod
    def told(cooperation: float | None, opportunities: float | None = None) -> str:
        """The rate of cooperation in a table, with opportunities an episode where they are stored.

        Only totals over all seeds are stored, so it has no interval.
        """
        if cooperation is None:
            return ""
        chances = "" if opportunities is None else f" of {opportunities:.1f}"
        return f"{cooperation:.2f}{chances}"

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            "collective": self.collective.as_dict(),
            "cooperation": self.cooperation,
            "by_seed": self.returns.mean(1).tolist(),
            "acts": float(self.acts.mean()),
            "refusals": float(self.refusals.mean()),
            "episodes": self.returns.shape[1],
        }


def policies_of(folder: str, seeds: tuple[int, ...]) -> list[Seat]:
    """The seats of a run's policies, one for each seed."""
    return [Seat("policy", folder, (("seed", str(number)),)) for number in seeds]


def policy_returns(
    env: Environment[Any, Any] | str,
    folder: str,
    seeds: tuple[int, ...],
    *,
    episodes: int = 20,
    seed: int = HELD_OUT,
    params: Any = None,
    on_progress: OnProgress = silent,
) -> PolicyReturns:
    """Plays each seed's policy in all seats, each in episodes of its own."""
    env = catalogue.environment(env)
    spec = find_facet(env, Cooperation)
    acts, refusals = (spec.acts, spec.refusals) if spec else ((), ())
    lineups = tuple(LineUp((seat,) * env.players) for seat in policies_of(folder, seeds))
    events = tuple(dict.fromkeys((*acts, *refusals)))
    design = Design(
        (Condition(env, params={} if params is None else params),),
        lineups,
        episodes,
        seed,
        seating="fixed",
        events=events,
    )
    table = play(design, on_progress=on_progress)
    has_rate = spec is not None and spec.has_rate
    taken, passed_up = (table.events_of(names)[0] for names in (acts, refusals))
    return PolicyReturns(table.welfare[0], taken, passed_up, has_rate)
