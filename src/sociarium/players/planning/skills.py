"""The skills there are: those for any world, and kinds of which worlds declare their own."""

import abc
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from sociarium.core.actions import STAY, Actions, actions_by_object
from sociarium.players.planning import floods
from sociarium.players.planning.aiming import Beam, Tool
from sociarium.players.planning.map_memory import UNSEEN
from sociarium.players.planning.sight import Sight
from sociarium.players.planning.skill import NONE, Ask, Intent, Setting, Situation, Skill

NEAR = 1  # whoever follows stays this near
OF_STATIONS = ("station", "contents", "work")  # roles of planes


@dataclass(frozen=True)
class Walker(Skill):
    """A skill of worlds in which one can walk."""

    def suits(self, setting: Setting) -> bool:
        """Only where one can walk."""
        return setting.move_set is not None


def shunned(setting: Setting, now: Situation) -> Bool[Array, "rows cols"]:
    """What one would take by walking onto it, and was not told to."""
    return setting.things.any_of(now.memory, setting.takes)


def lasted(setting: Setting, now: Situation) -> Bool[Array, ""]:
    """Whether the order has been followed for as many steps as it says, or as the limit allows."""
    steps = jnp.where(now.order.steps > 0, now.order.steps, setting.limit)
    return now.running.elapsed >= steps


@dataclass(frozen=True)
class GoTo(Walker):
    """Walks to a place."""

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """A place."""
        return ("place",)

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To stand there."""
        cell, inside = setting.place(now.order)
        return setting.intent(
            valid=inside,
            done=now.memory.cell == cell,
            goal=setting.map_tracker.spot(cell),
            shun=shunned(setting, now),
        )


@dataclass(frozen=True)
class Wait(Skill):
    """Stays."""

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """A number of steps."""
        return ("steps",)

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """Nothing, for a while."""
        return setting.intent(
            valid=now.order.steps > 0,
            done=now.running.elapsed >= now.order.steps,
            deed=jnp.int32(STAY),
        )


@dataclass(frozen=True)
class Explore(Walker):
    """Walks to where the unknown begins; where all is known, to what was seen longest ago."""

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """For how long."""
        return ("steps",)

    def suits(self, setting: Setting) -> bool:
        """Where one does not see everything from wherever one is."""
        return super().suits(setting) and setting.map_tracker.board.window != "fixed"

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To see what one has not seen."""
        memory = now.memory
        unseen, here = memory.known == UNSEEN, setting.map_tracker.here(memory)
        floor = ~unseen & ~setting.solid(memory)
        longest = jnp.where(floor, memory.seen_at, jnp.iinfo(jnp.int32).max)
        assert setting.move_set is not None
        blocked = setting.sight.blocked(now.view)
        return setting.intent(
            done=lasted(setting, now),
            goal=floor & ~here & setting.within(unseen, 1),
            fallback=floor & ~here & (longest == longest.min()),
            shun=shunned(setting, now),
            otherwise=setting.move_set.stroll(blocked, setting.ego_origin, now.word),
            looks=jnp.bool_(True),
        )


@dataclass(frozen=True)
class Collect(Walker):
    """Walks onto a thing to take it, and picks it up where the world has an action for that."""

    taken: tuple[str, ...] = ()
    verb: str = "pick"  # of the action that takes what one stands on

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """Which thing, if there are several."""
        return ("thing",) if len(self.things(setting)) > 1 else ()

    def things(self, setting: Setting) -> tuple[str, ...]:
        """Those declared, else all that can be taken; in a strange world any ground but floor."""
        picked = actions_by_object(setting.actions, self.verb)
        pick = tuple(name for name in setting.things.names if name in picked)
        return self.taken or setting.takes + pick or setting.things.grounds[1:] * setting.strange

    def suits(self, setting: Setting) -> bool:
        """Where there is something to take."""
        return super().suits(setting) and bool(self.things(setting))

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To stand where one is known to lie, and to pick it up."""
        names, picked = self.things(setting), actions_by_object(setting.actions, self.verb)
        number, thing, valid, lies = meant(setting, now, names)
        pick = jnp.asarray([picked.get(name, NONE) for name in names])[number]
        able = now.legal[pick] & (pick != NONE)
        there = (lies & setting.map_tracker.here(now.memory)).any()
        begun = now.running.elapsed > 0
        return setting.intent(
            valid=valid,
            done=setting.things.taken(now.memory, thing) & begun,
            hopeless=there & ~able,
            deed=jnp.where(there & able, pick, NONE),
            goal=lies,
            shun=shunned(setting, now),
        )


@dataclass(frozen=True)
class Avoid(Walker):
    """Walks away until a player, or everything of a kind, is farther off than so many steps."""

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """Whom or what, and how far."""
        return ("player", "thing", "steps") if self.things(setting) else ("player", "steps")

    def things(self, setting: Setting) -> tuple[str, ...]:
        """Anything but floor, walls, stations and what is in them."""
        planes = setting.map_tracker.planes
        fixed = [plane.name for plane in planes if plane.role in OF_STATIONS]
        stays = {name for plane in fixed for name in setting.things.of(plane)}
        stays |= {*setting.things.surroundings}
        return tuple(name for name in setting.things.names if name not in stays)

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To be farther away."""
        cell, _, another = setting.seen(now)
        known, things = jnp.bool_(False), jnp.zeros_like(now.memory.known, bool)
        if names := self.things(setting):
            _, _, known, lies = meant(setting, now, names)
            known = known & (now.order.thing != NONE)  # an order about a player is about no thing
            things = jnp.where(known, lies, False)
        threat = things | (setting.map_tracker.spot(cell) & another)
        close = setting.within(threat, now.order.steps)
        here = setting.map_tracker.here(now.memory)
        return setting.intent(
            valid=(another | known) & (now.order.steps > 0),
            done=~(close & here).any() & here.any(),
            goal=~close & (now.memory.known != UNSEEN),
            fallback=~close,
            shun=(threat | shunned(setting, now)),
        )


@dataclass(frozen=True)
class Guard(Walker):
    """Walks to a place, stays there, and strikes whoever comes within reach of its beam."""

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """A place, and for how long."""
        return ("place", "steps")

    def suits(self, setting: Setting) -> bool:
        """Where there is a beam to strike with."""
        return super().suits(setting) and ZAP.suits(setting)

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To stand there, and to be alone."""
        cell, inside = setting.place(now.order)
        there = now.memory.cell == cell
        tool = ZAP.tool(setting.actions, setting.sight)
        strike, bears = tool.aim(setting.sight.others(now.view), now.view, now.legal)
        return setting.intent(
            valid=inside,
            done=there & lasted(setting, now),
            deed=jnp.where(there, jnp.where(bears, strike, STAY), NONE),
            goal=setting.map_tracker.spot(cell),
            shun=shunned(setting, now),
        )


@dataclass(frozen=True)
class Follow(Walker):
    """Keeps beside a player; goes to where it was last seen if it is out of sight."""

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """Whom, and for how long."""
        return ("player", "steps")

    def suits(self, setting: Setting) -> bool:
        """Where one sees who is who."""
        return super().suits(setting) and setting.sight.seats > 1

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To be beside it."""
        goal, lost, another = approached(setting, now)
        return setting.intent(
            valid=another,
            done=lasted(setting, now),
            hopeless=lost,
            goal=goal,
            shun=shunned(setting, now),
        )


@dataclass(frozen=True)
class Aimed(Walker):
    """Brings a beam to bear on a player or a thing, from as near as it has to be.

    It ends with the first shot, or `until_gone` when a shot has removed what it was fired at.
    """

    verb: str = ""
    beam: tuple[int, int] = (3, 1)  # length and half-width
    at: tuple[str, ...] = ()  # things; players if none
    stops: tuple[str, ...] = ()  # what ends the beam, beside walls
    until_gone: bool = True

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """Whom; or what, if there is more than one kind."""
        return (("thing",) if len(self.at) > 1 else ()) if self.at else ("player",)

    def things(self, setting: Setting) -> tuple[str, ...]:
        """What it is fired at."""
        return self.at

    def suits(self, setting: Setting) -> bool:
        """Where there is such an action."""
        fires = bool(actions_by_object(setting.actions, self.verb))
        return super().suits(setting) and fires and (bool(self.at) or setting.sight.seats > 1)

    def tool(self, actions: Actions, sight: Sight) -> Tool:
        """The beam, in a world with these actions and views."""
        (action,) = actions_by_object(actions, self.verb).values()
        return Tool(Beam(action, *self.beam), sight, self.stops)

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To have it in the beam, and to fire."""
        tool = self.tool(setting.actions, setting.sight)
        if self.at:
            _, thing, valid, lies = meant(setting, now, self.at)
            here = setting.map_tracker.here(now.memory)
            aside = setting.within(lies & here, 1)  # one cannot aim at what one stands on
            goal, fallback, lost = lies & ~here, (lies | aside) & ~here, jnp.bool_(False)
            code = jnp.asarray(setting.things.code)[thing]
            target = setting.sight.ground(now.view).astype(jnp.int32) == code
        else:
            goal, lost, valid = approached(setting, now)
            fallback, target = goal, setting.looking_at(now)
        deed, bears = tool.aim(target, now.view, now.legal)
        struck = now.running.last == tool.beam.action
        if self.until_gone:
            struck = struck & ~tool.strikes(target, now.view)
        return setting.intent(
            valid=valid,
            done=struck,
            hopeless=lost,
            deed=jnp.where(bears, deed, NONE),
            goal=goal,
            fallback=fallback,
            shun=shunned(setting, now),
        )


@dataclass(frozen=True)
class At(Walker):
    """Walks onto a thing and does what can be done there, once or for as long as it can be done."""

    verb: str = ""
    layer: str = ""  # the plane whose codes are the things, where no action names them
    again: bool = False

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """Which thing."""
        return ("thing",)

    def things(self, setting: Setting) -> tuple[str, ...]:
        """What the action can be done to."""
        if self.layer:
            return setting.things.of(self.layer)
        acts = actions_by_object(setting.actions, self.verb)
        return tuple(name for name in setting.things.names if name in acts)

    def suits(self, setting: Setting) -> bool:
        """Where it can be done to something."""
        return super().suits(setting) and bool(self.things(setting))

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To stand on it, and then to act."""
        names = self.things(setting)
        number, _, valid, lies = meant(setting, now, names)
        acts = actions_by_object(setting.actions, self.verb)
        action = jnp.asarray([acts["" if self.layer else name] for name in names])[number]
        there = (lies & setting.map_tracker.here(now.memory)).any()
        able = there & now.legal[action]
        acted = now.running.last == action
        return setting.intent(
            valid=valid,
            done=acted & ~able if self.again else acted,
            hopeless=there & ~able,
            deed=jnp.where(able, action, NONE),
            goal=lies,
        )


@dataclass(frozen=True)
class Beside(Walker):
    """Stands beside something solid, faces it, and acts; a world says which cells it is about.

    It ends with the act. Whoever stands there before it is of any use waits.
    """

    conditional = True
    verb: str = ""

    def suits(self, setting: Setting) -> bool:
        """Where there is one such action."""
        return super().suits(setting) and len(actions_by_object(setting.actions, self.verb)) == 1

    @abc.abstractmethod
    def targets(self, setting: Setting, now: Situation) -> Bool[Array, "rows cols"]:
        """The cells to stand beside."""

    def ready(self, setting: Setting, now: Situation) -> Bool[Array, "rows cols"]:
        """Those of them with which something can be done now: all, if not said otherwise."""
        return self.targets(setting, now)

    def able(self, setting: Setting, now: Situation) -> Bool[Array, ""]:
        """Whether the player could do it if it stood there: if not said otherwise, it can."""
        return jnp.bool_(True)

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To stand beside it, to face it, and to act."""
        (action,) = actions_by_object(setting.actions, self.verb).values()
        targets, ready = self.targets(setting, now), self.ready(setting, now)
        here, memory = setting.map_tracker.here(now.memory), now.memory
        assert setting.move_set is not None
        sides = jnp.stack([(here & floods.moved(targets, way)).any() for way in range(4)])
        useful = jnp.stack([(here & floods.moved(ready, way)).any() for way in range(4)])
        best = jnp.where(useful.any(), useful, sides)
        faces = best[memory.heading]
        act = jnp.where(useful[memory.heading], action, STAY)
        turn = setting.move_set.step(best, memory.heading, jnp.bool_(True), now.word)
        acted = now.running.last == action
        return setting.intent(
            valid=self.able(setting, now) | acted,
            done=acted,
            hopeless=~targets.any(),
            deed=jnp.where(sides.any(), jnp.where(faces, act, turn), NONE),
            goal=setting.within(targets, 1) & ~setting.solid(memory),
            shun=shunned(setting, now),
        )


@dataclass(frozen=True)
class Deed(Skill):
    """Does one thing wherever one is, by the actions with its `verb`.

    Who cannot do it now gives up, or `waits` until it can.
    """

    verb: str = ""
    waits: bool = False

    def asks(self, setting: Setting) -> tuple[Ask, ...]:
        """Which of the actions with this verb."""
        return ("thing",) if len(self.things(setting)) > 1 else ()

    def things(self, setting: Setting) -> tuple[str, ...]:
        """What the actions are done to."""
        return tuple(actions_by_object(setting.actions, self.verb))

    def suits(self, setting: Setting) -> bool:
        """Where there is such an action."""
        return bool(self.things(setting))

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To do it."""
        acts = actions_by_object(setting.actions, self.verb)
        number, valid = chosen(now.order.thing, tuple(acts))
        action = jnp.asarray(tuple(acts.values()))[number]
        return setting.intent(
            valid=valid,
            done=now.running.last == action,
            hopeless=~now.legal[action] & (not self.waits),
            deed=jnp.where(now.legal[action], action, STAY),
        )


def chosen(thing: Int[Array, ""], names: tuple[str, ...]) -> tuple[Int[Array, ""], Bool[Array, ""]]:
    """Which of the names an order means, and whether it means any; the only one needs no naming."""
    thing = jnp.where((thing == NONE) & (len(names) == 1), 0, thing)
    return jnp.clip(thing, 0, len(names) - 1), (thing >= 0) & (thing < len(names))


def meant(
    setting: Setting, now: Situation, names: tuple[str, ...]
) -> tuple[Int[Array, ""], Int[Array, ""], Bool[Array, ""], Bool[Array, "rows cols"]]:
    """Which of the names an order means, its thing, if it means any, and where that lies."""
    number, valid = chosen(now.order.thing, names)
    thing = jnp.asarray(setting.things.numbered(names))[number]
    return number, thing, valid, setting.things.where(now.memory, thing)


def approached(
    setting: Setting, now: Situation
) -> tuple[Bool[Array, "rows cols"], Bool[Array, ""], Bool[Array, ""]]:
    """Where to go for the ordered player, whether it is lost, and whether it is another at all."""
    cell, in_sight, another = setting.seen(now)
    spot = setting.map_tracker.spot(cell)
    goal = jnp.where(in_sight, setting.within(spot, NEAR) & ~spot, spot)
    in_play = now.memory.cell < setting.map_tracker.nowhere
    lost = ~in_sight & (~spot.any() | (now.memory.cell == cell))
    return goal, lost & in_play, another


ZAP = Aimed("zap", "Walk up to a player and zap it.", verb="zap")
ANYWHERE = (
    GoTo("go_to", "Walk to a place, around what you would take by stepping on it."),
    Collect("collect", "Walk to the nearest thing of a kind that you know of and take it."),
    Avoid("avoid", "Walk away from a player or a kind of thing until it is farther off.", steps=3),
    Guard("guard", "Walk to a place, stay there, and zap who comes near if you can."),
    Follow("follow", "Keep beside a player."),
    ZAP,
    Explore("explore", "Go and see what you have not seen, or not for the longest time."),
    Wait("wait", "Stay for some steps.", steps=1),
)
