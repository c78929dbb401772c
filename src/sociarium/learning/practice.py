"""Where learners play: lanes of a world, their wishes, and frozen players in the other seats.

Learners sit in the first seats. Whatever the algorithm, practice goes on the same way: see, choose,
step; an episode that ends starts over.
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
from sociarium.core.errors import BadArgument
from sociarium.core.events import worth
from sociarium.core.facets import Cooperation, find_facet
from sociarium.learning.preferences import Preference
from sociarium.mechanics.layout import merged
from sociarium.players.roster import Seat

PHASES = 16  # groups of lanes, spread evenly over the length of an episode


def number(default: float | int) -> Any:
    """A field of an algorithm's numbers that may be swept with `vmap`."""
    return eqx.field(converter=jnp.float32, default=default)


class Place(eqx.Module):
    """Where practice stands, lane by lane."""

    lanes: LanesState
    view: View
    legal: Bool[Array, "lanes players actions"]
    first: Int[Array, " lanes"]  # steps after which the first episode is cut short
    wishes: Any  # what the preference remembers
    frozen: Seating  # who sits in the other seats
    minds: list[Any]  # what they remember


class Tally(eqx.Module):
    """Sums over whole episodes that ended and over all steps; add two to count both."""

    episodes: Float[Array, ""]
    returns: Float[Array, " players"]  # raw points of the whole episodes
    steps: Float[Array, ""]
    acts: Float[Array, " players"]  # opportunities to cooperate taken
    refusals: Float[Array, " players"]  # and passed up


class Report(eqx.Module):
    """What an update of any algorithm tells."""

    tally: Tally
    losses: dict[str, Float[Array, ""]]


class Outcome(eqx.Module):
    """What a step brought the learners; the final view is valid where the lane ended."""

    utility: Float[Array, "lanes learners"]
    terminated: Bool[Array, " lanes"]
    truncated: Bool[Array, " lanes"]
    final_state: Any
    final_view: View
    tally: Tally


class Practice:
    """`n` lanes of a world in which all seats learn, or all but those of `others`, the last."""

    def __init__(
        self, env: Environment[Any, Any], n: int, others: Sequence[Seat] = (), first: int = 0
    ) -> None:
        if len(others) >= env.players:
            raise BadArgument(f"{len(others)} others leave no seat to learn in {env.players} seats")
        self.env, self.n, self.others, self.first = env, n, tuple(others), first
        self.learners = env.players - len(others)
        self.table = Lanes(env, n)
        chairs = (*(None,) * self.learners, *self.others)
        self.frozen, self.seating = lineup(env, chairs).seated(n)

    def begin(self, key: Any, params: Any, preference: Preference) -> Place:
        """The start; lanes are cut short once so that they stand all over an episode."""
        lanes = self.table.start(key, params, self.first)
        phase = (self.first + jnp.arange(self.n)) % PHASES + 1
        remembered = preference.begin(self.env.players)
        return Place(
            lanes=lanes,
            view=self.table.view(lanes, params),
            legal=self.legal(lanes.state, params),
            first=phase * self.env.horizon(params) // PHASES,
            wishes=jax.tree.map(lambda x: jnp.broadcast_to(x, (self.n, *x.shape)), remembered),
            frozen=self.seating,
            minds=self.frozen.begin(_episode_keys(lanes), self.seating),
        )

    def legal(self, state: Any, params: Any) -> Bool[Array, "lanes players actions"]:
        """What everybody may do in these states."""
        return jax.vmap(self.env.legal, (0, None))(state, params)

    def words(self, place: Place) -> UInt32[Array, "lanes learners"]:
        """The word from which each learner may draw its next action."""

        def lane(key: Any) -> UInt32[Array, " learners"]:
            return jax.vmap(random.bits)(random.player_keys(key, jnp.arange(self.learners)))

        return jax.vmap(lane)(self.table.keys(place.lanes))

    def complete(
        self, place: Place, actions: Int[Array, "lanes learners"]
    ) -> tuple[Int[Array, "lanes players"], list[Any]]:
        """The learners' actions with those of the frozen players, and what these remember then."""
        if not self.others:
            return actions, place.minds
        keys = self.table.keys(place.lanes)
        all_actions, minds = self.frozen.act(
            keys, place.view, place.legal, place.frozen, place.minds
        )
        return all_actions.at[:, : self.learners].set(actions), minds

    def step(
        self,
        place: Place,
        actions: Int[Array, "lanes players"],
        minds: list[Any],
        params: Any,
        preference: Preference,
        progress: Float[Array, ""],
    ) -> tuple[Place, Outcome]:
        """Everybody acts; `progress` is the share of the training that is done."""
        stopped = (place.lanes.episode == 0) & (place.lanes.length + 1 >= place.first)
        lanes, transition, view = self.table.step(place.lanes, actions, params, stopped)
        ended = transition.truncated | transition.terminated
        wants = jax.vmap(preference.wants, (0, 0, None))
        utility, wishes = wants(transition.reward, place.wishes, progress)
        blank = jax.tree.map(lambda new: new[None], preference.begin(self.env.players))
        wishes = merged(ended, blank, wishes)
        outcome = Outcome(
            utility=utility[:, : self.learners],
            terminated=transition.terminated,
            truncated=transition.truncated,
            final_state=transition.final_state,
            final_view=transition.final_view,
            tally=self._tally(transition, ended & (place.lanes.episode > 0)),
        )
        return Place(
            lanes=lanes,
            view=view,
            legal=self.legal(lanes.state, params),
            first=place.first,
            wishes=wishes,
            frozen=place.frozen,
            minds=self.frozen.renewed(minds, ended, _episode_keys(lanes), place.frozen),
        ), outcome

    def _tally(self, transition: LanesTransition, whole: Bool[Array, " lanes"]) -> Tally:
        spec = find_facet(self.env, Cooperation)
        returns = jnp.where(whole[:, None], transition.episode_return, 0.0).sum(0)
        return Tally(
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
