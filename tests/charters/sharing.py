"""What a charter leaves to everybody of given points."""

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.mechanics.parts import Parts


def shared(charter, points, state, params):
    """Everybody's points after sharing, to four places."""
    share = jax.jit(lambda points: charter.share(Parts.of(points), state, params).points())
    left = share(jnp.asarray(np.array(points, np.float32)))
    return np.asarray(left, np.float64).round(4).tolist()
