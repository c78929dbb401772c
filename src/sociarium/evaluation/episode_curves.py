"""How an episode goes, at some points of it: what was earned so far, and the levels of gauges."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from sociarium.arena.clocks import rounds_of
from sociarium.core.environment import Environment
from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.evaluation.suite import ArmTerms, SuiteCurve


def curve_axis(terms: ArmTerms) -> tuple[str, float]:
    """By what an arm's curves go, and how far: rounds where it has turns that end, else steps.

    Where terms do not say how many steps there are it is the share of the world's own episode.
    """
    if rounds := rounds_of(terms.clock, terms.ends):
        return "rounds", float(rounds)
    told = [x for x in (terms.steps, terms.params.get("horizon")) if isinstance(x, int | float)]
    return ("steps", float(min(told))) if told else ("share of the episode", 1.0)


def curve_points(
    episode: Episode,
    env: Environment[Any, Any],
    curve: SuiteCurve,
    terms: ArmTerms,
    seats: Sequence[int],
    rounds: Int[np.ndarray, " moments"],
) -> tuple[float, ...]:
    """The curve at the start and at as many points as it has; once the episode is over, the end.

    `rounds` are how many were over before each step and in the end.
    """
    axis, far = curve_axis(terms)
    passed = rounds if axis == "rounds" else np.arange(len(episode) + 1)
    if axis not in ("rounds", "steps"):
        far = float(env.horizon(env.params(**terms.params)))
    wanted = np.linspace(0, far, curve.points + 1)
    at = np.minimum(np.searchsorted(passed, wanted), len(episode))
    return tuple(_levels(episode, env, curve.measure, np.array(seats, int))[at].tolist())


def _levels(
    episode: Episode, env: Environment[Any, Any], measure: str, seats: Int[np.ndarray, " some"]
) -> Float[np.ndarray, " moments"]:
    """At the start, and after each step."""
    word, _, name = measure.partition(":")
    if word == "gauge":
        if name not in episode.gauges:
            raise UnknownName("gauge", name, tuple(spec.name for spec in env.gauge_specs))
        level = episode.gauges[name].astype(np.float64)
        return np.concatenate([level[:1], level])
    gained = np.zeros(len(episode))
    if word == "return":
        gained = episode.raw[:, seats].mean(1, dtype=np.float64)
    elif word == "count":
        rows = episode.events.of(name)
        mine = np.isin(rows.actor, seats)
        gained = np.bincount(rows.step[mine], minlength=len(episode)) / len(seats)
    else:
        raise BadArgument(f"a curve is of return, count:EVENT or gauge:NAME; given {measure!r}")
    return np.concatenate([[0.0], np.cumsum(gained)])
