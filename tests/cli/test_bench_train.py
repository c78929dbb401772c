"""`sociarium bench-train`: one row of figures, or a clear word on what cannot be measured."""

import json

import pytest

from sociarium.cli.bench_train import BenchTrain
from sociarium.core.errors import BadArgument, UnknownName
from tests.toys.takers import LISTED

TINY = ("lanes=2", "num_steps=4", "num_minibatches=2", "epochs=1")


def test_one_object_has_all_figures(capsys, monkeypatch):
    monkeypatch.setattr(*LISTED)
    BenchTrain("ippo", "taking", set=TINY, seconds=0.0, json=True).run()
    row = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert row["world"] == "taking-v0" and row["algorithm"] == "ippo"
    assert row["lanes"] == 2 and row["players"] == 3 and row["rounds"] == 3
    assert row["env_steps_per_s"] == pytest.approx(2 * 4 / row["update_s"])
    assert row["env_share"] == pytest.approx(row["env_s"] / row["update_s"])
    assert row["ratio"] == pytest.approx(row["frozen_s"] / row["update_s"])
    assert 0 < row["env_share"] < 10 and 0 < row["ratio"] < 10 and row["compile_s"] > 0
    assert row["settings"]["lanes"] == 2 and row["settings"]["torso"] == "lean"


def test_the_table_shows_them(capsys, monkeypatch):
    from sociarium.cli import bench_train
    from sociarium.learning.benchmark import TrainSpeed

    speed = TrainSpeed("coins-v0", "ippo", 2, 64, 1, 12345.6, 0.18, 0.71, 1.0, 1.0, 1.0, 9.5, 3, {})
    monkeypatch.setattr(bench_train, "measure", lambda plan, **more: speed)
    BenchTrain("ippo", "coins").run()
    page = capsys.readouterr().out
    assert "12,346" in page and "18%" in page and "0.71" in page and "coins-v0" in page


def test_what_cannot_be_measured_is_said():
    with pytest.raises(BadArgument, match=r"rainbow cannot be taken apart.*PPO"):
        BenchTrain("rainbow", "coins", set=("lanes=2", "num_steps=4")).run()
    with pytest.raises(UnknownName, match="ippo"):
        BenchTrain("ippoo", "coins").run()
    with pytest.raises(BadArgument, match=r"name=value.*'lanes'"):
        BenchTrain("ippo", "coins", set=("lanes",)).run()
    with pytest.raises(UnknownName, match="lanes"):
        BenchTrain("ippo", "coins", set=("lane=2",)).run()
    with pytest.raises(BadArgument, match="lanes must be a whole number"):
        BenchTrain("ippo", "coins", set=("lanes=two",)).run()
