"""The type of a device, which JAX does not tell type checkers."""

from typing import TYPE_CHECKING

import jax

if TYPE_CHECKING:
    from jaxlib._jax import Device as Device
else:
    Device = jax.Device
