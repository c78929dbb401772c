"""Steps of every family are lowered for other platforms, without what is only good on CPUs."""

import jax
import jax.numpy as jnp
import pytest

import sociarium
from sociarium.core import random
from tests.families import FAMILIES

PLATFORMS = ("cuda", "tpu")


def exported(env, platforms):
    """A step with views and legal actions, lowered from shapes; keys are given by their bits."""
    params = env.params()

    def step(bits, state, actions, params):
        key = jax.random.wrap_key_data(bits, impl=random.PCG4D)
        after, transition = env.step(key, state, actions, params)
        return after, transition, env.observe(after, params), env.legal(after, params)

    bits = jax.ShapeDtypeStruct((2,), jnp.uint32)
    state = jax.eval_shape(env.reset, sociarium.key(0), params)
    actions = jax.ShapeDtypeStruct((env.players,), jnp.int32)
    return jax.export.export(jax.jit(step), platforms=platforms)(bits, state, actions, params)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_step_is_lowered_for_other_platforms(name):
    env = sociarium.make(name)
    program = exported(env, PLATFORMS).mlir_module()
    assert 'inlineable = "false"' not in program


def test_on_cpus_what_several_read_is_a_unit_of_its_own():
    program = exported(sociarium.make("clean_up"), ("cpu",)).mlir_module()
    assert 'inlineable = "false"' in program


@pytest.mark.parametrize("name", ["coins+contract", "coins+open"])
def test_a_society_is_lowered_for_other_platforms(name):
    program = exported(sociarium.make(name), PLATFORMS).mlir_module()
    assert 'inlineable = "false"' not in program
