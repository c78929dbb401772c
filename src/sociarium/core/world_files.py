"""Files that describe a world or a charter of one's own: a table in TOML or JSON."""

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from sociarium.core.errors import CannotRead

WORLD_FILES = (".toml", ".json")  # how their names end
MOST_BYTES = 1 << 18
MOST_DOTS = 500  # in a line: the time to read a key grows with the square of its parts


def packaged(package: str, folder: str) -> tuple[str, ...]:
    """The names of the tables in TOML that come with a package, in one of its folders."""
    files = (resources.files(package) / folder).iterdir()
    names = (file.name for file in files if file.name.endswith(".toml"))
    return tuple(sorted(name.removesuffix(".toml") for name in names))


def read_packaged(package: str, folder: str, name: str) -> dict[str, Any]:
    """One of these tables."""
    return tomllib.loads((resources.files(package) / folder / f"{name}.toml").read_text("utf-8"))


def read_world_file(path: str | Path) -> dict[str, Any]:
    """The table in a file."""
    file = Path(path)
    try:
        if file.exists() and not file.is_file():
            raise CannotRead(f"Cannot read {path}: it is no file.")
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise CannotRead(f"{path} is larger than {MOST_BYTES} bytes.")
        text = content.decode("utf-8")
        if any(line.count(".") > MOST_DOTS for line in text.split("\n")):
            raise CannotRead(f"{path} has a line with more than {MOST_DOTS} dots.")
        table = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise CannotRead(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise CannotRead(f"{path} is not {file.suffix[1:].upper()}: {error}.") from error
    if not isinstance(table, dict):
        raise CannotRead(f"{path} must hold a table of entries; given {table!r}.")
    return table
