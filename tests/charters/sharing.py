"""What an article leaves to everybody of given points, and the circumstances it is asked in."""

import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.charters.article import Proceedings
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY


def circumstances(society, clock=0, stood=0, near=None, states=None):
    """So many steps into an episode; nobody is near, and social states are new, unless given."""
    charter, numbers = society.charter, society.params().charter
    nobody = jnp.full((society.players, charter.nearby), NOBODY)
    near = nobody if near is None else jnp.asarray(near)
    when = jnp.int32(clock), jnp.int32(stood), near, numbers
    if states is None:
        states = charter.begin(sociarium.key(0), charter.circumstances(*when), numbers)
    return charter.circumstances(*when, states)


def proceedings(society, events=None, raw=None, **now):
    """A step in which this happened and everybody earned so much."""
    raw = np.zeros(society.players) if raw is None else raw
    return Proceedings(
        events=events or {},
        levels={},
        legal=jnp.ones((society.players, len(society.world.actions)), bool),
        raw=Parts.of(jnp.asarray(np.array(raw, np.float32))),
        now=circumstances(society, **now),
    )


def shared(charter, points, state, now, params):
    """Everybody's points after sharing, to four places."""
    share = jax.jit(lambda points: charter.share(Parts.of(points), state, now, params).points())
    left = share(jnp.asarray(np.array(points, np.float32)))
    return np.asarray(left, np.float64).round(4).tolist()
