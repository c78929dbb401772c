"""Coins: another's coin pays me and costs them twice as much (Lerer and Peysakhovich, 2017).

Rules
  R1  Each player has a colour of its own, drawn at the start, and sees coins as its own or
      another's.
  R2  On every empty cell that nobody stands on, a coin of each colour appears with chance 0.0005
      a step (at most 1 / players); a cell holds one coin. The start cells never hold any.
  R3  Walking onto a coin takes it and pays the taker 1, whatever its colour.
  R4  When somebody takes a coin of another's colour, that colour's owner loses 2.
  R5  Two players never share a cell and never swap cells; a contested cell goes to one at random.
  R6  Players start on the start cells (more players than those: on cells drawn from the floor);
      places and headings are drawn. There is no coin at the start.
  R7  Only the horizon ends an episode (a time-out, not a terminal state).
Differs from SocialJax: moves are relative to the heading, colours are drawn, views say mine and
      theirs.
Differs from Melting Pot: one fixed room, 0.0005 for each colour (the paper), the horizon is fixed.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from sociarium.core import random
from sociarium.core.environment import Transition, View, bare_transition
from sociarium.core.errors import BadArgument
from sociarium.core.events import event
from sociarium.core.facets import Cooperation
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Scene
from sociarium.core.specs import EventSpec, GaugeSpec
from sociarium.mechanics import cartography, movement, spawning, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.cartography import Sketch
from sociarium.mechanics.grid_world import GridWorld
from sociarium.mechanics.windows import EXTRA

SHEET = RuleSheet.read(__doc__)

MAP = """
...........
.P.........
...........
...........
...........
...........
...........
...........
...........
...........
...........
...........
...........
...........
.........P.
...........
"""
LEGEND = {".": "floor", "#": "wall", "P": "start"}

TILES = ("nothing", "floor", "wall", "my coin", "their coin")
NOTHING, FLOOR, WALL, MINE, THEIRS = range(len(TILES))
MOST_COLOURS = 2**16 - 1  # that fit into the world's own half of a code
COLOURS = ("red", "green", "blue", "yellow", "purple", "orange")


class Params(eqx.Module):
    """Every number of the rule sheet."""

    coin_chance: Float[Array, ""]  # of each colour, for each empty cell and step
    coin_reward: Float[Array, ""]
    loss: Float[Array, ""]  # what the owner gets when another takes its coin
    horizon: Int[Array, ""]

    @classmethod
    def of(cls, coin_chance: float = 0.0005) -> "Params":
        """The paper's numbers."""
        return cls(
            coin_chance=jnp.float32(coin_chance),
            coin_reward=jnp.float32(1.0),
            loss=jnp.float32(-2.0),
            horizon=jnp.int32(1000),
        )

    @classmethod
    def socialjax(cls) -> "Params":
        """The reference's numbers, which are also the default."""
        return cls.of()

    @classmethod
    def meltingpot(cls) -> "Params":
        """The origin's numbers: half as many coins."""
        return cls.of(coin_chance=0.00025)


class State(eqx.Module):
    """Facts only."""

    clock: Int[Array, ""]
    body: Int[Array, " players"]
    heading: Int[Array, " players"]
    colour: Int[Array, " players"]  # each player's own
    coin: Int[Array, " places"]  # colour of the coin on a place, or -1


class Coins(GridWorld[State, Params]):
    """Coins in its room, or on a map of your own."""

    sheet = SHEET
    event_specs = (
        EventSpec(
            "took_own",
            "{actor} took a coin of its own colour",
            causes=("move",),
            does=("takes its own coin",),
        ),
        EventSpec(
            "took_other",
            "{actor} took a coin of {target}",
            causes=("move",),
            does=("takes somebody else's coin",),
        ),
    )
    gauge_specs = (GaugeSpec("coins", "coins lying about"),)
    cooperation = Cooperation(
        "coins of one's own colour among coins taken", ("took_own",), ("took_other",)
    )
    actions = turning.MOVES
    tiles = TILES

    def __init__(
        self,
        players: int = 2,
        map: str = MAP,
        map_seed: int | None = None,
        tiles: tuple[int, int] = (1, 1),
    ) -> None:
        """`map` is a drawing in the legend; with a `map_seed` a new one of its size is drawn."""
        if players > MOST_COLOURS:
            raise BadArgument(f"coins have at most {MOST_COLOURS} colours; given {players} players")
        drawing = Drawing(cartography.chosen(map, map_seed, lay_out), LEGEND, tiles)
        self.starts, self.floor_cells = drawing.cells("P"), drawing.cells(".")
        self.places = len(self.floor_cells)
        self.build_from_map(drawing, players, self.floor_cells, {"#": WALL}, FLOOR)
        spawning.enough_places(len(self.starts) + self.places, players, "cells to start from")
        self.place_at = self.terrain.numbering(self.floor_cells)
        self.declare(self.cooperation, draws=self.places + players)

    def default_params(self) -> Params:
        """The paper's parameters."""
        return Params.of()

    def param_sets(self) -> dict[str, Params]:
        """Those of SocialJax and of Melting Pot."""
        return {"socialjax": Params.socialjax(), "meltingpot": Params.meltingpot()}

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """Players on drawn places with drawn colours, no coins (R1, R6)."""
        k_start, k_floor, k_seat, k_heading, k_colour = jax.random.split(key, 5)
        places = jnp.asarray(self.starts)[spawning.shuffled(k_start, len(self.starts))]
        if self.players > len(self.starts):
            more = jnp.asarray(self.floor_cells)[spawning.shuffled(k_floor, self.places)]
            places = jnp.concatenate([places, more])
        return State(
            clock=jnp.int32(0),
            body=places[: self.players][spawning.shuffled(k_seat, self.players)],
            heading=spawning.headings(k_heading, self.players),
            colour=spawning.shuffled(k_colour, self.players),
            coin=jnp.full(self.places, -1, jnp.int32),
        )

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Move and turn; take coins; let new ones appear; count."""
        k_move, k_coin = jax.random.split(key, 2)
        heading = turning.turned(state.heading, actions)
        body = movement.walk(k_move, self.terrain, state.body, state.heading, actions)  # R5
        place = jnp.asarray(self.place_at).at[body].get(mode="promise_in_bounds")

        ground = jnp.append(state.coin, -1)
        found = ground.at[place].get(mode="promise_in_bounds")  # R3
        coin = ground.at[place].set(-1, mode="promise_in_bounds")[:-1]
        took_own = found == state.colour
        took_other = (found >= 0) & ~took_own
        owner = owners(state.colour, found)
        robbed = losses(owner, took_other)
        new = minted(random.bits(k_coin, self.places), self.players, params)  # R2
        free = (coin < 0) & ~spawning.occupied(place, self.places)
        after = State(
            clock=state.clock + 1,
            body=body,
            heading=heading,
            colour=state.colour,
            coin=jnp.where(free, new, coin),
        )

        reward = jnp.where(found >= 0, params.coin_reward, 0.0) + robbed * params.loss  # R3, R4
        return after, bare_transition(
            reward,
            truncated=after.clock >= params.horizon,  # R7
            events={
                "took_own": event(took_own, cell=body),
                "took_other": event(took_other, other=owner, cell=body),
            },
        )

    def codes(self, state: State, params: Params) -> UInt32[Array, " entries"]:
        """What lies and stands on every cell; coins as colour + 1 in the world's own half."""
        coin = (state.coin + 1).astype(jnp.uint32) << EXTRA
        ground = jnp.concatenate([coin | FLOOR, jnp.asarray(self.floor, jnp.uint32)])
        return self.window.code(ground, state.body, state.heading)

    def observe(self, state: State, params: Params) -> View:
        """The window, with coins told apart as mine and theirs."""
        seen = self.window.cut(self.codes(state, params), state.body, state.heading)
        coin = seen >> EXTRA
        mine = coin == (state.colour + 1).astype(jnp.uint32)[:, None]
        ground = jnp.where(
            coin > 0,
            jnp.where(mine, jnp.uint32(MINE), jnp.uint32(THEIRS)),
            self.window.ground(seen),
        )
        occupant = self.window.occupant(seen, state.heading)
        return View(
            cells=self.window.stack(ground, occupant, self.window.seat(seen)),
            own=jnp.zeros((self.players, 0), jnp.int16),
        )

    def draw_map(self, state: State, params: Params) -> Scene:
        """The map, with every coin in its owner's colour (`coin of seat k`)."""
        owner, coin = np.argsort(np.asarray(state.colour)), np.asarray(state.coin)
        ground = np.where(self.terrain.wall.ravel(), WALL, FLOOR)
        ground[self.floor_cells] = np.where(coin < 0, FLOOR, WALL + 1 + owner[coin])
        owned = tuple(f"coin of seat {seat}" for seat in range(self.players))
        scene = super().draw_map(state, params).with_ground(ground)
        return dataclasses.replace(scene, tiles=(*TILES[:MINE], *owned))

    def private(self, state: State) -> tuple[Int[Array, " players"], ...]:
        """Nothing."""
        return ()

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """Everything, always."""
        return self.may(state)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Coins lying about."""
        return {"coins": jnp.sum(state.coin >= 0, dtype=jnp.float32)}


def lay_out(sketch: Sketch) -> None:
    """A room with two starts at some distance, behind a few pillars."""
    sketch.bars(6, longest=2)
    sketch.scatter("P", 2, apart=4)


def owners(colour: Int[Array, " players"], found: Int[Array, " players"]) -> Int[Array, " players"]:
    """Whose colour each player found, or -1."""
    owner = jnp.zeros_like(colour).at[colour].set(jnp.arange(len(colour), dtype=jnp.int32))
    return jnp.where(found >= 0, owner[jnp.maximum(found, 0)], -1)


def losses(
    owner: Int[Array, " players"], took_other: Bool[Array, " players"]
) -> Int[Array, " players"]:
    """How many coins each player lost to others."""
    players = len(owner)
    victim = jnp.where(took_other, owner, players)
    return jnp.zeros(players + 1, jnp.int32).at[victim].add(1)[:players]


def minted(word: UInt32[Array, " places"], players: int, params: Params) -> Int[Array, " places"]:
    """The colour of the coin that would appear on each place, or -1.

    Every colour has an equal share of the draws, the first colour the lowest.
    """
    share = jnp.minimum(random.threshold(params.coin_chance), jnp.uint32(2**31 // players))
    draw = (word >> 1).astype(jnp.float32) / jnp.maximum(share, 1).astype(jnp.float32)
    colour = jnp.minimum(draw.astype(jnp.int32), players - 1)
    return jnp.where(
        random.bernoulli_from_bits(word, jnp.broadcast_to(share * players, word.shape)), colour, -1
    )
