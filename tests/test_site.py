"""The documentation site builds without a warning and shows every world."""

import subprocess
import sys
from pathlib import Path

from sociarium.catalogue import WORLDS

ROOT = Path(__file__).parent.parent


def test_the_site_builds_and_asks_nothing_of_other_hosts(tmp_path):
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for page in tmp_path.rglob("*.html"):
        text = page.read_text()
        assert 'src="http' not in text and 'rel="stylesheet" href="http' not in text, page
    assert not list(tmp_path.rglob("*.py"))


def test_the_site_leads_to_every_world():
    nav = (ROOT / "mkdocs.yml").read_text()
    for entry in WORLDS:
        assert f"worlds/{entry.family}.md" in nav
