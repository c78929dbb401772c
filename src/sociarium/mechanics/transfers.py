"""Points that change hands because of what somebody did, in parts, so that none is lost."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from sociarium.mechanics.parts import Parts


def owed(times: Int[Array, " players"], each: Array) -> Parts:
    """So many points for each time."""
    return Parts.of(jnp.asarray(each, jnp.float32)).times(times)


def among_others(parts: Parts, due: Parts) -> Parts:
    """What everybody has after it paid what is due to the others, in equal shares.

    Nothing is lost: what does not come out even goes to the first of them by id, one part each.
    Below 0 it is the others who pay. Who is alone keeps what it has.
    """
    others = due.high.shape[0] - 1
    if not others:
        return parts
    total = due.sum(0)
    received, odd = (total - due).divided(others)
    rest = (total - received.sum(0)).clipped(1)
    first = (odd > 0) & (jnp.cumsum(odd > 0) <= rest)
    return parts - due + received + first.astype(jnp.int32)
