"""Gift Refinement: a token given away grows into three (Agapiou et al., 2022).

Rules
  R1  Raw tokens appear on an empty token cell that nobody stands on with chance 0.0002 a step.
      There are none at the start.
  R2  Walking onto a token puts it into the bag, which holds 15 tokens of each of the three levels:
      raw, refined, precious. Under somebody who has 15 raw tokens it lies until there is room.
  R3  The gift beam is straight, 5 long, and needs 3 steps to recharge. It gives one token of the
      lowest level the giver has, raw or refined, to the first player in it, who gets 3 tokens of
      the next level, as far as the bag holds them. Precious tokens cannot be given.
  R4  Consuming pays 1 for every token in the bag, whatever its level, and empties the bag. Gifts of
      the same step arrive after it.
  R5  The beam passes through players and stops at the first wall.
  R6  Two players never share a cell and never swap cells; a contested cell goes to one at random.
  R7  Everybody sees the own bag and nobody else's.
  R8  Players start on spawn cells; places and headings are drawn.
  R9  Only the horizon ends an episode (a time-out, not a terminal state).
Differs from SocialJax: moves are relative to the heading, a gift needs the gift action and a ready
      beam, all givers count, a full bag leaves tokens lying, one's own bag is seen.
Differs from Melting Pot: a gift grows threefold (the paper) instead of fivefold and is of the
      lowest level instead of the highest, the horizon is fixed.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt16

from sociarium.core import random
from sociarium.core.actions import ActionSpec
from sociarium.core.environment import Transition, bare_transition
from sociarium.core.errors import BadMap
from sociarium.core.events import event
from sociarium.core.facets import Cooperation
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec, OwnSpec
from sociarium.mechanics import beams, cartography, crowds, movement, spawning, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.cartography import Sketch
from sociarium.mechanics.grid_world import LONG, GridWorld, timer
from sociarium.mechanics.growth import sprouted, taken

SHEET = RuleSheet.read(__doc__)

MAP = """
_........................._
_...P..#.................._
_...#..#.................._
_...#..#......##.....###P._
_...#..#.................._
_.......P..##...P........._
_.............####...####._
_...................P....._
_......#........#........._
_.....P#.##....P#........._
_...#..#..P..P......#....._
_...#..#............#....._
_............#............_
_.....#............#..#..._
_.....#......P..P..#..#..._
_.........#P....##.#P....._
_.........#........#......_
_.....P..................._
_.####...####............._
_.........P...##..P......._
_..................#..#..._
_.P###.....##......#..#..._
_..................#..#..._
_..................#..P..._
_........................._
"""
LEGEND = {"#": "wall", ".": "token cell", "P": "spawn", "_": "floor"}

TILES = ("nothing", "floor", "wall", "token")
NOTHING, FLOOR, WALL, TOKEN = range(len(TILES))
GIFT, CONSUME = len(turning.MOVES), len(turning.MOVES) + 1


class Params(eqx.Module):
    """Every number of the rule sheet."""

    token_chance: Float[Array, ""]
    token_reward: Float[Array, ""]
    growth: Int[Array, ""]  # tokens a gift turns into
    capacity: Int[Array, ""]  # tokens of each level in a bag
    length: Int[Array, ""]  # of the gift beam, up to 5
    recharge: Int[Array, ""]
    horizon: Int[Array, ""]
    bounds: ClassVar = {"length": (0, beams.BEAM_LENGTH)}

    @classmethod
    def of(cls, growth: int = 3, length: int = 5, recharge: int = 3) -> "Params":
        """The paper's numbers, with others if given."""
        return cls(
            token_chance=jnp.float32(0.0002),
            token_reward=jnp.float32(1.0),
            growth=jnp.int32(growth),
            capacity=jnp.int32(15),
            length=jnp.int32(length),
            recharge=jnp.int32(recharge),
            horizon=jnp.int32(1000),
        )

    @classmethod
    def socialjax(cls) -> "Params":
        """The reference's numbers: gifts to the next cell only, at every step."""
        return cls.of(length=1, recharge=0)

    @classmethod
    def meltingpot(cls) -> "Params":
        """The origin's numbers: a gift grows fivefold."""
        return cls.of(growth=5)


class State(eqx.Module):
    """Facts only."""

    clock: Int[Array, ""]
    body: Int[Array, " players"]
    heading: Int[Array, " players"]
    cooldown: Int[Array, " players"]
    fired: Int[Array, " players"]  # the pose a beam was fired from in the last step, or -1
    raw: Int[Array, " players"]  # tokens in the bag, by level
    refined: Int[Array, " players"]
    precious: Int[Array, " players"]
    token: Bool[Array, " places"]


class GiftRefinement(GridWorld[State, Params]):
    """Gift Refinement on its map, or on a map of your own."""

    sheet = SHEET
    event_specs = (
        EventSpec(
            "picked", "{actor} picked up a token", causes=("move",), does=("picks up a token",)
        ),
        EventSpec(
            "gave",
            "{actor} gave {target} a token",
            causes=("gift",),
            does=("gives a token away",),
        ),
        EventSpec(
            "consumed",
            "{actor} consumed {value} tokens",
            causes=("consume",),
            does=("consumes its tokens",),
            unit="tokens",
        ),
        EventSpec(
            "wasted",
            "{actor} consumed {value} tokens that could have been given",
            visible="nobody",
            does=("wastes tokens",),
            unit="tokens",
        ),
        EventSpec(
            "reached_out", "{actor} held out a gift", causes=("gift",), does=("holds out a gift",)
        ),
    )
    gauge_specs = (
        GaugeSpec("tokens", "tokens lying about"),
        GaugeSpec("raw", "raw tokens in bags"),
        GaugeSpec("refined", "refined and precious tokens in bags"),
    )
    cooperation = Cooperation(
        "tokens given among raw and refined tokens used", ("gave",), ("wasted",)
    )
    actions = (
        *turning.MOVES,
        ActionSpec("gift", "gift", sentence="give a token to whoever is ahead"),
        ActionSpec("consume", "consume", sentence="use up all tokens in your bag"),
    )
    tiles, lights = TILES, ("gift",)
    own = (
        timer("cooldown"),
        OwnSpec("raw", 0, LONG),
        OwnSpec("refined", 0, LONG),
        OwnSpec("precious", 0, LONG),
    )

    def __init__(
        self,
        players: int = 5,
        map: str = MAP,
        map_seed: int | None = None,
        tiles: tuple[int, int] = (1, 1),
    ) -> None:
        """`map` is a drawing in the legend; with a `map_seed` a new one of its size is drawn."""
        drawing = Drawing(cartography.chosen(map, map_seed, lay_out), LEGEND, tiles)
        self.token_cells = drawing.cells(".")
        self.places = len(self.token_cells)
        if not self.places:
            raise BadMap("a Gift Refinement map needs at least one token cell (.)")
        self.build_from_map(drawing, players, self.token_cells, {"#": WALL}, FLOOR)
        self.spawn = drawing.cells("P")
        spawning.enough_places(len(self.spawn), players, "spawn cells (P)")
        self.place_at = self.terrain.numbering(self.token_cells)
        self.declare(self.cooperation, draws=self.places + players)

    def default_params(self) -> Params:
        """The paper's parameters."""
        return Params.of()

    def param_sets(self) -> dict[str, Params]:
        """Those of SocialJax and of Melting Pot."""
        return {"socialjax": Params.socialjax(), "meltingpot": Params.meltingpot()}

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """Players with empty bags on drawn spawn cells, no tokens (R1, R8)."""
        k_place, k_heading = jax.random.split(key, 2)
        nothing = jnp.zeros(self.players, jnp.int32)
        return State(
            clock=jnp.int32(0),
            body=spawning.drawn(k_place, self.spawn, self.players),
            heading=spawning.headings(k_heading, self.players),
            cooldown=nothing,
            fired=nothing - 1,
            raw=nothing,
            refined=nothing,
            precious=nothing,
            token=jnp.zeros(self.places, bool),
        )

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Move and turn; pick up; consume; give; let tokens appear; count."""
        k_move, k_token = jax.random.split(key, 2)
        heading = turning.turned(state.heading, actions)
        body = movement.walk(k_move, self.terrain, state.body, state.heading, actions)  # R6

        place = jnp.asarray(self.place_at).at[body].get(mode="promise_in_bounds")
        room = state.raw < params.capacity
        token, picked = taken(state.token, jnp.where(room, place, self.places))  # R2
        consumes = actions == CONSUME
        eaten = jnp.where(consumes, state.raw + picked + state.refined + state.precious, 0)  # R4
        wasted = jnp.where(consumes, state.raw + picked + state.refined, 0)
        raw, refined, precious = (
            jnp.where(consumes, 0, held)
            for held in (state.raw + picked, state.refined, state.precious)
        )
        fires = (actions == GIFT) & self.ready(state)
        footprint = beams.straight(params.length)
        light = beams.lit(self.terrain, footprint, fires, body, heading)  # R5
        receiver = beams.aimed(self.terrain, light, body, heading, body)
        meets = fires & (receiver < self.players)
        gives_raw, gives_refined = meets & (raw > 0), meets & (raw == 0) & (refined > 0)  # R3
        got_refined = self.received(receiver, gives_raw) * params.growth
        got_precious = self.received(receiver, gives_refined) * params.growth
        new = random.bits(k_token, self.places)
        after = State(
            clock=state.clock + 1,
            body=body,
            heading=heading,
            cooldown=beams.cooled(state.cooldown, fires, params.recharge),
            fired=jnp.where(fires, body * 4 + heading, -1),
            raw=raw - gives_raw,
            refined=jnp.minimum(refined - gives_refined + got_refined, params.capacity),
            precious=jnp.minimum(precious + got_precious, params.capacity),
            token=sprouted(new, token, place, params.token_chance),  # R1
        )

        gave = gives_raw | gives_refined
        return after, bare_transition(
            eaten * params.token_reward,
            truncated=after.clock >= params.horizon,  # R9
            events={
                "picked": event(picked, cell=body),
                "gave": event(gave, other=jnp.where(gave, receiver, -1), cell=body),
                "consumed": event(eaten > 0, cell=body, value=eaten.astype(jnp.float32)),
                "wasted": event(wasted > 0, cell=body, value=wasted.astype(jnp.float32)),
                "reached_out": event(fires, cell=body),
            },
        )

    def received(
        self, receiver: Int[Array, " players"], gives: Bool[Array, " players"]
    ) -> Int[Array, " players"]:
        """How many gifts each player gets."""
        seat = jnp.arange(self.players, dtype=jnp.int32)
        return crowds.count(seat, jnp.where(gives, receiver, self.players), self.players)

    def codes(self, state: State, params: Params) -> UInt16[Array, " entries"]:
        """What lies, shines and stands on every cell."""
        shine = self.glow(state.fired, beams.straight(params.length))
        tokens = jnp.where(state.token, jnp.uint8(TOKEN), jnp.uint8(FLOOR))
        ground = jnp.concatenate([tokens, jnp.asarray(self.floor)])
        return self.window.code(ground, state.body, state.heading, shine)

    def private(self, state: State) -> tuple[Int[Array, " players"], ...]:
        """The beam's timer and the bag (R7)."""
        return state.cooldown, state.raw, state.refined, state.precious

    def bags(self, state: State) -> dict[str, Int[Any, " players"]]:
        """The tokens in everybody's bag."""
        kinds = (state.raw, state.refined, state.precious)
        return dict(zip(("raw token", "refined token", "precious token"), kinds, strict=True))

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """Giving needs a ready beam and something to give, consuming something in the bag."""
        full = state.raw + state.refined + state.precious > 0
        return self.may(state, self.ready(state), full)

    def ready(self, state: State) -> Bool[Array, " players"]:
        """Who can give."""
        return (state.cooldown == 0) & (state.raw + state.refined > 0)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Tokens lying about and in bags."""
        return {
            "tokens": jnp.sum(state.token, dtype=jnp.float32),
            "raw": jnp.sum(state.raw).astype(jnp.float32),
            "refined": jnp.sum(state.refined + state.precious).astype(jnp.float32),
        }


def lay_out(sketch: Sketch) -> None:
    """As much wall as on the map, elsewhere."""
    rows, cols = sketch.glyphs.shape
    sketch.paint("_", [(row, col) for row in range(rows) for col in (0, cols - 1)])
    sketch.bars(69)
    sketch.scatter("P", 18, apart=2)
