"""Tests run on the CPU, with one shared compilation cache and JAX's strictness switched on."""

import os
from pathlib import Path
from zlib import crc32

# Set by variables, so that child processes share the cache; small programs are most of it.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import jax
import pytest
from hypothesis import HealthCheck, settings

from sociarium.core.compiling import free_programs
from sociarium.language.models.network import forbid_network
from tests.budget import pytest_addoption, pytest_configure  # noqa: F401

jax.config.update("jax_numpy_rank_promotion", "raise")
forbid_network("tests call no model but one that they start themselves")

settings.register_profile(
    "sociarium", deadline=None, max_examples=50, suppress_health_check=list(HealthCheck)
)
settings.load_profile("sociarium")


@pytest.fixture(autouse=True, scope="module")
def programs_are_freed():
    """Without this, a process that runs enough of these files dies as it compiles."""
    yield
    free_programs()


# Files are dealt to processes in order: what takes long comes first, so that all end together.
LONG = ("learning", "players", "cli", "arena", "charters", "adapters", "evaluation", "networks")


def pytest_collection_modifyitems(config, items):
    part, parts = map(int, config.getoption("part").split("/"))
    items[:] = [item for item in items if crc32(item.path.name.encode()) % parts == part - 1]
    if config.getoption("seconds") < float("inf"):
        return  # a limited run begins with the files that are named first

    def place(item):
        folder = item.path.parent.name
        return LONG.index(folder) if folder in LONG else len(LONG)

    items.sort(key=place)
