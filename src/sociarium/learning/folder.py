"""The run folder: what was asked, with what it ran, and the figures on the way.

`manifest.json` says what the run is, without traces of the machine's user (no environment
variables, absolute paths or host names); `metrics.jsonl` has one row for each report; `tensorboard`
has the same figures as event files if tensorboardX is installed; `checkpoints` is kept by
`learning.checkpoints`.
"""

import importlib
import importlib.metadata
import importlib.util
import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.core.disk import FolderLock, append, replace
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite, MissingExtra
from sociarium.core.manifest import (
    MANIFEST,
    begun,
    devices,
    plain,
    read_manifest,
    timestamp,
    versions,
)
from sociarium.core.record import file_hashes
from sociarium.networks.stored import NETWORK_VERSION, another_version

FIXED = ("config", "seeds", "versions", "network_version", "devices", "git", "started")
METRICS, CHECKPOINTS, EVENTS = (
    "metrics.jsonl",
    "checkpoints",
    "tensorboard",
)

log = logging.getLogger(__name__)


class RunFolder:
    """One run on disk: `begin` it or `resume` it, then `report`, `update` and `close`.

    `tensorboard` asks for event files (True), refuses them (False) or takes them where they can be
    written (None).
    """

    def __init__(self, path: str | Path, tensorboard: bool | None = None) -> None:
        self.path = Path(path)
        self.metrics = self.path / METRICS
        self.checkpoints = self.path / CHECKPOINTS
        installed = importlib.util.find_spec("tensorboardX") is not None
        if tensorboard and not installed:
            raise MissingExtra("tensorboardX", "learning")
        self._draws = installed if tensorboard is None else tensorboard
        self._events: Tensorboard | None = None
        self._lock = FolderLock(self.path)

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        return read_manifest(self.path)

    def own(self) -> None:
        """Nobody else writes here until this is closed."""
        self._lock.take()

    def begin(self, config: Any, seeds: Sequence[int]) -> None:
        """Writes the manifest of a new run; `config` is a dataclass or a mapping."""
        taken = [n for n in (MANIFEST, METRICS, CHECKPOINTS) if (self.path / n).exists()]
        if taken:
            raise BadArgument(
                f"{self.path} already holds a run ({taken[0]} is there); give another folder, or "
                "--resume to go on with a training"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CannotWrite(self.path, error) from error
        self.own()
        manifest = begun(config, seeds)
        manifest |= {"network_version": NETWORK_VERSION, "resumed": []}
        if files := file_hashes(str(manifest["config"].get("world", ""))):
            manifest["files"] = files
        self._write_manifest(manifest)
        if self._draws:
            self._events = Tensorboard(self.path / EVENTS)

    def expect(self, config: Any) -> None:
        """Refuses another config, or other networks, than those the run began with."""
        _same_network(self.path, self.manifest)
        _same(self.path, self.manifest["config"], plain(config))

    def resume(self, step: int, config: Any = None) -> None:
        """Goes on after this step: later figures are dropped, and another config is refused."""
        self.own()
        if config is not None:
            self.expect(config)
        manifest = self.manifest
        _same_network(self.path, manifest)
        for what, now in (("versions", versions()), ("devices", devices())):
            if manifest[what] != now:
                change = f"{what} {manifest[what]} and goes on with {now}"
                log.warning("%s began with %s: its last bits may differ.", self.path, change)
        resumed = [*manifest["resumed"], {"time": timestamp(), "step": step}]
        self.update(resumed=resumed, finished=False)
        self.rewind(step)
        if self._draws:
            self._events = Tensorboard(self.path / EVENTS, after=step)

    def update(self, **facts: Any) -> None:
        """Notes facts in the manifest, such as `finished=True`, and that the run is alive."""
        fixed = [name for name in facts if name in FIXED]
        if fixed:
            raise BadArgument(f"{fixed[0]} of a run does not change; begin another run")
        self._write_manifest({**self.manifest, **plain(facts), "updated": timestamp()})

    def report(self, step: int, figures: Mapping[str, Any]) -> None:
        """Appends one row of numbers, or arrays of them; those not finite are written as null."""
        arrays = {name: _figures(name, value) for name, value in figures.items()}
        row = {
            "step": int(step),
            **{name: _finite(array) for name, array in arrays.items()},
        }
        append(self.metrics, json.dumps(row, allow_nan=False).encode() + b"\n")
        if self._events is not None:
            self._events.write(step, arrays)

    def rewind(self, step: int) -> None:
        """Drops all rows after a step, and the half of one that a killed run may have left."""
        if self.metrics.exists():
            kept = [line for line, row in _rows(self.metrics) if row["step"] <= step]
            replace(self.metrics, b"".join(line + b"\n" for line in kept))

    def close(self) -> None:
        """Closes the event file, and lets others write; everything else is on disk already."""
        if self._events is not None:
            self._events.close()
            self._events = None
        self._lock.close()

    def _write_manifest(self, manifest: Mapping[str, Any]) -> None:
        replace(self.path / MANIFEST, json.dumps(manifest, indent=1).encode() + b"\n")


class ReadFolder(RunFolder):
    """The folder of a run of several processes, for those that leave the writing to the first."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, tensorboard=False)

    def own(self) -> None:
        """The first process does."""

    def begin(self, config: Any, seeds: Sequence[int]) -> None:
        """The first process does."""

    def resume(self, step: int, config: Any = None) -> None:
        """The first process does."""

    def update(self, **facts: Any) -> None:
        """The first process does."""

    def report(self, step: int, figures: Mapping[str, Any]) -> None:
        """The first process does."""


class Tensorboard:
    """Event files for TensorBoard; with `after`, all that was drawn beyond that step is hidden.

    Files are numbered, because the usual names hold the host's.
    """

    def __init__(self, folder: Path, after: int | None = None) -> None:
        try:
            board = importlib.import_module("tensorboardX")
        except ImportError as error:
            raise MissingExtra("tensorboardX", "learning") from error
        self._event, self._summary = (
            board.proto.event_pb2,
            board.proto.summary_pb2.Summary,
        )
        numbers = [int(file.name.split(".")[3]) for file in folder.glob("events.out.tfevents.*")]
        number = max(numbers, default=-1) + 1
        self.path = folder / f"events.out.tfevents.{number:010d}.sociarium"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._records = board.RecordWriter(str(self.path))
        except OSError as error:
            raise CannotWrite(self.path, error) from error
        self._put(file_version="brain.Event:2")
        if after is not None:
            log_type = self._event.SessionLog
            self._put(step=after + 1, session_log=log_type(status=log_type.START))

    def write(self, step: int, figures: Mapping[str, np.ndarray]) -> None:
        """One point for each number; those of an array are numbered below its name."""
        points = [
            self._summary.Value(tag="/".join([name, *map(str, place)]), simple_value=array[place])
            for name, array in figures.items()
            for place in np.ndindex(array.shape)
        ]
        self._put(step=int(step), summary=self._summary(value=points))

    def close(self) -> None:
        """Ends the file."""
        self._records.close()

    def _put(self, **content: Any) -> None:
        try:
            event = self._event.Event(wall_time=time.time(), **content)
            self._records.write(event.SerializeToString())
            self._records.flush()
        except OSError as error:
            raise CannotWrite(self.path, error) from error


def read_metrics(path: str | Path) -> dict[str, np.ndarray]:
    """The figures of a run folder by name, rows first; not a number where a row has none."""
    file = Path(path) / METRICS if Path(path).is_dir() else Path(path)
    if not file.exists():
        raise CannotRead(f"There are no figures: {file} does not exist. Give the folder of a run")
    rows = [row for _, row in _rows(file)]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column(name, [row.get(name) for row in rows], file) for name in names}


def read_end(path: str | Path) -> dict[str, np.ndarray]:
    """What the figures of a run came to: their means over the last tenth of its rows."""
    rows = read_metrics(path)
    if not rows:
        raise CannotRead(f"{path} has no figures yet; train it further")
    last = max(1, len(rows["step"]) // 10)
    end = {}
    for name, column in rows.items():
        known = np.isfinite(column[-last:])
        total = np.where(known, column[-last:], 0).sum(0)
        count = known.sum(0)
        end[name] = np.where(count, total / np.maximum(count, 1), np.nan)
    return end


def _same_network(path: Path, manifest: Mapping[str, Any]) -> None:
    if other := another_version(manifest):
        raise BadArgument(f"{path} holds a run {other}")


def _same(path: Path, old: Any, new: Any) -> None:
    if old != new:
        changed = "; ".join(_changes(old, new))
        raise BadArgument(
            f"{path} holds a run with another config: {changed}. Give the same, or another folder"
        )


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """A few words on each value that is not the same in both."""
    for name in dict.fromkeys([*old, *new]):
        was, now = old.get(name, "not given"), new.get(name, "not given")
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            yield from _changes(was, now, f"{place}{name}.")
        elif was != now:
            yield f"{place}{name} was {was}, is {now}"


def _figures(name: str, value: Any) -> np.ndarray:
    array = np.asarray(jax.device_get(value))
    if not (jnp.issubdtype(array.dtype, jnp.number) or array.dtype == bool):
        raise BadArgument(f"The figure {name} must be numbers; given {value!r}")
    whole = jnp.issubdtype(array.dtype, jnp.integer) or array.dtype == bool
    return array.astype(np.int64 if whole else np.float64)


def _finite(array: np.ndarray) -> Any:
    """The same as lists of numbers, None where they are not finite."""
    numbers = array.astype(object)
    numbers[~np.isfinite(array)] = None
    return numbers.tolist()


def _column(name: str, values: list[Any], file: Path) -> np.ndarray:
    shape = next((np.shape(value) for value in values if value is not None), ())
    filled = [np.full(shape, np.nan) if value is None else value for value in values]
    try:
        column = np.array(filled)
        return column if column.dtype.kind in "if" else column.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise CannotRead(f"{name} in {file} is not of one shape in all rows: {error}") from error


def _rows(file: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Each whole line and what it says; a half-written last one is passed over."""
    *lines, last = file.read_bytes().split(b"\n")
    for number, line in enumerate([*lines, last], start=1):
        try:
            row = json.loads(line)
            row["step"]
        except (ValueError, TypeError, KeyError):
            if line:
                log.warning("Line %d of %s is not whole and is passed over.", number, file)
        else:
            yield line, row
