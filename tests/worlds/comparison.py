"""Plays a fast world beside its plain reference, on the same chance and the same actions."""

import collections
import dataclasses

import equinox as eqx
import jax
import numpy as np

import sociarium
from sociarium.envs.dilemmas import (
    clean_up,
    coins,
    coop_mining,
    gift_refinement,
    harvest,
    mushrooms,
    pd_arena,
)
from tests.reference import clean_up as plain_clean_up
from tests.reference import coins as plain_coins
from tests.reference import coop_mining as plain_coop_mining
from tests.reference import draws, grid
from tests.reference import gift_refinement as plain_gift_refinement
from tests.reference import harvest as plain_harvest
from tests.reference import mushrooms as plain_mushrooms
from tests.reference import pd_arena as plain_pd_arena

STEPS = 125  # of one episode
LANES = 8  # episodes in one batch; odd batches are played under `vmap`, even ones lane by lane


@dataclasses.dataclass(frozen=True)
class Pair:
    """What it takes to compare one world of the catalogue."""

    module: object
    reference: type
    reset_draws: object
    step_draws: object
    text: str
    map: str = ""


PAIRS = {
    "coins-v0": Pair(coins, plain_coins.Coins, draws.coins_reset, draws.coins_step, coins.MAP),
    "clean_up-v0": Pair(
        clean_up,
        plain_clean_up.CleanUp,
        draws.clean_up_reset,
        draws.clean_up_step,
        clean_up.MAP,
    ),
    "coop_mining-v0": Pair(
        coop_mining,
        plain_coop_mining.CoopMining,
        draws.spawn_reset,
        draws.coop_mining_step,
        coop_mining.MAP,
    ),
    "mushrooms-v0": Pair(
        mushrooms,
        plain_mushrooms.Mushrooms,
        draws.spawn_reset,
        draws.mushrooms_step,
        mushrooms.MAP,
    ),
    "gift_refinement-v0": Pair(
        gift_refinement,
        plain_gift_refinement.GiftRefinement,
        draws.spawn_reset,
        draws.gift_refinement_step,
        gift_refinement.MAP,
    ),
    "pd_arena-v0": Pair(
        pd_arena, plain_pd_arena.PDArena, draws.spawn_reset, draws.pd_arena_step, pd_arena.MAP
    ),
} | {
    f"harvest_{name}-v0": Pair(
        harvest, plain_harvest.Harvest, draws.harvest_reset, draws.harvest_step, text, name
    )
    for name, text in harvest.MAPS.items()
}


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
                state = crowded(env, state, rng)
                started = reference.words(_columns(state))
            starts.append(state)
            states.append(started)
        actions = rng.choice(len(env.actions), (LANES, steps, env.players), p=_habits(env))
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
        slow |= {f"gauge {name}": level for name, level in reference.gauges(state).items()}
        slow |= {
            "rewards": [outcome["reward"]] * 3,
            "ends": (False, outcome["truncated"]),
            "legal": reference.legal(state),
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
        grid.wish(land, was["cell"], was["heading"], action) != was["cell"] == now["cell"]
        for was, now, action in zip(before["players"], after["players"], actions, strict=True)
    )


def _happened(event):
    """For each step, {entry: (other, cell, value)} where the mask is set."""
    steps = [{} for _ in event.mask]
    for step, entry in zip(*np.nonzero(event.mask), strict=True):
        at = step, entry
        steps[step][int(entry)] = (
            int(event.other[at]),
            int(event.cell[at]),
            float(event.value[at]),
        )
    return steps


def _columns(tree):
    fields = tree if isinstance(tree, dict) else _fields(tree)
    return {name: np.asarray(column).tolist() for name, column in fields.items()}


def _fields(module):
    return {field.name: getattr(module, field.name) for field in dataclasses.fields(module)}


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


def _habits(env):
    """How often each action is chosen; many steps ahead and many beams, to make people meet."""
    own = len(env.actions) - 7
    moves = np.array([0.04, 0.34, 0.1, 0.1, 0.1, 0.08, 0.08])
    chances = np.append(moves, [0.3 / own] * own) if own else moves
    return chances / chances.sum()


FROM_RESET = (0, 5)
FERTILE = (  # where a world's things grow
    "plot_cells",
    "orchard_cells",
    "floor_cells",
    "soil_cells",
    "ore_cells",
    "token_cells",
)


def _params(pair, env, lane, rng):
    """By lane: the defaults twice, the two reference sets, and four lively sets of numbers."""
    if lane < 2:
        return env.params()
    if lane == 2:
        return pair.module.Params.socialjax()
    if lane == 3:
        of_map = {"map": pair.map} if pair.map else {}
        return pair.module.Params.meltingpot(**of_map)
    changes = LIVELY[pair.module](rng)
    if lane in (5, 7):
        changes["horizon"] = int(rng.integers(10, STEPS))
    return env.params(**changes)


def _lively_coins(rng):
    # chances that are sums of few powers of two: exact in any precision
    return {
        "coin_chance": float(rng.choice([0, 1 / 64, 1 / 16, 0.25, 1])),
        "coin_reward": float(rng.integers(-2, 3)),
        "loss": float(rng.integers(-4, 2)),
    }


def _lively_harvest(rng):
    return {
        "regrowth": rng.uniform(0, 0.3, 4) * rng.integers(0, 2, 4),
        "zap": rng.random((5, 3)) < 0.8,
        "recharge": int(rng.integers(0, 4)),
        "exile": int(rng.integers(0, 7)),
        "apple_reward": float(rng.integers(-1, 4)),
    }


def _lively_clean_up(rng):
    return {
        "growth": float(rng.uniform(0, 0.3)),
        "depletion": float(rng.uniform(0.3, 1)),
        "restoration": float(rng.uniform(0, 0.2)),
        "waste_chance": float(rng.uniform(0, 1)),
        "quiet": int(rng.integers(0, 60)),
        "fouled": int(rng.integers(0, 147)),
        "zap": rng.random((5, 3)) < 0.8,
        "clean": rng.random((5, 3)) < 0.8,
        "zap_recharge": int(rng.integers(0, 4)),
        "clean_recharge": int(rng.integers(0, 4)),
        "exile": int(rng.integers(0, 7)),
        "apple_reward": float(rng.integers(-1, 4)),
    }


def _lively_mushrooms(rng):
    return {
        "pays": rng.integers(-8, 13, 4) / 4,
        "digestion": rng.integers(0, 5, 4),
        "spore_chance": rng.uniform(0, 1, 4),
        "spores": rng.integers(0, 3, 4),
        "zap": rng.random((5, 3)) < 0.8,
        "recharge": int(rng.integers(0, 4)),
        "exile": int(rng.integers(0, 7)),
    }


def _lively_coop_mining(rng):
    return {
        "iron_chance": float(rng.uniform(0, 0.02)),
        "gold_chance": float(rng.uniform(0, 0.05)),
        "iron_reward": float(rng.integers(-1, 4)),
        "gold_reward": float(rng.integers(0, 9)),
        "open_for": int(rng.integers(0, 5)),
        "fewest": int(rng.integers(1, 3)),
        "most": int(rng.integers(2, 5)),
        "length": int(rng.integers(1, 6)),
        "recharge": int(rng.integers(0, 4)),
    }


def _lively_gift_refinement(rng):
    return {
        "token_chance": float(rng.uniform(0, 0.1)),
        "token_reward": float(rng.integers(-1, 4)),
        "growth": int(rng.integers(1, 6)),
        "capacity": int(rng.integers(3, 20)),
        "length": int(rng.integers(1, 6)),
        "recharge": int(rng.integers(0, 4)),
    }


def _lively_pd_arena(rng):
    return {
        "payoff": rng.integers(-3, 7, (2, 2)),
        "regrowth": float(rng.uniform(0, 1)),
        "beam": rng.random((5, 3)) < 0.8,
        "recharge": int(rng.integers(0, 4)),
        "least_exile": int(rng.integers(0, 3)),
        "most_exile": int(rng.integers(3, 8)),
    }


LIVELY = {
    coins: _lively_coins,
    harvest: _lively_harvest,
    clean_up: _lively_clean_up,
    mushrooms: _lively_mushrooms,
    coop_mining: _lively_coop_mining,
    gift_refinement: _lively_gift_refinement,
    pd_arena: _lively_pd_arena,
}


def crowded(env, state, rng):
    """Everybody in one small neighbourhood, in the middle of things; some are out of play."""
    players, nowhere = env.players, env.terrain.nowhere
    rows, cols = np.nonzero(~env.terrain.wall)
    fertile = next(getattr(env, kind) for kind in FERTILE if hasattr(env, kind))
    anywhere = rows * env.terrain.cols + cols
    row, col = divmod(rng.choice(fertile if rng.random() < 0.6 else anywhere), env.terrain.cols)
    near = np.argsort(abs(rows - row) + abs(cols - col), kind="stable")
    body = rng.permutation(near[: players + 3])[:players]
    body = rows[body] * env.terrain.cols + cols[body]
    new = {"heading": rng.integers(0, 4, players), "clock": rng.choice([0, 40, 60])}
    fields = _fields(state)
    if "away" in fields:
        out = rng.random(players) < 0.2
        body = np.where(out, nowhere, body)
        new["away"] = np.where(out, rng.integers(0, 4, players), 0)
    new["body"] = body
    timers = ("cooldown", "zap_cooldown", "clean_cooldown", "digesting")
    poses = ("fired", "zapped_from", "cleaned_from")
    for name in (name for name in timers if name in fields):
        new[name] = rng.integers(0, 3, players)
    for name in (name for name in poses if name in fields):
        fired = (rng.random(players) < 0.3) & (body != nowhere)
        new[name] = np.where(fired, body * 4 + new["heading"], -1)
    density = rng.choice([1.5 / len(fertile), 3 / len(fertile), 0.3, 1])
    if "waste" in fields:
        new["waste"] = rng.random(env.basin) < rng.uniform(0, 0.6)
    if "coin" in fields:
        coin = np.where(rng.random(env.places) < density, rng.integers(0, players, env.places), -1)
        new["coin"] = np.where(np.isin(fertile, body), -1, coin)
    bare = np.isin(fertile, body)
    for name in (name for name in ("raw", "refined", "precious") if name in fields):
        new[name] = rng.integers(0, 4, players) * rng.integers(0, 2, players)
    for name in (name for name in ("cooperate", "defect") if name in fields):
        new[name] = np.where(body == nowhere, 0, rng.integers(0, 3, players))
    if "token" in fields:
        new["token"] = (rng.random(len(fertile)) < density) & ~bare
    if "mushroom" in fields:
        kinds = rng.integers(1, 5, len(fertile))
        new["mushroom"] = np.where((rng.random(len(fertile)) < density) & ~bare, kinds, 0)
    if "ore" in fields:
        new |= _at_work(env, body, new, rng)
    if "apple" in fields:
        new["apple"] = (rng.random(len(fertile)) < density) & ~np.isin(fertile, body)
    leaves = {name: np.asarray(value, fields[name].dtype) for name, value in new.items()}
    return eqx.tree_at(
        lambda tree: [getattr(tree, name) for name in leaves], state, list(leaves.values())
    )


def _at_work(env, body, new, rng):
    """Ore about the place, players who have struck some of the gold, and their last beams."""
    ore = rng.choice(3, env.places, p=[0.4, 0.3, 0.3])
    veins = np.flatnonzero(ore == 2)
    near = np.argsort(abs(env.ore_cells[veins] - body[0]), kind="stable")
    claim = rng.choice([*veins[near[:2]], env.places, env.places], env.players)
    closing = np.where(claim == env.places, 0, 1 + claim % 3)
    pose = np.maximum(new["fired"], 0)
    straight = sum(1 << (3 * far + 1) for far in range(3))
    glow = np.where(new["fired"] >= 0, env.terrain.reach[pose] & straight, 0)
    return {"ore": ore, "claim": claim, "closing": closing, "glow": glow}
