"""The documentation says what the code does."""

import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from sociarium.catalogue import ARTICLES, SOCIETIES, WORLDS
from sociarium.conformance.contract import CLAUSES
from sociarium.learning import preferences, presets
from sociarium.learning.studies import STUDIES
from sociarium.metrics.bootstrap import over_seeds
from sociarium.players import roster
from sociarium.players.scripted.social import SOCIAL_POLICIES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
# Pages that state results, and those of them whose every number has a source.
FINDINGS = ("results.md", "dilemmas.md", "frontier.md", "charters.md", "metrics.md")
SOURCED = ("results.md", "dilemmas.md")


@pytest.fixture(scope="module")
def generate():
    sys.path.insert(0, str(DOCS))  # for the module beside it
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(DOCS))
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
    """Without a source of its own, a number with an interval may only repeat a table."""
    tables = {
        estimate
        for file in (*DOCS.glob("*.md"), *(DOCS / "worlds").glob("*.md"))
        for line in file.read_text().splitlines()
        if line.startswith("|")
        for estimate in ESTIMATE.findall(line)
    }
    text = re.sub(rf"{ESTIMATE.pattern}(?: \([^()]*\))?<!-- = ", "", (ROOT / page).read_text())
    prose = " ".join(line for line in text.splitlines() if not line.startswith("|"))
    assert [found for found in ESTIMATE.findall(prose) if found not in tables] == []


@pytest.mark.parametrize("name", SOURCED)
def test_every_number_in_a_sentence_has_a_source(name, generate):
    """Its value is checked with the tables: the page is what `filled` makes of it."""
    text = (DOCS / name).read_text()
    assert generate.prose_numbers.unmarked(text, generate.SOURCES) == []
    assert len(generate.prose_numbers.MARKER.findall(text)) >= 4


def test_numbers_without_a_source_and_wrong_ones_are_noticed(generate):
    numbers, names = generate.prose_numbers, {"n": lambda: "387 [336, 438]", "seeds": lambda: 3}
    text = "It earns 380 [1, 2]<!-- = n() --> with 4<!-- = seeds() --> seeds, 17 more (table 2)."
    right = (
        "It earns 387 [336, 438]<!-- = n() --> with 3<!-- = seeds() --> seeds, 17 more (table 2)."
    )
    assert numbers.fill(text, names) == right and numbers.fill(right, names) == right
    (found,) = numbers.unmarked(text, names)
    assert found.endswith("seeds, 17")
    with pytest.raises(ValueError, match="does not end like"):
        numbers.fill("It earns 387<!-- = n() -->.", names)


@pytest.mark.parametrize(
    "name", ["institutions/in_force.json", "socialjax-fig2/harvest_gauges.json"]
)
def test_gauges_of_learners_are_stored_with_their_chance_level(name):
    rows = json.loads((DOCS / "results" / name).read_text())
    chance = [row for row in rows if '--seats "random*7"' in row["command"]]
    assert len(chance) == 1 and chance[0]["episodes"] >= 10 and len(rows) > 3
    assert {key for key in rows[0] if key not in ("seed",)} <= {*chance[0], "seats"}


def test_stored_returns_of_learners_have_intervals_over_their_seeds():
    files = sorted((DOCS / "results").glob("*/*/evaluation.json"))
    assert len(files) > 20
    for file in files:
        found = json.loads(file.read_text())
        assert found["collective"] == over_seeds(np.array(found["by_seed"])).as_dict(), file


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


def test_counts_in_the_docs_are_those_of_what_is_there():
    contributing, models = (ROOT / "CONTRIBUTING.md").read_text(), (DOCS / "models.md").read_text()
    trajectories = len(json.loads((ROOT / "tests" / "trajectories.json").read_text()))
    assert f"all {trajectories} stored trajectories" in contributing
    matches = len([*(ROOT / "tests" / "recorded").glob("*/manifest.json")])
    assert f"`tests/recorded` holds {matches} matches" in models
    index = (DOCS / "index.md").read_text()
    notebooks = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
    assert len(notebooks) > 4
    assert [book.name for book in notebooks if f"(notebooks/{book.name})" not in index] == []


def test_the_docs_name_every_dependency_and_every_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    index = " ".join((DOCS / "index.md").read_text().split())
    (table,) = re.findall(r"^\| package \| for \|\n(?:\|.*\n)+", contributing, flags=re.M)
    needed = [re.split(r"[>=<\[]", name)[0] for name in project["dependencies"]]
    assert [name for name in needed if not re.search(rf"\b{name}\b", table)] == []
    extras = [name for name in project["optional-dependencies"] if name != "all"]
    assert [name for name in extras if f"`{name}`: " not in table] == []
    assert [name for name in extras if f"`{name}` (" not in index] == []


def test_the_page_of_matches_names_every_kind_of_seat():
    page = (DOCS / "matches.md").read_text()
    rows = " ".join(line for line in page.splitlines() if line.startswith("| `"))
    assert [kind for kind in roster.kinds() if not re.search(rf"`{kind}[:`]", rows)] == []


def test_the_docs_install_from_a_checkout_since_the_package_is_on_no_index():
    pages = [*DOCS.rglob("*.md"), *(ROOT / "examples" / "notebooks").glob("*.ipynb")]
    assert [page.name for page in pages if "install sociarium" in _plain(page)] == []


def _plain(page: Path) -> str:
    return re.sub(r"[\\\"']", "", page.read_text())


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
