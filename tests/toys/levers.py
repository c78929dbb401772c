"""Levers: two levers, one of which pays; which one it is nobody has been told.

Rules
  R1  The paying lever is the same in all trials of a series.
  R2  Who has rested pulls a lever; the paying one pays 1.
  R3  After every step in which one may pull comes one of rest, so that what was pulled last and
      what it paid is out of sight when one chooses again.
  R4  The horizon ends an episode.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from sociarium.core.actions import DO_NOTHING, action_for_each
from sociarium.core.environment import Environment, View, bare_transition, mask_illegal
from sociarium.core.events import event
from sociarium.core.facets import Hidden
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, OwnSpec, PlaneSpec, ViewSpec

LEVERS = ("left", "right")


class Params(eqx.Module):
    paying: Int[Array, ""]
    horizon: Int[Array, ""]


class State(eqx.Module):
    clock: Int[Array, ""]


class Levers(Environment[State, Params]):
    sheet = RuleSheet.read(__doc__)
    actions = (DO_NOTHING, *action_for_each("pull", LEVERS, "pull {}", "pull the {} lever"))
    event_specs = (EventSpec("won", "{actor} pulled the lever that pays", causes=("pull",)),)
    gauge_specs = ()

    def __init__(self, players: int = 1) -> None:
        self.players = players
        plane = PlaneSpec("ground", ("nothing", "levers"), "ground")
        self.view_spec = ViewSpec((plane,), 1, 1, (0, 0), (OwnSpec("rests", 0, 1),))
        self.facets = (Hidden(("paying",), self.draw, {"paying": (0, 1)}),)

    def draw(self, key, split):
        return {"paying": jax.random.randint(key, (), 0, len(LEVERS))}

    def default_params(self) -> Params:
        return Params(jnp.int32(0), jnp.int32(2))

    def reset(self, key, params: Params) -> State:
        return State(jnp.int32(0))

    def step(self, key, state: State, actions, params: Params):
        won = mask_illegal(actions, self.legal(state, params)) == 1 + params.paying  # R2
        clock = state.clock + 1
        ends = clock >= params.horizon  # R4
        return State(clock), bare_transition(won.astype(jnp.float32), ends, {"won": event(won)})

    def observe(self, state: State, params: Params) -> View:
        rests = jnp.broadcast_to(state.clock % 2, (self.players, 1)).astype(jnp.int16)
        return View(jnp.ones((self.players, 1, 1, 1), jnp.uint8), rests)

    def legal(self, state: State, params: Params):
        chooses = jnp.broadcast_to(state.clock % 2 == 0, (self.players, len(LEVERS)))  # R3
        return jnp.concatenate([jnp.ones((self.players, 1), bool), chooses], 1)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        return {}

    def scene(self, state: State, params: Params, player: int | None = None) -> Any:
        raise NotImplementedError("nothing to look at")
