"""Echo: name the colour one sees, a world whose best return is known.

Rules
  R1  Everybody sees a colour of its own, drawn anew at every step.
  R2  Doing what the colour says pays 1.
  R3  The horizon ends an episode: a time-out, or the end of everything where `final` is 1.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from sociarium.core.actions import DO_NOTHING, action_for_each
from sociarium.core.environment import Environment, Transition, View
from sociarium.core.events import event
from sociarium.core.facets import Cooperation
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, OwnSpec, PlaneSpec, ViewSpec

COLOURS = ("nothing", "red", "green", "blue")


class Params(eqx.Module):
    horizon: Int[Array, ""]
    final: Int[Array, ""]


class State(eqx.Module):
    clock: Int[Array, ""]
    colour: Int[Array, " players"]


class Echo(Environment[State, Params]):
    sheet = RuleSheet.read(__doc__)
    event_specs = (EventSpec("echoed", "{actor} said its colour"),)
    gauge_specs = ()
    facets = (Cooperation("says the colour", ("echoed",), ()),)
    actions = (DO_NOTHING, *action_for_each("show", COLOURS[1:], "{}", "show {}"))

    def __init__(self, players: int = 2) -> None:
        self.players = players
        plane = PlaneSpec("ground", COLOURS, "ground")
        self.view_spec = ViewSpec((plane,), 1, 1, (0, 0), (OwnSpec("colour", 0, 3),))

    def default_params(self) -> Params:
        return Params(jnp.int32(8), jnp.int32(0))

    def reset(self, key, params: Params) -> State:
        return State(jnp.int32(0), self.colours(key))

    def colours(self, key) -> Int[Array, " players"]:
        return jax.random.randint(key, (self.players,), 1, len(COLOURS))

    def step(self, key, state: State, actions, params: Params):
        echoed = actions == state.colour  # R2
        reward: Float[Array, " players"] = echoed.astype(jnp.float32)
        clock = state.clock + 1
        ends, final = clock >= params.horizon, params.final == 1  # R3
        return State(clock, self.colours(key)), Transition(  # R1
            reward=reward,
            raw=reward,
            distributed=reward,
            terminated=ends & final,
            truncated=ends & ~final,
            events={"echoed": event(echoed)},
        )

    def observe(self, state: State, params: Params) -> View:
        cells = state.colour.astype(jnp.uint8)[:, None, None, None]
        return View(cells, state.colour.astype(jnp.int16)[:, None])

    def legal(self, state: State, params: Params):
        return jnp.ones((self.players, len(self.actions)), bool)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        return {}

    def scene(self, state: State, params: Params, player: int | None = None) -> Any:
        raise NotImplementedError("nothing to look at")
