"""Collects experience in lanes of a world: learners in some seats, frozen players beside them.

Whatever the algorithm, rollouts go on the same way: see, choose, step; an episode that ends starts
over.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from sociarium.arena.lanes import Lanes, LanesState, LanesTransition, episode_keys
from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.core.events import counts, find_event, worth
from sociarium.core.facets import Cooperation, find_facet
from sociarium.learning.partners import ALONE, Partners, SeatDraw, SeatSampler
from sociarium.learning.preferences import Preference
from sociarium.mechanics.layout import merged

PHASES = 16  # groups of lanes, spread evenly over the length of an episode


def hyperparameter(default: float | int) -> Any:
    """A field of an algorithm's config that may be swept with `vmap`."""
    return eqx.field(converter=jnp.float32, default=default)


class RolloutState(eqx.Module):
    """How far the rollouts are, lane by lane."""

    lanes: LanesState
    view: View
    legal: Bool[Array, "lanes players actions"]
    cut_at: Int[Array, " lanes"]  # steps after which the first episode is cut short
    preference_state: Any  # what the preference remembers
    seats: SeatDraw  # who sits where
    minds: list[Any]  # what the frozen players remember


class EpisodeStats(eqx.Module):
    """Sums over whole episodes that ended and over all steps; add two to count both."""

    episodes: Float[Array, ""]
    returns: Float[Array, " players"]  # raw points of the whole episodes, learners first
    steps: Float[Array, ""]
    acts: Float[Array, " players"]  # opportunities to cooperate taken
    refusals: Float[Array, " players"]  # and passed up


class UpdateReport(eqx.Module):
    """What an update of any algorithm reports."""

    stats: EpisodeStats
    metrics: dict[str, Float[Array, ""]]


class StepOutcome(eqx.Module):
    """What a step brought the learners; the final view is valid where the lane ended."""

    utility: Float[Array, "lanes learners"]
    terminated: Bool[Array, " lanes"]
    truncated: Bool[Array, " lanes"]
    final_state: Any
    final_view: View
    seats: SeatDraw  # who sat where in this step
    stats: EpisodeStats


class RolloutWorker:
    """`n` lanes of a world in which all seats learn, or all but those of frozen partners."""

    def __init__(self, env: Environment[Any, Any], n: int, partners: Partners = ALONE) -> None:
        self.env, self.n, self.partners = env, n, partners
        self.sampler = SeatSampler(env, n, partners)
        self.learners = self.sampler.learners
        self.lanes_env = Lanes(env, n)

    def begin(self, key: Any, params: Any, preference: Preference) -> RolloutState:
        """The start; lanes are cut short once so that they stand all over an episode."""
        lanes = self.lanes_env.start(key, params)
        phase = jnp.arange(self.n) % PHASES + 1
        remembered = preference.begin(self.env.players)
        seats = self.sampler.deal(episode_keys(lanes))
        return RolloutState(
            lanes=lanes,
            view=self.lanes_env.view(lanes, params),
            legal=self.legal(lanes.state, params),
            cut_at=phase * self.env.horizon(params) // PHASES,
            preference_state=jax.tree.map(
                lambda x: jnp.broadcast_to(x, (self.n, *x.shape)), remembered
            ),
            seats=seats,
            minds=self.sampler.begin(episode_keys(lanes), seats),
        )

    def legal(self, state: Any, params: Any) -> Bool[Array, "lanes players actions"]:
        """What everybody may do in these states."""
        return jax.vmap(self.env.legal, (0, None))(state, params)

    def bits(self, rollout: RolloutState) -> UInt32[Array, "lanes learners"]:
        """The random bits from which each learner may draw its next action."""

        def lane(key: Any, seats: Int[Array, " learners"]) -> UInt32[Array, " learners"]:
            return jax.vmap(random.bits)(random.player_keys(key, seats))

        return jax.vmap(lane)(self.lanes_env.keys(rollout.lanes), rollout.seats.learners)

    def with_frozen(
        self, rollout: RolloutState, actions: Int[Array, "lanes learners"]
    ) -> tuple[Int[Array, "lanes players"], list[Any]]:
        """The learners' actions with those of the frozen players, and what these remember then."""
        if not self.sampler.others:
            return actions, rollout.minds
        keys = self.lanes_env.keys(rollout.lanes)
        everybody, minds = self.sampler.act(
            keys, rollout.view, rollout.legal, rollout.seats, rollout.minds
        )
        return self.sampler.with_learners(everybody, actions, rollout.seats), minds

    def step(
        self,
        rollout: RolloutState,
        actions: Int[Array, "lanes players"],
        minds: list[Any],
        params: Any,
        preference: Preference,
        progress: Float[Array, ""],
    ) -> tuple[RolloutState, StepOutcome]:
        """Everybody acts; `progress` is the share of the training that is done."""
        stopped = (rollout.lanes.episode == 0) & (rollout.lanes.length + 1 >= rollout.cut_at)
        lanes, transition, view = self.lanes_env.step(rollout.lanes, actions, params, stopped)
        ended = transition.truncated | transition.terminated
        wants = jax.vmap(preference.wants, (0, 0, None, 0))
        utility, preference_state = wants(
            transition.reward,
            rollout.preference_state,
            progress,
            self._deeds(transition, preference.reads),
        )
        initial = jax.tree.map(lambda new: new[None], preference.begin(self.env.players))
        preference_state = merged(ended, initial, preference_state)
        seats, minds = self.sampler.renewed(rollout.seats, minds, ended, episode_keys(lanes))
        outcome = StepOutcome(
            utility=self.sampler.own(utility, rollout.seats),
            terminated=transition.terminated,
            truncated=transition.truncated,
            final_state=transition.final_state,
            final_view=transition.final_view,
            seats=rollout.seats,
            stats=self._stats(transition, rollout.seats, ended & (rollout.lanes.episode > 0)),
        )
        return RolloutState(
            lanes=lanes,
            view=view,
            legal=self.legal(lanes.state, params),
            cut_at=rollout.cut_at,
            preference_state=preference_state,
            seats=seats,
            minds=minds,
        ), outcome

    def _deeds(self, transition: LanesTransition, names: Sequence[str]) -> dict[str, Any]:
        """How often each player did these things in a step, in every lane."""
        specs = [find_event(self.env.event_specs, name) for name in names]
        count = lambda spec: jax.vmap(lambda kind: counts(kind, spec, self.env.players))  # noqa: E731
        return {spec.name: count(spec)(transition.events[spec.name]) for spec in specs}

    def _stats(
        self, transition: LanesTransition, seats: SeatDraw, whole: Bool[Array, " lanes"]
    ) -> EpisodeStats:
        spec = find_facet(self.env, Cooperation)
        returns = self.sampler.learners_first(transition.episode_return, seats)
        returns = jnp.where(whole[:, None], returns, 0.0).sum(0)
        return EpisodeStats(
            episodes=whole.sum().astype(jnp.float32),
            returns=returns,
            steps=jnp.float32(len(whole)),
            acts=self._done(transition, seats, spec.acts if spec else ()),
            refusals=self._done(transition, seats, spec.refusals if spec else ()),
        )

    def _done(
        self, transition: LanesTransition, seats: SeatDraw, names: Sequence[str]
    ) -> Float[Array, " players"]:
        players = self.env.players
        specs = {spec.name: spec for spec in self.env.event_specs}
        each = [
            jax.vmap(lambda e, name=name: worth(e, specs[name], players))(transition.events[name])
            for name in names
        ]
        return sum(
            (self.sampler.learners_first(lanes, seats).sum(0) for lanes in each),
            jnp.zeros(players),
        )
