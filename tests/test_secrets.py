"""No key stands in the repository: a reference had one of a vendor in its source (defect D15)."""

import itertools
import re
from pathlib import Path

from tests.players.model_server import KEY

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", ".ci")
WRITTEN = {".py", ".toml", ".md", ".json", ".jsonl", ".html", ".ipynb", ".txt", ".yml", ".js", ""}
LARGEST = 5_000_000  # bytes
KEYS = re.compile(
    r"\bsk-[A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}"
    r"|\bhf_[A-Za-z0-9]{30,}|\bAIza[0-9A-Za-z_-]{30,}|\bxox[abp]-[0-9A-Za-z-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)


def files():
    there = [ROOT.glob("*"), *((ROOT / folder).rglob("*") for folder in FOLDERS)]
    for file in itertools.chain(*there):
        if file.is_file() and file.suffix in WRITTEN and file.stat().st_size < LARGEST:
            yield file


def test_no_key_stands_in_the_repository():
    found = {
        (str(file.relative_to(ROOT)), key)
        for file in files()
        for key in KEYS.findall(file.read_text("utf-8", "ignore"))
    }
    assert found == {("tests/players/model_server.py", KEY)}  # which is none
