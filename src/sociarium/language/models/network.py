"""One switch for the process that forbids model calls over the network, as replays and tests do."""

from collections.abc import Iterator
from contextlib import contextmanager

from sociarium.core.errors import SociariumError

_forbidden: list[str] = []  # why, the newest reason last


class NetworkForbidden(SociariumError):
    """Somebody wanted to call a model where only recorded answers are allowed."""


def forbid_network(why: str) -> None:
    """From now on no model is called over the network."""
    _forbidden.append(why)


@contextmanager
def network_allowed() -> Iterator[None]:
    """Inside, calls are allowed all the same: for tests that start a server of their own."""
    before = _forbidden[:]
    _forbidden.clear()
    try:
        yield
    finally:
        _forbidden[:] = before


def check_network(what: str) -> None:
    """Raises `NetworkForbidden` if this may not be called."""
    if _forbidden:
        raise NetworkForbidden(f"{what} is not called: {_forbidden[-1]}")
