"""Programs of their own for tests, with as many simulated devices as they need."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def environment(devices: int) -> dict[str, str]:
    """The variables of this process, XLA's flags included, and so many devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    return {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags.strip()}


def printed(devices: int, module: str, *words: str, folder: Path = ROOT) -> str:
    """What a program among the tests prints; it must not fail."""
    run = subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=folder,
        env=environment(devices) | {"PYTHONPATH": f"{ROOT}:{ROOT}/src"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
