"""What a run is, as its manifest says, without traces of the machine or its user."""

import dataclasses
import enum
import importlib.metadata
import json
import math
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

import jax
import numpy as np

from sociarium.core.errors import BadArgument, CannotRead

MANIFEST = "manifest.json"
PARTS = ("sociarium", "jax", "jaxlib", "equinox", "optax", "numpy")
# A path from the root, a home or a drive: a word, or what follows a colon, = or comma in one.
_ABSOLUTE = re.compile(r"(?<![^\s:=,])(?:~?/(?!/)|[A-Za-z]:[\\/])[^\s?*,;&]+")


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest of a run folder."""
    file = Path(path) / MANIFEST
    try:
        manifest = json.loads(file.read_bytes())
    except OSError as error:
        raise CannotRead(
            f"{path} holds no run: {file} cannot be read ({error.strerror}). Give the folder of a "
            "run, or begin one there without --resume"
        ) from error
    except ValueError as error:
        raise CannotRead(f"{file} is damaged: {error}") from error
    if not isinstance(manifest, dict):
        raise CannotRead(f"{file} is no manifest")
    return manifest


def plain(value: Any, place: str = "config") -> Any:
    """A config as JSON, with absolute paths cut to what lies below the working directory."""
    match value:
        case enum.Enum():
            return value.name
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case PurePath() | str() if PurePath(value).is_absolute():
            return _nearby(str(value))
        case PurePath() | str():
            return _ABSOLUTE.sub(lambda found: _nearby(found[0]), str(value))
        case Mapping():
            return {str(name): plain(part, f"{place}.{name}") for name, part in value.items()}
        case list() | tuple():
            return [plain(part, f"{place}[{i}]") for i, part in enumerate(value)]
        case np.ndarray() | np.generic() | jax.Array():
            return plain(np.asarray(value).tolist(), place)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return plain({field.name: getattr(value, field.name) for field in fields}, place)
    raise BadArgument(
        f"{place} is a {type(value).__name__}, which has no place in a manifest; give numbers, "
        "strings, lists and mappings"
    )


def begun(config: Any, seeds: Sequence[int]) -> dict[str, Any]:
    """The manifest of something that begins now; `config` is a dataclass or a mapping."""
    now = timestamp()
    return {
        "config": plain(config),
        "seeds": plain(list(seeds)),
        "versions": versions(),
        "devices": devices(),
        "git": git_hash(),
        "started": now,
        "updated": now,
        "finished": False,
    }


def versions() -> dict[str, str | None]:
    """Of Python and of what a run is computed with; None for what is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for part in PARTS:
        try:
            found[part] = importlib.metadata.version(part)
        except importlib.metadata.PackageNotFoundError:
            found[part] = None
    return found


def devices() -> dict[str, Any]:
    """The kind and the number of devices that arrays may lie on."""
    kind = jax.devices()[0].device_kind
    return {"backend": jax.default_backend(), "kind": kind, "count": jax.device_count()}


def git_hash() -> dict[str, Any] | None:
    """The commit of the working directory and whether files differ from it, if it has one."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], capture_output=True, text=True, check=True, timeout=20
        )
        return done.stdout.strip()

    try:
        commit = git("rev-parse", "HEAD")
        return {"commit": commit, "changed": bool(git("status", "--porcelain", "-uno"))}
    except (OSError, subprocess.SubprocessError):
        return None


def timestamp() -> str:
    """The time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _nearby(path: str) -> str:
    """A path below the working directory from there, any other by its last name."""
    full = Path(path).expanduser()
    here = Path.cwd()
    return full.relative_to(here).as_posix() if full.is_relative_to(here) else full.name
