"""Checkpoints come back bit for bit, and are whole whatever happens while they are written."""

import errno
import json
import logging
import os
import resource
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite
from sociarium.learning import checkpoints
from tests.devices import environment

TESTS = Path(__file__).parent


class Layer(eqx.Module):
    weight: jax.Array
    bias: jax.Array | None
    width: int = eqx.field(static=True)


def odd_tree():
    """One of everything that a run carries."""
    return {
        "layers": [Layer(jnp.arange(6.0).reshape(2, 3), None, 3), Layer(jnp.ones(1), None, 1)],
        "bool": jnp.array([True, False]),
        "int16": jnp.array([[-(2**15), 2**15 - 1]], jnp.int16),
        "uint8": np.arange(256, dtype=np.uint8),
        "uint32": jnp.array(2**32 - 1, jnp.uint32),
        "float32": jnp.array([-0.0, jnp.inf, -jnp.inf, 1e-45, 3e38], jnp.float32),
        "bfloat16": jnp.array([1.5, -2.25], jnp.bfloat16),
        "float16": np.array(0.1, np.float16),
        "float64": np.array([np.pi]),
        "int64": np.array(2**62),
        "scalar": np.float32(0.1),
        "empty": jnp.zeros((0, 3)),
        "key": sociarium.key(7),
        "keys": jax.random.split(jax.random.key(1), (2, 3)),
        "turned": np.arange(6).reshape(2, 3).T,
        "plain": (3, 0.1, True),
        "nothing": None,
    }


def bits(leaf):
    if hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return str(leaf.dtype), bits(jax.random.key_data(leaf))
    plain = np.asarray(leaf)
    return str(plain.dtype), plain.shape, plain.tobytes()


def damage(file: Path, at: int):
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def steps(folder: Path):
    return sorted(int(place.name) for place in folder.iterdir())


def test_every_bit_and_every_kind_of_leaf_comes_back(tmp_path):
    tree = odd_tree()
    place = checkpoints.save(tmp_path, 42, tree, {"world": "coins-v0"})
    back = checkpoints.load(place, jax.tree.map(lambda leaf: leaf, tree))
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    for old, new in zip(jax.tree.leaves(tree), jax.tree.leaves(back), strict=True):
        assert bits(old) == bits(new)
        assert isinstance(new, jax.Array) == isinstance(old, jax.Array)
    assert [type(number) for number in back["plain"]] == [int, float, bool]
    assert jax.random.bits(back["key"]) == jax.random.bits(tree["key"])
    assert checkpoints.about(place) == {"world": "coins-v0", "step": 42}


def test_a_not_a_number_keeps_its_payload(tmp_path):
    strange = np.array([0x7FC12345, 0xFFC00001], np.uint32).view(np.float32)
    place = checkpoints.save(tmp_path, 0, [jnp.array(strange)])
    assert bits(checkpoints.load(place, [jnp.zeros(2)])[0]) == bits(strange)


def test_a_bare_array_is_a_tree_too(tmp_path):
    place = checkpoints.save(tmp_path, 0, jnp.arange(3))
    assert (checkpoints.load(place, jnp.zeros(3, jnp.int32)) == jnp.arange(3)).all()


def test_shapes_are_enough_to_load(tmp_path):
    tree = {"key": sociarium.key(7), "weight": jnp.ones(2)}
    place = checkpoints.save(tmp_path, 0, tree)
    back = checkpoints.load(place, jax.eval_shape(lambda: tree))
    assert eqx.tree_equal(back, tree)


def test_files_are_plain_safetensors_named_by_place_and_json(tmp_path):
    place = checkpoints.save(tmp_path, 5, odd_tree())
    assert place == tmp_path / "000000000005"
    assert sorted(file.name for file in place.iterdir()) == ["about.json", "state.safetensors"]
    names = json.loads((place / "state.safetensors").read_bytes()[8:].split(b"}}", 1)[0] + b"}}")
    assert "['layers'][0].weight" in names
    assert json.loads((place / "about.json").read_text())["keys"] == {
        "['key']": "key<pcg>",
        "['keys']": "key<fry>",
    }


def test_the_last_few_are_kept(tmp_path):
    for step in range(0, 60, 10):
        checkpoints.save(tmp_path, step, jnp.full(2, step))
    assert steps(tmp_path) == [30, 40, 50]
    checkpoints.save(tmp_path, 60, jnp.full(2, 60), keep=1)
    assert steps(tmp_path) == [60]


def test_a_run_begun_again_from_earlier_replaces_its_future(tmp_path):
    for step in (10, 20, 30):
        checkpoints.save(tmp_path, step, jnp.full(2, step), keep=9)
    checkpoints.save(tmp_path, 20, jnp.full(2, 21), keep=9)
    assert steps(tmp_path) == [10, 20]
    newest = checkpoints.latest(tmp_path)
    assert newest is not None
    assert (checkpoints.load(newest, jnp.zeros(2, jnp.int32)) == 21).all()


def test_a_checkpoint_that_is_being_replaced_can_still_be_read(tmp_path):
    checkpoints.save(tmp_path, 10, jnp.zeros(2))
    place = checkpoints.save(tmp_path, 20, jnp.ones(2))
    place.rename(tmp_path / f"{place.name}.replaced")
    newest = checkpoints.latest(tmp_path)
    assert newest is not None
    assert (checkpoints.load(newest, jnp.zeros(2)) == 1).all()
    checkpoints.save(tmp_path, 20, jnp.ones(2))
    assert steps(tmp_path) == [10, 20]


@pytest.mark.parametrize(
    "harm",
    [
        lambda place: os.truncate(place / "state.safetensors", 40),
        lambda place: damage(place / "state.safetensors", -1),
        lambda place: damage(place / "about.json", 12),
        lambda place: (place / "about.json").write_text('{"step": 3'),
        lambda place: (place / "about.json").write_text("[]"),
        lambda place: (place / "about.json").unlink(),
        lambda place: (place / "state.safetensors").unlink(),
    ],
    ids=["truncated", "flipped", "misnamed", "half a page", "no page", "pageless", "stateless"],
)
def test_a_damaged_newest_one_is_named_and_passed_over(tmp_path, harm, caplog):
    older = checkpoints.save(tmp_path, 10, jnp.zeros(3))
    newer = checkpoints.save(tmp_path, 20, jnp.ones(3), {"world": "coins-v0"})
    harm(newer)
    with caplog.at_level(logging.WARNING):
        assert checkpoints.latest(tmp_path) == older
    assert str(newer) in caplog.text
    assert "passed over" in caplog.text
    with pytest.raises(CannotRead, match="000000000020"):
        checkpoints.load(newer, jnp.zeros(3))
    checkpoints.save(tmp_path, 15, jnp.ones(3), keep=1)
    assert steps(tmp_path) == [15]


def test_where_there_is_none_none_is_found(tmp_path):
    assert checkpoints.latest(tmp_path / "nowhere") is None
    (tmp_path / "notes").mkdir()
    (tmp_path / ".writing").mkdir()
    assert checkpoints.latest(tmp_path) is None


def test_another_structure_is_refused_leaf_by_leaf(tmp_path):
    stored = {"a": jnp.ones((2, 3)), "b": jnp.ones(2), "c": jnp.ones(1), "k": sociarium.key(0)}
    place = checkpoints.save(tmp_path, 0, stored)
    wanted = {
        "a": jnp.ones((3, 2)),
        "b": jnp.ones(2, jnp.int32),
        "d": jnp.ones(4),
        "k": jax.random.key(0),
    }
    with pytest.raises(CannotRead) as refusal:
        checkpoints.load(place, wanted)
    lines = [line.strip() for line in str(refusal.value).splitlines()]
    assert lines[1:-1] == [
        "['a'] is float32[2, 3]; wanted float32[3, 2]",
        "['b'] is float32[2]; wanted int32[2]",
        "['d'] is missing; wanted float32[4]",
        "['k'] is key<pcg>[]; wanted key<fry>[]",
        "['c'] is stored, float32[1], but not wanted",
    ]
    with pytest.raises(CannotRead, match="and 6 more"):
        checkpoints.load(place, [jnp.ones(1)] * 12)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"f": jnp.tanh}, r"\['f'\] is a .*; a checkpoint holds arrays"),
        ({"s": np.array("word")}, r"\['s'\] has dtype <U4"),
        ({"z": np.zeros(2, np.complex128)}, "has dtype complex128"),
    ],
)
def test_what_is_no_array_is_refused_by_name(tmp_path, tree, message):
    with pytest.raises(BadArgument, match=message):
        checkpoints.save(tmp_path, 0, tree)


def test_senseless_arguments_are_refused(tmp_path):
    with pytest.raises(BadArgument, match="keep=0"):
        checkpoints.save(tmp_path, 0, jnp.ones(1), keep=0)
    with pytest.raises(BadArgument, match="step=-1"):
        checkpoints.save(tmp_path, -1, jnp.ones(1))
    with pytest.raises(BadArgument, match="must be JSON"):
        checkpoints.save(tmp_path, 0, jnp.ones(1), {"env": object()})


def test_notes_come_back_as_json(tmp_path):
    place = checkpoints.save(tmp_path, 0, jnp.ones(1), {"seeds": (1, 2), "by": {2: "b", 10: "a"}})
    assert checkpoints.about(place) == {"seeds": [1, 2], "by": {"2": "b", "10": "a"}, "step": 0}
    assert checkpoints.latest(tmp_path) == place


def test_a_file_limit_in_the_middle_of_writing_harms_nothing(tmp_path):
    older = checkpoints.save(tmp_path, 10, jnp.ones(3))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(CannotWrite, match=r"000000000020: .* What was saved before is whole"):
            checkpoints.save(tmp_path, 20, np.zeros(100_000), keep=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert steps(tmp_path) == [10]
    assert checkpoints.latest(tmp_path) == older


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_a_full_disk_at_any_moment_harms_nothing(tmp_path, monkeypatch, call):
    checkpoints.save(tmp_path, 10, jnp.ones(3))
    calls, sync = iter(range(1, 9)), os.fsync

    def full(handle):
        if next(calls) == call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="No space left on device"):
        checkpoints.save(tmp_path, 20, jnp.ones(3), keep=1)
    assert not (tmp_path / ".writing").exists()
    newest = checkpoints.latest(tmp_path)
    assert newest is not None
    assert steps(tmp_path)[0] == 10
    assert (checkpoints.load(newest, jnp.zeros(3)) == 1).all()


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match=r"Not a directory|File exists"):
        checkpoints.save(tmp_path / "file", 0, jnp.ones(1))


def test_what_a_killed_process_leaves_is_whole(tmp_path):
    """Twelve kills at random moments; `python -m tests.learning.saving` takes any number."""
    done = run("-m", "tests.learning.saving", str(tmp_path / "run"), "12", "0")
    kills, reached, entries = map(int, done.split())
    assert kills == 12
    assert reached >= 11
    assert entries <= 5


def test_arrays_spread_over_devices_come_back_on_them(tmp_path):
    program = f"""
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sociarium.learning import checkpoints
import sociarium
over = NamedSharding(Mesh(np.array(jax.devices()), "d"), PartitionSpec("d"))
tree = {{
    "lanes": jax.device_put(jnp.arange(8.0), over),
    "keys": jax.device_put(jax.random.split(sociarium.key(0), 4), over),
    "free": jnp.ones(2),
}}
place = checkpoints.save({str(tmp_path)!r}, 0, tree)
back = checkpoints.load(place, tree)
print(len(jax.devices()), back["lanes"].sharding == over, back["keys"].sharding == over,
      back["free"].committed, bool((back["lanes"] == tree["lanes"]).all()),
      bool((back["keys"] == tree["keys"]).all()))
"""
    said = run("-c", program, devices=2)
    assert said.split() == ["2", "True", "True", "False", "True", "True"]


def run(*arguments: str, devices: int = 1) -> str:
    """What a Python program of its own prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=TESTS.parent.parent,
        env=environment(devices),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
