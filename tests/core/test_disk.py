"""One process writes into a folder at a time, and the dead lock nobody out."""

import subprocess
import sys

import pytest

from sociarium.core.disk import LOCK, FolderLock, replace
from sociarium.core.errors import CannotWrite, FolderInUse

HOLDS = """
import sys
from pathlib import Path
from sociarium.core.disk import FolderLock
lock = FolderLock(Path(sys.argv[1])).take()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_folder_is_locked_until_it_is_closed(tmp_path):
    lock = FolderLock(tmp_path).take()
    with pytest.raises(FolderInUse, match="in use by process"):
        FolderLock(tmp_path).take()
    lock.close()
    assert not (tmp_path / LOCK).exists()
    FolderLock(tmp_path).take().close()


def test_another_process_is_named_and_its_death_frees_the_folder(tmp_path):
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(FolderInUse, match=f"process {child.pid} "):
            FolderLock(tmp_path).take()
        child.kill()
    assert (tmp_path / LOCK).exists()
    FolderLock(tmp_path).take().close()


def test_a_file_that_cannot_be_named_or_removed_cannot_be_written(tmp_path):
    with pytest.raises(CannotWrite, match="File name too long"):
        replace(tmp_path / ("x" * 300), b"")
