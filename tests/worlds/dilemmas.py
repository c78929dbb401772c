"""The nine dilemmas beside their references: lively numbers, crowded states, habits."""

import numpy as np

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
from tests.reference import draws
from tests.reference import gift_refinement as plain_gift_refinement
from tests.reference import harvest as plain_harvest
from tests.reference import mushrooms as plain_mushrooms
from tests.reference import pd_arena as plain_pd_arena
from tests.worlds.pairs import Pair, changed, fields


def habits(env):
    """How often each action is chosen; many steps ahead and many beams, to make people meet."""
    own = len(env.actions) - 7
    moves = np.array([0.04, 0.34, 0.1, 0.1, 0.1, 0.08, 0.08])
    chances = np.append(moves, [0.3 / own] * own) if own else moves
    return chances / chances.sum()


FERTILE = (  # where a world's things grow
    "plot_cells",
    "orchard_cells",
    "floor_cells",
    "soil_cells",
    "ore_cells",
    "token_cells",
)


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
    parts = fields(state)
    if "away" in parts:
        out = rng.random(players) < 0.2
        body = np.where(out, nowhere, body)
        new["away"] = np.where(out, rng.integers(0, 4, players), 0)
    new["body"] = body
    timers = ("cooldown", "zap_cooldown", "clean_cooldown", "digesting")
    poses = ("fired", "zapped_from", "cleaned_from")
    for name in (name for name in timers if name in parts):
        new[name] = rng.integers(0, 3, players)
    for name in (name for name in poses if name in parts):
        fired = (rng.random(players) < 0.3) & (body != nowhere)
        new[name] = np.where(fired, body * 4 + new["heading"], -1)
    density = rng.choice([1.5 / len(fertile), 3 / len(fertile), 0.3, 1])
    if "waste" in parts:
        new["waste"] = rng.random(env.basin) < rng.uniform(0, 0.6)
    if "coin" in parts:
        coin = np.where(rng.random(env.places) < density, rng.integers(0, players, env.places), -1)
        new["coin"] = np.where(np.isin(fertile, body), -1, coin)
    bare = np.isin(fertile, body)
    for name in (name for name in ("raw", "refined", "precious") if name in parts):
        new[name] = rng.integers(0, 4, players) * rng.integers(0, 2, players)
    for name in (name for name in ("cooperate", "defect") if name in parts):
        new[name] = np.where(body == nowhere, 0, rng.integers(0, 3, players))
    if "token" in parts:
        new["token"] = (rng.random(len(fertile)) < density) & ~bare
    if "mushroom" in parts:
        kinds = rng.integers(1, 5, len(fertile))
        new["mushroom"] = np.where((rng.random(len(fertile)) < density) & ~bare, kinds, 0)
    if "ore" in parts:
        new |= _at_work(env, body, new, rng)
    if "apple" in parts:
        new["apple"] = (rng.random(len(fertile)) < density) & ~np.isin(fertile, body)
    return changed(state, new)


def _at_work(env, body, new, rng):
    """Ore about the place, players who have struck some of the gold, and their last beams."""
    ore = rng.choice(3, env.places, p=[0.4, 0.3, 0.3])
    veins = np.flatnonzero(ore == 2)
    near = np.argsort(abs(env.ore_cells[veins] - body[0]), kind="stable")
    claim = rng.choice([*veins[near[:2]], env.places, env.places], env.players)
    closing = np.where(claim == env.places, 0, 1 + claim % 3)
    pose = np.maximum(new["fired"], 0)
    straight = sum(1 << (3 * far + 1) for far in range(3))
    glow = np.where(new["fired"] >= 0, env.terrain.beam_reach[pose] & straight, 0)
    return {"ore": ore, "claim": claim, "closing": closing, "glow": glow}


def _pair(module, reference, reset_draws, step_draws, text, map=""):
    def published(env):
        of_map = {"map": map} if map else {}
        return module.Params.socialjax(), module.Params.meltingpot(**of_map)

    def lively(env, rng):
        return LIVELY[module](rng)

    return Pair(reference, reset_draws, step_draws, text, published, lively, crowded, habits)


PAIRS = {
    "coins-v0": _pair(coins, plain_coins.Coins, draws.coins_reset, draws.coins_step, coins.MAP),
    "clean_up-v0": _pair(
        clean_up,
        plain_clean_up.CleanUp,
        draws.clean_up_reset,
        draws.clean_up_step,
        clean_up.MAP,
    ),
    "coop_mining-v0": _pair(
        coop_mining,
        plain_coop_mining.CoopMining,
        draws.spawn_reset,
        draws.coop_mining_step,
        coop_mining.MAP,
    ),
    "mushrooms-v0": _pair(
        mushrooms,
        plain_mushrooms.Mushrooms,
        draws.spawn_reset,
        draws.mushrooms_step,
        mushrooms.MAP,
    ),
    "gift_refinement-v0": _pair(
        gift_refinement,
        plain_gift_refinement.GiftRefinement,
        draws.spawn_reset,
        draws.gift_refinement_step,
        gift_refinement.MAP,
    ),
    "pd_arena-v0": _pair(
        pd_arena, plain_pd_arena.PDArena, draws.spawn_reset, draws.pd_arena_step, pd_arena.MAP
    ),
} | {
    f"harvest_{name}-v0": _pair(
        harvest, plain_harvest.Harvest, draws.harvest_reset, draws.harvest_step, text, name
    )
    for name, text in harvest.MAPS.items()
}
