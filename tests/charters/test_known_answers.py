"""Which contracts and mediators are stable or dominant in four games: by enumeration."""

import itertools
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.charters.agreements import Agreements
from sociarium.charters.mediation import Mediation
from sociarium.charters.society import Society
from sociarium.core.environment import compiled
from sociarium.envs.rounds.matrix import Matrix
from sociarium.players.scripted.matrix import FixedMove

GAMES = {
    "pd": "prisoners_dilemma",
    "pg": "public_goods",
    "td": "travellers_dilemma",
    "tg": "trust",
}


def bound(env, talks, choices):
    """The state after some talks, and a function of it: what every profile pays everybody."""
    params = env.params()
    state, step = compiled(env, "reset")(sociarium.key(0), params), compiled(env, "step")
    numbers = {action.name: number for number, action in enumerate(env.actions)}
    named = lambda names: np.array([numbers[name] for name in names], np.int32)  # noqa: E731
    for names in talks:
        state, _ = step(sociarium.key(1), state, jnp.asarray(named(names)), params)
    assert int(state.clock) == 0
    profiles = itertools.product(choices, repeat=env.players)
    actions = jnp.asarray(np.stack([named(profile) for profile in profiles]))

    @jax.jit
    def pays(state):
        one = lambda each: env.step(sociarium.key(2), state, each, params)[1].reward  # noqa: E731
        return jax.vmap(one)(actions)

    shape = (*[len(choices)] * env.players, env.players)
    return state, lambda state: np.asarray(pays(state)).reshape(shape)


def stable(paid, choice):
    """Whether nobody gains by leaving alone when all make this choice."""
    players = paid.shape[-1]
    for player, other in itertools.product(range(players), range(paid.shape[0])):
        profile = [choice] * players
        profile[player] = other
        if paid[tuple(profile)][player] > paid[(choice,) * players][player] + 1e-3:
            return False
    return True


def dominant(paid, choice):
    """Whether it is never worse than any other choice, and better somewhere, for everybody."""
    for player in range(paid.shape[-1]):
        own = np.moveaxis(paid[..., player], player, 0)
        for other in range(len(own)):
            gain = own[choice] - own[other]
            if other != choice and not ((gain > -1e-3).all() and (gain > 1e-3).any()):
                return False
    return True


@cache
def playing(game):
    """A game under a contract: what every profile of moves pays, by the bonus on the best move."""
    world = Matrix(game=GAMES[game], framing="numbers")
    best, players = world.game.best, world.players
    env = Society(world, Agreements(f"whoever plays A{best} gets 1", approval=1))
    talks = [["propose terms 1"] * players, ["stay"] * players, ["sign"] * players]
    after, pays = bound(env, talks, [f"A{n}" for n in range(best + 1)])
    terms = after.social["agreements"].terms

    def of_bonus(bonus):
        return pays(eqx.tree_at(lambda s: s.social["agreements"].terms, after, bonus * terms))

    return of_bonus, best


def contract(game, bonus):
    of_bonus, best = playing(game)
    paid = of_bonus(bonus)
    return stable(paid, best), dominant(paid, best)


@pytest.mark.parametrize(
    ("game", "bonus", "is_stable", "is_dominant"),
    [
        ("pd", 0.9, False, False),
        ("pd", 1, True, False),
        ("pd", 1.1, True, True),
        ("pg", 0.4, False, False),
        ("pg", 0.5, True, False),
        ("pg", 0.6, True, True),
        ("td", 0.9, False, False),
        ("td", 1, True, False),
        ("td", 2.9, True, False),
        ("td", 3, True, True),
        ("tg", 9.9, False, False),
        ("tg", 10, True, True),
    ],
)
def test_the_bonus_at_which_a_contract_is_stable_and_dominant(game, bonus, is_stable, is_dominant):
    assert contract(game, bonus) == (is_stable, is_dominant)


def mediator(game, table):
    world = Matrix(game=GAMES[game], framing="numbers")
    moves = len(world.moves)
    cast = {f"m{n}": FixedMove(world, n) for n in range(moves)}
    env = Society(world, Mediation(cast, (table,), window=1, approval=1))
    talks = [["propose terms 1"] * world.players, ["stay"] * world.players]
    after, pays = bound(env, talks, [*(f"A{n}" for n in range(moves)), "delegate"])
    paid = pays(after)
    return stable(paid, moves), dominant(paid, moves)


@pytest.mark.parametrize(
    ("game", "table", "is_stable", "is_dominant"),
    [
        ("pd", "m0 m1", True, True),
        ("pd", "m1 m1", False, False),
        ("pg", "m0 m0 m1", True, True),
        ("pg", "m1 m0 m1", True, False),
        ("pg", "m0 m1 m1", False, False),
        ("pg", "m1 m1 m1", False, False),
        ("td", "m0 m3", True, False),
        ("td", "m1 m3", True, False),
        ("td", "m2 m3", True, False),
        ("tg", "m0 m1", True, False),
    ],
)
def test_the_tables_at_which_a_mediator_is_stable_and_dominant(game, table, is_stable, is_dominant):
    assert mediator(game, table) == (is_stable, is_dominant)
