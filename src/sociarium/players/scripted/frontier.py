"""Citizens of the frontier: gather, craft, or pass on what others can use.

They know the task, its recipes and jobs, and of the land what they see.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, UInt32

from sociarium.core import random
from sociarium.core.actions import STAY
from sociarium.core.environment import View
from sociarium.envs.frontier.frontier import MOVES, PICK, SYNTHESISE, Frontier
from sociarium.envs.frontier.task import UNLIMITED
from sociarium.mechanics import recipes
from sociarium.players.planning import paths
from sociarium.players.planning.skills import At, Deed
from sociarium.players.scripted.script import Script

PECKISH = 0.5  # of the energy one began with
ARMFUL = 2  # units of one input held beyond another that goes with it
PERSISTENCE = 12  # a wanderer turns aside once in this many steps


class Gatherer(Script):
    """Picks up whatever is worth something to it, the nearest first, and keeps it."""

    crafts = False
    passes_on = False

    def __init__(self, env: Frontier) -> None:
        super().__init__(env)
        params = env.params()
        self.env, self.params = env, params
        kinds = range(len(env.kinds))
        self.kind_planes = np.array([env.view_spec.plane(env.kinds[kind]) for kind in kinds])
        self.inputs, self.outputs = np.asarray(params.inputs), np.asarray(params.outputs)
        self.capacity, worth = np.asarray(params.capacity), np.asarray(params.worth)
        makes = self._makes()
        scarce = (self.capacity < self.capacity.max(0)) & makes
        coveted = makes & (worth < worth.max(0))
        self.passes = (scarce | coveted) & self.passes_on
        useful = (worth > 0) | (self.crafts & (makes @ self._ingredients() > 0))
        self.takes = useful & (self.capacity > 0) & ~self.passes
        gain = self.outputs @ worth.max(0) - self.inputs @ worth.max(0)
        self.pays = (gain > 0) & self.crafts

    def _makes(self) -> Bool[np.ndarray, "jobs kinds"]:
        """What each job can make by itself: it can carry the inputs and the outputs."""
        both = self.inputs + self.outputs
        able = ((both[None] == 0) | (self.capacity[:, None] > 0)).all(2)
        return (able[:, :, None] & (self.outputs[None] > 0)).any(1)

    def _ingredients(self) -> Int[np.ndarray, "kinds kinds"]:
        """For each kind, what goes into it."""
        return ((self.outputs > 0).astype(int).T @ (self.inputs > 0).astype(int)).astype(int)

    def begin(self, key: Key[Array, ""]) -> Int[Array, ""]:
        """A direction to wander in."""
        return 1 + (random.bits(key) >> 30).astype(jnp.int32)

    def decide(
        self, key: Key[Array, ""], view: View, legal: Bool[Array, " actions"], memory: Any
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """Eat, pass on, craft, pick; else walk to the nearest that is worth it, or wander."""
        env, word = self.env, random.bits(key)
        job, kinds = self.sight.own(view, "job"), len(env.kinds)
        bag = view.own[1 : 1 + kinds].astype(jnp.int32)
        blocked = self.sight.blocked(view) | self._prowled(view)
        step, found = paths.step_toward(self._goals(view, job, bag), blocked, self.ego_origin, word)
        away, heading = self._wander(blocked, memory, word)
        action = jnp.where(found & (step != STAY), step, away)
        pick = legal[PICK : PICK + kinds] & self._wanted(job, bag)
        action = _first(pick, PICK, action)
        workplace = view.cells[self.sight.spec.plane("workplace")][self.ego_origin]
        works = legal[SYNTHESISE] & jnp.asarray(self.pays)[workplace.astype(jnp.int32)]
        action = jnp.where(works, SYNTHESISE, action)
        dump = legal[env.dump : env.dump + kinds] & jnp.asarray(self.passes)[job]
        action = _first(dump, env.dump, action)
        if env.hunger:
            hungry = self.sight.own(view, "energy") < PECKISH * self.params.energy
            action = _first(legal[env.eat :] & hungry, env.eat, action)
        return action.astype(jnp.int32), jnp.where(action < len(MOVES), heading, memory)

    def _goals(
        self, view: View, job: Int[Array, ""], bag: Int[Array, " kinds"]
    ) -> Bool[Array, "rows cols"]:
        """Goods to pick up, and workplaces one has everything for."""
        capacity = jnp.asarray(self.capacity)[job]
        wanted = self._wanted(job, bag) & (bag < capacity)
        lying = view.cells[self.kind_planes] > 0
        goods = (lying & wanted[:, None, None]).any(0)
        inputs, outputs = jnp.asarray(self.inputs), jnp.asarray(self.outputs)
        alike = lambda row: jnp.broadcast_to(row, inputs.shape)  # noqa: E731
        ready = recipes.affordable(inputs, outputs, alike(bag), alike(capacity))
        ready = (ready & jnp.asarray(self.pays)).at[0].set(False)
        places = ready[view.cells[self.sight.spec.plane("workplace")].astype(jnp.int32)]
        return goods | places

    def _wanted(self, job: Int[Array, ""], bag: Int[Array, " kinds"]) -> Bool[Array, " kinds"]:
        """What to pick up: who trades takes no armful of one input while it lacks another."""
        takes = jnp.asarray(self.takes)[job]
        if not self.passes_on:
            return takes
        together = (self.inputs > 0)[:, :, None] & (self.inputs > 0)[:, None]
        together = (together & self.pays[:, None, None]).any(0)
        other = jnp.where(
            jnp.asarray(together & ~np.eye(len(together), dtype=bool)), bag[None], UNLIMITED
        )
        return takes & (bag - other.min(1) < ARMFUL)

    def _prowled(self, view: View) -> Bool[Array, "rows cols"]:
        """Where a beast is."""
        if not self.sight.spec.has("hazard"):
            return jnp.zeros(view.cells.shape[1:], bool)
        return view.cells[self.sight.spec.plane("hazard")] > 0

    def _wander(
        self, blocked: Bool[Array, "rows cols"], heading: Int[Array, ""], word: UInt32[Array, ""]
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """A step straight on, or aside now and then and before an obstacle; and its direction."""
        row, col = self.ego_origin
        beside = ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1))
        free = jnp.stack([~blocked[cell] for cell in beside])
        turned = 1 + paths.one_of(free, word)
        tired = (word & 0xFFFF) * PERSISTENCE < 0x10000
        heading = jnp.where(free[heading - 1] & ~tired, heading, turned)
        return jnp.where(free.any(), heading, STAY), heading


class Crafter(Gatherer):
    """Gathers, and makes whatever is worth more than what goes into it."""

    crafts = True


class Trader(Crafter):
    """Crafts, and leaves for others what they like better or what it cannot keep more of."""

    passes_on = True


def _first(able: Bool[Array, " choices"], first: int, otherwise: Int[Array, ""]) -> Int[Array, ""]:
    """The last of the choices one is able to do, as an action, or what one would do otherwise."""
    last = len(able) - 1 - jnp.argmax(able[::-1])
    return jnp.where(able.any(), first + last, otherwise) if len(able) else otherwise


SCRIPTS = {"gatherer": Gatherer, "crafter": Crafter, "trader": Trader}
SKILLS = (
    At(
        "gather",
        "Walk to the nearest goods of a kind that you know of and pick up all you can.",
        verb="pick",
        again=True,
    ),
    At(
        "craft",
        "Walk to the nearest place of a kind that you know of and work there once.",
        verb="synthesise",
        layer="workplace",
    ),
    Deed("dump", "Leave a unit of a kind where you stand.", verb="dump"),
    Deed("eat", "Eat a unit of food that you hold.", verb="eat"),
)
