"""Cooks for Overcooked, and what one can be told to do in a kitchen.

Cooks know the plan of their kitchen: which floor hangs together, and what one can use from there.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, UInt8

from sociarium.core import random
from sociarium.core.actions import STAY
from sociarium.core.environment import View
from sociarium.core.specs import ViewSpec, with_article
from sociarium.envs.kitchens.overcooked import (
    CONTENTS,
    COUNTER,
    DISH,
    FULL,
    HATCH,
    INTERACT,
    ITEMS,
    MYSELF,
    NOTHING,
    ONION,
    POT,
    RECIPES,
    SOMEBODY,
    SOUP,
    STATIONS,
    TOMATO,
    Overcooked,
)
from sociarium.mechanics import turning
from sociarium.mechanics.cartography import beside
from sociarium.players.planning import floods, paths
from sociarium.players.planning.skill import NONE, Ask, Intent, Setting, Situation
from sociarium.players.planning.skills import Beside, Wait, chosen
from sociarium.players.planning.surroundings import Fixture, Surroundings
from sociarium.players.scripted.script import Script

AMOUNT = np.array([0, *map(sum, RECIPES)])  # ingredients, by the codes of the plane of pots
SOUPS = ITEMS[SOUP:]
READY = 1  # the code of a soup that is; higher ones are at work
CRATES = {ONION: "onion crate", TOMATO: "tomato crate", DISH: "dish rack"}
FETCHED = ("an onion", "a tomato", "a dish", "a soup")  # in the order of crates, then soups
BY_COMPASS = np.array([1, 3, 4, 2])  # moves up, down, left and right in a window, as actions

Mask = Bool[Array, "rows cols"]


class Kitchen:
    """What there is in a kitchen, cell by cell, read from the planes of a view."""

    def __init__(self, spec: ViewSpec, cells: UInt8[Array, "planes rows cols"]) -> None:
        self._spec, self._cells = spec, cells

    def plane(self, name: str) -> Int[Array, "rows cols"]:
        """The codes of a plane."""
        return self._cells[self._spec.plane(name)].astype(jnp.int32)

    def station(self, name: str) -> Mask:
        """Where stations of this name are."""
        return self.plane("station") == STATIONS.index(name)

    def source(self, item: int) -> Mask:
        """Where one can take this: from its crate or rack, or off a counter."""
        return self.station(CRATES[item]) | (self.plane("item") == item)

    @property
    def inside(self) -> Int[Array, "rows cols"]:
        """How many ingredients are in each pot."""
        return jnp.asarray(AMOUNT)[self.plane("pot with")]

    @property
    def waiting(self) -> Mask:
        """Pots that are not at work."""
        return self.station("pot") & (self.plane("soup") == 0)

    @property
    def room(self) -> Mask:
        """Pots that take one more ingredient."""
        return self.waiting & (self.inside < FULL)

    @property
    def started(self) -> Mask:
        """Pots at work, or with a soup that is ready."""
        return self.plane("soup") > 0

    @property
    def ready(self) -> Mask:
        """Pots with a soup that is ready."""
        return self.plane("soup") == READY

    @property
    def soups(self) -> Mask:
        """Counters with a soup on them."""
        return self.plane("item") >= SOUP

    @property
    def free(self) -> Mask:
        """Counters with nothing on them."""
        counter = (self.plane("ground") == COUNTER) & (self.plane("station") == 0)
        return counter & (self.plane("item") == NOTHING)


# Skills.


@dataclass(frozen=True)
class KitchenSkill(Beside):
    """Stands beside something in the kitchen, with the right thing in its hands, and interacts.

    Near others it stands still for a step now and then, so that two do not contest a cell for ever.
    """

    verb: str = "interact"

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To stand beside it, to face it, and to act."""
        intent = super().intend(setting, now)
        walks = (intent.deed == NONE) & ~intent.hopeless
        deed = jnp.where(walks & _near(setting, now, 2) & _whim(now), STAY, intent.deed)
        return eqx.tree_at(lambda one: one.deed, intent, deed.astype(jnp.int32))

    def kitchen(self, setting: Setting, now: Situation) -> Kitchen:
        """The kitchen as the player remembers it."""
        spec, memory = setting.map_tracker.spec, now.memory
        lying = dict(zip(setting.map_tracker.layers, memory.lying, strict=True))
        lying[spec.plane("ground")] = memory.known
        nothing = jnp.zeros_like(memory.known)
        return Kitchen(spec, jnp.stack([lying.get(n, nothing) for n in range(len(spec.planes))]))

    def holds(self, setting: Setting, now: Situation) -> Int[Array, ""]:
        """What is in the player's hands."""
        hands = setting.map_tracker.spec.plane("holding")
        return now.view.cells[hands][setting.ego_origin].astype(jnp.int32)

    def reached_by_others(self, setting: Setting, now: Situation) -> Mask:
        """What other players can come to use."""
        floor = ~setting.solid(now.memory)
        return _beside_mask(floods.region(setting.others(now), floor, setting.wraps))

    def reached(self, setting: Setting, now: Situation) -> Mask:
        """What the player itself can come to use."""
        floor, here = ~setting.solid(now.memory), setting.map_tracker.here(now.memory)
        return _beside_mask(floods.region(here, floor, setting.wraps))


@dataclass(frozen=True)
class Fetch(KitchenSkill):
    """Takes something from where it is kept, or off a counter.

    What nobody else can reach comes first: what lies between two rooms is for the other one.
    """

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """What."""
        return ("thing",)

    def things(self, setting: Setting) -> tuple[str, ...]:
        """Whatever one can hold."""
        return FETCHED

    def targets(self, setting: Setting, now: Situation) -> Mask:
        """Its sources."""
        kitchen = self.kitchen(setting, now)
        sources = [kitchen.source(item) for item in CRATES]
        number, known = chosen(now.order.thing, self.things(setting))
        found = jnp.stack([*sources, kitchen.soups])[number] & known
        within_reach = found & self.reached(setting, now)
        return _first(within_reach & ~self.reached_by_others(setting, now), within_reach, found)

    def able(self, setting: Setting, now: Situation) -> Bool[Array, ""]:
        """With empty hands."""
        return self.holds(setting, now) == NOTHING

    def obstacle(self, thing: str, around: Surroundings) -> str:
        """Full hands, or nothing to take."""
        if around.holds:
            return _full(around)
        kept = dict(zip(map(str, FETCHED), CRATES.items(), strict=False)).get(thing)
        items, crate = (SOUPS, "") if kept is None else ((ITEMS[kept[0]],), kept[1])
        sources = [one for one in around.stations if one.station == crate]
        sources += [one for one in around.surfaces if one.item in items]
        return _out_of_reach(sources, "there is none to take", "it is")


@dataclass(frozen=True)
class FillPot(KitchenSkill):
    """Puts an ingredient into a pot."""

    def targets(self, setting: Setting, now: Situation) -> Mask:
        """Pots with room."""
        return self.kitchen(setting, now).room

    def able(self, setting: Setting, now: Situation) -> Bool[Array, ""]:
        """With an onion or a tomato."""
        held = self.holds(setting, now)
        return (held == ONION) | (held == TOMATO)

    def obstacle(self, thing: str, around: Surroundings) -> str:
        """No ingredient, or no pot for it."""
        if around.holds not in (ITEMS[ONION], ITEMS[TOMATO]):
            return "you hold no onion and no tomato"
        return _out_of_reach(with_room(around), "no pot has room", "every pot with room is")


@dataclass(frozen=True)
class StartPot(KitchenSkill):
    """Starts a pot, where that is needed."""

    def targets(self, setting: Setting, now: Situation) -> Mask:
        """Pots that wait with something inside."""
        kitchen = self.kitchen(setting, now)
        return kitchen.waiting & (kitchen.inside > 0)

    def able(self, setting: Setting, now: Situation) -> Bool[Array, ""]:
        """With empty hands."""
        return self.holds(setting, now) == NOTHING

    def obstacle(self, thing: str, around: Surroundings) -> str:
        """Full hands, or no pot to start."""
        if around.holds:
            return _full(around)
        idle = [one for one in around.stations if one.inside and not one.work]
        return _out_of_reach(idle, "no pot waits with something inside", "every such pot is")


@dataclass(frozen=True)
class PlateSoup(KitchenSkill):
    """Waits beside a pot until its soup is ready, and takes it."""

    def targets(self, setting: Setting, now: Situation) -> Mask:
        """Pots with a soup that is ready, else those at work."""
        kitchen = self.kitchen(setting, now)
        return jnp.where(kitchen.ready.any(), kitchen.ready, kitchen.started)

    def ready(self, setting: Setting, now: Situation) -> Mask:
        """Those whose soup is ready."""
        return self.kitchen(setting, now).ready

    def able(self, setting: Setting, now: Situation) -> Bool[Array, ""]:
        """With a dish."""
        return self.holds(setting, now) == DISH

    def obstacle(self, thing: str, around: Surroundings) -> str:
        """No dish, or no soup for it."""
        if around.holds != ITEMS[DISH]:
            return "you hold no dish"
        started = [one for one in around.stations if one.work]
        return _out_of_reach(started, "no soup is cooking or ready", "every such pot is")


@dataclass(frozen=True)
class Serve(KitchenSkill):
    """Brings a soup to the hatch."""

    def targets(self, setting: Setting, now: Situation) -> Mask:
        """The hatches."""
        return self.kitchen(setting, now).station("hatch")

    def able(self, setting: Setting, now: Situation) -> Bool[Array, ""]:
        """With a soup."""
        return self.holds(setting, now) >= SOUP

    def obstacle(self, thing: str, around: Surroundings) -> str:
        """No soup, or no hatch."""
        if around.holds not in SOUPS:
            return "you hold no soup"
        hatches = [one for one in around.stations if one.station == STATIONS[HATCH]]
        return _out_of_reach(hatches, "there is no hatch", "the hatch is")


@dataclass(frozen=True)
class PutDown(KitchenSkill):
    """Puts something on a counter, where another can take it if there is such a one."""

    def targets(self, setting: Setting, now: Situation) -> Mask:
        """Free counters."""
        free = self.kitchen(setting, now).free
        within_reach = free & self.reached(setting, now)
        return _first(within_reach & self.reached_by_others(setting, now), within_reach, free)

    def able(self, setting: Setting, now: Situation) -> Bool[Array, ""]:
        """With anything."""
        return self.holds(setting, now) != NOTHING

    def obstacle(self, thing: str, around: Surroundings) -> str:
        """Empty hands, or no counter for it."""
        if not around.holds:
            return "your hands are empty"
        free = [one for one in around.surfaces if not one.item]
        return _out_of_reach(free, "no counter is free", "every free counter is")


@dataclass(frozen=True)
class WaitAside(Wait):
    """Stays, and now and then makes room for whoever comes near."""

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """Nothing, or a step to a free cell."""
        intent, here = super().intend(setting, now), setting.map_tracker.here(now.memory)
        free = ~setting.solid(now.memory) & ~setting.others(now)
        ways = jnp.stack([(here & floods.moved(free, way)).any() for way in range(4)])
        assert setting.move_set is not None
        aside = setting.move_set.step(ways, now.memory.heading, jnp.bool_(False), now.word)
        deed = jnp.where(_near(setting, now, 2) & _whim(now), aside, intent.deed)
        return eqx.tree_at(lambda one: one.deed, intent, deed)


def _near(setting: Setting, now: Situation, steps: int) -> Bool[Array, ""]:
    """Whether somebody is at most so many steps away."""
    here = setting.map_tracker.here(now.memory)
    return (here & setting.within(setting.others(now), steps)).any()


def _whim(now: Situation) -> Bool[Array, ""]:
    """Now and then."""
    return (now.word * jnp.uint32(2654435761)) >> 30 == 0


def with_room(around: Surroundings) -> list[Fixture]:
    """Pots that take one more ingredient."""
    pots = [one for one in around.stations if one.station == STATIONS[POT] and not one.work]
    return [one for one in pots if _inside(one) < FULL]


def _full(around: Surroundings) -> str:
    return f"your hands are full: you hold {_one(around.holds)}"


def _one(item: str) -> str:
    """As in "an onion" and "onion soup"."""
    return item if item in SOUPS else with_article(item)


def _out_of_reach(found: Sequence[Fixture], missing: str, those: str) -> str:
    """Why none of these can be used; nothing where one of them can."""
    if not found:
        return missing
    return "" if any(one.mine for one in found) else f"{those} out of your reach"


# Plans.


class KitchenPlans:
    """Which skill comes next in a kitchen, of those that are possible.

    Whoever `minds_others` leaves to them what they already hold, and keeps what will be needed.
    """

    def __init__(self, minds_others: bool) -> None:
        self.minds_others = minds_others

    def next(
        self, possible: Collection[tuple[str, str]], around: Surroundings
    ) -> tuple[str, str] | None:
        """A skill and its thing; nothing where nothing is of use."""
        return next((plan for plan in self._useful(around) if plan in possible), None)

    def _useful(self, around: Surroundings) -> list[tuple[str, str]]:
        """What is of use now, the most urgent first."""
        room = sum(FULL - _inside(pot) for pot in with_room(around))
        soups = sum(1 for one in around.stations if one.work)
        theirs = list(around.others.values()) if self.minds_others else []
        lacks_onion = room > sum(held in (ITEMS[ONION], ITEMS[TOMATO]) for held in theirs)
        lacks_dish = soups > theirs.count(ITEMS[DISH])
        if around.holds:
            deeds = [("serve", ""), ("plate_soup", ""), ("fill_pot", "")]
            keeps = self.minds_others and self._needed_soon(around, lacks_onion, lacks_dish)
            return deeds if keeps else [*deeds, ("put_down", "")]
        full = any(_inside(pot) == FULL and not pot.work for pot in around.stations)
        serves = any(one.mine for one in around.stations if one.station == STATIONS[HATCH])
        fetched = [("start_pot", "")] * full + [("fetch", "a soup")] * serves
        fetched += [("fetch", "a dish")] * lacks_dish
        fetched += [("fetch", "an onion"), ("fetch", "a tomato")] * lacks_onion
        spare = self.minds_others and ITEMS[DISH] not in theirs
        return fetched + [("fetch", "a dish")] * spare

    def _needed_soon(self, around: Surroundings, lacks_onion: bool, lacks_dish: bool) -> bool:
        """Whether to stand with it is better than to lay it down, where one is at the pots."""
        cooks = any(one.mine for one in around.stations if one.station == STATIONS[POT])
        waits = not lacks_onion if around.holds == ITEMS[DISH] else not lacks_dish
        return cooks and waits


def _inside(pot: Fixture) -> int:
    """How many ingredients are in a pot."""
    return int(AMOUNT[CONTENTS.index(pot.inside or ITEMS[NOTHING])])


# Cooks.

INSISTS = 6  # steps


class Cook(Script):
    """Does whatever is next, alone if need be: fills pots, plates, serves, hands things over.

    Of what can be done it does the most urgent; whatever others already hold it leaves to them.
    Who is in its way it walks around, or makes room for now and then. Now and then it insists on
    its way for a few steps, so that two of a kind do not dodge each other for ever. With chance
    `epsilon` it acts at random instead.
    """

    brings = True  # ingredients
    plates = True  # and serves
    yields = True
    effort = 1.0  # the part of steps in which it does anything

    def __init__(self, env: Overcooked, epsilon: float = 0.0) -> None:
        super().__init__(env)
        self.spec, self.epsilon = env.view_spec, float(epsilon)
        self.shape = env.view_spec.rows, env.view_spec.cols
        self.floor = ~env.terrain.wall
        self.rooms = _rooms(self.floor)
        self.reach = np.stack([beside(room) for room in self.rooms])
        self.joint = self.reach.sum(0) > 1  # counters between two rooms

    def begin(self, key: Key[Array, ""]) -> Int[Array, ""]:
        """It insists on nothing."""
        return jnp.int32(0)

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Array
    ) -> tuple[Int[Array, ""], Array]:
        """A step toward what is to be done next, or the deed itself."""
        k_mood, k_way, k_yield = (random.bits(key, 3)[n] for n in range(3))
        kitchen = Kitchen(self.spec, view.cells)
        here = kitchen.plane("occupant") == MYSELF
        others = kitchen.plane("occupant") == SOMEBODY
        held = jnp.max(jnp.where(here, kitchen.plane("holding"), 0))
        room = jnp.argmax((jnp.asarray(self.rooms) & here[None]).any((1, 2)))
        reach = jnp.asarray(self.reach)[room]
        targets, useful = self._wanted(kitchen, held, others, reach)
        action, insists = self._go(
            here, others, kitchen.plane("facing"), targets, useful, k_way, k_yield, memory
        )
        lazy = random.bernoulli_from_bits(k_mood, random.threshold(jnp.float32(1 - self.effort)))
        action = jnp.where(lazy, STAY, action)
        whim = random.bernoulli_from_bits(
            k_mood * jnp.uint32(2654435761), random.threshold(jnp.float32(self.epsilon))
        )
        anything = random.randint_from_bits(k_way, jnp.int32(len(legal)))
        return jnp.where(whim, anything, action).astype(jnp.int32), insists

    def _wanted(
        self, kitchen: Kitchen, held: Int[Array, ""], others: Mask, reach: Mask
    ) -> tuple[Mask, Mask]:
        """The cells to use next, and those of them that are of use at once."""
        theirs = jnp.where(others, kitchen.plane("holding"), NOTHING)
        pots, started, ready = kitchen.station("pot") & reach, kitchen.started, kitchen.ready
        cooks_here, serves_here = pots.any(), (kitchen.station("hatch") & reach).any()
        handed = kitchen.free & reach & jnp.where(self.joint.any(), self.joint, True)
        item = kitchen.plane("item")
        shared = jnp.asarray(self.joint)
        away = shared & ~cooks_here  # what lies between the rooms, for who cannot reach a pot
        open_ = jnp.sum(jnp.where(kitchen.room, FULL - kitchen.inside, 0))
        onions = jnp.sum((theirs == ONION) | (theirs == TOMATO)) + jnp.sum(away & (item == ONION))
        dishes = jnp.sum(theirs == DISH) + jnp.sum(away & (item == DISH))
        soups = jnp.sum(started)
        most = jnp.sum(kitchen.station("pot"))
        needs_dish = (soups > dishes) & self.plates
        needs_onion = (open_ > onions) & self.brings
        spare_dish = (dishes < most) & self.plates & (open_ < FULL * most)
        dish, onion = (kitchen.source(kind) & reach for kind in (DISH, ONION))
        tomato = kitchen.source(TOMATO) & reach
        onion = jnp.where(onion.any(), onion, tomato)
        dish, onion = (jnp.where(cooks_here, one, one & ~shared) for one in (dish, onion))
        fetch = _first(
            (kitchen.soups & reach & serves_here & self.plates),
            dish & needs_dish,
            onion & needs_onion,
            dish & spare_dish,
        )
        pot = _first(ready & reach, started & reach)
        bring = _first(kitchen.room & reach, handed & ~cooks_here, handed & needs_dish)
        plate = _first(pot, handed & ~cooks_here, handed & needs_onion)
        serve = _first(kitchen.station("hatch") & reach, handed)
        targets = jnp.where(held == NOTHING, fetch, bring)
        targets = jnp.where(held == DISH, plate, jnp.where(held >= SOUP, serve, targets))
        waits = (held == DISH) & kitchen.station("pot") & ~ready
        return targets, targets & ~waits

    def _go(
        self,
        here: Mask,
        others: Mask,
        facing: Int[Array, "rows cols"],
        targets: Mask,
        useful: Mask,
        way: Array,
        whim: Array,
        insists: Int[Array, ""],
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """Face a target beside one and use it; else walk to a cell beside one.

        Who meets somebody `insists` on its way now and then, for a few steps.
        """
        heading = jnp.max(jnp.where(here, facing, 1)) - 1
        sides = jnp.stack([(here & floods.moved(targets, n)).any() for n in range(4)])
        now = jnp.stack([(here & floods.moved(useful, n)).any() for n in range(4)])
        best = jnp.where(now.any(), now, sides)
        deed = jnp.where(now[heading], INTERACT, STAY)
        turn = 1 + jnp.argmax(best)
        stand = _beside_mask(targets) & jnp.asarray(self.floor)
        around, found = self._step(stand & ~others, others, here, way)
        straight, known = self._step(stand, jnp.zeros_like(others), here, way)
        pressed = straight
        if self.yields:
            near = (here & _beside_mask(_beside_mask(others))).any()
            meets = near | (around != straight)
            around = jnp.where(meets & (whim >> 30 == 0), STAY, around)  # who goes first?
            pressed = jnp.where(whim >> 31 == 0, self._aside(here, others, way), STAY)
            begins = (insists == 0) & meets & (whim >> 29 == 1)
            insists = jnp.where(begins, INSISTS, jnp.maximum(insists - 1, 0))
        walk = jnp.where(found, around, jnp.where(known, pressed, STAY))
        walk = jnp.where((insists > 0) & known, straight, walk)
        idle = self._aside(here, others, way) if self.yields else jnp.int32(STAY)
        rest = jnp.where((whim >> 28 == 0) & _crowded(here, others), idle, STAY)
        action = jnp.where(sides.any(), jnp.where(best[heading], deed, turn), walk)
        return jnp.where(targets.any(), action, rest).astype(jnp.int32), insists

    def _step(
        self, goal: Mask, others: Mask, here: Mask, word: Array
    ) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """The first step of a shortest way over the floor, and whether there is one."""
        rows, cols = self.shape
        cell = jnp.argmax(here.ravel())
        blocked = ~jnp.asarray(self.floor) | others
        wide = [
            jax.lax.dynamic_slice(
                jnp.pad(mask, ((rows - 1,) * 2, (cols - 1,) * 2), constant_values=outside),
                (cell // cols, cell % cols),
                (2 * rows - 1, 2 * cols - 1),
            )
            for mask, outside in ((goal, False), (blocked, True))
        ]
        step, found = paths.step_toward(wide[0], wide[1], (rows - 1, cols - 1), word)
        toward = jnp.asarray(BY_COMPASS)[jnp.maximum(step - turning.FORWARD, 0)]
        return jnp.where(step == turning.STAY, STAY, toward).astype(jnp.int32), found

    def _aside(self, here: Mask, others: Mask, word: Array) -> Int[Array, ""]:
        """A step to any free cell beside one."""
        free = jnp.asarray(self.floor) & ~others
        ways = jnp.stack([(here & floods.moved(free, n)).any() for n in range(4)])
        return jnp.where(ways.any(), 1 + paths.one_of(ways, word), STAY).astype(jnp.int32)


class Supplier(Cook):
    """Brings ingredients to the pots and leaves dishes and soups to others."""

    plates = False


class Waiter(Cook):
    """Plates soups and serves them, and leaves the ingredients to others."""

    brings = False


class Lazy(Cook):
    """A cook that does something in one step of three."""

    effort = 1 / 3


class Stubborn(Cook):
    """A cook that never makes room: it walks on until the way is free."""

    yields = False


def _first(*masks: Mask) -> Mask:
    """The first of the masks with any cell, else none."""
    found = masks[-1]
    for mask in reversed(masks[:-1]):
        found = jnp.where(mask.any(), mask, found)
    return found


def _crowded(here: Mask, others: Mask) -> Bool[Array, ""]:
    """Whether somebody stands next to one."""
    return (here & _beside_mask(others)).any()


def _beside_mask(mask: Mask) -> Mask:
    """Cells next to one of the mask."""
    return jnp.stack([floods.moved(mask, way) for way in range(4)]).any(0)


def _rooms(floor: np.ndarray) -> np.ndarray:
    """The parts of the floor that hang together, as masks."""
    rooms, left = [], floor.copy()
    while left.any():
        room = np.zeros_like(floor)
        room.flat[np.flatnonzero(left)[0]] = True
        while (grown := (room | beside(room)) & floor).sum() > room.sum():
            room = grown
        rooms.append(room)
        left &= ~room
    return np.stack(rooms)


SCRIPTS = {
    "cook": Cook,
    "supplier": Supplier,
    "waiter": Waiter,
    "lazy": Lazy,
    "stubborn": Stubborn,
}
PLANS = KitchenPlans
SKILLS = (
    Fetch("fetch", "Take something from where it is kept, or off the nearest counter."),
    FillPot("fill_pot", "Put the onion or tomato you hold into a pot that has room."),
    StartPot("start_pot", "Start a pot, in kitchens where pots have to be started."),
    PlateSoup("plate_soup", "Wait beside a pot until its soup is ready, and take it on your dish."),
    Serve("serve", "Bring the soup you hold to the hatch."),
    WaitAside("wait", "Stay for some steps.", steps=1),
    PutDown("put_down", "Put what you hold on the nearest free counter."),
)
