"""`sociarium launch`: one training by several processes is what one process learns."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import yaml

from sociarium.cli.launch import LOST, Launch
from sociarium.core.errors import BadArgument
from sociarium.core.manifest import read_manifest
from sociarium.learning import checkpoints
from sociarium.learning.folder import read_metrics

EACH = 8 * 16  # steps of an update
TRAIN = "train ippo coins --no-gif --checkpoint-every 0 --set lanes=8 num_steps=16".split()
START = [sys.executable, "-c", "from sociarium.cli.main import main; main()"]
LAUNCH = [*START, "launch", "--processes", "2", "--devices", "2", "--"]


def environment(devices=2):
    flags = os.environ.get("XLA_FLAGS", "")
    return os.environ | {"XLA_FLAGS": f"{flags} --xla_force_host_platform_device_count={devices}"}


def run(words, devices=2):
    return subprocess.run(words, env=environment(devices), capture_output=True, text=True)


def arrays(folder):
    place = checkpoints.latest(folder / "checkpoints")
    return safetensors.numpy.load_file(place / checkpoints.STATE)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process with four devices learns in three updates."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    done = run([*START, *TRAIN, "--steps", str(3 * EACH), "--out", str(folder)], devices=4)
    assert done.returncode == 0, done.stderr
    return folder


def assert_same_learned(folder, other):
    """Equal but for the order in which processes add up gradients; the draws are the same."""
    mine, others = arrays(folder), arrays(other)
    assert mine.keys() == others.keys()
    for name in mine:
        np.testing.assert_allclose(mine[name], others[name], atol=1e-5, rtol=0, err_msg=name)
    assert (read_metrics(folder)["step"] == read_metrics(other)["step"]).all()


def test_two_processes_of_two_devices_learn_what_one_of_four_does(alone, tmp_path):
    folder = tmp_path / "run"
    done = run([*LAUNCH, *TRAIN, "--steps", str(3 * EACH), "--out", str(folder)])
    assert done.returncode == 0, done.stderr
    assert_same_learned(folder, alone)
    assert read_manifest(folder)["finished"]
    assert done.stdout.count("steps\n") == 1  # the first process alone tells


def test_a_run_that_loses_a_process_stops_and_goes_on(alone, tmp_path):
    folder = tmp_path / "run"
    words = [*LAUNCH, *TRAIN, "--out", str(folder), "--steps", str(3 * EACH), "--resume"]
    with subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True) as started:
        until = time.monotonic() + 300
        while not (folder / "checkpoints").exists() and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(part(started.pid, 1), signal.SIGKILL)
        told = started.communicate(timeout=120)[1]
    assert started.returncode == LOST, told
    assert "process 1 of 2 ended by signal 9" in told and "--resume" in told
    assert not read_manifest(folder)["finished"]
    resumed = run([*START, *TRAIN, "--out", str(folder), "--steps", str(3 * EACH), "--resume"], 4)
    assert resumed.returncode == 0, resumed.stderr
    assert_same_learned(folder, alone)


def part(launcher, number):
    """The process of that number, below its launcher."""
    for task in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        words = Path(f"/proc/{task}/cmdline").read_bytes().split(b"\0")
        if words[words.index(b"--process") + 1] == str(number).encode():
            return int(task)
    raise AssertionError("it is gone")


def test_what_clusters_are_given_is_printed(capsys):
    command = ("train", "ippo", "coins", "--out", "runs/a")
    Launch(command, processes=8, form="slurm").run()
    script = capsys.readouterr().out
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
    assert "--nodes=8" in script and "train ippo coins --out runs/a --resume" in script
    Launch(command, processes=8, form="kubernetes").run()
    service, job = yaml.safe_load_all(capsys.readouterr().out)
    assert service["metadata"]["name"] == job["spec"]["template"]["spec"]["subdomain"]
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == 8
    told = job["spec"]["template"]["spec"]["containers"][0]["args"][0]
    assert '--processes 8 --process "$JOB_COMPLETION_INDEX" --coordinator sociarium-0.' in told


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (Launch(("evaluate", "strangers")), "--on ray"),
        (Launch(("train",), processes=0), "1 or more"),
        (Launch(("train",), processes=2, process=2), "one of them"),
        (Launch(("train",), process=0, coordinator="here"), "HOST:PORT"),
    ],
)
def test_what_cannot_be_launched_is_refused(given, says):
    with pytest.raises(BadArgument, match=says):
        given.run()
