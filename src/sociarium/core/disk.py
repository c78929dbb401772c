"""Files that are whole or not there, whatever happens while they are written."""

import os
from pathlib import Path

from sociarium.core.errors import CannotWrite


def write_durably(path: Path, data: bytes) -> None:
    """A new file whose bytes have reached the disk."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Makes what was created or renamed in a folder outlive a loss of power, if the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append(file: Path, line: bytes) -> None:
    """All of the line or nothing of it, on the disk before this returns."""
    try:
        with open(file, "ab", buffering=0) as out:
            before = out.seek(0, os.SEEK_END)
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[out.write(rest) :]
                os.fsync(out.fileno())
            except OSError:
                out.truncate(before)
                raise
    except OSError as error:
        raise CannotWrite(file, error) from error


def replace(file: Path, data: bytes) -> None:
    """The file with these bytes, or as it was."""
    writing = file.with_name(f".{file.name}.writing")
    try:
        write_durably(writing, data)
        writing.replace(file)
        sync_folder(file.parent)
    except OSError as error:
        writing.unlink(missing_ok=True)
        raise CannotWrite(file, error) from error
