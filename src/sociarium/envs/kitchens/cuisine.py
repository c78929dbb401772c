"""Cuisine: many hands, many dishes, and orders that do not wait (Gong et al., 2023).

Rules
  R1  A kitchen has a storage, a serving table and tools. A cook goes from any of these to any
      other in one step; any number of cooks can be at one. All start at the serving table.
  R2  Cooks act one after the other, seat 0 first, each on what the one before has left.
  R3  A cook holds one thing. With empty hands it takes a raw ingredient at the storage, or what is
      in a tool that is not at work: what was cooked there, and from a chopping board anything.
  R4  A cook puts what it holds into a tool that is not at work if it fits: some recipe of this
      level for the tool has everything that is inside, and needs this besides. What is inside
      already is put in again and is lost.
  R5  At the storage a cook throws away what it holds. On the serving table it puts dishes of this
      level, which wait there until somebody orders them.
  R6  With empty hands a cook activates a tool that is not at work and holds exactly what a recipe
      needs. The product is in it at once, and the tool is at work for as long as it takes to cook:
      a mixer not at all, a chopping board 1 step, blender, pan and fryer 2, pot, steamer and oven
      3, of which this step is the first.
  R7  There is an order at the start, and another one every so many steps while fewer than 6 are
      open, each for a dish drawn by lot. How long that is, and how long an order can be met,
      follows from the work in the dishes and from the interval, 1 (hard) to 5.
  R8  After all have acted, orders without any time left have failed. Then dishes on the table go to
      orders for them, to the one with the least time first, and each pays 1 to every cook.
  R9  Only the horizon ends an episode (a time-out, not a terminal state).
Differs from MindAgent: commands are about where a cook is, a command that cannot succeed does
      nothing and says why. With `rules=fixed`, the default, all orders that fail in a step are
      counted (not one), level 12 has the fryers it needs, and storages have what the level needs.
      Points are orders met.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from sociarium.core import random
from sociarium.core.actions import DO_NOTHING, ActionSpec, action_for_each
from sociarium.core.environment import (
    Environment,
    Transition,
    View,
    bare_transition,
    mask_illegal,
)
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import event
from sociarium.core.facets import Bench, Bounds, Cooperation, Places
from sociarium.core.params import MOST
from sociarium.core.recipes import Bound
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Body, PanelEntry, Place, Scene, Thing
from sociarium.core.specs import EventSpec, GaugeSpec, OwnSpec, PlaneSpec, ViewSpec
from sociarium.envs.kitchens.drawn_menus import draw_level
from sociarium.envs.kitchens.menus import (
    ALPHAS,
    COOK_TIME,
    LEVELS,
    RAW,
    STORAGE,
    TABLE,
    TAKEN_RAW,
    find_level,
    numbered,
    published_orders,
)
from sociarium.envs.kitchens.schedule import can_solve, solve
from sociarium.envs.kitchens.work import Order, Problem, work_bound
from sociarium.mechanics.cartography import SEED, checked_seed

SHEET = RuleSheet.read(__doc__)
RULES = ("fixed", "compat")
USUAL_LEVEL = 3
STREAMS = ("drawn", "published:0", "published:1", "published:2")
MOST_COOKS = 8
SLOTS = 6  # open orders
LONGEST = 120  # steps for which there are orders
AT_STORAGE, AT_TABLE, TOOLS = 0, 1, 2  # places; all from the third on are tools
NONE = -1  # no item, no order
SECONDS = 10.0  # for the schedule among the bounds
AMOUNTS = tuple(str(units) for units in range(22))

Kitchen = tuple[Array, Array, Array, Array]  # inside, busy, cooked, and the table
Deeds = dict[str, tuple[Array, Array]]  # by event: whether it happened, and what it was about
OUTCOMES = (
    "done",
    "it holds something already",
    "it holds nothing",
    "the tool is at work",
    "there is nothing to take",
    "that is not cooked yet",
    "that does not fit in there",
    "nobody orders that here",
    "no recipe needs just this",
)
DONE, HANDS_FULL, HANDS_EMPTY, AT_WORK, EMPTY, NOT_COOKED, NO_FIT, NOT_WANTED, NO_RECIPE = range(9)


class Params(eqx.Module):
    """Every number of the rule sheet but those of the recipes."""

    order_reward: Float[Array, ""]
    failure_cost: Float[Array, ""]
    horizon: Int[Array, ""]
    order_gap: Int[Array, ""]  # steps between two orders
    patience: Int[Array, " dishes"]  # steps in which an order for each dish can be met
    orders: Int[Array, " orders"]  # the dish of each order, or NONE where it is drawn by lot
    bounds: ClassVar = {"orders": (NONE, MOST)}


class State(eqx.Module):
    """Facts only. Items are numbered by the level; sets of them are bits of a word."""

    clock: Int[Array, ""]
    at: Int[Array, " players"]
    hands: Int[Array, " players"]  # an item, or NONE
    inside: UInt32[Array, " tools"]
    busy: Int[Array, " tools"]
    cooked: Bool[Array, " tools"]  # whether what is inside was cooked there
    table: Int[Array, " dishes"]  # how many of each wait on the serving table
    stream: Int[Array, " orders"]  # the dish of each order, one after the other
    dish: Int[Array, " slots"]  # of each open order, or NONE
    left: Int[Array, " slots"]  # steps in which it can be met
    completed: Int[Array, ""]
    failed: Int[Array, ""]


class Cuisine(Environment[State, Params]):
    """A level of CuisineWorld for so many cooks, with orders at one of five intervals."""

    sheet = SHEET
    gauge_specs = (
        GaugeSpec("completed", "orders met so far"),
        GaugeSpec("failed", "orders failed so far"),
        GaugeSpec("open", "open orders"),
    )
    cooperation = Cooperation("dishes served", ("served",), ())
    choices: ClassVar[Mapping[str, str]] = {
        "players": f"1 to {MOST_COOKS}",
        "level": f"0 to {len(LEVELS) - 1}",
        "interval": f"1 (hard) to {len(ALPHAS)}",
        "rules": ", ".join(RULES),
        "stream": ", ".join(STREAMS),
        "level_seed": SEED,
    }

    def __init__(
        self,
        players: int = 2,
        level: int | None = None,
        interval: int = 3,
        rules: str = "fixed",
        stream: str = "drawn",
        level_seed: int | None = None,
    ) -> None:
        """`level` is 0 to 12 (3 unless given), `interval` 1 (hard) to 5.

        `stream` is drawn, or one of the published episodes. With a `level_seed` dishes, recipes and
        tools are drawn instead of those of a `level`.
        """
        if players not in range(1, MOST_COOKS + 1):
            raise BadArgument(f"a kitchen has 1 to {MOST_COOKS} cooks; given {players!r}")
        if interval not in range(1, len(ALPHAS) + 1):
            raise BadArgument(f"the interval is 1 (hard) to {len(ALPHAS)}; given {interval!r}")
        if level is not None and level_seed is not None:
            raise BadArgument(
                f"a kitchen has a level or a level_seed; given {level!r} and {level_seed}: leave "
                "out one of them"
            )
        if rules not in RULES:
            raise UnknownName("rules", rules, RULES)
        if stream not in STREAMS:
            raise UnknownName("stream", stream, STREAMS)
        self.players, self.compat = players, rules == "compat"
        if level_seed is None:
            level = USUAL_LEVEL if level is None else level
            self._resolve(level=level)
            self.level = find_level(level)
        else:
            self.level = draw_level(checked_seed("level_seed", level_seed))
        self._lay_out()
        told = {f"L{number}": str(recipe) for number, recipe in enumerate(self.recipes, 1)}
        self._defaults = Params(
            jnp.float32(1.0), jnp.float32(0.0), jnp.int32(60), **self.order_stream(interval, stream)
        )
        often = f"every {int(self._defaults.order_gap)} steps"
        told["R7"] = SHEET.rules["R7"].replace("every so many steps", often)
        self.sheet = replace(SHEET, rules={**SHEET.rules, **told})
        self._declare()

    def _lay_out(self) -> None:
        """Numbers everything: items (dishes first), places, and recipes as bits."""
        level, tools = self.level, self.level.tools
        if not self.compat:
            tools = (*tools, *(tool for tool in level.missing for _ in range(2)))
        made = [recipe.product for recipe in level.needed if recipe.product not in level.dishes]
        useless = [raw for raw in RAW if raw not in level.raw] if self.compat else []
        self.dishes, self.raw = level.dishes, (*level.raw, *useless)
        self.items = (*level.dishes, *made, *self.raw)
        self.useful = len(self.items) - len(useless)  # items that can be in tools; the first ones
        bit = {item: 1 << number for number, item in enumerate(self.items[: self.useful])}
        self.recipes = [recipe for recipe in level.needed if recipe.tool in tools]
        self.needs = np.array([sum(bit[x] for x in r.needs) for r in self.recipes], np.uint32)
        self.makes = np.array([self.items.index(r.product) for r in self.recipes], np.int32)
        self.made_in = np.array([[r.tool == tool for r in self.recipes] for tool in tools])
        self.cook_time = np.array([COOK_TIME[tool] for tool in tools], np.int32)
        self.open_top = np.array([tool == TAKEN_RAW for tool in tools])
        self.tools = tools
        self.places = (STORAGE, TABLE, *numbered(tools))

    def _declare(self) -> None:
        """Names for all that can be done, seen and told."""
        items = self.items
        self.go = 1
        self.take_raw = self.go + len(self.places)
        self.take = self.take_raw + len(self.raw)
        self.put, self.activate = self.take + 1, self.take + 2
        self.actions = (
            DO_NOTHING,
            *action_for_each("go", self.places, "go to {}", "be at {} after this step"),
            *action_for_each("fetch", self.raw, "take {}", "take {} from the storage"),
            ActionSpec("take", "take", sentence="take what is in the tool where you are"),
            ActionSpec(
                "put",
                "put",
                sentence="put what you hold into the tool or onto the table where you are; at the "
                "storage, throw it away",
            ),
            ActionSpec("activate", "activate", sentence="start the tool where you are"),
        )
        acts = ("take", "put", "activate", "fetch")
        self.event_specs = (
            EventSpec(
                "took",
                "{actor} took {value}",
                values=items,
                causes=("take", "fetch"),
                does=("takes {value}",),
            ),
            EventSpec(
                "put_in",
                "{actor} put {value} into a tool",
                values=items,
                causes=("put",),
                does=("puts {value} into a tool",),
            ),
            EventSpec(
                "threw_away",
                "{actor} threw {value} away",
                values=items,
                causes=("put",),
                does=("throws {value} away",),
            ),
            EventSpec(
                "cooked",
                "{actor} began to make {value}",
                values=items,
                causes=("activate",),
                does=("begins to make {value}",),
            ),
            EventSpec(
                "served",
                "{actor} put {value} on the serving table",
                values=items,
                causes=("put",),
                visible="all",
                does=("serves {value}",),
            ),
            EventSpec(
                "refused",
                "{actor} could not do that: {value}",
                values=OUTCOMES,
                causes=acts,
                visible="involved",
                does=("fails because {value}",),
            ),
            EventSpec("ordered", "somebody ordered {value}", "place", values=items, visible="all"),
            EventSpec(
                "completed", "an order for {value} was met", "place", values=items, visible="all"
            ),
            EventSpec(
                "failed", "an order for {value} was not met", "place", values=items, visible="all"
            ),
        )
        crowd = tuple(str(many) for many in range(self.players + 1))
        working = ("no", "done", "1 more step", "2 more steps", "3 more steps")
        dishes = ("nothing", *self.dishes)
        self.longest = max(self.level.patience(dish, ALPHAS[-1]) for dish in self.dishes)
        hands, last_place = ("nothing", *items), len(self.places) - 1
        self.view_spec = ViewSpec(
            planes=(
                PlaneSpec("station", ("none", ", ".join(self.raw), *self.places[1:]), "station"),
                PlaneSpec("me", ("nobody", "myself"), "occupant"),
                PlaneSpec("cooks here", crowd),
                PlaneSpec("cooking", working, "work"),
                *(PlaneSpec(item, AMOUNTS, "goods") for item in items[: self.useful]),
            ),
            rows=1,
            cols=len(self.places),
            ego_origin=(0, 0),
            own=(
                OwnSpec("seat", 0, self.players - 1),
                OwnSpec("holding", 0, len(items), told=hands),
            ),
            shared=(
                *(
                    spec
                    for slot in range(1, SLOTS + 1)
                    for spec in (
                        OwnSpec(f"order {slot}", 0, len(self.dishes), told=dishes),
                        OwnSpec(f"order {slot} steps left", 0, self.longest),
                    )
                ),
                *(
                    spec
                    for seat in range(self.players)
                    for spec in (
                        OwnSpec(f"seat {seat} is at", 0, last_place, self.places, seat),
                        OwnSpec(f"seat {seat} holds", 0, len(items), hands, seat),
                    )
                ),
            ),
        )
        self.facets = (
            Places(self.places, lambda state: state.at, busy=self.working),
            self.cooperation,
            Bounds(self._bounds),
            Bench(0),
        )

    def working(self, state: State) -> Int[Array, " places"]:
        """For how many more steps each place is at work."""
        return self.over_places(state.busy)

    def default_params(self) -> Params:
        """The usual parameters of the level."""
        return self._defaults

    def params(self, **changes: object) -> Params:
        """The usual parameters, some changed by name.

        `orders` are names of dishes, after which dishes are random, or their numbers.
        """
        changes = {**self.param_overrides, **changes}
        if "orders" in changes:
            changes["orders"] = self.numbers_of(changes["orders"])
        given = super().params(**changes)
        for name, low, high in (
            ("order_gap", 1, LONGEST),
            ("patience", 1, self.longest),
            ("orders", NONE, len(self.dishes) - 1),
        ):
            numbers, usual = getattr(given, name), getattr(self._defaults, name)
            if isinstance(numbers, Tracer):
                continue
            if numbers.shape != usual.shape or (numbers < low).any() or (numbers > high).any():
                many = f"{usual.size} numbers" if usual.ndim else "a number"
                raise BadArgument(
                    f"{name} is {many} from {low} to {high} in this kitchen; given {changes[name]}"
                )
        return given

    def numbers_of(self, orders: object) -> object:
        """Orders as numbers of dishes: as they are, or out of names."""
        names = [orders] if isinstance(orders, str) else orders
        if not isinstance(names, list | tuple) or not any(isinstance(n, str) for n in names):
            return orders
        most = len(self._defaults.orders)
        if not all(n in self.dishes for n in names) or len(names) > most:
            raise BadArgument(
                f"orders are up to {most} of the dishes {', '.join(self.dishes)}, one after the "
                f"other, or {most} of their numbers, {NONE} where one is drawn by lot; given "
                f"{orders!r}"
            )
        numbers = [self.dishes.index(str(name)) for name in names]
        return np.array([*numbers, *[NONE] * (most - len(numbers))], np.int32)

    def order_stream(self, interval: int, stream: str) -> dict[str, Int[Array, "..."]]:
        """The parameters of an interval, 1 to 5, and of a stream, by name (R7).

        Their shapes are those of every interval and stream of the level.
        """
        alpha, many = ALPHAS[interval - 1], 1 + LONGEST // self.level.interval(ALPHAS[0])
        steps, orders = self.level.interval(alpha), [NONE]
        if stream != STREAMS[0]:
            orders = published_orders(len(self.dishes), steps, LONGEST // 2, int(stream[-1]))
        return {
            "order_gap": jnp.int32(steps),
            "patience": jnp.array([self.level.patience(d, alpha) for d in self.dishes], jnp.int32),
            "orders": jnp.asarray(np.resize(np.array(orders, np.int32), many)),
        }

    def problem(self, params: Params, seed: int) -> Problem:
        """The orders of a seed's episode as a problem of scheduling.

        As if there were always room for another order (R7), which there is at all five intervals.
        """
        stream = np.asarray(self.reset(random.episode_key(seed), params).stream)
        horizon, gap = int(params.horizon), int(params.order_gap)
        patience = np.asarray(params.patience)
        orders = []
        for number, dish in enumerate(stream[: 1 + (horizon - 1) // gap].tolist()):
            arrives = number * gap
            expires = arrives + int(patience[dish])
            due = min(expires, horizon) - 1
            orders.append(Order(self.dishes[dish], arrives, due, expires < horizon))
        return Problem(tuple(orders), self.tools, self.players, horizon, self.level.book)

    def _bounds(self, params: Params, seed: int) -> dict[str, Bound]:
        """What cooks can earn at most: all orders, what their time allows, and what is proved.

        The last is there where OR-tools is; it tells the dishes of the best schedule found, and
        what they earn, which is less where there is a gap.
        """
        problem = self.problem(params, seed)

        def bound(orders: int, dishes: Sequence[str], found: bool = False) -> Bound:
            each = float(params.order_reward) * self.players
            best = each * len(dishes) if found else None
            return Bound(each * orders, dict(Counter(dishes)), best)

        dishes = [order.dish for order in problem.orders]
        in_time = work_bound(problem)
        bounds = {"orders": bound(len(dishes), dishes), "work": bound(len(in_time), in_time)}
        if can_solve():
            found = solve(problem, precook=True, seconds=SECONDS)
            met = [dishes[number] for number in found.met]
            bounds["schedule"] = bound(found.bound, met, found=True)
        return bounds

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """An empty kitchen, everybody at the serving table, and one order (R1, R7)."""
        many, tools = len(params.orders), len(self.tools)
        words = random.bits(key, many)
        by_lot = random.randint_from_bits(words, jnp.full(many, len(self.dishes)))
        stream = jnp.where(params.orders == NONE, by_lot.astype(jnp.int32), params.orders)
        nobody = jnp.zeros(self.players, jnp.int32)
        state = State(
            clock=jnp.int32(0),
            at=nobody + AT_TABLE,
            hands=nobody + NONE,
            inside=jnp.zeros(tools, jnp.uint32),
            busy=jnp.zeros(tools, jnp.int32),
            cooked=jnp.zeros(tools, bool),
            table=jnp.zeros(len(self.dishes), jnp.int32),
            stream=stream,
            dish=jnp.full(SLOTS, NONE, jnp.int32),
            left=jnp.zeros(SLOTS, jnp.int32),
            completed=jnp.int32(0),
            failed=jnp.int32(0),
        )
        dish, left, _ = order(
            state.dish, state.left, stream[0], params.patience[stream[0]], jnp.bool_(True)
        )
        return eqx.tree_at(lambda s: (s.dish, s.left), state, (dish, left))

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Act in turn; let tools work; check the orders; take new ones; count."""
        actions = mask_illegal(actions, self.legal(state, params))
        kitchen, did = (state.inside, state.busy, state.cooked, state.table), []
        hands = list(state.hands)
        for seat in range(self.players):  # R2
            kitchen, hands[seat], deeds = self.act(
                actions[seat], state.at[seat], hands[seat], kitchen
            )
            did.append(deeds)
        inside, busy, cooked, table = kitchen
        moves = (actions >= self.go) & (actions < self.take_raw)
        late = (state.dish != NONE) & (state.left == 0)  # R8
        waiting = jnp.where(late, NONE, state.dish)
        met, table = self.match(waiting, state.left, table)
        waiting = jnp.where(met, NONE, waiting)
        clock = state.clock + 1
        number = clock // params.order_gap
        due = (clock % params.order_gap == 0) & (number < len(state.stream))
        wanted = state.stream[jnp.minimum(number, len(state.stream) - 1)]
        dish, left, came = order(  # R7
            waiting, jnp.maximum(state.left - 1, 0), wanted, params.patience[wanted], due
        )
        lost = late.any().astype(jnp.int32) if self.compat else late.sum(dtype=jnp.int32)
        after = State(
            clock=clock,
            at=jnp.where(moves, actions - self.go, state.at),  # R1
            hands=jnp.stack(hands),
            inside=inside,
            busy=jnp.maximum(busy - 1, 0),
            cooked=cooked,
            table=table,
            stream=state.stream,
            dish=dish,
            left=left,
            completed=state.completed + met.sum(dtype=jnp.int32),
            failed=state.failed + lost,
        )
        reward = met.sum() * params.order_reward - lost * params.failure_cost
        return after, bare_transition(
            jnp.full(self.players, reward),
            truncated=clock >= params.horizon,  # R9
            events=self.told(state, did, {"ordered": came, "completed": met, "failed": late}, dish),
        )

    def act(
        self,
        action: Int[Array, ""],
        at: Int[Array, ""],
        held: Int[Array, ""],
        kitchen: Kitchen,
    ) -> tuple[Kitchen, Int[Array, ""], Deeds]:
        """One cook's command: the kitchen after it, what it holds then, and what it did."""
        inside, busy, cooked, table = kitchen
        outcomes, content, recipe = self.outcomes(at, held, kitchen)
        fetches = (action >= self.take_raw) & (action < self.take)
        chosen = {"fetch": fetches, "take": action == self.take}
        chosen |= {"put": action == self.put, "activate": action == self.activate}
        does = {name: chosen[name] & (outcomes[name] == DONE) for name in chosen}
        wrong = [jnp.where(chosen[name], outcomes[name], DONE) for name in chosen]
        refused = jnp.max(jnp.stack(wrong))
        here = jnp.arange(len(self.tools)) == at - TOOLS
        into_tool, serves = does["put"] & (at >= TOOLS), does["put"] & (at == AT_TABLE)
        product = jnp.asarray(self.makes)[recipe]
        inside = jnp.where(here & does["take"], jnp.uint32(0), inside)
        inside = jnp.where(here & into_tool, inside | self.bit(held), inside)
        inside = jnp.where(here & does["activate"], self.bit(product), inside)
        cooked = (cooked & ~(here & does["take"])) | (here & does["activate"])
        busy = jnp.where(here & does["activate"], jnp.asarray(self.cook_time), busy)
        table = table + ((jnp.arange(len(self.dishes)) == held) & serves)
        raw = len(self.items) - len(self.raw) + action - self.take_raw
        found = 31 - jax.lax.clz(content).astype(jnp.int32)
        hands = jnp.where(does["take"], found, jnp.where(does["put"], NONE, held))
        hands = jnp.where(does["fetch"], raw, hands).astype(jnp.int32)
        return (
            (inside, busy, cooked, table),
            hands,
            {
                "took": (does["fetch"] | does["take"], hands),
                "put_in": (into_tool, held),
                "threw_away": (does["put"] & (at == AT_STORAGE), held),
                "cooked": (does["activate"], product),
                "served": (serves, held),
                "refused": (refused > DONE, refused),
            },
        )

    def outcomes(
        self, at: Int[Array, ""], held: Int[Array, ""], kitchen: Kitchen
    ) -> tuple[dict[str, Int[Array, ""]], UInt32[Array, ""], Int[Array, ""]]:
        """What would come of each command now, what is in the tool, and the recipe for it.

        The step and what is legal both ask this.
        """
        inside, busy, cooked, _ = kitchen
        here = jnp.arange(len(self.tools)) == at - TOOLS
        at_tool, empty_hands = at >= TOOLS, held == NONE
        content = jnp.max(jnp.where(here, inside, jnp.uint32(0)))
        working = jnp.max(jnp.where(here, busy, 0)) > 0
        within_reach = (here & (cooked | jnp.asarray(self.open_top))).any()
        recipes = (here[:, None] & jnp.asarray(self.made_in)).any(0)
        needs, more = jnp.asarray(self.needs), self.bit(held)
        growing = recipes & (content & ~needs == 0) & (needs & ~content & more != 0)
        fits = growing.any() | (content & more != 0)
        whole = recipes & (needs == content)
        full_hands, nothing = (~empty_hands, HANDS_FULL), ((content == 0) | ~at_tool, EMPTY)
        unwanted = (at == AT_TABLE) & (held >= len(self.dishes))
        return (
            {
                "fetch": _first(full_hands, (at != AT_STORAGE, EMPTY)),
                "take": _first(
                    full_hands, (working, AT_WORK), nothing, (~within_reach, NOT_COOKED)
                ),
                "put": _first(
                    (empty_hands, HANDS_EMPTY),
                    (unwanted, NOT_WANTED),
                    (working, AT_WORK),
                    (at_tool & ~fits, NO_FIT),
                ),
                "activate": _first(
                    full_hands, (working, AT_WORK), nothing, (~whole.any(), NO_RECIPE)
                ),
            },
            content,
            jnp.argmax(whole),
        )

    def bit(self, item: Int[Array, ""]) -> UInt32[Array, ""]:
        """An item as a set; what is of no use here is in none."""
        useful = (item >= 0) & (item < self.useful)
        return jnp.where(useful, jnp.uint32(1) << jnp.maximum(item, 0).astype(jnp.uint32), 0)

    def match(
        self, dish: Int[Array, " slots"], left: Int[Array, " slots"], table: Int[Array, " dishes"]
    ) -> tuple[Bool[Array, " slots"], Int[Array, " dishes"]]:
        """Which orders are met by what is on the table, those with the least time first."""
        slot = jnp.arange(SLOTS)
        sooner = (left[None] < left[:, None]) | (
            (left[None] == left[:, None]) & (slot[None] < slot[:, None])
        )
        before = ((dish[None] == dish[:, None]) & sooner).sum(1)
        there = jnp.sum(jnp.where(dish[:, None] == jnp.arange(len(table))[None], table[None], 0), 1)
        met = (dish != NONE) & (before < there)
        gone = (met[:, None] & (dish[:, None] == jnp.arange(len(table))[None])).sum(0)
        return met, table - gone

    def told(
        self,
        state: State,
        did: list[Deeds],
        orders: dict[str, Bool[Array, " slots"]],
        dish: Int[Array, " slots"],
    ) -> dict[str, Any]:
        """The events of a step."""
        found = {}
        for name in did[0]:
            masks, values = zip(*(deeds[name] for deeds in did), strict=True)
            value = jnp.stack(values).astype(jnp.float32)
            found[name] = event(jnp.stack(masks), cell=state.at, value=value)
        for name, mask in orders.items():
            of = dish if name == "ordered" else state.dish
            found[name] = event(mask, value=of.astype(jnp.float32))
        return found

    def observe(self, state: State, params: Params) -> View:
        """Who is where, what is where and for how long it is at work; hands and orders."""
        players, places = self.players, len(self.places)
        mine = state.at[:, None] == jnp.arange(places)[None]
        done = jnp.where(state.cooked & (state.inside != 0), 1, 0)
        working = jnp.where(state.busy > 0, 1 + state.busy, done)
        kinds = jnp.arange(self.useful, dtype=jnp.uint32)[:, None]
        in_tools = ((state.inside[None] >> kinds) & 1).astype(jnp.int32)
        waits = jnp.zeros(self.useful, jnp.int32).at[: len(self.dishes)].set(state.table)
        waits = jnp.minimum(waits, len(AMOUNTS) - 1)[:, None]
        goods = jnp.concatenate([jnp.zeros_like(waits), waits, in_tools], 1)
        alike = jnp.concatenate([self.over_places(working)[None], goods])
        planes = (
            jnp.broadcast_to(jnp.arange(1, places + 1)[None, None], (players, 1, places)),
            mine[:, None],
            jnp.broadcast_to(mine.sum(0)[None, None], (players, 1, places)),
            jnp.broadcast_to(alike[None], (players, *alike.shape)),
        )
        cells = jnp.concatenate([plane.astype(jnp.uint8) for plane in planes], 1)
        orders = jnp.stack([state.dish + 1, jnp.where(state.dish == NONE, 0, state.left)], 1)
        cooks = jnp.stack([state.at, state.hands + 1], 1)
        shared = jnp.concatenate([orders.ravel(), cooks.ravel()]).astype(jnp.int16)
        return View(
            cells=cells[:, :, None],
            own=jnp.stack([jnp.arange(players), state.hands + 1], 1).astype(jnp.int16),
            shared=jnp.broadcast_to(shared[None], (players, len(shared))),
        )

    def over_places(self, tools: Int[Array, " tools"]) -> Int[Array, " places"]:
        """A number for each tool, and 0 for the storage and the table."""
        return jnp.concatenate([jnp.zeros(TOOLS, tools.dtype), tools])

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """What succeeds now, or may after others have acted before at the same place."""
        kitchen = state.inside, state.busy, state.cooked, state.table
        rows = []
        for seat in range(self.players):
            at, held = state.at[seat], state.hands[seat]
            outcomes, _, _ = self.outcomes(at, held, kitchen)
            others = (state.at[:seat] == at).any() & (at >= TOOLS)
            can = {
                name: (outcome == DONE) | (others & (outcome > AT_WORK))
                for name, outcome in outcomes.items()
            }
            rows.append(
                jnp.concatenate(
                    [
                        jnp.ones(1, bool),
                        jnp.arange(len(self.places)) != at,
                        jnp.broadcast_to(outcomes["fetch"] == DONE, len(self.raw)),
                        jnp.stack([can["take"], can["put"], can["activate"]]),
                    ]
                )
            )
        return jnp.stack(rows)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Orders met, failed and open."""
        return {
            "completed": state.completed.astype(jnp.float32),
            "failed": state.failed.astype(jnp.float32),
            "open": jnp.sum(state.dish != NONE, dtype=jnp.float32),
        }

    def scene(self, state: State, params: Params, player: int | None = None) -> Scene:
        """The places in a row, and the orders above them."""
        at, hands, busy, cooked, inside, table, dish, time_left = (
            np.asarray(x).tolist()
            for x in (
                *(state.at, state.hands, state.busy, state.cooked, state.inside),
                *(state.table, state.dish, state.left),
            )
        )
        nothing = np.zeros((1, len(self.places)), np.uint8)
        things = [Thing(self.items[n], 0, AT_TABLE, many) for n, many in enumerate(table) if many]
        for tool, content in enumerate(inside):
            here = " and ".join(self.items[n] for n in range(self.useful) if content >> n & 1)
            left = busy[tool] if busy[tool] or cooked[tool] else None
            name = self.places[TOOLS + tool]
            things.append(Thing(name, 0, TOOLS + tool, sort="place", inside=here, left=left))
        orders = sorted((time_left[n], what) for n, what in enumerate(dish) if what != NONE)
        return Scene(
            ground=nothing,
            tiles=("nothing",),
            bodies=tuple(
                Body(seat, 0, place, 0, holds=() if held == NONE else (self.items[held],))
                for seat, (place, held) in enumerate(zip(at, hands, strict=True))
            ),
            lit=nothing,
            lights=("none",),
            clock=int(state.clock),
            horizon=int(params.horizon),
            players=self.players,
            me=player,
            things=tuple(things),
            places=tuple(
                Place(name, busy[n - TOOLS] if n >= TOOLS else 0)
                for n, name in enumerate(self.places)
            ),
            shared=tuple(
                PanelEntry(self.dishes[what], time, int(params.patience[what]))
                for time, what in orders
            ),
        )


def order(
    dish: Int[Array, " slots"],
    left: Int[Array, " slots"],
    wanted: Int[Array, ""],
    patience: Int[Array, ""],
    due: Bool[Array, ""],
) -> tuple[Int[Array, " slots"], Int[Array, " slots"], Bool[Array, " slots"]]:
    """The open orders with a new one, if it is due and there is room, and which it is."""
    free = dish == NONE
    came = free & (jnp.cumsum(free) == 1) & due
    return jnp.where(came, wanted, dish), jnp.where(came, patience, left), came


def _first(*reasons: tuple[Bool[Array, ""], int]) -> Int[Array, ""]:
    """The first reason that holds, or that it is done."""
    outcome = jnp.int32(DONE)
    for holds, reason in reversed(reasons):
        outcome = jnp.where(holds, reason, outcome)
    return outcome.astype(jnp.int32)
