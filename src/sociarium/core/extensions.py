"""What other installed packages add: worlds, charters, players and metrics, by entry point.

A package names them in its own metadata, under `sociarium.worlds`, `sociarium.charters`,
`sociarium.players` and `sociarium.metrics`; once it is installed they are there.
"""

import importlib.metadata
import logging
from functools import cache
from typing import Any

log = logging.getLogger(__name__)


@cache
def extensions(group: str) -> dict[str, Any]:
    """What is added to a group, by name; what cannot be loaded is left out, and said."""
    found = {}
    for point in sorted(
        importlib.metadata.entry_points(group=f"sociarium.{group}"), key=lambda point: point.name
    ):
        try:
            found[point.name] = point.load()
        except Exception as error:
            log.warning("%s (%s) cannot be loaded: %s", point.name, point.value, error)
    return found
