"""A run goes on bit for bit, whatever stopped it; seeds, members and devices change nothing."""

import errno
import itertools
import json
import random
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from sociarium.conformance.contract import same
from sociarium.core import disk
from sociarium.core.disk import FolderLock
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite, FolderInUse
from sociarium.core.manifest import read_manifest
from sociarium.learning import checkpoints, training
from sociarium.learning.folder import read_metrics
from sociarium.learning.learner_batch import LearnerBatch
from sociarium.learning.training import Plan, Training, figures, plan_of, train_into
from sociarium.networks import stored
from tests.devices import environment
from tests.learning.runs import EACH, LONG, ROOT, one_update, small

PROGRAM = [sys.executable, "-m", "tests.learning.runs"]


def copied(tree):
    """Values that outlive the arrays, which an update takes away."""
    return jax.tree.map(lambda x: x.copy() if isinstance(x, jax.Array) else np.copy(x), tree)


def equal_rows(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def files(folder):
    """Everything a run left that does not tell the time."""
    left = [*folder.glob("weights/*"), *folder.glob("checkpoints/*/*"), folder / "metrics.jsonl"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in left}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert train_into(small(), folder, checkpoint_every=0.0, tensorboard=False)
    return folder


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        pytest.param("ippo", {}, marks=pytest.mark.slow),
        ("recppo", {"bptt_length": 4, "shared": False, "critic_sees": "state"}),
        pytest.param("rainbow", {}, marks=pytest.mark.slow),
    ],
)
def test_a_run_goes_on_bit_for_bit_from_any_update(algorithm, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "ROWS", 2)  # so that some are saved between two rows
    plan = small(algorithm, settings=settings)
    first = Training(plan)
    rows, ends = [], []
    for number in range(plan.steps // EACH):
        first.save(tmp_path / str(number), keep=1)
        rows.append(first.update())
    ends = copied((first.learners, first.window))
    assert [row is not None for row in rows] == [False, False, True] * 2

    second = Training(plan)
    for number in range(plan.steps // EACH):
        assert second.restore(tmp_path / str(number))
        assert second.done == number
        for row in rows[number:]:
            again = second.update()
            assert (again is None) == (row is None)
            if row is not None:
                equal_rows(again, row)
        assert same(copied((second.learners, second.window)), ends)


@pytest.mark.parametrize("kills", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been(kills, tmp_path):
    lot = random.Random(0)
    unkilled, killed = tmp_path / "unkilled", tmp_path / "killed"
    assert train_into(small(updates=LONG), unkilled, checkpoint_every=0.0)
    reached = []
    for _ in range(kills):
        before = step_of(killed)
        child = subprocess.Popen([*PROGRAM, killed], cwd=ROOT, env=environment(1))
        while step_of(killed) <= before:
            assert child.poll() is None
            time.sleep(0.005)
        time.sleep(lot.uniform(0, 0.2))
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        reached.append(step_of(killed))
    assert reached == sorted(set(reached)) and reached[-1] < LONG * EACH
    subprocess.run([*PROGRAM, killed], cwd=ROOT, env=environment(1), check=True)
    manifest = read_manifest(killed)
    assert manifest["finished"] and [r["step"] for r in manifest["resumed"]] == reached
    assert files(killed) == files(unkilled)


def step_of(folder):
    """Of the newest checkpoint, even if it is just being replaced."""
    places = folder.glob("checkpoints/[0-9]*")
    return max((int(rollout.name.partition(".")[0]) for rollout in places), default=0)


@pytest.fixture
def pressed():
    """Ctrl-C works as in a terminal, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("pressed")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_who_asks_to_stop_finds_a_checkpoint_and_can_go_on(number, tmp_path, whole, caplog):
    def ask(now):
        if now.step == 3 * EACH:
            signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt):
        train_into(small(), tmp_path / "run", tensorboard=False, on_progress=ask)
    assert "ask again" in caplog.text
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert step_of(tmp_path / "run") == 3 * EACH
    assert len(read_metrics(tmp_path / "run")["step"]) == 3
    assert not read_manifest(tmp_path / "run")["finished"]
    assert train_into(
        small(), tmp_path / "run", resume=True, tensorboard=False, checkpoint_every=0.0
    )
    assert files(tmp_path / "run") == files(whole)


@pytest.mark.usefixtures("pressed")
def test_before_the_first_update_nothing_is_worth_waiting_for(tmp_path, monkeypatch):
    monkeypatch.setattr(Training, "update", lambda self: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        train_into(small(), tmp_path / "run", tensorboard=False)
    assert step_of(tmp_path / "run") == 0


def test_time_that_is_up_stops_a_run_with_a_checkpoint(tmp_path):
    assert not train_into(small(), tmp_path / "run", seconds=0.0, tensorboard=False)
    assert step_of(tmp_path / "run") == EACH
    assert (tmp_path / "run" / "weights" / "seed-1.safetensors").exists()


@pytest.mark.parametrize("what", ["learning.checkpoints", "core.disk"])
def test_a_full_disk_leaves_the_checkpoint_before_it(what, tmp_path, whole, monkeypatch):
    written = itertools.count()
    durably = disk.write_durably

    def fills(path, data):
        if next(written) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        durably(path, data)

    monkeypatch.setattr(f"sociarium.{what}.write_durably", fills)
    with pytest.raises(CannotWrite, match="No space left"):
        train_into(small(), tmp_path / "run", checkpoint_every=0.0, tensorboard=False)
    monkeypatch.undo()
    newest = checkpoints.latest(tmp_path / "run" / "checkpoints")
    assert newest is not None and 0 < checkpoints.about(newest)["updates"] < 6
    assert checkpoints.about(newest)["network_version"] == stored.NETWORK_VERSION
    assert train_into(
        small(), tmp_path / "run", resume=True, checkpoint_every=0.0, tensorboard=False
    )
    assert files(tmp_path / "run") == files(whole)


def test_eight_devices_learn_what_one_does(tmp_path):
    one_update(tmp_path / "1.npz", 1)
    subprocess.run([*PROGRAM, tmp_path, "8"], cwd=ROOT, env=environment(8), check=True)
    with np.load(tmp_path / "1.npz") as one, np.load(tmp_path / "8.npz") as eight:
        assert one.files == eight.files
        for name in one.files:
            np.testing.assert_allclose(eight[name], one[name], rtol=1e-4, atol=1e-5)


def test_members_learn_the_same_abreast_and_in_turn():
    made = Training(small())
    members = made.learner_batch
    many = [jax.tree.map(lambda x, m=m: x[m], members.configs) for m in (0, 1)]
    wishes = [jax.tree.map(lambda x, m=m: x[m], members.preferences) for m in (0, 1)]
    abreast = LearnerBatch(members.trainer, list(members.keys), many, wishes, abreast=True)
    assert not members.abreast
    there, told = abreast.update(abreast.begin())
    here, tells = members.update(made.learners)
    for one, other in zip(
        jax.tree.leaves((there.weights, told)), jax.tree.leaves((here.weights, tells)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_seed_learns_the_same_alone_and_among_others():
    together, alone = Training(small(seeds=(3, 4, 5))), Training(small(seeds=(4,)))
    for _ in range(3):
        row, own = together.update(), alone.update()
        assert row is not None and own is not None
        equal_rows({name: values[1:2] for name, values in row.items()}, own)
    member = jax.tree.map(lambda x: x[1:2], together.learners)
    assert same(copied(member), copied(alone.learners))
    assert not same(together.weights(0), together.weights(1))


def test_a_run_leaves_what_others_read(whole):
    manifest = read_manifest(whole)
    assert manifest["finished"] and manifest["config"]["hyperparameters"]["lanes"] == 4
    assert plan_of(whole) == small()
    metrics = read_metrics(whole)
    assert metrics["step"].tolist() == [EACH * n for n in range(1, 7)]
    assert metrics["cooperation"].shape == (6, 2)
    page = json.loads((whole / "weights" / "seed-1.json").read_text())
    assert (page["world"], page["seed"], page["steps"]) == ("coins-v0", 1, 6 * EACH)
    assert not list(whole.rglob("*.writing"))


def test_acts_without_refusals_have_no_rate_among_the_figures():
    sums = SimpleNamespace(
        episodes=np.array([2.0]),
        returns=np.array([[4.0, 6.0]]),
        steps=np.array([100.0]),
        acts=np.array([[3.0, 0.0]]),
        refusals=np.array([[0.0, 0.0]]),
    )
    assert figures(sums, {}, 1.0)["cooperation"].tolist() == [1.0]
    counted = figures(sums, {}, 1.0, has_rate=False)
    assert np.isnan(counted["cooperation"]).tolist() == [True] and counted["acts"] == [30.0]


def test_the_manifest_has_full_names(tmp_path):
    config = Training(Plan("mappo", "coins")).config
    assert (config["world"], config["preference"]) == ("coins-v0", "common")


def test_other_arguments_are_refused_before_anything_is_touched(whole):
    before = files(whole) | {"manifest": (whole / "manifest.json").read_bytes()}
    with pytest.raises(BadArgument, match="holds a run"):
        train_into(small(), whole)
    with pytest.raises(BadArgument, match="preference was svo:90, is common"):
        train_into(small(preference="common"), whole, resume=True)
    with pytest.raises(BadArgument, match="lanes"):
        train_into(small(settings={"lanes": 8}), whole, resume=True)
    assert before == files(whole) | {"manifest": (whole / "manifest.json").read_bytes()}


def test_two_cannot_train_in_one_folder(tmp_path):
    assert not train_into(small(), tmp_path / "run", seconds=0.0, tensorboard=False)
    rows = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    other = FolderLock(tmp_path / "run").take()
    with pytest.raises(FolderInUse, match="process"):
        train_into(small(), tmp_path / "run", resume=True, tensorboard=False)
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == rows
    other.close()
    assert train_into(small(), tmp_path / "run", resume=True, tensorboard=False)


def test_a_finished_run_has_nothing_left_to_do(whole):
    before = files(whole)
    assert train_into(small(), whole, resume=True, tensorboard=False, on_progress=lambda now: 1 / 0)
    assert files(whole) == before


def test_there_is_nothing_to_go_on_with_where_nothing_began(tmp_path):
    with pytest.raises(CannotRead, match="holds no run"):
        train_into(small(), tmp_path / "nowhere", resume=True)
    (tmp_path / "manifest.json").write_text('{"config": {"world": "coins-v0"}}')
    with pytest.raises(CannotRead, match="sociarium train"):
        plan_of(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": 0}, "steps"),
        ({"seeds": ()}, "seeds"),
        ({"seeds": (1, 1)}, "seeds"),
        ({"settings": {"lanes": 0}}, "lanes"),
        ({"settings": {"lanes": 999999999999999}}, "at most 1,048,576 lanes"),
        ({"settings": {"num_minibatches": 3}}, "num_minibatches"),
        ({"others": "random*2"}, "no seat"),
        ({"preference": "svo:90 svo:90 svo:90"}, "one for each"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_at_once(changes, words, tmp_path):
    with pytest.raises(BadArgument, match=words):
        train_into(small(**changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()
