"""Overcooked: a few cooks, too little room, and soups that pay all of them (Carroll et al., 2019).

Rules
  R1  A step toward a compass point turns a cook that way, and moves it if floor lies there. Two
      cooks whose moves would end on one cell, or swap cells, both stay where they are; of more
      than two cooks one by lot has a contested cell, and the others stay.
  R2  To interact is to use the cell one faces. All interact before anybody moves, one after the
      other, seat 0 first, each on what the one before has left.
  R3  With empty hands one takes an onion, a tomato or a dish from its crate or rack, or what lies
      on a counter. Onto an empty counter one puts what one holds.
  R4  An onion or a tomato goes into a pot with fewer than 3 of them that is not at work.
  R5  A pot with 3 of them is at work from that step on; where cooking has to be started, a pot is
      at work from the step in which somebody with empty hands interacts with it, whatever it holds.
  R6  Cooking takes 20 steps, of which the step it begins in is the first. Then whoever interacts
      with a dish has the soup on it, and the pot is empty.
  R7  A soup brought to the hatch is gone. If it is ordered it pays 20 to each cook.
  R8  Cooks start on their start cells and face north (more cooks than those: on cells drawn from
      the floor). Hands, pots and counters are empty.
  R9  Only the horizon ends an episode (a time-out, not a terminal state); everybody is told when
      fewer than 40 steps are left.
Differs from overcooked_ai: its classic rules are the default and its newer ones are parameters
      (cooking that has to be started, a list of orders, tomatoes), without bonus orders. Of more
      than two cooks a collision stops only those who collide. Whoever delivered is an event, and
      the reward is the same for all.
Differs from JaxMARL: start cells and headings are those of overcooked_ai.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, Integer, Key, UInt8, UInt32

from sociarium.core import random
from sociarium.core.actions import COMPASS, DO_NOTHING, STAY, ActionSpec
from sociarium.core.environment import Environment, Transition, View, bare_transition, frame
from sociarium.core.errors import BadArgument, BadMap
from sociarium.core.events import event
from sociarium.core.facets import Bench, Board, Cooperation
from sociarium.core.params import MOST
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Body, Scene, Thing
from sociarium.core.specs import EventSpec, GaugeSpec, OwnSpec, PlaneSpec, ViewSpec, seat_codes
from sociarium.envs.kitchens.layouts import FLOORS, LAYOUTS, LEGEND, USUAL_LAYOUT, find_layout
from sociarium.mechanics import movement, spawning, turning
from sociarium.mechanics.ascii import Drawing
from sociarium.mechanics.cartography import SEED, beside, reached
from sociarium.mechanics.layout import lanes_last, no_inline
from sociarium.mechanics.terrain import Terrain

SHEET = RuleSheet.read(__doc__)

GROUNDS = ("nothing", "floor", "counter")
FLOOR, COUNTER = 1, 2
STATIONS = ("none", "onion crate", "tomato crate", "dish rack", "pot", "hatch")
GLYPHS = {"O": 1, "T": 2, "D": 3, "P": 4, "S": 5}  # of stations
POT, HATCH = 4, 5
SURFACE = 6  # a counter, as something that one faces

FULL = 3  # ingredients in a pot
RECIPES = tuple(  # onions and tomatoes of each soup
    (onions, tomatoes)
    for onions in range(FULL + 1)
    for tomatoes in range(FULL + 1 - onions)
    if onions + tomatoes
)


def _served(onions: int, tomatoes: int) -> str:
    """What a soup is called."""
    if (onions, tomatoes) == (FULL, 0):
        return "onion soup"
    if (onions, tomatoes) == (0, FULL):
        return "tomato soup"
    return f"soup of {_contents(onions, tomatoes)}"


def _contents(onions: int, tomatoes: int) -> str:
    """Onions and tomatoes in words."""
    parts = (("onion", onions), ("tomato", tomatoes))
    named = [f"{n} {name}" + ("es" * (name == "tomato") or "s") * (n > 1) for name, n in parts if n]
    return " and ".join(named)


ITEMS = ("nothing", "onion", "tomato", "dish", *(_served(*recipe) for recipe in RECIPES))
NOTHING, ONION, TOMATO, DISH, SOUP = range(5)
CONTENTS = ("nothing", *(_contents(*recipe) for recipe in RECIPES))
IDLE = -1  # the tick of a pot that is not at work
HURRY = 40  # steps before the end that everybody is told of
LONGEST = 40  # steps of cooking that a view can tell
COOKING = (
    "none",
    "ready",
    *(f"ready in {left} step{'s' * (left > 1)}" for left in range(1, LONGEST + 1)),
)

INTERACT = 5
MYSELF, SOMEBODY = 1, 2
MOST_COOKS = 64
# In a word of the view, where the codes of seat, facing, hands, item, inside and soup begin, and
# how many bits they have.
PARTS = ((0, 7), (7, 3), (10, 4), (14, 4), (18, 4), (22, 6))
CELL, USE, POT_NUMBER, EXITS = 0xFFFF, 16, 20, 28  # where each part is in a word of the outlook
DEEDS = ("took", "lifted", "put", "potted", "started", "plated", "served", "useful_dish")


class Params(eqx.Module):
    """Every number of the rule sheet."""

    cook_time: Int[Array, ""]
    manual_start: Bool[Array, ""]  # whether cooking has to be started
    orders: Bool[Array, " recipes"]  # which soups pay
    soup_reward: Float[Array, ""]
    horizon: Int[Array, ""]
    bounds: ClassVar = {"cook_time": (1, MOST)}

    @classmethod
    def classic(cls) -> "Params":
        """The published numbers: three ingredients start cooking, and every soup of them pays."""
        return cls(
            cook_time=jnp.int32(20),
            manual_start=jnp.bool_(False),
            orders=jnp.array([sum(recipe) == FULL for recipe in RECIPES]),
            soup_reward=jnp.float32(20.0),
            horizon=jnp.int32(400),
        )

    @classmethod
    def newer(cls) -> "Params":
        """As in overcooked_ai 1.0 and later: cooking has to be started."""
        return eqx.tree_at(lambda p: p.manual_start, cls.classic(), jnp.bool_(True))


class State(eqx.Module):
    """Facts only."""

    clock: Int[Array, ""]
    body: Int[Array, " players"]
    heading: Int[Array, " players"]
    hands: UInt8[Array, " players"]  # an index of ITEMS
    lying: UInt8[Array, " cells"]  # the same, on counters
    onions: UInt8[Array, " pots"]
    tomatoes: UInt8[Array, " pots"]
    tick: Int[Array, " pots"]  # steps at work so far, or IDLE


class Overcooked(Environment[State, Params]):
    """A kitchen by the name of its layout, by a drawing, or drawn from a seed."""

    sheet = SHEET
    actions = (
        DO_NOTHING,
        *(
            ActionSpec(
                way, "move", direction=way, sentence=f"turn {way}, and step there if it is free"
            )
            for way in COMPASS
        ),
        ActionSpec("interact", "interact", sentence="use the cell you face"),
    )
    event_specs = (
        EventSpec(
            "took",
            "{actor} took {value}",
            values=ITEMS,
            causes=("interact",),
            does=("takes {value}",),
        ),
        EventSpec(
            "lifted",
            "{actor} took {value} off a counter",
            values=ITEMS,
            does=("takes {value} off a counter",),
        ),
        EventSpec(
            "put",
            "{actor} put {value} on a counter",
            values=ITEMS,
            causes=("interact",),
            does=("puts {value} on a counter",),
        ),
        EventSpec(
            "potted",
            "{actor} put {value} into a pot",
            values=ITEMS,
            causes=("interact",),
            does=("puts {value} into a pot",),
        ),
        EventSpec("started", "{actor} started a pot", causes=("interact",), does=("starts a pot",)),
        EventSpec(
            "plated",
            "{actor} put {value} on a dish",
            values=ITEMS,
            causes=("interact",),
            does=("puts {value} on a dish",),
        ),
        EventSpec(
            "served",
            "{actor} served {value}",
            values=ITEMS,
            causes=("interact",),
            visible="all",
            does=("serves {value}",),
        ),
        EventSpec(
            "useful_dish",
            "{actor} took a dish that a pot will need",
            visible="nobody",
            does=("takes a dish that a pot needs",),
        ),
        EventSpec(
            "collided",
            "{actor} bumped into somebody",
            causes=("move",),
            does=("bumps into somebody",),
        ),
    )
    gauge_specs = (
        GaugeSpec("at_work", "pots at work"),
        GaugeSpec("ready", "soups ready in pots"),
    )
    cooperation = Cooperation("soups served", ("served",), ())
    choices: ClassVar[Mapping[str, str]] = {
        "players": f"1 to {MOST_COOKS}",
        "layout": f"{', '.join(LAYOUTS)}, or a drawing",
        "layout_seed": SEED,
    }

    def __init__(
        self, players: int = 2, layout: str | None = None, layout_seed: int | None = None
    ) -> None:
        """`layout` is a name (cramped_room unless given) or a drawing in the legend.

        With a `layout_seed` one is drawn.
        """
        if players not in range(1, MOST_COOKS + 1):
            raise BadArgument(f"a kitchen has 1 to {MOST_COOKS} cooks; given {players!r}")
        if layout is None and layout_seed is None:
            layout = USUAL_LAYOUT
            self._resolve(layout=layout)
        drawing = Drawing(find_layout(layout, layout_seed, players), LEGEND)
        glyphs = drawing.glyphs.ravel()
        free = np.isin(glyphs, FLOORS)
        self.players, self.terrain = players, Terrain(~free.reshape(drawing.glyphs.shape))
        self.ground = np.where(free, FLOOR, COUNTER).astype(np.uint8)
        self.station = np.array([GLYPHS.get(glyph, 0) for glyph in glyphs], np.uint8)
        self.pot_cells = np.flatnonzero(self.station == POT)
        self._check(drawing)
        starts = [drawing.cells(str(n)) for n in range(1, 10)]
        self.starts = np.concatenate(starts).astype(np.int32)
        self.rest = drawing.cells(".")
        spawning.enough_places(len(self.starts) + len(self.rest), players, "cells of floor")
        if layout not in (None, *LAYOUTS):
            self._check_reach()
        self.outlook = self._outlook()
        crates = {1: ONION in self.station, 2: TOMATO in self.station}
        self.possible = np.array(
            [n for n, (o, t) in enumerate(RECIPES) if crates[1] >= (o > 0) and crates[2] >= (t > 0)]
        )
        planes = (
            PlaneSpec("ground", GROUNDS, "ground", solid=(GROUNDS[0], GROUNDS[COUNTER])),
            PlaneSpec("station", STATIONS, "station"),
            PlaneSpec("occupant", ("nobody", "myself", "somebody"), "occupant"),
            PlaneSpec("seat", seat_codes(players), "seat"),
            PlaneSpec("facing", ("nobody", *COMPASS), "facing"),
            PlaneSpec("holding", ITEMS, "hands"),
            PlaneSpec("item", ITEMS, "item"),
            PlaneSpec("pot with", CONTENTS, "contents"),
            PlaneSpec("soup", COOKING, "work"),
        )
        shape = self.terrain.rows, self.terrain.cols
        hurry = OwnSpec("last steps", 0, 1)
        orders = tuple(OwnSpec(f"{ITEMS[SOUP + n]} ordered", 0, 1) for n in self.possible)
        self.view_spec = ViewSpec(planes, *shape, (0, 0), (), shared=(hurry, *orders))
        board = Board(shape, lambda state: (state.body, state.heading), window="fixed")
        self.facets = (board, self.cooperation, Bench(players if players > 2 else 0))

    def _check(self, drawing: Drawing) -> None:
        there = set(drawing.glyphs.ravel().tolist())
        for glyphs, what in (("P", "a pot"), ("D", "a dish rack"), ("S", "a hatch")):
            if not there & set(glyphs):
                raise BadMap(f"a kitchen needs {what} ({glyphs})")
        if not there & {"O", "T"}:
            raise BadMap("a kitchen needs an onion crate (O) or a tomato crate (T)")
        edge = np.ones(drawing.glyphs.shape, bool)
        edge[1:-1, 1:-1] = False
        if (edge & ~self.terrain.wall).any():
            raise BadMap("a kitchen has no floor at its edge: close it with counters (X)")

    def _check_reach(self) -> None:
        """Whether there is one of each station beside cells that some cook can come to."""
        floor, cooks = ~self.terrain.wall, self.starts[: self.players]
        if self.players > len(self.starts):
            cooks = np.concatenate([cooks, self.rest])
        open_to = np.zeros_like(floor)
        open_to.ravel()[cooks] = True
        station = self.station.reshape(floor.shape)[beside(reached(open_to, floor))]
        for kinds in ((1, 2), (3,), (POT,), (HATCH,)):
            if not np.isin(kinds, station).any():
                what = " or ".join(STATIONS[kind] for kind in kinds if kind in self.station)
                raise BadMap(
                    f"no cook can reach the {what}: put one beside floor that a cook can walk to"
                )

    def _outlook(self) -> UInt32[np.ndarray, " poses"]:
        """For each pose the cell ahead, what can be used there, which pot it is, and all exits.

        One word, since a word is looked up as quickly as a byte.
        """
        cols, cells = self.terrain.cols, self.terrain.cells
        step = np.array([-cols, 1, cols, -1])
        ahead = np.clip(np.arange(cells)[:, None] + step[None], 0, cells - 1).ravel()
        use = np.where(self.ground == COUNTER, SURFACE, 0)
        use = np.where(self.station > 0, self.station, use)
        number = np.zeros(cells, np.uint32)
        number[self.pot_cells] = np.arange(len(self.pot_cells))
        exits = np.repeat(self.terrain.exits[:-1], 4).astype(np.uint32)
        words = ahead | use[ahead] << USE | number[ahead] << POT_NUMBER
        return words.astype(np.uint32) | exits << EXITS

    def default_params(self) -> Params:
        """The published parameters."""
        return Params.classic()

    def param_sets(self) -> dict[str, Params]:
        """Those of overcooked_ai 1.0 and later."""
        return {"newer": Params.newer()}

    def params(self, **changes: object) -> Params:
        """The published parameters, some changed by name.

        `orders` are names of soups, or true or false for each soup there can be.
        """
        changes = {**self.param_overrides, **changes}
        if "orders" in changes:
            changes["orders"] = self.which_pay(changes["orders"])
        return super().params(**changes)

    def which_pay(self, orders: object) -> object:
        """Orders as a table of soups: as they are, or out of names."""
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(orders)):
            return orders
        cooked = [ITEMS[SOUP + n] for n in self.possible]
        names = [orders] if isinstance(orders, str) else orders
        if isinstance(names, list | tuple) and names and all(n in cooked for n in names):
            return np.isin(ITEMS[SOUP:], names)
        table = np.asarray(orders)
        if table.shape[-1:] != (len(RECIPES),) or not np.isin(table, (0, 1)).all():
            raise BadArgument(
                f"orders are some of the soups that can be cooked here ({', '.join(cooked)}), or "
                f"true or false for each of {len(RECIPES)} soups ({', '.join(ITEMS[SOUP:])}); "
                f"given {orders!r}"
            )
        return table

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """Everybody on its start cell, and nothing cooked (R8)."""
        body = jnp.asarray(self.starts[: self.players])
        if self.players > len(self.starts):
            more = jnp.asarray(self.rest)[spawning.shuffled(key, len(self.rest))]
            body = jnp.concatenate([body, more])[: self.players]
        pots = len(self.pot_cells)
        return State(
            clock=jnp.int32(0),
            body=body,
            heading=jnp.zeros(self.players, jnp.int32),
            hands=jnp.zeros(self.players, jnp.uint8),
            lying=jnp.zeros(self.terrain.cells, jnp.uint8),
            onions=jnp.zeros(pots, jnp.uint8),
            tomatoes=jnp.zeros(pots, jnp.uint8),
            tick=jnp.full(pots, IDLE, jnp.int32),
        )

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Interact in turn; turn and move; cook; count."""
        pose = state.body * 4 + state.heading
        outlook = jnp.asarray(self.outlook).at[pose].get(mode="promise_in_bounds")
        cell = (outlook & CELL).astype(jnp.int32)
        use = jnp.where(actions == INTERACT, (outlook >> USE) & 0xF, 0).astype(jnp.uint8)
        pot = ((outlook >> POT_NUMBER) & 0xFF).astype(jnp.uint8)
        kitchen = state.hands, state.lying, state.onions, state.tomatoes, state.tick
        (hands, lying, onions, tomatoes, tick), did = interact(  # R2
            use, cell, pot, *kitchen, params.cook_time, params.manual_start
        )
        full = (onions + tomatoes == FULL) & (tick == IDLE) & ~params.manual_start
        tick = jnp.where(full, 0, tick)  # R5
        tick = jnp.where((tick != IDLE) & (tick < params.cook_time), tick + 1, tick)  # R6
        walks = (actions > STAY) & (actions < INTERACT)
        heading = jnp.where(walks, actions - 1, state.heading)
        open_ = walks & ((outlook >> (EXITS + heading.astype(jnp.uint32))) & 1 == 1)
        down, right = turning.ahead(heading)
        there = jnp.where(open_, state.body + down * self.terrain.cols + right, state.body)
        body = self.moved(key, state.body, there)  # R1
        after = State(
            clock=state.clock + 1,
            body=body,
            heading=heading,
            hands=hands,
            lying=lying,
            onions=onions,
            tomatoes=tomatoes,
            tick=tick,
        )
        pays = did["served"] & ordered(state.hands, params.orders)
        reward = jnp.sum(pays, dtype=jnp.float32) * params.soup_reward  # R7
        gave, got = state.hands.astype(jnp.float32), hands.astype(jnp.float32)
        value = {"took": got, "lifted": got, "plated": got, "started": None, "useful_dish": None}
        events = {name: event(did[name], cell=cell, value=value.get(name, gave)) for name in DEEDS}
        events["collided"] = event(there != body, cell=body)
        return after, bare_transition(
            jnp.full(self.players, reward),
            truncated=after.clock >= params.horizon,  # R9
            events=events,
        )

    def moved(
        self, key: Key[Array, ""], here: Int[Array, " players"], there: Int[Array, " players"]
    ) -> Int[Array, " players"]:
        """Where everybody stands after its move."""
        if self.players == 2:
            swap = (there == here[::-1]).all()
            return jnp.where((there[0] == there[1]) | swap, here, there)
        words = random.bits(key, self.players) if self.players > 1 else jnp.zeros(1, jnp.uint32)
        return movement.resolve(words, here, there, self.terrain.nowhere)

    def observe(self, state: State, params: Params) -> View:
        """The whole kitchen."""
        word = no_inline(self.words, state, params.cook_time)
        seat, facing, hands, item, inside, soup = (
            (word >> first) & (1 << bits) - 1 for first, bits in PARTS
        )
        mine = seat[None] == jnp.arange(1, self.players + 1, dtype=jnp.uint32)[:, None]
        planes = (
            jnp.asarray(self.ground),
            jnp.asarray(self.station),
            jnp.where(mine, MYSELF, jnp.where(seat > 0, SOMEBODY, 0)),
            *(seat, facing, hands, item, inside, soup),
        )
        size = (self.players, self.terrain.cells)
        cells = jnp.stack([jnp.broadcast_to(p.astype(jnp.uint8), size) for p in planes], 1)
        shape = (self.players, len(planes), self.terrain.rows, self.terrain.cols)
        hurry = params.horizon - state.clock < HURRY  # R9
        shared = jnp.append(hurry, params.orders[self.possible]).astype(jnp.int16)
        return View(
            cells=cells.reshape(shape),
            own=jnp.zeros((self.players, 0), jnp.int16),
            shared=jnp.broadcast_to(shared, (self.players, len(shared))),
        )

    def words(self, state: State, cook_time: Int[Array, ""]) -> UInt32[Array, " cells"]:
        """Who and what is on every cell: the parts of a word that `PARTS` tells."""
        seat = jnp.arange(1, self.players + 1, dtype=jnp.uint32)
        pots = state.onions + state.tomatoes > 0
        inside = jnp.where(pots, 1 + recipe_of(state.onions, state.tomatoes), 0)
        left = jnp.clip(cook_time - state.tick, 0, LONGEST)
        soup = jnp.where(state.tick == IDLE, 0, 1 + left)
        at = dict(zip(("seat", "facing", "hands", "item", "inside", "soup"), PARTS, strict=True))
        put = lambda codes, part: codes.astype(jnp.uint32) << at[part][0]  # noqa: E731
        body = seat | put(state.heading + 1, "facing") | put(state.hands, "hands")
        pot = put(inside, "inside") | put(soup, "soup")
        cells = np.arange(self.terrain.cells)
        word = put(state.lying, "item")
        for one in range(self.players):
            word = jnp.where(state.body[one] == cells, body[one], word)
        for number, cell in enumerate(self.pot_cells.tolist()):
            word = jnp.where(cells == cell, pot[number], word)
        return word

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """Everything, always: what a counter holds can change within the step."""
        return jnp.ones((self.players, len(self.actions)), bool)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Pots at work, and soups that are ready."""
        done = (state.tick != IDLE) & (state.tick >= params.cook_time)
        return {
            "at_work": jnp.sum((state.tick != IDLE) & ~done, dtype=jnp.float32),
            "ready": jnp.sum(done, dtype=jnp.float32),
        }

    def scene(self, state: State, params: Params, player: int | None = None) -> Scene:
        """The whole kitchen, as everybody sees it."""
        body, heading, hands, lying = (
            np.asarray(x).tolist() for x in (state.body, state.heading, state.hands, state.lying)
        )
        at, shape = lambda cell: divmod(int(cell), self.terrain.cols), self.terrain.wall.shape
        pots = zip(self.pot_cells, state.onions, state.tomatoes, state.tick, strict=True)
        cooks = {
            int(cell): {
                "inside": _contents(int(onions), int(tomatoes)),
                "left": None if tick == IDLE else int(params.cook_time - tick),
            }
            for cell, onions, tomatoes, tick in pots
        }
        things = [
            Thing(STATIONS[kind], *at(cell), sort="place", **cooks.get(cell, {}))
            for cell, kind in enumerate(self.station.tolist())
            if kind
        ]
        things += [Thing(ITEMS[item], *at(cell)) for cell, item in enumerate(lying) if item]
        whole = Scene(
            ground=self.ground.reshape(shape),
            tiles=GROUNDS,
            bodies=tuple(
                Body(seat, *at(cell), facing, holds=(ITEMS[item],) if item else ())
                for seat, (cell, facing, item) in enumerate(zip(body, heading, hands, strict=True))
            ),
            lit=np.zeros(shape, np.uint8),
            lights=("none",),
            clock=int(state.clock),
            horizon=int(params.horizon),
            players=self.players,
            things=tuple(things),
        )
        return frame(self, whole, state, params, player)


def recipe_of(
    onions: Integer[Array, "*shape"], tomatoes: Integer[Array, "*shape"]
) -> Integer[Array, "*shape"]:
    """The number of a soup in `RECIPES`; of nothing, any."""
    few = jnp.where(onions == 0, tomatoes - 1, tomatoes + 3)
    return jnp.where(onions < 2, few, jnp.where(onions == 2, tomatoes + 6, 8))


def ordered(item: UInt8[Array, "*shape"], orders: Bool[Array, " recipes"]) -> Bool[Array, "*shape"]:
    """Whether an item is a soup that pays."""
    bits = jnp.sum(jnp.where(orders, jnp.uint32(1) << np.arange(len(RECIPES), dtype=np.uint32), 0))
    soup = item.astype(jnp.uint32) - SOUP
    return (item >= SOUP) & ((bits.astype(jnp.uint32) >> jnp.minimum(soup, 31)) & 1 == 1)


@lanes_last
def interact(
    use: UInt8[Array, "players *lanes"],
    cell: Int[Array, "players *lanes"],
    pot: UInt8[Array, "players *lanes"],
    hands: UInt8[Array, "players *lanes"],
    lying: UInt8[Array, "cells *lanes"],
    onions: UInt8[Array, "pots *lanes"],
    tomatoes: UInt8[Array, "pots *lanes"],
    tick: Int[Array, "pots *lanes"],
    cook_time: Int[Array, "*lanes"],
    manual_start: Bool[Array, "*lanes"],
) -> tuple[tuple[Array, Array, Array, Array, Array], dict[str, Bool[Array, "players *lanes"]]]:
    """One seat after the other uses what it faces: the kitchen after it, and who did what."""
    players, lanes = len(use), use.shape[1:]
    small = jnp.uint8 if len(lying) <= 256 else jnp.int32  # numbers of cells, many at a time
    cells = jnp.arange(len(lying), dtype=small).reshape(-1, *[1] * len(lanes))
    pots = jnp.arange(len(tick), dtype=jnp.uint8).reshape(-1, *[1] * len(lanes))
    begun = (onions + tomatoes > 0) & ((tick != IDLE) | (onions + tomatoes < FULL))
    hungry = jnp.sum(begun, 0)  # pots that will need a dish, as the step begins
    did: dict[str, list[Array]] = {name: [] for name in DEEDS}
    after = list(hands)
    for seat in range(players):
        used, held = use[seat], after[seat]
        empty = held == NOTHING
        dishes = sum(((one == DISH).astype(jnp.int32) for one in after), jnp.int32(0))
        here = (cells == cell[seat][None].astype(small)) & (used == SURFACE)[None]
        mine = (pots == pot[seat][None]) & (used == POT)[None]
        found = jnp.max(jnp.where(here, lying, 0), 0)
        in_pot = jnp.sum(jnp.where(mine, onions + tomatoes, 0), 0)
        working = jnp.max(jnp.where(mine, tick, IDLE), 0)
        done = (working != IDLE) & (working >= cook_time)
        recipe = recipe_of(
            jnp.sum(jnp.where(mine, onions, 0), 0), jnp.sum(jnp.where(mine, tomatoes, 0), 0)
        )
        fits = (held == ONION) | (held == TOMATO)
        takes = empty & (used >= 1) & (used <= DISH)
        at_pot = used == POT
        now = {
            "took": takes,
            "lifted": (used == SURFACE) & empty & (found > 0),
            "put": (used == SURFACE) & ~empty & (found == 0),
            "potted": at_pot & fits & (in_pot < FULL) & (working == IDLE),
            "started": at_pot & empty & (in_pot > 0) & (working == IDLE) & manual_start,
            "plated": at_pot & (held == DISH) & done,
            "served": (used == HATCH) & (held >= SOUP),
            "useful_dish": takes
            & (used == DISH)
            & (dishes < hungry)
            & ~(lying == DISH).any(0)
            & (players == 2),
        }
        for name, mask in now.items():
            did[name].append(mask)
        lying = jnp.where(here & (now["lifted"] | now["put"])[None], held[None], lying)
        add = mine & now["potted"][None]
        onions = onions + (add & (held == ONION)[None])
        tomatoes = tomatoes + (add & (held == TOMATO)[None])
        emptied = mine & now["plated"][None]
        onions, tomatoes = jnp.where(emptied, 0, onions), jnp.where(emptied, 0, tomatoes)
        tick = jnp.where(emptied, IDLE, jnp.where(mine & now["started"][None], 0, tick))
        left = jnp.where(now["put"] | now["potted"] | now["served"], NOTHING, held)
        left = jnp.where(takes, used, jnp.where(now["lifted"], found, left))
        after[seat] = jnp.where(now["plated"], SOUP + recipe, left).astype(jnp.uint8)
    kitchen = jnp.stack(after), lying, onions, tomatoes, tick
    return kitchen, {name: jnp.stack(masks) for name, masks in did.items()}
