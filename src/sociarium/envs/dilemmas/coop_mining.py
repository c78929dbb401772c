"""Coop Mining: iron pays one miner, gold only several together (Agapiou et al., 2022).

Rules
  R1  At the start there is no ore. On every empty ore cell iron appears with chance 0.0004 and
      gold with chance 0.00016 a step, also under players. Ore does not block the way.
  R2  The mining beam is straight, 3 long, and needs 3 steps to recharge. It passes through players
      and stops at a wall or at the first ore, which it strikes.
  R3  Iron struck pays 1 and is gone; struck by several at once, one of them by lot has it.
  R4  Gold struck opens for that step and the 3 following. Whoever strikes it meanwhile joins in.
  R5  When the gold closes and 2 to 4 players have joined, each of them gets 8 and the gold is
      gone; with fewer or more nobody gets anything and it closes again.
  R6  A player works at one gold at a time: striking another gives up the first. A gold that
      everybody gave up closes, unless somebody struck it in the same step.
  R7  Two players never share a cell and never swap cells; a contested cell goes to one at random.
  R8  Players start on spawn cells; places and headings are drawn.
  R9  Only the horizon ends an episode (a time-out, not a terminal state).
Differs from SocialJax: moves are relative to the heading, every miner of a gold is paid, beams
      recharge, ore is twice as frequent (the paper), the window looks ahead as in the other worlds.
Differs from Melting Pot: gold pays when it closes instead of at the second strike, ore is twice as
      frequent, the horizon is fixed.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8, UInt16, UInt32

from sociarium.core import random
from sociarium.core.actions import ActionSpec
from sociarium.core.environment import Transition, bare_transition
from sociarium.core.errors import BadMap
from sociarium.core.events import event
from sociarium.core.facets import Cooperation
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec
from sociarium.mechanics import beams, cartography, crowds, movement, spawning, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.cartography import Sketch
from sociarium.mechanics.grid_world import GridWorld, timer

SHEET = RuleSheet.read(__doc__)

MAP = """
###########################
#.........................#
#..................P..P...#
#.....####................#
#.P......P................#
#....#..............##....#
#....#.......##....P...#..#
#.P...P#..........##...#..#
#......#.#...#.........#..#
#........#...#.####...P#..#
#........#...#............#
#........#...P............#
#.....#...................#
#.....#.###..#..###.#.....#
#...................#.....#
#............P...#........#
#............#...#........#
#..#P...####.#...#........#
#..#.........#...#.#......#
#..#...##..........#P...P.#
#..#...P....##.......#....#
#....##..............#....#
#................P......P.#
#................####.....#
#...P..P..................#
#.........................#
###########################
"""
LEGEND = {"#": "wall", ".": "ore cell", "P": "spawn"}

TILES = ("nothing", "floor", "wall", "iron", "gold", "open gold")
NOTHING, FLOOR, WALL, IRON, GOLD, OPEN_GOLD = range(len(TILES))
MINE = len(turning.MOVES)


class Params(eqx.Module):
    """Every number of the rule sheet."""

    iron_chance: Float[Array, ""]
    gold_chance: Float[Array, ""]
    iron_reward: Float[Array, ""]
    gold_reward: Float[Array, ""]  # to each miner
    open_for: Int[Array, ""]  # steps after the one in which gold was first struck
    fewest: Int[Array, ""]  # miners
    most: Int[Array, ""]
    length: Int[Array, ""]  # of the mining beam, up to 5
    recharge: Int[Array, ""]
    horizon: Int[Array, ""]
    bounds: ClassVar = {"length": (0, beams.BEAM_LENGTH)}

    @classmethod
    def of(
        cls,
        iron_chance: float = 0.0004,
        gold_chance: float = 0.00016,
        open_for: int = 3,
        most: int = 4,
        recharge: int = 3,
    ) -> "Params":
        """The paper's numbers, with others if given."""
        return cls(
            iron_chance=jnp.float32(iron_chance),
            gold_chance=jnp.float32(gold_chance),
            iron_reward=jnp.float32(1.0),
            gold_reward=jnp.float32(8.0),
            open_for=jnp.int32(open_for),
            fewest=jnp.int32(2),
            most=jnp.int32(most),
            length=jnp.int32(3),
            recharge=jnp.int32(recharge),
            horizon=jnp.int32(1000),
        )

    @classmethod
    def socialjax(cls) -> "Params":
        """The reference's numbers: half as much ore, and a beam that never rests."""
        return cls.of(iron_chance=0.0002, gold_chance=0.00008, open_for=2, recharge=0)

    @classmethod
    def meltingpot(cls) -> "Params":
        """The origin's numbers: half as much ore, and gold for two."""
        return cls.of(iron_chance=0.0002, gold_chance=0.00008, most=2)


class State(eqx.Module):
    """Facts only."""

    clock: Int[Array, ""]
    body: Int[Array, " players"]
    heading: Int[Array, " players"]
    cooldown: Int[Array, " players"]
    fired: Int[Array, " players"]  # the pose a beam was fired from in the last step, or -1
    glow: Int[Array, " players"]  # the cells that beam lit, as bits
    claim: Int[Array, " players"]  # the place of the gold one has struck, or how many there are
    closing: Int[Array, " players"]  # steps until that gold closes
    ore: UInt8[Array, " places"]  # 0 none, 1 iron, 2 gold


class CoopMining(GridWorld[State, Params]):
    """Coop Mining in its pit, or on a map of your own."""

    sheet = SHEET
    event_specs = (
        EventSpec("mined_iron", "{actor} mined iron", causes=("mine",), does=("mines iron",)),
        EventSpec("struck_gold", "{actor} struck gold", causes=("mine",), does=("strikes gold",)),
        EventSpec(
            "mined_gold",
            "{actor} mined gold together with others",
            causes=("mine",),
            does=("mines gold with others",),
        ),
        EventSpec(
            "failed",
            "the gold {actor} struck closed with {value} at work",
            does=("strikes gold in vain",),
        ),
    )
    gauge_specs = (
        GaugeSpec("iron", "iron in the pit"),
        GaugeSpec("gold", "gold in the pit"),
        GaugeSpec("at_work", "players at work on gold"),
    )
    cooperation = Cooperation(
        "gold mined together among ore mined", ("mined_gold",), ("mined_iron",)
    )
    actions = (*turning.MOVES, ActionSpec("mine", "mine", sentence="mine the ore ahead"))
    tiles, lights = TILES, ("mine",)
    own = (timer("cooldown"),)

    def __init__(
        self,
        players: int = 6,
        map: str = MAP,
        map_seed: int | None = None,
        tiles: tuple[int, int] = (1, 1),
    ) -> None:
        """`map` is a drawing in the legend; with a `map_seed` a new one of its size is drawn."""
        drawing = Drawing(cartography.chosen(map, map_seed, lay_out), LEGEND, tiles)
        self.ore_cells = drawing.cells(".")
        self.places = len(self.ore_cells)
        if not self.places:
            raise BadMap("a Coop Mining map needs at least one ore cell (.)")
        self.build_from_map(drawing, players, self.ore_cells, {"#": WALL}, FLOOR)
        self.spawn = drawing.cells("P")
        spawning.enough_places(len(self.spawn), players, "spawn cells (P)")
        self.place_at = self.terrain.numbering(self.ore_cells)
        self.declare(self.cooperation, draws=self.places + 2 * players)

    def default_params(self) -> Params:
        """The paper's parameters."""
        return Params.of()

    def param_sets(self) -> dict[str, Params]:
        """Those of SocialJax and of Melting Pot."""
        return {"socialjax": Params.socialjax(), "meltingpot": Params.meltingpot()}

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """Players on drawn spawn cells, no ore (R1, R8)."""
        k_place, k_heading = jax.random.split(key, 2)
        nobody = jnp.zeros(self.players, jnp.int32)
        return State(
            clock=jnp.int32(0),
            body=spawning.drawn(k_place, self.spawn, self.players),
            heading=spawning.headings(k_heading, self.players),
            cooldown=nobody,
            fired=nobody - 1,
            glow=nobody,
            claim=nobody + self.places,
            closing=nobody,
            ore=jnp.zeros(self.places, jnp.uint8),
        )

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Move and turn; strike; pay; let ore appear; count."""
        k_move, k_lot, k_ore = jax.random.split(key, 3)
        heading = turning.turned(state.heading, actions)
        body = movement.walk(k_move, self.terrain, state.body, state.heading, actions)  # R7

        fires = (actions == MINE) & (state.cooldown == 0)
        glow, place, kind = self.strike(state.ore, fires, body, heading, params)  # R2
        iron = jnp.where(kind == IRON, place, self.places)
        mined_iron = crowds.winners(random.bits(k_lot, self.players), iron, self.places)  # R3
        claim, closing, closes, miners = self.work(state, kind == GOLD, place, params)
        mined_gold = closes & (miners >= params.fewest) & (miners <= params.most)  # R5
        gone = jnp.concatenate([iron, jnp.where(mined_gold, claim, self.places)])
        left = jnp.append(state.ore, jnp.uint8(0)).at[gone].set(0, mode="promise_in_bounds")[:-1]
        new = found(random.bits(k_ore, self.places), params)  # R1
        after = State(
            clock=state.clock + 1,
            body=body,
            heading=heading,
            cooldown=beams.cooled(state.cooldown, fires, params.recharge),
            fired=jnp.where(fires, body * 4 + heading, -1),
            glow=glow,
            claim=jnp.where(closes, self.places, claim),
            closing=closing,
            ore=jnp.where(left == 0, new, left),
        )

        reward = mined_iron * params.iron_reward + mined_gold * params.gold_reward
        cells = jnp.append(jnp.asarray(self.ore_cells), -1)
        return after, bare_transition(
            reward,
            truncated=after.clock >= params.horizon,  # R9
            events={
                "mined_iron": event(mined_iron, cell=cells[place]),
                "struck_gold": event(kind == GOLD, cell=cells[place]),
                "mined_gold": event(mined_gold, cell=cells[claim]),
                "failed": event(
                    closes & ~mined_gold, cell=cells[claim], value=miners.astype(jnp.float32)
                ),
            },
        )

    def strike(
        self,
        ore: UInt8[Array, " places"],
        fires: Bool[Array, " players"],
        body: Int[Array, " players"],
        heading: Int[Array, " players"],
        params: Params,
    ) -> tuple[Int[Array, " players"], Int[Array, " players"], Int[Array, " players"]]:
        """The cells each beam lights, the place of the ore it strikes, and the tile of that ore."""
        light = beams.lit(self.terrain, beams.straight(params.length), fires, body, heading)
        ahead = self.place_ahead(body, heading)
        veins = jnp.append(ore, jnp.uint8(0))
        solid = veins.at[ahead].get(mode="promise_in_bounds") > 0
        glow, far = beams.stopped_by_solids(light, solid)
        struck = jnp.take_along_axis(ahead, jnp.maximum(far - 1, 0)[:, None], axis=1)[:, 0]
        place = jnp.where(far > 0, struck, self.places)
        kind = veins.at[place].get(mode="promise_in_bounds").astype(jnp.int32)
        return glow, place, jnp.where(kind > 0, kind + (IRON - 1), FLOOR)

    def place_ahead(
        self, body: Int[Array, " players"], heading: Int[Array, " players"]
    ) -> Int[Array, "players 5"]:
        """The ore places one to five cells ahead; the number of places where there is none."""
        down, right = turning.ahead(heading)
        far = jnp.arange(1, beams.BEAM_LENGTH + 1, dtype=jnp.int32)[None]
        cells = body[:, None] + far * (down * self.terrain.cols + right)[:, None]
        cells = jnp.clip(cells, 0, self.terrain.cells)
        return jnp.asarray(self.place_at).at[cells].get(mode="promise_in_bounds")

    def work(
        self,
        state: State,
        strikes: Bool[Array, " players"],
        place: Int[Array, " players"],
        params: Params,
    ) -> tuple[
        Int[Array, " players"],
        Int[Array, " players"],
        Bool[Array, " players"],
        Int[Array, " players"],
    ]:
        """Everybody's gold, the steps until it closes, whether it closes, and how many joined."""
        before = jnp.where(state.claim == self.places, -1, jnp.maximum(state.closing - 1, 0))
        open_until = crowds.greatest(place, state.claim, before, self.places)  # R4
        joined = jnp.where(open_until < 0, params.open_for, open_until)
        claim = jnp.where(strikes, place, state.claim)  # R6
        closing = jnp.where(strikes, joined, jnp.maximum(before, 0))
        closes = (claim != self.places) & (closing == 0)
        return claim, closing, closes, crowds.count(claim, claim, self.places)

    def codes(self, state: State, params: Params) -> UInt16[Array, " entries"]:
        """What lies, shines and stands on every cell."""
        shine = self.window.shine(state.glow, jnp.maximum(state.fired, 0))
        ore = jnp.append(jnp.where(state.ore > 0, state.ore + (IRON - 1), jnp.uint8(FLOOR)), 0)
        ore = ore.at[state.claim].set(OPEN_GOLD, mode="promise_in_bounds")[:-1]
        ground = jnp.concatenate([ore.astype(jnp.uint8), jnp.asarray(self.floor)])
        return self.window.code(ground, state.body, state.heading, shine)

    def private(self, state: State) -> tuple[Int[Array, " players"], ...]:
        """The timer of the beam."""
        return (state.cooldown,)

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """A beam that recharges cannot be fired."""
        return self.may(state, state.cooldown == 0)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Ore in the pit and players at work on gold."""
        return {
            "iron": jnp.sum(state.ore == 1, dtype=jnp.float32),
            "gold": jnp.sum(state.ore == 2, dtype=jnp.float32),
            "at_work": jnp.sum(state.claim != self.places, dtype=jnp.float32),
        }


def lay_out(sketch: Sketch) -> None:
    """A fenced pit with as much wall as on the map."""
    sketch.fence()
    sketch.bars(69)
    sketch.scatter("P", 18, apart=2)


def found(word: UInt32[Array, " places"], params: Params) -> UInt8[Array, " places"]:
    """The ore that would appear on each place: 0 none, 1 iron, 2 gold."""
    gold = random.threshold(params.gold_chance)
    either = gold + random.threshold(params.iron_chance)
    is_gold = random.bernoulli_from_bits(word, jnp.broadcast_to(gold, word.shape))
    is_ore = random.bernoulli_from_bits(word, jnp.broadcast_to(either, word.shape))
    return is_ore.astype(jnp.uint8) + is_gold.astype(jnp.uint8)
