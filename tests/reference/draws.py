"""The words of chance each phase of a step or a reset consumes, as plain Python integers.

The only file here that uses JAX. It names, world by world, how a key is split and how many words
each phase takes; the references know only the words.
"""

import jax
import jax.numpy as jnp
import numpy as np


def _words(key, *shape):
    return jax.random.bits(key, shape, jnp.uint32)


def coins_step(key, env):
    k_move, k_coin = jax.random.split(key, 2)
    return {"move": _words(k_move, env.players), "coin": _words(k_coin, env.places)}


def coins_reset(key, env):
    k_start, k_floor, k_seat, k_heading, k_colour = jax.random.split(key, 5)
    return {
        "start": _words(k_start, len(env.starts)),
        "floor": _words(k_floor, env.places),
        "seat": _words(k_seat, env.players),
        "heading": _words(k_heading, env.players),
        "colour": _words(k_colour, env.players),
    }


def harvest_step(key, env):
    k_move, k_grow, k_return = jax.random.split(key, 3)
    return {
        "move": _words(k_move, env.players),
        "grow": _words(k_grow, env.plots),
        "return": _words(k_return, env.players + 1),
    }


def harvest_reset(key, env):
    k_inside, k_spawn, k_seat, k_heading = jax.random.split(key, 4)
    return {
        "inside": _words(k_inside, len(env.inside)),
        "spawn": _words(k_spawn, len(env.spawn)),
        "seat": _words(k_seat, env.players),
        "heading": _words(k_heading, env.players),
    }


def clean_up_step(key, env):
    k_move, k_waste, k_grow, k_return = jax.random.split(key, 4)
    return {
        "move": _words(k_move, env.players),
        "waste": _words(k_waste, 2),
        "grow": _words(k_grow, env.orchard),
        "return": _words(k_return, env.players + 1),
    }


def clean_up_reset(key, env):
    k_place, k_heading, k_waste = jax.random.split(key, 3)
    return {
        "place": _words(k_place, len(env.spawn)),
        "heading": _words(k_heading, env.players),
        "waste": _words(k_waste, env.basin),
    }


def mushrooms_step(key, env):
    k_move, k_spore, k_return = jax.random.split(key, 3)
    return {
        "move": _words(k_move, env.players),
        "spore": _words(k_spore, 8 * env.players + 1),
        "return": _words(k_return, env.players + 1),
    }


def coop_mining_step(key, env):
    k_move, k_lot, k_ore = jax.random.split(key, 3)
    return {
        "move": _words(k_move, env.players),
        "lot": _words(k_lot, env.players),
        "ore": _words(k_ore, env.places),
    }


def gift_refinement_step(key, env):
    k_move, k_token = jax.random.split(key, 2)
    return {"move": _words(k_move, env.players), "token": _words(k_token, env.places)}


def pd_arena_step(key, env):
    k_move, k_meet, k_grow, k_exile, k_return = jax.random.split(key, 5)
    return {
        "move": _words(k_move, env.players),
        "meet": _words(k_meet, env.players),
        "grow": _words(k_grow, env.places),
        "exile": _words(k_exile, env.players),
        "return": _words(k_return, env.players + 1),
    }


def frontier_step(key, env):
    k_move, k_beast = jax.random.split(key, 2)
    return {"move": _words(k_move, env.players), "beast": _words(k_beast, env.site.beasts)}


def frontier_reset(key, env):
    phases = ("block", "pile", "units", "workplace", "player", "beast")
    counts = dict.fromkeys(phases, env.terrain.cells) | {"units": len(env.site.pile_kind)}
    keys = jax.random.split(key, len(phases))
    return {phase: _words(k, counts[phase]) for phase, k in zip(phases, keys, strict=True)}


def spawn_reset(key, env):
    """The start of every world that draws spawn cells and headings and nothing else."""
    k_place, k_heading = jax.random.split(key, 2)
    return {
        "place": _words(k_place, len(env.spawn)),
        "heading": _words(k_heading, env.players),
    }


def plainly(drawn):
    """Words drawn for many keys, as a list of {phase: list of integers}."""
    columns = {phase: np.asarray(words).tolist() for phase, words in drawn.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
