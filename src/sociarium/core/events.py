"""What happened in a step, as arrays inside compiled code and as rows outside it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from sociarium.core.specs import EventSpec


class Event(eqx.Module):
    """One kind of event over players or places; entries where `mask` is False mean nothing."""

    mask: Bool[Array, "*batch entries"]
    other: Int[Array, "*batch entries"]
    cell: Int[Array, "*batch entries"]
    value: Float[Array, "*batch entries"]


Events = dict[str, Event]


def event(
    mask: Bool[Array, " entries"],
    *,
    other: Int[Array, " entries"] | None = None,
    cell: Int[Array, " entries"] | None = None,
    value: Float[Array, " entries"] | None = None,
) -> Event:
    """An event with nobody else involved (-1), no cell (-1) and value 1 unless given."""
    nothing = jnp.full(mask.shape, -1, jnp.int32)
    return Event(
        mask=mask,
        other=nothing if other is None else other,
        cell=nothing if cell is None else cell,
        value=jnp.ones(mask.shape, jnp.float32) if value is None else value,
    )


def counts(kind: Event, spec: EventSpec, players: int) -> Int[Array, " players"]:
    """How often each player did it in this step; nobody did what happens to places."""
    if spec.axis == "actor":
        return kind.mask.astype(jnp.int32)
    doer = jnp.where(kind.mask & (kind.other >= 0), kind.other, players)
    if spec.axis == "place":
        doer = jnp.full_like(doer, players)
    return jnp.zeros(players + 1, jnp.int32).at[doer].add(1)[:players]


def worth(kind: Event, spec: EventSpec, players: int) -> Float[Array, " players"]:
    """The value of what each player did in this step; nobody did what happens to places."""
    value = jnp.where(kind.mask, kind.value, 0)
    if spec.axis == "actor":
        return value
    if spec.axis == "place":
        return jnp.zeros(players)
    doer = jnp.where(kind.other >= 0, kind.other, players)
    return jnp.zeros(players).at[doer].add(value, mode="drop")


class Row(NamedTuple):
    """One thing that happened; -1 where there is no actor, target or place."""

    step: int
    kind: str
    actor: int
    target: int
    row: int
    col: int
    value: float


def table(
    events: Mapping[str, Event], specs: Sequence[EventSpec], cols: int, step: int = 0
) -> Iterator[Row]:
    """The rows of one step's events, or of many when the arrays have a leading time axis."""
    happened: list[Row] = []
    for spec in specs:
        kind = events[spec.name]
        mask, other, cell, value = (
            np.asarray(x) for x in (kind.mask, kind.other, kind.cell, kind.value)
        )
        for time, entry in zip(*np.nonzero(np.atleast_2d(mask)), strict=True):
            where = (entry,) if mask.ndim == 1 else (time, entry)
            actor = {"actor": int(entry), "target": int(other[where]), "place": -1}[spec.axis]
            target = {"actor": int(other[where]), "target": int(entry), "place": -1}[spec.axis]
            row, col = divmod(int(cell[where]), cols) if cell[where] >= 0 else (-1, -1)
            happened.append(
                Row(step + int(time), spec.name, actor, target, row, col, float(value[where]))
            )
    return iter(sorted(happened, key=lambda row: row.step))


def sentence(row: Row, specs: Sequence[EventSpec], names: Sequence[str]) -> str:
    """The row in words, with players called by their names."""
    (spec,) = (spec for spec in specs if spec.name == row.kind)
    called = lambda seat: names[seat] if seat >= 0 else "somebody"  # noqa: E731
    return spec.sentence.format(
        actor=called(row.actor),
        target=called(row.target),
        row=row.row,
        col=row.col,
        value=spec.values[int(row.value)] if spec.values else f"{row.value:g}",
    )
