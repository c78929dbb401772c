"""Tests run on the CPU, with one shared compilation cache and JAX's strictness switched on."""

import os
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import pytest
from hypothesis import HealthCheck, settings

from sociarium.catalogue import WORLDS as CATALOGUE

CACHE = Path(__file__).parent.parent / ".jax_cache"

jax.config.update("jax_compilation_cache_dir", str(CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
jax.config.update("jax_numpy_rank_promotion", "raise")

settings.register_profile(
    "sociarium", deadline=None, max_examples=50, suppress_health_check=list(HealthCheck)
)
settings.load_profile("sociarium")

WORLDS = tuple(entry.id for entry in CATALOGUE)


@pytest.fixture(params=WORLDS)
def world(request):
    import sociarium

    return sociarium.make(request.param)
