"""What a suite can measure in an episode, by the words of its metrics.

return, reward      of one player, on average: what the world paid, and what the charter left
cooperation         acts for each opportunity, as the world defines them
count:EVENT         how often it was done by one player, on average
aimed:EVENT:SEAT    of all times, the share that was done to the player in a seat
end:GAUGE           the level in the end; mean:GAUGE over the episode
optimum             points of all, and what counts of what is left, for each of the bound
collective_return, equality, peace, ...   of the society as a whole, as `sociarium measure` has
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sociarium.core.environment import Environment
from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.facets import Bounds, Cooperation, find_facet
from sociarium.metrics.cooperation import cooperation, rate
from sociarium.metrics.summary import overall

OF_PLAYERS = ("return", "reward", "cooperation")
WITH_NAMES = ("count:EVENT", "aimed:EVENT:SEAT", "end:GAUGE", "mean:GAUGE")
MOST_BOUNDS = 1000
_BOUNDS: dict[tuple[str, int, str], float] = {}
Value = float | tuple[float, float]  # a number, or how often of how many times


def measured(
    episode: Episode, env: Environment[Any, Any], measure: str, seats: Sequence[int]
) -> Value:
    """One measure of an episode, for the players in these seats where it is about players."""
    word, _, rest = measure.partition(":")
    chosen = np.array(list(seats), int)
    if not len(chosen) and word in (*OF_PLAYERS, "count", "aimed"):
        raise BadArgument(f"{measure} is about players, and nobody is meant: see `of`")
    match word:
        case "return":
            return float(episode.raw.sum(0, dtype=np.float64)[chosen].mean())
        case "reward":
            return float(episode.reward.sum(0, dtype=np.float64)[chosen].mean())
        case "cooperation":
            done = cooperation(episode, find_facet(env, Cooperation))
            sums = [np.array([x[chosen].sum()]) for x in (done.acts, done.opportunities)]
            return float(rate(*sums)[0])
        case "count":
            name = _known("event", rest, [spec.name for spec in env.event_specs])
            return float(episode.events.by_actor(episode.players, name)[chosen].mean())
        case "aimed":
            return _aimed(episode, env, rest, chosen)
        case "end" | "mean":
            level = episode.gauges[_known("gauge", rest, [g.name for g in env.gauge_specs])]
            return float(level[-1] if word == "end" else level.mean()) if len(level) else 0.0
        case "optimum":
            return _share_of_bound(episode, env)
    society = overall(episode, find_facet(env, Cooperation))
    return float(society[_known("measure", measure, [*OF_PLAYERS, *WITH_NAMES, *society])])


def _known(kind: str, name: str, names: Sequence[str]) -> str:
    if name not in names:
        raise UnknownName(kind, name, tuple(names))
    return name


def _aimed(
    episode: Episode, env: Environment[Any, Any], rest: str, chosen: np.ndarray
) -> tuple[float, float]:
    event, _, seat = rest.rpartition(":")
    _known("event", event, [spec.name for spec in env.event_specs])
    if not seat.isdigit() or int(seat) >= episode.players:
        raise BadArgument(
            f"aimed:EVENT:SEAT names a seat of 0 to {episode.players - 1}; given {rest!r}"
        )
    events = episode.events
    rows = (events.kind == [spec.name for spec in events.specs].index(event)) & np.isin(
        events.actor, chosen
    )
    at_all = rows & (events.target >= 0)
    return float((at_all & (events.target == int(seat))).sum()), float(at_all.sum())


def _share_of_bound(episode: Episode, env: Environment[Any, Any]) -> float:
    if not env.has(Bounds):
        raise BadArgument(f"{env.id} has no bound, so there is no share of it")
    bounds = env.facet(Bounds)
    left = float(episode.gauges[bounds.left][-1]) if bounds.left else 0.0
    total = _bound(env, episode.seed, episode.params)
    return (float(episode.raw.sum(dtype=np.float64)) + left) / total


def _bound(env: Environment[Any, Any], seed: int, params: Any) -> float:
    """The first of the bounds, which is worked out once for equal parameters and seeds."""
    name = (env.id, seed, str(params))
    if name not in _BOUNDS:
        if len(_BOUNDS) >= MOST_BOUNDS:
            _BOUNDS.clear()
        _BOUNDS[name] = next(iter(env.facet(Bounds).of(params, seed).values())).total
    return _BOUNDS[name]
