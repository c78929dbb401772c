"""Files that describe a world of one's own: a table in TOML or JSON."""

import json
import tomllib
from pathlib import Path
from typing import Any

from sociarium.core.errors import CannotRead

WORLD_FILES = (".toml", ".json")  # how their names end


def read_world_file(path: str | Path) -> dict[str, Any]:
    """The table in a file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        table = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise CannotRead(f"Cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise CannotRead(f"{path} is not {file.suffix[1:].upper()}: {error}.") from error
    if not isinstance(table, dict):
        raise CannotRead(f"{path} must hold a table of entries; given {table!r}.")
    return table
