"""No charter: everybody keeps what it earns, and nothing social can be done.

Rules
  C1  Nothing is shared: neither points nor sight.
"""

from typing import Any

import equinox as eqx

from sociarium.charters.charter import Charter
from sociarium.core.rules import RuleSheet

SHEET = RuleSheet.read(__doc__)


class Params(eqx.Module):
    """There are no numbers."""


class NoCharter(Charter[tuple[()], Params]):
    """The world as it is, in the form of a society; with words, if it is given any."""

    sheet = SHEET

    def defaults(self) -> Params:
        """Nothing."""
        return Params()

    def begin(self, key: Any, near: Any, params: Params) -> tuple[()]:
        """Nothing."""
        return ()
