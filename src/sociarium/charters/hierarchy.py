"""Hierarchy: players form groups, groups form unions, and a group decides as one.

Rules
  C1  Players are in groups of neighbouring seats. Groups can be in a union of groups.
  C2  Instead of acting in the world, a player may cast its vote in its group: for one of the
      unions, or for none. A vote stands until it is changed.
  C3  Every so many steps each group decides at its own layer. By delegation its first member
      decides; by majority more than half of its members must want the same; by consensus all must.
      Otherwise things stay as they are.
  C4  Points flow up and down: the members of a group pool them, the groups of a union pool theirs,
      a union pays its groups in proportion to their members, and a group pays its members equally.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium.charters.article import NONE, Article, Circumstances, Shown
from sociarium.core.actions import ActionSpec, action_for_each
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import Events, event
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Bonds, Circle
from sociarium.core.specs import EventSpec, GaugeSpec, PlaneSpec
from sociarium.mechanics import social
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY, Members

SHEET = RuleSheet.read(__doc__)
WAYS = ("delegation", "majority", "consensus")
MOST_GROUPS = 255


class Params(eqx.Module):
    """Steps from one decision to the next."""

    period: Int[Array, ""]


class State(eqx.Module):
    """Votes of players and unions of groups."""

    vote: Int[Array, " players"]  # a union; NOBODY for none
    union: Int[Array, " groups"]


class Hierarchy(Article[State, Params]):
    """Groups of `size` that join `unions` by `decides`: delegation, majority or consensus."""

    name = "hierarchy"
    sheet = SHEET
    claims = ("shares",)
    event_specs = (
        EventSpec("voted", "{actor} votes for union {value}"),
        EventSpec("decided", "a group decided on union {value}", "place"),
    )
    gauge_specs = (GaugeSpec("united", "players whose group is in a union with another"),)

    def __init__(
        self, size: int = 2, unions: int = 2, decides: str = "majority", period: int = 10
    ) -> None:
        if decides not in WAYS:
            raise UnknownName("way to decide", decides, WAYS)
        if size < 1 or not 1 <= unions <= MOST_GROUPS or period < 1:
            raise BadArgument(
                f"size and period must be at least 1 and unions 1 to {MOST_GROUPS}; "
                f"given {size}, {period} and {unions}"
            )
        self.size, self.unions, self.decides, self.period = size, unions, decides, period

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """Votes for unions or for none."""
        players = world.players
        self.group = np.arange(players, dtype=np.int32) // self.size
        self.groups = int(self.group[-1]) + 1
        if self.groups > MOST_GROUPS:
            raise BadArgument(
                f"a hierarchy names at most {MOST_GROUPS} groups; {players} players in groups of "
                f"{self.size} make {self.groups}, so give a larger size"
            )
        self.members = np.bincount(self.group, minlength=self.groups).astype(np.int32)
        names = tuple(f"union {number}" for number in range(self.unions))
        self.actions = (
            *action_for_each("vote", names, "vote for {}", "vote that your group joins {}"),
            ActionSpec("vote for none", "vote", "none", sentence="vote for no union"),
        )
        circles = tuple(f"group {number}" for number in range(self.groups))
        self.own_specs = (PlaneSpec("vote", ("none", *names)),)
        self.tie_specs = (
            PlaneSpec("group", ("none", *circles), role="group"),
            PlaneSpec("union", ("none", *names), role="group"),
            PlaneSpec("vote", ("none", *names)),
        )

    def defaults(self) -> Params:
        """The period."""
        return Params(jnp.int32(self.period))

    def begin(self, key: Key[Array, ""], now: Circumstances, params: Params) -> State:
        """No votes and no unions."""
        nobody = lambda n: jnp.full(n, NOBODY, jnp.int32)  # noqa: E731
        return State(nobody(self.players), nobody(self.groups))

    def legal(
        self, state: State, now: Circumstances, params: Params
    ) -> Bool[Array, "players actions"]:
        """Any vote that differs from the one that stands."""
        standing = jnp.where(state.vote == NOBODY, self.unions, state.vote)
        return standing[:, None] != jnp.arange(len(self.actions))[None]

    def act(
        self,
        key: Any,
        state: State,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: Params,
    ) -> tuple[State, Events]:
        """Votes are cast, and on due steps groups decide (C2, C3)."""
        votes = deeds != NONE
        wanted = jnp.where(deeds == self.unions, NOBODY, deeds)
        vote = jnp.where(votes, wanted, state.vote)
        due = (now.clock + 1) % params.period == 0
        union = jnp.where(due, self.decided(vote, state.union), state.union)
        after = eqx.tree_at(lambda s: (s.vote, s.union), state, (vote, union))
        return after, {
            "voted": event(votes, value=wanted.astype(jnp.float32)),
            "decided": event(union != state.union, value=union.astype(jnp.float32)),
        }

    def decided(
        self, vote: Int[Array, " players"], union: Int[Array, " groups"]
    ) -> Int[Array, " groups"]:
        """Each group's union by its members' votes (C3)."""
        choice = jnp.where(vote == NOBODY, self.unions, vote)
        if self.decides == "delegation":
            first = np.searchsorted(self.group, np.arange(self.groups))
            winner = choice[first]
        else:
            counts = jnp.zeros((self.groups, self.unions + 1), jnp.int32)
            counts = counts.at[jnp.asarray(self.group), choice].add(1)
            needed = self.members if self.decides == "consensus" else self.members // 2 + 1
            enough = counts >= jnp.asarray(needed)[:, None]
            standing = jnp.where(union == NOBODY, self.unions, union)
            winner = jnp.where(enough.any(1), jnp.argmax(enough, 1), standing)
        return jnp.where(winner == self.unions, NOBODY, winner).astype(jnp.int32)

    def layers(self, state: State) -> tuple[Members, Members]:
        """Players in groups, groups in unions (C4)."""
        return (
            Members(jnp.asarray(self.group)[:, None]),
            Members(state.union[:, None], jnp.asarray(self.members)[:, None]),
        )

    def share(self, parts: Parts, state: State, now: Circumstances, params: Params) -> Parts:
        """Up through groups and unions, and down again (C4)."""
        return social.pooled(parts, self.layers(state), (self.groups, self.unions))

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """One's own vote; everybody's group, union and vote."""
        group = jnp.asarray(self.group)
        union = state.union[group] + 1
        about = jnp.stack([group + 1, union, state.vote + 1], 1).astype(jnp.uint8)
        return self.shown((state.vote + 1)[:, None], self.of_contacts(about, now))

    def bonds(self, state: State, now: Circumstances, params: Params) -> Bonds:
        """Groups of players, and unions of groups."""
        groups, unions = self.layers(state)
        above = tuple(
            Circle(union.name, {f"group {group}": part for group, part in union.shares.items()})
            for union in social.circles(unions, "union")
        )
        return Bonds(self.players, layers=(social.circles(groups), above))

    def gauges(self, state: State, now: Circumstances, params: Params) -> dict[str, Any]:
        """How many players are united with another group."""
        ones = jnp.ones((self.groups, 1), jnp.int32)
        size = social.totals(ones, state.union[:, None], self.unions)
        with_others = social.looked_up(size, state.union) > 1
        return {"united": jnp.sum(with_others * jnp.asarray(self.members)).astype(jnp.float32)}
