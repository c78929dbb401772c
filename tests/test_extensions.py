"""A package installed beside Sociarium brings a world, an article, players and a metric."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a process in which the package is installed."""
    place = tmp_path_factory.mktemp("site")
    asked = ["uv", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    where = ["--python", sys.executable, "--target", str(place), str(ROOT / "tests" / "extension")]
    subprocess.run([*asked, *where], check=True, timeout=300)
    assert (place / "orchard_pack").is_dir()
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), str(ROOT), str(ROOT / "src")])}


def sociarium(installed, *words, code=0, cwd=None):
    command = [sys.executable, "-m", "sociarium.cli.main", *words]
    done = subprocess.run(
        command, env=installed, capture_output=True, text=True, timeout=300, cwd=cwd
    )
    assert done.returncode == code, done.stderr[-2000:]
    return done


def test_what_a_package_brings_is_listed(installed):
    page = sociarium(installed, "list").stdout
    assert "nursery-v0" in page and "tithe" in page


def test_what_a_package_brings_plays_in_a_match_and_replays(installed, tmp_path):
    seats = "script:gardener agent:herald"
    run = str(tmp_path / "run")
    world = "nursery+tithe+speech"
    sociarium(installed, "match", world, "--seats", seats, "--steps", "12", "--out", run)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["ended"] == "steps 12" and manifest["decisions"] == {"1": 12}
    assert manifest["failures"] == {"1": {}}
    assert "verified" in sociarium(installed, "replay", run, "--verify").stdout


def test_a_metric_that_a_package_brings_is_measured(installed):
    done = sociarium(installed, "measure", "nursery", "--episodes", "2", "--json")
    row = json.loads(done.stdout)
    assert row["society"]["steps_walked"]["mean"] > 0 and "broken" in done.stderr


def test_a_kind_of_seat_that_a_package_adds_pauses_and_goes_on(installed, tmp_path):
    """Without a line about it in the roster, the session or the folder."""
    crew = "crew?crew=shift&pause_at=37&purse=purse*4"
    words = ["match", "tea_stall", "--seats", f"random {crew}", "--steps", "60", "--json"]
    done = sociarium(installed, *words, "--out", "paused", code=75, cwd=tmp_path)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["steps"] == 37 and told["paused"] == "the budget is used up"
    (tmp_path / "purse").touch()
    sociarium(installed, "match", "--resume", "paused", cwd=tmp_path)
    whole = sociarium(installed, *words, "--out", "whole", cwd=tmp_path)
    assert json.loads(whole.stdout.splitlines()[-1])["usage"] == {"1,2,3,4": {"tokens": 40.0 * 60}}
    runs = (tmp_path / "whole", tmp_path / "paused")
    records = [json.loads(read(installed, run)) for run in runs]
    assert records[0] == records[1] and records[0]["steps"] == 60


def read(installed, run):
    """The record of a folder but for the mark at which it was paused, as JSON."""
    program = (
        "import json, pathlib, sys; from sociarium.core import record;"
        "kept = record.load(pathlib.Path(sys.argv[1]) / 'play.episode');"
        "told = kept.page.model_dump(mode='json'); told['actions'] = kept.actions.tolist();"
        "told['marks'] = [m for m in told['marks'] if m[0] != 37]; print(json.dumps(told))"
    )
    command = [sys.executable, "-c", program, str(run)]
    done = subprocess.run(command, env=installed, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
