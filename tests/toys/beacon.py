"""Beacon: a keeper sees which lamp is right, and a walker who does not has to light it.

Rules
  R1  Time goes in rounds of two steps. In each round one lamp is right, drawn anew.
  R2  In the first step of a round the keeper, in the first seat, sees which. Nobody else does.
  R3  In the second step the walker, in the second seat, may light a lamp. The right one pays both
      of them 1. The keeper can light none.
  R4  The horizon ends an episode by a time-out.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from sociarium.core.actions import DO_NOTHING, STAY, action_for_each
from sociarium.core.environment import Environment, View, bare_transition, mask_illegal
from sociarium.core.events import event
from sociarium.core.facets import Cooperation
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Body, Scene
from sociarium.core.specs import OCCUPANTS, EventSpec, PlaneSpec, ViewSpec

KEEPER, WALKER = 0, 1


class Params(eqx.Module):
    horizon: Int[Array, ""]


class State(eqx.Module):
    clock: Int[Array, ""]
    lamp: Int[Array, ""]  # the right one, counted from 1


class Beacon(Environment[State, Params]):
    sheet = RuleSheet.read(__doc__)
    event_specs = (EventSpec("lit", "{actor} lit the right lamp"),)
    gauge_specs = ()
    facets = (Cooperation("lights the right lamp", ("lit",), ()),)
    players = 2

    def __init__(self, lamps: int = 4) -> None:
        self.lamps = lamps
        names = tuple(f"lamp {lamp}" for lamp in range(lamps))
        self.actions = (
            DO_NOTHING,
            *action_for_each("light", names, "light {}", "light the {} lamp"),
        )
        planes = (
            PlaneSpec("ground", ("dark", *names), "ground"),
            PlaneSpec("occupant", OCCUPANTS, "occupant"),
            PlaneSpec("seat", ("nobody", "keeper", "walker"), "seat"),
        )
        self.view_spec = ViewSpec(planes, 1, 1, (0, 0), ())

    def default_params(self) -> Params:
        return Params(jnp.int32(8))

    def reset(self, key, params: Params) -> State:
        return State(jnp.int32(0), self.drawn(key))

    def drawn(self, key) -> Int[Array, ""]:
        return jax.random.randint(key, (), 1, self.lamps + 1)

    def step(self, key, state: State, actions, params: Params):
        deeds = mask_illegal(actions, self.legal(state, params))
        lit = deeds == state.lamp  # R3
        reward = jnp.full(self.players, lit.any().astype(jnp.float32))
        lamp = jnp.where(self.second(state), self.drawn(key), state.lamp)  # R1
        after = State(state.clock + 1, lamp)
        return after, bare_transition(
            reward, after.clock >= params.horizon, {"lit": event(lit)}
        )  # R4

    def second(self, state: State) -> Bool[Array, ""]:
        return state.clock % 2 == 1

    def observe(self, state: State, params: Params) -> View:
        seat = jnp.arange(self.players)
        shown = (seat == KEEPER) & ~self.second(state)  # R2
        cells = jnp.stack([jnp.where(shown, state.lamp, 0), jnp.ones_like(seat), seat + 1], 1)
        return View(
            cells.astype(jnp.uint8)[..., None, None], jnp.zeros((self.players, 0), jnp.int16)
        )

    def legal(self, state: State, params: Params):
        lights = ((jnp.arange(self.players) == WALKER) & self.second(state))[:, None]  # R3
        return lights | (jnp.arange(len(self.actions)) == STAY)[None]

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        return {}

    def scene(self, state: State, params: Params, player: int | None = None) -> Scene:
        return Scene(
            ground=np.array([[state.lamp, 0]], np.uint8),
            tiles=self.view_spec.planes[0].codes,
            bodies=(Body(KEEPER, 0, 0, 0), Body(WALKER, 0, 1, 0)),
            lit=np.zeros((1, 2), np.uint8),
            lights=("none",),
            clock=int(state.clock),
            horizon=int(params.horizon),
            players=self.players,
        )
