"""Tithe: a tenth of what everybody earns goes to the first seat.

Rules
  C1  A tenth of all points goes to the player in the first seat.
"""

import equinox as eqx
import jax.numpy as jnp

from sociarium.charters.charter import Charter
from sociarium.core.rules import RuleSheet

SHEET = RuleSheet.read(__doc__)


class Nothing(eqx.Module):
    """No numbers and no memory."""


class Tithe(Charter[Nothing, Nothing]):
    """A tenth for the first seat."""

    sheet = SHEET

    def defaults(self):
        return Nothing()

    def begin(self, key, near, params):
        return Nothing()

    def share(self, parts, state, params):
        tenth = parts // 10
        return (parts - tenth).at[0].add(jnp.sum(tenth, dtype=parts.dtype))
