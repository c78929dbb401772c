"""The documentation says what the code does."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from sociarium.catalogue import ARTICLES, SOCIETIES, WORLDS
from sociarium.core.conformance import CLAUSES
from sociarium.learning import preferences, presets
from sociarium.learning.studies import STUDIES
from sociarium.players.scripted.social import SOCIAL_POLICIES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FINDINGS = ("results.md", "dilemmas.md", "frontier.md", "charters.md")  # pages that state results


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


@pytest.mark.parametrize("entry", ARTICLES, ids=lambda entry: entry.name)
def test_the_page_of_an_article_is_up_to_date(entry, generate):
    stored = (ROOT / "docs" / "charters" / f"{entry.name}.md").read_text()
    assert stored == generate.article_page(entry), "run `python docs/generate.py --pages`"


@pytest.mark.parametrize("entry", SOCIETIES, ids=lambda entry: entry.id)
def test_the_page_of_a_society_is_up_to_date(entry, generate):
    stored = (ROOT / "docs" / "societies" / f"{entry.family}.md").read_text()
    assert stored == generate.society_page(entry), "run `python docs/generate.py --pages`"


def test_the_charters_are_all_explained():
    page = (ROOT / "docs" / "charters.md").read_text()
    for entry in ARTICLES:
        assert f"| [`{entry.name}`](charters/{entry.name}.md) | {entry.summary} |" in page
    for name, social_policy in SOCIAL_POLICIES.items():
        assert f"| `{name}` |" in page and social_policy.__doc__


@pytest.mark.parametrize("name", FINDINGS)
def test_the_tables_of_results_say_what_is_stored(name, generate):
    stored = (ROOT / "docs" / name).read_text()
    assert name in generate.MEASURED and "<!-- table: " in stored
    assert stored == generate.filled(stored), "run `python docs/generate.py --pages`"


def test_stored_results_say_which_version_of_the_networks_made_them():
    kept = [*DOCS.glob("results/*/*/manifest.json"), *DOCS.glob("dilemmas/*.json")]
    assert len(kept) > 20
    versions = {file: json.loads(file.read_text())["network_version"] for file in kept}
    assert set(versions.values()) == {1, 2}
    for name, studies in (("results.md", 3), ("dilemmas.md", 1)):
        assert (DOCS / name).read_text().count("Version 1 of the networks") == studies
    second = {file.parent.name for file, version in versions.items() if version == 2}
    told = re.findall(r"Version 2 of the networks \((.*?)\)", (DOCS / "results.md").read_text())
    assert set(re.findall("`(.*?)`", " ".join(told))) == second


@pytest.mark.parametrize("name", [n for n, study in STUDIES.items() if not study.partners])
def test_every_table_of_learners_has_random_play_and_the_best_script(name, generate):
    rows = generate.results(name)
    worlds = {row.split("|")[1].strip(" `").split("-")[0] for row in rows if "ippo, " in row}
    beside = [row.split("|")[1].strip() for row in rows if "random play" in row]
    assert beside and worlds <= {row.removesuffix(", random play") for row in beside}
    assert len([row for row in rows if "best script |" in row]) == len(beside)


ESTIMATE = re.compile(r"-?\d+(?:\.\d+)? \[-?\d+(?:\.\d+)?, -?\d+(?:\.\d+)?\]")


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}" for name in FINDINGS)])
def test_an_estimate_in_a_sentence_stands_in_a_table(page):
    """A number with an interval is written by the generator; prose may only repeat it."""
    tables = {
        estimate
        for file in (*DOCS.glob("*.md"), *(DOCS / "worlds").glob("*.md"))
        for line in file.read_text().splitlines()
        if line.startswith("|")
        for estimate in ESTIMATE.findall(line)
    }
    prose = " ".join(
        line for line in (ROOT / page).read_text().splitlines() if not line.startswith("|")
    )
    assert [found for found in ESTIMATE.findall(prose) if found not in tables] == []


def test_the_index_of_worlds_is_up_to_date(generate):
    stored = (ROOT / "docs" / "worlds" / "index.md").read_text()
    assert stored == generate.index_page(), "run `python docs/generate.py --pages`"


def test_the_page_of_commands_is_up_to_date(generate):
    stored = (ROOT / "docs" / "commands.md").read_text()
    assert stored == generate.commands_page(), "run `python docs/generate.py --pages`"


def test_the_readme_lists_every_world():
    readme = (ROOT / "README.md").read_text()
    for entry in WORLDS:
        assert f"`{entry.id}`" in readme and entry.summary in readme


def test_the_page_of_the_environment_lists_every_clause():
    page = (ROOT / "docs" / "environment.md").read_text()
    for name, sentence in CLAUSES.items():
        assert f"- **{name}**: {sentence}" in page


def test_the_training_page_lists_every_algorithm_and_preference():
    page = (ROOT / "docs" / "training.md").read_text()
    for name, preset in presets.ALGORITHMS.items():
        assert f"| `{name}` | {preset.summary} | `{preset.preference}` |" in page
    bare = page.replace("`", "")
    for kind, form in preferences.FORMS.items():
        assert f"| {form} | {preferences.SUMMARIES[kind]} |" in bare


LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)


def links(text: str) -> list[str]:
    """The targets of a page's links and pictures; what stands in code is none."""
    return LINK.findall(CODE.sub("", text))


def anchors(text: str) -> set[str]:
    """The names that a page's headings can be linked by, as the site makes them."""
    headings = re.findall(r"^#+ (.+)$", CODE.sub("", text), flags=re.M)
    bare = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in bare}


def dead_links(page: Path, text: str) -> list[str]:
    """The links of a page that lead to no file, or to no heading of it."""
    dead = []
    for target in links(text):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists():
            dead.append(target)
        elif anchor and anchor not in anchors(file.read_text() if name else text):
            dead.append(target)
    return dead


PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(p.relative_to(ROOT)) for p in DOCS.rglob("*.md")),
)


def test_links_lead_somewhere():
    pages = {page: (ROOT / page).read_text() for page in PAGES}
    dead = {page: dead_links(ROOT / page, text) for page, text in pages.items()}
    assert {page: found for page, found in dead.items() if found} == {}
    found = sum(len(links(text)) for text in pages.values())
    assert found > 3 * len(WORLDS), "the links of the pages were not seen"
    assert "docs/frontier.md" in pages and any("#" in t for t in links(pages["docs/frontier.md"]))


def test_dead_links_are_noticed():
    """Missing files, missing headings of another page and of the same one; code is no link."""
    page = DOCS / "results.md"
    text = (
        "# One *thing*: two\n[a](nowhere.md) [b](charters.md#no-such-heading) [c](#three)\n"
        "[d](#one-thing-two) [e](charters.md#an-article-of-your-own) ![f](pictures/none.png)\n"
        "[g](https://example.org/x#y) `[h](code.md)`\n```\n[i](code.md)\n```\n"
    )
    wanted = ["nowhere.md", "charters.md#no-such-heading", "#three", "pictures/none.png"]
    assert dead_links(page, text) == wanted


def test_the_player_of_ones_own_on_the_page_about_extending_plays(capsys):
    page = (DOCS / "extending.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(example, "extending.md", "exec"), {})
    assert capsys.readouterr().out.startswith("('agent:Leaning', 'script:defector')")
