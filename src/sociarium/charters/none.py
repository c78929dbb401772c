"""No charter: everybody keeps what it earns.

Rules
  C1  Nothing is shared: neither points nor sight.
"""

from typing import Any

import equinox as eqx

from sociarium.charters.article import Article
from sociarium.core.rules import RuleSheet

SHEET = RuleSheet.read(__doc__)


class Params(eqx.Module):
    """There are no numbers."""


class State(eqx.Module):
    """Nothing is remembered."""


class NoCharter(Article[State, Params]):
    """The world as it is, in the form of a society."""

    name = "none"
    sheet = SHEET
    claims = ("shares", "sight")
    suits_large = True

    def defaults(self) -> Params:
        """Nothing."""
        return Params()

    def begin(self, key: Any, now: Any, params: Params) -> State:
        """Nothing."""
        return State()
