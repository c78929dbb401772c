"""A run folder says what the run is, never loses or repeats a row, and tells no secrets."""

import enum
import errno
import json
import logging
import os
import platform
import socket
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.core import manifest as manifests
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite, MissingExtra
from sociarium.core.manifest import plain, read_manifest
from sociarium.learning import folder
from sociarium.learning.folder import RunFolder, read_metrics
from sociarium.networks import stored


class Torso(enum.Enum):
    LEAN = 1


@dataclass(frozen=True)
class Adam:
    rate: float = 5e-4


@dataclass(frozen=True)
class Config:
    world: str = "coins-v0"
    preference: str = "svo:90*3 exchange:1..1/n"
    steps: int = 20_000_000
    torso: Torso = Torso.LEAN
    adam: Adam = field(default_factory=Adam)
    layers: tuple[int, ...] = (64, 64)


@pytest.fixture
def run(tmp_path):
    with RunFolder(tmp_path / "run", tensorboard=False) as made:
        made.begin(Config(), [0, 1])
        yield made


def events(run: RunFolder):
    """All events of a run in the order TensorBoard reads them, every record's checksum checked."""
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.record_writer import masked_crc32c

    for file in sorted((run.path / "tensorboard").iterdir()):
        data = file.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            content = data[12 : 12 + size]
            assert struct.unpack("<I", data[8:12]) == (masked_crc32c(data[:8]),)
            assert struct.unpack("<I", data[12 + size : 16 + size]) == (masked_crc32c(content),)
            yield Event.FromString(content)
            data = data[16 + size :]


def test_the_manifest_says_what_the_run_is(run):
    manifest = json.loads((run.path / "manifest.json").read_text())
    assert manifest["config"] == {
        "world": "coins-v0",
        "preference": "svo:90*3 exchange:1..1/n",
        "steps": 20_000_000,
        "torso": "LEAN",
        "adam": {"rate": 5e-4},
        "layers": [64, 64],
    }
    assert manifest["seeds"] == [0, 1]
    assert manifest["versions"]["python"] == platform.python_version()
    assert set(manifest["versions"]) == {"python", *manifests.PARTS}
    assert manifest["versions"]["numpy"] == np.__version__
    assert manifest["devices"] == {"backend": "cpu", "kind": "cpu", "count": 1}
    assert manifest["finished"] is False
    assert manifest["started"] == manifest["updated"]
    assert manifest["started"].endswith("+00:00")


@pytest.mark.parametrize("version", [1, None])
def test_a_run_of_another_version_of_the_networks_does_not_go_on(run, version):
    manifest = run.manifest
    assert manifest["network_version"] == stored.NETWORK_VERSION
    run.expect(manifest["config"])
    (run.path / "manifest.json").write_text(json.dumps({**manifest, "network_version": version}))
    for go_on in (lambda: run.expect(manifest["config"]), lambda: run.resume(0)):
        with pytest.raises(BadArgument, match=r"version( 1)? of the networks"):
            go_on()


def test_the_manifest_knows_the_commit_of_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert manifests.git_hash() is None

    def git(*words):
        named = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", *named, *words], check=True, capture_output=True, text=True)

    git("init")
    (tmp_path / "code.py").write_text("1")
    git("add", ".")
    git("commit", "-m", "One")
    commit = git("rev-parse", "HEAD").stdout.strip()
    assert manifests.git_hash() == {"commit": commit, "changed": False}
    (tmp_path / "code.py").write_text("2")
    assert manifests.git_hash() == {"commit": commit, "changed": True}
    monkeypatch.setenv("PATH", "")
    assert manifests.git_hash() is None


def test_nothing_of_the_machine_or_its_user_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("SECRET_TOKEN", "hunter2hunter2")
    config = {
        "out": Path("/home/somebody/runs/one"),
        "near": tmp_path / "zoo" / "a",
        "spaced": "/home/somebody/my own runs/two",
        "seats": "policy:/home/somebody/runs/three?x=~/secret*2 selfish",
        "url": "http://localhost:8000/v1",
    }
    with RunFolder(tmp_path / "run") as run:
        run.begin(config, [0])
        run.report(1, {"a": 1.0})
    assert run.manifest["config"] == {
        "out": "one",
        "near": "zoo/a",
        "spaced": "two",
        "seats": "policy:three?x=secret*2 selfish",
        "url": "http://localhost:8000/v1",
    }
    for file in run.path.rglob("*"):
        text = file.name.encode() + (file.read_bytes() if file.is_file() else b"")
        for secret in ("somebody", "hunter2", str(tmp_path), socket.gethostname()):
            assert secret.encode() not in text, file


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (jnp.float32(0.5), 0.5),
        (np.arange(3), [0, 1, 2]),
        (float("inf"), "inf"),
        ({1: None, "b": True}, {"1": None, "b": True}),
        (Path("runs/one"), "runs/one"),
        ("C:\\Users\\somebody", "somebody") if os.name == "nt" else ("a/b", "a/b"),
    ],
)
def test_a_config_is_written_as_plain_json(given, written):
    assert plain(given) == written


def test_what_has_no_place_in_a_manifest_is_named():
    with pytest.raises(BadArgument, match=r"config\.net\[1\] is a function"):
        plain({"net": [1, lambda: None]})


def test_a_folder_with_a_run_is_not_overwritten(run):
    before = (run.path / "manifest.json").read_bytes()
    with pytest.raises(BadArgument, match="give another folder, or --resume to go on"):
        RunFolder(run.path, tensorboard=False).begin(Config(), [5])
    assert (run.path / "manifest.json").read_bytes() == before
    (run.path / "manifest.json").unlink()
    run.report(1, {"a": 1})
    with pytest.raises(BadArgument, match=r"metrics\.jsonl is there"):
        RunFolder(run.path, tensorboard=False).begin(Config(), [5])


def test_facts_are_noted_and_the_rest_stays(run):
    began = run.manifest
    run.update(finished=True, seconds=12.5)
    now = run.manifest
    assert now["finished"] is True
    assert now["seconds"] == 12.5
    assert now["updated"] >= began["updated"]
    assert all(now[name] == began[name] for name in folder.FIXED)
    with pytest.raises(BadArgument, match="config of a run does not change"):
        run.update(config={})


def test_figures_come_back_by_name(run):
    run.report(10, {"loss": jnp.float32(0.5), "returns": jnp.array([1.0, 2.0]), "episodes": 3})
    run.report(20, {"loss": float("nan"), "returns": np.array([np.inf, 4.0]), "episodes": 4})
    run.report(30, {"loss": jnp.bfloat16(1.5), "late": True, "episodes": np.int32(5)})
    lines = (run.path / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"step": 10, "loss": 0.5, "returns": [1.0, 2.0], "episodes": 3}
    assert json.loads(lines[1])["loss"] is None
    found = read_metrics(run.path)
    assert found["step"].tolist() == [10, 20, 30]
    assert found["episodes"].tolist() == [3, 4, 5]
    assert found["step"].dtype == found["episodes"].dtype == np.int64
    np.testing.assert_array_equal(found["loss"], [0.5, np.nan, 1.5])
    np.testing.assert_array_equal(found["returns"], [[1, 2], [np.nan, 4], [np.nan, np.nan]])
    np.testing.assert_array_equal(found["late"], [np.nan, np.nan, 1])


def test_a_32_bit_figure_comes_back_to_the_bit(run):
    third = np.float32(1) / np.float32(3)
    run.report(1, {"a": third})
    assert np.float32(read_metrics(run.path)["a"][0]) == third


def test_what_is_no_figure_is_refused(run):
    with pytest.raises(BadArgument, match="The figure world must be numbers; given 'coins'"):
        run.report(1, {"world": "coins"})
    assert not run.metrics.exists()


def test_figures_of_changing_shape_or_none_at_all_are_clear_errors(run):
    with pytest.raises(CannotRead, match="There are no figures"):
        read_metrics(run.path)
    run.report(1, {"a": [1, 2]})
    run.report(2, {"a": [1, 2, 3]})
    with pytest.raises(CannotRead, match=r"a in .* is not of one shape"):
        read_metrics(run.path)


def test_a_resumed_run_repeats_no_row(run):
    for step in (10, 20, 30, 40):
        run.report(step, {"a": step})
    run.close()
    with RunFolder(run.path, tensorboard=False) as again:
        again.resume(20, Config())
        for step in (30, 40, 50):
            again.report(step, {"a": -step})
    found = read_metrics(run.path)
    assert found["step"].tolist() == [10, 20, 30, 40, 50]
    assert found["a"].tolist() == [10, 20, -30, -40, -50]
    assert [entry["step"] for entry in again.manifest["resumed"]] == [20]
    assert again.manifest["config"] == run.manifest["config"]


def test_every_half_of_a_last_row_is_forgotten(run):
    run.report(10, {"a": 1.5})
    whole = run.metrics.read_bytes()
    for cut in range(len(whole) - 1):
        run.metrics.write_bytes(whole + whole.replace(b"10", b"20")[:cut])
        assert read_metrics(run.path)["step"].tolist() == [10]
        run.rewind(20)
        assert run.metrics.read_bytes() == whole
    run.metrics.write_bytes(whole + whole[:-1])
    run.rewind(20)
    assert run.metrics.read_bytes() == whole + whole


def test_a_damaged_row_in_the_middle_is_named_and_passed_over(run, caplog):
    for step in (10, 20, 30):
        run.report(step, {"a": step})
    run.metrics.write_bytes(run.metrics.read_bytes().replace(b'{"step": 20', b'{"st\x00\xff'))
    with caplog.at_level(logging.WARNING):
        assert read_metrics(run.path)["step"].tolist() == [10, 30]
    assert "Line 2 of" in caplog.text


def test_resuming_with_another_config_is_refused(run):
    with pytest.raises(BadArgument, match="world was coins-v0, is clean_up-v0"):
        run.resume(0, Config(world="clean_up-v0"))


def test_resuming_where_nothing_is_says_so(tmp_path):
    with pytest.raises(CannotRead, match="holds no run"):
        RunFolder(tmp_path, tensorboard=False).resume(0)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(CannotRead, match="is damaged"):
        read_manifest(tmp_path)


def test_resuming_with_other_versions_is_said(run, monkeypatch, caplog):
    monkeypatch.setattr(folder, "versions", lambda: {"jax": "99"})
    with caplog.at_level(logging.WARNING):
        run.resume(0)
    assert "its last bits may differ" in caplog.text


def test_a_full_disk_leaves_manifest_and_figures_as_they_were(run, monkeypatch):
    run.report(10, {"a": 1})
    before = {file.name: file.read_bytes() for file in run.path.iterdir()}

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for act in (
            lambda: run.report(20, {"a": 2}),
            lambda: run.update(finished=True),
            lambda: run.rewind(0),
        ):
            with pytest.raises(CannotWrite, match="No space left on device"):
                act()
    assert {file.name: file.read_bytes() for file in run.path.iterdir()} == before
    run.report(20, {"a": 2})
    assert read_metrics(run.path)["step"].tolist() == [10, 20]


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite):
        RunFolder(tmp_path / "file" / "run", tensorboard=False).begin(Config(), [0])


def test_events_are_read_back_and_a_resumed_run_hides_what_it_repeats(tmp_path):
    pytest.importorskip("tensorboardX")
    with RunFolder(tmp_path, tensorboard=True) as run:
        run.begin(Config(), [0, 1])
        run.report(10, {"loss": 0.5, "returns": [1.0, 2.0]})
        run.report(20, {"loss": float("nan")})
    with RunFolder(tmp_path, tensorboard=True) as again:
        again.resume(10)
        again.report(20, {"loss": 0.25})
    found = list(events(again))
    assert [event.file_version for event in found if event.file_version] == ["brain.Event:2"] * 2
    points = [
        (event.step, value.tag, value.simple_value)
        for event in found
        for value in event.summary.value
    ]
    assert points[:3] == [(10, "loss", 0.5), (10, "returns/0", 1.0), (10, "returns/1", 2.0)]
    assert points[3][:2] == (20, "loss")
    assert np.isnan(points[3][2])
    assert points[4:] == [(20, "loss", 0.25)]
    starts = [event.step for event in found if event.HasField("session_log")]
    assert starts == [11]


def test_event_files_are_whole_while_the_run_goes_on(tmp_path):
    pytest.importorskip("tensorboardX")
    with RunFolder(tmp_path) as run:
        run.begin(Config(), [0])
        run.report(10, {"loss": 0.5})
        assert [event.step for event in events(run)] == [0, 10]


def test_event_files_are_missed_only_when_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingExtra, match=r'pip install "[^"]+\[learning\]"'):
        RunFolder(tmp_path, tensorboard=True)
    with pytest.raises(MissingExtra, match="tensorboardX is not installed"):
        folder.Tensorboard(tmp_path)
    with RunFolder(tmp_path) as run:
        run.begin(Config(), [0])
        run.report(10, {"loss": 0.5})
    assert not (tmp_path / "tensorboard").exists()
