"""Pacts: players draft clauses while they live, and bind themselves to them.

Rules
  C1  A player who decides outside compiled code may draft a clause: a fine for an event of the
      world, or for one kind of it. It is then signed by its author, who votes for it too.
  C2  Instead of acting in the world a player may sign a clause that was drafted.
  C3  A clause binds whoever has signed it, and everybody while more than half of all players are
      for it.
  C4  For each breach whoever is bound pays the fine to the other players, in equal shares.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from sociarium.charters.article import (
    NONE,
    Article,
    Circumstances,
    Proceedings,
    Shown,
    amount_spec,
    told_amount,
)
from sociarium.charters.clauses import Clause, Judgement, every_conduct
from sociarium.core.actions import action_for_each
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import Events, event
from sociarium.core.patches import Ballot, Draft, Patch, Signature
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, PlaneSpec
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.transfers import among_others, owed

SHEET = RuleSheet.read(__doc__)
MOST_DRAFTS = 16
EMPTY = -1


class Params(eqx.Module):
    """There are no numbers."""


class State(eqx.Module):
    """Every drafted clause: what it is about (EMPTY if none), its fine, who signed, who is for."""

    term: Int[Array, " drafts"]
    fine: Float[Array, " drafts"]
    signed: Bool[Array, "drafts players"]
    voted_for: Bool[Array, "drafts players"]


class Pacts(Article[State, Params]):
    """Room for so many `drafts`; each can be signed by an action or by a patch."""

    name = "pacts"
    sheet = SHEET
    accepts = (Draft, Signature, Ballot)
    suits_large = True

    def __init__(self, drafts: int = 4) -> None:
        if not 1 <= drafts <= MOST_DRAFTS:
            raise BadArgument(f"drafts must be 1 to {MOST_DRAFTS}; given {drafts}")
        self.drafts = drafts

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """An action to sign each clause; every event of the world can be a term."""
        self.conducts = every_conduct(world.event_specs)
        self.terms = tuple(each.name for each in self.conducts)
        self.spans = dict.fromkeys(("sign", "vote"), (0, self.drafts - 1))
        numbers = tuple(f"clause {number}" for number in range(self.drafts))
        self.actions = action_for_each("sign", numbers, "sign {}", "bind yourself to {}")
        self.event_specs = (
            EventSpec("signed", "{actor} signed clause {value}"),
            *(
                spec
                for number in numbers
                for spec in (
                    EventSpec(f"broke {number}", f"{{actor}} broke {number} and paid {{value}}"),
                    EventSpec(f"kept {number}", f"{{actor}} kept {number}", visible="nobody"),
                )
            ),
        )
        self.judgements = tuple(
            Judgement(f"broke {number}", kept=f"kept {number}", steady=True) for number in numbers
        )
        self.own_specs = tuple(
            spec
            for number in numbers
            for spec in (
                PlaneSpec(number, ("none", *self.terms)),
                PlaneSpec(f"bound by {number}", ("no", "yes")),
            )
        )
        self.number_specs = tuple(amount_spec(f"fine of {number}") for number in numbers)

    def defaults(self) -> Params:
        """Nothing."""
        return Params()

    def begin(self, key: Any, now: Circumstances, params: Params) -> State:
        """Nothing is drafted."""
        nobody = jnp.zeros((self.drafts, self.players), bool)
        return State(
            jnp.full(self.drafts, EMPTY, jnp.int32), jnp.zeros(self.drafts), nobody, nobody
        )

    def legal(
        self, state: State, now: Circumstances, params: Params
    ) -> Bool[Array, "players drafts"]:
        """Signing what is drafted and not yet signed (C2)."""
        return ((state.term != EMPTY)[:, None] & ~state.signed).T

    def act(
        self,
        key: Any,
        state: State,
        deeds: Int[Array, " players"],
        now: Circumstances,
        params: Params,
    ) -> tuple[State, Events]:
        """After everybody who signs a clause has signed it (C2)."""
        signs = deeds[None] == jnp.arange(self.drafts)[:, None]
        signed = event(deeds != NONE, value=deeds.astype(jnp.float32))
        return eqx.tree_at(lambda s: s.signed, state, state.signed | signs), {"signed": signed}

    def binds(self, state: State) -> Bool[Array, "drafts players"]:
        """Whom each clause binds (C3)."""
        law = 2 * state.voted_for.sum(1, keepdims=True) > self.players
        return (state.signed | law) & (state.term != EMPTY)[:, None]

    def adjust(
        self, parts: Parts, state: State, step: Proceedings, params: Params
    ) -> tuple[Parts, State, Events]:
        """What everybody has after it was fined under the clauses that bind it (C4)."""
        times = jnp.stack([each.times(step.events, self.players) for each in self.conducts])
        binds = self.binds(state)
        times = jnp.where(binds, times[jnp.maximum(state.term, 0)], 0)
        happened = {}
        for number, fine in enumerate(state.fine):
            parts = among_others(parts, owed(times[number], fine))
            broke = times[number] > 0
            happened[f"broke clause {number}"] = event(broke, value=times[number] * fine)
            kept = binds[number] & ~broke & ~step.now.paused
            happened[f"kept clause {number}"] = event(kept)
        return parts, state, happened

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """What every clause is about and costs, and whether it binds one."""
        term = jnp.broadcast_to((state.term + 1)[None], (self.players, self.drafts))
        both = jnp.stack([term, self.binds(state).T.astype(term.dtype)], -1)
        own = both.reshape(self.players, 2 * self.drafts)
        return self.shown(own, numbers=told_amount(state.fine))

    def write(self, state: State, patch: Patch) -> State:
        """A clause, a signature or a vote more (C1, C3)."""
        seat = patch.seat
        if isinstance(patch, Draft):
            return self._drafted(state, seat, patch.what, patch.fine)
        assert isinstance(patch, Signature | Ballot)
        drafted = [number for number, term in enumerate(state.term.tolist()) if term != EMPTY]
        if patch.clause not in drafted:
            raise BadArgument(f"the drafted clauses are {drafted}; given {patch.clause}")
        if isinstance(patch, Signature):
            signed = state.signed.at[patch.clause, seat].set(True)
            return eqx.tree_at(lambda s: s.signed, state, signed)
        votes = state.voted_for.at[patch.clause, seat].set(patch.yes)
        return eqx.tree_at(lambda s: s.voted_for, state, votes)

    def _drafted(self, state: State, seat: int, what: str, fine: float) -> State:
        """One more clause, signed and voted for by its author (C1)."""
        if what not in self.terms:
            raise UnknownName("event to write a clause about", what, self.terms)
        if not bool((state.term == EMPTY).any()):
            raise BadArgument(
                f"this society has room for {self.drafts} drafted clauses and no more; "
                f"ask for more with pacts?drafts=, up to {MOST_DRAFTS}"
            )
        slot = jnp.argmax(state.term == EMPTY)
        return State(
            state.term.at[slot].set(self.terms.index(what)),
            state.fine.at[slot].set(fine),
            state.signed.at[slot, seat].set(True),
            state.voted_for.at[slot, seat].set(True),
        )

    def law(self, state: State, params: Params) -> tuple[str, ...]:
        """Every drafted clause; whom it binds is told to each."""
        return tuple(
            f"Clause {number}, for whoever is bound by it: "
            f"{Clause(self.conducts[term], float(state.fine[number])).sentence}"
            for number, term in enumerate(np.asarray(state.term).tolist())
            if term != EMPTY
        )
