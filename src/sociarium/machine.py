"""What JAX may use of this machine: how many devices, and a cache of what was compiled."""

import ctypes
import gc
import os
import platform
import re
import signal
import sys
from pathlib import Path

from sociarium.core.errors import BadArgument

DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG
QUICK = "0"  # seconds: small programs are kept too, a first film needs dozens of them
_configured: tuple[int, str | Path | bool] | None = None
_flags = ""  # those of XLA that were set here


def configure(*, devices: int | None = None, cache: str | Path | bool = True) -> None:
    """Sets JAX up as the command line does. Call it before anything else.

    >>> import sociarium
    >>> sociarium.configure()                      # all cores, and a cache in the home folder
    >>> sociarium.configure(devices=1, cache=False)

    `devices` is how many parts a CPU is seen as, one for each core by default: batches and training
    spread over them. `cache` is a folder that keeps compiled programs between processes, True for
    the usual one, False for none. What the environment variables of JAX say already is left alone.
    """
    global _configured, _flags
    devices = cores() if devices is None else devices
    if devices < 1:
        raise BadArgument(f"devices is 1 or more; given {devices}")
    if _configured == (devices, cache):
        return
    if running():
        raise BadArgument(
            "JAX runs already, and how it is set up can no longer change: call "
            "sociarium.configure() before the first make, key or rollout"
        )
    _configured = (devices, cache)
    given = os.environ.get("XLA_FLAGS", "").removesuffix(_flags)
    names = "xla_force_host_platform_device_count", "xla_cpu_parallel_codegen_split_count"
    _flags = "".join(f" --{name}={devices}" for name in names if name not in given)
    os.environ["XLA_FLAGS"] = given + _flags
    if cache is not False and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        _set("JAX_COMPILATION_CACHE_DIR", str(_usual_cache() if cache is True else cache))
        if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
            _set("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", QUICK)


def keep_loaded() -> None:
    """What was loaded and compiled so far stays: collecting garbage need not look at it again.

    Otherwise every few hundred percepts all objects of JAX are looked through, which costs as much
    as the percepts do.
    """
    gc.collect()
    gc.freeze()


def die_with(parent: int) -> None:
    """Ends this process at once when the one that started it ends, however it does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before this was said
        os._exit(1)


def cores() -> int:
    """How many of them this process may use."""
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def machine_cache() -> Path:
    """A folder of compiled programs for this machine alone, where several may share a home."""
    return _usual_cache() / re.sub(r"[^\w.-]+", "-", platform.node() or "machine")


def _usual_cache() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return caches / "sociarium" / "jax"


def running() -> bool:
    """Whether JAX has chosen its devices; until then it reads what is set here."""
    if "jax" not in sys.modules:
        return False
    from jax._src import xla_bridge

    return xla_bridge.backends_are_initialized()


def _set(name: str, value: str) -> None:
    """An environment variable, and JAX's own setting where it has read the variable already."""
    os.environ[name] = value
    if "jax" in sys.modules:
        import jax

        number = name.endswith("SECS")
        jax.config.update(name.lower(), float(value) if number else value)
