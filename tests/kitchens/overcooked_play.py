"""Overcooked beside its plain reference, from states drawn at random."""

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.core import random
from sociarium.core.actions import COMPASS
from sociarium.envs.kitchens.layouts import find_layout
from sociarium.envs.kitchens.overcooked import (
    COUNTER,
    FULL,
    IDLE,
    ITEMS,
    RECIPES,
    SOUP,
    Overcooked,
    State,
)
from tests.reference import overcooked as plain

TOMATOES = """
XTPXX
O..2O
X1..P
XDXSX
"""


def drawn(env, rng):
    """A state that somebody could be in, with anything anywhere."""
    floor = np.flatnonzero(~env.terrain.wall.ravel())
    counters = np.flatnonzero((env.ground == COUNTER) & (env.station == 0))
    tomato = 2 in env.station
    soups = [SOUP + n for n, (_, t) in enumerate(RECIPES) if tomato or not t]
    items = np.array([0, 0, 0, 0, 1, 3, 2 if tomato else 1, *rng.choice(soups, 2)], np.uint8)
    lying = np.zeros(env.terrain.cells, np.uint8)
    lying[counters] = rng.choice(items, len(counters)) * (rng.random(len(counters)) < 0.5)
    pots = len(env.pot_cells)
    onions = rng.integers(0, FULL + 1, pots)
    tomatoes = rng.integers(0, FULL + 1, pots) % (FULL + 1 - onions) * tomato
    working = (onions + tomatoes > 0) & (rng.random(pots) < 0.5)
    numbers = dict(
        clock=np.int32(rng.integers(0, 380)),
        body=rng.choice(floor, env.players, replace=False).astype(np.int32),
        heading=rng.integers(0, 4, env.players).astype(np.int32),
        hands=rng.choice(items, env.players),
        lying=lying,
        onions=onions.astype(np.uint8),
        tomatoes=tomatoes.astype(np.uint8),
        tick=np.where(working, rng.integers(1, 21, pots), IDLE).astype(np.int32),
    )
    return State(**{name: jnp.asarray(number) for name, number in numbers.items()})


def in_words(state, env):
    """The state as the reference keeps it."""
    cell = lambda number: divmod(int(number), env.terrain.cols)  # noqa: E731
    bodies = zip(state.body, state.heading, state.hands, strict=True)
    pots = zip(env.pot_cells, state.onions, state.tomatoes, state.tick, strict=True)
    return {
        "clock": int(state.clock),
        "players": [
            {"cell": cell(body), "facing": COMPASS[way], "holds": ITEMS[held] if held else None}
            for body, way, held in bodies
        ],
        "lying": {cell(n): ITEMS[item] for n, item in enumerate(state.lying) if item},
        "pots": {
            cell(at): {"onion": int(o), "tomato": int(t), "tick": None if k == IDLE else int(k)}
            for at, o, t, k in pots
        },
    }


def compared(layout, steps, seed, lanes=16):
    """How often each thing happened; raises at the first difference."""
    env = Overcooked(layout=layout)
    reference = plain.Overcooked(find_layout(layout, None, 2))
    rng = np.random.default_rng(seed)
    step = jax.jit(jax.vmap(lambda s, a, p: env.step(random.key(0), s, a, p), in_axes=(0, 0, 0)))
    params = [
        env.params(
            manual_start=bool(lane % 2),
            cook_time=int(rng.integers(1, 25)) if lane % 4 > 1 else 20,
            orders=rng.random(len(RECIPES)) < 0.7,
        )
        for lane in range(lanes)
    ]
    told = [{name: np.asarray(x).tolist() for name, x in vars(p).items()} for p in params]
    many = jax.tree.map(lambda *x: np.stack(x), *params)
    states = [drawn(env, rng) for _ in range(lanes)]
    words = [in_words(state, env) for state in states]
    state = jax.tree.map(lambda *x: np.stack(x), *states)
    counts = {}
    odds = [0.04, 0.14, 0.14, 0.14, 0.14, 0.4]
    for number in range(steps // lanes):
        actions = rng.choice(6, (lanes, 2), p=odds).astype(np.int32)
        state, done = step(state, actions, many)
        after = jax.tree.map(np.asarray, state)
        for lane in range(lanes):
            paid, happened = reference.step(words[lane], actions[lane].tolist(), told[lane])
            where = f"{layout}, seed {seed}, lane {lane}, step {number}"
            ours = in_words(jax.tree.map(lambda x, at=lane: x[at], after), env)
            assert ours == words[lane], f"{where}: {ours} but by the rules {words[lane]}"
            assert done.reward[lane].tolist() == [paid] * 2, where
            assert _events(done.events, lane) == sorted(happened, key=str), where
            for what, _, _ in happened:
                counts[what] = counts.get(what, 0) + 1
            counts["paid"] = counts.get("paid", 0) + (paid > 0)
    return counts


def _events(events, lane):
    found = []
    for name, kind in events.items():
        if name != "collided":
            for seat in np.flatnonzero(kind.mask[lane]):
                named = name not in ("started", "useful_dish")
                item = ITEMS[int(kind.value[lane][seat])] if named else None
                found.append((name, int(seat), item))
    return sorted(found, key=str)
