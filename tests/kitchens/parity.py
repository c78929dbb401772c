"""Ours beside the original Overcooked, step by step: `python -m tests.kitchens.parity STEPS`.

The original is `overcooked-ai` 1.1.0 with the classic rules put back (requirements-oracle.lock).
Compared are every field of the state, who was paid, the shaped reward and the lossless planes, in
random play, from states drawn at random, and in play that delivers.
"""

import argparse
import sys
import types
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.core import random
from sociarium.core.actions import COMPASS
from sociarium.envs.kitchens.layouts import LAYOUTS
from sociarium.envs.kitchens.overcooked import (
    COUNTER,
    DISH,
    IDLE,
    ITEMS,
    NOTHING,
    RECIPES,
    SOUP,
    Overcooked,
    State,
)
from sociarium.players.scripted.overcooked import Cook
from tests.kitchens.lossless import LosslessPlanes

THEIRS = {"counter_circuit": "counter_circuit_o_1order"}  # where their name is another
WAYS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
SHAPED = {"potted": 3, "plated": 5, "useful_dish": 3}
LANES, LENGTH = 10, 100
ODDS = [0.05, 0.16, 0.16, 0.16, 0.16, 0.31]  # of actions drawn at random
KEY = random.key(0)  # two cooks leave nothing to chance

_gym = types.ModuleType("gym")  # theirs registers itself with a package that is not needed here
_gym.register = lambda **_: None
for _name in ("gym", "gym.envs", "gym.envs.registration"):
    sys.modules.setdefault(_name, _gym)


def original(layout, manual_start=False):
    """Their kitchen, with the classic rules unless cooking has to be started."""
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld

    class Classic(OvercookedGridworld):
        def soup_to_be_cooked_at_location(self, state, pos):
            return False

        def step_environment_effects(self, state):
            for thing in state.objects.values():
                if thing.name == "soup" and thing.is_idle and len(thing.ingredients) == 3:
                    thing.begin_cooking()
            super().step_environment_effects(state)

    found = OvercookedGridworld.from_layout_name(THEIRS.get(layout, layout))
    if not manual_start:
        found.__class__ = Classic  # their maker names its class itself
    return found


def drawn_states(env, rng, lanes):
    """States that somebody could be in: half at the start, half drawn."""
    floor = np.flatnonzero(~env.terrain.wall.ravel())
    counters = np.flatnonzero((env.ground == COUNTER) & (env.station == 0))
    whole = RECIPES.index((3, 0))
    items = np.array([NOTHING, NOTHING, NOTHING, 1, DISH, SOUP + whole], np.uint8)
    start = env.reset(random.key(0), env.params())
    states = []
    for lane in range(lanes):
        if lane % 2 == 0:
            states.append(start)
            continue
        lying = np.zeros(env.terrain.cells, np.uint8)
        lying[counters] = rng.choice(items, len(counters))
        onions = rng.integers(0, 4, len(env.pot_cells)).astype(np.uint8)
        tick = np.where(onions == 3, rng.integers(1, 21, len(onions)), IDLE)
        states.append(
            _state(
                clock=np.int32(rng.integers(0, 300)),
                body=rng.choice(floor, 2, replace=False).astype(np.int32),
                heading=rng.integers(0, 4, 2).astype(np.int32),
                hands=rng.choice(items, 2),
                lying=lying,
                onions=onions,
                tomatoes=np.zeros_like(onions),
                tick=tick.astype(np.int32),
            )
        )
    return jax.tree.map(lambda *x: jnp.stack(x), *states)


def _state(**numbers):
    return State(**{name: jnp.asarray(number) for name, number in numbers.items()})


def played(env):
    """A compiled function: many lanes of given actions, with everything kept."""
    observer = LosslessPlanes(env)

    def play(state, actions, params):
        def step(state, actions):
            after, did = jax.vmap(lambda s, a: env.step(KEY, s, a, params))(state, actions)
            view = jax.vmap(lambda s: env.observe(s, params))(after)
            masks = {name: did.events[name].mask for name in SHAPED}
            soup = did.events["served"].value.astype(jnp.int32) - SOUP
            masks["paid"] = did.events["served"].mask & params.orders[soup]
            return after, (after, did.reward, masks, observer.look(view, ()))

        return jax.lax.scan(step, state, actions)[1]

    return jax.jit(play)


def cooked(env):
    """A compiled function: what two scripted cooks do, who err now and then, in many lanes."""
    cooks = [Cook(env, epsilon=0.05), Cook(env, epsilon=0.05)]

    def play(state, key, params):
        def one(key, state, minds):
            view, legal = env.observe(state, params), env.legal(state, params)
            own = [jax.tree.map(lambda x, n=n: x[n], view) for n in range(2)]
            keys = jax.random.split(key)
            acts, minds = zip(
                *(cook.act(keys[n], own[n], legal[n], minds[n]) for n, cook in enumerate(cooks)),
                strict=True,
            )
            after = env.step(KEY, state, jnp.stack(acts), params)[0]
            return (after, minds), jnp.stack(acts)

        def step(carry, key):
            return jax.vmap(one)(jax.random.split(key, LANES), *carry)

        fresh = tuple(jax.vmap(cook.begin)(jax.random.split(key, LANES)) for cook in cooks)
        return jax.lax.scan(step, (state, fresh), jax.random.split(key, LENGTH))[1]

    return jax.jit(play)


def as_theirs(state, lane, env):
    """One of our states as one of theirs, by their own reader."""
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedState

    state = jax.tree.map(lambda x: np.asarray(x)[lane], state)
    place = lambda cell: divmod(int(cell), env.terrain.cols)[::-1]  # noqa: E731
    players = []
    for cell, heading, held in zip(state.body, state.heading, state.hands, strict=True):
        at, way = place(cell), WAYS[COMPASS[heading]]
        players.append({"position": at, "orientation": way, "held_object": _thing(held, at)})
    objects = [_thing(item, place(cell)) for cell, item in enumerate(state.lying) if item]
    for cell, onions, tick in zip(env.pot_cells, state.onions, state.tick, strict=True):
        if onions:
            objects.append(_soup(place(cell), ["onion"] * int(onions), int(tick)))
    orders = [{"ingredients": ["onion"] * 3}]
    told = {"players": players, "objects": objects, "timestep": int(state.clock)}
    return OvercookedState.from_dict({**told, "bonus_orders": [], "all_orders": orders})


def _thing(item, at):
    if item == NOTHING:
        return None
    if item < SOUP:
        return {"name": ITEMS[item], "position": at}
    onions, tomatoes = RECIPES[item - SOUP]
    return _soup(at, ["onion"] * onions + ["tomato"] * tomatoes, 20)


def _soup(at, ingredients, tick):
    inside = [{"name": name, "position": at} for name in ingredients]
    told = {"name": "soup", "position": at, "_ingredients": inside}
    return {**told, "cooking_tick": tick, "is_ready": tick >= 20, "is_idle": tick < 0}


def facts(state, env):
    """One of their states, as what ours holds."""
    cell = lambda at: at[1] * env.terrain.cols + at[0]  # noqa: E731
    ways = list(WAYS.values())
    lying, pots = {}, {}
    for at, thing in state.objects.items():
        if cell(at) in env.pot_cells.tolist():
            held = Counter(thing.ingredients)
            pots[cell(at)] = (held["onion"], held["tomato"], thing._cooking_tick)
        else:
            lying[cell(at)] = _code(thing)
    return {
        "clock": state.timestep,
        "body": [cell(one.position) for one in state.players],
        "heading": [ways.index(one.orientation) for one in state.players],
        "hands": [_code(one.held_object) if one.has_object() else 0 for one in state.players],
        "lying": lying,
        "pots": pots,
    }


def _code(thing):
    if thing.name != "soup":
        return ITEMS.index(thing.name)
    held = Counter(thing.ingredients)
    return SOUP + RECIPES.index((held["onion"], held["tomato"]))


def own_facts(state, step, lane, env):
    state = jax.tree.map(lambda x: x[step, lane], state)
    pots = zip(env.pot_cells, state.onions, state.tomatoes, state.tick, strict=True)
    return {
        "clock": int(state.clock),
        "body": state.body.tolist(),
        "heading": state.heading.tolist(),
        "hands": state.hands.tolist(),
        "lying": {cell: int(item) for cell, item in enumerate(state.lying) if item},
        "pots": {int(c): (int(o), int(t), int(k)) for c, o, t, k in pots if o + t},
    }


def compare(layout, steps, seed, cooks):
    """Plays both, by turns at random and by cooks; raises at the first difference.

    Gives how many steps were compared, and how many soups were paid for.
    """
    from overcooked_ai_py.mdp.actions import Action

    env = Overcooked(layout=layout)
    play, choose = played(env), cooked(env) if cooks else None
    rng, acts = np.random.default_rng(seed), {"stay": Action.STAY, "interact": Action.INTERACT}
    acts = [(acts | WAYS)[action.name] for action in env.actions]
    done = soups = number = 0
    while done < steps:
        scripted = cooks and number % 2 == 0
        manual_start = not scripted and number % 4 == 1  # cooks leave that to nobody
        number += 1
        params, theirs = env.params(manual_start=manual_start), original(layout, manual_start)
        state = drawn_states(env, rng, LANES)
        actions = rng.choice(6, (LENGTH, LANES, 2), p=ODDS)
        if scripted:
            actions = np.asarray(choose(state, random.key(seed + number), params))
        kept = play(state, jnp.asarray(actions), params)
        after, reward, masks, planes = jax.tree.map(np.asarray, kept)
        for lane in range(LANES):
            there = as_theirs(state, lane, env)
            for step in range(LENGTH):
                there, told = theirs.get_state_transition(
                    there, tuple(acts[a] for a in actions[step, lane])
                )
                where = f"{layout}, seed {seed}, part {number}, lane {lane}, step {step}"
                paid, shaped = (told[f"{kind}_reward_by_agent"] for kind in ("sparse", "shaped"))
                same(own_facts(after, step, lane, env), facts(there, env), where)
                same(float(reward[step, lane, 0]), sum(paid), where)
                same([20 * bool(one) for one in masks["paid"][step, lane]], paid, where)
                ours = sum(masks[name][step, lane] * pay for name, pay in SHAPED.items())
                same(ours.tolist(), shaped, where)
                seen = np.stack(theirs.lossless_state_encoding(there, horizon=400))
                assert np.array_equal(planes[step, lane], seen), where
                soups += sum(masks["paid"][step, lane])
                done += 1
                if done >= steps:
                    return done, int(soups)
    return done, int(soups)


def same(ours, theirs, where):
    if ours != theirs:
        raise AssertionError(f"{where}: ours {ours}, theirs {theirs}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cooks", nargs="*", default=list(LAYOUTS), help="layouts with cooks")
    given = parser.parse_args()
    for layout in LAYOUTS:
        each = given.steps // len(LAYOUTS)
        done, soups = compare(layout, each, given.seed, layout in given.cooks)
        print(f"{layout}: {done} steps without a difference, {soups} soups paid", flush=True)


if __name__ == "__main__":
    main()
