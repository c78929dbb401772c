"""Commons Harvest: apples regrow only where apples were left (Janssen et al., 2010).

Rules
  R1  Walking onto an apple eats it and pays 1. Nothing else pays.
  R2  An empty apple cell that nobody stands on regrows with a chance that rises with the apples
      standing within distance 2 of it: 0, 0.001, 0.005 or 0.025 a step for 0, 1, 2 or more (0.0025
      for 1 on the maps of trees). A patch that has lost its last apple is dead for good.
  R3  The zap beam covers the cells ahead of a player (3 long and 3 wide; 4 long in the closed and
      partnership maps) and then needs a few steps to recharge. It passes through players; each of
      its three lanes stops at the first wall, the outer two also at a wall beside the player.
  R4  Whoever is hit is out of play for some steps (100 in the closed and partnership maps, 4 in the
      others), sees nothing meanwhile, and comes back on a free spawn cell with a random heading. A
      hit by several counts for the lowest seat.
  R5  Two players never share a cell and never swap cells; a contested cell goes to one at random.
  R6  At the start all apples stand; where a map has inside cells two players chosen by lot begin
      there, the others on spawn cells; places and headings are drawn.
  R7  Only the horizon ends an episode (a time-out, not a terminal state).
Differs from SocialJax: moves are relative to the heading, beams recharge and stop at walls, the
      partnership map keeps its two rooms apart (two entrances each), rewards are plain points.
Differs from Melting Pot: the open map's lowest growth rate is 0.001 (the paper) instead of 0.0025,
      and the horizon is fixed.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt16, UInt32

from sociarium.core import random
from sociarium.core.environment import Transition, bare_transition
from sociarium.core.errors import BadMap, UnknownName
from sociarium.core.events import event
from sociarium.core.facets import Cooperation
from sociarium.core.params import CHANCE
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec
from sociarium.mechanics import beams, cartography, movement, spawning, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.cartography import Sketch
from sociarium.mechanics.grid_world import GridWorld, timer
from sociarium.mechanics.growth import Neighbourhood, taken

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

SIX_TREES = """
........................
....A..............A....
...AAA............AAA...
..AAAAA..........AAAAA..
...AAA............AAA...
....A......A.......A....
..........AAA...........
..........AA............
...P................P...
...P................P...
............AA..........
...........AAA..........
....A.......A......A....
...AAA............AAA...
..AAAAA..........AAAAA..
...AAA............AAA...
....A..............A....
.......P..P..P..P.......
"""

ONE_TREE = """
###########
#P.......P#
#....A....#
#...AAA...#
#..AAAAA..#
#...AAA...#
#....A....#
#.........#
#P...P...P#
###########
"""

MAPS = {
    "open": OPEN,
    "closed": CLOSED,
    "partnership": PARTNERSHIP,
    "six_trees": SIX_TREES,
    "one_tree": ONE_TREE,
}
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
    bounds: ClassVar = {"regrowth": CHANCE}

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
        """The origin's numbers for one of the maps."""
        if map in ("open", "six_trees", "one_tree"):
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


class Harvest(GridWorld[State, Params]):
    """Commons Harvest on one of its maps, or on a map of your own."""

    sheet = SHEET
    event_specs = (
        EventSpec("ate", "{actor} ate an apple", causes=("move",), does=("eats an apple",)),
        EventSpec(
            "ate_last",
            "{actor} ate the last apple of a patch",
            causes=("move",),
            does=("eats the last apple of a patch", "takes the last apple of a tree"),
            passed_up="spared",
        ),
        EventSpec(
            "spared",
            "{actor} left the last apple of a patch standing",
            visible="nobody",
            does=("spares the last apple of a patch",),
        ),
        EventSpec("patch_died", "patch {value} is bare for good", axis="place"),
        *beams.ZAPPING,
    )
    gauge_specs = (
        GaugeSpec("apples", "apples standing"),
        GaugeSpec("patches", "patches with at least one apple"),
    )
    cooperation = Cooperation(
        "last apples of a patch declined among those within one step", ("spared",), ("ate_last",)
    )
    actions = (*turning.MOVES, beams.ZAP)
    tiles, lights = TILES, ("zap",)
    own = (timer("cooldown"), timer("away"))

    def __init__(
        self,
        players: int = 7,
        map: str = "open",
        map_seed: int | None = None,
        tiles: tuple[int, int] = (1, 1),
    ) -> None:
        """`map` is one of the names above, or a drawing in the same legend.

        With a `map_seed` its patches are drawn anew elsewhere.
        """
        if map not in MAPS and "\n" not in map.strip():
            raise UnknownName(
                "Harvest map", map, tuple(MAPS), "Or give a drawing of several lines."
            )
        text = MAPS.get(map, map)
        text = cartography.chosen(text, map_seed, lambda sketch: replant(sketch, text))
        drawing = Drawing(text, LEGEND, tiles)
        self.map = map
        self.plot_cells = drawing.cells("A")
        self.build_from_map(drawing, players, self.plot_cells, {"#": WALL}, GRASS)
        self.plots = len(self.plot_cells)
        if not self.plots or not len(drawing.cells("P")):
            raise BadMap("a Harvest map needs at least one apple cell (A) and one spawn cell (P)")
        self.inside = drawing.cells("Q")
        self.spawn = spawning.scattered(drawing.cells("P"))
        spawning.enough_places(
            len(self.spawn) + min(len(self.inside), players), players, "spawn cells (P or Q)"
        )
        self.respawn = spawning.Respawn(self.terrain, self.spawn)
        self.neighbourhood = Neighbourhood(self.plot_cells, drawing.cols, radius=2)
        self.patch = self.neighbourhood.patches()
        self.patches = int(self.patch.max(initial=-1)) + 1
        self.plot_at = self.terrain.numbering(self.plot_cells)
        self.region = np.full((drawing.rows, drawing.cols), -1, np.int32)
        self.region.flat[self.plot_cells] = self.patch
        self.declare(self.cooperation, draws=self.plots + 2 * players + 1)

    def default_params(self) -> Params:
        """The paper's parameters for the map; a map of one's own gets the open map's."""
        if self.map in ("closed", "partnership"):
            return Params.of(length=4, recharge=1, exile=100)
        if self.map in ("six_trees", "one_tree"):
            return Params.meltingpot(self.map)
        return Params.of()

    def param_sets(self) -> dict[str, Params]:
        """Those of SocialJax and of Melting Pot for the map."""
        return {"socialjax": Params.socialjax(), "meltingpot": Params.meltingpot(self.map)}

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
        actions = jnp.where(self.present(state), actions, turning.STAY)
        heading = turning.turned(state.heading, actions)
        body = movement.walk(k_move, self.terrain, state.body, state.heading, actions)  # R5

        plot = jnp.asarray(self.plot_at).at[body].get(mode="promise_in_bounds")
        apple, ate = taken(state.apple, plot)  # R1
        fires = (actions == ZAP) & (state.cooldown == 0)
        light = beams.lit(self.terrain, params.zap, fires, body, heading)  # R3
        zapped_by = beams.struck(self.terrain, light, body, heading, body)
        near = self.neighbourhood.grown(apple)
        underfoot = spawning.occupied(jnp.where(zapped_by >= 0, self.plots, plot), self.plots)
        grown = regrown(random.bits(k_grow, self.plots), apple, near, underfoot, params)  # R2
        new_body, new_heading, away, back = self.respawn(  # R4
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
        transition = bare_transition(
            reward,
            truncated=after.clock >= params.horizon,  # R7
            events={
                "ate": event(ate, cell=body),
                "ate_last": event(ate & (left[patch] == 0), cell=body),
                "spared": event(
                    self.declined(state, apple, grown, new_body) & (zapped_by < 0), cell=body
                ),
                "patch_died": event(bared, value=jnp.arange(self.patches, dtype=jnp.float32)),
                **beams.zapping(fires, zapped_by, body, back, new_body),
            },
        )
        return after, transition

    def standing(self, apple: Bool[Array, " plots"]) -> Int[Array, " patches"]:
        """Apples in each patch."""
        return jnp.zeros(self.patches, jnp.int32).at[jnp.asarray(self.patch)].add(apple)

    def declined(
        self,
        before: State,
        left: Bool[Array, " plots"],
        grown: Bool[Array, " plots"],
        body: Int[Array, " players"],
    ) -> Bool[Array, " players"]:
        """Who was one step from the last apple of a patch, and let it stand until that is over.

        It is over when the player has gone, or when the patch has grown again.
        """
        near, now = self.within_a_step(before.body), self.within_a_step(body)
        was_last = self.last(before.apple).at[near].get(mode="promise_in_bounds")
        is_last = self.last(grown).at[near].get(mode="promise_in_bounds")
        stands = jnp.append(left, False).at[near].get(mode="promise_in_bounds")
        beside = (near[:, :, None] == now[:, None, :]).any(2)
        return (was_last & stands & ~(is_last & beside)).any(1)

    def within_a_step(self, body: Int[Array, " players"]) -> Int[Array, "players 4"]:
        """The plots each player could step onto."""
        toward = jnp.broadcast_to(jnp.arange(4, dtype=jnp.int32)[None], (len(body), 4))
        cells = self.terrain.neighbour(jnp.broadcast_to(body[:, None], toward.shape), toward)
        return jnp.asarray(self.plot_at).at[cells].get(mode="promise_in_bounds")

    def last(self, apple: Bool[Array, " plots"]) -> Bool[Array, " plots_and_none"]:
        """Which apples are the last of their patch."""
        return jnp.append(apple & (self.standing(apple)[jnp.asarray(self.patch)] == 1), False)

    def codes(self, state: State, params: Params) -> UInt16[Array, " entries"]:
        """What lies, shines and stands on every cell."""
        shine = self.glow(state.fired, params.zap)
        plots = jnp.where(state.apple, jnp.uint8(APPLE), jnp.uint8(GRASS))
        ground = jnp.concatenate([plots, jnp.asarray(self.floor)])
        return self.window.code(ground, state.body, state.heading, shine)

    def private(self, state: State) -> tuple[Int[Array, " players"], ...]:
        """The two timers."""
        return state.cooldown, state.away

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """A beam that recharges cannot be fired."""
        return self.may(state, state.cooldown == 0)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Apples standing and patches alive."""
        return {
            "apples": jnp.sum(state.apple, dtype=jnp.float32),
            "patches": jnp.sum(self.standing(state.apple) > 0, dtype=jnp.float32),
        }


def replant(sketch: Sketch, text: str) -> None:
    """The land of a map with its patches, largest first, somewhere else."""
    sketch.glyphs = np.array([list(line) for line in text.split()])
    plots = np.flatnonzero(sketch.glyphs == "A").astype(np.int32)
    patch = Neighbourhood(plots, sketch.glyphs.shape[1], radius=2).patches()
    sketch.glyphs.flat[plots] = sketch.ground
    cells = [divmod(int(cell), sketch.glyphs.shape[1]) for cell in plots]
    shapes = [[cells[i] for i in np.flatnonzero(patch == number)] for number in np.unique(patch)]
    for shape in sorted(shapes, key=len, reverse=True):
        (row, col), *_ = shape
        sketch.stamp("A", [(down - row, right - col) for down, right in shape], apart=2)


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
    return apple | (~underfoot & random.bernoulli_from_bits(word, limit))
