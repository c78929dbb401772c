"""Fake models for minds that choose plans: any plan by lot, or by a rule what pays most now.

They are the control arms of such minds. `random` draws among all plans of the menu, possible or
not, and where its plan is refused among those that are possible. `greedy` passes on what others can
use, makes what it can, gathers what is worth most, and else looks around; in social stages it does
what the script of the world does. `best` is the same.
"""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sociarium import catalogue
from sociarium.charters.society import Society
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.percept import Percept
from sociarium.envs.frontier.frontier import Frontier
from sociarium.language.menus import Menu, MenuItem
from sociarium.language.models.requests import Completion, Request, Usage
from sociarium.language.tokens import count_tokens
from sociarium.players import roster
from sociarium.players.minds.fake_model import LEVELS, SAID, FakeModel
from sociarium.players.minds.plan_parts import WAIT, reason_against
from sociarium.players.planning.skill_set import declared
from sociarium.players.planning.surroundings import SurroundingsReader
from sociarium.players.planning.vocabulary import CRAFT, DUMP, GATHER, JOB, PlanChecker
from sociarium.players.scripted.frontier import ARMFUL, Trader

ANY_LEGAL = "random?legal=1"
EXPLORE = "explore"
LAST_RESORTS = ("zap", EXPLORE, WAIT)
SOCIAL = ("signer", "negotiator", "loner")  # policies of scripts, the first that suits a charter
LOOKS, WAITS = 4, 2  # steps
BLOCKED = "blocked"  # how a skill ends where somebody is in the way
STALE = 10  # steps after which a cell is worth another look
MOST_STALE = 0.2  # of the map, before one looks around rather than waits


def plan_script(level: str, env: Environment[Any, Any]) -> roster.Seat:
    """Who acts where a menu has no skills: the script of the world, with a policy for its charter.

    That is anybody legal where the catalogue names none, and at random.
    """
    if level not in LEVELS:
        raise UnknownName("level", level, LEVELS)
    random_seat = roster.chair(ANY_LEGAL)
    if level == "random" or not env.id:
        return random_seat
    usual = roster.parse(catalogue.find(env.id).cast)[0]
    tried = [usual]
    if isinstance(env, Society):
        script = f"{usual.kind}:{usual.ref}"
        tried += [roster.chair(f"{script}?social={policy}") for policy in SOCIAL]
    for seat in tried:
        try:
            roster.player(seat, env)
            return seat
        except BadArgument:  # its social policy needs another charter
            continue
    return random_seat


class GreedyRule:
    """What pays most now, by what a player perceives and by the tables of its task."""

    def __init__(self, env: Environment[Any, Any], level: str = "greedy") -> None:
        world = env.world if isinstance(env, Society) else env
        self._world = world if isinstance(world, Frontier) else None
        self._trader = Trader(world) if isinstance(world, Frontier) else None
        self._checker = PlanChecker(env)
        plans = declared(world, "PLANS")
        self._plans = None if plans is None else plans(minds_others=level == "best")
        self._surroundings = SurroundingsReader(env)

    def choice(self, menu: Menu, percept: Percept) -> dict[str, Any]:
        """An answer to a menu with plans."""
        items = [one for one in menu.items if not reason_against(one, percept, self._checker)]
        plans = {
            (one.fields["skill"], one.fields.get("thing", "")): one
            for one in items
            if "skill" in one.fields and not one.needs
        }
        found = self._of_goods(plans, percept) if self._world else None
        around = self._surroundings.read(percept) if self._plans else None
        if self._plans is not None and around is not None:
            wished = None if percept.status == BLOCKED else self._plans.next(plans, around)
            found = plans.get(wished or ("", ""))
        elif found is None:
            usual = [one for (skill, _), one in plans.items() if skill not in LAST_RESORTS]
            found = usual[0] if usual and not self._world else None
        if found is not None:
            return {"choice": found.id}
        looks = plans.get((EXPLORE, "")), LOOKS
        waits = plans.get((WAIT, "")), WAITS
        moves = _stale(percept) or self._in_the_way(percept)
        for item, steps in (looks, waits) if moves else (waits, looks):
            if item is not None:
                return {"choice": item.id, "steps": steps}
        return {"choice": (items or list(menu.items))[0].id}

    def _of_goods(
        self, plans: Mapping[tuple[str, str], MenuItem], percept: Percept
    ) -> MenuItem | None:
        """Pass on, make, gather: the first that is possible."""
        trader, world = self._trader, self._world
        assert trader is not None and world is not None
        job = world.jobs.index(str(percept.own[JOB]))
        bag = np.array([int(percept.own[kind]) for kind in world.kinds])
        for number, kind in enumerate(world.kinds):
            if trader.passes[job, number] and (DUMP, kind) in plans:
                return plans[DUMP, kind]
        makes = self._makes(job, bag)
        for number, place in enumerate(world.workplaces, 1):
            if makes[number] and (CRAFT, place) in plans:
                return plans[CRAFT, place]
        worth = self._worth(job, bag)
        best = sorted(range(len(world.kinds)), key=lambda kind: -worth[kind])
        for number in best:
            if worth[number] > 0 and (GATHER, world.kinds[number]) in plans:
                return plans[GATHER, world.kinds[number]]
        return None

    def _in_the_way(self, percept: Percept) -> bool:
        """Whether one stands on what one left for others, who cannot enter the cell."""
        if self._trader is None or self._world is None or percept.home is None:
            return False
        row, col = percept.home
        passes = self._trader.passes[self._world.jobs.index(str(percept.own[JOB]))]
        kinds = [kind for kind, one in zip(self._world.kinds, passes, strict=True) if one]
        return any(percept.view[kind][row][col] not in (0, "none") for kind in kinds)

    def _makes(self, job: int, bag: np.ndarray) -> np.ndarray:
        """Which workplaces pay and have all they take; the first is none."""
        trader = self._trader
        assert trader is not None
        after = bag - trader.inputs + trader.outputs
        able = (bag >= trader.inputs).all(1) & (after <= trader.capacity[job]).all(1)
        able = able & trader.pays
        able[0] = False
        return able

    def _worth(self, job: int, bag: np.ndarray) -> np.ndarray:
        """What another unit of each kind is worth: by itself, and for what it lets one make."""
        trader = self._trader
        assert trader is not None
        worth = np.asarray(trader.params.worth)
        gain = trader.outputs @ worth.max(0) - trader.inputs @ worth.max(0)
        found = np.where(trader.takes[job], worth[job], 0.0)
        for number in np.flatnonzero(trader.pays):
            takes = trader.inputs[number] > 0
            both = (trader.inputs[number] + trader.outputs[number]) > 0
            if not takes.any() or (trader.capacity[job][both] == 0).any():
                continue
            least = bag[takes].min()
            found += takes * (bag <= least) * gain[number]  # what is lacking comes first
            found *= ~(takes & (bag - least >= ARMFUL))
        return found * trader.takes[job]


class FakePlanner(FakeModel):
    """Answers for one seat with plans, by lot or by the rule."""

    def __init__(
        self,
        env: Environment[Any, Any],
        level: str,
        script: roster.Seat,
        seat: int,
        identity: tuple[int, int, int],
    ) -> None:
        super().__init__(env, script, seat, identity)
        self._rule = None if level == "random" else GreedyRule(env, level)
        self._checker = PlanChecker(env)

    async def complete(self, request: Request) -> Completion:
        """A plan; other roles get a fixed answer."""
        if request.percept is None or request.menu is None:
            return await super().complete(request)
        answer = self._answer(request, request.menu, request.percept)
        thoughts = dict.fromkeys(request.thoughts(request.schema), SAID)
        text = json.dumps({**thoughts, **answer})
        return Completion(text, Usage(request.prompt_tokens, count_tokens(text)), model="fake")

    def _answer(self, request: Request, menu: Menu, percept: Percept) -> dict[str, Any]:
        if self._rule is None:
            lot = random.Random(request.address.hash(*self.identity))
            items = _simple(menu.items)
            if request.address.attempt:  # its last answer was refused
                possible = [x for x in items if not reason_against(x, percept, self._checker)]
                items = possible or items
            return {"choice": lot.choice(items).id}
        if any("skill" not in item.fields for item in menu.items):
            action = self.action(percept)
            if action in menu.by_id and (action != "stay" or not _has_plans(menu)):
                return {"choice": action}
        return self._rule.choice(menu, percept)


def _simple(items: Sequence[MenuItem]) -> Sequence[MenuItem]:
    """Choices that need nothing besides, if there are any."""
    return [item for item in items if not item.needs] or items


def _has_plans(menu: Menu) -> bool:
    return any("skill" in item.fields for item in menu.items)


def _stale(percept: Percept) -> bool:
    """Whether much of the map has not been seen for a while."""
    if percept.map is None:
        return True
    seen = np.asarray(percept.map.seen)
    return bool((seen < percept.step - STALE).mean() > MOST_STALE)
