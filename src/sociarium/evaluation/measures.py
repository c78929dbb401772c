"""The metrics of a line-up over many episodes: of the whole society and of each kind of player."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium.arena.batch import Batch
from sociarium.arena.rollout import Tell
from sociarium.core import random
from sociarium.core.environment import Environment, compiled
from sociarium.core.episode import Episode
from sociarium.core.facets import Cooperation, find_facet
from sociarium.evaluation.lineups import LineUp
from sociarium.metrics import safety
from sociarium.metrics.bootstrap import Estimate, over_episodes
from sociarium.metrics.cooperation import rate
from sociarium.metrics.summary import by_player, overall


@dataclass(frozen=True)
class Measures:
    """Means over episodes with their intervals.

    `kinds` holds, for each seat string, the metrics of one player of that kind; `hits` how often
    players of one kind hit players of another in an episode, by attacker and then by target. Where
    players have jobs, `jobs` holds what part of all points the players of each job were left with;
    episodes without points are left out.
    """

    society: dict[str, Estimate]
    kinds: dict[str, dict[str, Estimate]]
    hits: dict[str, dict[str, float]]
    jobs: dict[str, Estimate]

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            "society": {name: value.as_dict() for name, value in self.society.items()},
            "kinds": {
                kind: {name: value.as_dict() for name, value in metrics.items()}
                for kind, metrics in self.kinds.items()
            },
            "hits": self.hits,
            "jobs": {name: value.as_dict() for name, value in self.jobs.items()},
        }


def measure(
    env: Environment[Any, Any],
    lineup: LineUp,
    *,
    episodes: int = 30,
    seed: int = 0,
    params: Any = None,
    tell: Tell = lambda played, steps: None,
) -> Measures:
    """The metrics of the line-up in its seats."""
    records = played(env, lineup, episodes=episodes, seed=seed, params=params, tell=tell)
    return measured(records, find_facet(env, Cooperation), jobs_of(env, params))


def jobs_of(env: Environment[Any, Any], params: Any = None) -> tuple[str, ...]:
    """What others are told that each player is, by seat, such as its job; nothing where untold."""
    told = [place for place, number in enumerate(env.view_spec.own) if number.told]
    if not told:
        return ()
    params = env.params() if params is None else params
    start = compiled(env, "reset")(random.key(0), params)
    own = np.asarray(compiled(env, "observe")(start, params).own)[:, told]
    names = [env.view_spec.own[place] for place in told]
    return tuple(
        ", ".join(n.told[int(code) - n.low] for n, code in zip(names, codes, strict=True))
        for codes in own
    )


def played(
    env: Environment[Any, Any],
    lineup: LineUp,
    *,
    episodes: int,
    seed: int = 0,
    params: Any = None,
    tell: Tell = lambda played, steps: None,
) -> list[Episode]:
    """Plays and records the line-up in its seats; episode e is that of lane e."""
    kinds = tuple(dict.fromkeys(lineup))
    seating = np.tile([kinds.index(seat) for seat in lineup], (episodes, 1))
    return Batch(env, kinds, seating, seed=seed, params=params).episodes(tell)


def measured(
    episodes: list[Episode], cooperation: Cooperation | None, jobs: Sequence[str] = ()
) -> Measures:
    """The metrics of recorded episodes with one line-up; `jobs` are those of its seats."""
    society = [overall(episode, cooperation) for episode in episodes]
    players = [by_player(episode, cooperation) for episode in episodes]
    seats = np.array(episodes[0].seats)
    names = list(dict.fromkeys(episodes[0].seats))
    kinds = {name: [_of(row, seats == name) for row in players] for name in names}
    hits = np.mean([safety.hits(episode) for episode in episodes], axis=0)
    return Measures(
        society=_estimates(society),
        kinds={name: _estimates(rows) for name, rows in kinds.items()},
        hits={
            one: {two: float(hits[np.ix_(seats == one, seats == two)].sum()) for two in names}
            for one in names
        },
        jobs=_shares(episodes, np.array(jobs)),
    )


def _shares(episodes: list[Episode], jobs: np.ndarray) -> dict[str, Estimate]:
    """What part of all points the players of each job were left with."""
    left = np.array([episode.reward_returns for episode in episodes], np.float64)
    left = left[left.sum(1) != 0]
    shares = left / left.sum(1, keepdims=True)
    names = dict.fromkeys(jobs.tolist()) if len(left) else {}
    return {name: over_episodes(shares[:, jobs == name].sum(1)) for name in names}


def _of(players: dict[str, Float[np.ndarray, " players"]], chosen: np.ndarray) -> dict[str, float]:
    """The metrics of the average chosen player; cooperation is acts per opportunity of all."""
    means = {name: float(values[chosen].mean()) for name, values in players.items()}
    pooled = rate(np.array([means["acts"]]), np.array([means["opportunities"]]))
    return {**means, "cooperation": float(pooled[0])}


def _estimates(rows: list[dict[str, float]]) -> dict[str, Estimate]:
    return {name: over_episodes(np.array([row[name] for row in rows])) for name in rows[0]}
