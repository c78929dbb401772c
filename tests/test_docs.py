"""The documentation says what the code does."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from sociarium.catalogue import CHARTERS, SOCIETIES, WORLDS
from sociarium.core.conformance import CLAUSES
from sociarium.learning import preferences, presets
from sociarium.players.scripted.social import MANNERS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("entry", WORLDS, ids=lambda entry: entry.id)
def test_the_page_of_a_world_is_up_to_date(entry, generate):
    stored = (ROOT / "docs" / "worlds" / f"{entry.family}.md").read_text()
    assert stored == generate.world_page(entry), "run `python docs/generate.py --pages`"


@pytest.mark.parametrize("entry", CHARTERS, ids=lambda entry: entry.name)
def test_the_page_of_a_charter_is_up_to_date(entry, generate):
    stored = (ROOT / "docs" / "charters" / f"{entry.name}.md").read_text()
    assert stored == generate.charter_page(entry), "run `python docs/generate.py --pages`"


@pytest.mark.parametrize("entry", SOCIETIES, ids=lambda entry: entry.id)
def test_the_page_of_a_society_is_up_to_date(entry, generate):
    stored = (ROOT / "docs" / "societies" / f"{entry.family}.md").read_text()
    assert stored == generate.society_page(entry), "run `python docs/generate.py --pages`"


def test_the_charters_are_all_explained():
    page = (ROOT / "docs" / "charters.md").read_text()
    for entry in CHARTERS:
        assert f"| [`{entry.name}`](charters/{entry.name}.md) | {entry.summary} |" in page
    for name, manners in MANNERS.items():
        assert f"| `{name}` |" in page and manners.__doc__


@pytest.mark.parametrize("name", ["results.md", "dilemmas.md"])
def test_the_pages_on_learners_say_what_is_stored(name, generate):
    stored = (ROOT / "docs" / name).read_text()
    assert "<!-- table: " in stored
    assert stored == generate.filled(stored), "run `python docs/generate.py --pages`"


def test_stored_results_say_which_version_of_the_networks_made_them():
    kept = [*DOCS.glob("results/*/*/manifest.json"), *DOCS.glob("dilemmas/*.json")]
    assert len(kept) > 20
    assert {json.loads(file.read_text())["network_version"] for file in kept} == {1}
    for name, studies in (("results.md", 3), ("dilemmas.md", 1)):
        assert (DOCS / name).read_text().count("Version 1 of the networks") == studies


def test_the_index_of_worlds_is_up_to_date(generate):
    stored = (ROOT / "docs" / "worlds" / "index.md").read_text()
    assert stored == generate.index_page(), "run `python docs/generate.py --pages`"


def test_the_readme_lists_every_world():
    readme = (ROOT / "README.md").read_text()
    for entry in WORLDS:
        assert f"`{entry.id}`" in readme and entry.summary in readme


def test_the_contract_page_lists_every_clause():
    page = (ROOT / "docs" / "contract.md").read_text()
    for name, sentence in CLAUSES.items():
        assert f"- **{name}**: {sentence}" in page


def test_the_training_page_lists_every_algorithm_and_preference():
    page = (ROOT / "docs" / "training.md").read_text()
    for name, preset in presets.ALGORITHMS.items():
        assert f"| `{name}` | {preset.summary} | `{preset.preference}` |" in page
    bare = page.replace("`", "")
    for kind, form in preferences.FORMS.items():
        assert f"| {form} | {preferences.SUMMARIES[kind]} |" in bare


@pytest.mark.parametrize(
    "page",
    ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{page.name}" for page in DOCS.glob("*.md"))],
)
def test_links_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert (path.parent / target).exists(), f"{page} links to {target}"
