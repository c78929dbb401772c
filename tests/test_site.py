"""The documentation site builds without a warning and shows every world."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sociarium.catalogue import ARTICLES, SOCIETIES, WORLDS

ROOT = Path(__file__).parent.parent
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["'](?:https?:)?//"""
    r"""|<link\b(?=[^>]*\brel=["'][^"']*(?:stylesheet|icon|preload|preconnect|dns-prefetch))"""
    r"""[^>]*\bhref=["'](?:https?:)?//"""
    r"""|@import\s+["'](?:https?:)?//|url\(["']?(?:https?:)?//""",
    re.I,
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built once."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return folder


def pages_of(folder: Path) -> dict[str, str]:
    """Every page and style sheet of the site by its place."""
    files = [file for kind in ("*.html", "*.css") for file in folder.rglob(kind)]
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def test_the_site_asks_nothing_of_other_hosts(site):
    pages = pages_of(site)
    sources = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    built = {
        str(s.with_suffix("") / "index.html") if s.stem != "index" else str(s.with_suffix(".html"))
        for s in sources
    }
    assert built <= set(pages) and any(name.endswith(".css") for name in pages)
    assert {
        name: FETCHED.findall(text) for name, text in pages.items() if FETCHED.search(text)
    } == {}
    assert not list(site.rglob("*.py"))


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ('<script async src="https://a.org/x.js"></script>', True),
        ("<img alt='' src='//a.org/x.png'>", True),
        ('<link href="https://a.org/x.css" rel="stylesheet">', True),
        ('<link rel="preconnect" href="//fonts.org">', True),
        ("@import 'https://a.org/x.css';", True),
        ("p { background: url(https://a.org/x.png) }", True),
        ('<a href="https://a.org">elsewhere</a> <img src="../x.png">', False),
        ('<link rel="canonical" href="https://a.org/"> url(x.png)', False),
    ],
)
def test_what_counts_as_asking_another_host(text, asks):
    assert bool(FETCHED.search(text)) is asks


def test_the_site_leads_to_every_world_charter_and_society(site):
    """From the home page, by a link of its menu, to a page that shows the name as its title."""
    ego_origin = (site / "index.html").read_text()
    leads = set(re.findall(r'<a href="([^"#]+)" class="md-nav__link"', ego_origin))
    places = {f"worlds/{entry.family}/": entry.id for entry in WORLDS}
    places |= {f"societies/{entry.family}/": entry.id for entry in SOCIETIES}
    places |= {f"charters/{entry.name}/": entry.name for entry in ARTICLES}
    assert set(places) <= leads
    for place, name in places.items():
        title = re.search(r"<h1[^>]*>(.*?)<", (site / place / "index.html").read_text())
        assert title is not None and title[1] == name
