"""What games in rounds share: one table that all sit at, and nothing on it but what is told."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int16

from sociarium.core.environment import View
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.scene import Body, PanelEntry, Place, Scene
from sociarium.core.specs import PlaneSpec

PLACES = ("the table",)
FRAMINGS = ("numbers", "story")
ENDS = {
    "known": "All know that there are {rounds} rounds. Each counts the same.",
    "drawn": "After each round another follows with a chance of {chance:.4g}%, up to {rounds}.",
    "weighted": "After each round another follows with a chance of {chance:.4g}%; so that luck "
    "does not decide, {rounds} are played, and each counts as much as it is likely to be the last.",
}
KNOWN, DRAWN, WEIGHTED = ENDS
BY_LOT = "The game ends by lot, or with the last round."
MOST_ROUNDS = 10_000


def check_game(rounds: int, end: str, ends: Sequence[str], framing: str) -> None:
    """Refuses what no game in rounds can be."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise BadArgument(f"there are 1 to {MOST_ROUNDS} rounds; given {rounds}")
    if end not in ends:
        raise UnknownName("end", end, tuple(ends))
    if framing not in FRAMINGS:
        raise UnknownName("framing", framing, FRAMINGS)


def told_end(rule: str, end: str, rounds: Array, continues: Array) -> str:
    """The rule of how the game ends, in the words that its players are told."""
    if int(rounds) == 1 and end == KNOWN:
        return f"{rule} There is one."
    told = ENDS[end].format(rounds=int(rounds), chance=100 * float(continues))
    return f"{BY_LOT if end == DRAWN else rule} {told}"


def planes() -> tuple[PlaneSpec, ...]:
    """The table, and that one sits at it."""
    return (
        PlaneSpec("station", ("none", *PLACES), "station"),
        PlaneSpec("me", ("nobody", "myself"), "occupant"),
    )


def at_the_table(players: int) -> Callable[[Any], Int[Array, " players"]]:
    """Where everybody is, always."""
    return lambda state: jnp.zeros(players, jnp.int32)


def view(own: Int16[Array, "players own"], shared: Int[Array, " shared"]) -> View:
    """The table, one's own numbers, and what everybody sees."""
    shared, players = shared.astype(jnp.int16), len(own)
    return View(
        cells=jnp.ones((players, 2, 1, 1), jnp.uint8),
        own=own,
        shared=jnp.broadcast_to(shared[None], (players, len(shared))),
    )


def alike(moves: Int[Array, " players"] | Float[Array, " players"]) -> Float[Array, ""]:
    """The share of pairs of players who did the same."""
    players = len(moves)
    same = (moves[:, None] == moves[None]).sum() - players
    return same / max(players * (players - 1), 1)


def scene(
    held: Sequence[tuple[str, ...]],
    clock: int,
    horizon: int,
    player: int | None,
    shared: tuple[PanelEntry, ...] = (),
) -> Scene:
    """Everybody at the table, and what each holds: what it did last."""
    nothing = np.zeros((1, 1), np.uint8)
    return Scene(
        ground=nothing,
        tiles=("nothing",),
        bodies=tuple(Body(seat, 0, 0, 0, holds=holds) for seat, holds in enumerate(held)),
        lit=nothing,
        lights=("none",),
        clock=clock,
        horizon=horizon,
        players=len(held),
        me=player,
        places=(Place(PLACES[0]),),
        shared=shared,
    )
