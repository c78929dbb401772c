"""Cuisine beside its plain reference, on the same orders and the same commands."""

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.core import random
from sociarium.envs.kitchens.cuisine import NONE, OUTCOMES, Cuisine
from sociarium.envs.kitchens.menus import find_level
from sociarium.players.scripted.cuisine import Greedy
from tests.reference import cuisine as plain

ACTED = ("took", "put_in", "threw_away", "cooked", "served", "refused")


def in_words(state, env):
    """One state of ours by names, without the order of what has none."""
    item = lambda number: None if number == NONE else env.items[int(number)]  # noqa: E731
    tools = zip(env.places[2:], state.inside, state.busy, state.cooked, strict=True)
    orders = [
        (env.dishes[int(d)], int(n))
        for d, n in zip(state.dish, state.left, strict=True)
        if d != NONE
    ]
    table = [env.dishes[n] for n, many in enumerate(state.table) for _ in range(int(many))]
    return {
        "clock": int(state.clock),
        "cooks": [
            (env.places[int(at)], item(held))
            for at, held in zip(state.at, state.hands, strict=True)
        ],
        "tools": {
            name: ({env.items[n] for n in range(32) if int(bits) >> n & 1}, int(busy), bool(done))
            for name, bits, busy, done in tools
        },
        "table": sorted(table),
        "orders": sorted(orders),
        "counts": (int(state.completed), int(state.failed)),
    }


def plainly(state):
    """The same of the reference."""
    return {
        "clock": state["clock"],
        "cooks": [(cook["at"], cook["holds"]) for cook in state["cooks"]],
        "tools": {
            name: (tool["inside"], tool["busy"], tool["cooked"])
            for name, tool in state["tools"].items()
        },
        "table": sorted(state["table"]),
        "orders": sorted((order["dish"], order["left"]) for order in state["orders"]),
        "counts": (state["completed"], state["failed"]),
    }


def compared(level, rules, players, seed, lanes=6, steps=60):
    """How often each thing happened; raises at the first difference."""
    env = Cuisine(players, level, 1 + seed % 5, rules)
    reference, params = plain.Cuisine(env, find_level(level)), env.params()
    numbers = {"order_reward": 1.0, "order_gap": int(params.order_gap)}
    numbers["patience"] = params.patience.tolist()
    keys = jax.random.split(random.key(seed), lanes)
    state = jax.vmap(env.reset, (0, None))(keys, params)
    names = [action.name for action in env.actions]
    rng, counts = np.random.default_rng(seed), {}

    cook = Greedy(env)

    def seen(state):
        legal, view = env.legal(state, params), env.observe(state, params)
        own = [jax.tree.map(lambda x, n=n: x[n], view) for n in range(players)]
        acts = [cook.act(random.key(0), own[n], legal[n], None)[0] for n in range(players)]
        return legal, jnp.stack(acts)

    def one(state, actions):
        after, done = env.step(random.key(0), state, actions, params)
        return after, done, *seen(after)

    step = jax.jit(jax.vmap(one))
    legal, greedy = map(np.asarray, jax.jit(jax.vmap(seen))(state))
    words = []
    for lane in range(lanes):
        stream = [env.dishes[int(n)] for n in state.stream[lane]]
        tools = {name: {"inside": set(), "busy": 0, "cooked": False} for name in env.places[2:]}
        cooks = [{"at": "serving table", "holds": None} for _ in range(players)]
        words.append({"clock": 0, "cooks": cooks, "tools": tools, "table": [], "orders": []})
        words[lane] |= {"stream": stream, "completed": 0, "failed": 0}
        reference.order(words[lane], stream[0], numbers["patience"])
    for _ in range(steps):
        errs = rng.random((lanes, players)) < np.arange(lanes)[:, None] / lanes / 3
        actions = np.where(errs, _lively(rng, legal, env), greedy)
        state, done, legal, greedy = jax.tree.map(np.asarray, step(state, jnp.asarray(actions)))
        after = state
        for lane in range(lanes):
            told = [names[a] for a in actions[lane]]
            paid, happened = reference.step(words[lane], told, numbers)
            where = f"level {level}, {rules}, seed {seed}, lane {lane}: {told}"
            ours = in_words(jax.tree.map(lambda x, at=lane: x[at], after), env)
            assert ours == plainly(words[lane]), f"{where}\n{ours}\n{plainly(words[lane])}"
            assert done.reward[lane].tolist() == [paid] * players, where
            assert _events(done.events, lane, env) == sorted(happened), where
            for what, _, about in happened:
                name = f"{what}: {about}" if what == "refused" else what
                counts[name] = counts.get(name, 0) + 1
            counts["paid"] = counts.get("paid", 0) + (paid > 0)
    return counts


def _lively(rng, legal, env):
    """Legal actions, deeds rather than walks."""
    weight = np.ones(legal.shape[-1])
    weight[env.go : env.take_raw] = 0.4
    weight[0] = 0.1
    weight[env.put], weight[env.activate], weight[env.take] = 6, 12, 4
    draw = rng.random(legal.shape) ** (1 / weight)
    return np.where(legal, draw, -1).argmax(-1).astype(np.int32)


def _events(events, lane, env):
    found = []
    for name in ACTED:
        for seat in np.flatnonzero(events[name].mask[lane]):
            value = int(events[name].value[lane][seat])
            found.append(
                (name, int(seat), OUTCOMES[value] if name == "refused" else env.items[value])
            )
    return sorted(found)
