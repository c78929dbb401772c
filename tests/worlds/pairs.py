"""What it takes to play a fast world beside its plain reference."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import numpy as np


@dataclasses.dataclass(frozen=True)
class Pair:
    """One world of the catalogue, its reference, and how to make much happen in it."""

    reference: type
    reset_draws: Callable
    step_draws: Callable
    text: str  # the map
    published: Callable  # of the world: the numbers of two references
    lively: Callable  # of the world and a generator: numbers to change
    crowded: Callable  # of the world, a state and a generator: a state in the middle of things
    habits: Callable  # of the world: how often each action is chosen


def fields(module):
    """{name: part} of a state or of parameters."""
    return {field.name: getattr(module, field.name) for field in dataclasses.fields(module)}


def changed(state, new):
    """The state with some of its parts replaced; each keeps its type."""
    parts = fields(state)
    leaves = {name: np.asarray(value, parts[name].dtype) for name, value in new.items()}
    return eqx.tree_at(
        lambda tree: [getattr(tree, name) for name in leaves], state, list(leaves.values())
    )
