"""The plans of a world: what its players can set out to do, and why some plan is impossible now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sociarium.charters.society import Society
from sociarium.core.environment import Environment
from sociarium.core.facets import Crafting, find_facet
from sociarium.core.percept import Percept, Player, SkillOffer
from sociarium.envs.frontier.frontier import Frontier
from sociarium.envs.frontier.task import UNLIMITED
from sociarium.language.menus import Vocabulary
from sociarium.language.spoken import spoken
from sociarium.players.planning.offers import SkillOffers
from sociarium.players.planning.skill_set import own_skills, skills_of
from sociarium.players.planning.skills import Walker
from sociarium.players.planning.surroundings import SurroundingsReader

STEPS = (1, 30)  # how long a plan that takes a number of steps can go on
ANYWHERE_TOO = ("zap", "explore", "wait")  # plans of every world that has them, beside its own
GATHER, CRAFT, DUMP, EAT = "gather", "craft", "dump", "eat"  # skills of the frontier
JOB = "job"
HOLDS_NONE = "you hold none"
SHORTER = {"explore": "See more of the map.", "wait": "Stay."}  # what plans do, in a menu


class GoodsTable:
    """What the jobs of a frontier can carry, and what each kind is worth to them."""

    def __init__(self, world: Frontier) -> None:
        params = world.params()
        self.kinds, self.jobs = world.kinds, world.jobs
        self.recipes = {one.name: one for one in world.recipes}
        self._capacity, self._worth = np.asarray(params.capacity), np.asarray(params.worth)
        self.tools = {kind: data.needs for kind, data in world.task.resources.items()}

    @classmethod
    def of(cls, env: Environment[Any, Any]) -> "GoodsTable | None":
        """The table of a world, if it is a frontier."""
        world = env.world if isinstance(env, Society) else env
        return cls(world) if isinstance(world, Frontier) else None

    def capacity(self, job: str, kind: str) -> int:
        """How many units of a kind somebody with a job can carry."""
        return int(self._capacity[self.jobs.index(job), self.kinds.index(kind)])

    def worth(self, job: str, kind: str) -> float:
        """What a unit is worth to somebody with a job."""
        return float(self._worth[self.jobs.index(job), self.kinds.index(kind)])

    def can_carry(self, job: str, thing: str) -> bool:
        """Whether a job can carry a kind, or all that a workplace takes and gives."""
        recipe = self.recipes.get(thing)
        kinds = [thing] if recipe is None else [*recipe.takes, *recipe.gives]
        return all(self.capacity(job, kind) > 0 for kind in kinds)

    def lines(self, job: str) -> tuple[str, ...]:
        """What a player is told about its own job."""
        least = [kind for kind in self.kinds if not self.capacity(job, kind)]
        limits = {kind: self.capacity(job, kind) for kind in self.kinds}
        some = [f"{units} {spoken(k)}" for k, units in limits.items() if 0 < units < UNLIMITED]
        found = [f"You are a {job}."]
        if some:
            found.append(f"You can carry at most {_all_of(some)}.")
        if least:
            found.append(f"You cannot carry {_all_of(list(map(spoken, least)), 'or')}.")
        worths = [f"{spoken(kind)} {self.worth(job, kind):g}" for kind in self.kinds]
        return (*found, f"What one unit is worth to you: {', '.join(worths)}.")


def plan_vocabulary(env: Environment[Any, Any]) -> Vocabulary:
    """The plans of a world: its own skills, and its actions where no skill does them."""
    world = env.world if isinstance(env, Society) else env
    skill_set = skills_of(env)
    own = {skill.name for skill in own_skills(world)}
    taking = ("collect",) if skill_set.setting.strange else ()
    skills = [s for s in skill_set.skills if s.name in {*own, *taking, *ANYWHERE_TOO}]
    names = {skill.name for skill in skills}
    walks = any(isinstance(skill, Walker) and skill.name != "zap" for skill in skills)
    verbs = {"stay", *(getattr(skill, "verb", "") for skill in skills)} - {""}
    verbs = verbs | {"move", "turn"} if walks else {"stay"}
    offers = [one for one in SkillOffers(skill_set).everything() if one.name in names]
    physical = {action.name for action in world.actions if action.verb != "stay"}
    goods = GoodsTable.of(env)

    def offered(percept: Percept) -> Sequence[SkillOffer]:
        """What somebody with this job could plan, while anything can be done in the world."""
        if not walks or percept.map is None or physical.isdisjoint(percept.legal):
            return ()
        found = [_narrowed(offer, percept, goods) for offer in offers]
        return [one for one in found if one is not None]

    return Vocabulary(offered, frozenset(a.name for a in env.actions if a.verb not in verbs))


def _narrowed(offer: SkillOffer, percept: Percept, goods: GoodsTable | None) -> SkillOffer | None:
    """A skill with the things that a job can carry, and with the other players."""
    things, job = offer.things, str(percept.own.get(JOB, ""))
    if goods is not None and job in goods.jobs:
        known = {*goods.kinds, *goods.recipes}
        things = tuple(x for x in things if x not in known or goods.can_carry(job, x))
        if offer.things and not things:
            return None
    others = [seat for seat in range(len(percept.names)) if seat != percept.seat]
    players = tuple(Player(seat=seat, name=percept.names[seat]) for seat in others)
    return offer.model_copy(
        update={
            "things": things,
            "players": players if offer.players else (),
            "steps": STEPS if offer.steps else None,
            "says": SHORTER.get(offer.name, offer.says),
        }
    )


@dataclass(frozen=True)
class PlanObstacle:
    """Why a plan is impossible now; if none of a thing is known, that is the `unknown` one."""

    why: str
    unknown: str = ""


class PlanChecker:
    """Says why a plan is impossible now, from what its player perceives, remembers and was told."""

    def __init__(self, env: Environment[Any, Any]) -> None:
        self.goods = GoodsTable.of(env)
        crafting = find_facet(env, Crafting)
        self._recipes = () if crafting is None else crafting.recipes
        world = env.world if isinstance(env, Society) else env
        self._own = {skill.name: skill for skill in own_skills(world)}
        self._surroundings = SurroundingsReader(env)

    def obstacle(self, skill: str, thing: str, percept: Percept) -> PlanObstacle | None:
        """What stands in the way of a plan, if anything does."""
        job = str(percept.own.get(JOB, ""))
        if self.goods is not None and job in self.goods.jobs and thing:
            why = self._of_goods(self.goods, job, skill, thing, percept)
            if why:
                return PlanObstacle(why)
        around, own = self._surroundings.read(percept), self._own.get(skill)
        if around is not None and own is not None and (why := own.obstacle(thing, around)):
            return PlanObstacle(why)
        offer = next((one for one in percept.skills if one.name == skill), None)
        if thing and (offer is None or thing not in offer.things):
            if skill in (DUMP, EAT) and self.goods is not None:
                return PlanObstacle(HOLDS_NONE)
            return PlanObstacle("none is in view or on your map", thing)
        return PlanObstacle("it cannot be done now") if offer is None else None

    def _of_goods(
        self, goods: GoodsTable, job: str, skill: str, thing: str, percept: Percept
    ) -> str:
        """What one carries, can carry, and lacks."""
        bag = {kind: _count(percept.own.get(kind, 0)) for kind in goods.kinds}
        if skill in (DUMP, EAT) and thing in bag:
            return "" if bag[thing] else HOLDS_NONE
        if skill == GATHER and thing in bag:
            return _too_much(goods, job, {thing: 1}, bag) or self._lacking(
                goods.tools.get(thing, ()) if self._all_told(percept) else (), bag
            )
        recipe = goods.recipes.get(thing)
        if skill != CRAFT or recipe is None or str(recipe) not in percept.knowledge:
            return ""
        lacks = {k: units for k, units in recipe.takes.items() if bag[k] < units}
        more = {k: units - recipe.takes.get(k, 0) for k, units in recipe.gives.items()}
        return self._lacking((*lacks, *recipe.needs), bag, lacks) or _too_much(
            goods, job, more, bag
        )

    def _all_told(self, percept: Percept) -> bool:
        """Whether a player was told all that is hidden."""
        return len(percept.knowledge) == len(self._recipes)

    def _lacking(
        self, kinds: Sequence[str], bag: Mapping[str, int], units: Mapping[str, int] | None = None
    ) -> str:
        """What one would have to hold, and does not."""
        least = units or {}
        lacks = [kind for kind in dict.fromkeys(kinds) if bag[kind] < least.get(kind, 1)]
        return f"you lack {_all_of(list(map(spoken, lacks)))}" if lacks else ""


def _too_much(goods: GoodsTable, job: str, more: Mapping[str, int], bag: Mapping[str, int]) -> str:
    """What one cannot carry more of."""
    for kind, units in more.items():
        most = goods.capacity(job, kind)
        if units > 0 and not most:
            return f"a {job} cannot carry {spoken(kind)}"
        if units > 0 and bag[kind] + units > most:
            return f"you hold {bag[kind]} {spoken(kind)} and can carry {most}: dump it first"
    return ""


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _all_of(names: Sequence[str], last: str = "and") -> str:
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
