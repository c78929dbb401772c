"""`match`, `replay` and `fork` as one types them."""

import contextlib
import dataclasses
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from sociarium.cli.main import main
from sociarium.core import record
from sociarium.core.frames import FrameFile
from sociarium.learning.training import Training
from tests.arena.guests import serving
from tests.learning.runs import small

ROOT = Path(__file__).parents[2]


def sociarium(*words, code=0, cwd="."):
    """What a command prints, run in this process so that programs are compiled once."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["sociarium", *map(str, words)]),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            ended = 0
        except SystemExit as stop:
            ended = stop.code
    assert ended == code, err.getvalue()[-2000:]
    return out.getvalue() if code == 0 else err.getvalue()


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    run = tmp_path_factory.mktemp("match") / "run"
    sociarium("match", "coins", "--seats", "script:cooperator random", "--steps", 70, "--out", run)
    return run


def test_every_kind_of_player_sits_in_one_match(tmp_path):
    plan = dataclasses.replace(small(), players=5)
    Training(plan).export(tmp_path / "trained")
    with serving() as address:
        seats = (
            "script:cooperator script:defector policy:trained "
            f"agent:{address}/good agent:{ROOT / 'tests/arena/guests.py'}:Seated"
        )
        sociarium(
            *("match", "coins-v0", "--seats", seats, "--steps", 20, "--out", "run"), cwd=tmp_path
        )
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    asked = manifest["decisions"]
    assert asked == {"3": 20, "4": 20}
    assert manifest["failures"] == {"3": {}, "4": {}}
    assert str(tmp_path) not in (tmp_path / "run" / "manifest.json").read_text()
    told = sociarium("replay", tmp_path / "run" / "play.episode", "--verify")
    assert "verified" in told and "all 2 hashes equal" in told
    assert "script:defector: played again" in told and "good: from its actions" in told
    rows = [json.loads(x) for x in (tmp_path / "run" / "decisions.jsonl").read_text().splitlines()]
    assert len(rows) == sum(asked.values()) and all("seconds" not in row for row in rows)


@pytest.mark.filterwarnings("ignore:os.fork", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_replay_draws_and_verifies(played, tmp_path):
    row = json.loads(sociarium("replay", played, "--verify", "--json"))
    assert row == {
        "env": "coins-v0",
        "steps": 70,
        "marks": 3,
        "seats": [
            {"seat": 0, "player": "script:cooperator", "checked": ["played again"]},
            {"seat": 1, "player": "random", "checked": ["played again"]},
        ],
        "differs": None,
        "verified": True,
    }
    for name in ("x.gif", "x.mp4", "x.png"):
        sociarium("replay", played, "--out", tmp_path / name, "--size", 8)
        assert (tmp_path / name).stat().st_size > 500


def test_a_record_that_was_changed_is_found_out(played, tmp_path):
    kept = record.load(played / "play.episode")
    actions = kept.actions.copy()
    actions[10:30] = (actions[10:30] + 1) % 5
    record.save(tmp_path / "x.episode", kept.model_copy(update={"actions": actions}))
    told = sociarium("replay", tmp_path / "x.episode", "--verify", code=2)
    assert "differently at step 10: the player in seat 0 chooses" in told


def test_worlds_that_ask_for_too_much_or_for_files_are_refused(played, tmp_path):
    kept = record.load(played / "play.episode")
    for env, players, match in (
        ("coins-v0", 5000, "large world"),
        ("harvest_open-v0?tiles=900x900", 2, "large world"),
        ("other.toml", 2, "world.toml"),
        ("world.toml", 2, "cannot be made"),
        ("no_such_world", 2, "cannot be made"),
        ("coins-v0?no_such=1", 2, "cannot be made"),
    ):
        page = kept.page.model_copy(
            update={"env": env, "players": players, "seats": ("random",) * players}
        )
        actions = np.zeros((70, players), np.uint8)
        record.save(tmp_path / "x.episode", record.Record(page=page, actions=actions))
        assert match in sociarium("replay", tmp_path / "x.episode", "--verify", code=2)


def test_a_fork_shares_its_past(played, tmp_path):
    sociarium("fork", played, "--at", 33, "--seat", "1=idle", "--out", tmp_path / "fork")
    whole, fork = (record.load(run / "play.episode") for run in (played, tmp_path / "fork"))
    assert np.array_equal(whole.actions[:33], fork.actions[:33])
    assert not fork.actions[33:, 1].any() and len(fork) == 70
    sociarium("replay", tmp_path / "fork", "--verify")
    assert json.loads((tmp_path / "fork" / "manifest.json").read_text())["forked"]["at"] == 33
    told = sociarium(
        *("fork", played, "--at", 3, "--seat", "idle", "--out", tmp_path / "x"), code=2
    )
    assert "NUMBER=PLAYER" in told


def _begun(run):
    """Whether a match has played some steps."""
    log = run / "play.log"
    return (run / "manifest.json").exists() and len(FrameFile(log).frames()) > 3


def test_a_match_that_is_stopped_goes_on(played, tmp_path):
    shutil.copy(ROOT / "tests" / "arena" / "guests.py", tmp_path)
    words = ["match", "coins", "--seats", "agent:guests.py:Slow random"]
    command = [sys.executable, "-m", "sociarium.cli.main", *words, "--steps", "900"]
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    with subprocess.Popen(
        [*command, "--out", "run"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    ) as process:
        until = time.monotonic() + 120
        while not _begun(tmp_path / "run") and time.monotonic() < until:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
    before = record.load(tmp_path / "run" / "play.episode")
    assert 0 < len(before) < 900 and not before.page.ended
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    manifest["config"]["steps"] = len(before) + 30
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
    assert "--trust" in sociarium("match", "--resume", "run", cwd=tmp_path, code=2)
    sociarium("match", "--resume", "run", "--trust", cwd=tmp_path)
    after = record.load(tmp_path / "run" / "play.episode")
    assert len(after) == len(before) + 30
    assert np.array_equal(after.actions[: len(before)], before.actions)
    sociarium("replay", tmp_path / "run", "--verify")


def test_a_folder_holds_one_match(played):
    told = sociarium("match", "coins", "--out", played, code=2)
    assert "already holds a match" in told


def test_a_world_of_ones_own_travels_with_its_match(tmp_path):
    village = ROOT / "examples" / "village.toml"
    sociarium("match", village, "--steps", 10, "--out", tmp_path / "run")
    assert (tmp_path / "run" / "world.toml").exists()
    assert "verified" in sociarium("replay", tmp_path / "run", "--verify")
