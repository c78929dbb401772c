"""Runs what the README tells a newcomer to run: its Python blocks and its `sociarium` commands."""

import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def main() -> None:
    """Runs every block beside the examples and stops at the first that fails."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", README.read_text(), re.S)
    commands = [
        shlex.split(line, comments=True)
        for kind, text in blocks
        if kind == "bash"
        for line in text.splitlines()
        if line.startswith("sociarium")
    ]
    commands += [[sys.executable, "-c", text] for kind, text in blocks if kind == "python"]
    assert len(commands) >= 3, "the README has lost its commands"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(README.parent / "examples")
        for command in commands:
            began = time.perf_counter()
            subprocess.run(command, cwd=folder, check=True)
            shown = " ".join(command[:4]).splitlines()[0]
            print(f"ok  {time.perf_counter() - began:5.1f} s  {shown}", flush=True)


if __name__ == "__main__":
    main()
