"""How batches lie in memory, so that one world's code runs fast over thousands of lanes."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool

try:  # not a settled part of JAX, and nothing but speed on CPUs depends on it
    from jax.experimental.xla_metadata import set_xla_metadata
except ImportError:

    def set_xla_metadata(*_: Any, **metadata: Any) -> Any:
        """Nothing is told to XLA."""
        return nullcontext()


FEW = 32  # up to this many players, comparisons between all pairs beat scatters


def lanes_last(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes `vmap` put the lane axis last, where wide vector instructions find it.

    The function takes arrays only and must work for any trailing axes: [players, *lanes].
    Pairwise code over a handful of players is then as fast as its arithmetic.
    """
    batched_function = custom_vmap(partial(no_inline, function))

    @batched_function.def_vmap
    def rule(size: int, batched: list[bool], *arrays: Any) -> tuple[Any, Any]:
        trailing = [
            jnp.moveaxis(array, 0, -1)
            if is_batched
            else jnp.broadcast_to(array[..., None], (*array.shape, size))
            for array, is_batched in zip(arrays, batched, strict=True)
        ]
        out = batched_function(*trailing)
        return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), out), jax.tree.map(
            lambda _: True, out
        )

    return batched_function


def merged(mask: Bool[Array, "*lanes"], yes: Any, no: Any) -> Any:
    """Two trees in one, leading axes as the mask: `yes` where it is set, `no` elsewhere."""

    def pick(one: Array, other: Array) -> Array:
        return jnp.where(mask.reshape(mask.shape + (1,) * (other.ndim - mask.ndim)), one, other)

    return jax.tree.map(pick, yes, no)


@partial(jax.jit, static_argnums=0, inline=True)
def no_inline(function: Callable[..., Any], *arrays: Any) -> Any:
    """Calls `function` as a unit of its own on CPUs, so that several readers share its result.

    XLA's CPU backend otherwise repeats a gather inside every computation that reads it. What is
    done is chosen when a program is lowered, so that one for another platform has no such unit.
    """

    def unit(*arrays: Any) -> Any:
        with set_xla_metadata(inlineable="false"):
            return _unit(function, *arrays)

    def plain(*arrays: Any) -> Any:
        return _unit(function, *arrays)

    return jax.lax.platform_dependent(*arrays, cpu=unit, default=plain)


@partial(jax.jit, static_argnums=0)
def _unit(function: Callable[..., Any], *arrays: Any) -> Any:
    with set_xla_metadata(inlineable="true"):
        return function(*arrays)
