"""Matrix: a game in one move, whose payoffs are a function of everybody's moves.

Rules
  R1  Everybody moves at once and is paid by the table.
  R2  Only the horizon ends an episode, by a time-out.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from sociarium.core.actions import DO_NOTHING, ActionSpec
from sociarium.core.environment import Environment, View, bare_transition
from sociarium.core.events import event
from sociarium.core.params import replace_parameters
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, PlaneSpec, ViewSpec


class Params(eqx.Module):
    horizon: Int[Array, ""]


class State(eqx.Module):
    clock: Int[Array, ""]


def table(game):
    """Payoffs [moves..., players] of the four games, cooperative moves last."""
    if game == "pd":
        return np.array([[[1, 1], [3, 0]], [[0, 3], [2, 2]]], np.float32)
    if game == "pg":
        pay = np.zeros((2, 2, 2, 3), np.float32)
        for moves in np.ndindex(2, 2, 2):
            pay[moves] = [1.5 * sum(moves) / 3 + (1 - move) for move in moves]
        return pay
    if game == "td":
        pay = np.zeros((4, 4, 2), np.float32)
        for a, b in np.ndindex(4, 4):
            low = 2 + min(a, b)
            pay[a, b] = [low + 2 * np.sign(b - a), low + 2 * np.sign(a - b)]
        return pay
    return np.array([[[4, 4], [6, 2]], [[0, 20], [10, 10]]], np.float32)  # keep, give


class Matrix(Environment[State, Params]):
    sheet = RuleSheet.read(__doc__)
    gauge_specs = ()
    facets = ()

    def __init__(self, game: str = "pd") -> None:
        self.table = table(game)
        self.players, moves = self.table.shape[-1], self.table.shape[0]
        self.actions = (
            DO_NOTHING,
            *(ActionSpec(f"move {n}", "move", f"{n}", sentence=f"move {n}") for n in range(moves)),
        )
        self.event_specs = tuple(
            EventSpec(f"moved_{n}", f"{{actor}} moved {n}", causes=("move",)) for n in range(moves)
        )
        ground = PlaneSpec("ground", ("nothing", "floor"), "ground")
        self.view_spec = ViewSpec((ground,), 1, 1, (0, 0), ())

    def params(self, **changes: Any) -> Params:
        return replace_parameters(Params(jnp.int32(8)), **changes)

    def reset(self, key, params: Params) -> State:
        return State(jnp.int32(0))

    def step(self, key, state: State, actions, params: Params):
        moves = jnp.maximum(actions - 1, 0)  # who does nothing makes the first move
        paid = jnp.asarray(self.table)[tuple(moves[n] for n in range(self.players))]
        clock = state.clock + 1
        events = {spec.name: event(moves == n) for n, spec in enumerate(self.event_specs)}
        return State(clock), bare_transition(paid, clock >= params.horizon, events)

    def observe(self, state: State, params: Params) -> View:
        cells = jnp.ones((self.players, 1, 1, 1), jnp.uint8)
        return View(cells, jnp.zeros((self.players, 0), jnp.int16))

    def legal(self, state: State, params: Params):
        return jnp.ones((self.players, len(self.actions)), bool)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        return {}

    def scene(self, state: State, params: Params, player: int | None = None) -> Any:
        raise NotImplementedError("nothing to look at")
