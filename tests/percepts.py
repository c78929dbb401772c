"""Percepts of every family of worlds under three charters, each with one compiled program."""

import functools
import itertools
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium import catalogue
from sociarium.charters.society import Society
from sociarium.core.environment import View
from sociarium.core.facets import Crafting, Writing, find_facet, ground_plan
from sociarium.core.patches import Draft, Tie
from sociarium.core.percept_builder import PerceptBuilder
from sociarium.players.planning.map_memory import MapMemory, MapTracker
from sociarium.players.planning.offers import MapReader, SkillOffers
from sociarium.players.planning.skill_set import SkillSet
from tests.families import FAMILIES

CHARTERS = ("none", "contract", "open")
SOCIETIES = [(name, charter) for name in FAMILIES for charter in CHARTERS]
FEWER = [*zip(FAMILIES, itertools.cycle(CHARTERS))]  # every family, and every charter


class Glance(eqx.Module):
    """What every seat is given in one state, as NumPy."""

    view: object
    legal: object
    cell: object
    heading: object
    knows: object
    memory: MapMemory

    def of(self, seat):
        return jax.tree.map(lambda x: x[seat], self)


class Stage:
    """An environment, what makes percepts of it, and a state at its start."""

    def __init__(self, env):
        self.env, self.params = env, env.params()
        self.world = env.world if isinstance(env, Society) else env
        self.plan, self.skill_set = ground_plan(env), SkillSet(env)
        self.builder = PerceptBuilder(env, knowledge="discovered", privileged=("pose", "score"))
        self.offers = SkillOffers(self.skill_set)
        self.maps = MapReader(self.skill_set.map_tracker)
        self._reset, self._look = jax.jit(env.reset), jax.jit(self._given)

    def reset(self, seed):
        return self._reset(sociarium.key(seed), self.params)

    def _given(self, state, params):
        view, (cell, heading) = self.env.observe(state, params), self.plan.poses(state)
        crafting = find_facet(self.env, Crafting)
        nothing = jnp.zeros((self.env.players, 0), bool)
        knows = nothing if crafting is None else crafting.knows(state)
        return view, self.env.legal(state, params), cell, heading, knows

    def look(self, state):
        view, legal, cell, heading, knows = jax.device_get(self._look(state, self.params))
        bare = view.cells, view.own, view.shared
        memory = jax.device_get(maps_of(self.world)(bare, cell, heading))
        return Glance(view, legal, cell, heading, knows, memory)

    def percept(self, seat, one, builder=None, **more):
        """The percept of a seat that is given this."""
        return (builder or self.builder).build(
            seat,
            7,
            one.view,
            one.legal,
            cell=int(one.cell),
            heading=int(one.heading),
            knows=one.knows if one.knows.size else None,
            map=self.maps.read(seat, one.memory),
            skills=self.offers.offers(seat, one.view, one.legal, one.memory),
            **more,
        )


@functools.cache
def maps_of(world):
    """The maps of a world's players after their first look, whatever its charter."""
    tracker = MapTracker(world)
    looked = jax.vmap(tracker.looked, (None, 0, 0, 0, None))
    return jax.jit(lambda bare, *pose: looked(tracker.unknown(), View(*bare), *pose, jnp.int32(0)))


@functools.cache
def world(name):
    """A world whose functions are traced once, whatever charters it is put under."""
    env = sociarium.make(name)
    for method in ("reset", "observe", "legal"):
        setattr(env, method, jax.jit(getattr(env, method)))
    return env


@functools.cache
def stage(name, charter):
    return Stage(catalogue._society(world(name), f"{charter}+speech?words=2+pacts?drafts=1"))


@functools.cache
def start(name, charter):
    """A state with a clause drafted, and a window shown where the charter has that."""
    env, state = stage(name, charter).env, stage(name, charter).reset(0)
    state = env.apply(state, Draft(step=0, seat=0, what=env.facet(Writing).terms[0], fine=1.0))
    if charter == "open":
        state = env.apply(state, Tie(step=0, seat=1, to=0, percent=10, sight=True))
    return state


def encoded(percept):
    return json.dumps(percept.as_dict(), sort_keys=True).encode()


def same(one, other):
    """Whether two seats are given the same."""
    return jax.tree.all(jax.tree.map(np.array_equal, one, other))
