"""Being asked to stop, by Ctrl-C or by the system."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def asked_to_stop(first: Callable[[int], None]) -> Iterator[None]:
    """While it lasts, a first request to stop calls `first`; a second one stops at once."""
    before = {}

    def note(number: int, frame: Any) -> None:
        signal.signal(number, before[number])
        first(number)

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, note)
    except ValueError:  # not in the main thread, where nobody presses Ctrl-C
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
