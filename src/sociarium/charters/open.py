"""Open society: ties and groups may change at every step of the world (Huang et al., 2024).

Rules
  C1  Instead of acting in the world, a player may connect to another, or take a connection back.
      Whom it is connected to sees what it sees, and gets a part of its points if there is one set.
  C2  A player may join a group, leaving the one it was in, or leave. The members of a group pool
      what they have after C1 and split it equally.
  C3  Everybody sees what everybody has earned lately, as one of eight levels.
  C4  In societies of more than 256 one can address only those one is connected to and the nearest
      few in sight; joining somebody's group founds one with it if it has none. There a connection
      shows nobody what one sees; it only gives.
Differs from the code: words can be chosen, and nobody can connect to itself.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium.charters.article import (
    CONTACTS,
    NAMED,
    NONE,
    Article,
    Circumstances,
    Proceedings,
    Shown,
    everybody,
)
from sociarium.core.actions import ActionSpec, action_for_each
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events, event
from sociarium.core.patches import Patch, Tie
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Bonds
from sociarium.core.specs import EventSpec, GaugeSpec, PlaneSpec
from sociarium.mechanics import social
from sociarium.mechanics.parts import PARTS, Parts
from sociarium.mechanics.social import NOBODY, Edges, Members

SHEET = RuleSheet.read(__doc__)
MOST_GROUPS = 32
SHARED_VIEWS = 4
LATELY = 16  # steps over which earnings are averaged
LEVELS = tuple(PARTS >> fall for fall in range(6, -1, -1))  # a 64th of a point, ... a point
MOST_EARNED = 2**7  # 9,684 points; so much counts as earned in a step, at most
TIES = CONTACTS  # connections of one player, in large societies


class Params(eqx.Module):
    """What part of its points goes to each player one is connected to."""

    percent: Int[Array, ""]
    bounds: ClassVar = {"percent": (0, 100)}


class State(eqx.Module):
    """Who is tied to whom, who is in which group, and what everybody has earned lately."""

    edges: Edges
    group: Int[Array, " players"]
    earned: Int[Array, " players"]  # parts of a point a step, as a running mean


class Open(Article[State, Params]):
    """Ties and groups at every step; `percent` of one's points for each connection."""

    name = "open"
    sheet = SHEET
    claims = ("shares", "sight", "contacts")
    accepts = (Tie,)
    suits_large = True
    gauge_specs = (
        GaugeSpec("ties", "connections between players"),
        *social.DEGREES,
        *social.GROUPS,
    )
    event_specs = (
        EventSpec("connected", "{actor} connected to {target}"),
        EventSpec("disconnected", "{actor} took its connection to {target} back"),
        EventSpec("joined", "{actor} joined group {value}"),
        EventSpec("left", "{actor} left its group"),
    )

    def __init__(self, percent: int = 0) -> None:
        if not 0 <= percent <= 100:
            raise BadArgument(f"percent must be 0 to 100; given {percent}")
        self.percent = percent

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """Named players and groups, or those at hand in large societies (C4)."""
        self.groups = world.players if self.large else min(world.players, MOST_GROUPS)
        if self.large:
            self.shared_views, near = (
                0,
                self.contacts,
            )  # a window for each would be most of all memory
            tied = tuple(f"tie {number}" for number in range(TIES))
            self.contacts = (*tied, *near)
            groups = tuple(f"the group of {whom}" for whom in self.contacts)
        else:
            self.shared_views, near = min(world.players - 1, SHARED_VIEWS), self.contacts
            tied = near
            groups = tuple(f"group {number}" for number in range(self.groups))
        self.disconnect = len(near)
        self.join = self.disconnect + len(tied)
        self.leave = self.join + len(groups)
        self.actions = (
            *action_for_each("connect", near, "connect to {}", "show {} your window"),
            *action_for_each("disconnect", tied, "disconnect from {}", "hide your window from {}"),
            *action_for_each("join", groups, "join {}", "become a member of {}"),
            ActionSpec("leave", "leave", sentence="leave your group"),
        )
        group = tuple(f"group {number}" for number in range(min(self.groups, MOST_GROUPS)))
        known = ("none", "mine", "another") if self.large else ("none", *group)
        self.own_specs = (PlaneSpec("member", ("of none", "of a group")),)
        self.tie_specs = (
            PlaneSpec("group", known, "mark" if self.large else "group"),
            PlaneSpec("connected to it", ("no", "yes")),
            PlaneSpec("connected to me", ("no", "yes")),
            PlaneSpec("earns", tuple(f"level {level}" for level in range(len(LEVELS) + 1))),
        )

    def defaults(self) -> Params:
        """The part that goes along a connection."""
        return Params(jnp.int32(self.percent))

    def begin(self, key: Key[Array, ""], now: Circumstances, params: Params) -> State:
        """Nobody is tied to anybody."""
        edges = social.no_edges(self.players, TIES if self.large else None)
        nothing = jnp.zeros(self.players, jnp.int32)
        return State(edges, jnp.full(self.players, NOBODY, jnp.int32), nothing)

    def whom(self, state: State, near: Int[Array, "players near"]) -> Int[Array, "players _"]:
        """All players, or in large societies those one is tied to and then the nearest (C4)."""
        if self.large:
            return jnp.concatenate([self._to(state), near], 1)
        return everybody(self.players)

    def _to(self, state: State) -> Int[Array, "players ties"]:
        """Whom one is tied to, slot by slot, in large societies."""
        assert state.edges.to is not None
        return state.edges.to

    def _tied(self, state: State) -> Bool[Array, "players slots"]:
        return state.edges.sight

    def _room(self, state: State, params: Params) -> Bool[Array, " players"]:
        """Who could give one more the part of its points that goes along a connection."""
        return (self._tied(state).sum(1) + 1) * params.percent <= 100

    def legal(
        self, state: State, now: Circumstances, params: Params
    ) -> Bool[Array, "players actions"]:
        """Connecting where there is no tie, disconnecting where there is, other groups."""
        tied, member = self._tied(state), state.group != NOBODY
        room = self._room(state, params)[:, None]
        if self.large:
            known = (now.near[..., None] == self._to(state)[:, None, :]).any(-1)
            free = ~tied.all(1, keepdims=True)
            theirs = jnp.where(now.whom == NOBODY, NOBODY, state.group[now.whom])
            same = (theirs == state.group[:, None]) & member[:, None]
            may = (
                (now.near != NOBODY) & ~known & free & room,
                tied,
                (now.whom != NOBODY) & ~same,
                member[:, None],
            )
        else:
            other = ~jnp.eye(self.players, dtype=bool)
            own = state.group[:, None] == jnp.arange(self.groups)[None]
            may = (~tied & other & room, tied, ~own, member[:, None])
        return jnp.concatenate(may, 1)

    def act(
        self,
        key: Any,
        state: State,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: Params,
    ) -> tuple[State, Events]:
        """Ties and groups after everybody's social action (C1, C2)."""
        connects = (deeds >= 0) & (deeds < self.disconnect)
        cuts = (deeds >= self.disconnect) & (deeds < self.join)
        joins, leaves = (deeds >= self.join) & (deeds < self.leave), deeds == self.leave
        gone = jnp.where(cuts, deeds - self.disconnect, NONE)
        choice = jnp.where(joins, deeds - self.join, 0)
        if self.large:
            edges, whom, untied = self._rewired(state, connects, deeds, gone, now, params)
            host = jnp.take_along_axis(now.whom, choice[:, None], 1)[:, 0]
            theirs = state.group[host]
            group = jnp.where(theirs == NOBODY, host, theirs)
            founded = joins & (theirs == NOBODY)
            asked = jnp.where(founded, host, self.players)
            hosted = jnp.zeros(self.players + 1, bool).at[asked].set(True)[: self.players]
            seat = jnp.arange(self.players, dtype=jnp.int32)
            settled = jnp.where(hosted & (state.group == NOBODY), seat, state.group)
        else:
            slot = jnp.arange(self.players)[None]
            whom, untied = deeds, gone
            new = connects[:, None] & (slot == deeds[:, None])
            sight = (state.edges.sight | new) & (slot != gone[:, None])
            share = jnp.where(new, params.percent.astype(jnp.uint8), state.edges.share)
            edges = Edges(jnp.where(sight, share, 0), sight)
            group, settled = choice, state.group
        after = jnp.where(joins, group, jnp.where(leaves, NOBODY, settled))
        return State(edges, after, state.earned), {
            "connected": event(connects, other=jnp.where(connects, whom, -1)),
            "disconnected": event(cuts, other=jnp.where(cuts, untied, -1)),
            "joined": event(joins, value=after.astype(jnp.float32)),
            "left": event(leaves),
        }

    def _rewired(
        self,
        state: State,
        connects: Bool[Array, " players"],
        deeds: Int[Array, " players"],
        gone: Int[Array, " players"],
        now: Circumstances,
        params: Params,
    ) -> tuple[Edges, Int[Array, " players"], Int[Array, " players"]]:
        """Lists of contacts with one more or one less, whom it is about, and who is gone."""
        edges, slot = state.edges, jnp.arange(TIES)[None]
        pick = jnp.where(connects, deeds, 0)[:, None]
        whom = jnp.take_along_axis(now.near, pick, 1)[:, 0]
        cut = jnp.maximum(gone, 0)[:, None]
        untied = jnp.take_along_axis(self._to(state), cut, 1)[:, 0]
        free = jnp.argmin(edges.sight, 1)[:, None]
        new = connects[:, None] & (slot == free)
        old = slot == gone[:, None]
        return (
            Edges(
                jnp.where(new, params.percent.astype(jnp.uint8), jnp.where(old, 0, edges.share)),
                (edges.sight | new) & ~old,
                jnp.where(new, whom[:, None], jnp.where(old, NOBODY, self._to(state))),
            ),
            whom,
            untied,
        )

    def share(self, parts: Parts, state: State, now: Circumstances, params: Params) -> Parts:
        """Connections first, then groups (C1, C2)."""
        left = social.along_edges(parts, state.edges)
        return social.pooled(left, (self._members(state),), (self.groups,))

    def _members(self, state: State) -> Members:
        return Members(state.group[:, None])

    def shows(
        self, state: State, now: Circumstances, params: Params
    ) -> Int[Array, "players shared_views"]:
        """The first of those who are connected to one."""
        return social.shown_by(state.edges, self.players, self.shared_views)

    def adjust(
        self, parts: Parts, state: State, step: Proceedings, params: Params
    ) -> tuple[Parts, State, Events]:
        """What everybody has earned lately (C3)."""
        earned = state.earned + (step.raw.clipped(MOST_EARNED) - state.earned) // LATELY
        return parts, eqx.tree_at(lambda s: s.earned, state, earned), {}

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """Everybody's group, and ties to and from oneself."""
        member = (state.group != NOBODY)[:, None].astype(jnp.uint8)
        if self.large:
            whom = now.whom
            theirs = jnp.where(whom == NOBODY, NOBODY, state.group[whom])
            mine = (theirs == state.group[:, None]) & (theirs != NOBODY)
            group = jnp.where(theirs == NOBODY, 0, jnp.where(mine, 1, 2))
            seat = jnp.arange(self.players)[:, None, None]
            back = (self._to(state)[whom] == seat).any(-1) & (whom != NOBODY)
            tied = jnp.concatenate([self._tied(state), jnp.zeros(now.near.shape, bool)], 1)
        else:
            group = jnp.broadcast_to(state.group[None] + 1, (self.players, self.players))
            tied, back = self._tied(state), self._tied(state).T
        level = jnp.sum(state.earned[:, None] >= jnp.array(LEVELS)[None], 1).astype(jnp.uint8)
        earns = self.of_contacts(level[:, None], now)[..., 0]
        ties = [x.astype(jnp.uint8) for x in (group, tied, back, earns)]
        return self.shown(member, jnp.stack(ties, -1))

    def write(self, state: State, patch: Patch) -> State:
        """A connection with any part of one's points, as long as no more than all are given."""
        assert isinstance(patch, Tie)
        by, to = patch.seat, patch.to
        if self.large or to >= self.players or to == by:
            raise BadArgument(
                f"a tie goes to another of at most {NAMED} players; given {by} to {to}"
            )
        share = state.edges.share.at[by, to].set(patch.percent)
        if int(share[by].astype(jnp.int32).sum()) > 100:
            raise BadArgument(f"player {by} would give away more than all of its points")
        edges = Edges(share, state.edges.sight.at[by, to].set(patch.sight))
        return eqx.tree_at(lambda s: s.edges, state, edges)

    def bonds(self, state: State, now: Circumstances, params: Params) -> Bonds:
        """Connections and groups."""
        edges = tuple(social.pairs(state.edges))
        return Bonds(
            self.players,
            layers=(social.circles(self._members(state)),),
            sight=tuple((by, to) for by, to, _, shown in edges if shown),
            gifts=tuple((by, to, percent / 100) for by, to, percent, _ in edges if percent),
        )

    def gauges(self, state: State, now: Circumstances, params: Params) -> dict[str, Any]:
        """How many connections there are, of whom, and who is in groups."""
        return {
            "ties": self._tied(state).sum().astype(jnp.float32),
            **social.degree_gauges(state.edges),
            **social.group_gauges(self._members(state), self.groups),
        }
