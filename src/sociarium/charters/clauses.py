"""Clauses over what happens: whoever does a named thing pays a fine to the others, or is tipped."""

import copy
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int

from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import Event, Events, counts, event, find_event
from sociarium.core.specs import EventSpec
from sociarium.mechanics.parts import Parts


class Clause:
    """A fine for each time a player does `what`, as in `zapped` or `picked wood`.

    The fine goes to the other players in equal shares, or to nobody. A fine below 0 is a tip, which
    the others pay in equal shares, or nobody does.
    """

    def __init__(self, what: str, fine: float, to_others: bool = True) -> None:
        self.what, self.fine, self.to_others = what, fine, to_others
        self.event, _, self.kind = what.partition(" ")

    @classmethod
    def read(cls, text: str) -> "Clause":
        """From words like `zapped:2`, `picked wood:0.5` or `served:-1`."""
        what, _, fine = text.rpartition(":")
        try:
            return cls(what, float(fine))
        except ValueError:
            raise BadArgument(
                "a clause is written EVENT:FINE, as in zapped:2 or 'picked wood:0.5'; "
                f"given {text!r}"
            ) from None

    def around(self, world: Environment[Any, Any]) -> "Clause":
        """A copy for this world, whose events it must name."""
        bound, spec = copy.copy(self), find_event(world.event_specs, self.event)
        if self.kind and self.kind not in spec.values:
            raise UnknownName(f"kind of {self.event}", self.kind, spec.values)
        bound.spec, bound.players = spec, world.players
        bound.name = f"{'tipped' if self.fine < 0 else 'fined'} for {self.what}"
        did = "was tipped" if self.fine < 0 else "paid"
        bound.event_spec = EventSpec(bound.name, f"{{actor}} {did} {{value}} for {self.what}")
        return bound

    @property
    def sentence(self) -> str:
        """The clause in words."""
        if self.fine < 0:
            whom = "by the others in equal shares" if self.to_others else "by nobody"
            return f"Whoever {self.what} is tipped {-self.fine:g} each time, {whom}."
        whom = "to the others in equal shares" if self.to_others else "to nobody"
        return f"Whoever {self.what} pays {self.fine:g} each time, {whom}."

    spec: EventSpec
    players: int
    name: str
    event_spec: EventSpec

    def times(self, events: Events) -> Int[Array, " players"]:
        """How often each player did it in this step."""
        kind = events[self.event]
        if self.kind:
            number = self.spec.values.index(self.kind)
            kind = eqx.tree_at(lambda k: k.mask, kind, kind.mask & (kind.value == number))
        return counts(kind, self.spec, self.players)

    def enforced(self, parts: Parts, events: Events) -> tuple[Parts, Event]:
        """What everybody has after it was fined, and who paid."""
        times = self.times(events)
        paid = event(times > 0, value=times * jnp.float32(abs(self.fine)))
        return settled(parts, times, self.fine, self.to_others), paid


def settled(
    parts: Parts, times: Int[Array, " players"], fine: Any, to_others: bool = True
) -> Parts:
    """What everybody has after it paid a fine for each of these times.

    Where fines go to the others nothing is lost: what does not come out even goes to the first of
    them by id, one part each.
    """
    due = Parts.of(jnp.float32(fine)).times(times)
    others = len(times) - 1
    if not (to_others and others):
        return parts - due
    total = due.sum(0)
    received, odd = (total - due).divided(others)
    rest = (total - received.sum(0)).clipped(1)
    first = (odd > 0) & (jnp.cumsum(odd > 0) <= rest)
    return parts - due + received + first.astype(jnp.int32)
