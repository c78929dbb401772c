"""Beams brought to bear on what is in sight."""

import jax
import jax.numpy as jnp
import pytest

from sociarium.mechanics import turning
from sociarium.players.planning.aiming import Beam

HOME, FIRE = (9, 5), 7
NOTHING = jnp.zeros((11, 11), bool)


def at(*cells):
    mask = NOTHING
    for cell in cells:
        mask = mask.at[cell].set(True)
    return mask


def hunt(beam, target, barrier=NOTHING, ready=True):
    aim = jax.jit(beam.hunt, static_argnums=3)
    action, found = aim(target, barrier, barrier, HOME, jnp.bool_(ready), jnp.uint32(1))
    return int(action), bool(found)


@pytest.mark.parametrize(
    ("cell", "action"),
    [
        ((6, 5), FIRE),
        ((9, 8), turning.TURN_RIGHT),
        ((9, 2), turning.TURN_LEFT),
        ((10, 5), turning.TURN_RIGHT),
        ((5, 5), turning.FORWARD),
    ],
)
def test_fire_turn_or_walk(cell, action):
    assert hunt(Beam(FIRE, length=3, half_width=0), at(cell)) == (action, True)


def test_a_wide_beam_reaches_aside_and_a_straight_one_does_not():
    assert hunt(Beam(FIRE, length=3, half_width=1), at((7, 6)))[0] == FIRE
    assert hunt(Beam(FIRE, length=3, half_width=0), at((7, 6)))[0] != FIRE


def test_a_barrier_stops_the_beam_but_not_underfoot():
    beam = Beam(FIRE, length=3, half_width=0)
    assert hunt(beam, at((7, 5)), barrier=at((8, 5)))[0] != FIRE
    assert hunt(beam, at((7, 5)), barrier=at(HOME))[0] == FIRE


def test_one_waits_for_the_beam_with_a_target_ahead():
    assert hunt(Beam(FIRE, length=3, half_width=0), at((7, 5)), ready=False) == (turning.STAY, True)


def test_nothing_in_sight_is_nothing_to_hunt():
    assert not hunt(Beam(FIRE, length=3, half_width=1), NOTHING)[1]
    assert not hunt(Beam(FIRE, length=3, half_width=1), at(HOME))[1]
