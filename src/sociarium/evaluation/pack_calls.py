"""Recorded calls of language models as lines of JSON, which are equal for equal calls.

The file of a run holds how long calls took and is read by SQLite; these lines hold neither times
nor anything that a stranger's file could do to a database.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from sociarium.core.errors import CannotRead
from sociarium.language.models.store import CallStore

_TABLES = {  # columns, and the order of rows
    "meta": (2, "name"),
    "texts": (2, "hash"),
    "calls": (7, "seat, decision, role, attempt"),
    "outcomes": (4, "seat, decision"),
}


def call_lines(file: Path) -> bytes:
    """All that a replay needs of the calls in a file."""
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as sql:
            return b"".join(
                json.dumps([table, *row]).encode() + b"\n"
                for table, (_, order) in _TABLES.items()
                for row in sql.execute(f"SELECT * FROM {table} ORDER BY {order}")
            )
    except sqlite3.Error as error:
        raise CannotRead(f"{file} holds no recorded calls ({error}).") from error


def write_calls(lines: bytes, file: Path) -> None:
    """The file of calls that such lines, which may come from anybody, were made of."""
    file.parent.mkdir(parents=True, exist_ok=True)
    CallStore(file).close()
    try:
        with closing(sqlite3.connect(file)) as sql, sql:
            for table, row in _rows(lines):
                marks = ", ".join("?" * len(row))
                sql.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)
    except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
        raise CannotRead(f"the recorded calls are damaged ({error}).") from error


def _rows(lines: bytes) -> Iterator[tuple[str, list[Any]]]:
    for line in lines.splitlines():
        try:
            table, *row = json.loads(line)
            size, _ = _TABLES[table]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise CannotRead(f"the recorded calls are damaged ({error!r}).") from error
        if len(row) != size or not all(isinstance(one, str | int) for one in row):
            raise CannotRead(f"the recorded calls are damaged: no row of {table}.")
        yield table, row
