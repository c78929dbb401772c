"""A task of the frontier as data: what there is, where it lies, who comes and what it is worth.

A task is a table, in TOML, JSON or Python:

    summary = "one sentence"
    rows, cols = 9, 9                     # of a world that wraps around
    blocks = 5                            # how many, drawn anew each episode, or
    map = "..#.."                         # a drawing with # for blocks, instead of rows and cols
    sight = 2                             # cells seen in each direction
    horizon = 200
    resources.NAME = { worth, needs, piles, units, at }
    events.NAME = { takes, gives, needs, places, at }
    jobs.NAME = { players, capacity, preference, holds, at }

`units` is a number or a range [least, most]; `at` lists cells [row, column] instead of drawing
them; whatever has no capacity is unlimited, whatever has no preference is worth its worth.
`extends` names a task to start from, of which the table then changes some entries.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from sociarium.core.errors import SociariumError, UnknownName
from sociarium.core.world_files import WORLD_FILES, read_world_file
from sociarium.mechanics.recipes import MOST_KINDS

UNLIMITED = 32767  # more than anybody can carry
MOST_UNITS = 255  # of one kind on one cell
MOST_EVENTS = MOST_KINDS - 1  # sets of events are words too, with a bit for none
TAKEN_NAMES = ("ground", "occupant", "seat", "workplace", "hazard", "job", "energy")  # in a view
BLOCK, OPEN = "#", "."
FOLDER = "sociarium.envs.frontier"

Cell = tuple[int, int]


class BadTask(SociariumError):
    """A task does not make sense; the message names the entry at fault."""


@dataclass(frozen=True)
class Resource:
    """A kind of goods. One that has piles lies about from the start."""

    worth: float = 0.0
    needs: tuple[str, ...] = ()
    piles: int = 0
    units: tuple[int, int] = (1, 1)
    at: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Happening:
    """An event: a place where goods are turned into others."""

    takes: Mapping[str, int]
    gives: Mapping[str, int]
    needs: tuple[str, ...] = ()
    places: int = 0
    at: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Job:
    """What some of the players can carry, like and start with."""

    players: int = 1
    capacity: Mapping[str, int] = field(default_factory=dict)
    preference: Mapping[str, float] = field(default_factory=dict)
    holds: Mapping[str, int] = field(default_factory=dict)
    at: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Hunger:
    """Upkeep and hazards: `foods` restore energy, beasts take it, and `guards` keep them off."""

    energy: int = 100
    foods: Mapping[str, int] = field(default_factory=dict)
    beasts: int = 0
    bite: int = 0
    guards: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """One task, checked."""

    name: str
    summary: str
    rows: int
    cols: int
    blocks: int | tuple[Cell, ...]
    sight: int
    horizon: int
    resources: Mapping[str, Resource]
    events: Mapping[str, Happening]
    jobs: Mapping[str, Job]
    hunger: Hunger | None = None
    reference: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the resources, in order."""
        return tuple(self.resources)

    @property
    def players(self) -> int:
        """How many come."""
        return sum(job.players for job in self.jobs.values())

    def worth(self, job: str, kind: str) -> float:
        """What a unit is worth to somebody: preference times worth."""
        return self.resources[kind].worth * self.jobs[job].preference.get(kind, 1.0)

    def supply(self, kind: str) -> tuple[int, int]:
        """The least and most units of a kind that lie about or are held at the start."""
        resource = self.resources[kind]
        held = sum(job.players * job.holds.get(kind, 0) for job in self.jobs.values())
        least, most = resource.units
        return resource.piles * least + held, resource.piles * most + held

    def with_reference(self) -> "Task":
        """The same task with the numbers of the reference code, where they differ."""
        jobs = {
            name: replace(job, **self.reference.get("jobs", {}).get(name, {}))
            for name, job in self.jobs.items()
        }
        return replace(self, jobs=jobs)


def task(source: str | Path | Mapping[str, Any], name: str = "") -> Task:
    """A built-in task by its name, a TOML or JSON file, or a table of your own."""
    if isinstance(source, Mapping):
        return _checked(name or "your task", _whole(source))
    if str(source) in built_in():
        return _checked(str(source), _whole(_read_built_in(str(source))))
    path = Path(source)
    if path.suffix not in WORLD_FILES:
        hint = "Or give a file that ends in .toml or .json."
        raise UnknownName("frontier task", str(source), built_in(), hint)
    return _checked(path.stem, _whole(read_world_file(path)))


def built_in() -> tuple[str, ...]:
    """The names of the tasks that come with the package."""
    folder = resources.files(FOLDER) / "tasks"
    return tuple(sorted(file.name[: -len(".toml")] for file in folder.iterdir()))


def _read_built_in(name: str) -> Mapping[str, Any]:
    return tomllib.loads((resources.files(FOLDER) / "tasks" / f"{name}.toml").read_text())


def players_and_summary(path: str) -> tuple[int, str]:
    """How many players the task in a file has, and what it is in a sentence."""
    described = task(path)
    return described.players, described.summary


def _whole(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table laid over the one it extends."""
    if "extends" not in table:
        return table
    if table["extends"] not in built_in():
        raise UnknownName("frontier task to extend", str(table["extends"]), built_in())
    changes = {key: value for key, value in table.items() if key != "extends"}
    return _merged(_whole(_read_built_in(table["extends"])), changes)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
    both = dict(base)
    for key, value in changes.items():
        old = both.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = _merged(old, value)
        both[key] = value
    return both


class _Table:
    """An entry of the table being read, which knows where it stands and says so in its errors."""

    def __init__(self, task: str, where: str, table: Any) -> None:
        self.task, self.where = task, where
        if not isinstance(table, Mapping):
            raise self.fault("", f"must be a table of entries; given {table!r}")
        self.table = table

    def fault(self, key: str, says: str) -> BadTask:
        place = ".".join(part for part in (self.where, key) if part)
        return BadTask(f"{self.task}: `{place}` {says}." if place else f"{self.task}: it {says}.")

    def only(self, *known: str) -> None:
        for key in self.table:
            if key not in known:
                raise self.fault(key, f"is no entry; known here are {', '.join(known)}")

    def inner(self, key: str) -> dict[str, "_Table"]:
        where = f"{self.where}.{key}" if self.where else key
        tables = _Table(self.task, where, self.table.get(key, {})).table
        return {name: _Table(self.task, f"{where}.{name}", table) for name, table in tables.items()}

    def whole(
        self, key: str, default: int | None = None, least: int = 0, most: int | None = None
    ) -> int:
        value = self.table.get(key, default)
        if value is None:
            raise self.fault(key, "is missing")
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < least or (most is not None and value > most):
            allowed = f"of at least {least}" if most is None else f"within {least}..{most}"
            raise self.fault(key, f"must be a whole number {allowed}; given {value!r}")
        return value

    def number(self, key: str, default: float) -> float:
        value = self.table.get(key, default)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise self.fault(key, f"must be a number; given {value!r}")
        return float(value)

    def names(self, key: str, kinds: Sequence[str]) -> tuple[str, ...]:
        value = self.table.get(key, ())
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self.fault(key, f"must be a list of resources; given {value!r}")
        self._known(key, value, kinds)
        return tuple(dict.fromkeys(value))

    def amounts(self, key: str, kinds: Sequence[str], least: int = 1) -> dict[str, int]:
        inner = _Table(self.task, f"{self.where}.{key}", self.table.get(key, {}))
        self._known(key, inner.table, kinds)
        return {kind: inner.whole(kind, least=least, most=UNLIMITED) for kind in inner.table}

    def numbers(self, key: str, kinds: Sequence[str]) -> dict[str, float]:
        inner = _Table(self.task, f"{self.where}.{key}", self.table.get(key, {}))
        self._known(key, inner.table, kinds)
        return {kind: inner.number(kind, 0.0) for kind in inner.table}

    def span(self, key: str) -> tuple[int, int]:
        value: Any = self.table.get(key, 1)
        ends: list[Any] = (
            list(value) if isinstance(value, Sequence) and len(value) == 2 else [value, value]
        )
        whole = all(isinstance(end, int) and not isinstance(end, bool) for end in ends)
        if not whole or not 1 <= ends[0] <= ends[1] <= MOST_UNITS:
            allowed = f"a number or [least, most] within 1..{MOST_UNITS}"
            raise self.fault(key, f"must be {allowed}; given {value!r}")
        return ends[0], ends[1]

    def cells(self, key: str, shape: tuple[int, int]) -> tuple[Cell, ...]:
        value = self.table.get(key, ())
        good = isinstance(value, Sequence) and all(
            isinstance(cell, Sequence)
            and len(cell) == 2
            and all(
                isinstance(at, int) and 0 <= at < end for at, end in zip(cell, shape, strict=True)
            )
            for cell in value
        )
        if not good:
            raise self.fault(
                key,
                f"must list cells [row, column] within {shape[0]} x {shape[1]}; given {value!r}",
            )
        return tuple((cell[0], cell[1]) for cell in value)

    def _known(self, key: str, given: Any, kinds: Sequence[str]) -> None:
        for kind in given:
            if kind not in kinds:
                raise self.fault(
                    key, f"names {kind!r}, which is no resource; there are {', '.join(kinds)}"
                )


def _checked(name: str, raw: Mapping[str, Any]) -> Task:
    table = _Table(name, "", raw)
    table.only(
        *("world", "summary", "rows", "cols", "blocks", "map", "sight", "horizon"),
        *("resources", "events", "jobs", "hunger", "reference"),
    )
    rows, cols, blocks = _land(table)
    kinds = tuple(table.inner("resources"))
    if not 1 <= len(kinds) <= MOST_KINDS:
        raise table.fault("resources", f"must name 1 to {MOST_KINDS} kinds; given {len(kinds)}")
    for kind in kinds:
        if kind in TAKEN_NAMES:
            says = f"cannot be called so; taken names are {', '.join(TAKEN_NAMES)}"
            raise table.fault(f"resources.{kind}", says)
    events = len(table.inner("events"))
    if events > MOST_EVENTS:
        raise table.fault("events", f"must name at most {MOST_EVENTS} events; given {events}")
    jobs = {name: _job(entry, kinds, (rows, cols)) for name, entry in table.inner("jobs").items()}
    if not jobs:
        raise table.fault("jobs", "must name at least one job")
    made = Task(
        name=name,
        summary=str(raw.get("summary", name)),
        rows=rows,
        cols=cols,
        blocks=blocks,
        sight=table.whole("sight", least=1),
        horizon=table.whole("horizon", least=1),
        resources={
            kind: _resource(entry, kinds, (rows, cols))
            for kind, entry in table.inner("resources").items()
        },
        events={
            event: _event(entry, kinds, (rows, cols))
            for event, entry in table.inner("events").items()
        },
        jobs=jobs,
        hunger=_hunger(_Table(name, "hunger", raw["hunger"]), kinds) if "hunger" in raw else None,
        reference=_reference(table, jobs, kinds, (rows, cols)),
    )
    _fits(table, made)
    return made


def _land(table: _Table) -> tuple[int, int, int | tuple[Cell, ...]]:
    if "map" not in table.table:
        rows, cols = table.whole("rows", least=1), table.whole("cols", least=1)
        return rows, cols, table.whole("blocks", 0)
    for key in ("rows", "cols", "blocks"):
        if key in table.table:
            raise table.fault(key, "is already told by `map`; leave one of them out")
    text = table.table["map"]
    lines = text.split() if isinstance(text, str) else []
    glyphs = sorted({glyph for line in lines for glyph in line} - {BLOCK, OPEN})
    if len({len(line) for line in lines}) != 1 or glyphs:
        allowed = f"equally long lines of {OPEN!r} and {BLOCK!r} (blocks)"
        raise table.fault("map", f"must be {allowed}; given {text!r}")
    drawing = np.array([list(line) for line in lines])
    blocks = tuple((int(row), int(col)) for row, col in np.argwhere(drawing == BLOCK))
    return *drawing.shape, blocks


def _resource(entry: _Table, kinds: Sequence[str], shape: tuple[int, int]) -> Resource:
    entry.only("worth", "needs", "piles", "units", "at")
    at = entry.cells("at", shape)
    return Resource(
        worth=entry.number("worth", 0.0),
        needs=entry.names("needs", kinds),
        piles=_at_least_as_many(entry, "piles", at),
        units=entry.span("units"),
        at=at,
    )


def _event(entry: _Table, kinds: Sequence[str], shape: tuple[int, int]) -> Happening:
    entry.only("takes", "gives", "needs", "places", "at")
    at = entry.cells("at", shape)
    takes, gives = entry.amounts("takes", kinds), entry.amounts("gives", kinds)
    for key, goods in (("takes", takes), ("gives", gives)):
        if not goods:
            raise entry.fault(key, f"must name resources; there are {', '.join(kinds)}")
    return Happening(
        takes=takes,
        gives=gives,
        needs=entry.names("needs", kinds),
        places=_at_least_as_many(entry, "places", at),
        at=at,
    )


def _job(entry: _Table, kinds: Sequence[str], shape: tuple[int, int]) -> Job:
    entry.only("players", "capacity", "preference", "holds", "at")
    job = Job(
        players=entry.whole("players", 1, least=1),
        capacity=entry.amounts("capacity", kinds, least=0),
        preference=entry.numbers("preference", kinds),
        holds=entry.amounts("holds", kinds),
        at=entry.cells("at", shape),
    )
    if len(job.at) > job.players:
        raise entry.fault("at", f"places {len(job.at)} players, and the job has {job.players}")
    for kind, amount in job.holds.items():
        if amount > job.capacity.get(kind, UNLIMITED):
            raise entry.fault(f"holds.{kind}", "is more than the capacity of the job")
    return job


def _hunger(entry: _Table, kinds: Sequence[str]) -> Hunger:
    entry.only("energy", "foods", "beasts", "bite", "guards")
    return Hunger(
        energy=entry.whole("energy", 100, least=1, most=UNLIMITED),
        foods=entry.amounts("foods", kinds),
        beasts=entry.whole("beasts", 0),
        bite=entry.whole("bite", 0, most=UNLIMITED),
        guards=entry.names("guards", kinds),
    )


def _reference(
    table: _Table, jobs: Mapping[str, Job], kinds: Sequence[str], shape: tuple[int, int]
) -> Mapping[str, Any]:
    """What the reference code says otherwise about jobs; only what is given there is changed."""
    raw = _Table(table.task, "reference", table.table.get("reference", {}))
    raw.only("jobs")
    changed: dict[str, dict[str, Any]] = {}
    for name, entry in raw.inner("jobs").items():
        if name not in jobs:
            raise raw.fault(f"jobs.{name}", f"is no job; there are {', '.join(jobs)}")
        entry.only("capacity", "preference")
        job = _job(entry, kinds, shape)
        changed[name] = {key: getattr(job, key) for key in entry.table}
    return {"jobs": changed} if changed else {}


def _at_least_as_many(entry: _Table, key: str, at: tuple[Cell, ...]) -> int:
    """The number given, or as many as have a place; those beyond the placed ones are drawn."""
    many = entry.whole(key, len(at))
    if many < len(at):
        raise entry.fault("at", f"lists {len(at)} cells, and `{key}` is {many}")
    return many


def _fits(table: _Table, task: Task) -> None:
    """Whether everything finds a place of its own."""
    blocks = task.blocks if isinstance(task.blocks, int) else len(task.blocks)
    open_cells = task.rows * task.cols - blocks
    for what, entry, many in (
        ("piles", "resources", sum(kind.piles for kind in task.resources.values())),
        ("events", "events", sum(event.places for event in task.events.values())),
        ("players", "jobs", task.players),
        ("beasts", "hunger", task.hunger.beasts if task.hunger else 0),
    ):
        if many > open_cells:
            raise table.fault(entry, f"has {many} {what} for {open_cells} open cells")
    walls = set() if isinstance(task.blocks, int) else set(task.blocks)
    given: set[Cell] = set()
    for entry, parts in (
        ("resources", task.resources),
        ("events", task.events),
        ("jobs", task.jobs),
    ):
        taken: dict[Cell, str] = {}
        for name, part in parts.items():
            for cell in part.at:
                if cell in walls:
                    raise table.fault(f"{entry}.{name}.at", f"puts something on the block {cell}")
                if cell in taken:
                    raise table.fault(
                        f"{entry}.{name}.at", f"uses {cell}, which {taken[cell]} has already"
                    )
                taken[cell] = name
        given |= taken.keys()
    if isinstance(task.blocks, int) and task.blocks + len(given) > task.rows * task.cols:
        room = f"{len(given)} of the {task.rows * task.cols} cells are given to other things"
        raise table.fault("blocks", f"has {task.blocks} blocks, and {room}")
