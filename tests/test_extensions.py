"""A package installed beside Sociarium brings a world, a charter, players and a metric."""

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


def sociarium(installed, *words):
    command = [sys.executable, "-m", "sociarium.cli.main", *words]
    done = subprocess.run(command, env=installed, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def test_what_a_package_brings_is_listed(installed):
    page = sociarium(installed, "list").stdout
    assert "nursery-v0" in page and "tithe" in page


def test_what_a_package_brings_plays_in_a_match_and_replays(installed, tmp_path):
    seats = "script:gardener agent:herald"
    run = str(tmp_path / "run")
    sociarium(installed, "match", "nursery+tithe", "--seats", seats, "--steps", "12", "--out", run)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["ended"] == "steps 12" and manifest["decisions"] == {"1": 12}
    assert manifest["failures"] == {"1": {}}
    assert "verified" in sociarium(installed, "replay", run, "--verify").stdout


def test_a_metric_that_a_package_brings_is_measured(installed):
    done = sociarium(installed, "measure", "nursery", "--episodes", "2", "--json")
    row = json.loads(done.stdout)
    assert row["society"]["steps_walked"]["mean"] > 0 and "broken" in done.stderr
