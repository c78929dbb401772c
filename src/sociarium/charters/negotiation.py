"""Negotiation: before the work pairs bargain over shares, coalitions grow (Huang et al., 2024).

Rules
  C1  First there are some steps of negotiating, in which the world stands still. Then the world
      goes on, and coalitions stay as they are.
  C2  Who is not bargaining may ask a player who is not bargaining either and not in its coalition.
      Two who ask each other in one step begin to bargain. Unanswered requests are forgotten.
  C3  Of two who bargain one has the word, at first one at random. It proposes the share that its
      own side shall get, 0.1 to 0.9; to a proposal it may also say yes or end the bargaining.
      Whoever proposed gives the word to the other.
  C4  A yes unites both sides. All shares on the side of the one who proposed are multiplied by the
      proposed share, all on the other side by the rest; a player on its own has share 1. Several
      agreements in one step all count, in any order; the shares of a coalition sum to 1.
  C5  The members of a coalition pool all points and split them by their shares. Who is in none
      keeps its own.
  C6  Where sight can be proposed, a yes makes both show each other what they see. Where a ban can
      be proposed, a yes binds the one who said it: for each breach it pays a fine to the others.
      Neither changes any share.
Differs from the code: the first to speak is drawn, offers and coalitions are seen, there are as
      many steps of negotiating as are named, and whoever has the word may keep it by doing nothing.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.charters.article import (
    NAMED,
    NONE,
    PERCENT,
    Article,
    Circumstances,
    Claim,
    Proceedings,
    Shown,
    separate,
)
from sociarium.charters.clauses import Conduct
from sociarium.core import random
from sociarium.core.actions import ActionSpec, action_for_each
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.events import Events, event
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Bonds
from sociarium.core.specs import EventSpec, GaugeSpec, PlaneSpec
from sociarium.mechanics import social
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY, Edges, Members
from sociarium.mechanics.transfers import among_others, owed

SHEET = RuleSheet.read(__doc__)
TENTHS = 10
WHOLE = 2**20  # the weight of the heaviest member of a coalition
MOST_SHARED_VIEWS = 4


class Params(eqx.Module):
    """How many steps negotiating takes, and what breaking a ban costs."""

    deliberation: Int[Array, ""]
    fine: Float[Array, ""]


class State(eqx.Module):
    """Sessions, coalitions, and what was agreed besides."""

    partner: Int[Array, " players"]  # NOBODY outside of a session
    speaks: Bool[Array, " players"]
    offer: Int[Array, " players"]  # what I proposed last: tenths, then sight, then bans; 0 nothing
    coalition: Int[Array, " players"]  # its lowest seat; NOBODY for who is in none
    weight: Int[Array, " players"]
    sight: Bool[Array, "players players"]
    banned: Bool[Array, "players bans"]


class Negotiation(Article[State, Params]):
    """`steps` of negotiating shares, perhaps `sight`, and `bans`: things not to do, by event."""

    name = "negotiation"
    sheet = SHEET
    gauge_specs = (
        GaugeSpec("coalitions", "coalitions of two or more"),
        GaugeSpec("largest coalition", "members of the largest coalition"),
    )
    event_specs = (
        EventSpec("matched", "{actor} and {target} begin to bargain"),
        EventSpec("proposed", "{actor} proposes {value} to {target}"),
        EventSpec("agreed", "{actor} says yes to {target}, who had proposed {value}"),
        EventSpec("ended", "{actor} ends the bargaining with {target}"),
    )

    def __init__(
        self, steps: int = 20, sight: bool = False, bans: tuple[str, ...] = (), fine: float = 5.0
    ) -> None:
        if steps < 1:
            raise BadArgument(f"steps must be at least 1; given {steps}")
        self.steps, self.sight, self.bans, self.fine = steps, bool(sight), tuple(bans), fine
        sees: tuple[Claim, ...] = ("sight",) if sight else ()
        self.claims = ("stage", "shares", *sees)

    @classmethod
    def named(cls, bans: str | list[str] = "", **arguments: Any) -> "Article[State, Params]":
        """With bans that have commas between them, as in `negotiation?bans=zapped,ate`."""
        return cls(bans=separate(bans, ","), **arguments)

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """Requests by seat, proposals, yes and end."""
        self.banned = tuple(Conduct.find(ban, world.event_specs) for ban in self.bans)
        shares = tuple(f"{tenth / TENTHS:g}" for tenth in range(1, TENTHS))
        offers = (*shares, *(["sight"] if self.sight else []), *(f"no {ban}" for ban in self.bans))
        self.offers, self.request = len(offers), 0
        seats = tuple(f"seat {seat}" for seat in range(world.players))
        self.propose = len(seats)
        self.accept = self.propose + len(offers)
        self.end = self.accept + 1
        self.actions = (
            *action_for_each("ask", seats, "ask {}", "ask {} to bargain with you"),
            *action_for_each("propose", offers, "propose {}", "propose {} to your partner"),
            ActionSpec("accept", "accept", sentence="accept what your partner proposed"),
            ActionSpec("end", "end", sentence="stop bargaining with your partner"),
        )
        self.shared_views = min(world.players - 1, MOST_SHARED_VIEWS) if self.sight else 0
        self.own_specs = (
            PlaneSpec("stage", ("negotiating", "working")),
            PlaneSpec("word", ("not mine", "mine")),
            PlaneSpec("offer", ("none", *offers)),
            *(PlaneSpec(f"bound to no {ban}", ("no", "yes")) for ban in self.bans),
        )
        lowest = min(world.players, NAMED - 1)  # the last of NAMED seats is never the lowest
        coalitions = tuple(f"coalition {seat}" for seat in range(lowest))
        self.tie_specs = (
            PlaneSpec("coalition", ("none", *coalitions), role="group"),
            PlaneSpec("share", PERCENT),
            PlaneSpec("may be asked", ("no", "yes")),
            PlaneSpec("bargains with me", ("no", "yes")),
        )

    def defaults(self) -> Params:
        """The steps and the fine."""
        return Params(jnp.int32(self.steps), jnp.float32(self.fine))

    def begin(self, key: Key[Array, ""], now: Circumstances, params: Params) -> State:
        """Everybody on its own."""
        players = self.players
        nobody = jnp.full(players, NOBODY, jnp.int32)
        return State(
            partner=nobody,
            speaks=jnp.zeros(players, bool),
            offer=jnp.zeros(players, jnp.int32),
            coalition=nobody,
            weight=jnp.full(players, WHOLE, jnp.int32),
            sight=jnp.zeros((players, players), bool),
            banned=jnp.zeros((players, len(self.bans)), bool),
        )

    def deliberation(self, params: Params) -> Int[Array, ""]:
        """The steps before the work."""
        return params.deliberation

    def paused(self, state: State, now: Circumstances, params: Params) -> Bool[Array, ""]:
        """Whether negotiating goes on (C1)."""
        return now.stood < params.deliberation

    def _may_be_asked(self, state: State) -> Bool[Array, "players players"]:
        """Whom each player may ask (C2)."""
        free = state.partner == NOBODY
        inside = state.coalition != NOBODY
        together = (state.coalition[:, None] == state.coalition[None]) & inside[None]
        other = ~jnp.eye(self.players, dtype=bool)
        return free[:, None] & free[None] & ~together & other

    def _heard(self, state: State) -> Int[Array, " players"]:
        """The offer before each player."""
        return jnp.where(state.partner == NOBODY, 0, state.offer[state.partner])

    def legal(
        self, state: State, now: Circumstances, params: Params
    ) -> Bool[Array, "players actions"]:
        """Asking outside of a session; in it, whatever one may say who has the word (C2, C3)."""
        word, heard = state.speaks[:, None], self._heard(state)[:, None] > 0
        may = (
            self._may_be_asked(state),
            jnp.broadcast_to(word, (self.players, self.offers)),
            word & heard,
            word & heard,
        )
        return jnp.concatenate(may, 1) & now.paused

    def act(
        self,
        key: Key[Array, ""],
        state: State,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: Params,
    ) -> tuple[State, Events]:
        """Proposals, agreements and ends; then new pairs (C2 to C4)."""
        partner, heard = state.partner, self._heard(state)
        proposes = (deeds >= self.propose) & (deeds < self.accept)
        accepts, ends = deeds == self.accept, deeds == self.end
        state = self._agreed(state, accepts, heard)
        over = accepts | ends
        over = over | (over[partner] & (partner != NOBODY))
        offer = jnp.where(proposes, deeds - self.propose + 1, state.offer)
        passed = proposes[partner] & (partner != NOBODY)
        speaks = (state.speaks & ~proposes | passed) & ~over

        asks = deeds < self.propose
        asked = jnp.where((deeds != NONE) & asks, deeds, NOBODY)
        seat = jnp.arange(self.players, dtype=jnp.int32)
        matched = (asked != NOBODY) & (asked[asked] == seat)
        draw = random.bits(key, self.players) >> 31 == 1
        lower = jnp.minimum(seat, asked)
        opens = (seat == lower) == draw[lower]
        after = eqx.tree_at(
            lambda s: (s.partner, s.speaks, s.offer),
            state,
            (
                jnp.where(matched, asked, jnp.where(over, NOBODY, partner)),
                jnp.where(matched, opens, speaks),
                jnp.where(over | matched, 0, offer),
            ),
        )
        told = lambda mask, value=None: event(  # noqa: E731
            mask, other=jnp.where(mask, partner, -1), value=value
        )
        return after, {
            "matched": event(matched, other=jnp.where(matched, asked, -1)),
            "proposed": told(proposes, self._worth(offer)),
            "agreed": told(accepts, self._worth(heard)),
            "ended": told(ends),
        }

    def _worth(self, offer: Int[Array, " players"]) -> Float[Array, " players"]:
        """A share by its size; other offers by their number."""
        return jnp.where(offer < TENTHS, offer / jnp.float32(TENTHS), offer.astype(jnp.float32))

    def _agreed(
        self, state: State, accepts: Bool[Array, " players"], heard: Int[Array, " players"]
    ) -> State:
        """Coalitions, sight and bans after everybody's yes (C4, C6)."""
        partner = jnp.where(accepts, state.partner, 0)
        coalition, weight = united(
            state.coalition, state.weight, accepts & (heard < TENTHS), partner, heard
        )
        seat = jnp.arange(self.players)
        sight, banned = state.sight, state.banned
        if self.sight:
            mutual = (accepts & (heard == TENTHS))[:, None] & (seat[None] == partner[:, None])
            sight = sight | mutual | mutual.T
        if self.bans:
            first = TENTHS + self.sight
            ban = jnp.arange(len(self.bans))[None] == (heard - first)[:, None]
            banned = banned | (ban & accepts[:, None])
        return eqx.tree_at(
            lambda s: (s.coalition, s.weight, s.sight, s.banned),
            state,
            (coalition, weight, sight, banned),
        )

    def members(self, state: State) -> Members:
        """Everybody's coalition and weight in it."""
        return Members(state.coalition[:, None], state.weight[:, None])

    def share(self, parts: Parts, state: State, now: Circumstances, params: Params) -> Parts:
        """Coalitions pool and split by shares (C5)."""
        return social.pooled(parts, (self.members(state),), (self.players,))

    def adjust(
        self, parts: Parts, state: State, step: Proceedings, params: Params
    ) -> tuple[Parts, State, Events]:
        """Whoever breaks a ban it is bound to pays the others (C6)."""
        for number, conduct in enumerate(self.banned):
            times = conduct.times(step.events, self.players) * state.banned[:, number]
            parts = among_others(parts, owed(times, params.fine))
        return parts, state, {}

    def shows(
        self, state: State, now: Circumstances, params: Params
    ) -> Int[Array, "players shared_views"]:
        """Those with whom sight was agreed."""
        none = jnp.zeros(state.sight.shape, jnp.uint8)
        return social.shown_by(Edges(none, state.sight), self.players, self.shared_views)

    def turn(self, key: Any, state: State, now: Circumstances, params: Params) -> State:
        """Sessions lapse when negotiating is over (C1)."""
        over = ~now.paused
        return eqx.tree_at(
            lambda s: (s.partner, s.speaks, s.offer),
            state,
            (
                jnp.where(over, NOBODY, state.partner),
                state.speaks & ~over,
                jnp.where(over, 0, state.offer),
            ),
        )

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """Stage, word and offer; everybody's coalition and share; whom one may ask."""
        paused = now.paused
        seat = jnp.arange(self.players)
        own = [jnp.full(self.players, ~paused), state.speaks, self._heard(state)]
        own = jnp.stack([x.astype(jnp.uint8) for x in own], 1)
        percent = social.percent(self.members(state), self.players)[:, 0]
        percent = jnp.where(state.coalition == NOBODY, 100, percent)
        about = jnp.stack([(state.coalition + 1).astype(jnp.uint8), percent.astype(jnp.uint8)], 1)
        mine = jnp.stack(
            [self._may_be_asked(state) & paused, seat[None] == state.partner[:, None]], -1
        )
        return self.shown(
            jnp.concatenate([own, state.banned.astype(jnp.uint8)], 1),
            jnp.concatenate([self.of_contacts(about, now), mine.astype(jnp.uint8)], -1),
        )

    def bonds(self, state: State, now: Circumstances, params: Params) -> Bonds:
        """Coalitions, and who agreed to show its window to whom."""
        return Bonds(
            self.players,
            stage=self.own_specs[0].codes[int(~now.paused)],
            layers=(social.circles(self.members(state), "coalition"),),
            sight=tuple((by, to) for by, to in np.argwhere(np.asarray(state.sight)).tolist()),
        )

    def gauges(self, state: State, now: Circumstances, params: Params) -> dict[str, Any]:
        """How many coalitions there are, and the size of the largest."""
        inside = jnp.ones((self.players, 1), jnp.int32)
        size = social.totals(inside, state.coalition[:, None], self.players)
        return {
            "coalitions": jnp.sum(size > 1).astype(jnp.float32),
            "largest coalition": jnp.max(size).astype(jnp.float32),
        }


def united(
    coalition: Int[Array, " players"],
    weight: Int[Array, " players"],
    accepts: Bool[Array, " players"],
    partner: Int[Array, " players"],
    claimed: Int[Array, " players"],
) -> tuple[Int[Array, " players"], Int[Array, " players"]]:
    """Coalitions and weights after everybody who `accepts` has united with its partner.

    The partner's side is multiplied by the tenths that it claimed, the other side by the rest. A
    side's factor is a product over how often each tenth occurs, so agreements commute.
    """
    players = len(coalition)
    seat = jnp.arange(players, dtype=jnp.int32)
    side = jnp.where(coalition == NOBODY, seat, coalition)
    theirs = jnp.where(accepts, side[partner], players)
    mine = jnp.where(accepts, side, players)
    times = jnp.zeros((players + 1, TENTHS + 1), jnp.int32)
    times = times.at[theirs, claimed].add(1).at[mine, TENTHS - claimed].add(1)
    powers = np.power(np.arange(TENTHS + 1)[:, None] / TENTHS, np.arange(players + 1)[None])
    factor = jnp.ones(players)
    for tenth in range(1, TENTHS):
        factor = factor * jnp.asarray(powers[tenth], jnp.float32)[times[:players, tenth]]
    whole = social.totals(weight[:, None], side[:, None], players)
    share = weight.astype(jnp.float32) / whole[side].astype(jnp.float32) * factor[side]

    def joined(label: Int[Array, " players"]) -> Int[Array, " players"]:
        lower = jnp.where(accepts, jnp.minimum(label, label[partner]), label)
        least = jnp.full(players, players, jnp.int32).at[side].min(lower)
        least = least.at[side[partner]].min(jnp.where(accepts, lower, players))
        return jnp.minimum(label, least[side])

    label, _ = jax.lax.while_loop(
        lambda carry: carry[1],
        lambda carry: (joined(carry[0]), (joined(carry[0]) != carry[0]).any()),
        (side, accepts.any()),
    )
    largest = jnp.zeros(players).at[label].max(share)
    touched = jnp.zeros(players + 1, bool).at[mine].set(True).at[theirs].set(True)[:players]
    changed = jnp.zeros(players, bool).at[label].max(touched[side])[label]
    new = jnp.round(share / largest[label] * WHOLE).astype(jnp.int32)
    return jnp.where(changed, label, coalition), jnp.where(changed, new, weight)
