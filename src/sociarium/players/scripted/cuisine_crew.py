"""Schedulers for a crew of Cuisine: the greedy plan, and rolling CP-SAT on the orders known so far.

The rolling one is a fair upper comparison for a model that commands a crew: it knows what everybody
sees, and no order before it is there. It makes a schedule for the orders that are open and plays
it, until an order comes, is met or fails, or the kitchen is not as the schedule has it.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from sociarium.charters.society import Society
from sociarium.core.actions import STAY, action_names
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument, MissingExtra
from sociarium.core.percept import Percept
from sociarium.core.percept_view import ViewReader
from sociarium.core.text import Json
from sociarium.envs.kitchens.begun import KitchenNow, ToolNow, open_orders, waiting
from sociarium.envs.kitchens.cuisine import SLOTS, Cuisine
from sociarium.envs.kitchens.schedule import can_solve, go_on
from sociarium.envs.kitchens.work import Problem
from sociarium.players.planning.crew_scheduling import SECONDS, OpenJob
from sociarium.players.scripted.cuisine import DONE, IDLE, Greedy, KitchenView

COOKS_AN_ORDER = 2  # of the greedy plan, where orders have a turn
MOST_WORLDS = 8  # of which compiled programs are kept
LEAST_AHEAD = 8  # steps, so that there is time to put something away
Plan = list[list[str]]  # of every step and seat: names of actions


class GreedyCrew:
    """The plan of `script:greedy` for all seats; it remembers nothing.

    With a turn it cooks for its first orders alone, one for every two cooks.
    """

    def __init__(self, env: Environment[Any, Any], seconds: float = SECONDS) -> None:
        world = env.world if isinstance(env, Society) else env
        if not isinstance(world, Cuisine):
            raise BadArgument(f"these schedulers command cooks of cuisine; given {env.id}")
        self.seconds = seconds
        self.at_once = max(1, world.players // COOKS_AN_ORDER)  # orders, of those that have a turn
        self.world, self.names = world, action_names(world.actions)
        self._reader, (self._dispatch, self._read, self._after) = ViewReader(env), _programs(world)

    def view(self, percept: Percept) -> View:
        """What everybody sees, in numbers."""
        return self._reader.view(percept)

    def jobs(self, percept: Percept) -> tuple[OpenJob, ...]:
        """Open orders, called as percepts call them."""
        return self._jobs(self.view(percept), percept.step)

    def _jobs(self, view: View, step: int) -> tuple[OpenJob, ...]:
        slots = np.asarray(view.shared)[: 2 * SLOTS].reshape(SLOTS, 2).tolist()
        found = [
            OpenJob(f"order {slot}", self.world.dishes[dish - 1], step + left - 1)
            for slot, (dish, left) in enumerate(slots, 1)
            if dish
        ]
        return tuple(sorted(found, key=lambda job: (job.due, job.name)))

    def commands(
        self, percepts: Sequence[Percept], turn: Sequence[str] | None = None
    ) -> dict[int, str]:
        """What greedy does in each seat."""
        view = self.view(percepts[0])
        return self.legal(percepts, self.greedy(view, turn))

    def greedy(self, view: View, turn: Sequence[str] | None) -> list[str]:
        """What greedy does in every seat of the kitchen."""
        if turn is None:
            return self._chosen(view)
        return self._chosen(_with_orders(view, turn[: self.at_once]))

    def _chosen(self, view: View) -> list[str]:
        return [self.names[action] for action in np.asarray(self._dispatch(view)).tolist()]

    def legal(self, percepts: Sequence[Percept], commands: Sequence[str]) -> dict[int, str]:
        """A command for each of these seats; who cannot follow it stays."""
        stay = self.names[STAY]
        told = {percept.seat: commands[percept.seat] for percept in percepts}
        return {p.seat: told[p.seat] if told[p.seat] in p.legal else stay for p in percepts}

    def snapshot(self) -> Json:
        """Nothing."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Remembers nothing."""


def _with_orders(view: View, names: Sequence[str]) -> View:
    """A view in which only these orders are open."""
    shared = np.array(view.shared)
    for slot in range(1, SLOTS + 1):
        if f"order {slot}" not in names:
            shared[2 * slot - 2 : 2 * slot] = 0
    return eqx.tree_at(lambda view: view.shared, view, shared)


class RollingCrew(GreedyCrew):
    """Schedules by CP-SAT for open orders, and again when they change or something went wrong.

    Where no order can be met in time it does what greedy does. It remembers its schedule.
    """

    def __init__(self, env: Environment[Any, Any], seconds: float = SECONDS) -> None:
        if not can_solve():
            raise MissingExtra("ortools", "oracle")
        super().__init__(env, seconds)
        self._known: Any = None  # the orders and the turn of the schedule
        self._plan: Plan = []  # from this step on
        self._expected: Any = None  # the kitchen, if everybody does as planned

    def commands(
        self, percepts: Sequence[Percept], turn: Sequence[str] | None = None
    ) -> dict[int, str]:
        """The schedule's next step."""
        view, step = self.view(percepts[0]), percepts[0].step
        kitchen, jobs = jax.device_get(self._read(view)), self._jobs(view, step)
        known = [
            [[job.name, job.what, job.due] for job in jobs],
            None if turn is None else list(turn),
        ]
        if known != self._known or _facts(kitchen) != self._expected:
            self._plan = self._schedule(kitchen, jobs, turn, step)
        told = self._plan.pop(0) if self._plan else self.greedy(view, turn)
        found = self.legal(percepts, told)
        done = [found.get(seat, name) for seat, name in enumerate(told)]
        actions = np.array([self.names.index(name) for name in done], np.int32)
        self._known = known
        self._expected = _facts(jax.device_get(self._after(kitchen, actions)))
        return found

    def _schedule(
        self, kitchen: KitchenView, jobs: Sequence[OpenJob], turn: Sequence[str] | None, step: int
    ) -> Plan:
        """Commands for some of these orders, or none."""
        now = self._now(kitchen)
        orders = open_orders([(job.what, job.due - step) for job in jobs])
        open_ = [number for number in waiting(orders, now.table) if orders[number].due >= 0]
        if turn is not None:
            rank = {name: number for number, name in enumerate(turn)}
            open_ = [number for number in open_ if jobs[number].name in rank]
            open_.sort(key=lambda number: rank[jobs[number].name])
        if not open_:
            return []
        world = self.world
        horizon = max(LEAST_AHEAD, *(order.due + 1 for order in orders))
        problem = Problem(orders, world.tools, world.players, horizon, world.level.book)
        found = go_on(problem, now, open_, seconds=self.seconds, ranked=turn is not None)
        return [list(step) for step in found.commands] if found.met else []

    def _now(self, kitchen: KitchenView) -> KitchenNow:
        """The kitchen by names."""
        world = self.world
        items = np.array(world.items)
        tools = {}
        for number, kind in enumerate(world.tools):
            inside = frozenset(items[: world.useful][kitchen.inside[number]].tolist())
            work = int(kitchen.work[number])
            tool = ToolNow(kind, inside, work != IDLE, max(work - DONE, 0))
            tools[world.places[len(world.places) - len(world.tools) + number]] = tool
        held = tuple(world.items[item] if item >= 0 else "" for item in kitchen.held.tolist())
        table = {world.items[n]: many for n, many in enumerate(kitchen.table.tolist()) if many}
        at = tuple(world.places[place] for place in kitchen.at.tolist())
        return KitchenNow(at, held, tools, table)

    def snapshot(self) -> Json:
        """The schedule, what it is for, and how the kitchen should be."""
        return {"known": self._known, "plan": self._plan, "expected": self._expected}

    def restore(self, snapshot: Any) -> None:
        """Goes on with that schedule."""
        self._known, self._expected = snapshot["known"], snapshot["expected"]
        self._plan = [list(step) for step in snapshot["plan"]]


@lru_cache(MOST_WORLDS)
def _programs(world: Cuisine) -> tuple[Any, Any, Any]:
    """What greedy does, the kitchen out of a view, and what comes of actions: compiled once."""
    greedy = Greedy(world)
    return jax.jit(greedy.dispatch), jax.jit(greedy.read), jax.jit(partial(_worked, world))


def _worked(world: Cuisine, kitchen: KitchenView, actions: Int[Array, " players"]) -> KitchenView:
    """The kitchen after everybody has acted, by the rules of the world."""
    bits = jnp.uint32(1) << jnp.arange(world.useful, dtype=jnp.uint32)
    inside = jnp.where(kitchen.inside, bits, jnp.uint32(0)).sum(1, dtype=jnp.uint32)
    now = (inside, jnp.maximum(kitchen.work - DONE, 0), kitchen.work != IDLE)
    kitchen_now = (*now, kitchen.table[: len(world.dishes)])
    held = list(kitchen.held)
    for seat in range(world.players):
        kitchen_now, held[seat], _ = world.act(
            actions[seat], kitchen.at[seat], held[seat], kitchen_now
        )
    inside, busy, cooked, _ = kitchen_now
    busy = jnp.maximum(busy - 1, 0)
    moves = (actions >= world.go) & (actions < world.take_raw)
    return KitchenView(
        at=jnp.where(moves, actions - world.go, kitchen.at),
        held=jnp.stack(held),
        ordered=kitchen.ordered,
        table=kitchen.table,
        inside=(inside[:, None] & bits[None]) != 0,
        work=jnp.where(busy > 0, DONE + busy, cooked & (inside != 0)),
    )


def _facts(kitchen: KitchenView) -> list[Any]:
    """What a schedule says of a kitchen: hands, places and tools, as plain values."""
    told = kitchen.at, kitchen.held, kitchen.inside.astype(int), kitchen.work.astype(int)
    return [np.asarray(one).tolist() for one in told]


CREW_SCHEDULERS = {"greedy": GreedyCrew, "cp_sat": RollingCrew}
