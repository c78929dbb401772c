"""Contract: before the work everybody may join a group that shares equally (Huang et al., 2024).

Rules
  C1  First there are some rounds of joining, in which the world stands still. In each round every
      player has one turn, in an order that is drawn once and known to nobody beforehand.
  C2  Whoever has its turn may join one group, and leaves the one it was in. The others wait.
  C3  Then the world goes on, and groups stay as they are. Whoever is in none enters an empty one,
      the lowest seat the first of them, and where none is left one by lot; unless staying alone is
      allowed.
  C4  The members of a group pool all points and split them equally. Who is in none keeps its own.
  C5  If `forced` is 0 to 1, players are put into groups at the start: each with that chance into
      the first group, else into a group at random. Below 0 nobody is.
  C6  In societies of more than 256 everybody has its turn at once, so that a round is one step, and
      is told its own group and those of the nearest few in sight.
Differs from the paper: groups are numbered from the start and there are as many as players, 32 at
      most; the order of turns is told to nobody; and players may be forced into groups.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.charters.article import NONE, Article, Circumstances, Shown
from sociarium.core import random
from sociarium.core.actions import action_for_each
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events, event
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Bonds
from sociarium.core.specs import EventSpec, PlaneSpec
from sociarium.mechanics import social
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY, Members

SHEET = RuleSheet.read(__doc__)
MOST_GROUPS = 32


class Params(eqx.Module):
    """How many steps joining takes, and the chance to begin in the first group."""

    deliberation: Int[Array, ""]
    forced: Float[Array, ""]
    bounds: ClassVar = {"forced": (-1, 1)}


class State(eqx.Module):
    """The order of turns (none in large societies), groups, and the lot of whoever joins none."""

    order: Int[Array, " turns"]
    group: Int[Array, " players"]
    lot: Int[Array, " players"]


class Contract(Article[State, Params]):
    """`rounds` of joining one of as many groups as there are players, or of `groups`.

    Whoever joins none may stay `alone`.
    """

    name = "contract"
    sheet = SHEET
    claims = ("stage", "shares")
    suits_large = True
    event_specs = (EventSpec("joined", "{actor} joined group {value}"),)
    gauge_specs = social.GROUPS

    def __init__(self, rounds: int = 5, groups: int = 0, alone: bool | int = False) -> None:
        if rounds < 1 or not 0 <= groups <= MOST_GROUPS:
            raise BadArgument(
                f"rounds must be at least 1 and groups at most {MOST_GROUPS}; "
                f"given {rounds} and {groups}"
            )
        self.rounds, self.groups, self.alone = rounds, groups, bool(alone)

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """One action for each group."""
        self.groups = self.groups or min(world.players, MOST_GROUPS)
        names = tuple(f"group {number}" for number in range(self.groups))
        self.actions = action_for_each("join", names, "join {}", "become a member of {}")
        self.own_specs = (
            PlaneSpec("stage", ("joining", "working")),
            PlaneSpec("turn", ("theirs", "mine")),
            *([PlaneSpec("group", ("none", *names))] if self.large else []),
        )
        role = "mark" if self.large else "group"
        self.tie_specs = (PlaneSpec("group", ("none", *names), role),)

    def defaults(self) -> Params:
        """Every player's turn in every round, and nobody is forced."""
        turns = 1 if self.large else self.players
        return Params(jnp.int32(self.rounds * turns), jnp.float32(-1))

    def begin(self, key: Key[Array, ""], now: Circumstances, params: Params) -> State:
        """The order of turns is drawn, and nobody is in a group unless forced to (C1, C5, C6)."""
        turns, lots, groups = random.bits(key, 3, self.players)
        order = jnp.argsort(turns[: 0 if self.large else None]).astype(jnp.int32)
        first = (lots >> 8).astype(jnp.float32) < params.forced * 2**24
        drawn = random.randint_from_bits(groups, jnp.full(self.players, self.groups))
        group = jnp.where(first, 0, drawn)
        return State(order, jnp.where(params.forced < 0, NOBODY, group), drawn)

    def deliberation(self, params: Params) -> Int[Array, ""]:
        """The steps before the work."""
        return params.deliberation

    def paused(self, state: State, now: Circumstances, params: Params) -> Bool[Array, ""]:
        """Whether the rounds of joining go on (C1, C3)."""
        return now.stood < params.deliberation

    def _turn(self, state: State, now: Circumstances, params: Params) -> Bool[Array, " players"]:
        """Whose turn it is (C1, C6)."""
        if self.large:
            return jnp.full(self.players, now.paused)
        seat = jnp.arange(self.players, dtype=jnp.int32)
        mine = seat == state.order[now.stood % self.players]
        return mine & now.paused

    def legal(
        self, state: State, now: Circumstances, params: Params
    ) -> Bool[Array, "players actions"]:
        """Any group, on one's turn (C2)."""
        return jnp.broadcast_to(
            self._turn(state, now, params)[:, None], (self.players, len(self.actions))
        )

    def act(
        self,
        key: Any,
        state: State,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: Params,
    ) -> tuple[State, Events]:
        """Who joins leaves its old group (C2)."""
        joins = deeds != NONE
        group = jnp.where(joins, deeds, state.group)
        joined = event(joins, value=deeds.astype(jnp.float32))
        return eqx.tree_at(lambda s: s.group, state, group), {"joined": joined}

    def members(self, state: State) -> Members:
        """Everybody's group, all with the same weight (C4)."""
        return Members(state.group[:, None])

    def share(self, parts: Parts, state: State, now: Circumstances, params: Params) -> Parts:
        """Groups pool and split equally (C4)."""
        return social.pooled(parts, (self.members(state),), (self.groups,))

    def turn(self, key: Any, state: State, now: Circumstances, params: Params) -> State:
        """When joining is over, whoever is in no group enters one (C3)."""
        if self.alone:
            return state
        left = (state.group == NOBODY) & ~now.paused
        ones = jnp.ones((self.players, 1), jnp.int32)
        empty = social.totals(ones, state.group[:, None], self.groups) == 0
        nth, free = jnp.cumsum(left), jnp.cumsum(empty)
        first = jnp.sum(free[None] < nth[:, None], 1, dtype=jnp.int32)
        entered = jnp.where(nth <= free[-1], first, state.lot)
        return eqx.tree_at(lambda s: s.group, state, jnp.where(left, entered, state.group))

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """The stage, whose turn it is, and everybody's group, or one's own and those near (C6)."""
        stage = jnp.full(self.players, ~now.paused)
        own, group = [stage, self._turn(state, now, params)], (state.group + 1).astype(jnp.uint8)
        own = [x.astype(jnp.uint8) for x in own] + [group] * self.large
        return self.shown(jnp.stack(own, 1), self.of_contacts(group[:, None], now))

    def bonds(self, state: State, now: Circumstances, params: Params) -> Bonds:
        """Everybody's group."""
        stage = self.own_specs[0].codes[int(~now.paused)]
        return Bonds(self.players, stage, (social.circles(self.members(state)),))

    def gauges(self, state: State, now: Circumstances, params: Params) -> dict[str, Any]:
        """How many groups there are, who is in one, and the largest."""
        return social.group_gauges(self.members(state), self.groups)
