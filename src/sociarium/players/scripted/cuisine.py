"""Cooks for Cuisine who see the whole kitchen and divide the work without a word.

All of them work out the same list of what is to be done, and each does the part that falls to its
seat.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from sociarium.charters.society import Society
from sociarium.core.actions import STAY, action_names
from sociarium.core.decision import Reply
from sociarium.core.environment import View
from sociarium.core.errors import BadArgument
from sociarium.core.percept import Percept
from sociarium.core.percept_view import ViewReader
from sociarium.envs.kitchens.cuisine import AT_STORAGE, AT_TABLE, SLOTS, TOOLS, Cuisine
from sociarium.players.planning.skill import Intent, Setting, Situation
from sociarium.players.planning.skills import Deed
from sociarium.players.protocol import HostSeating, SimpleHostPlayer
from sociarium.players.scripted.script import Script

NOWHERE, NOBODY = -1, -1
IDLE, DONE = 0, 1  # codes of the plane of tools; higher ones are at work


class KitchenView(eqx.Module):
    """What a view tells: cooks by seat, tools by number, items by theirs."""

    at: Int[Array, " players"]
    held: Int[Array, " players"]  # an item, or -1
    ordered: Int[Array, " dishes"]  # open orders
    table: Int[Array, " items"]
    inside: Bool[Array, "tools items"]
    work: Int[Array, " tools"]


class WorkPlan(eqx.Module):
    """What the orders take: items that are short, what tools still want, and which are full."""

    short: Int[Array, " items"]  # to be fetched, or made
    wants: Bool[Array, "tools items"]
    full: Bool[Array, " tools"]
    useful: Bool[Array, " tools"]  # with a product that somebody needs


class Greedy(Script):
    """Cooks what is ordered and nothing in advance, each seat a part of one plan.

    Whoever holds something brings it where it is needed. Whoever does not starts tools that are
    full, takes what is done, and fetches what is missing, in this order.
    """

    def __init__(self, env: Cuisine) -> None:
        super().__init__(env)
        self.env = env
        items = range(env.useful)
        self.uses = np.array([[bool(need >> n & 1) for n in items] for need in env.needs.tolist()])
        self.raw = np.arange(len(env.items) - len(env.raw), env.useful)

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: None
    ) -> tuple[Int[Array, ""], None]:
        """One's own part of the work."""
        action = self.dispatch(view)[self.sight.own(view, "seat")]
        return jnp.where(legal[action], action, STAY).astype(jnp.int32), None

    def dispatch(self, view: View) -> Int[Array, " players"]:
        """What every cook is to do, from what everybody sees."""
        kitchen = self.read(view)
        place, deed = self.share(kitchen, self.plan(kitchen))
        actions = jnp.where(kitchen.at == place, deed, self.env.go + place)
        return jnp.where(place == NOWHERE, STAY, actions).astype(jnp.int32)

    def read(self, view: View) -> KitchenView:
        """The kitchen, from what everybody sees."""
        shared = view.shared.astype(jnp.int32)
        orders, cooks = shared[: 2 * SLOTS : 2] - 1, shared[2 * SLOTS :]
        dishes = jnp.arange(len(self.env.dishes))
        goods = view.cells[4:, 0].astype(jnp.int32)
        return KitchenView(
            at=cooks[::2],
            held=cooks[1::2] - 1,
            ordered=(orders[:, None] == dishes[None]).sum(0),
            table=goods[:, AT_TABLE],
            inside=goods[:, TOOLS:].T > 0,
            work=view.cells[3, 0, TOOLS:].astype(jnp.int32),
        )

    def plan(self, now: KitchenView) -> WorkPlan:
        """Works back from the orders, product by product, and gives jobs to tools."""
        items, tools = self.env.useful, len(self.env.tools)
        held = (now.held[:, None] == jnp.arange(items)[None]).sum(0)
        made = now.inside & (now.work != IDLE)[:, None]
        have = now.table + held + made.sum(0)
        need = jnp.zeros(items, jnp.int32).at[: len(now.ordered)].set(now.ordered)
        begun = now.inside.any(1) & (now.work == IDLE)
        free = ~now.inside.any(1) & (now.work == IDLE)
        wants, full = jnp.zeros((tools, items), bool), jnp.zeros(tools, bool)
        for recipe in reversed(range(len(self.env.recipes))):
            uses, kind = jnp.asarray(self.uses[recipe]), self.env.made_in[:, recipe]
            product = int(self.env.makes[recipe])
            short = jnp.maximum(need[product] - have[product], 0)
            fits = begun & kind & ~(now.inside & ~uses[None]).any(1)
            goes_on = fits & (jnp.cumsum(fits) <= short)
            begun = begun & ~goes_on
            left = short - goes_on.sum()
            starts = free & kind & (jnp.cumsum(free & kind) <= left)
            free = free & ~starts
            job = goes_on | starts
            missing = job[:, None] & uses[None] & ~now.inside
            wants = wants | missing
            full = full | (goes_on & ~missing.any(1))
            need = need + missing.sum(0)
        # What a dish is needed for besides orders is in `need` too, so the table comes first.
        useful = (made & (need > 0)[None]).any(1) & (now.work == DONE)
        return WorkPlan(jnp.maximum(need - have, 0), wants, full, useful)

    def share(
        self, now: KitchenView, plan: WorkPlan
    ) -> tuple[Int[Array, " players"], Int[Array, " players"]]:
        """Where each cook goes, and what it does there."""
        idle = now.held < 0
        task = self.assign(now, plan, idle)
        places, deeds, _ = self.tasks(now, plan)
        place = jnp.where(task == NOBODY, NOWHERE, places[task])
        return jnp.where(idle, place, self.bring(now, plan)), jnp.where(
            idle, deeds[task], self.env.put
        )

    def tasks(self, now: KitchenView, plan: WorkPlan) -> tuple[Array, Array, Array]:
        """What empty hands can do, the most urgent first: where, what, and whether it is due."""
        env, tools = self.env, np.arange(len(self.env.tools)) + TOOLS
        units = np.repeat(np.arange(env.players), len(self.raw))
        raw = np.tile(self.raw, env.players)
        fetch = env.take_raw + raw - (len(env.items) - len(env.raw))
        soon = (now.work > DONE) & now.inside.any(1)
        dish = (now.inside[:, : len(env.dishes)]).any(1) & plan.useful
        due = [plan.full, dish, plan.useful & ~dish, plan.short[raw] > units, soon]
        places = [tools, tools, tools, np.full(len(raw), AT_STORAGE), tools]
        acts = [env.activate, env.take, env.take, fetch, env.take]
        deeds = [np.broadcast_to(act, where.shape) for act, where in zip(acts, places, strict=True)]
        return (
            jnp.asarray(np.concatenate(places)),
            jnp.asarray(np.concatenate(deeds)),
            jnp.concatenate(due),
        )

    def assign(
        self, now: KitchenView, plan: WorkPlan, idle: Bool[Array, " players"]
    ) -> Int[Array, " players"]:
        """A task for each idle cook: first to those who are there already, then in seat order."""
        places, _, due = self.tasks(now, plan)

        def take(number: Any, carry: Any, near: bool) -> Any:
            task, open_ = carry
            able = idle & (task == NOBODY)
            able = able & (now.at == places[number]) if near else able
            taken = able & (jnp.cumsum(able) == 1) & open_[number]
            task = jnp.where(taken, number, task)
            return task, open_.at[number].set(open_[number] & ~taken.any())

        carry = jnp.full(self.env.players, NOBODY), due
        for near in (True, False):
            carry = jax.lax.fori_loop(
                0, len(places), lambda n, c, near=near: take(n, c, near), carry
            )
        return carry[0]

    def bring(self, now: KitchenView, plan: WorkPlan) -> Int[Array, " players"]:
        """Where what each cook holds is needed: the table, a tool, or nowhere, the storage."""
        dishes, items = len(self.env.dishes), self.env.useful
        item = jnp.clip(now.held, 0, items - 1)
        seat = jnp.arange(self.env.players)
        before = (now.held[None] == now.held[:, None]) & (seat[None] < seat[:, None])
        rank = before.sum(1)
        open_ = jnp.zeros(items, jnp.int32).at[:dishes].set(now.ordered) - now.table
        served = rank < open_[item]
        rank = rank - jnp.maximum(open_[item], 0)
        wants = plan.wants[:, item].T  # cooks by tools
        chosen = wants & (jnp.cumsum(wants, 1) == rank[:, None] + 1)
        tool = jnp.where(chosen.any(1), jnp.argmax(chosen, 1) + TOOLS, AT_STORAGE)
        spare = jnp.where(item < dishes, AT_TABLE, tool)
        return jnp.where(served, AT_TABLE, jnp.where(chosen.any(1), tool, spare))


class Dispatcher(SimpleHostPlayer):
    """Greedy as one mind outside compiled code that commands all of its seats by one plan."""

    skilled = False

    async def open(self, seating: HostSeating) -> None:
        """Learns which kitchen it is."""
        env = seating.env.world if isinstance(seating.env, Society) else seating.env
        if not isinstance(env, Cuisine):
            raise BadArgument(f"a dispatcher commands cooks of cuisine; given {env.id}")
        self._reader, self._names = ViewReader(env), action_names(env.actions)
        self._dispatch = jax.jit(Greedy(env).dispatch)

    async def decide(self, percepts: Sequence[Percept], deadline: float) -> Reply:
        """A command for each of its cooks; who cannot follow it stays."""
        chosen = np.asarray(self._dispatch(self._reader.view(percepts[0])))
        told = {percept.seat: self._names[chosen[percept.seat]] for percept in percepts}
        stay = self._names[STAY]
        return Reply({p.seat: told[p.seat] if told[p.seat] in p.legal else stay for p in percepts})


@dataclass(frozen=True)
class TakeOut(Deed):
    """Takes what is in a tool, and waits for it with empty hands while the tool is at work."""

    conditional = True

    def intend(self, setting: Setting, now: Situation) -> Intent:
        """To take it; where nothing is on its way, that makes no sense."""
        wants = super().intend(setting, now)
        planes = setting.map_tracker.spec
        cooking = now.view.cells[planes.plane("cooking")][setting.ego_origin]
        waits = (cooking > DONE) & (setting.sight.own(now.view, "holding") == 0)
        valid = wants.valid & (waits | wants.done | (wants.deed != STAY))
        return eqx.tree_at(lambda wants: wants.valid, wants, valid)


SCRIPTS = {"greedy": Greedy}
SKILLS = (
    TakeOut("take_out", "Take what is in the tool here, once it is done.", verb="take", waits=True),
)
