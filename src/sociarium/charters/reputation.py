"""Reputation: everybody's record of keeping and breaking clauses, for all to see.

Rules
  C1  Breaking a clause counts against a player, keeping one counts for it. Both fade: each step of
      the world leaves the given part of them. The score is 1 plus what counts for a player, divided
      by 2 plus all that counts; so it begins at 50 percent.
  C2  A duty is kept or broken when its window ends. A prohibition is kept by whoever could have
      broken it and did not: where the world tells that somebody passed it up, each time it does;
      else each step in which the player may do what can cause it counts as a part of keeping it.
  C3  At second order it matters to whom something is done: what breaks a clause is not held against
      a player if its victim's score is below the given bound, and punishing somebody whose score is
      not below it counts as a breach.
  C4  Scores are told to all; they cost and earn nothing.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from sociarium.charters.article import PERCENT, Article, Circumstances, Proceedings, Shown
from sociarium.charters.clauses import Conduct, Judgement
from sociarium.core.actions import ActionSpec
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events, counts, find_event
from sociarium.core.params import CHANCE, NOT_NEGATIVE
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import GaugeSpec, PlaneSpec
from sociarium.mechanics.parts import Parts

SHEET = RuleSheet.read(__doc__)
PUNISHED = "punished"


class Params(eqx.Module):
    """What is left after a step, how many steps of restraint count as one, and who is bad."""

    decay: Float[Array, ""]
    patience: Float[Array, ""]
    bad: Float[Array, ""]
    bounds: ClassVar = {"decay": CHANCE, "patience": NOT_NEGATIVE}


class State(eqx.Module):
    """What counts for everybody and against it."""

    kept: Float[Array, " players"]
    broken: Float[Array, " players"]


class Reputation(Article[State, Params]):
    """A public score of first or second `order`."""

    name = "reputation"
    sheet = SHEET
    needs = ("law", "constitution", "pacts", "agreements")
    suits_large = True
    gauge_specs = (GaugeSpec("reputation", "everybody's score on average"),)
    own_specs = (PlaneSpec("my reputation", PERCENT),)
    tie_specs = (PlaneSpec("reputation", PERCENT),)

    def __init__(
        self,
        order: int = 1,
        decay: int | float = 0.995,
        patience: int | float = 50.0,
        bad: int | float = 0.4,
    ) -> None:
        if order not in (1, 2):
            raise BadArgument(f"order must be 1 or 2; given {order}")
        if not (0 <= decay <= 1 and patience > 0 and 0 <= bad <= 1):
            raise BadArgument(
                "decay and bad must be 0 to 1 and patience above 0; given "
                f"{decay}, {bad} and {patience}"
            )
        self.order, self.decay, self.patience, self.bad = order, decay, patience, bad

    def bind(self, world: Environment[Any, Any], before: tuple[Article[Any, Any], ...]) -> None:
        """What the articles before it judge."""
        self.judged = tuple(one for article in before for one in article.judgements)
        self.events = (*world.event_specs, *(s for a in before for s in a.event_specs))
        self.punishes = any(spec.name == PUNISHED for spec in self.events)
        self.can_cause = {
            one.broke: _causing(world.actions, one.conduct.spec.causes)
            for one in self.judged
            if one.conduct
        }

    def defaults(self) -> Params:
        """Decay, patience and bound."""
        return Params(jnp.float32(self.decay), jnp.float32(self.patience), jnp.float32(self.bad))

    def begin(self, key: Any, now: Circumstances, params: Params) -> State:
        """Nothing is known of anybody."""
        return State(jnp.zeros(self.players), jnp.zeros(self.players))

    def score(self, state: State) -> Float[Array, " players"]:
        """Everybody's score, 0 to 1 (C1)."""
        return (1 + state.kept) / (2 + state.kept + state.broken)

    def adjust(
        self, parts: Parts, state: State, step: Proceedings, params: Params
    ) -> tuple[Parts, State, Events]:
        """What was kept and broken in this step (C1 to C3)."""
        good = self.score(state) >= params.bad
        kept, broken = jnp.zeros(self.players), jnp.zeros(self.players)
        for one in self.judged:
            breaches = step.events[one.broke].mask
            kept += self._kept(one, breaches, step, params)
            if self.order == 2 and one.conduct and one.conduct.has_victim:
                breaches &= one.conduct.inflicted(step.events, self.players, good) > 0
            broken += breaches
        if self.order == 2 and self.punishes:
            spec = find_event(self.events, PUNISHED)
            broken += Conduct(spec).inflicted(step.events, self.players, good)
        fade = jnp.where(step.now.paused, 1.0, params.decay)
        return parts, State(fade * state.kept + kept, fade * state.broken + broken), {}

    def _kept(
        self,
        one: Judgement,
        breaches: Bool[Array, " players"],
        step: Proceedings,
        params: Params,
    ) -> Float[Array, " players"]:
        """How much everybody kept of this (C2)."""
        if one.kept:
            return step.events[one.kept].mask / (params.patience if one.steady else 1.0)
        assert one.conduct is not None
        if passed_up := one.conduct.spec.passed_up:
            spec = find_event(self.events, passed_up)
            return counts(step.events[passed_up], spec, self.players).astype(jnp.float32)
        could = (step.legal & jnp.asarray(self.can_cause[one.broke])[None]).any(1)
        return (could & ~breaches & ~step.now.paused) / params.patience

    def _percent(self, state: State) -> Array:
        return jnp.round(100 * self.score(state)).astype(jnp.uint8)

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """One's own score, and everybody's (C4)."""
        percent = self._percent(state)[:, None]
        return self.shown(percent, self.of_contacts(percent, now))

    def gauges(self, state: State, now: Circumstances, params: Params) -> dict[str, Any]:
        """The mean."""
        return {"reputation": self.score(state).mean()}


def _causing(actions: tuple[ActionSpec, ...], causes: tuple[str, ...]) -> np.ndarray:
    """Which actions can cause it; any, where the world does not tell."""
    return np.array([not causes or action.verb in causes for action in actions])
