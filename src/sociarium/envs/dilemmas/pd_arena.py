"""Prisoner's Dilemma Arena: what you carry is what you play (Vezhnevets et al., 2020).

Rules
  R1  Walking onto a token puts it into the bag. There are cooperate tokens and defect tokens, at
      marked places; all stand at the start. A bag holds 999 of each; under somebody with a full
      bag a token stands until there is room.
  R2  An empty place that nobody stands on gets its token back with chance 0.1 a step.
  R3  The interaction beam (3 long, 3 wide, 2 steps to recharge) meets the first player in it who
      carries a token: nearer rows first, in a row the middle, then left, then right. Who carries
      none meets nobody.
  R4  Nobody is in two meetings in one step: of several proposals that concern one player the one
      with the highest lot stands, if it is also the highest for the other.
  R5  In a meeting each plays cooperate or defect in the shares of its bag. Cooperate against
      cooperate pays 3 each, defect against defect 1 each, defect against cooperate 5 and -1.
  R6  Then both bags are empty and both players are out of play for 10 to 100 steps, each drawn;
      they see nothing meanwhile and come back on a free spawn cell with a random heading.
  R7  The beam passes through players; each of its three lanes stops at the first wall, the outer
      two also at a wall beside the player.
  R8  Two players never share a cell and never swap cells; a contested cell goes to one at random.
  R9  Everybody sees the own bag and nobody else's.
  R10 Players start on spawn cells; places and headings are drawn.
  R11 Only the horizon ends an episode (a time-out, not a terminal state).
Differs from SocialJax: moves are relative to the heading, an interaction needs a token on each
      side, both players leave, bags are private, beams recharge and stop at walls.
Differs from Melting Pot: bags are empty at the start, tokens regrow faster and at marked places
      only, no freeze before leaving, the horizon is fixed.
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
from sociarium.core.specs import EventSpec, GaugeSpec, OwnSpec
from sociarium.mechanics import beams, cartography, crowds, movement, spawning, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.cartography import Sketch
from sociarium.mechanics.grid_world import GridWorld, timer
from sociarium.mechanics.growth import sprouted, taken

SHEET = RuleSheet.read(__doc__)

MAP = """
#########################
#PPPP...............PPPP#
#PPPP...............PPPP#
#PPPP...............PPPP#
#PPPP...............PPPP#
#.......................#
#.........#...#.........#
#.......................#
#.......................#
#....#..C.......D..#....#
#.......D.C...C.D.......#
#.........D...C.........#
#.......#...#...#.......#
#.......................#
#.......C.D...D.C.......#
#....#.............#....#
#.......................#
#.........#...#.........#
#.......................#
#PPPP.......#.......PPPP#
#PPPP..#.........#..PPPP#
#PPPP.......#.......PPPP#
#PPPP...............PPPP#
#########################
"""
LEGEND = {"#": "wall", ".": "floor", "C": "cooperate token", "D": "defect token", "P": "spawn"}

TILES = ("nothing", "floor", "wall", "cooperate token", "defect token")
NOTHING, FLOOR, WALL, COOPERATE, DEFECT = range(len(TILES))
INTERACT = len(turning.MOVES)
BAG = 999  # tokens of a kind
PART = 64  # payoffs are kept in this many parts of a point


class Params(eqx.Module):
    """Every number of the rule sheet."""

    payoff: Float[Array, "2 2"]  # to the row player; rows mine, columns theirs; C then D
    regrowth: Float[Array, ""]
    beam: Bool[Array, "5 3"]
    recharge: Int[Array, ""]
    least_exile: Int[Array, ""]
    most_exile: Int[Array, ""]
    horizon: Int[Array, ""]
    bounds: ClassVar = {"regrowth": CHANCE}

    @classmethod
    def of(
        cls,
        sucker: float = -1.0,
        regrowth: float = 0.1,
        recharge: int = 2,
        exile: tuple[int, int] = (10, 100),
    ) -> "Params":
        """The paper's numbers, with others if given."""
        return cls(
            payoff=jnp.array([[3.0, sucker], [5.0, 1.0]], jnp.float32),
            regrowth=jnp.float32(regrowth),
            beam=jnp.asarray(beams.footprint(3, 1)),
            recharge=jnp.int32(recharge),
            least_exile=jnp.int32(exile[0]),
            most_exile=jnp.int32(exile[1]),
            horizon=jnp.int32(1000),
        )

    @classmethod
    def socialjax(cls) -> "Params":
        """The reference's numbers: a beam to the next cell only, that never rests."""
        params = cls.of(recharge=0)
        return eqx.tree_at(lambda p: p.beam, params, jnp.asarray(beams.footprint(1, 0)))

    @classmethod
    def meltingpot(cls) -> "Params":
        """The origin's numbers: a milder sucker's payoff, slower regrowth, 66 steps away."""
        return cls.of(sucker=0.0, regrowth=0.04, exile=(66, 66))


class State(eqx.Module):
    """Facts only."""

    clock: Int[Array, ""]
    body: Int[Array, " players"]
    heading: Int[Array, " players"]
    away: Int[Array, " players"]  # steps until return
    cooldown: Int[Array, " players"]
    fired: Int[Array, " players"]  # the pose a beam was fired from in the last step, or -1
    cooperate: Int[Array, " players"]  # tokens in the bag
    defect: Int[Array, " players"]
    token: Bool[Array, " places"]


class PDArena(GridWorld[State, Params]):
    """The Prisoner's Dilemma in its arena, or on a map of your own."""

    sheet = SHEET
    event_specs = (
        EventSpec(
            "took_cooperate",
            "{actor} took a cooperate token",
            causes=("move",),
            does=("takes a cooperate token",),
        ),
        EventSpec(
            "took_defect",
            "{actor} took a defect token",
            causes=("move",),
            does=("takes a defect token",),
        ),
        EventSpec(
            "met",
            "{actor} met {target} and got {value}",
            causes=("interact",),
            does=("meets somebody",),
        ),
        EventSpec("was_met", "{actor}, met by {target}, got {value}", does=("is met by somebody",)),
        EventSpec(
            "reached_out",
            "{actor} tried to meet somebody",
            causes=("interact",),
            does=("tries to meet somebody",),
        ),
        EventSpec("returned", "{actor} came back", does=("comes back",)),
    )
    gauge_specs = (
        GaugeSpec("cooperate", "cooperate tokens in bags"),
        GaugeSpec("defect", "defect tokens in bags"),
        GaugeSpec("tokens", "tokens standing"),
    )
    cooperation = Cooperation(
        "cooperate tokens among tokens taken", ("took_cooperate",), ("took_defect",)
    )
    actions = (
        *turning.MOVES,
        ActionSpec("interact", "interact", sentence="play the matrix game with whoever is ahead"),
    )
    tiles, lights = TILES, ("interact",)
    own = (
        timer("cooldown"),
        timer("away"),
        OwnSpec("cooperate tokens", 0, BAG),
        OwnSpec("defect tokens", 0, BAG),
    )

    def __init__(
        self,
        players: int = 4,
        map: str = MAP,
        map_seed: int | None = None,
        tiles: tuple[int, int] = (1, 1),
    ) -> None:
        """`map` is a drawing in the legend; with a `map_seed` a new one of its size is drawn."""
        drawing = Drawing(cartography.chosen(map, map_seed, lay_out), LEGEND, tiles)
        self.token_cells = drawing.cells("CD")
        self.places = len(self.token_cells)
        if not self.places:
            raise BadMap("a PD Arena map needs at least one token place (C or D)")
        self.build_from_map(drawing, players, self.token_cells, {"#": WALL}, FLOOR)
        self.kind = np.where(drawing.mask("C").ravel()[self.token_cells], COOPERATE, DEFECT)
        self.spawn = spawning.scattered(drawing.cells("P"))
        spawning.enough_places(len(self.spawn), players, "spawn cells (P)")
        self.respawn = spawning.Respawn(self.terrain, self.spawn)
        self.place_at = self.terrain.numbering(self.token_cells)
        self.declare(self.cooperation, draws=self.places + 4 * players + 1)

    def default_params(self) -> Params:
        """The paper's parameters."""
        return Params.of()

    def param_sets(self) -> dict[str, Params]:
        """Those of SocialJax and of Melting Pot."""
        return {"socialjax": Params.socialjax(), "meltingpot": Params.meltingpot()}

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """All tokens standing, players with empty bags on drawn spawn cells (R1, R10)."""
        k_place, k_heading = jax.random.split(key, 2)
        nothing = jnp.zeros(self.players, jnp.int32)
        return State(
            clock=jnp.int32(0),
            body=spawning.drawn(k_place, self.spawn, self.players),
            heading=spawning.headings(k_heading, self.players),
            away=nothing,
            cooldown=nothing,
            fired=nothing - 1,
            cooperate=nothing,
            defect=nothing,
            token=jnp.ones(self.places, bool),
        )

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Move and turn; pick up; meet; regrow; leave and return; count."""
        k_move, k_meet, k_grow, k_exile, k_return = jax.random.split(key, 5)
        actions = jnp.where(self.present(state), actions, turning.STAY)
        heading = turning.turned(state.heading, actions)
        body = movement.walk(k_move, self.terrain, state.body, state.heading, actions)  # R8

        place = jnp.asarray(self.place_at).at[body].get(mode="promise_in_bounds")
        kind = jnp.append(jnp.asarray(self.kind), 0).at[place].get(mode="promise_in_bounds")
        full = jnp.where(kind == COOPERATE, state.cooperate, state.defect) >= BAG
        token, took = taken(state.token, jnp.where(full, self.places, place))  # R1
        took_cooperate, took_defect = took & (kind == COOPERATE), took & (kind == DEFECT)
        cooperate, defect = state.cooperate + took_cooperate, state.defect + took_defect

        fires = (actions == INTERACT) & self.ready(state)
        light = beams.lit(self.terrain, params.beam, fires, body, heading)  # R7
        carries = cooperate + defect > 0
        reachable = jnp.where(carries, body, self.terrain.nowhere)
        partner = beams.aimed(self.terrain, light, body, heading, reachable)  # R3
        proposed = jnp.where(fires, partner, self.players)
        meets = crowds.pairs(random.bits(k_meet, self.players), proposed)  # R4
        met_by = self.hosts(proposed, meets)
        played = meets | (met_by < self.players)
        other = jnp.where(meets, proposed, met_by)
        earned = jnp.where(played, payoffs(cooperate, defect, other, params), 0.0)  # R5

        span = jnp.broadcast_to(params.most_exile - params.least_exile + 1, (self.players,))
        stay = params.least_exile + random.randint_from_bits(
            random.bits(k_exile, self.players), span
        )
        new_body, new_heading, away, back = self.respawn(  # R6
            k_return, body, heading, state.away, played, stay
        )
        standing = jnp.where(played, self.places, place)
        grow = random.bits(k_grow, self.places)
        after = State(
            clock=state.clock + 1,
            body=new_body,
            heading=new_heading,
            away=away,
            cooldown=beams.cooled(state.cooldown, fires, params.recharge),
            fired=jnp.where(fires, body * 4 + heading, -1),
            cooperate=jnp.where(played, 0, cooperate),
            defect=jnp.where(played, 0, defect),
            token=sprouted(grow, token, standing, params.regrowth),  # R2
        )
        return after, bare_transition(
            earned,
            truncated=after.clock >= params.horizon,  # R11
            events={
                "took_cooperate": event(took_cooperate, cell=body),
                "took_defect": event(took_defect, cell=body),
                "met": event(meets, other=other, cell=body, value=earned),
                "was_met": event(played & ~meets, other=other, cell=body, value=earned),
                "reached_out": event(fires, cell=body),
                "returned": event(back, cell=new_body),
            },
        )

    def hosts(
        self, proposed: Int[Array, " players"], meets: Bool[Array, " players"]
    ) -> Int[Array, " players"]:
        """Who meets each player, or how many players there are."""
        seat = jnp.arange(self.players, dtype=jnp.int32)
        met = jnp.where(meets, proposed, self.players)
        host = crowds.greatest(seat, met, seat, self.players)
        return jnp.where(host < 0, self.players, host)

    def codes(self, state: State, params: Params) -> UInt16[Array, " entries"]:
        """What lies, shines and stands on every cell."""
        shine = self.glow(state.fired, params.beam)
        kind = jnp.asarray(self.kind, jnp.uint8)
        ground = jnp.concatenate(
            [jnp.where(state.token, kind, jnp.uint8(FLOOR)), jnp.asarray(self.floor)]
        )
        return self.window.code(ground, state.body, state.heading, shine)

    def private(self, state: State) -> tuple[Int[Array, " players"], ...]:
        """Two timers and the bag (R9)."""
        return state.cooldown, state.away, state.cooperate, state.defect

    def bags(self, state: State) -> dict[str, Int[Any, " players"]]:
        """The tokens in everybody's bag (R1)."""
        return {"cooperate token": state.cooperate, "defect token": state.defect}

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """Meeting somebody needs a ready beam and a token."""
        return self.may(state, self.ready(state))

    def ready(self, state: State) -> Bool[Array, " players"]:
        """Who can try to meet somebody."""
        return (state.cooldown == 0) & (state.cooperate + state.defect > 0)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Tokens in bags, by kind, and tokens standing."""
        return {
            "cooperate": jnp.sum(state.cooperate).astype(jnp.float32),
            "defect": jnp.sum(state.defect).astype(jnp.float32),
            "tokens": jnp.sum(state.token, dtype=jnp.float32),
        }


def lay_out(sketch: Sketch) -> None:
    """A fenced arena with spawn cells in its corners and tokens in the middle."""
    rows, cols = sketch.glyphs.shape
    sketch.fence()
    for row in (1, rows - 5):
        for col in (1, cols - 5):
            corner = [(row + down, col + right) for down in range(4) for right in range(4)]
            sketch.paint("P", corner)
    sketch.bars(15, longest=3)
    for glyph in "CD":
        sketch.scatter(glyph, 6, rows=(rows // 3, 2 * rows // 3))


def payoffs(
    cooperate: Int[Array, " players"],
    defect: Int[Array, " players"],
    other: Int[Array, " players"],
    params: Params,
) -> Float[Array, " players"]:
    """What each gets from playing the shares of its bag against those of the other's.

    Whole numbers up to one quotient: the same bits however it is compiled.
    """
    safe = jnp.minimum(other, len(other) - 1)
    theirs, against = cooperate[safe], defect[safe]
    (both, suckered), (tempted, neither) = jnp.round(params.payoff * PART).astype(jnp.int32)
    total = (
        cooperate * theirs * both
        + cooperate * against * suckered
        + defect * theirs * tempted
        + defect * against * neither
    )
    ways = jnp.maximum((cooperate + defect) * (theirs + against), 1) * PART
    return total.astype(jnp.float32) / ways.astype(jnp.float32)
