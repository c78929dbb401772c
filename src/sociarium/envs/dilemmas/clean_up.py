"""Clean Up: apples need clean water, and cleaning pays nothing (Hughes et al., 2018).

Rules
  R1  Walking onto an apple eats it and pays 1. Nothing else pays.
  R2  At the start 79 of the 147 basin cells are fouled, drawn by lot, and no apple stands.
  R3  After 50 quiet steps, with chance 0.5 a step, one clean basin cell drawn by lot is fouled;
      nothing happens if somebody stands on it.
  R4  An empty orchard cell that nobody stands on grows an apple with a chance that falls with the
      fouled share of all water: 0.05 a step at none, in a straight line down to 0 at 40 percent.
  R5  The cleaning beam (3 long, 3 wide, 2 steps to recharge) cleans the fouled cells it covers; one
      cleaned by several counts for the lowest seat.
  R6  The zap beam (3 long, 3 wide, 10 steps to recharge) sends whoever it hits out of play for 50
      steps; they see nothing meanwhile and come back on a free spawn cell with a random heading. A
      hit by several counts for the lowest seat.
  R7  Beams pass through players; each of their three lanes stops at the first wall, the outer two
      also at a wall beside the player. Where both shine one sees the zap beam. Water can be walked
      on.
  R8  Two players never share a cell and never swap cells; a contested cell goes to one at random.
  R9  Players start on spawn cells; places and headings are drawn.
  R10 Only the horizon ends an episode (a time-out, not a terminal state).
Differs from SocialJax: moves are relative to the heading, beams recharge and stop at walls, a
      bystander's aim never undoes a cleaning, the fouled cells at the start are drawn.
Differs from Melting Pot: one spawn region, water can be walked on, the horizon is fixed.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt16

from sociarium.core import random
from sociarium.core.actions import ActionSpec
from sociarium.core.environment import Transition, bare_transition
from sociarium.core.errors import BadMap
from sociarium.core.events import event
from sociarium.core.facets import Cooperation
from sociarium.core.params import CHANCE
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec
from sociarium.mechanics import beams, cartography, movement, spawning, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.cartography import Sketch
from sociarium.mechanics.grid_world import GridWorld, timer
from sociarium.mechanics.growth import taken

SHEET = RuleSheet.read(__doc__)

MAP = """
wwwwwwwwwwwwwwwwwwwwwwwwwwww
wwwwwwwwwwwwwwwwwwwwwwwwwwww
wwwwwwwwwwwwwwwwwwwwwwwwwwww
wwwwwwwwwwwwwwwwwwwwwwwwwwww
wwwwwwwwwwwwwwwwwwwwwwwwwwww
................wwwwwww.....
..................~~~.......
..P..P..P..P..P...~~~..P..P.
..................~~~.......
..P..P..P..P..P...~~~..P..P.
..................~~........
..P..P..P..P..P...~~...P..P.
..................~~........
....P.....P.......~~....P...
.BBBBBBBBBBBBBBBBBBBBBBBBBB.
BBBBB.BBBBBBB..BBBBBBB.BBBBB
BBBBB.BBBBBBBBBBBBBBBB.BBBBB
BBBBB.BBBBBBB..BBBBBBB.BBBBB
.BBBB.BBBBBBB..BBBBBBB.BBBB.
"""
LEGEND = {".": "sand", "#": "wall", "w": "basin", "~": "river", "B": "orchard", "P": "spawn"}

TILES = ("nothing", "sand", "wall", "river", "clean water", "waste", "orchard", "apple")
NOTHING, SAND, WALL, RIVER, WATER, WASTE, ORCHARD, APPLE = range(len(TILES))
ZAP, CLEAN = len(turning.MOVES), len(turning.MOVES) + 1
PARTS, MOST_PARTS = 256, 2**30  # of a water cell, and of all water, as growth is reckoned


class Params(eqx.Module):
    """Every number of the rule sheet."""

    growth: Float[Array, ""]  # chance of an apple where all water is clean
    depletion: Float[Array, ""]  # fouled share at which nothing grows
    restoration: Float[Array, ""]  # fouled share at which growth is full
    waste_chance: Float[Array, ""]
    quiet: Int[Array, ""]  # steps before new waste appears
    fouled: Int[Array, ""]  # basin cells fouled at the start
    zap: Bool[Array, "5 3"]
    clean: Bool[Array, "5 3"]
    zap_recharge: Int[Array, ""]
    clean_recharge: Int[Array, ""]
    exile: Int[Array, ""]
    apple_reward: Float[Array, ""]
    horizon: Int[Array, ""]
    bounds: ClassVar = {"growth": CHANCE, "depletion": CHANCE, "restoration": CHANCE}

    @classmethod
    def of(cls, zap_recharge: int = 10, clean_recharge: int = 2, exile: int = 50) -> "Params":
        """The paper's numbers, with other timers if given."""
        return cls(
            growth=jnp.float32(0.05),
            depletion=jnp.float32(0.4),
            restoration=jnp.float32(0.0),
            waste_chance=jnp.float32(0.5),
            quiet=jnp.int32(50),
            fouled=jnp.int32(79),
            zap=jnp.asarray(beams.footprint(3, 1)),
            clean=jnp.asarray(beams.footprint(3, 1)),
            zap_recharge=jnp.int32(zap_recharge),
            clean_recharge=jnp.int32(clean_recharge),
            exile=jnp.int32(exile),
            apple_reward=jnp.float32(1.0),
            horizon=jnp.int32(1000),
        )

    @classmethod
    def socialjax(cls) -> "Params":
        """The reference's numbers: small beams that never rest, and no time out of play."""
        params = cls.of(zap_recharge=0, clean_recharge=0, exile=0)
        small = jnp.asarray(beams.SMALL)
        return eqx.tree_at(lambda p: (p.zap, p.clean), params, (small, small))

    @classmethod
    def meltingpot(cls) -> "Params":
        """The origin's numbers, which are also the default."""
        return cls.of()


class State(eqx.Module):
    """Facts only."""

    clock: Int[Array, ""]
    body: Int[Array, " players"]
    heading: Int[Array, " players"]
    away: Int[Array, " players"]  # steps until return
    zap_cooldown: Int[Array, " players"]
    clean_cooldown: Int[Array, " players"]
    zapped_from: Int[Array, " players"]  # the pose a beam was fired from in the last step, or -1
    cleaned_from: Int[Array, " players"]
    waste: Bool[Array, " basin"]
    apple: Bool[Array, " orchard"]


class CleanUp(GridWorld[State, Params]):
    """Clean Up on its map, or on a map of your own."""

    sheet = SHEET
    event_specs = (
        EventSpec("ate", "{actor} ate an apple", causes=("move",), does=("eats an apple",)),
        EventSpec(
            "cleaned",
            "{actor} cleaned {value} cells",
            causes=("clean",),
            does=("cleans the river",),
            unit="cells",
        ),
        EventSpec(
            "passed_up",
            "{actor} could have cleaned {value} cells and did not",
            visible="nobody",
            does=("passes up a chance to clean",),
            unit="cells",
        ),
        EventSpec("fouled", "waste appeared", axis="place"),
        *beams.ZAPPING,
    )
    gauge_specs = (
        GaugeSpec("apples", "apples standing"),
        GaugeSpec("clean_water", "basin cells without waste"),
    )
    cooperation = Cooperation(
        "cells cleaned among those a ready cleaning beam would have reached",
        ("cleaned",),
        ("passed_up",),
    )
    actions = (
        *turning.MOVES,
        beams.ZAP,
        ActionSpec("clean", "clean", sentence="fire your cleaning beam at the waste ahead"),
    )
    tiles, lights = TILES, ("clean", "zap")
    own = (timer("zap_cooldown"), timer("clean_cooldown"), timer("away"))

    def __init__(
        self,
        players: int = 7,
        map: str = MAP,
        map_seed: int | None = None,
        tiles: tuple[int, int] = (1, 1),
    ) -> None:
        """`map` is a drawing in the legend; with a `map_seed` a new one of its size is drawn."""
        drawing = Drawing(cartography.chosen(map, map_seed, lay_out), LEGEND, tiles)
        self.orchard_cells, self.basin_cells = drawing.cells("B"), drawing.cells("w")
        self.orchard, self.basin = len(self.orchard_cells), len(self.basin_cells)
        if not self.orchard or not self.basin:
            raise BadMap("a Clean Up map needs at least one basin cell (w) and orchard cell (B)")
        growing = np.concatenate([self.orchard_cells, self.basin_cells])
        self.build_from_map(drawing, players, growing, {"#": WALL, "~": RIVER}, SAND)
        self.water = self.basin + len(drawing.cells("~"))
        self.spawn = spawning.scattered(drawing.cells("P"))
        spawning.enough_places(len(self.spawn), players, "spawn cells (P)")
        self.respawn = spawning.Respawn(self.terrain, self.spawn)
        self.orchard_at = self.terrain.numbering(self.orchard_cells)
        self.basin_at = self.terrain.numbering(self.basin_cells)
        self.declare(self.cooperation, draws=self.orchard + 2 * players + 3)

    def default_params(self) -> Params:
        """The paper's parameters."""
        return Params.of()

    def param_sets(self) -> dict[str, Params]:
        """Those of SocialJax and of Melting Pot."""
        return {"socialjax": Params.socialjax(), "meltingpot": Params.meltingpot()}

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """Players on drawn spawn cells, waste in drawn basin cells, no apples (R2, R9)."""
        k_place, k_heading, k_waste = jax.random.split(key, 3)
        nobody = jnp.zeros(self.players, jnp.int32)
        return State(
            clock=jnp.int32(0),
            body=spawning.drawn(k_place, self.spawn, self.players),
            heading=spawning.headings(k_heading, self.players),
            away=nobody,
            zap_cooldown=nobody,
            clean_cooldown=nobody,
            zapped_from=nobody - 1,
            cleaned_from=nobody - 1,
            waste=spawning.shuffled(k_waste, self.basin) < params.fouled,
            apple=jnp.zeros(self.orchard, bool),
        )

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Move and turn; eat; zap and clean; foul; grow; return; count."""
        k_move, k_waste, k_grow, k_return = jax.random.split(key, 4)
        terrain = self.terrain
        actions = jnp.where(self.present(state), actions, turning.STAY)
        heading = turning.turned(state.heading, actions)
        body = movement.walk(k_move, terrain, state.body, state.heading, actions)  # R8

        plot = jnp.asarray(self.orchard_at).at[body].get(mode="promise_in_bounds")
        apple, ate = taken(state.apple, plot)  # R1
        zaps = (actions == ZAP) & (state.zap_cooldown == 0)
        cleans = (actions == CLEAN) & (state.clean_cooldown == 0)
        zap_light = beams.lit(terrain, params.zap, zaps, body, heading)  # R6, R7
        clean_light = beams.lit(terrain, params.clean, cleans, body, heading)  # R5, R7
        zapped_by = beams.struck(terrain, zap_light, body, heading, body)
        standing = jnp.where(zapped_by >= 0, terrain.nowhere, body)
        pose = body * 4 + heading
        swept = self.window.shine(clean_light, pose)
        rinsed = state.waste & (swept[self.orchard : self.orchard + self.basin] == 0)
        new, clean = fouled(
            random.bits(k_waste, 2),
            rinsed,
            jnp.asarray(self.basin_at).at[standing].get(mode="promise_in_bounds"),
            state.clock >= params.quiet,
            params,
        )  # R3
        waste = rinsed | new
        word = random.bits(k_grow, self.orchard)
        limit = self.growth_limit(self.basin - clean, params)
        ripe = random.bernoulli_from_bits(word, jnp.broadcast_to(limit, word.shape))  # R4
        underfoot = jnp.where(zapped_by >= 0, self.orchard, plot)
        grown = apple | (ripe & ~spawning.occupied(underfoot, self.orchard))
        new_body, new_heading, away, back = self.respawn(  # R6
            k_return, body, heading, state.away, zapped_by >= 0, params.exile
        )
        after = State(
            clock=state.clock + 1,
            body=new_body,
            heading=new_heading,
            away=away,
            zap_cooldown=beams.cooled(state.zap_cooldown, zaps, params.zap_recharge),
            clean_cooldown=beams.cooled(state.clean_cooldown, cleans, params.clean_recharge),
            zapped_from=jnp.where(zaps, pose, -1),
            cleaned_from=jnp.where(cleans, pose, -1),
            waste=waste,
            apple=grown,
        )

        reward = ate * params.apple_reward
        cells_cleaned = self.credited(state.waste, clean_light, body, heading)
        idle = ~cleans & (state.clean_cooldown == 0) & self.present(state)
        reach = beams.lit(terrain, params.clean, idle, state.body, state.heading)
        _, missed = self.fouled_in(state.waste, reach, state.body, state.heading)
        missed = jnp.sum(missed, axis=1, dtype=jnp.float32)
        transition = bare_transition(
            reward,
            truncated=after.clock >= params.horizon,  # R10
            events={
                "ate": event(ate, cell=body),
                "cleaned": event(
                    cells_cleaned > 0, cell=body, value=cells_cleaned.astype(jnp.float32)
                ),
                "passed_up": event(missed > 0, cell=state.body, value=missed),
                "fouled": event(new, cell=jnp.asarray(self.basin_cells)),
                **beams.zapping(zaps, zapped_by, body, back, new_body),
            },
        )
        return after, transition

    def growth_limit(self, dirty: Int[Array, ""], params: Params) -> Array:
        """The integer threshold of growth at this many fouled cells.

        Only products and quotients of whole parts of a cell: the same bits however it is compiled.
        """
        parts = min(PARTS, MOST_PARTS // self.water)
        none = jnp.round(params.depletion * (parts * self.water)).astype(jnp.int32)
        full = jnp.round(params.restoration * (parts * self.water)).astype(jnp.int32)
        span = jnp.maximum(none - full, 1)
        share = jnp.clip(none - dirty * parts, 0, span) / span
        return (random.threshold(params.growth) * share).astype(jnp.uint32)

    def credited(
        self,
        waste: Bool[Array, " basin"],
        light: Int[Array, " players"],
        body: Int[Array, " players"],
        heading: Int[Array, " players"],
    ) -> Int[Array, " players"]:
        """Fouled cells each player cleaned; one cleaned by several counts for the lowest seat."""
        cells, dirty = self.fouled_in(waste, light, body, heading)
        seat = jnp.arange(self.players, dtype=jnp.int32)[:, None]
        first = jnp.full(self.terrain.cells + 1, self.players, jnp.int32)
        first = first.at[cells].min(jnp.broadcast_to(seat, cells.shape))
        return jnp.sum(dirty & (first[cells] == seat), axis=1, dtype=jnp.int32)

    def fouled_in(
        self,
        waste: Bool[Array, " basin"],
        light: Int[Array, " players"],
        body: Int[Array, " players"],
        heading: Int[Array, " players"],
    ) -> tuple[Int[Array, "players 15"], Bool[Array, "players 15"]]:
        """The cells each beam covers, and which of them are fouled."""
        cells = jnp.minimum(beams.covered(self.terrain, light, body, heading), self.terrain.nowhere)
        return cells, jnp.append(waste, False)[jnp.asarray(self.basin_at)[cells]]

    def codes(self, state: State, params: Params) -> UInt16[Array, " entries"]:
        """What lies, shines and stands on every cell."""
        zaps, cleans = state.zapped_from >= 0, state.cleaned_from >= 0
        pose = jnp.maximum(jnp.maximum(state.zapped_from, state.cleaned_from), 0)
        origin, heading = pose >> 2, pose & 3
        light = beams.lit(self.terrain, params.zap, zaps, origin, heading)
        light = light | beams.lit(self.terrain, params.clean, cleans, origin, heading)
        shine = self.window.shine(light, pose, (cleans + 2 * zaps).astype(jnp.uint8))
        ground = jnp.concatenate(
            [
                jnp.where(state.apple, jnp.uint8(APPLE), jnp.uint8(ORCHARD)),
                jnp.where(state.waste, jnp.uint8(WASTE), jnp.uint8(WATER)),
                jnp.asarray(self.floor),
            ]
        )
        return self.window.code(ground, state.body, state.heading, shine)

    def private(self, state: State) -> tuple[Int[Array, " players"], ...]:
        """The three timers."""
        return state.zap_cooldown, state.clean_cooldown, state.away

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """A beam that recharges cannot be fired."""
        return self.may(state, state.zap_cooldown == 0, state.clean_cooldown == 0)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Apples standing and clean basin cells."""
        return {
            "apples": jnp.sum(state.apple, dtype=jnp.float32),
            "clean_water": jnp.sum(~state.waste, dtype=jnp.float32),
        }


def lay_out(sketch: Sketch) -> None:
    """A basin above, a winding river, an orchard with gaps below; as much of each as on the map."""
    rows, cols = sketch.glyphs.shape
    sketch.paint("w", [(row, col) for row in range(5) for col in range(cols)])
    mouth = int(sketch.rng.integers(2, cols - 9))
    sketch.paint("w", [(5, mouth + step) for step in range(7)])
    bed = mouth + 2
    for row in range(6, 14):
        bed = min(max(bed + int(sketch.rng.integers(-1, 2)), 0), cols - 3)
        sketch.paint("~", [(row, bed + step) for step in range(3 if row < 10 else 2)])
    below = [(row, col) for row in range(14, rows) for col in range(cols)]
    planted = sketch.rng.permutation(len(below))[:122]
    sketch.paint("B", [below[number] for number in planted])
    sketch.scatter("P", 24, rows=(6, 14))


def fouled(
    word: Array,
    waste: Bool[Array, " basin"],
    underfoot: Int[Array, " players"],
    active: Bool[Array, ""],
    params: Params,
) -> tuple[Bool[Array, " basin"], Int[Array, ""]]:
    """The basin cell fouled in this step, if any, and how many are clean after it."""
    strikes = active & random.bernoulli_from_bits(word[0], random.threshold(params.waste_chance))
    cell, clean = spawning.draw_one(word[1], ~waste)
    strikes = strikes & ~(underfoot == cell).any() & (clean > 0)
    return strikes & (jnp.arange(len(waste)) == cell), clean - strikes
