"""Tithe: a tenth of what everybody earns goes to the first seat.

Rules
  C1  A tenth of all points goes to the player in the first seat.
"""

import equinox as eqx
import jax.numpy as jnp

from sociarium.charters.article import Article
from sociarium.core.rules import RuleSheet
from sociarium.mechanics.parts import Parts

SHEET = RuleSheet.read(__doc__)


class Nothing(eqx.Module):
    """No numbers and no memory."""


class Tithe(Article[Nothing, Nothing]):
    """A tenth for the first seat."""

    name = "tithe"
    sheet = SHEET
    claims = ("shares",)

    def defaults(self):
        return Nothing()

    def begin(self, key, now, params):
        return Nothing()

    def share(self, parts, state, now, params):
        tenth, _ = parts.divided(10)
        total, first = tenth.sum(0), jnp.arange(self.players) == 0
        return parts - tenth + Parts(*(jnp.where(first, x, 0) for x in (total.high, total.low)))
