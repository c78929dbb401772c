"""The page of a suite: whole, equal for equal findings, and safe whatever names there are."""

import base64
import importlib.util
import re
import sys
from html import escape

import pytest

from sociarium.core.errors import MissingExtra
from sociarium.evaluation import report
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.report import render_report, write_report
from sociarium.evaluation.suite import Suite
from sociarium.evaluation.suite_run import SuiteUnit, UnitResult

HOSTILE = "<script>alert(1)</script>\"'$x$\u202e"
HASH = "5e" * 32
MANIFEST = {
    "config": {"models": ["mine", HOSTILE], "preregistered": HASH},
    "versions": {"python": "3.11.7", "sociarium": "0.1.0"},
    "git": {"commit": "abcdef0123456789", "changed": True},
    "started": "2026-11-18T09:08:24+00:00",
    "updated": "2026-11-18T09:08:24+00:00",
}
TERMS = {"seeds": 10, "low": "random?legal=1", "high": "script:defector"}
BESIDE = ("cooperator", "defector", "conditional", "idle", "mixed")


def experiment() -> Suite:
    def about(id, test, arms, says="it pays"):
        return {"id": id, "says": says, "metric": "return", "test": test, "arms": arms}

    arms = [
        {
            "id": f"coins-beside-{kind}",
            "world": "coins",
            "seats": "{model} idle",
            "demands": f"one is beside {kind}",
            "terms": TERMS,
        }
        for kind in BESIDE
    ]
    alone = {"id": "scripts", "world": "chores", "seats": "idle*2", "factors": {"framing": HOSTILE}}
    first, second, *_, last = (arm["id"] for arm in arms)
    return Suite.model_validate(
        {
            "id": "small",
            "title": f"A small one {HOSTILE}",
            "question": "Does it pay to be kind?",
            "source": "Somebody (2020)",
            "arm": [*arms, alone],
            "metric": [
                {"id": "return", "measure": "return", "better": "more", "told": "What it earned"},
                {"id": "taken", "measure": "aimed:took_other:0"},
            ],
            "hypothesis": [
                about("h-more", "greater", [first, second], HOSTILE),
                about("h-less", "less", [first, second]),
                about("h-same", "equivalent", [first, first]),
                about("h-open", "different", [first, first]),
                about("h-unknown", "different", [last, "scripts"]),
            ],
        }
    )


def findings(models=("mine", HOSTILE), seeds=10) -> Findings:
    suite = experiment()
    units, done = [], {}
    for place, arm in enumerate(suite.arm):
        playing = (*models, "random?legal=1", "script:defector") if arm.has_model else ("",)
        for rank, model in enumerate(playing):
            for seed in range(1 if model == "" else seeds):
                key = f"{arm.id} {model} {seed}"
                units.append(SuiteUnit(arm, model, seed, (model,), (), (0,), key, key))
                earned = 40.0 - 7 * place - 3 * rank + (seed * 5 + place) % 4
                values = {"return": earned, "taken": (seed % 3 if rank else 0, 4 if rank else 0)}
                done[key] = UnitResult(key, arm.id, model, seed, (model,), (0,), 30, values)
    return Findings(suite, units, done)


@pytest.fixture(scope="module")
def found():
    return findings()


@pytest.fixture(scope="module")
def page(found):
    return render_report(found, MANIFEST, only=("scripts",))


def test_equal_findings_give_equal_bytes(found, tmp_path):
    later = {**MANIFEST, "started": "2027-01-01T00:00:00+00:00", "updated": "now"}
    write_report(found, MANIFEST, tmp_path / "one.html")
    write_report(findings(), later, tmp_path / "two.html")
    one, two = ((tmp_path / name).read_bytes() for name in ("one.html", "two.html"))
    assert one == two and b"2026" not in re.sub(rb"base64,[^\"]+", b"", one)


def test_hostile_names_are_escaped_and_nothing_hidden_stays_hidden(page):
    assert page.startswith("<!doctype html>")
    assert "<script>alert" not in page and "alert(1)" in page
    assert page.count("<script") == 1
    assert "\u202e" not in page and "⟨U+202E⟩" in page
    for value in re.findall(r'<tr data-arm="[^"]*"|data-value="[^"]*"', page):
        assert "<" not in value[3:]


def test_everything_that_was_found_is_there(page, found):
    suite = found.suite
    for text in (
        *(arm.id for arm in suite.arm),
        *(arm.demands for arm in suite.arm),
        *(one.id for one in suite.hypothesis),
        *("mine", "random?legal=1", "script:defector", "as seated"),
        *(suite.question, suite.source, suite.digest, HASH, "commit abcdef012345 with changes"),
        *("Interdependence", "python 3.11.7", "n = 10", "score", "1 to 10 for each contestant"),
    ):
        assert escape(text) in page, text
    assert len(re.findall(r"<tr data-arm=", page)) == 3 * len(suite.arm)
    verdicts = re.findall(r'class="chip ([a-z-]+)"', page)
    assert {"supported", "contradicted", "inconclusive", "not-tested"} == set(verdicts)
    assert verdicts == [one.verdict.replace(" ", "-") for one in found.hypotheses]


def test_numbers_are_those_of_the_findings(page, found):
    cell = next(c for c in found.cells if c.model == "mine" and c.metric == "return")
    row = page[page.index('<tr data-arm="coins-beside-cooperator">') :].partition("</tr>")[0]
    first = row[row.index("<td") :].partition("</td>")[0]
    assert f'data-value="{cell.estimate.mean!r}"' in first
    text = re.sub("<[^>]*>", "", first.replace("\u2007", "").replace("\N{MINUS SIGN}", "-"))
    mean, low, high = (f"{x:.2f}" for x in (cell.estimate.mean, *cell.estimate.interval))
    assert f"{mean} [{low}, {high}]score {cell.score.mean:.2f} [" in text


def test_it_loads_nothing_and_has_pictures(page):
    assert not re.search(r"https?://|file:|url\(|@import", page)
    sources = re.findall(r'(?:src|href)="([^#"][^"]*)"', page)
    assert len(sources) == 2
    for place in re.findall(r'href="#([^"]*)"', page):
        assert f'id="{place}"' in page
    for source in sources:
        kind, _, data = source.partition(";base64,")
        assert kind == "data:image/svg+xml"
        assert b"<svg" in base64.b64decode(data)
    assert "default-src &#39;none&#39;" in page


def test_the_command_names_contestants_and_arms_but_no_path(tmp_path):
    policy = f"policy:{tmp_path}/run"
    page = render_report(findings((policy, "mine"), 2), {}, only=("scripts",))
    command = "sociarium evaluate small.toml --model policy:run --model mine --seeds 2 --only"
    assert f"{command} scripts\n" in page.replace("</pre>", "\n")
    assert str(tmp_path) not in page


@pytest.mark.parametrize(
    ("model", "said"),
    [("fake?level=greedy", True), ("llm:fake", True), ("fakery", False), ("mine", False)],
)
def test_fakes_are_called_a_machinery_check(model, said, monkeypatch):
    monkeypatch.setattr(report, "can_draw", lambda: False)
    page = render_report(findings((model,), 2), {})
    assert ("Machinery check: no language model played" in page) == said
    assert "matplotlib is not installed" in page and "<img" not in page


def test_without_jinja_it_says_what_to_install(found, monkeypatch):
    assert importlib.util.find_spec("jinja2")
    report._template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r"\[words\]"):
        render_report(found, MANIFEST)
