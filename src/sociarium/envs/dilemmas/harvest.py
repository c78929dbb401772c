"""Commons Harvest: apples regrow only where apples were left (Janssen et al., 2010).

Rules
  R1  Walking onto an apple eats it and pays 1. Nothing else pays.
  R2  An empty apple cell that nobody stands on regrows with a chance that rises with the apples
      standing within distance 2 of it: 0, 0.001, 0.005 or 0.025 a step for 0, 1, 2 or more. A
      patch that has lost its last apple is dead for good.
  R3  The zap beam covers the cells ahead of a player (3 long and 3 wide in the open map, 4 long in
      the others) and then needs a few steps to recharge. It passes through players; each of its
      three lanes stops at the first wall, the outer two also at a wall beside the player.
  R4  Whoever is hit is out of play for some steps (4 in the open map, 100 in the others), sees
      nothing meanwhile, and comes back on a free spawn cell with a random heading. A hit by
      several counts for the lowest seat.
  R5  Two players never share a cell and never swap cells; a contested cell goes to one at random.
  R6  At the start all apples stand, two players chosen by lot begin inside, the others on spawn
      cells; places and headings are drawn.
  R7  Only the horizon ends an episode (a time-out, not a terminal state).
Differs from SocialJax: moves are relative to the heading, beams recharge and stop at walls, the
      partnership map keeps its two rooms apart (two entrances each), rewards are plain points.
Differs from Melting Pot: the open map's lowest growth rate is 0.001 (the paper) instead of 0.0025,
      and the horizon is fixed.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt16, UInt32

from sociarium.core import random
from sociarium.core.environment import Environment, Transition, View, paid
from sociarium.core.errors import BadMap, UnknownName
from sociarium.core.events import event
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Scene
from sociarium.core.specs import EventSpec, GaugeSpec, OwnSpec
from sociarium.mechanics import beams, movement, spawning, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.growth import Neighbourhood, taken
from sociarium.mechanics.terrain import Terrain
from sociarium.mechanics.windows import Window

SHEET = RuleSheet.read(__doc__)

OPEN = """
AAA................AAA
AA.....A......A.....AA
A.....AAA....AAA.....A
.....AAAAA..AAAAA.....
......AAA....AAA......
.......A......A.......
..........QQ..........
....A............A....
...AAA..........AAA...
..AAAAA........AAAAA..
...AAA..........AAA...
....A............A....
......................
.PPPPPPPPPPPPPPPPPPPP.
.PPPPPPPPPPPPPPPPPPPP.
.PPPPPPPPPPPPPPPPPPPP.
"""

CLOSED = """
AAA.......##.......AAA
AA.....A..##..A.....AA
A.....AAA.##.AAA.....A
.....AAAAA##AAAAA.....
......AAA.##.AAA......
.......A..##..A.......
....A.....##.....A....
...AAA....##....AAA...
..AAAAA.Q.##.Q.AAAAA..
...AAA....##....AAA...
....A.....##.....A....
########.####.########
..........##..........
.####################.
......................
.PPPPPPPPPP.PPPPPPPPP.
"""

PARTNERSHIP = """
AAA.......##.......AAA
AA.....A..##..A.....AA
A.....AAA.##.AAA.....A
.....AAAAA##AAAAA.....
......AAA.##.AAA......
.......A..##..A.......
....A.....##.....A....
...AAA....##....AAA...
..AAAAA.Q.##.Q.AAAAA..
...AAA....##....AAA...
....A.....##.....A....
.########.##.########.
......................
......................
......................
.PPPPPPPPPP.PPPPPPPPP.
"""

MAPS = {"open": OPEN, "closed": CLOSED, "partnership": PARTNERSHIP}
LEGEND = {"#": "wall", ".": "grass", "A": "apple", "P": "spawn", "Q": "inside spawn"}

TILES = ("nothing", "grass", "wall", "apple")
NOTHING, GRASS, WALL, APPLE = range(4)
ZAP = len(turning.MOVES)


class Params(eqx.Module):
    """Every number of the rule sheet."""

    regrowth: Float[Array, "4"]  # by 0, 1, 2, 3 or more apples nearby
    zap: Bool[Array, "5 3"]  # the beam's footprint
    recharge: Int[Array, ""]
    exile: Int[Array, ""]
    apple_reward: Float[Array, ""]
    horizon: Int[Array, ""]

    @classmethod
    def of(
        cls,
        regrowth: tuple[float, ...] = (0.0, 0.001, 0.005, 0.025),
        length: int = 3,
        recharge: int = 2,
        exile: int = 4,
    ) -> "Params":
        """Parameters from plain numbers."""
        return cls(
            regrowth=jnp.array(regrowth, jnp.float32),
            zap=jnp.asarray(beams.footprint(length, 1)),
            recharge=jnp.int32(recharge),
            exile=jnp.int32(exile),
            apple_reward=jnp.float32(1.0),
            horizon=jnp.int32(1000),
        )

    @classmethod
    def socialjax(cls) -> "Params":
        """The reference's numbers: a small beam that never rests, and no time out of play."""
        params = cls.of(recharge=0, exile=0)
        return eqx.tree_at(lambda p: p.zap, params, jnp.asarray(beams.SMALL))

    @classmethod
    def meltingpot(cls, map: str = "open") -> "Params":
        """The origin's numbers for one of the three maps."""
        if map == "open":
            return cls.of(regrowth=(0.0, 0.0025, 0.005, 0.025))
        return cls.of(length=4, recharge=1, exile=100)


class State(eqx.Module):
    """Facts only."""

    clock: Int[Array, ""]
    body: Int[Array, " players"]
    heading: Int[Array, " players"]
    away: Int[Array, " players"]  # steps until return
    cooldown: Int[Array, " players"]
    fired: Int[Array, " players"]  # the pose a beam was fired from in the last step, or -1
    apple: Bool[Array, " plots"]


class Harvest(Environment[State, Params]):
    """Commons Harvest on one of its maps, or on a map of your own."""

    sheet = SHEET
    event_specs = (
        EventSpec("ate", "{actor} ate an apple"),
        EventSpec("ate_last", "{actor} ate the last apple of a patch"),
        EventSpec("patch_died", "patch {value} is bare for good", axis="place"),
        EventSpec("fired", "{actor} fired the zap beam"),
        EventSpec("zapped", "{actor} zapped {target}", axis="target"),
        EventSpec("returned", "{actor} came back"),
    )
    gauge_specs = (
        GaugeSpec("apples", "apples standing"),
        GaugeSpec("patches", "patches with at least one apple"),
    )
    actions = (*turning.MOVES, "zap")

    def __init__(
        self, players: int = 7, map: str = "open", tiles: tuple[int, int] = (1, 1)
    ) -> None:
        """`map` is open, closed, partnership, or a drawing in the same legend."""
        if map not in MAPS and "\n" not in map.strip():
            raise UnknownName(
                "Harvest map", map, tuple(MAPS), "Or give a drawing of several lines."
            )
        drawing = Drawing(MAPS.get(map, map), LEGEND, tiles)
        self.map = map
        self.players = players
        self.terrain = Terrain(drawing.mask("#"))
        self.map_shape = (drawing.rows, drawing.cols)
        self.plot_cells = drawing.cells("A")
        self.plots = len(self.plot_cells)
        if not self.plots or not len(drawing.cells("P")):
            raise BadMap("a Harvest map needs at least one apple cell (A) and one spawn cell (P)")
        self.inside = drawing.cells("Q")
        self.spawn = spawning.scattered(drawing.cells("P"))
        spawning.enough_places(
            len(self.spawn) + min(len(self.inside), players), players, "spawn cells (P or Q)"
        )
        self.exile = spawning.Exile(self.terrain, self.spawn)
        self.neighbourhood = Neighbourhood(self.plot_cells, drawing.cols, radius=2)
        self.patch = self.neighbourhood.patches()
        self.patches = int(self.patch.max(initial=-1)) + 1
        self.plot_at = self.terrain.numbering(self.plot_cells)

        bare = np.setdiff1d(np.arange(self.terrain.cells), self.plot_cells)
        self.window = Window(self.terrain, order=np.concatenate([self.plot_cells, bare]))
        floor = np.where(self.terrain.wall.ravel()[bare], WALL, GRASS).astype(np.uint8)
        self.floor = np.append(floor, self.window.beyond(WALL))
        self.view_spec = self.window.spec(
            TILES,
            players,
            lights=("zap",),
            own=(OwnSpec("cooldown", 0, 32767), OwnSpec("away", 0, 32767)),
        )
        self.draws = self.plots + 2 * players + 1

    def defaults(self) -> Params:
        """The paper's numbers for the map; a map of one's own gets the open map's."""
        if self.map in ("closed", "partnership"):
            return Params.of(length=4, recharge=1, exile=100)
        return Params.of()

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """All apples standing, everybody on a drawn place (R6)."""
        k_inside, k_spawn, k_seat, k_heading = jax.random.split(key, 4)
        inside = jnp.asarray(self.inside)[spawning.shuffled(k_inside, len(self.inside))]
        outside = jnp.asarray(self.spawn)[spawning.shuffled(k_spawn, len(self.spawn))]
        places = jnp.concatenate([inside, outside])[: self.players]
        nobody = jnp.zeros(self.players, jnp.int32)
        return State(
            clock=jnp.int32(0),
            body=places[spawning.shuffled(k_seat, self.players)],
            heading=spawning.headings(k_heading, self.players),
            away=nobody,
            cooldown=nobody,
            fired=nobody - 1,
            apple=jnp.ones(self.plots, bool),
        )

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Move and turn; eat; zap; grow; return; count."""
        k_move, k_grow, k_return = jax.random.split(key, 3)
        present = state.body != self.terrain.nowhere
        actions = jnp.where(present, actions, turning.STAY)
        heading = turning.turned(state.heading, actions)
        body = movement.walk(k_move, self.terrain, state.body, state.heading, actions)  # R5

        plot = jnp.asarray(self.plot_at).at[body].get(mode="promise_in_bounds")
        apple, ate = taken(state.apple, plot)  # R1
        fires = (actions == ZAP) & (state.cooldown == 0)
        light = beams.lit(self.terrain, params.zap, fires, body, heading)  # R3
        zapped_by = beams.struck(self.terrain, light, body, heading, body)
        near = self.neighbourhood.grown(apple)
        underfoot = spawning.trodden(jnp.where(zapped_by >= 0, self.plots, plot), self.plots)
        grown = regrown(random.bits(k_grow, self.plots), apple, near, underfoot, params)  # R2
        new_body, new_heading, away, back = self.exile(  # R4
            k_return, body, heading, state.away, zapped_by >= 0, params.exile
        )
        after = State(
            clock=state.clock + 1,
            body=new_body,
            heading=new_heading,
            away=away,
            cooldown=beams.cooled(state.cooldown, fires, params.recharge),
            fired=jnp.where(fires, body * 4 + heading, -1),
            apple=grown,
        )

        reward = ate * params.apple_reward
        left = self.standing(apple)
        bared = (self.standing(state.apple) > 0) & (left == 0)
        patch = jnp.append(jnp.asarray(self.patch), 0)[plot]
        transition = paid(
            reward,
            truncated=after.clock >= params.horizon,  # R7
            events={
                "ate": event(ate, cell=body),
                "ate_last": event(ate & (left[patch] == 0), cell=body),
                "patch_died": event(bared, value=jnp.arange(self.patches, dtype=jnp.float32)),
                "fired": event(fires, cell=body),
                "zapped": event(zapped_by >= 0, other=zapped_by, cell=body),
                "returned": event(back, cell=new_body),
            },
        )
        return after, transition

    def standing(self, apple: Bool[Array, " plots"]) -> Int[Array, " patches"]:
        """Apples in each patch."""
        return jnp.zeros(self.patches, jnp.int32).at[jnp.asarray(self.patch)].add(apple)

    def codes(self, state: State, params: Params) -> UInt16[Array, " entries"]:
        """What lies, shines and stands on every cell."""
        pose, fires = jnp.maximum(state.fired, 0), state.fired >= 0
        light = beams.lit(self.terrain, params.zap, fires, pose >> 2, pose & 3)
        shine = self.window.shine(light, pose, fires.astype(jnp.uint8))
        plots = jnp.where(state.apple, jnp.uint8(APPLE), jnp.uint8(GRASS))
        ground = jnp.concatenate([plots, jnp.asarray(self.floor)])
        return self.window.code(ground, state.body, state.heading, shine)

    def observe(self, state: State, params: Params) -> View:
        """Window and private timers."""
        return View(
            cells=self.window.look(self.codes(state, params), state.body, state.heading),
            own=jnp.stack([state.cooldown, state.away], axis=1).astype(jnp.int16),
        )

    def overview(self, state: State, params: Params) -> Scene:
        """The map with its patches as regions."""
        region = np.full(self.terrain.cells, -1, np.int32)
        region[self.plot_cells] = self.patch
        return self.window.overview(
            self.compiled("codes")(state, params),
            state.body,
            state.heading,
            tiles=TILES,
            lights=("zap",),
            clock=state.clock,
            horizon=params.horizon,
            region=region.reshape(self.map_shape),
        )

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """Out of play one may only stay; a beam that recharges cannot be fired."""
        return turning.legal(state.body != self.terrain.nowhere, state.cooldown == 0)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Apples standing and patches alive."""
        return {
            "apples": jnp.sum(state.apple, dtype=jnp.float32),
            "patches": jnp.sum(self.standing(state.apple) > 0, dtype=jnp.float32),
        }


def regrown(
    word: UInt32[Array, " plots"],
    apple: Bool[Array, " plots"],
    near: Int[Array, " plots"],
    underfoot: Bool[Array, " plots"],
    params: Params,
) -> Bool[Array, " plots"]:
    """Apples after growth; `near` counts the neighbours of each plot before it."""
    never, one, two, more = (random.threshold(params.regrowth[count]) for count in range(4))
    limit = jnp.where(near == 0, never, jnp.where(near == 1, one, jnp.where(near == 2, two, more)))
    return apple | (~underfoot & random.falls(word, limit))
