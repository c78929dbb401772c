"""The frontier beside its reference: lively numbers, crowded states, habits."""

import functools

import numpy as np

import sociarium
from sociarium.core.facets import Board
from sociarium.envs.frontier.task import MOST_UNITS, UNLIMITED
from tests.reference import draws
from tests.reference.frontier import Frontier
from tests.worlds.pairs import Pair, changed

TASKS = ("easy", "hard", "exploration", "survival", "procedural")
CHANCES = {"stay": 0.04, "synthesise": 0.16, "pick": 0.24, "dump": 0.16, "eat": 0.06}


def habits(env):
    """How often each action is chosen: as many steps as acts, whatever the number of kinds."""
    verbs = [action.verb for action in env.actions]
    chances = np.array([CHANCES.get(verb, 0.09) / verbs.count(verb) for verb in verbs])
    return chances / chances.sum()


def published(env):
    """The numbers of the reference code, twice."""
    return env.reference(), env.reference()


def lively(env, rng):
    """Other recipes, needs, capacities and worths; worths that are exact in any precision."""
    kinds, jobs, works = len(env.kinds), len(env.jobs), 1 + len(env.workplaces)
    least = rng.integers(1, 5, len(env.site.pile_kind))
    tools = lambda things: 1 << rng.integers(0, kinds, things)  # noqa: E731
    amounts = rng.integers(1, 3, (2, works, kinds)) * (rng.random((2, works, kinds)) < 1.5 / kinds)
    amounts[:, 0] = 0
    return {
        "worth": rng.integers(-4, 13, (jobs, kinds)) / 4,
        "capacity": rng.choice([0, 2, 5, UNLIMITED], (jobs, kinds), p=[0.1, 0.2, 0.3, 0.4]),
        "inputs": amounts[0],
        "outputs": amounts[1],
        "kind_needs": tools(kinds) * (rng.random(kinds) < 0.3),
        "workplace_needs": tools(works) * (rng.random(works) < 0.3),
        "least": least,
        "most": least + rng.integers(0, 4, len(least)),
        "energy": int(rng.integers(20, 60)),
        "nourishment": rng.integers(1, 30, len(env.foods)),
        "bite": int(rng.integers(1, 9)),
        "guards": int(tools(1)[0]),
    }


@functools.cache
def _capacity(env):
    return np.asarray(env.params().capacity)[env.job]


def crowded(env, state, rng):
    """Everybody in one small neighbourhood, with goods in hand and under foot."""
    players, cells, kinds = env.players, env.terrain.cells, len(env.kinds)
    rows, cols = np.divmod(np.arange(cells), env.terrain.cols)
    middle = int(rng.integers(0, cells))
    far = abs(rows - rows[middle]) + abs(cols - cols[middle])
    far = np.where(state.block[:cells], cells, far)
    near = np.argsort(far, kind="stable")[: players + 3]
    body = rng.permutation(near)[:players]
    held = rng.integers(0, 5, (players, kinds)) * (rng.random((players, kinds)) < 0.5)
    left = np.zeros(state.goods.shape, int)
    left[:, near] = rng.integers(1, 4, (kinds, len(near))) * (rng.random((kinds, len(near))) < 0.4)
    goods = np.minimum(state.goods + left, MOST_UNITS)
    goods[0, near[0]] = rng.choice([goods[0, near[0]], MOST_UNITS, MOST_UNITS - 1])
    owner = rng.integers(0, players, state.goods.shape)
    strewn = goods > state.wild * (state.vein == np.arange(kinds)[:, None])
    work = np.array(state.workplace)
    work[near] = rng.integers(0, len(env.workplaces) + 1, len(near))
    kinds_known = rng.integers(0, 1 << kinds, players) * rng.integers(0, 2, players)
    new = {
        "clock": rng.choice([0, 40, 60]),
        "body": body,
        "inventory": np.minimum(held, _capacity(env)),
        "kinds_known": kinds_known,
        "workplaces_known": rng.integers(0, 1 << len(env.workplaces), players),
        "workplace": work,
        "goods": goods,
        "left_by": np.where(strewn, owner, -1),
    }
    if env.hunger:
        out = rng.random(players) < 0.15
        new["body"] = np.where(out, env.terrain.nowhere, body)
        new["energy"] = np.where(out, 0, rng.integers(1, 21, players))
        new["beast"] = rng.choice(near, len(state.beast))
    return changed(state, new)


def _pair(task):
    env = sociarium.make(f"frontier_{task}-v0")
    land = "\n".join(["." * env.facet(Board).shape[1]] * env.facet(Board).shape[0])
    step, reset = draws.frontier_step, draws.frontier_reset
    return Pair(Frontier, reset, step, land, published, lively, crowded, habits)


PAIRS = {f"frontier_{task}-v0": _pair(task) for task in TASKS}
