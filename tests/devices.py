"""Programs of their own for tests, with as many simulated devices as they need."""

import os


def environment(devices: int) -> dict[str, str]:
    """The variables of this process, XLA's flags included, and so many devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    return {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags.strip()}
