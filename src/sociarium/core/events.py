"""What happened: in a step as arrays inside compiled code, in an episode as columns outside it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from sociarium.core.errors import MissingExtra, UnknownName
from sociarium.core.specs import EventSpec


class Event(eqx.Module):
    """One kind of event over players or places; entries where `mask` is False mean nothing.

    With several slots for each player or place, these are the last axis.
    """

    mask: Bool[Array, "*entries"]
    other: Int[Array, "*entries"]
    cell: Int[Array, "*entries"]
    value: Float[Array, "*entries"]


Events = dict[str, Event]


def event(
    mask: Bool[Array, "*entries"],
    *,
    other: Int[Array, "*entries"] | None = None,
    cell: Int[Array, "*entries"] | None = None,
    value: Float[Array, "*entries"] | None = None,
) -> Event:
    """An event with nobody else involved (-1), no cell (-1) and value 1 unless given."""
    nothing = jnp.full(mask.shape, -1, jnp.int32)
    return Event(
        mask=mask,
        other=nothing if other is None else other,
        cell=nothing if cell is None else cell,
        value=jnp.ones(mask.shape, jnp.float32) if value is None else value,
    )


def find_event(specs: Sequence[EventSpec], name: str) -> EventSpec:
    """The spec of this name."""
    known = tuple(spec.name for spec in specs)
    if name not in known:
        raise UnknownName("event", name, known)
    return specs[known.index(name)]


def counts(kind: Event, spec: EventSpec, players: int) -> Int[Array, " players"]:
    """How often each player did it in this step; nobody did what happens to places."""
    return _by_actor(kind, spec, kind.mask.astype(jnp.int32), players)


def worth(kind: Event, spec: EventSpec, players: int) -> Float[Array, " players"]:
    """How much each player did of it in this step; nobody did what happens to places.

    That is the sum of the values where these are amounts, and the number of times where they name
    things.
    """
    amount = kind.value if spec.has_amounts else jnp.ones_like(kind.value)
    return _by_actor(kind, spec, jnp.where(kind.mask, amount, 0), players)


def _by_actor(kind: Event, spec: EventSpec, amount: Array, players: int) -> Array:
    """The sum of each player's entries."""
    if spec.axis == "actor":
        return amount.reshape(players, -1).sum(1) if spec.slots > 1 else amount
    if spec.axis == "place":
        return jnp.zeros(players, amount.dtype)
    doer = jnp.where(kind.other >= 0, kind.other, players)
    return jnp.zeros(players, amount.dtype).at[doer].add(amount, mode="drop")


class Row(NamedTuple):
    """One thing that happened; -1 where there is no actor, target or place."""

    step: int
    kind: str
    actor: int
    target: int
    row: int
    col: int
    value: float


@dataclass(frozen=True, eq=False, repr=False)
class EventTable:
    """What happened in many steps, in columns of equal length.

    Rows are in the order of their steps, within a step in that of the specs, then by whom or what
    they are about. `kind` numbers `specs`; -1 stands where there is no actor, target or place.
    Metrics read the columns; iterating gives one `Row` after another.
    """

    specs: tuple[EventSpec, ...]
    step: Int[np.ndarray, " rows"]
    kind: Int[np.ndarray, " rows"]
    actor: Int[np.ndarray, " rows"]
    target: Int[np.ndarray, " rows"]
    row: Int[np.ndarray, " rows"]
    col: Int[np.ndarray, " rows"]
    value: Float[np.ndarray, " rows"]

    def __repr__(self) -> str:
        counts = np.bincount(self.kind, minlength=len(self.specs))
        kinds = [f"{n} {spec.name}" for n, spec in zip(counts, self.specs, strict=True) if n]
        return f"EventTable({len(self.kind)} events: {', '.join(kinds) or 'none'})"

    @classmethod
    def of_rows(cls, rows: Iterable[Row], specs: Sequence[EventSpec]) -> "EventTable":
        """A table with these rows."""
        kinds = [spec.name for spec in specs]
        step, kind, *places, value = zip(*rows, strict=True) if (rows := tuple(rows)) else [()] * 7
        numbers = [step, [kinds.index(name) for name in kind], *places]
        columns = [*(np.array(x, np.int32) for x in numbers), np.array(value, np.float32)]
        return cls(tuple(specs), *columns)

    @classmethod
    def joined(cls, tables: Sequence["EventTable"]) -> "EventTable":
        """One table after the other; all have the same specs."""
        together = zip(*(table.columns.values() for table in tables), strict=True)
        return cls(tables[0].specs, *map(np.concatenate, together))

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name; `kind` as numbers."""
        return {name: getattr(self, name) for name in Row._fields}

    def where(self, chosen: Bool[np.ndarray, " rows"] | Int[np.ndarray, " some"]) -> "EventTable":
        """The chosen rows."""
        return EventTable(self.specs, *(column[chosen] for column in self.columns.values()))

    def of(self, *names: str) -> "EventTable":
        """The rows of these kinds; a kind that the world does not know has none."""
        return self.where(self.places(*names))

    def kinds_with_role(self, role: str) -> tuple[str, ...]:
        """The names of all kinds with this role."""
        return tuple(spec.name for spec in self.specs if spec.role == role)

    def places(self, *names: str) -> Int[np.ndarray, " some"]:
        """Where rows of these kinds are, in order."""
        if names not in self._found:
            numbers = [number for number, spec in enumerate(self.specs) if spec.name in names]
            one = self.kind == numbers[0] if len(numbers) == 1 else np.isin(self.kind, numbers)
            self._found[names] = np.flatnonzero(one)
        return self._found[names]

    def by_actor(self, players: int, *names: str, values: bool = False) -> np.ndarray:
        """How many rows of these kinds each player is the actor of, or the sum of their values.

        Values that name things count as 1, as in `worth`.
        """
        table = self._summed(players, values)
        total = np.zeros(players, table.dtype)
        for number, spec in enumerate(self.specs):
            if spec.name in names:
                total += table[number]
        return total

    def _summed(self, players: int, values: bool) -> np.ndarray:
        """How many rows, or how much in them, for each kind and actor; worked out once."""
        if (players, values) not in self._found:
            if players not in self._found:
                self._found[players] = self.kind * np.int32(players + 1) + self.actor + np.int32(1)
            size = len(self.specs) * (players + 1)
            total = np.bincount(self._found[players], self._amounts if values else None, size)
            total = total.reshape(len(self.specs), players + 1)[:, 1:]
            self._found[players, values] = total.astype(np.float64) if values else total
        return self._found[players, values]

    @property
    def _amounts(self) -> Float[np.ndarray, " rows"]:
        """The values, and 1 for each that names a thing."""
        named = np.array([not spec.has_amounts for spec in self.specs], bool)
        return np.where(named[self.kind], np.float32(1), self.value) if named.any() else self.value

    @cached_property
    def _found(self) -> dict[Any, np.ndarray]:
        """What was worked out before and may be asked for again."""
        return {}

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each row and the names of the kinds."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("pandas", "frames") from None
        kind = pandas.Categorical.from_codes(self.kind, [spec.name for spec in self.specs])
        return pandas.DataFrame({**self.columns, "kind": kind})

    def __len__(self) -> int:
        return len(self.step)

    def __iter__(self) -> Iterator[Row]:
        columns = {name: column.tolist() for name, column in self.columns.items()}
        columns["kind"] = [self.specs[number].name for number in columns["kind"]]
        return map(Row, *columns.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventTable) and list(self) == list(other)


NO_ROWS = [*[np.zeros(0, np.int32)] * 6, np.zeros(0, np.float32)]  # a table's columns


def table(
    events: Mapping[str, Event], specs: Sequence[EventSpec], cols: int, step: int = 0
) -> EventTable:
    """One step's events, or those of many when the arrays have a leading time axis."""
    parts: list[Sequence[np.ndarray]] = [NO_ROWS]
    for number, spec in enumerate(specs):
        kind = events[spec.name]
        mask, slots = np.asarray(kind.mask), spec.slots
        entries = mask.shape[-1] if slots == 1 else mask.shape[-2]
        at = np.flatnonzero(mask)
        if not len(at):
            continue
        other, cell, value = (
            np.asarray(column).ravel()[at] for column in (kind.other, kind.cell, kind.value)
        )
        time, entry = np.divmod(at // slots, entries)
        nobody = np.full_like(other, -1)
        actor, target = {
            "actor": (entry, other),
            "target": (other, entry),
            "place": (nobody, nobody),
        }[spec.axis]
        row, col = np.where(cell >= 0, np.divmod(cell, cols), -1)
        parts.append((step + time, np.full_like(other, number), actor, target, row, col, value))
    if len(parts) == 1:
        return EventTable(tuple(specs), *NO_ROWS)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0].astype(np.int32), kind="stable")
    columns = [column[order].astype(np.int32) for column in columns[:-1]] + [columns[-1][order]]
    return EventTable(tuple(specs), *columns)


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
