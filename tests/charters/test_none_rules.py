"""The rule of having no charter."""

import jax.numpy as jnp

import sociarium


def test_c1_nothing_is_shared():
    society = sociarium.make("coins+none")
    params = society.params()
    state = society.reset(sociarium.key(0), params)
    parts = jnp.array([5, -3], jnp.int32)
    assert society.charter.share(parts, state.social, params.charter).tolist() == [5, -3]
    seen = society.observe(state, params).social
    assert seen.windows.shape[1] == 0 and seen.own.shape[1] == 0
    assert society.actions == society.world.actions
