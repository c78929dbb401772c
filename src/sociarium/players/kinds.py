"""Kinds of players that a seat string can name, and what a runner must know of each.

Another package adds a kind by the entry point `sociarium.seat_kinds`: a `SeatKind`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

# How a player comes back when its match is resumed: pure ones think again what they thought, others
# are given their snapshot, or remember by themselves.
Resumed = Literal["replayed", "snapshot", "elsewhere"]


@dataclass(frozen=True)
class SeatKind:
    """One kind: `make` gives a player from what stands behind the kind in a seat string.

    A pure player is made by `make(ref, env, **options)`, one `outside` compiled code by
    `make(ref, env, seats, **options)`, with all the seats in which it sits as one mind.
    """

    name: str
    says: str  # who that is
    make: Callable[..., Any]
    outside: bool = False  # a host player
    command: str = "match"  # by which one outside can sit down
    needs_trust: bool = False  # runs code, or calls an address, that a folder of others may name
    resumed: Resumed = "replayed"
    file_of: Callable[[str], str] = lambda ref: ""  # what must be there, from the reference
    # Whether a player knows only the bare world of a society, from the reference and the society.
    of_world: Callable[[str, Any], bool] = lambda ref, society: False
