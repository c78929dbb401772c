"""Compiling: programs of one episode soon rather than fast, and equal programs once."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

# Each fusion as one plain loop, and few passes over it: about half of the time to compile.
SOON = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}

MOST_MAPS = 40_000  # of memory; Linux gives a process 65,530, and a compiled program takes several
CACHE = "jax_compilation_cache_dir"
CACHED = {  # what is worth a file
    "jax_persistent_cache_min_compile_time_secs": 0.2,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


def jit_soon(function: Callable[..., Any], weights: bool = False) -> Callable[..., Any]:
    """`jax.jit` for a program of one lane, which waits for the compiler longer than it runs.

    Whole numbers come out the same however a program is compiled, sums of products may not: with
    `weights`, a policy's among its arguments, it is compiled like the programs of many lanes.
    """
    here = jax.default_backend() == "cpu" and not weights
    return jax.jit(function, compiler_options=SOON if here else None)


def free_programs() -> None:
    """Forgets compiled programs once they take most of what a process may have.

    Without this a process that compiles for enough worlds dies as it compiles one more.
    """
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_text().count("\n") > MOST_MAPS:
        jax.clear_caches()


@contextmanager
def equal_programs_once() -> Iterator[None]:
    """While it lasts, equal programs are compiled once, in this process and in those it starts.

    Worlds that differ in numbers alone have equal programs. A cache that the user has set is kept.
    """
    if getattr(jax.config, CACHE):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="sociarium-programs-") as folder:
        settings = {CACHE: folder, **CACHED}
        before = {name: getattr(jax.config, name) for name in settings}
        _configure(settings)
        os.environ |= {name.upper(): str(value) for name, value in settings.items()}
        try:
            yield
        finally:
            for name in settings:
                del os.environ[name.upper()]
            _configure(before)


def _configure(settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
