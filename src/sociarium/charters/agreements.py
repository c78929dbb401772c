"""Agreements: players propose, approve and sign transfers for what they will do.

Rules
  C1  Before the work the world stands still. First everybody may propose terms; then approve any
      proposals, which nobody else is told; one of those that most approve of wins, by lot; then
      everybody may sign it. Whoever proposes something approves of it.
  C2  It is in force if at least the quorum of all players has signed: all of them, unless told
      otherwise. Who signed is known once the work begins. It binds those who signed, its parties.
  C3  Terms give a rate for each of some things. For each time a party does such a thing it gets the
      rate from the other parties in equal parts, or pays it to them where the rate is below 0. What
      does not come out even is not paid. Rates are no larger than the cap.
  C4  Who would have paid more than the budget by then, or be left with less than the floor of all
      it has earned, pays nothing in that step, and nobody gets that part.
  C5  A party may give notice, and is free so many steps later. It may also walk out, and is free at
      once: that is a breach, for which it pays the penalty to the other parties in equal parts.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.charters.article import (
    MOST_TOLD,
    NONE,
    Article,
    Circumstances,
    Proceedings,
    Shown,
    amount_spec,
    separate,
    told_amount,
)
from sociarium.charters.clauses import (
    MOST_POINTS,
    Clause,
    Judgement,
    every_conduct,
    read_clause,
)
from sociarium.charters.proposals import WORK, ProposalParams, Proposals, ProposalState
from sociarium.core.actions import ActionSpec
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import Events, event
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec, PlaneSpec
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY
from sociarium.mechanics.transfers import owed

SHEET = RuleSheet.read(__doc__)
FOREVER = 2**30
RATES = (1.0, -1.0)  # of the templates that there are by default, for each thing that players do


class AgreementParams(ProposalParams):
    """Besides those of proposing: limits of what is paid, notice, and the penalty."""

    cap: Float[Array, ""]
    budget: Float[Array, ""]
    floor: Float[Array, ""]
    notice: Int[Array, ""]
    penalty: Float[Array, ""]


class AgreementState(ProposalState):
    """Besides what was proposed: when each party is free, what it has paid, and all it earned."""

    leaves: Int[Array, " players"]
    paid: Parts
    score: Parts


class Agreements(Proposals[AgreementState, AgreementParams]):
    """Terms as clauses, several with semicolons, as in `Agreements("whoever cleans gets 1")`.

    Without any, there are two for each thing that players do: a point from the other parties each
    time, or to them. `quorum` is the share of players who must sign.
    """

    name = "agreements"
    sheet = SHEET
    gauge_specs = (GaugeSpec("parties", "players bound by an agreement"),)

    def __init__(
        self,
        *terms: str,
        quorum: int | float = 1.0,
        approval: int = 2,
        cap: int | float = 100.0,
        budget: int | float = 1e6,
        floor: int | float = -1e6,
        notice: int = 10,
        penalty: int | float = 5.0,
    ) -> None:
        amounts = (cap, budget, penalty, -floor)
        if not 0 < quorum <= 1 or approval < 1 or not 0 <= notice <= MOST_POINTS:
            raise BadArgument(
                f"quorum is above 0 and at most 1, approval at least 1, and notice 0 to "
                f"{MOST_POINTS:,}; given {quorum}, {approval} and {notice}"
            )
        if not all(abs(amount) <= MOST_POINTS for amount in amounts) or min(amounts[:3]) < 0:
            raise BadArgument(
                f"cap, budget and penalty are 0 to {MOST_POINTS:,} points, and the floor is no "
                f"further from 0; given {cap}, {budget}, {penalty} and {floor}"
            )
        self.given = terms
        self.numbers = {
            "quorum": jnp.float32(quorum),
            "approval": jnp.int32(approval),
            "cap": jnp.float32(cap),
            "budget": jnp.float32(budget),
            "floor": jnp.float32(floor),
            "notice": jnp.int32(notice),
            "penalty": jnp.float32(penalty),
        }

    @classmethod
    def named(cls, terms: str | list[str] = "", **arguments: Any) -> "Article[Any, Any]":
        """With several terms that have a bar between them."""
        return cls(*separate(terms, "|"), **arguments)

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """What players can propose, and what there is to count."""
        self.world = world
        seen = [one for one in every_conduct(world.event_specs) if one.spec.visible != "nobody"]
        plain = [
            Clause(conduct, abs(rate), pays=rate < 0, per_unit=bool(conduct.spec.unit))
            for conduct in seen
            if not conduct.kind
            for rate in RATES
        ]
        given = [self._clauses(text) for text in self.given] or [[clause] for clause in plain]
        named = [clause for clauses in given for clause in clauses]
        measured = ((clause.conduct, clause.per_unit) for clause in (*plain, *named))
        self.measures = tuple(dict.fromkeys(measured))
        rows = [self._row(clauses) for clauses in given]
        self.rates = jnp.asarray(np.stack(rows))
        self.templates = tuple(self.told_terms(row) for row in rows)
        self.declare(world)
        self.leave, self.walk = len(self.actions), len(self.actions) + 1
        self.actions = (
            *self.actions,
            ActionSpec("give notice", "give notice", sentence="leave the agreement after notice"),
            ActionSpec("walk out", "walk out", sentence="leave the agreement at once: a breach"),
        )
        self.event_specs = (
            *self.event_specs,
            EventSpec("gave notice", "{actor} gave notice", visible="all"),
            EventSpec("broke the agreement", "{actor} walked out of the agreement", visible="all"),
            EventSpec("kept the agreement", "{actor} kept the agreement", visible="nobody"),
            EventSpec("got by agreement", "{actor} got {value} by agreement"),
            EventSpec("paid by agreement", "{actor} paid {value} by agreement"),
        )
        self.judgements = (
            Judgement("broke the agreement", kept="kept the agreement", steady=True),
        )
        self.own_specs = (*self.own_specs, PlaneSpec("party", ("no", "yes", "leaving")))
        self.tie_specs = (*self.tie_specs, PlaneSpec("bound", ("no", "yes", "until it leaves")))
        self.number_specs = tuple(
            amount_spec(f"agreed for {_measure(*measure)}", -MOST_TOLD) for measure in self.measures
        )

    # Terms.

    def table(self) -> Float[Array, "templates measures"]:
        """The rates of all templates."""
        return self.rates

    def _row(self, clauses: list[Clause]) -> np.ndarray:
        row = np.zeros(len(self.measures), np.float32)
        for clause in clauses:
            measure = (clause.conduct, clause.per_unit)
            if measure not in self.measures:
                known = tuple(_measure(*one) for one in self.measures)
                raise UnknownName("thing to agree on", _measure(*measure), known)
            if row[self.measures.index(measure)]:
                raise BadArgument(f"terms say once what {_measure(*measure)} is worth")
            row[self.measures.index(measure)] = -clause.amount if clause.pays else clause.amount
        return row

    def read_terms(self, text: str) -> np.ndarray:
        """Rates out of clauses with semicolons between them."""
        return self._row(self._clauses(text))

    def _clauses(self, text: str) -> list[Clause]:
        world = self.world
        clauses = [
            read_clause(one, world.event_specs, world.gauge_specs, world.players)
            for one in text.split(";")
            if one.strip()
        ]
        for clause in clauses:
            plain = Clause(clause.conduct, clause.amount, clause.pays, per_unit=clause.per_unit)
            if clause != plain:
                raise BadArgument(
                    "terms say what whoever does something gets from the others or pays to them, "
                    f"each time or for each unit; given {clause.sentence!r}"
                )
            if clause.amount > float(self.numbers["cap"]):
                cap = float(self.numbers["cap"])
                raise BadArgument(f"a rate is at most {cap:g}; given {clause.amount:g}")
        if not clauses:
            raise BadArgument(f"terms are one or more clauses; given {text!r}")
        return clauses

    def told_terms(self, terms: Any) -> str:
        """The rates in words, as clauses."""
        rates = np.asarray(terms).tolist()
        told = (
            Clause(conduct, abs(rate), pays=rate < 0, per_unit=by_unit).sentence
            for (conduct, by_unit), rate in zip(self.measures, rates, strict=True)
            if rate
        )
        return "; ".join(sentence[0].lower() + sentence[1:-1] for sentence in told) or "nothing"

    # Stages.

    def defaults(self) -> AgreementParams:
        """One step each to propose and to sign."""
        return AgreementParams(design=jnp.int32(1), signing=jnp.int32(1), **self.numbers)

    def begin(
        self, key: Key[Array, ""], now: Circumstances, params: AgreementParams
    ) -> AgreementState:
        """Nothing is agreed."""
        nothing = jnp.zeros(self.players, jnp.int32)
        return AgreementState(
            **self.nothing(params),
            leaves=jnp.full(self.players, FOREVER, jnp.int32),
            paid=Parts(nothing, nothing),
            score=Parts(nothing, nothing),
        )

    def parties(
        self, state: AgreementState, now: Circumstances, params: AgreementParams
    ) -> Bool[Array, " players"]:
        """Whom it binds now (C2, C5)."""
        binding = self.in_force(state, params) & (state.stage == WORK)
        return binding & state.signed & (now.clock < state.leaves)

    def _agreed(self, state: AgreementState, params: AgreementParams) -> Float[Array, " measures"]:
        """The rates that won, none beyond the cap (C3)."""
        return jnp.clip(state.terms[jnp.maximum(state.winner, 0)], -params.cap, params.cap)

    def legal(
        self, state: AgreementState, now: Circumstances, params: AgreementParams
    ) -> Bool[Array, "players actions"]:
        """What the stage allows; parties may leave, once."""
        party = self.parties(state, now, params)
        leaving = party & (state.leaves == FOREVER)
        return jnp.concatenate([self.may(state), leaving[:, None], party[:, None]], 1)

    def act(
        self,
        key: Key[Array, ""],
        state: AgreementState,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: AgreementParams,
    ) -> tuple[AgreementState, Events]:
        """Talking, notices and breaches (C1, C5)."""
        talks = jnp.where(deeds < self.leave, deeds, NONE)
        state, happened = self.talked(state, talks)
        notices, walks = deeds == self.leave, deeds == self.walk
        leaves = jnp.where(notices, now.clock + params.notice, state.leaves)
        state = eqx.tree_at(lambda s: s.leaves, state, jnp.where(walks, now.clock, leaves))
        return state, {
            **happened,
            "gave notice": event(notices),
            "broke the agreement": event(walks),
        }

    def adjust(
        self, parts: Parts, state: AgreementState, step: Proceedings, params: AgreementParams
    ) -> tuple[Parts, AgreementState, Events]:
        """Parties pay one another for what they did, and a breach is paid for (C3 to C5)."""
        party = self.parties(state, step.now, params)
        others = party.sum() - 1
        rate = self._agreed(state, params)
        gets, pays = self._shares(party & (others > 0), rate, jnp.maximum(others, 1), step)
        owes = self._all_others(gets, party) + pays.times(jnp.maximum(others, 0))
        solvent = state.paid + owes <= Parts.of(params.budget)
        solvent &= Parts.of(params.floor) <= state.score + parts - owes
        paid, able = owes.where(solvent), party & solvent
        received = gets.times(able.sum() - able) + self._all_others(pays.where(solvent), party)
        left = parts - paid + received
        left = self._penalties(left, party, step.events["broke the agreement"].mask, params)
        happened = {
            "kept the agreement": event(party & ~step.now.paused),
            "got by agreement": event(received.points() > 0, value=received.points()),
            "paid by agreement": event(paid.points() > 0, value=paid.points()),
        }
        after = (state.paid + paid, state.score + left)
        return left, eqx.tree_at(lambda s: (s.paid, s.score), state, after), happened

    def _penalties(
        self,
        parts: Parts,
        party: Bool[Array, " players"],
        walks: Bool[Array, " players"],
        params: AgreementParams,
    ) -> Parts:
        """What everybody has after those who walked out paid the parties that are left (C5)."""
        many = party.sum()
        each, _ = owed(walks.astype(jnp.int32), params.penalty).divided(jnp.maximum(many, 1))
        total = each.sum(0)
        gains = Parts(*(jnp.broadcast_to(x, (self.players,)) for x in (total.high, total.low)))
        return parts - each.times(many) + gains.where(party)

    def _shares(
        self,
        party: Bool[Array, " players"],
        rate: Float[Array, " measures"],
        others: Int[Array, ""],
        step: Proceedings,
    ) -> tuple[Parts, Parts]:
        """What each other party owes everybody for what it did, and it owes each of them."""
        nothing = jnp.zeros(self.players, jnp.int32)
        gets, pays = Parts(nothing, nothing), Parts(nothing, nothing)
        for number, (conduct, by_unit) in enumerate(self.measures):
            count = conduct.units if by_unit else conduct.times
            times = jnp.where(party, count(step.events, self.players), 0)
            each, _ = owed(times, jnp.abs(rate[number])).divided(others)
            gets = gets + each.where(rate[number] > 0)
            pays = pays + each.where(rate[number] < 0)
        return gets, pays

    def _all_others(self, each: Parts, party: Bool[Array, " players"]) -> Parts:
        """The sum over all other parties, for each party."""
        total = each.sum(0)
        whole = Parts(*(jnp.broadcast_to(x, (self.players,)) for x in (total.high, total.low)))
        return (whole - each).where(party)

    def tell(self, state: AgreementState, now: Circumstances, params: AgreementParams) -> Shown:
        """Stage, proposals and signatures; whether it binds one, and what was agreed."""
        own, ties = self.told(state)
        party = self.parties(state, now, params)
        standing = party.astype(jnp.int32) * (1 + (state.leaves != FOREVER))
        rate = self._agreed(state, params) * self.in_force(state, params)
        told = told_amount(rate, -MOST_TOLD)
        bound = jnp.broadcast_to(standing[None, :, None], (*ties.shape[:2], 1))
        own, ties = (
            jnp.concatenate(both, -1) for both in ([own, standing[:, None]], [ties, bound])
        )
        return self.shown(own, ties, told)

    def law(self, state: AgreementState, params: AgreementParams) -> tuple[str, ...]:
        """What is proposed, and what is in force."""
        if int(state.winner) == NOBODY:
            return self.proposed(state)
        terms = self.told_terms(self._agreed(state, params))
        known = f"seat {int(state.winner)} proposed it, its terms are {self.terms_hash(state)}"
        if int(state.stage) < WORK:
            return (f"To be signed ({known}): {terms}.",)
        if not bool(self.in_force(state, params)):
            return (f"Not in force, since too few signed ({known}): {terms}.",)
        return (f"Agreed among those who signed ({known}): {terms}.",)

    def gauges(
        self, state: AgreementState, now: Circumstances, params: AgreementParams
    ) -> dict[str, Any]:
        """How many are bound."""
        return {"parties": self.parties(state, now, params).sum().astype(jnp.float32)}


def _measure(conduct: Any, by_unit: bool) -> str:
    return f"each of the {conduct.spec.unit} of {conduct.name}" if by_unit else conduct.name
