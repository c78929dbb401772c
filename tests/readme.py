"""Runs what the README tells a newcomer to run: its Python blocks and its `sociarium` commands."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def blocks() -> list[list[list[str]]]:
    """The commands of each block, which may build on one another; blocks do not."""
    found = []
    for kind, text in re.findall(r"```(\w+)\n(.*?)```", README.read_text(), re.S):
        if kind == "python":
            found.append([[sys.executable, "-c", text]])
        if kind == "bash":
            lines = [shlex.split(line, comments=True) for line in text.splitlines()]
            found.append([words for words in lines if words[:1] == ["sociarium"]])
    return [commands for commands in found if commands]


def run(commands: list[list[str]]) -> None:
    """Runs a block in a folder of its own, beside the examples."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(README.parent / "examples")
        for command in commands:
            began = time.perf_counter()
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            shown = " ".join(command[:4]).splitlines()[0]
            if done.returncode:
                raise SystemExit(f"{shown} ended with {done.returncode}:\n{done.stderr[-3000:]}")
            print(f"ok  {time.perf_counter() - began:5.1f} s  {shown}", flush=True)


def main() -> None:
    """Runs the blocks, one on each core, and fails if any command does."""
    found = blocks()
    assert sum(map(len, found)) >= 3, "the README has lost its commands"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, found))


if __name__ == "__main__":
    main()
