"""Collects experience in lanes of a world: learners in the first seats, frozen players beside.

Whatever the algorithm, rollouts go on the same way: see, choose, step; an episode that ends starts
over.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from sociarium.arena.lanes import Lanes, LanesState, LanesTransition
from sociarium.arena.seat_policies import Seating
from sociarium.arena.seating import lineup
from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import counts, worth
from sociarium.core.facets import Cooperation, find_facet
from sociarium.learning.preferences import Preference
from sociarium.mechanics.layout import merged
from sociarium.players.roster import Seat

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
    frozen: Seating  # who sits in the other seats
    minds: list[Any]  # what they remember


class EpisodeStats(eqx.Module):
    """Sums over whole episodes that ended and over all steps; add two to count both."""

    episodes: Float[Array, ""]
    returns: Float[Array, " players"]  # raw points of the whole episodes
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
    stats: EpisodeStats


class RolloutWorker:
    """`n` lanes of a world in which all seats learn, or all but those of `others`, the last."""

    def __init__(self, env: Environment[Any, Any], n: int, others: Sequence[Seat] = ()) -> None:
        if len(others) >= env.players:
            raise BadArgument(f"{len(others)} others leave no seat to learn in {env.players} seats")
        self.env, self.n, self.others = env, n, tuple(others)
        self.learners = env.players - len(others)
        self.lanes_env = Lanes(env, n)
        chairs = (*(None,) * self.learners, *self.others)
        self.frozen, self.seating = lineup(env, chairs).seated(n)

    def begin(self, key: Any, params: Any, preference: Preference) -> RolloutState:
        """The start; lanes are cut short once so that they stand all over an episode."""
        lanes = self.lanes_env.start(key, params)
        phase = jnp.arange(self.n) % PHASES + 1
        remembered = preference.begin(self.env.players)
        return RolloutState(
            lanes=lanes,
            view=self.lanes_env.view(lanes, params),
            legal=self.legal(lanes.state, params),
            cut_at=phase * self.env.horizon(params) // PHASES,
            preference_state=jax.tree.map(
                lambda x: jnp.broadcast_to(x, (self.n, *x.shape)), remembered
            ),
            frozen=self.seating,
            minds=self.frozen.begin(_episode_keys(lanes), self.seating),
        )

    def legal(self, state: Any, params: Any) -> Bool[Array, "lanes players actions"]:
        """What everybody may do in these states."""
        return jax.vmap(self.env.legal, (0, None))(state, params)

    def bits(self, rollout: RolloutState) -> UInt32[Array, "lanes learners"]:
        """The random bits from which each learner may draw its next action."""

        def lane(key: Any) -> UInt32[Array, " learners"]:
            return jax.vmap(random.bits)(random.player_keys(key, jnp.arange(self.learners)))

        return jax.vmap(lane)(self.lanes_env.keys(rollout.lanes))

    def with_frozen(
        self, rollout: RolloutState, actions: Int[Array, "lanes learners"]
    ) -> tuple[Int[Array, "lanes players"], list[Any]]:
        """The learners' actions with those of the frozen players, and what these remember then."""
        if not self.others:
            return actions, rollout.minds
        keys = self.lanes_env.keys(rollout.lanes)
        all_actions, minds = self.frozen.act(
            keys, rollout.view, rollout.legal, rollout.frozen, rollout.minds
        )
        return all_actions.at[:, : self.learners].set(actions), minds

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
        outcome = StepOutcome(
            utility=utility[:, : self.learners],
            terminated=transition.terminated,
            truncated=transition.truncated,
            final_state=transition.final_state,
            final_view=transition.final_view,
            stats=self._stats(transition, ended & (rollout.lanes.episode > 0)),
        )
        return RolloutState(
            lanes=lanes,
            view=view,
            legal=self.legal(lanes.state, params),
            cut_at=rollout.cut_at,
            preference_state=preference_state,
            frozen=rollout.frozen,
            minds=self.frozen.renewed(minds, ended, _episode_keys(lanes), rollout.frozen),
        ), outcome

    def _deeds(self, transition: LanesTransition, names: Sequence[str]) -> dict[str, Any]:
        """How often each player did these things in a step, in every lane."""
        specs = {spec.name: spec for spec in self.env.event_specs}
        for name in names:
            if name not in specs:
                raise UnknownName(f"event of {self.env.id}", name, tuple(specs))
        count = lambda spec: jax.vmap(lambda kind: counts(kind, spec, self.env.players))  # noqa: E731
        return {name: count(specs[name])(transition.events[name]) for name in names}

    def _stats(self, transition: LanesTransition, whole: Bool[Array, " lanes"]) -> EpisodeStats:
        spec = find_facet(self.env, Cooperation)
        returns = jnp.where(whole[:, None], transition.episode_return, 0.0).sum(0)
        return EpisodeStats(
            episodes=whole.sum().astype(jnp.float32),
            returns=returns,
            steps=jnp.float32(len(whole)),
            acts=self._done(transition, spec.acts if spec else ()),
            refusals=self._done(transition, spec.refusals if spec else ()),
        )

    def _done(self, transition: LanesTransition, names: Sequence[str]) -> Float[Array, " players"]:
        players = self.env.players
        specs = {spec.name: spec for spec in self.env.event_specs}
        each = [
            jax.vmap(lambda e, name=name: worth(e, specs[name], players))(transition.events[name])
            for name in names
        ]
        return sum((lane.sum(0) for lane in each), jnp.zeros(players))


def _episode_keys(lanes: LanesState) -> Any:
    return jax.vmap(jax.random.fold_in)(lanes.key, lanes.episode)
