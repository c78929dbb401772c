"""Weights without drawing them: the shapes of a network, filled with plain numbers."""

import jax
import jax.numpy as jnp
import numpy as np

import sociarium


def filled(make, *, copies=(), seed=0):
    """What `make(key)` would make, with numbers about 0.3 in size; `copies` are leading axes."""
    lot = np.random.default_rng(seed)

    def numbers(leaf):
        sample_actions = 0.3 * lot.normal(size=(*copies, *leaf.shape))
        return jnp.asarray(sample_actions, leaf.dtype)

    return jax.tree.map(numbers, jax.eval_shape(make, sociarium.key(0)))
