"""Recall: name the colour that one saw a step ago. Only a memory earns more than a third.

Rules
  R1  Everybody sees a colour of its own, drawn anew at every step.
  R2  Doing what the last step's colour said pays 1; in the first step nothing pays.
  R3  The horizon ends an episode by a time-out.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int

from sociarium.core.environment import bare_transition
from sociarium.core.events import event
from sociarium.core.rules import RuleSheet
from tests.toys import echo


class State(eqx.Module):
    clock: Int[Array, ""]
    colour: Int[Array, " players"]
    before: Int[Array, " players"]  # 0 in the first step


class Recall(echo.Echo):
    sheet = RuleSheet.read(__doc__)

    def reset(self, key, params):
        return State(jnp.int32(0), self.colours(key), jnp.zeros(self.players, jnp.int32))

    def step(self, key, state, actions, params):
        echoed = (actions == state.before) & (state.before > 0)  # R2
        clock = state.clock + 1
        after = State(clock, self.colours(key), state.colour)  # R1
        return after, bare_transition(
            echoed.astype(jnp.float32), clock >= params.horizon, {"echoed": event(echoed)}
        )
