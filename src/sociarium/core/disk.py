"""Files that are whole or not there, and folders into which one process writes at a time."""

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from sociarium.core.errors import CannotWrite, FolderInUse, printable

try:
    import fcntl
except ImportError:  # not on Windows, where folders are not locked
    fcntl = None

LOCK = "lock"  # names the process that writes into a folder


STEP_DIGITS = 12  # of a step in a name, so that names sort as numbers do


def step_name(step: int) -> str:
    """What is called by a step of training."""
    return f"{step:0{STEP_DIGITS}d}"


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


def append(file: Path, line: bytes, sync: bool = True) -> None:
    """All of the line or nothing of it, on the disk before this returns.

    Without `sync` it is with the system then, and outlives the process but no loss of power.
    """
    try:
        out = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            before = os.lseek(out, 0, os.SEEK_END)
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(out, rest) :]
                if sync:
                    os.fsync(out)
            except OSError:
                os.ftruncate(out, before)
                raise
        finally:
            os.close(out)
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
        with suppress(OSError):
            writing.unlink(missing_ok=True)
        raise CannotWrite(file, error) from error


class FolderLock:
    """The right to write into a folder, which one object in one process has until it is closed.

    It is had from `take` on; to take it or to close it again changes nothing.

    The system takes it back when the process ends, however it ends, so what a killed process left
    behind does not lock anybody out.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.file, self._handle = folder, folder / LOCK, -1

    def take(self) -> "FolderLock":
        """Nobody else may write, or an error that says who does."""
        if self._handle >= 0:
            return self
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._handle = self._opened()
        except BlockingIOError:
            raise FolderInUse(
                f"{self.folder} is in use by {_owner(self.file)}. Wait until it has ended, or give "
                "another folder"
            ) from None
        except OSError as error:
            raise CannotWrite(self.file, error) from error
        since = datetime.now(UTC).isoformat(timespec="seconds")
        command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:3]])
        try:
            os.ftruncate(self._handle, 0)
            os.write(self._handle, f"process {os.getpid()} ({command}), since {since}\n".encode())
        except OSError as error:
            self.close()
            raise CannotWrite(self.file, error) from error
        return self

    def _opened(self) -> int:
        """The locked file; one that was removed before it could be locked is made again."""
        while True:
            handle = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                if fcntl is not None:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self.file.exists() and os.path.samestat(os.fstat(handle), self.file.stat()):
                    return handle
            except OSError:
                os.close(handle)
                raise
            os.close(handle)

    def close(self) -> None:
        """Others may write."""
        if self._handle >= 0:
            self.file.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        try:
            self.close()
        except (OSError, AttributeError, TypeError):  # also while the interpreter ends
            pass


def _owner(file: Path) -> str:
    """Who says in a lock that it is its own."""
    try:
        return printable(file.read_text().strip()) or "another process"
    except OSError:
        return "another process"
