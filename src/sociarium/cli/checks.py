"""Arguments that many commands take, and what is checked before anything is played."""

import dataclasses
from typing import Annotated, Any

import tyro

from sociarium.core.errors import BadArgument

World = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="WORLD")]
On = Annotated[
    str,
    tyro.conf.arg(
        metavar="ENGINE",
        help="local, ray (on this machine), or ray:ADDRESS of a cluster (see docs/scale.md)",
    ),
]


def as_begun(command: Any, *may: str) -> None:
    """Refuses arguments beside --resume other than these: what was agreed stays as it was."""
    usual = {field.name: field.default for field in dataclasses.fields(command)}
    given = [name for name, default in usual.items() if getattr(command, name) != default]
    if others := [name for name in given if name not in ("resume", *may)]:
        raise BadArgument(
            f"a match goes on as it was begun; leave out {', '.join(others)}, or fork it"
        )


def at_least(name: str, value: int | None, least: int = 1) -> None:
    """Refuses a number below the least that makes sense; None is the default and passes."""
    if value is not None and value < least:
        raise BadArgument(f"--{name} must be at least {least}; given {value}")
