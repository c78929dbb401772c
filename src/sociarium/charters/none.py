"""No charter: everybody keeps what it earns, and nothing social can be done.

Rules
  C1  Nothing is shared: neither points nor sight.
  C2  In societies of more than 256 one can speak to the nearest few in sight, and hear them.
"""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Int

from sociarium.charters.charter import Charter
from sociarium.core.rules import RuleSheet

SHEET = RuleSheet.read(__doc__)


class Params(eqx.Module):
    """There are no numbers."""


class State(eqx.Module):
    """In large societies, who can be spoken to."""

    near: Int[Array, "players near"]


class NoCharter(Charter[State, Params]):
    """The world as it is, in the form of a society; with words, if it is given any."""

    sheet = SHEET
    suits_large = True

    def defaults(self) -> Params:
        """Nothing."""
        return Params()

    def begin(self, key: Any, near: Int[Array, "players near"], params: Params) -> State:
        """Who is near."""
        return State(near)

    def turn(
        self,
        key: Any,
        state: State,
        moved: Bool[Array, ""],
        near: Int[Array, "players near"],
        params: Params,
    ) -> State:
        """Who is near now (C2)."""
        return State(near)
