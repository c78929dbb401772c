"""Tells everybody the hidden numbers of a world, under a charter too."""

from typing import Any

from sociarium.charters.society import Society
from sociarium.core.environment import Environment
from sociarium.core.hidden import Revealed


def reveal(env: Environment[Any, Any]) -> Environment[Any, Any]:
    """The environment with its hidden numbers told to everybody; a society is still a society."""
    if isinstance(env, Society):
        return env.with_world(Revealed(env.world))
    return Revealed(env)
