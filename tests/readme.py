"""Runs every block of the README in order, in one folder, as a new user would.

A command that needs a person is skipped; SHORTER shortens the longest ones. Everything else runs as
it is written, and the blocks build on one another.
"""

import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
NEEDS_A_PERSON = ("play",)
SHORTER = {  # options by command, and the values that replace them
    "train": {"--steps": "30k", "--seeds": "1"},
    "study": {"--episodes": "3"},
    "measure": {"--episodes": "3"},
    "match": {"--steps": "6"},
    "fork": {"--at": "3"},
}


def commands() -> list[list[str]]:
    """Every command of the README in order: Python blocks whole, shell blocks line by line."""
    found: list[list[str]] = []
    for kind, text in re.findall(r"```(\w+)\n(.*?)```", README.read_text(), re.S):
        if kind == "python":
            found.append([sys.executable, "-c", text])
        elif kind in ("bash", "sh"):
            lines = [shlex.split(line, comments=True) for line in text.splitlines()]
            found += [shortened(words) for words in lines if words]
        else:
            raise SystemExit(f"a block of {kind}, which is neither python nor a shell")
    return found


def shortened(words: list[str]) -> list[str]:
    """A command with the shorter values of its options; one that has no --steps keeps its own."""
    changes = SHORTER.get(words[1], {}) if words[0] == "sociarium" else {}
    return [changes.get(before, word) for before, word in zip(["", *words], words, strict=False)]


def skipped(words: list[str]) -> bool:
    """Installing, and what needs a person."""
    return words[0] == "pip" or (words[0] == "sociarium" and words[1] in NEEDS_A_PERSON)


def main() -> None:
    """Runs the commands in one folder, beside the examples; the first that fails ends it."""
    found = [words for words in commands() if not skipped(words)]
    assert len(found) >= 15, "the README has lost its commands"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(README.parent / "examples")
        for words in found:
            began = time.perf_counter()
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
            shown = " ".join(words[:5]).splitlines()[0]
            if done.returncode:
                raise SystemExit(f"{shown} ended with {done.returncode}:\n{done.stderr[-3000:]}")
            print(f"ok  {time.perf_counter() - began:5.1f} s  {shown}", flush=True)


if __name__ == "__main__":
    main()
