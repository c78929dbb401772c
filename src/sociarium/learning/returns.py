"""What followed an action, as targets to learn from."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def gae(
    reward: Float[Array, "time *batch seats"],
    value: Float[Array, "time *batch seats"],
    next_value: Float[Array, "time *batch seats"],
    terminated: Bool[Array, "time *batch"],
    ended: Bool[Array, "time *batch"],
    gamma: Float[Array, ""],
    gae_lambda: Float[Array, ""],
) -> Float[Array, "time *batch seats"]:
    """How much better each step went than its value said (GAE, Schulman et al. 2016).

    `next_value` is the value of what came after the step: of the next view, or of the final view
    where the episode ended there. It counts unless `terminated`; nothing is carried over an end.
    """
    goes_on, carries = (~flag[..., None] for flag in (terminated, ended))
    td_error = reward + gamma * goes_on * next_value - value

    def back(ahead: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        td_error, carries = now
        advantage = td_error + gamma * gae_lambda * carries * ahead
        return advantage, advantage

    _, advantages = jax.lax.scan(back, jnp.zeros_like(value[0]), (td_error, carries), reverse=True)
    return advantages
