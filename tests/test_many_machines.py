"""`--on ray`: what is played on many machines is what one plays, whoever is lost on the way."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from sociarium.cli.evaluate import Evaluate
from tests.players import model_server
from tests.players.model_server import KEY, Handler, failing
from tests.ray_nodes import QUIET, Nodes

TINY = """
[suite]
title = "Tiny"
[defaults]
seeds = 5
steps = 8
[[metric]]
id = "return"
measure = "return"
told = "points"
[[arm]]
id = "matches"
world = "matrix?game=prisoners_dilemma&rounds=4"
seats = "{model} script:tit_for_tat"
ends = ["steps:4"]
[[arm]]
id = "batch"
world = "matrix?game=prisoners_dilemma&rounds=4"
seats = "{model} script:defector"
"""


def command(*words, folder):
    """A command of ours that has begun."""
    return subprocess.Popen(
        [sys.executable, "-m", "sociarium.cli.main", *words],
        cwd=folder,
        env=os.environ | QUIET,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def done(*words, folder):
    """What a command says to the end; it must not fail."""
    begun = command(*words, folder=folder)
    told = begun.communicate()[1]
    assert begun.returncode == 0, told
    return told


def keys(folder):
    file = folder / "units.jsonl"
    lines = file.read_text().splitlines() if file.exists() else ()
    return [json.loads(line)["key"] for line in lines]


needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="the extra [ray] is not installed"
)
SWEEP = "sweep ippo coins --steps 32 --set lanes=2 num_steps=16 num_minibatches=1 epochs=1".split()
PATIENCE = 600  # seconds that nothing may happen


def until(reached, *processes):
    """Waits, as long as these processes live."""
    over = time.monotonic() + PATIENCE
    while not reached():
        for process in processes:
            assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < over
        time.sleep(0.05)


def with_losses(words, folder, count, total):
    """Runs a command on three machines: a worker, a machine and the command itself are killed.

    It is begun again, when another worker is killed; what it says then.
    """
    with Nodes() as nodes:
        words = [*words, "--on", f"ray:{nodes.address}"]
        first = command(*words, folder=folder)
        until(lambda: count() >= total * 0.2, first)
        until(nodes.kill_worker, first)
        until(lambda: count() >= total * 0.4, first)
        nodes.ask("lose")
        until(lambda: count() >= total * 0.6, first)
        first.kill()
        first.communicate()
        kept = count()
        assert total * 0.6 <= kept < total
        nodes.ask("gain")
        again = command(*words, folder=folder)
        until(lambda: count() >= total * 0.8, again)
        until(nodes.kill_worker, again)
        told = again.communicate()[1]
        assert again.returncode == 0, told
        return told


@needs_ray
def test_ten_units_on_ray_are_those_of_one_process(tmp_path, monkeypatch):
    (tmp_path / "tiny.toml").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    Evaluate("tiny.toml", ("script:grim",), out=Path("here")).run()
    words = ["evaluate", "tiny.toml", "--model", "script:grim", "--out", "there"]
    told = done(*words, "--on", "ray", folder=tmp_path)
    assert len(set(keys(tmp_path / "there"))) == len(keys(tmp_path / "there")) == 10
    for name in ("report.json", "report.html"):
        one, two = ((tmp_path / folder / name).read_bytes() for folder in ("here", "there"))
        assert one == two
    assert "10 of 10 units, machines 1, workers" in told


@needs_ray
@pytest.mark.slow
def test_a_suite_that_loses_a_worker_a_machine_and_its_command_is_done_once(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    words = ["evaluate", "tiny.toml", "--only", "matches", "--seeds", "300", "--model"]
    words += ["script:grim", "--out"]
    done(*words, "here", folder=tmp_path)
    there = tmp_path / "there"
    told = with_losses([*words, "there"], tmp_path, lambda: len(keys(there)), 300)
    assert len(set(keys(there))) == len(keys(there)) == 300
    assert (there / "report.json").read_bytes() == (tmp_path / "here/report.json").read_bytes()
    assert "300 of 300 units" in told


@needs_ray
@pytest.mark.slow
def test_a_sweep_that_loses_a_worker_a_machine_and_its_command_is_done_once(tmp_path):
    angles = ",".join(f"svo:{angle / 4}" for angle in range(300))
    words = [*SWEEP, "--grid", f"preference={angles}", "--out"]
    done(*words, "here", folder=tmp_path)
    there = tmp_path / "there"

    def finished():
        manifests = there.glob("*/manifest.json")
        return sum(json.loads(file.read_bytes())["finished"] for file in manifests)

    with_losses([*words, "there"], tmp_path, finished, 300)
    assert finished() == 300
    assert (there / "sweep.json").read_bytes() == (tmp_path / "here/sweep.json").read_bytes()
    for run in (tmp_path / "here").glob("*/metrics.jsonl"):
        assert run.read_bytes() == (there / run.parent.name / "metrics.jsonl").read_bytes()


@needs_ray
@pytest.mark.slow
def test_calls_of_two_workers_keep_to_one_limit():
    told = subprocess.run(
        [sys.executable, "-m", "tests.ray_calls"],
        env=os.environ | QUIET,
        capture_output=True,
        text=True,
        check=True,
    )
    calls = json.loads(told.stdout)
    assert len({worker for worker, _, _ in calls}) > 1
    together = [sum(b <= at < e for _, b, e in calls) for _, at, _ in calls]
    assert max(together) == 3


class BusyHandler(Handler):
    """Answers after a moment, and notes how many calls are in flight."""

    def do_POST(self):  # noqa: N802
        server = self.server
        with server.lock:
            server.keys.add(self.headers["Authorization"])
            server.busy += 1
            server.together.append(server.busy)
        time.sleep(0.1)
        with server.lock:
            server.busy -= 1
        super().do_POST()


@needs_ray
@pytest.mark.slow
def test_a_model_is_asked_within_its_limit_and_its_key_is_written_nowhere(tmp_path, monkeypatch):
    monkeypatch.setattr(model_server, "Handler", BusyHandler)
    monkeypatch.setenv("FAR_KEY", KEY)
    (tmp_path / "tiny.toml").write_text(TINY.replace("{model} script:tit_for_tat", "{model}*2"))
    with tempfile.TemporaryDirectory(prefix="ray-") as logs, failing() as (url, server):
        monkeypatch.setenv("RAY_TMPDIR", logs)
        server.lock, server.keys, server.busy, server.together = threading.Lock(), set(), 0, []
        model = f'[models.far]\nbase_url = "{url}"\nmodel = "x"\nkey_env = "FAR_KEY"\n'
        (tmp_path / "models.toml").write_text(f"{model}max_in_flight = 2\n")
        words = ["evaluate", "tiny.toml", "--only", "matches", "--model", "far", "--out", "run"]
        done(*words, "--on", "ray", folder=tmp_path)
        written = [*Path(logs).rglob("*"), *tmp_path.rglob("*")]
        files = [file for file in written if file.is_file() and not file.is_symlink()]
        assert any(file.name.startswith("raylet") for file in files)
        assert not [file for file in files if KEY.encode() in file.read_bytes()]
    assert server.keys == {f"Bearer {KEY}"} and max(server.together) == 2
    assert len(keys(tmp_path / "run")) == 5
