"""What a suite can measure in an episode, by the words of its metrics.

return, reward      of one player, on average: what the world paid, and what the charter left
cooperation         acts for each opportunity, as the world defines them
count:EVENT         how often it was done by one player, on average
aimed:EVENT:SEAT    of all times, the share that was done to the player in a seat
player:NAME         what `sociarium measure` has of one player, such as attacks_effective
hit_share           of all attacks, those that hit somebody
last_apples:WHAT    approach and take of last apples of trees, take_other of others: shares;
                    restraint is the share taken beside that of other apples
end:GAUGE           the level in the end; mean:GAUGE over the episode
lasts:GAUGE         the steps in which it is above 0
share:GAUGE:OTHER   in the end, the first of both together; undefined until the world ends
optimum             points of all, and what counts of what is left, for each of the bound;
                    optimum:NAME of the bound of this name, undefined until the world ends
collective_return, equality, peace, ...   of the society as a whole, as `sociarium measure` has
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jaxtyping import Bool

from sociarium.core.environment import Environment
from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.facets import Bounds, Cooperation, find_facet
from sociarium.evaluation.values import Value
from sociarium.metrics import safety
from sociarium.metrics.cooperation import cooperation, rate
from sociarium.metrics.last_apples import AppleWalks, LastAppleCounts, Orchard, last_apples
from sociarium.metrics.summary import by_player, overall

if TYPE_CHECKING:
    from sociarium.arena.screening import PlayedEpisode

OF_PLAYERS = ("return", "reward", "cooperation", "hit_share")
WITH_NAMES = (
    "count:EVENT",
    "aimed:EVENT:SEAT",
    "player:NAME",
    "last_apples:WHAT",
    "end:GAUGE",
    "mean:GAUGE",
    "lasts:GAUGE",
    "share:GAUGE:OTHER",
    "optimum:BOUND",
)
NAMED_PLAYERS = ("count", "aimed", "player", "last_apples")
LAST_APPLES = ("approach", "take", "take_other", "restraint")
MOST_BOUNDS = 1000
_BOUNDS: dict[tuple[str, int, str], dict[str, float]] = {}
Moves = Bool[np.ndarray, "time players"]


def measured(
    episode: Episode,
    env: Environment[Any, Any],
    measure: str,
    seats: Sequence[int],
    moves: Moves | None = None,
) -> Value:
    """One measure of an episode, for the players in these seats where it is about players.

    What is undefined is NaN, or a share of no times. `moves` has who could move in each step.
    """
    word, _, rest = measure.partition(":")
    chosen = np.array(list(seats), int)
    if not len(chosen) and word in (*OF_PLAYERS, *NAMED_PLAYERS):
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
        case "player":
            own = by_player(episode, find_facet(env, Cooperation))
            return float(own[_known("measure of a player", rest, list(own))][chosen].mean())
        case "hit_share":
            hit, fired = safety.effective(episode), safety.fired(episode)
            return float(hit[chosen].sum()), float(fired[chosen].sum())
        case "last_apples":
            found = last_apples_of(episode, env, moves)
            return _of_last_apples(_known("measure", rest, LAST_APPLES), found, chosen)
        case "end" | "mean" | "lasts":
            level = episode.gauges[_known("gauge", rest, [g.name for g in env.gauge_specs])]
            if word == "lasts":
                return float((level > 0).sum())
            return float(level[-1] if word == "end" else level.mean()) if len(level) else 0.0
        case "share":
            return _share_of_gauges(episode, env, rest) if _is_over(episode) else math.nan
        case "optimum":
            whole = not rest or _is_over(episode)
            return _share_of_bound(episode, env, rest) if whole else math.nan
    society = overall(episode, find_facet(env, Cooperation))
    return float(society[_known("measure", measure, [*OF_PLAYERS, *WITH_NAMES, *society])])


def _is_over(episode: Episode) -> bool:
    """Whether the world ended it, and not whoever stopped the match."""
    return bool(len(episode)) and bool((episode.truncated | episode.terminated)[-1])


def _known(kind: str, name: str, names: Sequence[str]) -> str:
    if name not in names:
        raise UnknownName(kind, name, tuple(names))
    return name


def last_apples_of(
    episode: Episode, env: Environment[Any, Any], moves: Moves | None = None
) -> LastAppleCounts:
    """Who approached and took last apples, in a world of trees."""
    if not hasattr(env, "plot_cells") or not hasattr(episode, "states"):
        raise BadArgument(f"last apples are measured in Harvest without a charter, not in {env.id}")
    orchard, played = _orchard(env), cast("PlayedEpisode", episode)
    states = played.states
    ate = episode.events.of("ate")
    tree = np.zeros(orchard.shape, int)
    tree.flat[orchard.cells] = orchard.tree
    took = np.zeros((*episode.actions.shape, orchard.trees), bool)
    took[ate.step, ate.actor, tree[ate.row, ate.col]] = True
    out = np.asarray(states.away) > 0
    walks = AppleWalks(
        cell=np.where(out, np.prod(orchard.shape), np.asarray(states.body)),
        heading=np.asarray(states.heading),
        apples=np.asarray(states.apple),
        took=took,
        moves=np.ones(episode.actions.shape, bool) if moves is None else moves,
    )
    return last_apples(orchard, walks)


@lru_cache(maxsize=8)
def _orchard(env: Any) -> Orchard:
    rows, cols = env.view_spec.rows, env.view_spec.cols
    ahead, aside = env.view_spec.ego_origin
    if 2 * aside + 1 != cols:
        raise BadArgument(f"{env.id} has windows that do not reach as far to both sides")
    window = (ahead, rows - 1 - ahead, aside)
    return Orchard.on_map(env.glyphs == "#", env.plot_cells, env.patch, window)


def _of_last_apples(what: str, found: LastAppleCounts, chosen: np.ndarray) -> Value:
    counts = {
        "approach": (found.approached, found.nearest),
        "take": (found.taken, found.chances),
        "take_other": (found.other_taken, found.other_chances),
    }
    if what not in counts:
        return found.restraint(chosen)
    done, times = counts[what]
    return float(done[chosen].sum()), float(times[chosen].sum())


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


def _share_of_gauges(episode: Episode, env: Environment[Any, Any], rest: str) -> float:
    """The first of two levels in the end, of both; NaN where both are 0."""
    names = [_known("gauge", name, [g.name for g in env.gauge_specs]) for name in rest.split(":")]
    if len(names) != 2:
        raise BadArgument(f"share:GAUGE:OTHER is of two gauges; given {rest!r}")
    ends = [float(episode.gauges[name][-1]) if len(episode) else 0.0 for name in names]
    return ends[0] / sum(ends) if sum(ends) else math.nan


def _share_of_bound(episode: Episode, env: Environment[Any, Any], name: str) -> float:
    """Of the first bound if none is named; NaN if the one named takes a solver that is absent."""
    if not env.has(Bounds):
        raise BadArgument(f"{env.id} has no bound, so there is no share of it")
    bounds = env.facet(Bounds)
    left = float(episode.gauges[bounds.left][-1]) if bounds.left else 0.0
    totals = _totals(env, episode.seed, episode.params)
    total = totals.get(name, math.nan) if name else next(iter(totals.values()))
    return (float(episode.raw.sum(dtype=np.float64)) + left) / total


def _totals(env: Environment[Any, Any], seed: int, params: Any) -> dict[str, float]:
    """The bounds by name, which are worked out once for equal parameters and seeds."""
    known = (env.id, seed, str(params))
    if known not in _BOUNDS:
        if len(_BOUNDS) >= MOST_BOUNDS:
            _BOUNDS.clear()
        bounds = env.facet(Bounds).of(params, seed)
        _BOUNDS[known] = {name: bound.total for name, bound in bounds.items()}
    return _BOUNDS[known]
