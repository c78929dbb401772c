"""What a learner's return is held against: random play, and the best line-up of scripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sociarium.core.environment import Environment
from sociarium.evaluation.mixtures import LineUp, Played, play, seat_string
from sociarium.metrics.bootstrap import Estimate, over_episodes
from sociarium.players import roster
from sociarium.players.roster import Seat
from sociarium.players.scripted.known import scripts
from sociarium.views.progress import OnProgress, silent

RANDOM = Seat("random")


@dataclass(frozen=True)
class Baseline:
    """A line-up without a learner: what all earn together, and its acts per opportunity."""

    seats: str
    welfare: Estimate
    cooperation: float | None

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            "seats": self.seats,
            "welfare": self.welfare.as_dict(),
            "cooperation": self.cooperation,
        }


def rivals(env: Environment[Any, Any], cast: str) -> list[LineUp]:
    """Every script of a world in all seats, as it is and with each of the options of its cast."""
    given = dict.fromkeys([(), *(seat.options for seat in roster.parse(cast))])
    names = [name for name in scripts(env) if name not in roster.kinds()]
    return [(Seat("script", name, options),) * env.players for name in names for options in given]


def baseline(played: Played, lineups: Sequence[LineUp], at: int) -> Baseline:
    """One of the line-ups that were played."""
    welfare = over_episodes(played.welfare[at])
    return Baseline(seat_string(lineups[at]), welfare, played.cooperation(at))


def best_baseline(played: Played, lineups: Sequence[LineUp], candidates: Sequence[int]) -> Baseline:
    """The candidate of the largest mean welfare, picked after the fact.

    Its interval is that of the line-up, not of the choice.
    """
    best = max(candidates, key=lambda lineup: played.welfare[lineup].mean())
    return baseline(played, lineups, best)


def baselines(
    env: Environment[Any, Any],
    scripts: Sequence[LineUp],
    *,
    episodes: int = 30,
    seed: int = 0,
    params: Any = None,
    on_progress: OnProgress = silent,
) -> tuple[Baseline, Baseline]:
    """Random play, and the best of the line-ups of scripts."""
    lineups = [*scripts, (RANDOM,) * env.players]
    played = play(
        env, lineups, episodes=episodes, seed=seed, params=params, on_progress=on_progress
    )
    last = len(scripts)
    return baseline(played, lineups, last), best_baseline(played, lineups, range(last))
