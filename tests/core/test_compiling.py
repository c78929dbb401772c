"""Programs that are compiled once for worlds that differ in numbers alone."""

import os

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.compilation_cache import compilation_cache

from sociarium.core import compiling
from sociarium.core.compiling import CACHE, equal_programs_once, free_programs


@pytest.fixture
def no_cache(monkeypatch):
    """As on a machine whose user has set none."""
    before = getattr(jax.config, CACHE)
    monkeypatch.delenv(CACHE.upper(), raising=False)
    jax.config.update(CACHE, None)
    yield
    jax.config.update(CACHE, before)
    compilation_cache.reset_cache()


def test_processes_that_are_started_share_a_cache_which_is_gone_afterwards(no_cache):
    with equal_programs_once():
        folder = getattr(jax.config, CACHE)
        assert os.environ[CACHE.upper()] == folder and os.path.isdir(folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        assert float(jax.jit(lambda x: jnp.sin(x) * 3.25)(0.0)) == 0
        assert os.listdir(folder)
    assert getattr(jax.config, CACHE) is None and CACHE.upper() not in os.environ
    assert not os.path.exists(folder)


def test_a_cache_of_the_user_is_kept(no_cache, tmp_path):
    jax.config.update(CACHE, str(tmp_path))
    with equal_programs_once():
        assert getattr(jax.config, CACHE) == str(tmp_path)
    assert getattr(jax.config, CACHE) == str(tmp_path)


@pytest.mark.parametrize(("most", "freed"), [(1, 1), (10**9, 0)])
def test_programs_are_forgotten_only_once_they_take_too_much(most, freed, monkeypatch):
    calls = []
    monkeypatch.setattr(compiling, "MOST_MAPS", most)
    monkeypatch.setattr(jax, "clear_caches", lambda: calls.append(1))
    free_programs()
    assert len(calls) == freed * os.path.exists("/proc/self/maps")
