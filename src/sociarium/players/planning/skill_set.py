"""Everything one can be told to do in a world, and how an order is followed step by step."""

import importlib
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium import catalogue
from sociarium.charters.society import Society
from sociarium.core import random
from sociarium.core.actions import STAY, Actions
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.players.planning import routes
from sociarium.players.planning.map_memory import UNSEEN, MapMemory
from sociarium.players.planning.skill import (
    NONE,
    Intent,
    Setting,
    Situation,
    Skill,
    SkillCall,
    SkillStatus,
    Status,
)
from sociarium.players.planning.skills import ANYWHERE, Aimed, Collect, Deed

MOST = 2**31  # numbers of an order are smaller


def own_skills(env: Environment[Any, Any]) -> tuple[Skill, ...]:
    """The skills that a world of the catalogue declares beside its scripts, or for every verb."""
    own = declared(env, "SKILLS")
    return deeds(env.actions) if own is None else own


def declared(env: Environment[Any, Any], name: str) -> Any:
    """What a world of the catalogue declares under a name beside its scripts; nothing where not."""
    scripts = catalogue.find(env.id).scripts if env.id else ""
    return getattr(importlib.import_module(scripts), name, None) if scripts else None


def social_skills(society: Society) -> tuple[Skill, ...]:
    """A skill for every verb among the actions of a charter for which one can wait."""
    awaited = [article for article in society.charter.articles if article.comes_again]
    return deeds(tuple(action for article in awaited for action in article.actions))


def deeds(actions: Actions) -> tuple[Skill, ...]:
    """A skill for every verb among these actions but those of walking, and of beams."""
    known = {"stay", "move", "turn", *(s.verb for s in ANYWHERE if isinstance(s, Aimed))}
    verbs = dict.fromkeys(action.verb for action in actions if action.verb not in known)
    return tuple(
        Deed(verb, f"{verb.capitalize()}, as soon as you may.", verb=verb, waits=True)
        for verb in verbs
    )


class SkillSet:
    """The skills that suit a world: those for any, then its own, then social ones.

    A world outside the catalogue can bring its `own`. `names` leaves out all other skills, which
    makes acting faster. One function follows any order, so that players with different orders can
    be mapped over.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        own: tuple[Skill, ...] | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        world = env.world if isinstance(env, Society) else env
        own = own_skills(world) if own is None else own or deeds(world.actions)
        takes = [name for skill in own if isinstance(skill, Collect) for name in skill.taken]
        strange = all(type(skill) is Deed for skill in own)
        self.setting = Setting(env, tuple(dict.fromkeys(takes)), strange=strange)
        social = social_skills(env) if isinstance(env, Society) else ()
        suiting = [s for s in (*ANYWHERE, *own, *social) if s.suits(self.setting)]
        self.env, self.map_tracker = env, self.setting.map_tracker
        self.skills = tuple({skill.name: skill for skill in suiting}.values())
        if names:
            self.skills = tuple(self.named(name) for name in dict.fromkeys(names))

    def named(self, name: str) -> Skill:
        """The skill of this name."""
        return self.skills[self._number(name)]

    def order(self, name: str, *, limit: int = 0, **told: Any) -> SkillCall:
        """An order in words, from somebody who may know no better.

        A `place` is (row, column), a `thing` a name, a `player` a seat counted from 0, and `steps`
        a whole number.
        """
        number = self._number(name)
        skill = self.skills[number]
        asks, things = skill.asks(self.setting), skill.things(self.setting)
        told = {what: value for what, value in told.items() if value is not None}
        allowed = {*asks, *(["thing"] if things else [])}
        either = {"player", "thing"} <= set(asks) and {"player", "thing"} & set(told)
        needed = {what for what in asks if what != "steps" and not (either and what not in told)}
        if not needed <= set(told) <= allowed:
            wants = ", ".join(asks).replace("player, thing", "player or thing") or "nothing"
            raise BadArgument(f"{name} asks for {wants}; given {', '.join(told) or 'nothing'}")
        if "thing" in told and told["thing"] not in things:
            raise UnknownName(f"thing to {name}", str(told["thing"]), things)
        return SkillCall.of(
            number,
            place=_whole(name, "place", told.get("place", (NONE, NONE)), many=2),
            thing=things.index(told["thing"]) if "thing" in told else NONE,
            player=_whole(name, "player", told.get("player", NONE))[0],
            steps=_whole(name, "steps", told.get("steps", skill.steps))[0],
            limit=_whole(name, "limit", limit)[0],
        )

    def begin(self) -> SkillStatus:
        """An order that has just been given."""
        return SkillStatus(jnp.int32(Status.RUNNING), jnp.int32(0), jnp.int32(NONE))

    def idle(self) -> SkillStatus:
        """No order to follow."""
        return SkillStatus(jnp.int32(Status.SUCCESS), jnp.int32(0), jnp.int32(NONE))

    def act(
        self,
        key: Key[Array, ""],
        view: View,
        legal: Bool[Array, " actions"],
        memory: MapMemory,
        order: SkillCall,
        running: SkillStatus,
        interrupted: Bool[Array, ""] | bool = False,
    ) -> tuple[Int[Array, ""], SkillStatus]:
        """The next action under an order and how far that is; who has no order to follow stays.

        The map must hold what is in view. The step in which an order ends is not its own: the
        player stays unless it is given another order.
        """
        view = self.map_tracker.centred(view, memory.cell)
        now = Situation(random.bits(key), view, legal, memory, order, running)
        intent = self._intent(now)
        status = self._status(now, intent, jnp.asarray(interrupted))
        action, able = self._move(now, intent)
        here = memory.cell < self.map_tracker.nowhere
        status = jnp.where((status == Status.RUNNING) & here & ~able, Status.BLOCKED, status)
        goes_on = status == Status.RUNNING
        action = jnp.where(goes_on & able & legal[action], action, STAY).astype(jnp.int32)
        return action, SkillStatus(
            status=status.astype(jnp.int32),
            elapsed=running.elapsed + goes_on,
            last=jnp.where(goes_on, action, running.last),
        )

    def judged(
        self,
        view: View,
        legal: Bool[Array, " actions"],
        memory: MapMemory,
        order: SkillCall,
        running: SkillStatus,
        interrupted: Bool[Array, ""] | bool = False,
    ) -> SkillStatus:
        """How far an order is after a step, with the map as it is now; nothing is decided.

        Whoever asks this after each step gives no step away when an order ends. That there is no
        way is found out only by `act`.
        """
        view = self.map_tracker.centred(view, memory.cell)
        now = Situation(jnp.uint32(0), view, legal, memory, order, running)
        status = self._status(now, self._intent(now), jnp.asarray(interrupted))
        return SkillStatus(status.astype(jnp.int32), running.elapsed, running.last)

    def sensible(
        self, view: View, legal: Bool[Array, " actions"], memory: MapMemory
    ) -> dict[str, Bool[Array, " things"]]:
        """For each conditional skill, with which of its things an order would go on.

        One that is about nothing has one entry.
        """
        view, found = self.map_tracker.centred(view, memory.cell), {}
        for number, skill in enumerate(self.skills):
            if skill.conditional:
                calls = [
                    SkillCall.of(number, thing=thing if skill.asks(self.setting) else NONE)
                    for thing in range(max(1, len(skill.things(self.setting))))
                ]
                at_first = [
                    Situation(jnp.uint32(0), view, legal, memory, call, self.begin())
                    for call in calls
                ]
                wants = [skill.intend(self.setting, now) for now in at_first]
                found[skill.name] = jnp.stack([want.valid & ~want.hopeless for want in wants])
        return found

    @cached_property
    def sensible_program(self) -> Callable[..., dict[str, Bool[Array, " things"]]]:
        """The same, compiled."""
        return jax.jit(self.sensible)

    def _number(self, name: str) -> int:
        names = tuple(skill.name for skill in self.skills)
        if name not in names:
            raise UnknownName("skill", name, names)
        return names.index(name)

    def _intent(self, now: Situation) -> Intent:
        """What the ordered skill wants; an order of no skill is invalid."""
        known = (now.order.skill >= 0) & (now.order.skill < len(self.skills))
        branches = [
            lambda now, skill=skill: skill.intend(self.setting, now) for skill in self.skills
        ]
        intent = jax.lax.switch(now.order.skill, branches, now)
        return Intent(**{**vars(intent), "valid": intent.valid & known})

    def _status(self, now: Situation, intent: Intent, interrupted: Bool[Array, ""]) -> Array:
        """Whether the order goes on, as far as that can be told without looking for a way."""
        order, running = now.order, now.running
        usual = jnp.maximum(self.setting.limit, order.steps)
        late = running.elapsed >= jnp.where(order.limit > 0, order.limit, usual)
        status = jnp.where(late, Status.TIMEOUT, Status.RUNNING)
        status = jnp.where(interrupted, Status.INTERRUPTED, status)
        status = jnp.where(intent.done, Status.SUCCESS, status)
        status = jnp.where(intent.valid, status, Status.INVALID)
        return jnp.where(running.status == Status.RUNNING, status, running.status)

    def _move(self, now: Situation, intent: Intent) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """The deed or the first step of the way, and whether there is anything to do."""
        setting, memory = self.setting, now.memory
        if setting.move_set is None:
            return jnp.maximum(intent.deed, STAY), (intent.deed != NONE) & ~intent.hopeless
        passable = ~setting.solid(memory) & ~setting.others(now)
        known = passable & (memory.known != UNSEEN)
        route = routes.shortest(
            jnp.stack([intent.goal, intent.goal, intent.fallback]),
            jnp.stack([known & ~(intent.shun & ~intent.goal), known, passable]),
            memory.cell,
            setting.wraps,
        )
        walk = setting.move_set.step(route.ways, memory.heading, intent.looks, now.word)
        found = route.length != routes.NO_WAY
        walk = jnp.where(found, walk, jnp.maximum(intent.otherwise, STAY))
        able = found | (intent.otherwise != NONE)
        action = jnp.where(intent.deed == NONE, walk, intent.deed)
        return action.astype(jnp.int32), ((intent.deed != NONE) | able) & ~intent.hopeless


def _whole(name: str, what: str, given: Any, many: int = 1) -> tuple[int, ...]:
    """One or more whole numbers of a size that an order can hold."""
    numbers = given if isinstance(given, list | tuple) else (given,)
    fits = all(isinstance(n, int | np.integer) and abs(int(n)) < MOST for n in numbers)
    if len(numbers) != many or not fits:
        wants = "a whole number" if many == 1 else "a row and a column, two whole numbers"
        raise BadArgument(f"{what} of {name} must be {wants}; given {given!r}")
    return tuple(int(n) for n in numbers)


@lru_cache(maxsize=32)
def skills_of(env: Environment[Any, Any]) -> SkillSet:
    """The skills of a world; equal worlds share them, and their programs."""
    return SkillSet(env)
