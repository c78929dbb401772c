"""Norm: a sentence and a number are posted for all to read, and nobody enforces them.

Rules
  C1  Everybody is told the sentence and the number. Whatever players do, nothing follows from it.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from sociarium.charters.article import (
    MOST_TOLD,
    Article,
    Circumstances,
    Shown,
    amount_spec,
    told_amount,
)
from sociarium.charters.clauses import plain_number
from sociarium.core.rules import RuleSheet
from sociarium.core.text import refuse_text

SHEET = RuleSheet.read(__doc__)


class Params(eqx.Module):
    """The posted number."""

    number: Float[Array, ""]


class State(eqx.Module):
    """Nothing is remembered."""


class Norm(Article[State, Params]):
    """A `text` in which {number} stands for the number, as in `Norm("Take {number} at most", 1)`.

    Its control is a norm with another number, or none.
    """

    name = "norm"
    sheet = SHEET
    suits_large = True
    number_specs = (amount_spec("posted number", -MOST_TOLD),)

    def __init__(self, text: str = "The number is {number}.", number: int | float = 0.0) -> None:
        refuse_text(text, "the text of a norm")
        self.text, self.number = text, number

    def defaults(self) -> Params:
        """The number."""
        return Params(jnp.float32(self.number))

    def begin(self, key: Any, now: Circumstances, params: Params) -> State:
        """Nothing."""
        return State()

    def tell(self, state: State, now: Circumstances, params: Params) -> Shown:
        """The number (C1)."""
        return self.shown(numbers=told_amount(params.number, -MOST_TOLD)[None])

    def law(self, state: State, params: Params) -> tuple[str, ...]:
        """The sentence, and that nobody enforces it (C1)."""
        text = self.text.replace("{number}", plain_number(float(params.number)))
        return (f"Posted, and enforced by nobody: {text}",)
