"""`sociarium doctor`."""

import importlib.metadata
import json
import os
import platform
import sys
import time
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

PARTS = ("sociarium", "jax", "jaxlib", "numpy", "equinox", "jaxtyping", "tyro", "rich", "pillow")


@dataclass(frozen=True)
class Doctor:
    """Show what this machine offers and whether a world runs on it."""

    json: bool = False  # one JSON object instead of text

    def run(self) -> None:
        """Prints versions, devices and the result of one short episode."""
        report = examine()
        if self.json:
            print(json.dumps(report))
            return
        table = Table("what", "found", box=None, show_header=False)
        for name, found in report.items():
            table.add_row(name, str(found))
        Console().print(table)


def examine() -> dict[str, Any]:
    """What was found."""
    began = time.perf_counter()
    import jax

    from sociarium.arena.rollout import rollout
    from sociarium.catalogue import make
    from sociarium.core.episode import fingerprint

    loaded = time.perf_counter() - began
    versions = {part: importlib.metadata.version(part) for part in PARTS}
    began = time.perf_counter()
    episode = rollout(make("coins"), "random", steps=20)
    return {
        "python": f"{sys.version.split()[0]} on {platform.system()} {platform.machine()}",
        **versions,
        "backend": jax.default_backend(),
        "devices": len(jax.devices()),
        "cores": os.cpu_count(),
        "compilation cache": os.environ.get("JAX_COMPILATION_CACHE_DIR", "off"),
        "loading jax and sociarium": f"{loaded:.1f} s",
        "a first episode": f"{time.perf_counter() - began:.1f} s",
        "its fingerprint": fingerprint((episode.actions, episode.states)),
    }
