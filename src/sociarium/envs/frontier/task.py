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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import ConfigDict, PlainValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from sociarium.core.errors import SociariumError, UnknownName
from sociarium.core.world_files import WORLD_FILES, packaged, read_packaged, read_world_file
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


def _must_be(
    good: Callable[[Any], bool], allowed: str, as_kept: Callable[[Any], Any] = lambda value: value
) -> PlainValidator:
    """Takes what is good, in the form in which it is kept; else says what is allowed."""

    def check(value: Any) -> Any:
        if good(value):
            return as_kept(value)
        told = {"allowed": allowed, "given": repr(value)}
        raise PydanticCustomError("entry", "must be {allowed}; given {given}", told)

    return PlainValidator(check)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole(least: int, most: int | None = None) -> PlainValidator:
    allowed = f"of at least {least}" if most is None else f"within {least}..{most}"
    good = lambda x: _is_whole(x) and least <= x <= (x if most is None else most)  # noqa: E731
    return _must_be(good, f"a whole number {allowed}")


def _is_number(value: Any) -> bool:
    whole_or_not = isinstance(value, int | float) and not isinstance(value, bool)
    return whole_or_not and math.isfinite(value)


def _ends(value: Any) -> tuple[Any, ...]:
    return tuple(value) if _is_list(value) else (value, value)


def _is_span(value: Any) -> bool:
    ends = _ends(value)
    return len(ends) == 2 and all(map(_is_whole, ends)) and 1 <= ends[0] <= ends[1] <= MOST_UNITS


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _are_cells(value: Any) -> bool:
    return _is_list(value) and all(
        _is_list(cell) and len(cell) == 2 and all(map(_is_whole, cell)) for cell in value
    )


def _cells(value: Any) -> tuple[Cell, ...]:
    return tuple((row, col) for row, col in value)


def _once_each(names: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


SPAN = f"a number or [least, most] within 1..{MOST_UNITS}"
Number = Annotated[float, _must_be(_is_number, "a number", float)]
Names = Annotated[tuple[str, ...], _must_be(_is_list, "a list of resources", _once_each)]
Cells = Annotated[tuple[Cell, ...], _must_be(_are_cells, "a list of cells [row, column]", _cells)]
Span = Annotated[tuple[int, int], _must_be(_is_span, SPAN, _ends)]
Amounts = Mapping[str, Annotated[int, _whole(1, UNLIMITED)]]
Capacities = Mapping[str, Annotated[int, _whole(0, UNLIMITED)]]
Preferences = Mapping[str, Number]


class _Entry:
    """A part of a task: no entries but its own."""

    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Resource(_Entry):
    """A kind of goods. One that has piles lies about from the start."""

    worth: Number = 0.0
    needs: Names = ()
    piles: Annotated[int, _whole(0)] = 0
    units: Span = (1, 1)
    at: Cells = ()


@dataclass(frozen=True)
class Happening(_Entry):
    """An event: a place where goods are turned into others."""

    takes: Amounts
    gives: Amounts
    needs: Names = ()
    places: Annotated[int, _whole(0)] = 0
    at: Cells = ()


@dataclass(frozen=True)
class Job(_Entry):
    """What some of the players can carry, like and start with."""

    players: Annotated[int, _whole(1)] = 1
    capacity: Capacities = field(default_factory=dict)
    preference: Preferences = field(default_factory=dict)
    holds: Amounts = field(default_factory=dict)
    at: Cells = ()


@dataclass(frozen=True)
class Hunger(_Entry):
    """Upkeep and hazards: `foods` restore energy, beasts take it, and `guards` keep them off."""

    energy: Annotated[int, _whole(1, UNLIMITED)] = 100
    foods: Amounts = field(default_factory=dict)
    beasts: Annotated[int, _whole(0)] = 0
    bite: Annotated[int, _whole(0, UNLIMITED)] = 0
    guards: Names = ()


@dataclass(frozen=True)
class OtherJob(_Entry):
    """What the reference code says otherwise about a job; None where it says the same."""

    capacity: Capacities | None = None
    preference: Preferences | None = None


Part = TypeVar("Part", Resource, Happening, Job, Hunger, OtherJob)


@dataclass(frozen=True)
class Reference(_Entry):
    """What the reference code says otherwise."""

    jobs: Mapping[str, OtherJob] = field(default_factory=dict)


@dataclass(frozen=True)
class Task(_Entry):
    """One task, checked."""

    name: str
    summary: str
    rows: Annotated[int, _whole(1)]
    cols: Annotated[int, _whole(1)]
    blocks: Annotated[int, _whole(0)] | tuple[Cell, ...]
    sight: Annotated[int, _whole(1)]
    horizon: Annotated[int, _whole(1)]
    resources: Mapping[str, Resource]
    events: Mapping[str, Happening]
    jobs: Mapping[str, Job]
    hunger: Hunger | None = None
    reference: Reference = Reference()

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
        jobs = dict(self.jobs)
        for name, other in self.reference.jobs.items():
            told = {key: value for key, value in vars(other).items() if value is not None}
            jobs[name] = replace(jobs[name], **told)
        return replace(self, jobs=jobs)

    def with_names_exchanged(self) -> "Task":
        """The same task in which every kind has the name of the next, in words of events too.

        Whoever goes by what names usually mean is misled; whoever goes by recipes is not.
        """
        kinds = self.kinds
        after = dict(zip(kinds, (*kinds[1:], *kinds[:1]), strict=True))
        told = self.reference.jobs.items()
        hunger = None if self.hunger is None else _renamed(self.hunger, after)
        return replace(
            self,
            resources={after[name]: _renamed(one, after) for name, one in self.resources.items()},
            events={
                "_".join(after.get(word, word) for word in name.split("_")): _renamed(one, after)
                for name, one in self.events.items()
            },
            jobs={name: _renamed(job, after) for name, job in self.jobs.items()},
            hunger=hunger,
            reference=Reference({name: _renamed(job, after) for name, job in told}),
        )


def _renamed(part: Part, names: Mapping[str, str]) -> Part:
    """A part of a task with other names of kinds."""
    told: dict[str, Any] = {}
    for key in NAMING:
        given = getattr(part, key, None)
        if isinstance(given, Mapping):
            told[key] = {names[kind]: value for kind, value in given.items()}
        elif given is not None:
            told[key] = tuple(names[kind] for kind in given)
    return replace(part, **told)


def task(source: str | Path | Mapping[str, Any], name: str = "") -> Task:
    """A built-in task by its name, a TOML or JSON file, or a table of your own."""
    if isinstance(source, Mapping):
        return _checked(name or "your task", _extended(source))
    if str(source) in built_in():
        return _checked(str(source), _extended(_read_built_in(str(source))))
    path = Path(source)
    if path.suffix not in WORLD_FILES:
        hint = "Or give a file that ends in .toml or .json."
        raise UnknownName("frontier task", str(source), built_in(), hint)
    return _checked(path.stem, _extended(read_world_file(path)))


def built_in() -> tuple[str, ...]:
    """The names of the tasks that come with the package."""
    return packaged(FOLDER, "tasks")


def _read_built_in(name: str) -> Mapping[str, Any]:
    return read_packaged(FOLDER, "tasks", name)


def players_and_summary(path: str) -> tuple[int, str]:
    """How many players the task in a file has, and what it is in a sentence."""
    described = task(path)
    return described.players, described.summary


def _extended(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table laid over the one it extends."""
    if "extends" not in table:
        return table
    if table["extends"] not in built_in():
        raise UnknownName("frontier task to extend", str(table["extends"]), built_in())
    changes = {key: value for key, value in table.items() if key != "extends"}
    return _merged(_extended(_read_built_in(table["extends"])), changes)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
    both = dict(base)
    for key, value in changes.items():
        old = both.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = _merged(old, value)
        both[key] = value
    return both


PARTS = {"resources": Resource, "events": Happening, "jobs": Job, "hunger": Hunger}
ENTRIES = ("world", "summary", "rows", "cols", "blocks", "map", "sight", "horizon")
ENTRIES += (*PARTS, "reference")
NAMING = ("needs", "takes", "gives", "capacity", "preference", "holds", "foods", "guards")


def _fault(task: str, place: str, says: str) -> BadTask:
    return BadTask(f"{task}: `{place}` {says}.")


def _checked(name: str, raw: Mapping[str, Any]) -> Task:
    """The task that a table describes, or what is wrong with the first entry that is."""
    unknown = next((key for key in raw if key not in ENTRIES), None)
    if unknown is not None:
        raise _fault(name, unknown, f"is no entry; known here are {', '.join(ENTRIES)}")
    table = {"events": {}, "jobs": {}, "resources": {}, "summary": name, **_on_land(name, raw)}
    table |= {"name": name, "summary": str(table["summary"])}
    table.pop("world", None)
    for part, count in (("resources", "piles"), ("events", "places")):
        table[part] = _counted(table[part], count)
    try:
        made = TypeAdapter(Task).validate_python(table)
    except ValidationError as error:
        raise _first_fault(name, error) from None
    for place, says in _misfits(made):
        raise _fault(name, place, says)
    return made


def _counted(part: Any, count: str) -> Any:
    """Entries that tell cells but not how many there are have as many as cells."""
    if not isinstance(part, Mapping):
        return part
    return {
        name: {count: len(entry["at"]), **entry}
        if isinstance(entry, Mapping) and _is_list(entry.get("at"))
        else entry
        for name, entry in part.items()
    }


def _first_fault(task: str, error: ValidationError) -> BadTask:
    """What pydantic found first, in the words of a task."""
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"] if "[" not in str(part)]  # no validators
    told = {
        "missing": "is missing",
        "entry": first["msg"],
        "unexpected_keyword_argument": f"is no entry; known here are {_known(place)}",
    }
    tables = f"must be a table of entries; given {first['input']!r}"
    return _fault(task, ".".join(place), told.get(first["type"], tables))


def _known(place: list[str]) -> str:
    """The entries of the part of a task that a place is in."""
    kind = PARTS.get(place[0], Reference if len(place) == 2 else OtherJob)
    return ", ".join(entry.name for entry in fields(kind))


def _on_land(task: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The table with rows, cols and blocks in place of a map."""
    if "map" not in raw:
        return {"blocks": 0, **raw}
    for key in ("rows", "cols", "blocks"):
        if key in raw:
            raise _fault(task, key, "is already told by `map`; leave one of them out")
    text = raw["map"]
    lines = text.split() if isinstance(text, str) else []
    glyphs = sorted({glyph for line in lines for glyph in line} - {BLOCK, OPEN})
    if len({len(line) for line in lines}) != 1 or glyphs:
        allowed = f"equally long lines of {OPEN!r} and {BLOCK!r} (blocks)"
        raise _fault(task, "map", f"must be {allowed}; given {text!r}")
    drawing = np.array([list(line) for line in lines])
    blocks = tuple((int(row), int(col)) for row, col in np.argwhere(drawing == BLOCK))
    rows, cols = drawing.shape
    rest = {key: value for key, value in raw.items() if key != "map"}
    return {**rest, "rows": rows, "cols": cols, "blocks": blocks}


def _misfits(task: Task) -> Iterator[tuple[str, str]]:
    """Where entries do not fit one another, and why."""
    if not 1 <= len(task.kinds) <= MOST_KINDS:
        yield "resources", f"must name 1 to {MOST_KINDS} kinds; given {len(task.kinds)}"
    for kind in set(task.kinds) & set(TAKEN_NAMES):
        taken = f"cannot be called so; taken names are {', '.join(TAKEN_NAMES)}"
        yield f"resources.{kind}", taken
    if len(task.events) > MOST_EVENTS:
        yield "events", f"must name at most {MOST_EVENTS} events; given {len(task.events)}"
    if not task.jobs:
        yield "jobs", "must name at least one job"
    yield from _unknown_names(task)
    for name, event in task.events.items():
        for key in ("takes", "gives"):
            if not getattr(event, key):
                there = ", ".join(task.kinds)
                yield f"events.{name}.{key}", f"must name resources; there are {there}"
    for name, job in task.jobs.items():
        if len(job.at) > job.players:
            much = f"places {len(job.at)} players, and the job has {job.players}"
            yield f"jobs.{name}.at", much
        for kind, amount in job.holds.items():
            if amount > job.capacity.get(kind, UNLIMITED):
                yield f"jobs.{name}.holds.{kind}", "is more than the capacity of the job"
    yield from _misplaced(task)


def _unknown_names(task: Task) -> Iterator[tuple[str, str]]:
    """Names of resources and jobs that the task does not have."""
    for name in task.reference.jobs:
        if name not in task.jobs:
            yield f"reference.jobs.{name}", f"is no job; there are {', '.join(task.jobs)}"
    parts = {
        **{f"resources.{name}": part for name, part in task.resources.items()},
        **{f"events.{name}": part for name, part in task.events.items()},
        **{f"jobs.{name}": part for name, part in task.jobs.items()},
        **{f"reference.jobs.{name}": part for name, part in task.reference.jobs.items()},
        "hunger": task.hunger,
    }
    there = ", ".join(task.kinds)
    for place, part in parts.items():
        for key in NAMING:
            for kind in getattr(part, key, None) or ():
                if kind not in task.kinds:
                    says = f"names {kind!r}, which is no resource; there are {there}"
                    yield f"{place}.{key}", says


def _misplaced(task: Task) -> Iterator[tuple[str, str]]:
    """What finds no place of its own."""
    blocks = task.blocks if isinstance(task.blocks, int) else len(task.blocks)
    open_cells = task.rows * task.cols - blocks
    for what, entry, many in (
        ("piles", "resources", sum(kind.piles for kind in task.resources.values())),
        ("events", "events", sum(event.places for event in task.events.values())),
        ("players", "jobs", task.players),
        ("beasts", "hunger", task.hunger.beasts if task.hunger else 0),
    ):
        if many > open_cells:
            yield entry, f"has {many} {what} for {open_cells} open cells"
    walls = set() if isinstance(task.blocks, int) else set(task.blocks)
    given: set[Cell] = set()
    for entry, parts, count in (
        ("resources", task.resources, "piles"),
        ("events", task.events, "places"),
        ("jobs", task.jobs, "players"),
    ):
        taken: dict[Cell, str] = {}
        for name, part in parts.items():
            place = f"{entry}.{name}.at"
            if len(part.at) > getattr(part, count):
                yield place, f"lists {len(part.at)} cells, and `{count}` is {getattr(part, count)}"
            for cell in part.at:
                if not (0 <= cell[0] < task.rows and 0 <= cell[1] < task.cols):
                    within = f"cells [row, column] within {task.rows} x {task.cols}"
                    yield place, f"must list {within}; given {list(cell)}"
                if cell in walls:
                    yield place, f"puts something on the block {cell}"
                if cell in taken:
                    yield place, f"uses {cell}, which {taken[cell]} has already"
                taken[cell] = name
        given |= taken.keys()
    if isinstance(task.blocks, int) and task.blocks + len(given) > task.rows * task.cols:
        room = f"{len(given)} of the {task.rows * task.cols} cells are given to other things"
        yield "blocks", f"has {task.blocks} blocks, and {room}"
