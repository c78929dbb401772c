"""Taking: what one gains by taking, the others lose twice over.

Rules
  R1  Taking pays 1 and costs every other player 2; staying pays nothing.
  R2  Everybody is paid `wage` at every step.
  R3  The horizon ends an episode by a time-out.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from sociarium.core.actions import DO_NOTHING, ActionSpec
from sociarium.core.environment import Environment, View, bare_transition
from sociarium.core.events import event
from sociarium.core.facets import Cooperation
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, PlaneSpec, ViewSpec


class Params(eqx.Module):
    horizon: Int[Array, ""]
    wage: Float[Array, ""]


class State(eqx.Module):
    clock: Int[Array, ""]


class Taking(Environment[State, Params]):
    sheet = RuleSheet.read(__doc__)
    event_specs = (EventSpec("took", "{actor} took"), EventSpec("stayed", "{actor} stayed"))
    gauge_specs = ()
    facets = (Cooperation("does not take", ("stayed",), ("took",)),)
    actions = (DO_NOTHING, ActionSpec("take", "take", sentence="take a point"))

    def __init__(self, players: int = 2) -> None:
        self.players = players
        self.view_spec = ViewSpec(
            (PlaneSpec("ground", ("nothing", "floor"), "ground"),), 1, 1, (0, 0), ()
        )

    def default_params(self) -> Params:
        return Params(jnp.int32(8), jnp.float32(0))

    def reset(self, key, params: Params) -> State:
        return State(jnp.int32(0))

    def step(self, key, state: State, actions, params: Params):
        took = actions == 1
        takers = took.sum().astype(jnp.float32)
        reward = params.wage + jnp.where(took, 1.0, 0.0) - 2 * (takers - took)  # R1, R2
        clock = state.clock + 1
        events = {"took": event(took), "stayed": event(~took)}
        return State(clock), bare_transition(reward, clock >= params.horizon, events)  # R3

    def observe(self, state: State, params: Params) -> View:
        cells = jnp.ones((self.players, 1, 1, 1), jnp.uint8)
        return View(cells, jnp.zeros((self.players, 0), jnp.int16))

    def legal(self, state: State, params: Params):
        return jnp.ones((self.players, 2), bool)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        return {}

    def scene(self, state: State, params: Params, player: int | None = None) -> Any:
        raise NotImplementedError("nothing to look at")
