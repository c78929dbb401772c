"""What happened: in a step as arrays inside compiled code, in an episode as columns outside it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from sociarium.core.errors import MissingExtra
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


@dataclass(frozen=True, eq=False)
class EventTable:
    """What happened in many steps, in columns of equal length.

    Rows are in the order of their steps, within a step in that of the specs, then by whom or what
    they are about. `kind` numbers `kinds`; -1 stands where there is no actor, target or place.
    Metrics read the columns; iterating gives one `Row` after another.
    """

    kinds: tuple[str, ...]
    step: Int[np.ndarray, " rows"]
    kind: Int[np.ndarray, " rows"]
    actor: Int[np.ndarray, " rows"]
    target: Int[np.ndarray, " rows"]
    row: Int[np.ndarray, " rows"]
    col: Int[np.ndarray, " rows"]
    value: Float[np.ndarray, " rows"]

    @classmethod
    def of_rows(cls, rows: Iterable[Row], kinds: Sequence[str]) -> "EventTable":
        """A table with these rows."""
        step, kind, *places, value = zip(*rows, strict=True) if (rows := tuple(rows)) else [()] * 7
        numbers = [step, [kinds.index(name) for name in kind], *places]
        columns = [*(np.array(x, np.int32) for x in numbers), np.array(value, np.float32)]
        return cls(tuple(kinds), *columns)

    @classmethod
    def joined(cls, tables: Sequence["EventTable"]) -> "EventTable":
        """One table after the other; all have the same kinds."""
        together = zip(*(table.columns.values() for table in tables), strict=True)
        return cls(tables[0].kinds, *map(np.concatenate, together))

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name; `kind` as numbers."""
        return {name: getattr(self, name) for name in Row._fields}

    def where(self, chosen: Bool[np.ndarray, " rows"]) -> "EventTable":
        """The chosen rows."""
        return EventTable(self.kinds, *(column[chosen] for column in self.columns.values()))

    def of(self, *names: str) -> "EventTable":
        """The rows of these kinds; a kind that the world does not know has none."""
        numbers = [number for number, name in enumerate(self.kinds) if name in names]
        return self.where(np.isin(self.kind, numbers))

    def by_actor(self, players: int, values: bool = False) -> np.ndarray:
        """How many rows each player is the actor of, or the sum of their values."""
        done, total = self.actor >= 0, np.zeros(players, np.float64 if values else np.int64)
        np.add.at(total, self.actor[done], self.value[done] if values else 1)
        return total

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each row and the names of the kinds."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("pandas", "frames") from None
        kind = pandas.Categorical.from_codes(self.kind, self.kinds)
        return pandas.DataFrame({**self.columns, "kind": kind})

    def __len__(self) -> int:
        return len(self.step)

    def __iter__(self) -> Iterator[Row]:
        columns = {name: column.tolist() for name, column in self.columns.items()}
        columns["kind"] = [self.kinds[number] for number in columns["kind"]]
        return map(Row, *columns.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventTable) and list(self) == list(other)


NO_ROWS = (*(np.zeros(0, np.int32),) * 6, np.zeros(0, np.float32))  # a table's columns


def table(
    events: Mapping[str, Event], specs: Sequence[EventSpec], cols: int, step: int = 0
) -> EventTable:
    """One step's events, or those of many when the arrays have a leading time axis."""
    parts: list[tuple[np.ndarray, ...]] = [NO_ROWS]
    for number, spec in enumerate(specs):
        kind = events[spec.name]
        time, entry = np.nonzero(np.atleast_2d(kind.mask))
        if not len(time):
            continue
        other, cell, value = (
            np.atleast_2d(x)[time, entry] for x in (kind.other, kind.cell, kind.value)
        )
        nobody = np.full_like(other, -1)
        actor, target = {
            "actor": (entry, other),
            "target": (other, entry),
            "place": (nobody, nobody),
        }[spec.axis]
        row, col = np.where(cell >= 0, np.divmod(cell, cols), -1)
        parts.append((step + time, np.full_like(other, number), actor, target, row, col, value))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    columns = [column[order].astype(np.int32) for column in columns[:-1]] + [columns[-1][order]]
    return EventTable(tuple(spec.name for spec in specs), *columns)


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
