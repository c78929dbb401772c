"""`train` and `sweep` do what their help says, go on where they stopped, and say what is wrong."""

import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sociarium.cli import watch
from sociarium.cli.checks import read_count
from sociarium.cli.sweep import Sweep, _row, parse_grid
from sociarium.cli.train import Train, default_name
from sociarium.core.errors import BadArgument, CannotRead, UnknownName
from sociarium.core.manifest import read_manifest
from sociarium.learning import preferences, presets, progress
from sociarium.learning.folder import RunFolder
from sociarium.learning.run_summary import seats_of_run
from sociarium.learning.training import Plan, Training
from tests.learning.runs import EACH, SMALL

ROOT = Path(__file__).parents[2]
NUMBERS = (tuple(f"{name}={value}" for name, value in SMALL.items()),)


def small(out, **changes):
    words = {"preference": "svo:90", "steps": 3 * EACH, "seeds": 2, "settings": NUMBERS}
    return Train("ippo", "coins", out=out, **{**words, **changes})


def last_json(capsys):
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def stop_at(monkeypatch, number):
    """Somebody presses Ctrl-C in this update."""
    update = Training.update

    def pressed(self):
        if self.done == number - 1:
            signal.raise_signal(signal.SIGINT)
        return update(self)

    monkeypatch.setattr(Training, "update", pressed)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run with its film."""
    folder = tmp_path_factory.mktemp("runs") / "coins"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "STEPS", 5)
        small(folder).run()
    return folder


def test_help_lists_every_algorithm_and_every_preference():
    words = [sys.executable, "-m", "sociarium.cli.main", "train", "--help"]
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    page = " ".join(shown.replace("│", " ").split())
    for name, preset in presets.ALGORITHMS.items():
        assert f"- {name}: {preset.summary}" in page
    for kind, meaning in preferences.SUMMARIES.items():
        assert f"- {kind}" in page and meaning in page


def test_a_run_leaves_a_film_and_says_what_to_do_next(run, capsys):
    with Image.open(run / "result.gif") as film:
        assert film.n_frames > 1
    small(run, resume=True, gif=False).run()
    page = capsys.readouterr().out
    assert f'sociarium watch coins-v0 --seats "policy:{run}"' in page
    assert "collective return" in page and "metrics.jsonl, checkpoints, weights" in page


def test_json_is_one_object_at_the_end(run, capsys):
    small(run, resume=True, gif=False, json=True).run()
    row = last_json(capsys)
    assert row["folder"] == str(run) and row["steps"] == 3 * EACH and row["finished"]
    assert row["seeds"] == [0, 1] and row["return"] == [None, None]
    assert all(0 <= rate <= 1 for rate in row["cooperation"] if rate is not None)
    assert row["steps_per_s"] is None


def test_ctrl_c_saves_and_the_command_it_prints_goes_on(tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_at(patch, 2)
        with pytest.raises(SystemExit) as stopped:
            small(out, gif=False).run()
    assert stopped.value.code == 130
    told = capsys.readouterr().err
    assert f"The checkpoint at step {2 * EACH:,} is saved" in told
    assert f"sociarium train --resume {out}" in told
    Train(str(out), resume=True, gif=False, json=True).run()
    row = last_json(capsys)
    assert row["finished"] and row["steps"] == 3 * EACH and row["steps_per_s"] is not None
    assert len(read_manifest(out)["resumed"]) == 1


def test_resume_begins_where_nothing_began_if_it_is_said_what(tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr("sociarium.cli.train.trained", lambda *a, resume, **k: begun.append(resume))
    monkeypatch.setattr("sociarium.cli.train.seats_of_run", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        small(tmp_path / "run", resume=True).run()
    assert begun == [False]
    with pytest.raises(CannotRead, match="holds no run"):
        Train(str(tmp_path / "run"), resume=True).run()


def test_a_run_that_is_only_named_goes_on_as_it_began(run):
    with pytest.raises(BadArgument, match="leave out --steps"):
        Train(str(run), resume=True, steps=5_000_000).run()
    with pytest.raises(BadArgument, match="leave out --set"):
        Train(str(run), resume=True, settings=NUMBERS).run()


@pytest.mark.parametrize(
    ("changes", "error", "answer"),
    [
        ({"preference": "svo"}, BadArgument, "svo:angle"),
        ({"preference": "altruist"}, UnknownName, "selfish, common"),
        ({"settings": (("lane=3",),)}, UnknownName, "Did you mean lanes"),
        ({"settings": (("lanes",),)}, BadArgument, "name=value"),
        ({"settings": (("lanes=4",), ("lanes=8",))}, BadArgument, "each name once"),
        ({"seeds": 0}, BadArgument, "--seeds"),
        ({"others": "script:nobody"}, UnknownName, "script"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(changes, error, answer, tmp_path):
    with pytest.raises(error, match=answer):
        small(tmp_path / "run", **changes).run()
    assert not (tmp_path / "run").exists()


def test_names_and_folders_are_checked(run, tmp_path):
    with pytest.raises(UnknownName, match="Did you mean mappo or ippo"):
        Train("mppo", "coins").run()
    with pytest.raises(UnknownName, match="coins-v0"):
        Train("ippo", "coin").run()
    with pytest.raises(BadArgument, match="name an algorithm"):
        Train("ippo").run()
    with pytest.raises(BadArgument, match="already holds a run"):
        small(run).run()
    with pytest.raises(BadArgument, match="steps was 192, is 256"):
        small(run, steps=4 * EACH, resume=True).run()
    with pytest.raises(BadArgument, match="without spaces"):
        small(tmp_path / "my run").run()


@pytest.mark.parametrize(
    ("text", "number"),
    [("20_000_000", 20_000_000), ("2e6", 2_000_000), ("5m", 5_000_000), ("1.5K", 1500), ("7", 7)],
)
def test_steps_are_written_as_people_write_them(text, number):
    assert read_count([text]) == number


@pytest.mark.parametrize("text", ["", "1.5", "5mm", "m"])
def test_other_steps_are_refused(text):
    with pytest.raises(ValueError, match="whole number"):
        read_count([text])


def test_folders_are_named_by_what_is_trained():
    assert default_name(Plan("ippo", "coins-v0", "svo:90*1 selfish")) == (
        "coins-v0-ippo-svo-90-1-selfish"
    )
    assert default_name(Plan("ippo", "coins-v0", "exchange:1..1/n")).endswith("exchange-1..1-n")


@pytest.mark.parametrize(
    ("others", "shared", "seats"),
    [
        ("", True, "policy:x"),
        ("", False, "policy:x?seat=0 policy:x?seat=1 policy:x?seat=2"),
        ("random", True, "policy:x*2 random"),
        ("random*2", True, "policy:x random*2"),
    ],
)
def test_players_sit_as_they_learned(others, shared, seats, monkeypatch):
    manifest = {"config": {"hyperparameters": {"shared": shared}}}
    monkeypatch.setattr("sociarium.learning.run_summary.read_manifest", lambda folder: manifest)
    plan = Plan("ippo", "harvest_one_tree-v0", players=3, others=others)
    assert seats_of_run(plan, Path("x")) == seats


def test_progress_is_told_in_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    now = progress.TrainingProgress(
        500, 2000, 100.0, {"return": np.array([1.0, 3.0]), "cooperation": np.array([0.5, np.nan])}
    )
    with progress.training_progress("ippo in coins-v0") as on_progress:
        on_progress(now)
    compiling, line = capsys.readouterr().err.strip().splitlines()
    assert compiling == "ippo in coins-v0: compiling"
    for part in (
        "25%",
        "return 2.0 (1.0 to 3.0)",
        "cooperation 0.50",
        "100 steps/s",
        "0:00:30 left",
    ):
        assert part in line


def test_a_grid_splits_preferences_where_they_begin():
    words = ["preference=selfish,svo:45,0.2,quiet,svo:90*1 common,inequity:5,0.05", "clip=0.1,0.2"]
    assert parse_grid(words) == {
        "preference": ["selfish", "svo:45,0.2,quiet", "svo:90*1 common", "inequity:5,0.05"],
        "clip": ["0.1", "0.2"],
    }
    with pytest.raises(BadArgument, match="--grid"):
        parse_grid([])


def swept(out, *grid, **changes):
    words = {"steps": 3 * EACH, "seeds": 2, "settings": NUMBERS, "json": True}
    return Sweep("ippo", "coins", grid=(grid,), out=out, **{**words, **changes})


def test_a_run_that_begins_again_beside_its_sweep_has_no_figures_for_a_moment(tmp_path):
    plan = Plan("ippo", "coins-v0", "selfish")
    with RunFolder(tmp_path / "run", tensorboard=False) as run:
        run.begin(dataclasses.asdict(plan), plan.seeds)
        run.metrics.touch()  # as a worker leaves it that goes back to the start
        unknown = dict.fromkeys(("steps", "return", "cooperation"))
        assert _row(run.path) == {**unknown, "finished": False}
        run.update(finished=True)
        with pytest.raises(CannotRead, match="no figures yet"):
            _row(run.path)


def test_a_sweep_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    grid = ("preference=svo:90,svo:45,0.2",)
    first, second = tmp_path / "preference=svo-90", tmp_path / "preference=svo-45,0.2"
    for update in (3, 2):  # in the last of the first run, then in the middle of the second
        assert not second.exists()
        with monkeypatch.context() as patch:
            stop_at(patch, update)
            with pytest.raises(SystemExit):
                swept(tmp_path, *grid).run()
        assert "the same command" in capsys.readouterr().err
        assert read_manifest(first)["finished"]
    swept(tmp_path, *grid).run()
    report = last_json(capsys)
    assert [run["folder"] for run in report["runs"]] == [first.name, second.name]
    assert all(run["finished"] and run["steps"] == 3 * EACH for run in report["runs"])
    assert json.loads((tmp_path / "sweep.json").read_text()) == report
    assert [len(read_manifest(folder)["resumed"]) for folder in (first, second)] == [0, 1]

    monkeypatch.setattr(Training, "update", lambda self: 1 / 0)
    swept(tmp_path, *grid, json=False).run()
    assert "svo:45,0.2" in capsys.readouterr().out
    with pytest.raises(BadArgument, match="steps was 192, is 256"):
        swept(tmp_path, *grid, steps=4 * EACH).run()


def test_a_sweep_checks_every_combination_first(tmp_path):
    with pytest.raises(BadArgument, match="at least one --grid"):
        swept(tmp_path / "x").run()
    with pytest.raises(BadArgument, match="given 'ten'"):
        swept(tmp_path / "x", "bptt_length=1,ten").run()
    with pytest.raises(BadArgument, match="players is a whole number"):
        swept(tmp_path / "x", "players=2,few").run()
    with pytest.raises(UnknownName, match="setting of ippo"):
        swept(tmp_path / "x", "colour=red").run()
    assert not (tmp_path / "x").exists()
