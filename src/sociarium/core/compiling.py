"""Compiling for programs that play one episode: soon ready rather than fast."""

from collections.abc import Callable
from typing import Any

import jax

# Each fusion as one plain loop, and few passes over it: about half of the time to compile.
SOON = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}


def jit_soon(function: Callable[..., Any], weights: bool = False) -> Callable[..., Any]:
    """`jax.jit` for a program of one lane, which waits for the compiler longer than it runs.

    Whole numbers come out the same however a program is compiled, sums of products may not: with
    `weights`, a policy's among its arguments, it is compiled like the programs of many lanes.
    """
    here = jax.default_backend() == "cpu" and not weights
    return jax.jit(function, compiler_options=SOON if here else None)
