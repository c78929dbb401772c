"""Plaza: everybody sees the whole square and picks up litter.

Rules
  R1  One steps north, east, south or west; two players never share a cell.
  R2  Picking up the litter on one's cell pays 1.
  R3  With chance 0.3 a step a piece of litter falls on a cell drawn by lot.
  R4  The horizon ends an episode.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from sociarium.core import random
from sociarium.core.actions import COMPASS, DO_NOTHING, ActionSpec
from sociarium.core.environment import Environment, View, bare_transition, frame, mask_illegal
from sociarium.core.events import event
from sociarium.core.facets import Bench, Board
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Body, Scene, Thing
from sociarium.core.specs import EventSpec, GaugeSpec, PlaneSpec, ViewSpec, seat_codes
from sociarium.mechanics import movement

SHAPE = ROWS, COLS = 4, 5
CELLS = ROWS * COLS
PICK = 5


class Params(eqx.Module):
    litter_chance: Float[Array, ""]
    horizon: Int[Array, ""]


class State(eqx.Module):
    clock: Int[Array, ""]
    body: Int[Array, " players"]
    litter: Bool[Array, " cells"]


class Plaza(Environment[State, Params]):
    sheet = RuleSheet.read(__doc__)
    actions = (
        DO_NOTHING,
        *(ActionSpec(way, "move", direction=way, sentence=f"step {way}") for way in COMPASS),
        ActionSpec("pick litter", "pick", "litter", sentence="pick up the litter here"),
    )
    event_specs = (EventSpec("picked", "{actor} picked up litter", causes=("pick",)),)
    gauge_specs = (GaugeSpec("litter", "pieces of litter"),)

    def __init__(self, players: int = 2) -> None:
        self.players = players
        planes = (
            PlaneSpec("ground", ("nothing", "paving"), "ground", solid=("nothing",)),
            PlaneSpec("occupant", ("nobody", "myself", "somebody"), "occupant"),
            PlaneSpec("seat", seat_codes(players), "seat"),
            PlaneSpec("litter", ("none", "one"), "goods"),
        )
        self.view_spec = ViewSpec(planes, ROWS, COLS, (0, 0), ())
        poses = lambda state: (state.body, jnp.zeros_like(state.body))  # noqa: E731
        self.facets = (Board(SHAPE, poses, window="fixed"), Bench(players + 2))

    def default_params(self) -> Params:
        return Params(jnp.float32(0.3), jnp.int32(24))

    def reset(self, key, params: Params) -> State:
        body = jax.random.permutation(key, CELLS)[: self.players].astype(jnp.int32)
        return State(jnp.int32(0), body, jnp.zeros(CELLS, bool))

    def step(self, key, state: State, actions, params: Params):
        k_move, k_fall, k_where = jax.random.split(key, 3)
        actions = mask_illegal(actions, self.legal(state, params))
        picked = actions == PICK  # R2
        litter = state.litter.at[jnp.where(picked, state.body, CELLS)].set(False, mode="drop")
        row, col = state.body // COLS, state.body % COLS
        down = (actions == 3) * 1 - (actions == 1)
        right = (actions == 2) * 1 - (actions == 4)
        there = jnp.clip(row + down, 0, ROWS - 1) * COLS + jnp.clip(col + right, 0, COLS - 1)
        words = random.bits(k_move, self.players)
        body = movement.resolve(words, state.body, there, CELLS, swaps=True)  # R1
        falls = random.chance(k_fall, params.litter_chance)
        spot = random.randint_from_bits(random.bits(k_where), jnp.int32(CELLS))
        after = State(state.clock + 1, body, litter.at[spot].set(litter[spot] | falls))  # R3
        over = after.clock >= params.horizon  # R4
        events = {"picked": event(picked, cell=state.body)}
        return after, bare_transition(picked.astype(jnp.float32), over, events)

    def observe(self, state: State, params: Params) -> View:
        seat = jnp.arange(self.players)
        who = jnp.zeros(CELLS, jnp.int32).at[state.body].set(seat + 1)
        occupant = jnp.where(who[None] == 0, 0, jnp.where(who[None] == seat[:, None] + 1, 1, 2))
        everybody = lambda plane: jnp.broadcast_to(plane, (self.players, CELLS))  # noqa: E731
        planes = [everybody(jnp.ones(CELLS, int)), occupant, everybody(who)]
        planes.append(everybody(state.litter))
        cells = jnp.stack([plane.astype(jnp.uint8) for plane in planes], 1)
        return View(
            cells.reshape(self.players, len(planes), *SHAPE),
            jnp.zeros((self.players, 0), jnp.int16),
        )

    def legal(self, state: State, params: Params):
        picks = state.litter[state.body][:, None]
        return jnp.concatenate([jnp.ones((self.players, PICK), bool), picks], 1)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        return {"litter": state.litter.sum().astype(jnp.float32)}

    def scene(self, state: State, params: Params, player: int | None = None) -> Scene:
        body, litter = np.asarray(state.body), np.asarray(state.litter)
        whole = Scene(
            ground=np.ones(SHAPE, np.uint8),
            tiles=self.view_spec.planes[0].codes,
            bodies=tuple(Body(s, *divmod(int(cell), COLS), 0) for s, cell in enumerate(body)),
            lit=np.zeros(SHAPE, np.uint8),
            lights=("none",),
            clock=int(state.clock),
            horizon=int(params.horizon),
            players=self.players,
            things=tuple(Thing("litter", *divmod(int(c), COLS)) for c in np.flatnonzero(litter)),
        )
        return frame(self, whole, state, params, player)
