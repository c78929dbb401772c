"""Visibility: what players know of one another: names, a public ledger, totals only, or nothing.

Rules
  C1  With names, players see who is who, as without this article: the control of the others.
  C2  With a ledger everybody is also told how many points each has earned in the world so far, and
      how many all have together; with totals only the latter.
  C3  Where players are anonymous they see that somebody stands there and that somebody did
      something, but not who, and numbers about single players show nothing. Whom they address by
      an action they address by its seat.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from sociarium.charters.article import Article, Circumstances, Proceedings, Shown
from sociarium.core.environment import Environment
from sociarium.core.errors import UnknownName
from sociarium.core.events import Events
from sociarium.core.params import NOT_NEGATIVE
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import OwnSpec, PlaneSpec
from sociarium.mechanics.parts import Parts

SHEET = RuleSheet.read(__doc__)
KINDS = ("names", "ledger", "totals", "anonymous")
LISTED = 100  # steps of a ledger; whoever has earned more stands at the last
MOST = 30_000


class Params(eqx.Module):
    """How many points one line of the ledger counts."""

    unit: Float[Array, ""]
    bounds: ClassVar = {"unit": NOT_NEGATIVE}


class State(eqx.Module):
    """What everybody has earned in the world so far."""

    earned: Float[Array, " players"]


class Visibility(Article[State, Params]):
    """What is `shown`: names, ledger, totals or anonymous; a ledger counts in `unit`s."""

    name = "visibility"
    sheet = SHEET
    suits_large = True

    def __init__(self, shown: str = "names", unit: int | float = 1.0) -> None:
        if shown not in KINDS:
            raise UnknownName("kind of visibility", shown, KINDS)
        self.kind, self.unit = shown, unit
        self.anonymous = shown == "anonymous"

    def bind(self, world: Environment[Any, Any], before: Any) -> None:
        """Lines of the ledger, and the total (C2)."""
        if self.kind == "ledger":
            lines = (*(f"{line}" for line in range(LISTED)), f"{LISTED} or more")
            self.tie_specs = (PlaneSpec("earned so far", lines),)
        if self.kind in ("ledger", "totals"):
            self.number_specs = (OwnSpec("earned by all", -MOST, MOST),)

    def defaults(self) -> Params:
        """The unit."""
        return Params(jnp.float32(self.unit))

    def begin(self, key: Any, now: Circumstances, params: Params) -> State:
        """Nobody has earned anything."""
        return State(jnp.zeros(self.players if self.number_specs else 0))

    def adjust(
        self, parts: Parts, state: State, step: Proceedings, params: Params
    ) -> tuple[Parts, State, Events]:
        """What the world paid is entered (C2)."""
        if not self.number_specs:
            return parts, state, {}
        return parts, State(state.earned + step.raw.points()), {}

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """The ledger, and the total (C2)."""
        if not self.number_specs:
            return self.shown()
        total = jnp.round(jnp.clip(state.earned.sum(), -MOST, MOST))
        if not self.tie_specs:
            return self.shown(numbers=total[None])
        line = jnp.clip(jnp.floor(state.earned / params.unit), 0, LISTED).astype(jnp.uint8)
        return self.shown(ties=self.of_contacts(line[:, None], now), numbers=total[None])
