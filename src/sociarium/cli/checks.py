"""Arguments that many commands take, and what is checked before anything is played."""

from typing import Annotated

import tyro

from sociarium.core.errors import BadArgument

World = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="WORLD")]


def at_least(name: str, value: int | None, least: int = 1) -> None:
    """Refuses a number below the least that makes sense; None is the default and passes."""
    if value is not None and value < least:
        raise BadArgument(f"--{name} must be at least {least}; given {value}")
