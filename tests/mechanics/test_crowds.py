"""Asking for the same thing, against loops over players."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.mechanics import crowds
from sociarium.mechanics.layout import FEW

SIZES = pytest.mark.parametrize("players", [1, 2, 5, FEW, FEW + 8, 2 * FEW + 10])
THINGS, LANES = 7, 30


def some(players, seed=0):
    rng = np.random.default_rng([players, seed])
    wanted = rng.integers(0, THINGS + 1, (LANES, players)).astype(np.int32)
    draw = rng.integers(0, 2**32, (LANES, players), dtype=np.uint32)
    draw[:3] = 12  # equal draws must be told apart too
    return draw, wanted


def loudest(lot, claimants):
    return max(claimants, key=lambda seat: lot[seat])


@SIZES
def test_lots_are_distinct_and_follow_the_draws(players):
    draw, _ = some(players)
    lots = np.asarray(jax.vmap(crowds.lots)(draw))
    assert lots.min() >= 0
    assert all(len(set(row)) == players for row in lots)
    coarse = draw[3:] >> 8
    for lot, drawn in zip(lots[3:], coarse, strict=True):
        order = np.argsort(lot)
        assert (np.diff(drawn[order].astype(np.int64)) >= 0).all()


@SIZES
def test_one_of_those_who_want_a_thing_gets_it(players):
    draw, wanted = some(players)
    got = np.asarray(jax.vmap(lambda d, w: crowds.winners(d, w, THINGS))(draw, wanted))
    lots = np.asarray(jax.vmap(crowds.lots)(draw))
    for lane in range(LANES):
        expected = np.zeros(players, bool)
        for thing in range(THINGS):
            claimants = np.flatnonzero(wanted[lane] == thing)
            if len(claimants):
                expected[loudest(lots[lane], claimants)] = True
        np.testing.assert_array_equal(got[lane], expected)


def test_every_claimant_wins_equally_often():
    draw = jax.random.bits(jax.random.key(0), (20_000, 3), jnp.uint32)
    wanted = jnp.zeros((20_000, 3), jnp.int32)
    won = jax.vmap(lambda d, w: crowds.winners(d, w, THINGS))(draw, wanted)
    np.testing.assert_allclose(won.mean(0), 1 / 3, atol=0.015)


@SIZES
def test_count_and_greatest_equal_a_loop(players):
    draw, held = some(players)
    _, asked = some(players, seed=1)
    value = (draw >> 8).astype(np.int32)
    counted = jax.vmap(lambda a, h: crowds.count(a, h, THINGS))(asked, held)
    best = jax.vmap(lambda a, h, v: crowds.greatest(a, h, v, THINGS))(asked, held, value)
    for lane in range(LANES):
        for seat in range(players):
            holders = held[lane] == asked[lane, seat]
            assert counted[lane, seat] == holders.sum()
            assert best[lane, seat] == max(value[lane][holders], default=-1)


@SIZES
def test_pairs_stand_where_their_lot_is_the_highest_for_both(players):
    rng = np.random.default_rng(players)
    draw, _ = some(players)
    partner = rng.integers(0, players, (LANES, players)).astype(np.int32)
    oneself = partner == np.arange(players)
    partner = np.where(oneself | (rng.random(partner.shape) < 0.3), players, partner)
    stands = np.asarray(jax.vmap(crowds.pairs)(draw, partner))
    lots = np.asarray(jax.vmap(crowds.lots)(draw))
    for lane in range(LANES):
        proposals = [(seat, to) for seat, to in enumerate(partner[lane]) if to < players]
        busy = []
        for seat, to in proposals:
            rivals = [a for a, b in proposals if {a, b} & {seat, to}]
            assert stands[lane, seat] == (loudest(lots[lane], rivals) == seat)
            busy += [seat, to] if stands[lane, seat] else []
        assert len(busy) == len(set(busy)), "somebody is in two meetings"
        assert bool(busy) == bool(proposals), "the highest lot of all must stand"
        assert not stands[lane][partner[lane] == players].any()
