"""Writes the generator's words to standard output for ever: `python -m tests.core.words 1`.

They are the words a world draws: some thousand for each step of an episode, each step's key folded
in from the episode's. `python -m tests.core.words 1 | dieharder -g 200 -a` examines them.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.core import random

STEPS, WORDS = 1024, 2048


def main(seed):
    """Words of one seed until nobody reads any more."""
    key = sociarium.key(seed)

    @jax.jit
    def words(first):
        steps = first + jnp.arange(STEPS, dtype=jnp.uint32)
        return jax.vmap(lambda step: random.bits(jax.random.fold_in(key, step), WORDS))(steps)

    first = 0
    while True:
        try:
            sys.stdout.buffer.write(np.asarray(words(jnp.uint32(first))).tobytes())
        except BrokenPipeError:
            return
        first += STEPS


if __name__ == "__main__":
    main(int(sys.argv[1]))
