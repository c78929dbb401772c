"""Clauses that players draft while they live: fines for what a world can see happen.

A clause names an event of the world, or one kind of it, as in `zapped` or `picked wood`. It binds
whoever has signed it, and everybody once more than half of all players voted for it. Fines go to
the other players in equal shares.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt8

from sociarium.charters.clauses import Clause, settled
from sociarium.core.actions import action_for_each
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import Events, event
from sociarium.core.specs import EventSpec, PlaneSpec
from sociarium.mechanics.parts import Parts

MOST_DRAFTS = 16
EMPTY = -1


class Pact(eqx.Module):
    """Every drafted clause: what it is about (EMPTY if none), its fine, who signed, who is for."""

    term: Int[Array, " drafts"]
    fine: Float[Array, " drafts"]
    signed: Bool[Array, "drafts players"]
    voted_for: Bool[Array, "drafts players"]


class Pacts:
    """Room for `drafts` clauses in a society; each can be signed by an action or by a patch."""

    def __init__(self, world: Environment[Any, Any], drafts: int) -> None:
        if not 0 <= drafts <= MOST_DRAFTS:
            raise BadArgument(f"drafts must be 0 to {MOST_DRAFTS}; given {drafts}")
        self.players, self.drafts = world.players, drafts
        self.terms = tuple(_terms(world)) if drafts else ()
        self.clauses = tuple(Clause(term, 0.0).around(world) for term in self.terms)
        self.actions = action_for_each(
            "sign", tuple(f"clause {n}" for n in range(drafts)), "sign {}", "bind yourself to {}"
        )
        self.event_specs = (
            EventSpec("signed", "{actor} signed clause {value}"),
            EventSpec("paid for a clause", "{actor} paid {value} under a clause it is bound to"),
        ) * bool(drafts)
        self.own_specs = tuple(
            spec
            for number in range(drafts)
            for spec in (
                PlaneSpec(f"clause {number}", ("none", *self.terms)),
                PlaneSpec(f"bound by clause {number}", ("no", "yes")),
            )
        )

    def blank(self) -> Pact:
        """Nothing is drafted."""
        nobody = jnp.zeros((self.drafts, self.players), bool)
        return Pact(jnp.full(self.drafts, EMPTY, jnp.int32), jnp.zeros(self.drafts), nobody, nobody)

    def number(self, what: str) -> int:
        """The number of a term; others than the world's events are refused."""
        if what not in self.terms:
            raise UnknownName("event to write a clause about", what, self.terms)
        return self.terms.index(what)

    def drafted(self, pact: Pact, seat: int, what: str, fine: float) -> Pact:
        """One more clause, signed and voted for by its author."""
        if not bool((pact.term == EMPTY).any()):
            raise BadArgument(
                f"this society has room for {self.drafts} drafted clauses and no more; "
                f"ask for more with ?drafts=, up to {MOST_DRAFTS}"
            )
        slot = jnp.argmax(pact.term == EMPTY)
        return Pact(
            pact.term.at[slot].set(self.number(what)),
            pact.fine.at[slot].set(fine),
            pact.signed.at[slot, seat].set(True),
            pact.voted_for.at[slot, seat].set(True),
        )

    def signed(self, pact: Pact, deeds: Int[Array, " players"]) -> tuple[Pact, Events]:
        """After everybody who signs a clause (another number for none) has signed it."""
        if not self.drafts:
            return pact, {}
        signs = deeds[None] == jnp.arange(self.drafts)[:, None]
        signs &= (pact.term != EMPTY)[:, None]
        happened = event(signs.any(0), value=deeds.astype(jnp.float32))
        return eqx.tree_at(lambda p: p.signed, pact, pact.signed | signs), {"signed": happened}

    def undersigned(self, pact: Pact, seat: int, clause: int) -> Pact:
        """After one player signed a clause that was drafted."""
        self._known(pact, clause)
        return eqx.tree_at(lambda p: p.signed, pact, pact.signed.at[clause, seat].set(True))

    def _known(self, pact: Pact, clause: int) -> None:
        drafted = [number for number, term in enumerate(pact.term.tolist()) if term != EMPTY]
        if clause not in drafted:
            raise BadArgument(f"the drafted clauses are {drafted}; given {clause}")

    def voted(self, pact: Pact, seat: int, clause: int, yes: bool) -> Pact:
        """After a vote on a clause that was drafted."""
        self._known(pact, clause)
        votes = pact.voted_for.at[clause, seat].set(yes)
        return eqx.tree_at(lambda p: p.voted_for, pact, votes)

    def binds(self, pact: Pact) -> Bool[Array, "drafts players"]:
        """Whom each clause binds."""
        law = 2 * pact.voted_for.sum(1, keepdims=True) > self.players
        return (pact.signed | law) & (pact.term != EMPTY)[:, None]

    def enforced(self, parts: Parts, events: Events, pact: Pact) -> tuple[Parts, Events]:
        """What everybody has after it was fined under the clauses that bind it."""
        if not self.drafts:
            return parts, {}
        times = jnp.stack([clause.times(events) for clause in self.clauses])
        times = jnp.where(self.binds(pact), times[jnp.maximum(pact.term, 0)], 0)
        for number in range(self.drafts):
            parts = settled(parts, times[number], pact.fine[number])
        fines = jnp.sum(times * pact.fine[:, None], 0)
        return parts, {"paid for a clause": event(fines > 0, value=fines)}

    def legal(self, pact: Pact) -> Bool[Array, "players drafts"]:
        """Signing what is drafted and not yet signed."""
        return ((pact.term != EMPTY)[:, None] & ~pact.signed).T

    def told(self, pact: Pact) -> UInt8[Array, "players own"]:
        """What every clause is about, and whether it binds one."""
        term = jnp.broadcast_to((pact.term + 1)[None], (self.players, self.drafts))
        both = jnp.stack([term, self.binds(pact).T.astype(term.dtype)], -1)
        return both.reshape(self.players, 2 * self.drafts).astype(jnp.uint8)


def _terms(world: Environment[Any, Any]) -> list[str]:
    """Everything a clause can be about: each event that players do, and each kind of it."""
    doings = [spec for spec in world.event_specs if spec.axis != "place"]
    return [f"{spec.name} {kind}".rstrip() for spec in doings for kind in ("", *spec.values)]
