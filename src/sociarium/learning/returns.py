"""What followed an action, as targets to learn from."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def advantages(
    reward: Float[Array, "time *batch seats"],
    value: Float[Array, "time *batch seats"],
    following: Float[Array, "time *batch seats"],
    terminated: Bool[Array, "time *batch"],
    ended: Bool[Array, "time *batch"],
    discount: Float[Array, ""],
    trace: Float[Array, ""],
) -> Float[Array, "time *batch seats"]:
    """How much better each step went than its value said (GAE, Schulman et al. 2016).

    `following` is the value of what came after the step: of the next view, or of the final view
    where the episode ended there. It counts unless `terminated`; nothing is carried over an end.
    """
    goes_on, carries = (~flag[..., None] for flag in (terminated, ended))
    surprise = reward + discount * goes_on * following - value

    def back(ahead: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        surprise, carries = now
        gain = surprise + discount * trace * carries * ahead
        return gain, gain

    _, gains = jax.lax.scan(back, jnp.zeros_like(value[0]), (surprise, carries), reverse=True)
    return gains
