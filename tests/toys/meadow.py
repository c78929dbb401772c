"""Meadow: walk onto flowers that never run out, a world nobody upstairs has heard of.

Rules
  R1  Standing on a flower pays 1.
  R2  Only the horizon ends an episode.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from sociarium.core.environment import Environment, View, bare_transition, frame
from sociarium.core.events import event
from sociarium.core.facets import Bench, Board
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec
from sociarium.mechanics import movement, spawning, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.terrain import Terrain
from sociarium.mechanics.windows import Window

MAP = """
#######
#P.*.P#
#.P.P.#
#######
"""
TILES = ("nothing", "moss", "hedge", "flower")
SHEET = RuleSheet.read(__doc__)


class Params(eqx.Module):
    flower_reward: Float[Array, ""]
    horizon: Int[Array, ""]


class State(eqx.Module):
    clock: Int[Array, ""]
    body: Int[Array, " players"]
    heading: Int[Array, " players"]


class Meadow(Environment[State, Params]):
    sheet = SHEET
    event_specs = (EventSpec("smelled", "{actor} smelled a flower"),)
    gauge_specs = (GaugeSpec("visited", "flowers somebody stands on"),)
    actions = turning.MOVES

    def __init__(self, players: int = 3) -> None:
        drawing = Drawing(MAP, {"#": "hedge", ".": "moss", "P": "start", "*": "flower"})
        self.players = players
        self.terrain = Terrain(drawing.mask("#"))
        self.start, self.flower = drawing.cells("P"), drawing.mask("*").ravel()
        self.window = Window(self.terrain, ahead=2, behind=1, side=1)
        ground = np.select([drawing.mask("#"), drawing.mask("*")], [2, 3], 1).ravel()
        self.ground = np.append(ground, self.window.beyond(2)).astype(np.uint8)
        self.view_spec = self.window.spec(TILES, players, solid=("nothing", "hedge"))
        board = Board((drawing.rows, drawing.cols), lambda state: (state.body, state.heading))
        self.facets = (board, Bench(players))

    def default_params(self) -> Params:
        return Params(jnp.float32(1), jnp.int32(20))

    def reset(self, key, params: Params) -> State:
        k_place, k_heading = jax.random.split(key)
        place = jnp.asarray(self.start)[spawning.shuffled(k_place, len(self.start))]
        heading = spawning.headings(k_heading, self.players)
        return State(jnp.int32(0), place[: self.players], heading)

    def step(self, key, state: State, actions, params: Params):
        body = movement.walk(key, self.terrain, state.body, state.heading, actions)
        smells = jnp.asarray(self.flower)[body]  # R1
        after = State(state.clock + 1, body, turning.turned(state.heading, actions))
        reward = smells * params.flower_reward
        ends = after.clock >= params.horizon  # R2
        return after, bare_transition(reward, ends, {"smelled": event(smells, cell=body)})

    def codes(self, state: State):
        return self.window.code(jnp.asarray(self.ground), state.body, state.heading)

    def observe(self, state: State, params: Params) -> View:
        cells = self.window.look(self.codes(state), state.body, state.heading, lights=False)
        return View(cells, jnp.zeros((self.players, 0), jnp.int16))

    def legal(self, state: State, params: Params):
        return turning.legal(jnp.ones(self.players, bool))

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        visited = jnp.asarray(self.flower)[state.body].sum()
        return {"visited": visited.astype(jnp.float32)}

    def scene(self, state: State, params: Params, player: int | None = None):
        whole = self.window.overview(
            self.codes(state),
            state.body,
            state.heading,
            tiles=TILES,
            clock=state.clock,
            horizon=params.horizon,
        )
        return frame(self, whole, state, params, player)
