"""`sociarium reproduce`: trains what the budget allows, once, and says what is missing."""

import json
from pathlib import Path

import numpy as np
import pytest
import tyro

from sociarium.cli import reproduce
from sociarium.cli.reproduce import Reproduce
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.manifest import read_manifest
from sociarium.evaluation import cuisine_bounds
from sociarium.learning import studies
from sociarium.learning.studies import Cell, Study
from sociarium.learning.training import Plan
from tests.toys.takers import LISTED

SETTINGS = {"lanes": 4, "num_steps": 16, "num_minibatches": 2, "epochs": 1}
UPDATES = 4
ALL = tuple(studies.STUDIES)
RUN = "taking-selfish_ones"


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """A study of two runs that take a second, in a world of eight steps."""
    monkeypatch.setattr(*LISTED)
    plan = Plan("ippo", "taking-v0", "selfish", UPDATES * 64, (0, 1), settings=SETTINGS)
    cells = (Cell("taking", "selfish ones", plan), Cell("taking", "common", plan))
    monkeypatch.setattr(studies, "STUDIES", {"tiny:fig1": Study("A study", "Nobody, 1900", cells)})


def last_json(capsys):
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def files(folder):
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_a_study_is_trained_bit_by_bit_and_only_once(tmp_path: Path, capsys, monkeypatch):
    def asked(budget, **more):
        Reproduce("tiny:fig1", budget, tmp_path, episodes=2, json=True, **more).run()
        found = last_json(capsys)
        assert found["study"] == "tiny:fig1"
        return found["runs"]

    first, second = asked("0")
    assert first["state"] == second["state"] == "not begun"
    assert "collective" not in first and first["seeds"] == 2 and first["steps"] == UPDATES * 64
    assert [file.name for file in files(tmp_path)] == ["curves.svg"]

    first, second = asked("0.001s")  # enough for one update
    assert (first["state"], second["state"]) == ("unfinished", "not begun")
    assert (first["done"], second["done"]) == (0.25, 0.0)
    assert "collective" not in first

    (only,) = asked("1h", only=(RUN,))
    assert only["state"] == "finished" and only["run"] == RUN and only["sociarium"]
    assert only["episodes"] == 2 and len(only["by_seed"]) == 2
    assert only["collective"]["values"] == only["by_seed"] and only["collective"]["low"] is None
    assert len(read_manifest(tmp_path / RUN)["resumed"]) == 1
    picture = (tmp_path / "curves.svg").read_bytes()

    before = files(tmp_path)
    monkeypatch.setattr(reproduce, "train_into", None)
    monkeypatch.setattr(reproduce, "policy_returns", None)
    assert asked("1h", only=("taking-selfish_ones",)) == [only]
    assert files(tmp_path) == before
    assert asked("0")[0] == only
    assert (tmp_path / "curves.svg").read_bytes() != picture  # which says now what is not begun

    Reproduce("tiny:fig1", out=tmp_path, picture=tmp_path / "other.png").run()
    told = capsys.readouterr()
    page = told.out
    assert f"The picture is {tmp_path / 'other.png'}." in told.err
    assert "finished" in page and "not begun" in page and "0.000256 M" in page
    assert (tmp_path / "other.png").exists()


def test_a_run_without_figures_yet_has_no_line(tmp_path: Path):
    assert reproduce._returns(tmp_path).shape == (0, 1)
    (tmp_path / "metrics.jsonl").write_text("")
    assert reproduce._figures(tmp_path, "step").shape == (0,)
    assert reproduce._returns(tmp_path).shape == (0, 1)
    (tmp_path / "metrics.jsonl").write_text('{"step": 64, "return": [null, 2.0]}\n')
    np.testing.assert_array_equal(reproduce._returns(tmp_path), [[np.nan, 2.0]])


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("90", 90), ("45m", 2700), ("1.5h", 5400)])
def test_budgets_are_times(text, seconds):
    assert reproduce._seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "2d", "-1h", "1h30m", "1e3"])
def test_other_budgets_are_refused(text, tmp_path: Path):
    with pytest.raises(BadArgument, match="--budget is a time such as 45m"):
        Reproduce("tiny:fig1", text, tmp_path).run()
    assert not list(tmp_path.iterdir())


def test_unknown_studies_and_runs_are_answered_with_the_known(tmp_path: Path):
    with pytest.raises(UnknownName, match="tiny:fig1"):
        Reproduce("socialjax:fig9", out=tmp_path).run()
    with pytest.raises(BadArgument, match="taking-selfish_ones, taking-common"):
        Reproduce("tiny:fig1", out=tmp_path, only=("harvest",)).run()
    with pytest.raises(BadArgument, match="names no run of tiny:fig1: taking\\?players=5;"):
        Reproduce("tiny:fig1", out=tmp_path, only=("taking", "taking?players=5")).run()


def test_help_names_every_study(capsys):
    with pytest.raises(SystemExit):
        tyro.cli(Reproduce, args=["--help"])
    page = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert len(ALL) > 4 and all(name in page for name in (*ALL, *reproduce.PLAYED))


def test_a_study_without_training_says_where_its_picture_is(tmp_path: Path, capsys):
    cell = next(cell.name for cell in cuisine_bounds.CELLS)
    Reproduce("mindagent:bounds", "0", tmp_path, only=(cell,), json=True).run()
    assert f"The picture is {tmp_path / 'curves.svg'}." in capsys.readouterr().err
    assert (tmp_path / "curves.svg").exists()
