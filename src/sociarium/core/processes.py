"""Several processes that run one program together, as JAX does it on many hosts.

All of them run the same Python; each holds a part of every array that is spread over devices.
Files are written by the process that leads. Whoever is alone leads.
"""

from collections.abc import Sequence

import jax
import numpy as np
from jax.experimental import multihost_utils


def alone() -> bool:
    """Whether no other process takes part."""
    return jax.process_count() == 1


def leads() -> bool:
    """Whether this process writes what all have done."""
    return jax.process_index() == 0


def any_says(facts: Sequence[bool]) -> list[bool]:
    """Which of these facts hold in at least one process; all must ask at the same moment.

    Clocks differ and a signal may reach one process only, but whoever saves or stops by itself
    leaves the others waiting for its arrays.
    """
    if alone():
        return list(facts)
    told = np.asarray(multihost_utils.process_allgather(np.array(facts)))
    return [bool(column.any()) for column in told.reshape(-1, len(facts)).T]
