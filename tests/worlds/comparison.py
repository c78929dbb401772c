"""Plays a fast world beside its plain reference, on the same chance and the same actions."""

import collections
import dataclasses

import jax
import numpy as np

import sociarium
from tests.reference import draws
from tests.worlds import dilemmas, frontiers
from tests.worlds.pairs import fields

STEPS = 125  # of one episode
LANES = 8  # episodes in one batch; odd batches are played under `vmap`, even ones lane by lane
FROM_RESET = (0, 5)
PAIRS = dilemmas.PAIRS | frontiers.PAIRS


@dataclasses.dataclass
class Tally:
    """What was compared, what happened, and what differed."""

    steps: int = 0
    comparisons: int = 0
    happened: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    mismatches: list[str] = dataclasses.field(default_factory=list)


def compared(name, episodes, seed, steps=STEPS, players=None, tiles=(1, 1)):
    """The tally of `episodes` episodes of a world, a multiple of `LANES`."""
    pair, env = PAIRS[name], sociarium.make(name, players=players, tiles=tiles)
    text = "\n".join([line * tiles[1] for line in pair.text.split()] * tiles[0])
    reference = pair.reference(env, text)
    prepare, one, many = _compiled(pair, env, steps)
    rng, tally = np.random.default_rng(seed), Tally()
    for batch in range(episodes // LANES):
        where = f"{name} seed {seed} batch {batch} lane"
        params = [_params(pair, env, lane, rng) for lane in range(LANES)]
        plain = [_columns(each) for each in params]
        keys, resets, reset_words, words = prepare(
            sociarium.key(seed * 1000 + batch), _stacked(params)
        )
        reset_words, words = draws.plainly(reset_words), draws.plainly(words)
        resets = jax.tree.map(np.asarray, resets)
        starts, states = [], []
        for lane in range(LANES):
            state = _lane(resets, lane)
            started = reference.reset(reset_words[lane], plain[lane])
            _expect(tally, f"{where} {lane} reset", _columns(state), reference.numbers(started))
            if lane not in FROM_RESET:
                state = pair.crowded(env, state, rng)
                started = reference.words(_columns(state))
            starts.append(state)
            states.append(started)
        actions = rng.choice(len(env.actions), (LANES, steps, env.players), p=pair.habits(env))
        actions = actions.astype(np.int32)
        if batch % 2:
            played = jax.tree.map(
                np.asarray, many(keys, _stacked(starts), actions, _stacked(params))
            )
            lanes = [_lane(played, lane) for lane in range(LANES)]
        else:
            lanes = [
                jax.tree.map(np.asarray, one(keys[lane], starts[lane], actions[lane], params[lane]))
                for lane in range(LANES)
            ]
        for lane, seen in enumerate(lanes):
            chance = words[lane * steps : (lane + 1) * steps]
            _follow(
                tally,
                f"{where} {lane}",
                reference,
                states[lane],
                actions[lane],
                chance,
                plain[lane],
                seen,
            )
    return tally


def _follow(tally, where, reference, state, actions, words, params, seen):
    """Steps the reference through one episode and compares everything after every step."""
    after, transition, view, legal, gauges = seen
    numbers = _columns(after)
    rewards = [getattr(transition, kind).tolist() for kind in ("reward", "raw", "distributed")]
    happened = {kind: _happened(event) for kind, event in transition.events.items()}
    levels = _columns(gauges)
    own, legal = view.own.tolist(), legal.tolist()
    for step, (act, word) in enumerate(zip(actions.tolist(), words, strict=True)):
        before = state
        state, outcome = reference.step(state, act, word, params)
        cells, private = reference.view(state, params)
        fast = {name: column[step] for name, column in numbers.items()}
        fast |= {f"event {kind}": entries[step] for kind, entries in happened.items()}
        fast |= {f"gauge {name}": level[step] for name, level in levels.items()}
        fast |= {
            "rewards": [kind[step] for kind in rewards],
            "ends": (bool(transition.terminated[step]), bool(transition.truncated[step])),
            "legal": legal[step],
            "own": own[step],
            "cells": view.cells[step].tobytes(),
        }
        slow = reference.numbers(state)
        slow |= {f"event {kind}": entries for kind, entries in outcome["events"].items()}
        slow |= {f"gauge {name}": level for name, level in reference.gauges(state, params).items()}
        slow |= {
            "rewards": [outcome["reward"]] * 3,
            "ends": (outcome.get("terminated", False), outcome["truncated"]),
            "legal": reference.legal(state, params),
            "own": private,
            "cells": cells,
        }
        tally.steps += 1
        tally.happened["truncated"] += outcome["truncated"]
        tally.happened["refused move"] += _refused(reference.land, before, state, act)
        for kind, entries in outcome["events"].items():
            tally.happened[kind] += len(entries)
        if not _expect(tally, f"{where} step {step}", fast, slow):
            return


def _expect(tally, where, fast, slow):
    """Notes every field in which the two differ; says whether none does."""
    assert fast.keys() == slow.keys(), f"fields differ: {sorted(fast.keys() ^ slow.keys())}"
    differing = [name for name in slow if fast[name] != slow[name]]
    tally.comparisons += len(slow)
    tally.mismatches += [
        f"{where}: {name} is {_short(fast[name])}, by the rules {_short(slow[name])}"
        for name in differing
    ]
    return not differing


def _short(value):
    return value if len(repr(value)) < 400 else f"{repr(value)[:400]}..."


def _refused(land, before, after, actions):
    """How many wanted to step onto a free-standing cell and were kept back by other players."""
    return sum(
        wish != was["cell"] == now["cell"]
        for wish, was, now in zip(
            land.wishes(before, actions), before["players"], after["players"], strict=True
        )
    )


def _happened(event):
    """For each step, {entry: (other, cell, value)} where the mask is set."""
    steps = [{} for _ in event.mask]
    for at in map(tuple, np.argwhere(event.mask).tolist()):
        step, *entry = at
        steps[step][entry[0] if len(entry) == 1 else tuple(entry)] = (
            int(event.other[at]),
            int(event.cell[at]),
            float(event.value[at]),
        )
    return steps


def _columns(tree):
    parts = tree if isinstance(tree, dict) else fields(tree)
    return {name: np.asarray(column).tolist() for name, column in parts.items()}


def _stacked(trees):
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def _lane(tree, lane):
    return jax.tree.map(lambda leaf: leaf[lane], tree)


def _compiled(pair, env, steps):
    """What a batch begins with, an episode of one lane, and episodes of many under `vmap`."""

    def prepare(key, params):
        k_reset, k_step = jax.random.split(key)
        reset_keys = jax.random.split(k_reset, LANES)
        keys = jax.random.split(k_step, (LANES, steps))
        reset_words = jax.vmap(lambda key: pair.reset_draws(key, env))(reset_keys)
        words = jax.vmap(lambda key: pair.step_draws(key, env))(keys.ravel())
        return keys, jax.vmap(env.reset)(reset_keys, params), reset_words, words

    def play(keys, state, actions, params):
        def step(state, chance):
            key, action = chance
            state, transition = env.step(key, state, action, params)
            seen = env.observe(state, params), env.legal(state, params), env.gauges(state, params)
            return state, (state, transition, *seen)

        return jax.lax.scan(step, state, (keys, actions))[1]

    return jax.jit(prepare), jax.jit(play), jax.jit(jax.vmap(play))


def _params(pair, env, lane, rng):
    """By lane: the defaults twice, the two reference sets, and four lively sets of numbers."""
    if lane < 2:
        return env.params()
    if lane < 4:
        return pair.published(env)[lane - 2]
    changes = pair.lively(env, rng)
    if lane in (5, 7):
        changes["horizon"] = int(rng.integers(10, STEPS))
    return env.params(**changes)
