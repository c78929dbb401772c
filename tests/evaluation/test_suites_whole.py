"""Suites as people run them: planted effects are found, and killing them loses nothing."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from sociarium.cli.evaluate import Evaluate
from sociarium.cluster import LocalWorkers
from sociarium.core.errors import BadArgument
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack_file import PAGE, REPORT
from sociarium.evaluation.private_split import SECRET, commitment, private_split
from sociarium.evaluation.report import render_report
from sociarium.evaluation.suite import Suite, read_suite
from sociarium.evaluation.suite_estimate import estimate_suite
from sociarium.evaluation.suite_run import SuiteRun
from sociarium.evaluation.suite_workers import in_workers
from sociarium.language.models.config import Models

GRUDGE = "agent:tests.evaluation.planted:Grudge"
FAKE = "fake?level=greedy"
PD, SECRET_TEXT = "matrix?rounds=6", "a secret of some length"


def suite(*arms, measure="return", **defaults):
    told = [
        {"id": f"arm-{n}", "world": world, "charter": charter, "seats": seats, "terms": defaults}
        for n, (world, charter, seats) in enumerate(arms)
    ]
    metric = {"id": "measured", "measure": measure}
    return Suite.model_validate({"id": "small", "title": "x", "arm": told, "metric": [metric]})


def played(suite, models, folder, **how):
    run = SuiteRun(suite, models, folder)
    run.begin()
    return Findings(suite, run.units, run.play(**how))


def test_a_planted_share_of_orders_at_one_seat_is_reported_with_its_interval(tmp_path):
    arm = ("commons?players=4", "sanction?free=1", "script:sustainable {model} idle*2")
    planted = suite(arm, measure="aimed:punished:0", seeds=12, rotate=False)
    (cell,) = played(planted, [GRUDGE], tmp_path).cells
    assert cell.estimate.low < 0.86 < cell.estimate.high and cell.estimate.low > 0.5
    assert cell.seeds == 12


def test_several_processes_find_what_one_finds(tmp_path):
    whole = suite((PD, "", "{model} script:grim"), ("matrix", "", "{model}*2"), seeds=1)
    one = played(whole, [FAKE, "script:cooperator"], tmp_path / "one")
    run = SuiteRun(whole, [FAKE, "script:cooperator"], tmp_path / "two")
    run.begin()
    two = Findings(whole, run.units, run.play(apart=in_workers(run, LocalWorkers(2), None)))
    assert one.as_dict() == two.as_dict() and len(one.results) == 4


def killed(words, seconds):
    """Starts a command, and kills it after so long with all that it started."""
    started = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()


def test_killed_twice_and_resumed_the_report_is_byte_equal(tmp_path):
    asked = {"only": ("pd-none",), "seeds": 4}
    words = ["evaluate", "mechanisms", "--only", "pd-none", "--seeds", "4", "--model", FAKE]
    words = [sys.executable, "-m", "sociarium.cli.main", *words, "--jobs", "2"]
    Evaluate("mechanisms", (FAKE,), **asked, out=tmp_path / "whole").run()
    lot = random.Random(time.time())
    for _ in range(2):
        killed([*words, "--out", tmp_path / "killed"], lot.uniform(1.5, 8))
    Evaluate("mechanisms", (FAKE,), **asked, out=tmp_path / "killed").run()
    for name in (REPORT, PAGE):
        one, two = ((tmp_path / folder / name).read_bytes() for folder in ("whole", "killed"))
        assert one == two


def test_a_private_split_is_drawn_by_its_secret_alone():
    public = read_suite("strangers")
    one, two = (private_split(public, SECRET_TEXT, 1) for _ in range(2))
    assert one == two and one.id == "strangers-private"
    other, another = (private_split(public, *told) for told in ((SECRET_TEXT, 2), ("x" * 20, 1)))
    assert len({suite.digest for suite in (public, one, other, another)}) == 4
    by_id = {arm.id: arm for arm in public.arm}
    for arm in one.arm:
        assert arm.world == by_id[arm.id].world and arm.free == by_id[arm.id].free
        assert len(arm.seated(["random"] * arm.free)[0]) == len(
            by_id[arm.id].seated(["random"] * arm.free)[0]
        )
    assert len({arm.terms.first_seed for arm in one.arm}) == len(one.arm)


def test_the_secret_of_a_private_split_is_written_nowhere(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(SECRET, SECRET_TEXT)
    only = ("matrix-visitor-grim",)
    Evaluate("strangers", ("idle",), 2, only, private=1, out=tmp_path / "run").run()
    files = [file for file in (tmp_path / "run").rglob("*") if file.is_file()]
    assert files and not any(SECRET_TEXT.encode() in file.read_bytes() for file in files)
    manifest = (tmp_path / "run" / "manifest.json").read_text()
    assert commitment(SECRET_TEXT, 1) in manifest and SECRET_TEXT not in capsys.readouterr().out
    monkeypatch.setenv(SECRET, "another of that length")
    with pytest.raises(BadArgument, match="begun with another"):
        Evaluate("strangers", ("idle",), 2, only, private=1, out=tmp_path / "run").run()
    monkeypatch.setenv(SECRET, "short")
    with pytest.raises(BadArgument, match="at least 16 characters"):
        Evaluate("strangers", ("idle",), 2, only, private=1, out=tmp_path / "run").run()


def test_a_suite_without_partners_has_no_private_split():
    with pytest.raises(BadArgument, match="nothing private"):
        private_split(suite((PD, "", "{model}*2")), SECRET_TEXT, 1)


def test_what_a_suite_asks_of_models_is_estimated_from_a_few_steps(tmp_path):
    run = SuiteRun(suite((PD, "", "{model} script:grim"), seeds=3), [FAKE, "idle"], tmp_path)
    found = estimate_suite(run, Models())
    assert (found.episodes, found.asked, found.decisions) == (6, 3, 18)
    assert found.input_tokens > 0 and found.seconds > 0
    run.begin()
    run.play()
    assert estimate_suite(run, Models()).decisions == 0


def test_decisions_that_failed_are_counted_and_told(tmp_path):
    arm = ("commons?players=4", "", "script:sustainable {model} idle*2")
    found = played(
        suite(arm, seeds=2, rotate=False), [GRUDGE, "idle"], tmp_path
    )  # nobody to punish
    (failed,) = found.failures
    assert (failed.model, failed.failures, failed.decisions) == (GRUDGE, 120, 120)
    page = render_report(found, {})
    assert "Decisions that failed" in page and "100.0%" in page
