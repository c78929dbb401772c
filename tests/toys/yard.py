"""Yard: take, clean and hit, a world in which everything that a law can be about happens.

Rules
  R1  Taking pays 1. Cleaning cleans two cells and pays nothing. A hit strikes the next seat.
  R2  What was taken is counted. Only the horizon ends an episode, by a time-out.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int

from sociarium.core.actions import DO_NOTHING, ActionSpec
from sociarium.core.environment import Environment, View, bare_transition
from sociarium.core.events import event
from sociarium.core.facets import Cooperation
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec, PlaneSpec, ViewSpec

STAY, TAKE, CLEAN, HIT = range(4)


class Params(eqx.Module):
    horizon: Int[Array, ""]


class State(eqx.Module):
    clock: Int[Array, ""]
    taken: Int[Array, ""]


class Yard(Environment[State, Params]):
    sheet = RuleSheet.read(__doc__)
    event_specs = (
        EventSpec("took", "{actor} took", causes=("take",), does=("takes a pear",)),
        EventSpec(
            "cleaned",
            "{actor} cleaned {value} cells",
            causes=("clean",),
            does=("cleans the yard",),
            unit="cells",
        ),
        EventSpec("hit", "{actor} hit {target}", causes=("hit",), does=("hits somebody",)),
        EventSpec("struck", "{actor} struck {target}", "target", does=("strikes somebody",)),
        EventSpec("fell", "something fell", "place"),
    )
    gauge_specs = (GaugeSpec("taken", "pears taken so far"),)
    facets = (Cooperation("cleans", ("cleaned",), ("took",)),)
    actions = (
        DO_NOTHING,
        ActionSpec("take", "take", sentence="take a pear"),
        ActionSpec("clean", "clean", sentence="clean two cells"),
        ActionSpec("hit", "hit", sentence="hit the next seat"),
    )

    def __init__(self, players: int = 3) -> None:
        self.players = players
        ground = PlaneSpec("ground", ("nothing", "floor"), "ground")
        self.view_spec = ViewSpec((ground,), 1, 1, (0, 0), ())

    def default_params(self) -> Params:
        return Params(jnp.int32(50))

    def reset(self, key, params: Params) -> State:
        return State(jnp.int32(0), jnp.int32(0))

    def step(self, key, state: State, actions, params: Params):
        took, hits, clock = actions == TAKE, actions == HIT, state.clock + 1
        seat = jnp.arange(self.players, dtype=jnp.int32)
        following, before = (seat + 1) % self.players, (seat - 1) % self.players
        struck = jnp.roll(hits, 1)
        nobody = jnp.int32(-1)
        events = {
            "took": event(took),
            "cleaned": event(actions == CLEAN, value=jnp.full(self.players, 2.0)),
            "hit": event(hits, other=jnp.where(hits, following, nobody)),
            "struck": event(struck, other=jnp.where(struck, before, nobody)),
            "fell": event(jnp.ones(1, bool)),
        }
        after = State(clock, state.taken + took.sum())
        return after, bare_transition(took.astype(jnp.float32), clock >= params.horizon, events)

    def observe(self, state: State, params: Params) -> View:
        cells = jnp.ones((self.players, 1, 1, 1), jnp.uint8)
        return View(cells, jnp.zeros((self.players, 0), jnp.int16))

    def legal(self, state: State, params: Params):
        return jnp.ones((self.players, len(self.actions)), bool)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        return {"taken": state.taken.astype(jnp.float32)}

    def scene(self, state: State, params: Params, player: int | None = None) -> Any:
        raise NotImplementedError("nothing to look at")
