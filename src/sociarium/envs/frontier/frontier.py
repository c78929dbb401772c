"""Frontier: tools open up resources, and goods can change hands (AdaSociety, Huang et al., 2024).

Rules
  R1  The land wraps around at its edges. Blocks, piles, workplaces and players are put on cells
      drawn anew in each episode, unless the task says where; no two piles, no two workplaces and
      no two players on one cell, and nothing on a block.
  R2  Players step north, south, west or east. Blocks stop them; a cell is for one player; a
      contested cell goes to one at random; players may swap cells and follow one another.
  R3  Picking takes one unit of a named kind from one's own cell, dumping leaves one there. A cell
      holds 255 units of a kind. Piles do not grow back.
  R4  At a workplace one can turn all inputs of its recipe into its outputs, once a step.
  R5  A job limits how many units of each kind its holder can carry. Whatever would exceed the
      limit cannot be picked or made.
  R6  Some kinds and workplaces need tools. Only who holds all of them sees, picks or works there;
      they are not used up by it.
  R7  Whoever picks, dumps or works does so where it stood before anybody moved.
  R8  One sees the cells around oneself, what lies there (15 units look like more), who stands
      there, one's own job and goods, and nobody else's. A charter tells the jobs of one's contacts.
  R9  Of what lies on a cell, units that somebody left are taken before those of the pile, and count
      as handed over by whoever left one of that kind there last.
  R10 The reward is the change in worth of what one holds; a job can like a kind more or less.
  R11 A player comes to know a kind when it holds it, or stands where it lies with the tools for it,
      a workplace when it stands there with the tools for it, and does not forget.
  R12 Where the task knows hunger, everybody's energy falls by 1 a step. Eating a unit of food
      restores some, at most to what one began with. Whoever has none left is out for good, with
      all it holds.
  R13 Beasts step in a drawn direction each step, unless a block is there. Whoever then stands on
      the cell of a beast or beside it, and holds nothing that guards against it, loses energy.
  R14 The horizon ends an episode (a time-out); it also ends when nobody is left in play.
Differs from the paper: where it says nothing, as on the edges of the land, its code is followed.
Differs from the code: what cannot be carried, seen or paid for cannot be picked or made (its core
      trusts a mask), the order of kinds is fixed, seeds count, amounts are seen up to 15.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt8, UInt32

from sociarium.core import random
from sociarium.core.actions import DO_NOTHING, STAY, ActionSpec, action_for_each
from sociarium.core.environment import Environment, Transition, View, frame, mask_illegal
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import Events, event
from sociarium.core.facets import Bench, Board, Bounds, Crafting, Shardable
from sociarium.core.recipes import Bound, RecipeSpec
from sociarium.core.rules import RuleSheet
from sociarium.core.scene import Body, Scene, Thing
from sociarium.core.specs import EventSpec, GaugeSpec, OwnSpec, PlaneSpec, ViewSpec, seat_codes
from sociarium.envs.frontier import task as tasks
from sociarium.envs.frontier.site import Site
from sociarium.envs.frontier.task import MOST_UNITS, UNLIMITED, Task
from sociarium.mechanics import movement, recipes
from sociarium.mechanics.layout import no_inline
from sociarium.mechanics.windows import EXTRA, Window

SHEET = RuleSheet.read(__doc__)

MOVES = (
    DO_NOTHING,
    ActionSpec("north", "move", direction="north", sentence="step one cell north"),
    ActionSpec("south", "move", direction="south", sentence="step one cell south"),
    ActionSpec("west", "move", direction="west", sentence="step one cell west"),
    ActionSpec("east", "move", direction="east", sentence="step one cell east"),
)
NORTH, SOUTH, WEST, EAST = range(STAY + 1, len(MOVES))
SYNTHESISE = len(MOVES)
PICK = SYNTHESISE + 1  # of kind 0; the other kinds follow, then dumping, then eating
TILES = ("nothing", "grass", "block")
NOTHING, GRASS, BLOCK = range(len(TILES))
MANY = 15  # units that look like more
AMOUNTS = ("none", *(str(units) for units in range(1, MANY)), f"{MANY} or more")
PACKED = 8  # kinds whose amounts fit one word, four bits each
BEAST = EXTRA + 8  # the bit of a code that tells of a beast; a workplace lies below it
NOBODY = -1
NAMES = OWN, EXCHANGED = "own", "exchanged"  # of kinds of goods


class Params(eqx.Module):
    """Every number of a task."""

    worth: Float[Array, "jobs kinds"]
    capacity: Int[Array, "jobs kinds"]
    inputs: Int[Array, "workplaces_and_none kinds"]
    outputs: Int[Array, "workplaces_and_none kinds"]
    kind_needs: UInt32[Array, " kinds"]  # sets of kinds, as bits
    workplace_needs: UInt32[Array, " workplaces_and_none"]
    least: Int[Array, " piles"]  # units in each pile
    most: Int[Array, " piles"]
    energy: Int[Array, ""]  # at the start, and at most
    nourishment: Int[Array, " foods"]
    bite: Int[Array, ""]
    guards: UInt32[Array, ""]
    horizon: Int[Array, ""]


class State(eqx.Module):
    """Facts only. `entries` are the cells and three more that are nowhere and stay empty."""

    clock: Int[Array, ""]
    body: Int[Array, " players"]
    inventory: Int[Array, "players kinds"]
    energy: Int[Array, " players"]
    kinds_known: UInt32[Array, " players"]  # sets of kinds, as bits
    workplaces_known: UInt32[Array, " players"]
    beast: Int[Array, " beasts"]
    block: Bool[Array, " entries"]
    workplace: UInt8[Array, " entries"]  # counted from 1
    goods: UInt8[Array, "kinds entries"]
    wild: UInt8[Array, " entries"]  # units of a pile that nobody has touched
    vein: UInt8[Array, " entries"]  # their kind
    left_by: Int[Array, "kinds entries"]  # who left a unit of a kind there last


class Reach(eqx.Module):
    """What each player's own cell and tools allow."""

    workplace: Int[Array, " players"]  # on one's own cell, counted from 1
    equipped: Bool[Array, " players"]  # with the tools for it
    lying: UInt8[Array, "players kinds"]  # on one's own cell
    sees: Bool[Array, "players kinds"]  # whether one has the tools for each kind
    tools: UInt32[Array, " players"]  # the kinds one holds, as bits


class Frontier(Environment[State, Params]):
    """The frontier with one of its tasks, or with one of your own."""

    sheet = SHEET
    wraps = True
    choices: ClassVar[Mapping[str, str]] = {"names": ", ".join(NAMES)}
    gauge_specs = (
        GaugeSpec("lying", "units lying about"),
        GaugeSpec("held", "units held by players"),
        GaugeSpec("worth", "worth of all that is held, to its holders"),
    )

    def __init__(
        self,
        task: "str | Task" = "easy",
        players: int | None = None,
        sight: int | None = None,
        tiles: tuple[int, int] = (1, 1),
        names: str = OWN,
    ) -> None:
        """`task` is a name or a file; `players` fill its jobs in turn; `tiles` repeats the land.

        With `names` exchanged every kind of goods has the name of the next.
        """
        if names not in NAMES:
            raise UnknownName("way to name goods", names, NAMES)
        self.task = task if isinstance(task, Task) else tasks.task(task)
        self.task = self.task.with_names_exchanged() if names == EXCHANGED else self.task
        self.site = Site(self.task, players, tiles)
        self.players = self.site.players
        self._resolve(task=repr(self.task))
        self.jobs, self.job = tuple(self.task.jobs), self.site.job
        self.kinds, self.workplaces = self.task.kinds, tuple(self.task.events)
        self.hunger = self.task.hunger
        self.foods = tuple(self.hunger.foods) if self.hunger else ()
        self.food = np.array([self.kinds.index(kind) for kind in self.foods], np.int32)
        self.terrain = self.site.terrain
        reach = self.task.sight if sight is None else sight
        (rows, cols), most = self.site.shape, (min(self.site.shape) - 1) // 2
        if not 1 <= reach <= most:
            raise BadArgument(
                f"sight must be 1 to {most} on {rows} x {cols} cells, so that nobody sees around "
                f"the world; given {reach}"
            )
        self.window = Window(self.terrain, ahead=reach, behind=reach, side=reach, wraps=True)
        self.dump = PICK + len(self.kinds)
        self.eat = self.dump + len(self.kinds)
        self.actions = (
            *MOVES,
            ActionSpec("synthesise", "synthesise", sentence="make what the place makes"),
            *action_for_each("pick", self.kinds, "pick {}", "take a unit of {} from the ground"),
            *action_for_each("dump", self.kinds, "dump {}", "leave a unit of {} on the ground"),
            *action_for_each("eat", self.foods, "eat {}", "eat a unit of {} that you hold"),
        )
        self.recipes = tuple(
            RecipeSpec(name, event.takes, event.gives, event.needs)
            for name, event in self.task.events.items()
        )
        lying = {k: data.needs for k, data in self.task.resources.items() if data.piles}
        self.facets = (
            Board(
                self.site.shape,
                lambda state: (self.cells_of(state), jnp.zeros_like(state.body)),
                window="follows",
                wraps=True,
            ),
            Crafting(
                self.recipes,
                lying,
                lambda state: recipes.unpacked(state.workplaces_known, len(self.recipes)),
                made="synthesised",
                taken="picked",
                discovered="discovered",
                handed_over="handed_over",
            ),
            Bounds(self._bounds),
            Bench(self.players + self.site.beasts),
            Shardable(self._over),
        )
        self.event_specs = self._events()
        self.view_spec = self._view()

    def _events(self) -> tuple[EventSpec, ...]:
        kinds, workplaces = self.kinds, self.workplaces
        always = (
            EventSpec(
                "picked",
                "{actor} picked {value}",
                values=kinds,
                causes=("pick",),
                does=("picks {value}",),
            ),
            EventSpec(
                "dumped",
                "{actor} left {value}",
                values=kinds,
                causes=("dump",),
                does=("leaves {value} behind",),
            ),
            EventSpec(
                "synthesised",
                "{actor} did {value}",
                values=workplaces,
                causes=("synthesise",),
                does=("makes {value}", "does {value}"),
            ),
            EventSpec(
                "handed_over",
                "{actor} handed {value} over to {target}",
                axis="target",
                values=kinds,
                causes=("dump",),
                does=("hands {value} over",),
            ),
            EventSpec(
                "discovered",
                "{actor} discovered {value}",
                values=kinds,
                slots=len(kinds),
                does=("discovers {value}",),
            ),
            EventSpec(
                "found",
                "{actor} found a place for {value}",
                values=workplaces,
                does=("finds a place for {value}",),
            ),
        )
        hungry = (
            EventSpec(
                "ate", "{actor} ate {value}", values=kinds, causes=("eat",), does=("eats {value}",)
            ),
            EventSpec("bitten", "a beast bit {actor}", does=("is bitten",)),
            EventSpec("starved", "{actor} starved", does=("starves",)),
        )
        return always + (hungry if self.hunger else ())

    def _view(self) -> ViewSpec:
        planes = (
            PlaneSpec("ground", TILES, "ground", solid=(TILES[NOTHING], TILES[BLOCK])),
            PlaneSpec("occupant", ("nobody", "myself", "somebody"), "occupant"),
            PlaneSpec("seat", seat_codes(self.players), "seat"),
            PlaneSpec("workplace", ("none", *self.workplaces), "station"),
            *((PlaneSpec("hazard", ("none", "beast"), "hazard"),) if self.site.beasts else ()),
            *(PlaneSpec(kind, AMOUNTS, "goods") for kind in self.kinds),
        )
        own = (
            OwnSpec("job", 0, max(len(self.jobs) - 1, 1), told=self.jobs),
            *(OwnSpec(kind, 0, UNLIMITED) for kind in self.kinds),
            *((OwnSpec("energy", 0, UNLIMITED),) if self.hunger else ()),
        )
        return ViewSpec(planes, self.window.rows, self.window.cols, self.window.ego_origin, own)

    def default_params(self) -> Params:
        """The task's own parameters."""
        return self._params(self.task)

    def param_sets(self) -> dict[str, Params]:
        """Those of AdaSociety's code, where they differ from its paper's."""
        return {"reference": self.reference()}

    def reference(self) -> Params:
        """The parameters of the reference code, where they differ from the paper's."""
        return self._params(self.task.with_reference())

    def _params(self, task: Task) -> Params:
        kinds, events, hunger = self.kinds, task.events.values(), task.hunger or tasks.Hunger()
        needs = lambda names: sum(1 << kinds.index(name) for name in names)  # noqa: E731
        capacity = [[job.capacity.get(k, UNLIMITED) for k in kinds] for job in task.jobs.values()]
        units = np.array([data.units for data in task.resources.values()], np.int32)
        return Params(
            worth=jnp.array([[task.worth(j, k) for k in kinds] for j in task.jobs], jnp.float32),
            capacity=jnp.array(capacity, jnp.int32),
            inputs=jnp.asarray(recipes.table(kinds, [data.takes for data in events])),
            outputs=jnp.asarray(recipes.table(kinds, [data.gives for data in events])),
            kind_needs=jnp.array([needs(r.needs) for r in task.resources.values()], jnp.uint32),
            workplace_needs=jnp.array([0, *(needs(data.needs) for data in events)], jnp.uint32),
            least=jnp.asarray(units[self.site.pile_kind, 0]),
            most=jnp.asarray(units[self.site.pile_kind, 1]),
            energy=jnp.int32(hunger.energy),
            nourishment=jnp.array(list(hunger.foods.values()), jnp.int32),
            bite=jnp.int32(hunger.bite),
            guards=jnp.uint32(needs(hunger.guards)),
            horizon=jnp.int32(task.horizon),
        )

    def reset(self, key: Key[Array, ""], params: Params) -> State:
        """Everything on its cell, nothing known (R1)."""
        k_block, k_pile, k_units, k_workplace, k_player, k_beast = jax.random.split(key, 6)
        site, entries, kinds = self.site, self.window.entries, len(self.kinds)
        block = site.draw_blocks(k_block)
        pile = site.draw_piles(k_pile, block)
        spare = random.randint_from_bits(
            random.bits(k_units, len(pile)), params.most - params.least + 1
        )
        units = (params.least + spare).astype(jnp.uint8)
        workplace = site.draw_workplaces(k_workplace, block)
        empty, unknown = jnp.zeros(entries, jnp.uint8), jnp.zeros(self.players, jnp.uint32)
        seat_type = jnp.int16 if self.players < 2**15 else jnp.int32
        return State(
            clock=jnp.int32(0),
            body=site.draw_players(k_player, block),
            inventory=jnp.asarray(site.holds),
            energy=jnp.full(self.players, params.energy),
            kinds_known=unknown,
            workplaces_known=unknown,
            beast=site.draw_beasts(k_beast, block),
            block=jnp.pad(block, (0, entries - len(block))),
            workplace=empty.at[workplace].set(site.workplace_kind.astype(np.uint8) + 1),
            goods=jnp.zeros((kinds, entries), jnp.uint8).at[site.pile_kind, pile].set(units),
            wild=empty.at[pile].set(units),
            vein=empty.at[pile].set(site.pile_kind.astype(np.uint8)),
            left_by=jnp.full((kinds, entries), NOBODY, seat_type),
        )

    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"], params: Params
    ) -> tuple[State, Transition]:
        """Pick, dump, synthesise and eat; then move; then grow hungry; count."""
        k_move, k_beast = jax.random.split(key, 2)
        reach = self.reach(state, params)
        actions = mask_illegal(actions, self.allowed(state, reach, params))
        ground, giver = self.exchange(state, actions)
        inventory = no_inline(self.bagged, state.inventory, actions, reach.workplace, params)
        stood = self.walk(k_move, state, actions)  # R7: after the ground was changed
        body, energy, beast, bitten = self.starve(k_beast, state, stood, inventory, actions, params)
        known = state.kinds_known | reach.tools | recipes.bits(reach.sees & (reach.lying > 0))
        here = jnp.uint32(1) << (reach.workplace - 1).astype(jnp.uint32)
        here = jnp.where(reach.equipped, here, jnp.uint32(0))
        after = State(
            clock=state.clock + 1,
            body=body,
            inventory=inventory,
            energy=energy,
            kinds_known=known,  # R11
            workplaces_known=state.workplaces_known | here,
            beast=beast,
            block=state.block,
            workplace=state.workplace,
            vein=state.vein,
            **ground,
        )
        events = self.told(state, after, actions, giver, here, bitten, stood)
        gained = inventory - state.inventory
        reward = jnp.sum(gained * params.worth[self.jobs_of(state)], axis=1)  # R10
        over = self.deserted(after)
        return after, Transition(
            reward=reward,
            raw=reward,
            distributed=reward,
            terminated=over,
            truncated=~over & (after.clock >= params.horizon),  # R14
            events=events,
        )

    def reach(self, state: State, params: Params) -> Reach:
        """What each player's own cell and tools allow (R6)."""
        tools = recipes.bits(state.inventory > 0)
        workplace = state.workplace.at[state.body].get(mode="promise_in_bounds").astype(jnp.int32)
        equipped = recipes.met(params.workplace_needs, tools)
        equipped = jnp.take_along_axis(equipped, workplace[:, None], axis=1)[:, 0]
        return Reach(
            workplace=workplace,
            equipped=equipped & (workplace > 0),
            lying=state.goods.at[:, state.body].get(mode="promise_in_bounds").T,
            sees=recipes.met(params.kind_needs, tools),
            tools=tools,
        )

    def allowed(self, state: State, reach: Reach, params: Params) -> Bool[Array, "players actions"]:
        """What each player can do: the one judge of the step and of the mask (R3 to R6, R12)."""
        capacity, held = params.capacity[self.jobs_of(state)], state.inventory
        here = self.present(state)[:, None]
        inputs, outputs = params.inputs[reach.workplace], params.outputs[reach.workplace]
        work = reach.equipped & recipes.affordable(inputs, outputs, held, capacity)
        may = (
            jnp.ones_like(here),
            jnp.broadcast_to(here, (len(here), len(MOVES) - 1)),
            work[:, None],
            (reach.lying > 0) & reach.sees & (held < capacity),
            here & (held > 0) & (reach.lying < MOST_UNITS),
            here & (held[:, self.food] > 0),
        )
        return jnp.concatenate(may, axis=1)

    def present(self, state: State) -> Bool[Array, " players"]:
        """Who is in play."""
        return state.body != self.terrain.nowhere

    def deserted(self, state: State) -> Bool[Array, ""]:
        """Whether nobody is left in play (R14)."""
        return ~self.present(state).any()

    def seats(self, state: State) -> Int[Array, " players"]:
        """The number of each player."""
        return jnp.arange(self.players, dtype=jnp.int32)

    def cells_of(self, state: State) -> Int[Array, " players"]:
        """The cell of the land that each player stands on."""
        return state.body

    def jobs_of(self, state: State) -> Int[Array, " players"]:
        """The job of each player."""
        return jnp.asarray(self.job)

    def legal(self, state: State, params: Params) -> Bool[Array, "players actions"]:
        """Moves always; the rest where one's own cell, tools and capacity allow it."""
        return self.allowed(state, self.reach(state, params), params)

    def bagged(
        self,
        inventory: Int[Array, "players kinds"],
        actions: Int[Array, " players"],
        workplace: Int[Array, " players"],
        params: Params,
    ) -> Int[Array, "players kinds"]:
        """Everybody's inventory after picking, dumping, making and eating (R3, R4, R12)."""
        kind = jnp.arange(len(self.kinds), dtype=jnp.int32)[None]
        named = actions[:, None] - kind
        change = (named == PICK) * 1 - (named == self.dump) * 1
        for number, food in enumerate(self.food):
            change = change.at[:, food].add(-(actions == self.eat + number).astype(jnp.int32))
        made = params.outputs[workplace] - params.inputs[workplace]
        return inventory + change + jnp.where((actions == SYNTHESISE)[:, None], made, 0)

    def exchange(
        self, state: State, actions: Int[Array, " players"]
    ) -> tuple[dict[str, Array], Int[Array, " players"]]:
        """The ground after picking and dumping, and who had left what was picked (R3, R9)."""
        kinds, entries = state.goods.shape
        dumps = (actions >= self.dump) & (actions < self.eat)
        picks = (actions >= PICK) & (actions < self.dump)
        kind = jnp.where(picks | dumps, (actions - PICK) % kinds, 0)
        spot = kind * entries + state.body
        lying, leaver = (
            layer.ravel().at[spot].get(mode="promise_in_bounds")
            for layer in (state.goods, state.left_by)
        )
        wild, vein = (
            layer.at[state.body].get(mode="promise_in_bounds") for layer in (state.wild, state.vein)
        )
        from_pile = picks & (vein == kind) & (lying == wild)
        lies = lying + dumps.astype(jnp.uint8) - picks.astype(jnp.uint8)
        seat = self.seats(state).astype(leaver.dtype)
        ground = {
            "goods": _put(state.goods, spot, lies),
            "wild": _put(state.wild, state.body, wild - from_pile.astype(jnp.uint8)),
            "left_by": _put(state.left_by, spot, jnp.where(dumps, seat, leaver)),
        }
        return ground, jnp.where(picks & ~from_pile, leaver.astype(jnp.int32), NOBODY)

    def walk(
        self, key: Key[Array, ""], state: State, actions: Int[Array, " players"]
    ) -> Int[Array, " players"]:
        """Where everybody stands after stepping (R2)."""
        there = self.site.beside(state, state.body, *course(actions))
        draw = random.bits(key, self.players)
        return movement.resolve(draw, state.body, there, self.terrain.nowhere, swaps=True)

    def starve(
        self,
        key: Key[Array, ""],
        state: State,
        body: Int[Array, " players"],
        inventory: Int[Array, "players kinds"],
        actions: Int[Array, " players"],
        params: Params,
    ) -> tuple[
        Int[Array, " players"],
        Int[Array, " players"],
        Int[Array, " beasts"],
        Bool[Array, " players"],
    ]:
        """Bodies, energy and beasts after eating and biting; who was bitten (R12, R13)."""
        if self.hunger is None:
            return body, state.energy, state.beast, jnp.zeros_like(body, bool)
        eaten = jnp.zeros(self.players, jnp.int32)
        for number in range(len(self.foods)):
            eaten = eaten + (actions == self.eat + number) * params.nourishment[number]
        toward = (random.bits(key, self.site.beasts) >> 30).astype(jnp.int32)
        down, right = (toward == 1) * 1 - (toward == 0) * 1, (toward == 3) * 1 - (toward == 2) * 1
        beast = self.site.beside(state, state.beast, down, right)
        exposed = params.guards & recipes.bits(inventory > 0) == 0
        bitten = self.site.near(body, beast) & exposed & (body != self.terrain.nowhere)
        energy = jnp.minimum(state.energy + eaten, params.energy) - 1 - bitten * params.bite
        in_play = (body != self.terrain.nowhere) & (energy > 0)
        energy = jnp.where(in_play, energy, 0)
        return jnp.where(in_play, body, self.terrain.nowhere), energy, beast, bitten

    def told(
        self,
        before: State,
        after: State,
        actions: Int[Array, " players"],
        giver: Int[Array, " players"],
        here: UInt32[Array, " players"],
        bitten: Bool[Array, " players"],
        stood: Int[Array, " players"],
    ) -> Events:
        """What happened, with kinds and workplaces by number."""
        at, seat = self.cells_of(before), self.seats(before)
        kind = ((actions - PICK) % len(self.kinds)).astype(jnp.float32)
        work = (
            before.workplace.at[before.body].get(mode="promise_in_bounds").astype(jnp.float32) - 1
        )
        picked = (actions >= PICK) & (actions < self.dump)
        dumped = (actions >= self.dump) & (actions < self.eat)
        handed = picked & (giver != NOBODY) & (giver != seat)  # R9
        news = recipes.unpacked(after.kinds_known & ~before.kinds_known, len(self.kinds))
        events = {
            "picked": event(picked, cell=at, value=kind),
            "dumped": event(dumped, cell=at, value=kind),
            "synthesised": event(actions == SYNTHESISE, cell=at, value=work),
            "handed_over": event(
                handed, other=jnp.where(handed, giver, NOBODY), cell=at, value=kind
            ),
            "discovered": event(
                news,
                cell=jnp.broadcast_to(at[:, None], news.shape),
                value=jnp.broadcast_to(jnp.arange(len(self.kinds), dtype=jnp.float32), news.shape),
            ),
            "found": event(here & ~before.workplaces_known != 0, cell=at, value=work),
        }
        if self.hunger:
            ate = actions >= self.eat
            food = jnp.asarray(np.append(self.food, 0))[jnp.where(ate, actions - self.eat, -1)]
            events |= {
                "ate": event(ate, cell=at, value=food.astype(jnp.float32)),
                "bitten": event(bitten, cell=stood),
                "starved": event(self.present(before) & ~self.present(after), cell=stood),
            }
        return events

    def codes(self, state: State, params: Params) -> UInt32[Array, " entries"]:
        """Blocks, workplaces, beasts and players on every cell."""
        land = jnp.arange(self.window.entries) < self.terrain.cells
        ground = land * jnp.uint32(GRASS) + state.block * jnp.uint32(BLOCK - GRASS)
        ground = ground | state.workplace.astype(jnp.uint32) << EXTRA
        if self.site.beasts:
            prowled = jnp.zeros_like(ground).at[state.beast].set(jnp.uint32(1) << BEAST)
            ground = ground | prowled
        ahead = jnp.zeros_like(state.body)
        return self.window.code(ground, state.body, ahead, marks=self.marks(state))

    def marks(self, state: State) -> UInt32[Array, " players"]:
        """What stands for each player where it is seen."""
        return self.window.marks(self.seats(state), self.players)

    def observe(self, state: State, params: Params) -> View:
        """The window as far as one's tools show it, job, goods and energy (R6, R8)."""
        ahead = jnp.zeros_like(state.body)
        sees, works = no_inline(
            _in_sight, state.inventory, params.kind_needs, params.workplace_needs
        )
        seen = self.window.cut(self.codes(state, params), state.body, ahead)
        seat = self.window.seat(seen)
        ego_origin = jnp.asarray(np.arange(self.window.size) == self.window.size // 2)
        occupant = jnp.where(seat > 0, jnp.where(ego_origin, jnp.uint32(1), jnp.uint32(2)), 0)
        workplace = (seen >> EXTRA) & 0xFF
        workplace = jnp.where(works[:, None] >> workplace & 1 == 1, workplace, 0)
        planes = [self.window.ground(seen), occupant, seat, workplace]
        if self.site.beasts:
            planes.append(seen >> BEAST & 1)
        words = no_inline(_amounts, state.goods)
        lying = [self.window.cut(word, state.body, ahead) for word in words]
        for kind in range(len(self.kinds)):
            units = lying[kind // PACKED] >> 4 * (kind % PACKED) & MANY
            planes.append(jnp.where(sees[:, kind, None], units, 0))
        own = [self.jobs_of(state)[:, None], state.inventory]
        if self.hunger:
            own.append(state.energy[:, None])
        return View(cells=self.window.stack(*planes), own=jnp.concatenate(own, 1).astype(jnp.int16))

    def _bounds(self, params: Params, seed: int) -> dict[str, Bound]:
        """The paper's oracle and tighter bounds, for one copy of the land and its own players."""
        from sociarium.envs.frontier import oracle  # whose solver takes a second to load

        if (self.players, self.site.tiles) != (self.task.players, (1, 1)):
            raise BadArgument(
                f"the bounds of {self.task.name} are for its own number of players, "
                f"{self.task.players}, on one copy of its land; given {self.players} players and "
                f"tiles of {self.site.tiles[0]}x{self.site.tiles[1]}"
            )
        return oracle.bounds(self.task)

    def _over(self, shards: int, capacity: float) -> Any:
        """The land in strips, one to a device."""
        from sociarium.envs.frontier.strips import StripedFrontier  # which are frontiers too

        return StripedFrontier(self, shards, capacity)

    def gauges(self, state: State, params: Params) -> dict[str, Any]:
        """Units lying about and held, and what the held ones are worth."""
        return {
            "lying": jnp.sum(state.goods, dtype=jnp.float32),
            "held": jnp.sum(state.inventory).astype(jnp.float32),
            "worth": jnp.sum(state.inventory * params.worth[self.jobs_of(state)]),
        }

    def scene(self, state: State, params: Params, player: int | None = None) -> Scene:
        """The whole land with everything on it, seen or not; or what one player sees."""
        return frame(self, self.draw_map(state, params), state, params, player)

    def draw_map(self, state: State, params: Params) -> Scene:
        """The whole land with everything on it, seen or not."""
        cells, (rows, cols) = self.terrain.cells, self.site.shape
        block, workplace, goods, body, beast = (
            np.asarray(x)
            for x in (state.block, state.workplace, state.goods, state.body, state.beast)
        )
        where = lambda cell: divmod(int(cell), cols)  # noqa: E731
        makes = [next(iter(recipe.gives)) for recipe in self.recipes]
        things = [
            Thing(self.workplaces[work - 1], *where(cell), sort="place", makes=makes[work - 1])
            for cell in np.flatnonzero(workplace[:cells])
            for work in [workplace[cell]]
        ]
        things += [
            Thing(self.kinds[kind], *where(cell), int(goods[kind, cell]))
            for kind, cell in np.argwhere(goods[:, :cells])
        ]
        things += [Thing("beast", *where(cell), sort="beast") for cell in beast]
        ground = np.where(block[:cells], BLOCK, GRASS).astype(np.uint8).reshape(rows, cols)
        return Scene(
            ground=ground,
            tiles=TILES,
            bodies=tuple(
                Body(seat, *where(cell), 0)
                for seat, cell in enumerate(body)
                if cell != self.terrain.nowhere
            ),
            lit=np.zeros_like(ground),
            lights=("none",),
            clock=int(state.clock),
            horizon=int(params.horizon),
            players=self.players,
            things=tuple(things),
            holdings=tuple(
                {kind: int(units) for kind, units in zip(self.kinds, bag, strict=True)}
                for bag in np.asarray(state.inventory)
            ),
        )


def course(
    actions: Int[Array, " players"],
) -> tuple[Int[Array, " players"], Int[Array, " players"]]:
    """How far down and to the right each action leads."""
    down = (actions == SOUTH) * 1 - (actions == NORTH) * 1
    return down, (actions == EAST) * 1 - (actions == WEST) * 1


def _put(layer: Array, spot: Int[Array, " players"], value: Array) -> Array:
    """The layer with each player's value on its spot."""
    return layer.ravel().at[spot].set(value, mode="promise_in_bounds").reshape(layer.shape)


def _in_sight(
    inventory: Int[Array, "players kinds"],
    kind_needs: UInt32[Array, " kinds"],
    workplace_needs: UInt32[Array, " workplaces_and_none"],
) -> tuple[Bool[Array, "players kinds"], UInt32[Array, " players"]]:
    """The kinds each player has the tools to see, and the workplaces, as bits."""
    tools = recipes.bits(inventory > 0)
    return recipes.met(kind_needs, tools), recipes.bits(recipes.met(workplace_needs, tools))


def _amounts(goods: UInt8[Array, "kinds entries"]) -> list[UInt32[Array, " entries"]]:
    """What lies on every cell, four bits a kind, eight kinds a word."""
    shown = jnp.minimum(goods, MANY).astype(jnp.uint32)
    words = []
    for first in range(0, len(goods), PACKED):
        word = jnp.zeros(goods.shape[1], jnp.uint32)
        for place, layer in enumerate(shown[first : first + PACKED]):
            word = word | layer << 4 * place
        words.append(word)
    return words
