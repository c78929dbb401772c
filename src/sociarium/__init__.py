"""Sociarium: a terrarium for societies of minds.

    import sociarium
    env = sociarium.make("clean_up-v0")

Names are loaded when they are first used, so importing the package is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sociarium.arena.lanes import Lanes
    from sociarium.catalogue import make
    from sociarium.core.actions import find_action
    from sociarium.core.conformance import check
    from sociarium.core.random import key

__version__ = "0.1.0.dev0"

_HOMES = {
    "make": "sociarium.catalogue",
    "key": "sociarium.core.random",
    "check": "sociarium.core.conformance",
    "Lanes": "sociarium.arena.lanes",
    "find_action": "sociarium.core.actions",
}
__all__ = ["Lanes", "check", "find_action", "key", "make"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sociarium' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
