"""Two runs of a suite beside each other: in pairs of seeds, and never what was played otherwise."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest

from sociarium.cli.compare import CompareCommand
from sociarium.core.errors import BadArgument, CannotRead
from sociarium.evaluation.comparing import compare, difference_of_shares, read_source
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack import report_bytes
from sociarium.evaluation.pack_file import REPORT
from sociarium.evaluation.suite import read_suite
from sociarium.evaluation.suite_run import PLAN, UNITS, SuiteRun, UnitResult
from sociarium.metrics.comparison import paired_difference

SUITE = """
[suite]
title = "A tiny one"

[defaults]
seeds = 6

[[metric]]
id = "return"
measure = "return"

[[metric]]
id = "share"
measure = "aimed:took:0"

[[arm]]
id = "one"
world = "matrix"
seats = "{model} script:cooperator"

[[arm]]
id = "two"
world = "matrix"
seats = "{model} script:defector"
"""


def written(folder, values, text=SUITE, models=("idle",), seeds=None):
    """The folder of a run in which this was measured, by seed; nothing is played."""
    folder.mkdir(parents=True)
    (folder / "tiny.toml").write_text(text)
    run = SuiteRun(read_suite(folder / "tiny.toml"), models, folder / "run", seeds)
    run.begin()
    done = {unit.key: UnitResult(unit.key, *unit.place, 1, values(unit.seed)) for unit in run.units}
    (run.out / UNITS).write_bytes(b"".join(one.line() for one in done.values()))
    (run.out / REPORT).write_bytes(report_bytes(Findings(run.suite, run.units, done)))
    return run.out


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    first = written(
        folder / "first", lambda seed: {"return": float(seed), "share": (seed % 2, 2.0)}
    )
    second = written(
        folder / "second",
        lambda seed: {"return": seed * 1.5 + 1, "share": (1.0 * (seed > 0), 2.0 * (seed > 0))},
        models=("idle", "random"),
    )
    return first, second


def test_cells_are_compared_in_pairs_of_equal_seeds(runs):
    found = compare(*map(read_source, runs))
    cell = next(one for one in found.cells if one.arm == "two" and one.metric == "return")
    seeds = np.arange(6.0)
    assert cell.difference == paired_difference(seeds * 1.5 + 1, seeds) and cell.seeds == 6
    assert cell.first.mean == 2.5 and cell.second.mean == 4.75
    assert len(found.cells) == 4 and not found.notes


def test_seeds_that_one_side_lacks_are_left_out(runs, tmp_path):
    fewer = written(tmp_path / "x", lambda seed: {"return": 1.0, "share": (0.0, 1.0)}, seeds=2)
    cell = compare(read_source(fewer), read_source(runs[0])).cells[0]
    assert cell.seeds == 2 and cell.difference.mean == -0.5
    one = written(tmp_path / "y", lambda seed: {"return": 1.0, "share": (0.0, 1.0)}, seeds=1)
    cell = compare(read_source(one), read_source(runs[0])).cells[0]
    assert cell.seeds == 1 and not cell.difference.bounded


def test_values_that_are_none_are_left_out(runs, tmp_path):
    def values(seed):
        return {"return": math.nan if seed < 4 else 1.0, "share": (0.0, 0.0)}

    odd = written(tmp_path / "x", values)
    cells = compare(read_source(runs[0]), read_source(odd)).cells
    assert [(one.metric, one.seeds) for one in cells[:2]] == [("return", 2), ("share", 0)]
    assert cells[1].difference is None
    json.loads(json.dumps([cell.as_dict() for cell in cells], allow_nan=False))


def test_shares_are_compared_by_sums_over_seeds(runs):
    found = compare(*map(read_source, runs))
    cell = next(one for one in found.cells if one.metric == "share")
    assert cell.seeds == 5 and cell.difference.mean == pytest.approx(0.5 - 3 / 10)
    same = np.array([[1.0, 4.0], [3.0, 4.0]])
    nothing = difference_of_shares(same, same)
    assert (nothing.mean, nothing.low, nothing.high) == (0, 0, 0)
    assert not difference_of_shares(same[:1], same[1:]).bounded


def test_what_one_side_has_alone_is_said(runs):
    found = compare(*map(read_source, runs))
    assert found.only == {"arms": ((), ()), "models": ((), ("random",)), "metrics": ((), ())}


def test_reports_alone_stand_side_by_side(runs):
    sources = [read_source(run / REPORT) for run in runs]
    found = compare(*sources)
    assert {cell.difference for cell in found.cells} == {None} and "by seed" in found.notes[0]
    whole = compare(*map(read_source, runs))
    assert [cell.first for cell in found.cells] == [cell.first for cell in whole.cells]
    assert compare(sources[0], read_source(runs[1])).cells[0].difference is None


def test_a_folder_without_a_plan_is_its_report(runs, tmp_path):
    older = shutil.copytree(runs[0], tmp_path / "older")
    (older / PLAN).unlink()
    assert replace(read_source(older), name="") == replace(read_source(runs[0] / REPORT), name="")


def other(tmp_path, *change):
    text = SUITE.replace(*change)
    return written(tmp_path / "other", lambda s: {"return": 1.0, "share": (0.0, 1.0)}, text)


def test_two_suites_are_compared_where_their_shared_arms_are_equal(runs, tmp_path):
    longer = other(tmp_path, '[[arm]]\nid = "two"', '[[arm]]\nid = "three"')
    found = compare(read_source(runs[0]), read_source(longer))
    assert {cell.arm for cell in found.cells} == {"one"}
    assert found.only["arms"] == (("two",), ("three",))
    assert "the arms that they share are equal: one" in found.notes[0]
    with pytest.raises(BadArgument, match="report alone does not say"):
        compare(read_source(runs[0] / REPORT), read_source(longer))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("script:defector", "script:cooperator"), "two is not the same"),
        (("seeds = 6", "seeds = 6\nsteps = 3"), "one, two is not the same"),
        (('measure = "return"', 'measure = "reward"'), "return is not the same"),
    ],
)
def test_arms_or_metrics_that_differ_are_refused(runs, tmp_path, change, why):
    with pytest.raises(BadArgument, match=why):
        compare(read_source(runs[0]), read_source(other(tmp_path, *change)))


def test_nothing_in_common_is_refused(runs, tmp_path):
    values = {"return": 1.0, "share": (0.0, 1.0)}
    alone = written(tmp_path / "x", lambda seed: values, models=("random",))
    with pytest.raises(BadArgument, match="share no arm, contestant and metric"):
        compare(read_source(runs[0]), read_source(alone))


def test_what_is_no_report_is_refused(tmp_path):
    wrong = tmp_path / "wrong.json"
    for text in ("", "[]", '{"cells": [{}]}', '{"suite": 1}'):
        wrong.write_text(text)
        with pytest.raises(CannotRead, match="is no report"):
            read_source(wrong)
    with pytest.raises(CannotRead, match="Cannot read"):
        read_source(tmp_path / "nowhere")


def test_the_command_prints_a_table_or_json(runs, capsys):
    CompareCommand(*runs).run()
    page = capsys.readouterr().out
    assert "models in the second only: random" in page and "2.25 [" in page
    CompareCommand(*runs, json=True).run()
    told = json.loads(capsys.readouterr().out)
    assert told["only"]["models"]["second"] == ["random"] and len(told["cells"]) == 4
