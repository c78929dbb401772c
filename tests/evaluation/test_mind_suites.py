"""Suites about minds: planted players are reported as what they are, and killing loses nothing."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import pytest

from sociarium.cli.evaluate import Evaluate
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack_file import PAGE, REPORT
from sociarium.evaluation.report import render_report
from sociarium.evaluation.suite import Suite, contestant, read_suite
from sociarium.evaluation.suite_run import SuiteRun, UnitResult, units
from sociarium.language.models.function_model import FunctionModel
from sociarium.language.models.runtime import use_models

GREEDY, KIND = "fake?level=greedy", "fake?goal=cooperate"
NAMED = " ".join(f"{{model?mind=cot&name={name}}}" for name in ("Juan", "Laura", "Pedro"))
BESIDE = "{model?mind=cot&name=Juan} {model?mind=cot&name=Pedro} script:defector*2"
METRICS = {
    "return": "return",
    "at_pedro": "ordered:zap:Pedro",
    "hits_of_pedro": "aimed:zapped:Pedro",
    "take": "last_apples:take",
    "take_other": "last_apples:take_other",
    "restraint": "last_apples:restraint",
    "tokens": "tokens",
}


def suite(arms, hypotheses=(), curves=(), **terms):
    terms = {"clock": "turns:2", "privileged": ("pose", "score"), **terms}
    return Suite.model_validate(
        {
            "id": "small",
            "title": "small",
            "arm": [
                {"id": id, "world": world, "seats": seats, "terms": terms}
                for id, (world, seats) in arms.items()
            ],
            "metric": [{"id": id, "measure": measure} for id, measure in METRICS.items()],
            "hypothesis": hypotheses,
            "curve": curves,
        }
    )


def played(suite, models, folder, seeds=None):
    run = SuiteRun(suite, models, folder, seeds)
    run.begin()
    return Findings(suite, run.units, run.play())


def cells(found, arm, model):
    return {cell.metric: cell for cell in found.cells if (cell.arm, cell.model) == (arm, model)}


def aims_at_pedro(share):
    """Zaps where it can choose between two players: with this chance Pedro. Else it looks about."""

    def answer(request):
        orders = {i.id for i in request.menu.items if i.fields.get("skill") == "zap"}
        choice = "turn left"
        if len(orders) == 2 and "zap Pedro" in orders:
            lot = random.Random(str((request.address, request.percept.name, request.seed)))
            others = sorted(orders - {"zap Pedro"})
            choice = "zap Pedro" if lot.random() < share else lot.choice(others)
        return {"thought": "", "choice": choice}

    return FunctionModel(answer)


def test_a_planted_grudge_is_reported_as_the_share_of_orders_at_its_target(tmp_path):
    level = {"id": "h10", "says": "x", "metric": "at_pedro", "test": "greater", "arms": ["one"]}
    small = suite(
        {"one": ("harvest_one_tree", NAMED)}, [{**level, "level": 0.5}], ends=["rounds:30"], seeds=5
    )
    with use_models({"grudge": aims_at_pedro(0.86)}):
        found = played(small, ["grudge"], tmp_path)
    cell = cells(found, "one", "grudge")["at_pedro"]
    assert cell.estimate.low < 0.86 < cell.estimate.high
    assert abs(cell.estimate.mean - 0.86) < 0.1
    (verdict,) = found.hypotheses
    assert verdict.effect.above_zero and verdict.about == "one with grudge"
    assert not found.machinery_check


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    hypotheses = [
        {"id": "h1", "says": "x", "untested": "nobody talks", "published": "8.4, n = 10"},
        {
            "id": "h2",
            "says": "x",
            "metric": "take",
            "test": "less",
            "models": [KIND, GREEDY],
            "published": "less; n = 3",
        },
    ]
    curves = [
        {"id": "apples", "measure": "gauge:apples", "of": ["all"]},
        {"id": "reward", "measure": "return", "of": ["focal", "others"], "points": 6},
    ]
    small = suite(
        {"six": ("harvest_six_trees", BESIDE), "one": ("harvest_one_tree", BESIDE)},
        hypotheses,
        curves,
        ends=["rounds:60"],
        params={"horizon": 5000},
        seeds=2,
    )
    folder = tmp_path_factory.mktemp("beside")
    return played(small.chosen(("six",)), [KIND, GREEDY], folder)


def test_who_never_takes_a_last_apple_is_reported_so(beside):
    kind, greedy = (cells(beside, "six", model) for model in (KIND, GREEDY))
    assert kind["take"].estimate.mean == 0 and kind["take_other"].estimate.mean > 0
    assert kind["restraint"].estimate.mean == 1
    assert greedy["take"].estimate.mean > 0.3
    assert greedy["restraint"].estimate.mean < 0.7


def test_what_is_undefined_is_no_zero(beside):
    hits = cells(beside, "six", KIND)["hits_of_pedro"].estimate
    assert hits.mean != hits.mean and (hits.low, hits.high) == (0, 1)
    assert not any(value != value for one in beside.results for value in one.values.values())


def test_hypotheses_say_what_was_published_and_what_was_not_tested(beside):
    untested, tested = beside.hypotheses[0], beside.hypotheses[1:]
    assert (untested.verdict, untested.why) == ("not tested", "nobody talks")
    assert {one.about.split(" in ")[1] for one in tested} == {"six"}
    assert [one.published for one in beside.hypotheses] == ["8.4, n = 10", "less; n = 3"]


def test_curves_go_by_rounds_and_stand_in_the_report(beside):
    lines = {(one.curve, one.model, one.side): one for one in beside.curves}
    apples = lines["apples", GREEDY, "all"]
    assert apples.axis == "rounds" and apples.at[-1] == 60 and len(apples.at) == 21
    assert apples.means[0].mean == 64 > apples.means[-1].mean
    mine, others = (lines["reward", KIND, side] for side in ("focal", "others"))
    assert mine.means[0].mean == 0 and others.means[-1].mean > mine.means[-1].mean
    end = cells(beside, "six", KIND)["return"].estimate.mean
    assert mine.means[-1].mean == pytest.approx(end)


def test_the_page_says_what_was_not_run_and_that_no_model_played(beside):
    page = render_report(beside, {})
    assert "Machinery check: no language model played." in page
    assert "No language model played: these verdicts are about scripts." in page
    assert "not run" in page and "<dt>Not run</dt><dd>one</dd>" in page
    assert "published: 8.4, n = 10" in page and "nobody talks" in page
    verdicts = [one.verdict for one in beside.hypotheses]
    assert f"{verdicts.count('not tested')} not tested" in page.partition("<main>")[0]
    assert page == render_report(beside, {})
    told = beside.as_dict()
    assert told["machinery_check"] and told["not_run"] == ["one"]


def test_arms_that_are_left_out_leave_hypotheses_untested():
    whole = read_suite("melting_pot_llm")
    part = whole.chosen(("s1", "s2"))
    told = {one.id: one.untested for one in part.hypothesis}
    assert told["h1a"] == "" and told["h3"] == "not run: s4" and "communicates" in told["h13"]
    assert len(told) == len(whole.hypothesis) and "s10" in part.left_out


def test_the_study_has_its_scenarios_its_hypotheses_and_what_was_published():
    whole = read_suite("melting_pot_llm")
    assert {f"s{n}" for n in range(1, 11)} <= {arm.id for arm in whole.arm}
    numbers = {re.match(r"h\d+", one.id)[0] for one in whole.hypothesis}
    assert numbers == {f"h{n}" for n in range(1, 14)}
    assert all(one.published for one in whole.hypothesis)
    for arm in whole.arm:
        assert arm.terms.params["horizon"] == 5000 and "rounds:100" in arm.terms.ends
        assert (arm.terms.clock, arm.terms.privileged) == ("turns:2", ("pose", "score"))
        assert arm.free in (2, 3)
    nobody_hit = whole.find_arm("s1-no_zap").terms.params
    assert nobody_hit["zap"] is False and "our raiders" in whole.find_arm("s9").demands


def test_what_arms_tell_contestants_is_not_taken_for_a_difference_of_partners():
    for name, worlds in (("melting_pot_llm", 0), ("strangers", 4)):
        whole, models = read_suite(name), ("idle",)
        every = units(whole, models, 3)
        done = {
            one.key: UnitResult(one.key, *one.place, 1, {"return": float(one.seed)})
            for one in every
        }
        assert len(Findings(whole, every, done).interdependence) == worlds


def test_values_that_differ_by_rounding_alone_have_verdicts_and_no_seeds_needed():
    whole, models = read_suite("adasociety_llm"), ("fake?level=greedy",)
    every = units(whole, models, 6)
    done = {
        one.key: UnitResult(
            one.key, *one.place, 1, {"return": 1.0, "optimum": (0.3, 0.1 + 0.2)[one.seed % 2]}
        )
        for one in every
    }
    found = {one.id: one for one in Findings(whole, every, done).hypotheses}
    assert found["h14-contract_easy"].needed is None
    assert found["h14-contract_easy"].effect.mean == pytest.approx(0.3 - 0.2286)
    assert found["exchanged-contract_hard"].why == "the values are identical"


def test_the_mini_games_have_controls_and_published_values():
    whole = read_suite("adasociety_llm")
    tasks = {arm.factors["place"] for arm in whole.arm}
    recipes = {"hidden", "told", "told, names exchanged"}
    assert len(tasks) == 5 and {arm.factors["recipes"] for arm in whole.arm} == recipes
    swapped = {arm.factors["place"] for arm in whole.arm if "names=exchanged" in arm.world}
    assert swapped == tasks and len(whole.arm) == 3 * len(tasks)
    assert {arm.terms.always for arm in whole.arm} == {("fake?level=random", "fake?level=greedy")}
    told = {one.id: one for one in whole.hypothesis}
    assert all("0." in told[f"h14-{task}"].published for task in tasks)
    assert all(told[f"exchanged-{task}"].test == "equivalent" for task in tasks)
    assert told["h14-social_structure_hard"].untested and told["h14-contract_easy"].level == 0.2286


def test_names_of_seats_go_to_every_kind_of_contestant():
    options = "?mind=generative&name=Pedro"
    assert contestant("small", options) == "llm:small?mind=generative&name=Pedro"
    assert contestant("script:raider", options) == "script:raider?name=Pedro"
    assert contestant("level:greedy", options, "coins") == "script:defector?name=Pedro"


def killed(words, seconds):
    started = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()


@pytest.mark.slow
def test_killed_twice_and_resumed_the_report_is_byte_equal(tmp_path):
    text = read_packaged_text().replace("rounds:100", "rounds:3")
    (tmp_path / "short.toml").write_text(text)
    asked = {"only": ("s1", "s9", "s10"), "seeds": 2}
    path = str(tmp_path / "short.toml")
    Evaluate(path, (GREEDY,), **asked, out=tmp_path / "whole").run()
    words = [sys.executable, "-m", "sociarium.cli.main", "evaluate", path, "--model", GREEDY]
    words += ["--only", *asked["only"], "--seeds", "2", "--jobs", "2", "--out"]
    lot = random.Random(time.time())
    for _ in range(2):
        killed([*words, str(tmp_path / "killed")], lot.uniform(6, 20))
    Evaluate(path, (GREEDY,), **asked, out=tmp_path / "killed").run()
    for name in (REPORT, PAGE):
        one, two = ((tmp_path / folder / name).read_bytes() for folder in ("whole", "killed"))
        assert one == two


def read_packaged_text():
    file = resources.files("sociarium.evaluation") / "suites" / "melting_pot_llm.toml"
    return file.read_text()


def test_one_trained_policy_supports_no_hypothesis_about_learners():
    """However many episodes it plays: the unit of such a claim is the training seed."""
    whole = read_suite(Path(__file__).parents[2] / "examples/suites/proagent_learned.toml")
    (policy,) = (name for name in whole.arm[0].terms.roster if name.startswith("policy:"))
    models = ("fake?level=greedy", "fake?level=random")
    every = units(whole, models, 30)
    points = {policy: 180.0, "script:cook": 160.0}
    done = {
        one.key: UnitResult(
            one.key, *one.place, 1, {"return": points.get(one.model, 0.0) + one.seed % 3}
        )
        for one in every
    }
    found = {one.id: one for one in Findings(whole, every, done).hypotheses}
    learned = found["learned-cook"]
    assert learned.p < 0.001 and learned.effect.above_zero and learned.verdict == "inconclusive"
    assert "one training seed" in learned.why
    assert {one.verdict for one in found.values()} == {"inconclusive"}
