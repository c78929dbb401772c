"""Work for a cluster, by workers that are this process: JSON goes out, and comes back mixed up."""

import dataclasses
import importlib.util
import json
import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

from sociarium import cluster
from sociarium.cli.evaluate import Evaluate
from sociarium.cli.reproduce import Reproduce
from sociarium.cli.study import command_class
from sociarium.cli.sweep import Sweep
from sociarium.cluster import RayCluster, RayWorkers, parse_engine
from sociarium.core.errors import BadArgument, FolderInUse, MissingExtra
from sociarium.evaluation import suite_workers
from sociarium.evaluation.experiments.cells import CELLS
from sociarium.learning import studies
from sociarium.learning.studies import Cell, Study
from sociarium.learning.training import Plan
from sociarium.views.progress import WorkProgress
from tests.test_many_machines import TINY, keys
from tests.toys.takers import LISTED

SETTINGS = {"lanes": 4, "num_steps": 16, "num_minibatches": 2, "epochs": 1}
SET = tuple(f"{name}={value}" for name, value in SETTINGS.items())


class HereWorkers(RayWorkers):
    """Plays parts in this process, the last first."""

    at_once = 2

    def __init__(self, most=1000):
        self.most, self.played = most, 0

    def play(self, begin, given, parts, *, processors=1, on_standing=lambda *there: None):
        play = begin(given)
        for part in reversed(list(parts)):
            if self.played == self.most:
                raise KeyboardInterrupt
            self.played += 1
            on_standing(1, 1, 0.5)
            yield part, play(part.told, lambda share: None)

    def close(self):
        self.most = 0


@pytest.fixture
def here(monkeypatch):
    """What `--on ray` connects to, one after the other."""
    given, find = [], importlib.util.find_spec
    there = lambda name, *at: find("json" if name == "ray" else name, *at)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", there)
    monkeypatch.setattr(RayCluster, "connect", lambda self: given.pop(0))
    monkeypatch.setattr(suite_workers, "use_cluster_limits", lambda: None)
    monkeypatch.setattr(*LISTED)
    return given


def last_json(capsys):
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def test_a_suite_in_parts_goes_on_where_its_command_was_stopped(here, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    asked = Evaluate(str(tmp_path / "tiny.toml"), ("script:grim",), out=tmp_path / "one")
    asked.run()
    there = dataclasses.replace(asked, out=tmp_path / "two", on="ray")
    here += [HereWorkers(1), HereWorkers()]
    with pytest.raises(KeyboardInterrupt):
        there.run()
    assert 0 < len(keys(tmp_path / "two")) < 10
    there.run()
    assert len(set(keys(tmp_path / "two"))) == len(keys(tmp_path / "two")) == 10
    there.run()  # nothing is left, and nobody is connected to
    one, two = (tmp_path / name / "report.json" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_the_table_of_a_sweep_is_byte_equal(here, tmp_path):
    grid, sizes = (("preference=selfish,common", "gamma=0.9,0.99"),), (SET,)
    asked = Sweep("ippo", "taking", grid, steps=64, settings=sizes, out=tmp_path / "one")
    asked.run()
    there = dataclasses.replace(asked, out=tmp_path / "two", on="ray")
    here += [HereWorkers(3), HereWorkers()]
    left = here[-1]
    with pytest.raises(KeyboardInterrupt):
        there.run()
    there.run()
    assert left.played == 1
    for file in ("sweep.json", "preference=common,gamma=0.9/metrics.jsonl"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_pairs_of_a_crossplay_earn_what_they_earn_in_one_batch(here, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seats = "script:tit_for_tat script:defector random"
    world = "matrix?game=prisoners_dilemma&rounds=4"
    asked = command_class("crossplay")(world, 3, seats=seats, json=True)
    asked.run()
    whole = last_json(capsys)
    there = dataclasses.replace(asked, on="ray", store=tmp_path / "store")
    here += [HereWorkers(1), HereWorkers()]
    with pytest.raises(KeyboardInterrupt):
        there.run()
    lines = (tmp_path / "store" / CELLS).read_bytes()
    assert 0 < len(lines.splitlines()) < 54
    there.run()
    assert last_json(capsys) == whole
    kept = (tmp_path / "store" / CELLS).read_bytes()
    assert kept.startswith(lines) and len(kept.splitlines()) == 3 * 3 * 2 * 3


def test_a_study_trains_partners_before_who_learns_beside_them(here, tmp_path, capsys, monkeypatch):
    plan = Plan("ippo", "taking-v0", "selfish", 192, (0,), settings=SETTINGS)
    beside = Cell("taking", "beside", plan, population="pool")
    cells = (beside, Cell("taking", "pool", dataclasses.replace(plan, snapshots=2)))
    monkeypatch.setattr(studies, "STUDIES", {"tiny:fig1": Study("A study", "Nobody", cells)})
    asked = Reproduce("tiny:fig1", "1h", tmp_path / "two", episodes=1, on="ray", json=True)
    here += [HereWorkers()]
    asked.run()
    rows = last_json(capsys)["runs"]
    assert [row["state"] for row in rows] == ["finished", "finished"]
    assert all("collective" in row for row in rows)


def test_what_is_timed_by_the_clock_is_refused_on_a_cluster(here, tmp_path):
    with pytest.raises(BadArgument, match="mindagent:bounds is made on one machine"):
        Reproduce("mindagent:bounds", "1h", tmp_path, on="ray").run()


@pytest.mark.parametrize("text", ["", "ray:", "slurm", "ray:ray://host:1", "local:x"])
def test_an_engine_that_there_is_not_is_refused(text):
    with pytest.raises(BadArgument, match="--on is local, ray"):
        parse_engine(text)


@pytest.mark.parametrize("spec", [None, ModuleSpec("ray", None)])  # a folder of that name
def test_without_the_extra_it_is_named(spec, monkeypatch):
    assert parse_engine("local") is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(MissingExtra, match=r'pip install "[^"]+\[ray\]"'):
        parse_engine("ray:auto")


def test_an_address_at_which_nobody_answers_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(cluster, "import_ray", lambda: None)
    for address in ("127.0.0.1:1", "127.0.0.1:x"):
        with pytest.raises(BadArgument, match=f"no Ray cluster at {address}"):
            RayCluster(address).connect()


def test_nothing_imports_ray_unless_it_is_asked_for():
    words = "import sys, sociarium, sociarium.cli.evaluate, sociarium.cli.sweep\n"
    words += "import sociarium.cli.study, sociarium.cli.reproduce\nprint('ray' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


def test_processes_and_a_cluster_are_not_asked_for_together(here, tmp_path):
    with pytest.raises(BadArgument, match="--jobs"):
        Evaluate("strangers", ("idle",), jobs=2, on="ray", out=tmp_path).run()


def test_a_part_waits_for_a_folder_that_a_lost_worker_still_holds(monkeypatch):
    monkeypatch.setattr(cluster, "BEAT", 0.01)
    tries = []

    def play():
        tries.append(1)
        if len(tries) < 3:
            raise FolderInUse("in use")
        return "played"

    assert cluster._released(play) == "played" and len(tries) == 3
    monkeypatch.setattr(cluster, "RELEASED", 0.0)
    tries.clear()
    with pytest.raises(FolderInUse):
        cluster._released(play)


def test_a_machine_with_other_versions_or_without_the_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    usual = cluster.versions()
    cluster._check_machine(str(tmp_path), usual)
    with pytest.raises(BadArgument, match=r"the first one jax 0\.0\.1"):
        cluster._check_machine(str(tmp_path), {**usual, "jax": "0.0.1"})
    with pytest.raises(BadArgument, match="does not see the folder"):
        cluster._check_machine(str(tmp_path / "nowhere"), usual)


def test_the_bar_counts_shares_of_units_and_says_who_is_there():
    shown = []
    bar = WorkProgress(lambda *told: shown.append(told))
    bar.units(3, 10)
    bar.there(2, 4, 1.5)
    assert shown[-1] == (4.5, 10, "3 of 10 units, machines 2, workers 4")
    bar.units(10, 10)
    assert shown[-1][0] == 10
