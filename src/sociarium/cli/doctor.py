"""`sociarium doctor`."""

import asyncio
import importlib.metadata
import json
import os
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

PARTS = ("sociarium", "jax", "jaxlib", "numpy", "equinox", "jaxtyping", "tyro", "rich", "pillow")


@dataclass(frozen=True)
class Doctor:
    """Show what this machine offers and whether a world runs on it.

    With `--models` it asks the language models of models.toml what they can do instead.
    """

    models: bool = False  # try out every model of models.toml
    file: Path | None = None  # models.toml; else that of this folder, then the user's own
    json: bool = False  # one JSON object instead of text

    def run(self) -> None:
        """Prints versions, devices and the result of one short episode."""
        report = examine_models(self.file) if self.models else examine()
        if self.json:
            print(json.dumps(report))
            return
        table = Table("what", "found", box=None, show_header=False)
        for name, found in report.items():
            table.add_row(name, Text(str(found)))  # as it is: [models.small] is no markup
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


def examine_models(file: Path | None) -> dict[str, Any]:
    """What the language models of a file can do, and what to write into it."""
    from sociarium.language.models.config import EXAMPLE, FILE, find_models, user_file
    from sociarium.language.models.probe import ModelReport, probe

    models = find_models(file)
    if not models.models:
        return {
            "models": f"none: write {FILE} in this folder, or {user_file()}",
            "for example": EXAMPLE,
            "without any": "llm:fake plays by scripts; sociarium serve-local serves a small model",
        }

    async def ask_all() -> list[ModelReport]:
        return [await probe(alias, config) for alias, config in models.models.items()]

    found: dict[str, Any] = {"models": models.source}
    for report in asyncio.run(ask_all()):
        given = models.models[report.alias].structured
        if report.wrong:
            found[report.alias] = report.wrong
            continue
        quickest = report.seconds
        told = ["gives no answer" if quickest is None else f"answers in {quickest:.1f} s"]
        told += [f"{mode}: {what}" for mode, what in report.modes.items()]
        if report.best is not None and report.best != given:
            told.append(f'it is set to {given}; write structured = "{report.best}"')
        found[report.alias] = "\n".join(told)
    return found
