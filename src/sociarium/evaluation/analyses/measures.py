"""The metrics of a line-up over many episodes: of the whole society and of each kind of player."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium.arena.batch import Batch
from sociarium.arena.screening import PlayedEpisode
from sociarium.arena.seating import Chair, Seats, chairs_for, world_for
from sociarium.core import random
from sociarium.core.devices import Device
from sociarium.core.environment import Environment, compiled
from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument
from sociarium.core.facets import Cooperation, find_facet
from sociarium.metrics import safety
from sociarium.metrics.bootstrap import Estimate, over_episodes
from sociarium.metrics.cooperation import rate
from sociarium.metrics.summary import by_player, overall
from sociarium.views.progress import OnProgress, silent, watched


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        lines = [f"{name.replace('_', ' ')}: {value}" for name, value in self.society.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The society's numbers, and those of one player of each kind."""
        society = [(name, (str(value),)) for name, value in self.society.items()]
        first = next(iter(self.kinds.values()))
        kinds = [(n, tuple(str(k[n]) for k in self.kinds.values())) for n in first]
        return _table("society", ("mean [95% interval]",), society) + _table(
            "one player", tuple(self.kinds), kinds
        )

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
    env: Environment[Any, Any] | str,
    seats: Seats,
    *,
    episodes: int = 30,
    seed: int = 0,
    params: Any = None,
    devices: Sequence[Device] | None = None,
    on_progress: OnProgress | None = None,
) -> Measures:
    """Plays a line-up many times, all episodes at once, and measures it.

    >>> measure("clean_up", "script:cooperator*5 script:defector*2", episodes=20)

    `seats` are as in `rollout`. Means are over episodes, with 95% intervals. Without
    `on_progress` a bar shows how far it is, in a terminal and in a notebook.
    """
    if episodes < 1:
        raise BadArgument(f"episodes is 1 or more; given {episodes}")
    env = world_for(env, seats)
    chairs = chairs_for(env, seats)
    with watched(on_progress, f"{env.id}, {env.players} players") as told:
        records = played(
            env,
            chairs,
            episodes=episodes,
            seed=seed,
            params=params,
            devices=devices,
            on_progress=told,
        )
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
    chairs: Sequence[Chair],
    *,
    episodes: int,
    seed: int = 0,
    params: Any = None,
    devices: Sequence[Device] | None = None,
    on_progress: OnProgress = silent,
) -> list[PlayedEpisode]:
    """Plays and records the line-up in its seats; episode e is that of lane e."""
    seating = np.tile(np.arange(len(chairs)), (episodes, 1))
    batch = Batch(env, chairs, seating, seed=seed, params=params, devices=devices)
    return batch.episodes(on_progress)


def measured(
    episodes: Sequence[Episode], cooperation: Cooperation | None, jobs: Sequence[str] = ()
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


def _shares(episodes: Sequence[Episode], jobs: np.ndarray) -> dict[str, Estimate]:
    """What part of all points the players of each job were left with."""
    left = np.array([episode.reward_returns for episode in episodes], np.float64)
    left = left[left.sum(1) != 0]
    shares = left / left.sum(1, keepdims=True)
    names = dict.fromkeys(jobs.tolist()) if len(left) else {}
    return {name: over_episodes(shares[:, jobs == name].sum(1)) for name in names}


def _table(head: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A table for a notebook."""
    cells = [(head, *columns), *((name.replace("_", " "), *values) for name, values in rows)]
    lines = [
        "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in line)
        for tag, line in zip(["th"] + ["td"] * len(rows), cells, strict=True)
    ]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _of(players: dict[str, Float[np.ndarray, " players"]], chosen: np.ndarray) -> dict[str, float]:
    """The metrics of the average chosen player; cooperation is acts per opportunity of all."""
    means = {name: float(values[chosen].mean()) for name, values in players.items()}
    if "cooperation" not in means:
        return means
    pooled = rate(np.array([means["acts"]]), np.array([means["opportunities"]]))
    return {**means, "cooperation": float(pooled[0])}


def _estimates(rows: list[dict[str, float]]) -> dict[str, Estimate]:
    return {name: over_episodes(np.array([row[name] for row in rows])) for name in rows[0]}
