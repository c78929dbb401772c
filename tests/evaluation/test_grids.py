"""Arms that are written as a grid, and averages over those that differ in some factors alone."""

from dataclasses import replace

import numpy as np
import pytest

from sociarium.cli.evaluate import Evaluate
from sociarium.core.errors import CannotRead, UnknownName
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.report import render_report
from sociarium.evaluation.suite import read_suite
from sociarium.evaluation.suite_run import SuiteRun, UnitResult, units

MODEL = "script:cooperator"
TEXT = """
[suite]
title = "Two partners in two places"

[defaults]
seeds = 4
steps = 20
low = "idle"

[[metric]]
id = "return"
measure = "return"

[[metric]]
id = "taken"
measure = "aimed:took_other:0"

[[average]]
id = "place"
over = ["partner"]
metrics = ["return", "taken"]
told = "By place"

[[average]]
id = "kind"
where = { place = "near" }
over = ["seat"]

[[grid]]
id = "{place}-{partner}"
world = "coins"
seats = "{model} script:{partner}"
each = { place = ["near", "far"], partner = ["defector", "cooperator"] }
demands = "beside a {partner}"
factors = { seat = "first" }

[[hypothesis]]
id = "h1"
says = "Places differ"
metric = "return"
test = "different"
arms = ["place:near.first", "place:far.first"]
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("suite") / "grid.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def run(file, tmp_path_factory):
    run = SuiteRun(read_suite(file), [MODEL], tmp_path_factory.mktemp("run"))
    run.begin()
    run.play()
    return run


@pytest.fixture(scope="module")
def found(run):
    return Findings(run.suite, run.units, run.done())


def test_a_grid_has_an_arm_for_every_combination_and_its_levels_stand_in_the_texts(file):
    arms = read_suite(file).arm
    assert [arm.id for arm in arms] == [
        "near-defector",
        "near-cooperator",
        "far-defector",
        "far-cooperator",
    ]
    assert arms[1].seats == "{model} script:cooperator" and arms[1].demands == "beside a cooperator"
    assert arms[1].factors == {"place": "near", "partner": "cooperator", "seat": "first"}


def test_a_row_of_an_average_is_the_mean_over_its_arms_seed_by_seed(found):
    assert set(found.suite.rows) == {
        "place:near.first",
        "place:far.first",
        "kind:defector",
        "kind:cooperator",
    }
    each = [found.values(f"near-{one}", MODEL, "return") for one in ("defector", "cooperator")]
    row = found.values("place:near.first", MODEL, "return")
    assert row == {seed: np.mean([values[seed] for values in each]) for seed in range(4)}
    shares = [found.values(f"near-{one}", MODEL, "taken") for one in ("defector", "cooperator")]
    assert found.values("place:near.first", MODEL, "taken") == {
        seed: tuple(np.sum([values[seed] for values in shares], 0)) for seed in range(4)
    }
    cell = next(c for c in found.averages if (c.arm, c.model) == ("place:near.first", MODEL))
    assert cell.estimate.mean == pytest.approx(np.mean(list(row.values()))) and cell.seeds == 4
    assert {c.metric for c in found.averages if c.arm.startswith("kind:")} == {"return"}


def test_a_seed_that_one_arm_lacks_is_in_no_average(run):
    lost = {unit.key for unit in run.units if (unit.arm.id, unit.seed) == ("near-defector", 3)}
    done = {key: result for key, result in run.done().items() if key not in lost}
    found = Findings(run.suite, run.units, done)
    assert list(found.values("place:near.first", MODEL, "return")) == [0, 1, 2]
    assert list(found.values("place:far.first", MODEL, "return")) == [0, 1, 2, 3]


def test_hypotheses_can_be_about_rows(found):
    (one,) = found.hypotheses
    near, far = (found.values(f"place:{place}.first", MODEL, "return") for place in ("near", "far"))
    assert one.effect.mean == np.mean([near[seed] - far[seed] for seed in near])
    assert one.about == f"place:near.first and place:far.first with {MODEL}" and one.seeds == 4


def test_arms_can_be_chosen_with_a_star_and_a_row_that_lacks_one_is_not_run(file):
    suite = read_suite(file)
    near = suite.chosen(("near-*",))
    assert [arm.id for arm in near.arm] == ["near-defector", "near-cooperator"]
    assert set(near.rows) == {"place:near.first", "kind:defector", "kind:cooperator"}
    assert near.hypothesis[0].untested == "not run: place:far.first"
    assert set(suite.chosen(("*-defector",)).rows) == {"kind:defector"}
    with pytest.raises(UnknownName, match="near-defector"):
        suite.chosen(("nowhere-*",))


def test_the_page_and_the_terminal_show_averages_first(found, file, tmp_path, capsys):
    page = render_report(found, {})
    assert page.index("By place") < page.index('data-arm="near-defector"')
    assert 'data-arm="place:near.first"' in page and "differ in partner alone" in page
    assert page.rindex("<figure>") < page.index('data-arm="near-defector"')
    assert found.as_dict()["averages"][0]["arm"] == "place:near.first"
    Evaluate(str(file), (MODEL,), seeds=2, only=("near-*",), out=tmp_path / "r").run()
    told = capsys.readouterr().out
    assert told.index("By place") < told.index("near-defector")


def test_of_many_arms_that_were_not_run_a_table_has_one_line():
    suite = read_suite("mindagent").chosen(("level_3-cooks_2-interval_1",))
    result = UnitResult("k", suite.arm[0].id, "idle", 0, ("idle",), (0, 1), 60, {"cos": 0.5})
    unit = next(u for u in units(suite, ["idle"], 1) if u.model == "idle")
    found = Findings(suite, [unit], {unit.key: replace(result, key=unit.key)})
    page = render_report(found, {})
    assert page.count("204 other arms") == len(suite.metric)
    assert page.count("level_7-cooks_4-interval_5") < 3


def test_many_arms_whose_averages_are_shown_are_folded():
    suite = read_suite("mindagent")
    results = {
        unit.key: UnitResult(unit.key, *unit.place, 60, {"cos": 0.5})
        for unit in units(suite, ["idle"], 1)
        if unit.model == "idle"
    }
    asked = [unit for unit in units(suite, ["idle"], 1) if unit.key in results]
    page = render_report(Findings(suite, asked, results), {})
    table = page.index("Metric cos: <code>")
    fold, end = (page.index(tag, table) for tag in ('<details class="arms">', "</details>"))
    assert "<figure>" not in page[table:end] and "level_3-cooks_2-interval_1" in page[fold:end]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('metrics = ["return", "taken"]', 'metrics = ["wealth"]'), "place is about wealth"),
        (('"place:far.first"]', '"place:far.last"]'), "which is not there"),
        (("each =", "every ="), "are tables"),
        (('"near", "far"', ", ".join(f'"{n}"' for n in range(501))), "1,002 arms"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused_with_the_reason(tmp_path, change, told):
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT.replace(*change))
    with pytest.raises(CannotRead, match=told):
        read_suite(path)


def test_the_package_has_the_study_of_dispatchers_as_grids():
    suite = read_suite("mindagent")
    assert len(suite.arm) == 12 * 3 * 5 + 5 * 5
    assert all(len(suite.rows[f"team:{cooks}"]) == 60 for cooks in (2, 3, 4))
    assert all(
        len(arms) == 5 for row, arms in suite.rows.items() if row.startswith(("cos:", "prompt:"))
    )
    only = suite.chosen(("level_3-cooks_2-*",))
    assert "cos:3.2" in only.rows and "team:2" not in only.rows
