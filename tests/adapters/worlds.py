"""The worlds that every door is tried on, each made once so that its steps compile once."""

from functools import cache

import jax.numpy as jnp
import pytest

import sociarium
from sociarium.core.environment import View, mask_illegal
from tests.families import SMALLEST, WORLDS, in_ci
from tests.toys.meadow import Meadow

every_world = pytest.mark.parametrize("name", in_ci(WORLDS, SMALLEST))


@cache
def world(name):
    """The one copy of this world."""
    return sociarium.make(name)


class Siesta(Meadow):
    """A meadow in which player 0 is out of play in every odd step."""

    def legal(self, state, params):
        return super().legal(state, params).at[0, 1:].set(state.clock % 2 == 0)

    def observe(self, state, params):
        view = super().observe(state, params)
        return View(view.cells.at[0].multiply((state.clock % 2 == 0).astype(jnp.uint8)), view.own)

    def step(self, key, state, actions, params):
        return super().step(key, state, mask_illegal(actions, self.legal(state, params)), params)
