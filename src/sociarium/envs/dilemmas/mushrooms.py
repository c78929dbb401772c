"""Mushrooms: eating for others makes the wood grow (Agapiou et al., 2022).

Rules
  R1  Walking onto a mushroom eats it. Red pays 1 to the eater; green pays 2, shared equally by
      all; blue pays 3, shared equally by all but the eater; orange costs everybody 0.2. Players
      out of play have their share.
  R2  Eating takes time: for 10, 15 or 20 steps after a red, green or blue mushroom the eater can
      only stay. Orange needs no time.
  R3  At the start 3 red, 3 green, 3 blue and 1 orange mushrooms stand at marked places.
  R4  A mushroom eaten spreads spores: any kind feeds red, green and blue feed green, blue feeds
      blue, orange feeds orange. Each kind that is fed gets 2 tries (orange 1), each with chance
      0.25 (red), 0.4 (green), 0.6 (blue) or 1 (orange), to grow on an empty cell drawn by lot. No
      two spores of a step fall on one cell; those for which no cell is empty are lost.
  R5  The zap beam (3 long, 3 wide, 3 steps to recharge) sends whoever it hits out of play for 25
      steps; they see nothing meanwhile and come back on a free spawn cell with a random heading.
      Digestion goes on. A hit by several counts for the lowest seat.
  R6  The beam passes through players; each of its three lanes stops at the first wall, the outer
      two also at a wall beside the player.
  R7  Two players never share a cell and never swap cells; a contested cell goes to one at random.
  R8  Players start on spawn cells, where no mushroom grows; places and headings are drawn.
  R9  Only the horizon ends an episode (a time-out, not a terminal state).
Differs from SocialJax: moves are relative to the heading, beams recharge and stop at walls, every
      mushroom eaten has its own tries, draws are independent, no kind has an upper limit.
Differs from Melting Pot: mushrooms do not perish, orange neither needs time nor destroys others,
      one hit is enough, the horizon is fixed.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt8, UInt16, UInt32

from sociarium.core import random
from sociarium.core.environment import Transition, bare_transition
from sociarium.core.errors import BadMap
from sociarium.core.events import event
from sociarium.core.facets import Cooperation
from sociarium.core.rules import RuleSheet
from sociarium.core.specs import EventSpec, GaugeSpec, with_article
from sociarium.mechanics import beams, cartography, movement, spawning, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.cartography import Sketch
from sociarium.mechanics.grid_world import GridWorld, timer
from sociarium.mechanics.layout import lanes_last

SHEET = RuleSheet.read(__doc__)

MAP = """
.......................
..P..R.....P.....B..P..
.......................
...G.............R.....
.P.........P.........P.
......P.........P...G..
..B...P....O....P......
.P.........P.........P.
.....R...........B.....
...........G...........
..P........P........P..
.......................
"""
LEGEND = {
    ".": "soil",
    "#": "wall",
    "R": "soil with a red mushroom",
    "G": "soil with a green mushroom",
    "B": "soil with a blue mushroom",
    "O": "soil with an orange mushroom",
    "P": "spawn",
}

KINDS = ("red", "green", "blue", "orange")
TILES = ("nothing", "grass", "wall", *(f"{kind} mushroom" for kind in KINDS))
NOTHING, GRASS, WALL, RED, GREEN, BLUE, ORANGE = range(len(TILES))
FEEDS = np.array(  # row: what was eaten (nothing, red, green, blue, orange); column: what it feeds
    [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]], bool
)
TRIES = 2  # the most spores of one kind a mushroom can spread
ZAP = len(turning.MOVES)
POINT = 2**24  # parts of a point in which rewards are summed, so that their order is no matter


class Params(eqx.Module):
    """Every number of the rule sheet; four entries are for red, green, blue and orange."""

    pays: Float[Array, "4"]  # to the eater; to share among all; among the others; to each
    digestion: Int[Array, "4"]
    spore_chance: Float[Array, "4"]
    spores: Int[Array, "4"]  # tries for each kind that is fed, up to 2
    zap: Bool[Array, "5 3"]
    recharge: Int[Array, ""]
    exile: Int[Array, ""]
    horizon: Int[Array, ""]
    bounds: ClassVar = {"spores": (0, 2)}

    @classmethod
    def of(
        cls,
        digestion: tuple[int, ...] = (10, 15, 20, 0),
        recharge: int = 3,
        exile: int = 25,
    ) -> "Params":
        """The paper's numbers, with other timers if given."""
        return cls(
            pays=jnp.array([1.0, 2.0, 3.0, -0.2], jnp.float32),
            digestion=jnp.array(digestion, jnp.int32),
            spore_chance=jnp.array([0.25, 0.4, 0.6, 1.0], jnp.float32),
            spores=jnp.array([2, 2, 2, 1], jnp.int32),
            zap=jnp.asarray(beams.footprint(3, 1)),
            recharge=jnp.int32(recharge),
            exile=jnp.int32(exile),
            horizon=jnp.int32(1000),
        )

    @classmethod
    def socialjax(cls) -> "Params":
        """The reference's numbers: a small beam that never rests, and no time out of play."""
        params = cls.of(digestion=(9, 14, 19, 0), recharge=0, exile=0)
        return eqx.tree_at(lambda p: p.zap, params, jnp.asarray(beams.SMALL))

    @classmethod
    def meltingpot(cls) -> "Params":
        """The origin's times of digestion."""
        return cls.of(digestion=(0, 10, 15, 15))


class State(eqx.Module):
    """Facts only."""

    clock: Int[Array, ""]
    body: Int[Array, " players"]
    heading: Int[Array, " players"]
    away: Int[Array, " players"]  # steps until return
    cooldown: Int[Array, " players"]
    digesting: Int[Array, " players"]  # steps in which only staying is possible
    fired: Int[Array, " players"]  # the pose a beam was fired from in the last step, or -1
    mushroom: UInt8[Array, " soil"]  # 0 none, then by kind


class Mushrooms(GridWorld[State, Params]):
    """Mushrooms in its wood, or on a map of your own."""

    sheet = SHEET
    event_specs = (
        *(
            EventSpec(
                f"ate_{kind}",
                f"{{actor}} ate one {kind} mushroom",
                causes=("move",),
                does=(f"eats {with_article(kind)} mushroom",),
            )
            for kind in KINDS
        ),
        EventSpec("sprouted", "a mushroom grew", axis="place"),
        *beams.ZAPPING,
    )
    gauge_specs = tuple(GaugeSpec(kind, f"{kind} mushrooms standing") for kind in KINDS)
    cooperation = Cooperation(
        "blue mushrooms among mushrooms eaten",
        ("ate_blue",),
        ("ate_red", "ate_green", "ate_orange"),
    )
    actions = (*turning.MOVES, beams.ZAP)
    tiles, lights = TILES, ("zap",)
    own = (timer("cooldown"), timer("away"), timer("digesting"))

    def __init__(
        self,
        players: int = 5,
        map: str = MAP,
        map_seed: int | None = None,
        tiles: tuple[int, int] = (1, 1),
    ) -> None:
        """`map` is a drawing in the legend; with a `map_seed` a new one of its size is drawn."""
        drawing = Drawing(cartography.chosen(map, map_seed, lay_out), LEGEND, tiles)
        self.soil_cells = spawning.scattered(drawing.cells(".RGBO"))
        self.soil = len(self.soil_cells)
        if not self.soil:
            raise BadMap("a Mushrooms map needs at least one cell of soil (. R G B O)")
        self.build_from_map(drawing, players, self.soil_cells, {"#": WALL}, GRASS)
        glyphs = drawing.glyphs.ravel()[self.soil_cells]
        self.planted = np.select([glyphs == glyph for glyph in "RGBO"], [1, 2, 3, 4], 0)
        self.spawn = spawning.scattered(drawing.cells("P"))
        spawning.enough_places(len(self.spawn), players, "spawn cells (P)")
        self.respawn = spawning.Respawn(self.terrain, self.spawn)
        self.soil_at = self.terrain.numbering(self.soil_cells)
        self.declare(self.cooperation, draws=(len(KINDS) * TRIES + 2) * players + 2)

    def default_params(self) -> Params:
        """The paper's parameters."""
        return Params.of()

    def param_sets(self) -> dict[str, Params]:
        """Those of SocialJax and of Melting Pot."""
        return {"socialjax": Params.socialjax(), "meltingpot": Params.meltingpot()}

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """Mushrooms at their marked places, players on drawn spawn cells (R3, R8)."""
        k_place, k_heading = jax.random.split(key, 2)
        nobody = jnp.zeros(self.players, jnp.int32)
        return State(
            clock=jnp.int32(0),
            body=spawning.drawn(k_place, self.spawn, self.players),
            heading=spawning.headings(k_heading, self.players),
            away=nobody,
            cooldown=nobody,
            digesting=nobody,
            fired=nobody - 1,
            mushroom=jnp.asarray(self.planted, jnp.uint8),
        )

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Move and turn; eat; zap; spread spores; return; count."""
        k_move, k_spore, k_return = jax.random.split(key, 3)
        able = self.present(state) & (state.digesting == 0)
        actions = jnp.where(able, actions, turning.STAY)  # R2
        heading = turning.turned(state.heading, actions)
        body = movement.walk(k_move, self.terrain, state.body, state.heading, actions)  # R7

        plot = jnp.asarray(self.soil_at).at[body].get(mode="promise_in_bounds")
        ground = jnp.append(state.mushroom, jnp.uint8(0))
        found = ground.at[plot].get(mode="promise_in_bounds").astype(jnp.int32)  # R1
        left = ground.at[plot].set(0, mode="promise_in_bounds")[:-1]
        fires = (actions == ZAP) & (state.cooldown == 0)
        light = beams.lit(self.terrain, params.zap, fires, body, heading)  # R5, R6
        zapped_by = beams.struck(self.terrain, light, body, heading, body)
        underfoot = spawning.occupied(jnp.where(zapped_by >= 0, self.soil, plot), self.soil)
        word = random.bits(k_spore, len(KINDS) * TRIES * self.players + 1)
        tries = word[:-1].reshape(len(KINDS), TRIES, self.players)
        spores = spread(tries, found, params)  # R4
        sprouts = spawning.in_runs(word[-1], (left == 0) & ~underfoot, spores)
        new_body, new_heading, away, back = self.respawn(  # R5
            k_return, body, heading, state.away, zapped_by >= 0, params.exile
        )
        took = jnp.append(0, params.digestion)[found]
        after = State(
            clock=state.clock + 1,
            body=new_body,
            heading=new_heading,
            away=away,
            cooldown=beams.cooled(state.cooldown, fires, params.recharge),
            digesting=jnp.where(found > 0, took, jnp.maximum(state.digesting - 1, 0)),
            fired=jnp.where(fires, body * 4 + heading, -1),
            mushroom=jnp.where(sprouts > 0, sprouts, left),
        )
        eaten = {f"ate_{kind}": found == number + 1 for number, kind in enumerate(KINDS)}
        return after, bare_transition(
            rewards(found, params),
            truncated=after.clock >= params.horizon,  # R9
            events={
                **{name: event(ate, cell=body) for name, ate in eaten.items()},
                "sprouted": event(sprouts > 0, cell=jnp.asarray(self.soil_cells)),
                **beams.zapping(fires, zapped_by, body, back, new_body),
            },
        )

    def codes(self, state: State, params: Params) -> UInt16[Array, " entries"]:
        """What lies, shines and stands on every cell."""
        shine = self.glow(state.fired, params.zap)
        soil = jnp.where(state.mushroom > 0, state.mushroom + (RED - 1), jnp.uint8(GRASS))
        ground = jnp.concatenate([soil, jnp.asarray(self.floor)])
        return self.window.code(ground, state.body, state.heading, shine)

    def private(self, state: State) -> tuple[Int[Array, " players"], ...]:
        """The three timers."""
        return state.cooldown, state.away, state.digesting

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """Who digests may only stay; a beam that recharges cannot be fired."""
        able = self.present(state) & (state.digesting == 0)
        return turning.legal(able, state.cooldown == 0)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Mushrooms standing, by kind."""
        return {
            kind: jnp.sum(state.mushroom == number + 1, dtype=jnp.float32)
            for number, kind in enumerate(KINDS)
        }


def lay_out(sketch: Sketch) -> None:
    """As many mushrooms of each kind as on the map, elsewhere."""
    sketch.scatter("P", 16, apart=2)
    for glyph, count in (("R", 3), ("G", 3), ("B", 3), ("O", 1)):
        sketch.scatter(glyph, count)


def rewards(found: Int[Array, " players"], params: Params) -> Float[Array, " players"]:
    """What each player gets when each has eaten the kind it found (0 is nothing)."""
    players = len(found)
    shared_by = jnp.array([1, players, max(players - 1, 1), 1], jnp.int32)
    shares = jnp.round(params.pays * POINT).astype(jnp.int32) // shared_by
    return _pay(found, shares).astype(jnp.float32) / POINT


@lanes_last
def _pay(
    found: Int[Array, "players *lanes"], shares: Int[Array, "4 *lanes"]
) -> Int[Array, "players *lanes"]:
    red, green, blue, orange = (found == kind for kind in range(1, len(KINDS) + 1))
    eaten = [jnp.sum(kind, axis=0, dtype=jnp.int32)[None] for kind in (green, blue, orange)]
    to_all = eaten[0] * shares[1][None] + eaten[2] * shares[3][None]
    return red * shares[0][None] + (eaten[1] - blue) * shares[2][None] + to_all


def spread(
    word: UInt32[Array, "4 tries players"], found: Int[Array, " players"], params: Params
) -> Int[Array, "4"]:
    """How many spores of each kind grow."""
    return _spread(word, found, random.threshold(params.spore_chance), params.spores)


@lanes_last
def _spread(
    word: UInt32[Array, "4 tries players *lanes"],
    found: Int[Array, "players *lanes"],
    limit: UInt32[Array, "4 *lanes"],
    spores: Int[Array, "4 *lanes"],
) -> Int[Array, "4 *lanes"]:
    grown = []
    for fed in range(len(KINDS)):
        feeds = jnp.zeros_like(found, bool)
        for eaten in np.flatnonzero(FEEDS[:, fed]):
            feeds = feeds | (found == eaten)
        for tried in range(TRIES):
            bound = jnp.broadcast_to(limit[fed][None], found.shape)
            grows = (
                random.bernoulli_from_bits(word[fed, tried], bound)
                & feeds
                & (tried < spores[fed])[None]
            )
            grown.append(jnp.sum(grows, axis=0, dtype=jnp.int32))
    return jnp.stack([sum(grown[k * TRIES : (k + 1) * TRIES]) for k in range(len(KINDS))])
