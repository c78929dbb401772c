"""Suites: experiments as files, whose units are played once whatever happens in between."""

import json

import numpy as np
import pytest

from sociarium.arena.rollout import rollout
from sociarium.cli.evaluate import Evaluate
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite, FolderInUse, UnknownName
from sociarium.evaluation import suite_run
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack_file import PAGE, REPORT
from sociarium.evaluation.suite import built_in, contestant, may_be_model, read_suite
from sociarium.evaluation.suite_run import UNITS, SuiteRun, environment
from sociarium.language.models.config import ModelConfig, Models
from sociarium.language.models.runtime import ModelRuntime, use_runtime

TEXT = """
[suite]
title = "A small one"

[defaults]
seeds = 4
steps = 30
low = "random?legal=1"
high = "script:defector"

[[metric]]
id = "return"
measure = "return"

[[metric]]
id = "taken"
measure = "aimed:took_other:0"

[[metric]]
id = "welfare"
measure = "collective_return"
of = "all"

[[arm]]
id = "kind"
world = "coins"
seats = "{model} script:cooperator"

[[arm]]
id = "unkind"
world = "coins"
seats = "{model} script:defector"

[[arm]]
id = "scripts"
world = "coins"
seats = "script:cooperator*2"

[[hypothesis]]
id = "h1"
says = "it pays to be among the kind"
metric = "return"
test = "greater"
arms = ["kind", "unkind"]

[[hypothesis]]
id = "h2"
says = "a player is equal to itself"
metric = "return"
test = "equivalent"
arms = ["kind", "kind"]
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("suites") / "small.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def run(file, tmp_path_factory):
    run = SuiteRun(read_suite(file), ["script:cooperator"], tmp_path_factory.mktemp("out"))
    run.begin()
    run.play()
    return run


def test_contestants_are_aliases_of_models_or_seats():
    assert contestant("fake?level=greedy", "?mind=cot") == "llm:fake?level=greedy&mind=cot"
    assert contestant("mine", "?mind=cot") == "llm:mine?mind=cot"
    assert contestant("script:cooperator", "?mind=cot") == "script:cooperator"
    assert contestant("random") == "random"
    assert contestant("level:greedy", "?mind=cot", "clean_up?players=3") == "script:defector"
    assert contestant("level:best", "", "overcooked-v0") == "script:cook"
    with pytest.raises(BadArgument, match="seats for a contestant"):
        contestant("")


@pytest.mark.parametrize(
    ("seat", "said"),
    [
        *(("fake?act=small", True), ("small?act=fake", False), ("small", True), ("fake", False)),
        *(("llm:fake?level=best*2", False), ("llm:small*2", True), ("{model}*2", False)),
        *(("agent:mine.py:decide", True), ("script:cooperator", False), ("level:greedy", False)),
    ],
)
def test_a_fake_is_known_by_the_model_that_acts(seat, said):
    assert may_be_model(seat) is said


@pytest.mark.parametrize("seats", [" ", "script:cooperator*0", "{model}*0"])
def test_an_arm_without_seats_is_refused(seats, file):
    arm = read_suite(file).find_arm("kind").model_copy(update={"seats": seats})
    with pytest.raises(BadArgument, match="kind has no seats"):
        arm.seated()


def test_seats_turn_with_the_seed(file):
    arm = read_suite(file).find_arm("kind")
    (one, who), (two, turned) = arm.seated(["idle"], 0), arm.seated(["idle"], 1)
    assert [seat.kind for seat in one] == ["idle", "script"] and who == ("idle", "")
    assert [seat.kind for seat in two] == ["script", "idle"] and turned == ("", "idle")


def test_an_arm_is_the_episodes_that_are_played_alone(run):
    unit = next(u for u in run.units if u.arm.id == "unkind" and u.seed == 3)
    alone = rollout(environment(unit.arm), list(unit.chairs), seed=3, steps=30)
    found = run.done()[unit.key].values
    assert found["return"] == alone.raw_returns[unit.focal[0]]
    assert found["welfare"] == alone.raw.sum()
    took = [row for row in alone.events if row.kind == "took_other"]
    mine = [row for row in took if row.actor in unit.focal]
    assert found["taken"] == (sum(row.target == 0 for row in mine), len(mine))


def test_what_is_done_is_not_done_again_and_a_torn_line_is(run, file, monkeypatch):
    before = run.done()
    monkeypatch.setattr(suite_run, "batch", None)
    assert run.play() == before
    monkeypatch.undo()
    text = (run.out / UNITS).read_bytes()
    lines = text.splitlines(keepends=True)
    (run.out / UNITS).write_bytes(b"".join(lines[:-2]) + lines[-2][:20])
    assert len(run.done()) == len(before) - 2
    assert run.play() == before == run.done()


def test_a_flipped_digit_in_a_line_is_played_again(run):
    before, text = run.done(), (run.out / UNITS).read_bytes()
    at = text.index(b'"steps": ') + len(b'"steps": ')
    flipped = bytes([text[at] ^ 1])
    (run.out / UNITS).write_bytes(text[:at] + flipped + text[at + 1 :])
    assert len(run.done()) == len(before) - 1
    assert run.play() == before == run.done()


def test_a_second_run_in_one_folder_is_refused(file, tmp_path):
    one, two = (SuiteRun(read_suite(file), ["idle"], tmp_path / "x") for _ in range(2))
    refused = []

    def begin_again(done, total):
        for again in (two.begin, two.play):
            with pytest.raises(FolderInUse, match="in use by process"):
                again()
            refused.append(again)

    one.begin()
    one.play(begin_again)
    assert refused
    two.begin()
    assert two.play() == one.done()


def test_a_folder_that_cannot_be_written_is_named(file, tmp_path):
    with pytest.raises(CannotWrite, match=r"Cannot write .*suite"):
        SuiteRun(read_suite(file), ["idle"], file / "run").begin()


def test_a_change_of_an_arm_is_another_unit(file, tmp_path):
    changed = tmp_path / "small.toml"
    changed.write_text(TEXT.replace('seats = "{model} script:defector"', 'seats = "{model} idle"'))
    one, two = (SuiteRun(read_suite(f), ["idle"], tmp_path / "x") for f in (file, changed))
    keys = [
        {u.key for u in r.units if u.arm.id == arm}
        for r in (one, two)
        for arm in ("kind", "unkind")
    ]
    assert keys[0] == keys[2] and not keys[1] & keys[3]
    one.begin()
    with pytest.raises(BadArgument, match="another digest"):
        two.begin()


def test_controls_score_0_and_1_and_hypotheses_are_judged(run):
    found = Findings(run.suite, run.units, run.done())
    scores = {(c.arm, c.model): c.score for c in found.cells if c.metric == "return" and c.score}
    assert (
        scores["kind", "random?legal=1"].mean == 0 and scores["kind", "script:defector"].mean == 1
    )
    findings = found.hypotheses
    assert {f.verdict for f in findings if f.id == "h2"} == {"supported"}
    assert all(f.adjusted is None or f.adjusted >= f.p for f in findings)
    first = next(f for f in findings if f.id == "h1" and "cooperator" in f.about)
    kind, unkind = (found.values(arm, "script:cooperator", "return") for arm in ("kind", "unkind"))
    assert first.effect.mean == pytest.approx(
        np.mean(list(kind.values())) - np.mean(list(unkind.values()))
    )
    assert json.loads(json.dumps(found.as_dict()))["suite"] == "small"


def test_fakes_go_the_long_way_and_earn_what_their_scripts_earn(file, tmp_path):
    run = SuiteRun(read_suite(file).chosen(("kind",)), ["fake?level=greedy"], tmp_path, seeds=2)
    run.begin()
    found = Findings(run.suite, run.units, run.play())
    fake, script = (
        found.values("kind", who, "return") for who in ("fake?level=greedy", "script:defector")
    )
    assert fake == script
    (run.out / UNITS).unlink()  # as if killed before it was written: matches are not played again
    again = Findings(run.suite, run.units, run.play())
    assert again.as_dict() == found.as_dict()


def test_the_command_prints_and_writes_a_report(file, tmp_path, capsys):
    Evaluate(str(file), ("script:cooperator",), seeds=2, only=("kind",), out=tmp_path / "r").run()
    out = capsys.readouterr().out
    assert "6 episodes in 1 arms, 6 to play" in out and "script:cooperator" in out
    first = (tmp_path / "r" / "report.json").read_bytes()
    Evaluate(str(file), ("script:cooperator",), seeds=2, only=("kind",), out=tmp_path / "r").run()
    assert (tmp_path / "r" / "report.json").read_bytes() == first
    Evaluate().run()
    assert "strangers" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('id = "unkind"', 'id = "kind"'), "the arm kind is there twice"),
        (('metric = "return"', 'metric = "wealth"'), "metrics are"),
        (('arms = ["kind", "unkind"]', 'arms = ["kind", "gone"]'), "which is not there"),
        (("steps = 30", "steps = 0"), "greater than or equal to 1"),
        (('world = "coins"', 'world = "coins"\ncolour = 3'), "colour"),
        (('arms = ["kind", "unkind"]', 'arms = ["kind"]'), "compares two arms"),
        (('arms = ["kind", "unkind"]', 'models = ["idle"]'), "or two models"),
        (('arms = ["kind", "unkind"]', 'arms = ["kind"]\nlevel = 1\nthan = "taken"'), "a level"),
        (('metric = "return"', ""), "needs a metric and a test"),
        (('seats = "{model}', 'seats = "{model}*100000000 {model}'), "at most 10,000 seats"),
        (("[defaults]", 'prepare = ["rm -r x"]\n[defaults]'), "prepare"),
    ],
)
def test_a_file_that_is_no_suite_is_refused_with_the_reason(tmp_path, change, told):
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT.replace(*change))
    with pytest.raises(CannotRead, match=told):
        read_suite(path)


def test_every_suite_of_the_package_can_be_seated():
    for name in built_in():
        suite = read_suite(name)
        assert len({arm.id for arm in suite.arm}) == len(suite.arm)
        for arm in suite.arm:
            assert environment(arm).players == len(arm.seated(["random"] * arm.free)[0])
    with pytest.raises(UnknownName, match="strangers"):
        read_suite("stranger")


def test_some_arms_of_a_suite_are_another_suite():
    suite = read_suite("strangers")
    assert suite.digest != suite.chosen((suite.arm[0].id,)).digest


def test_arms_that_may_end_early_do_so_for_everybody(tmp_path):
    (tmp_path / "early.toml").write_text(TEXT.replace("steps = 30", 'ends = ["rounds:7"]'))
    suite = read_suite(tmp_path / "early.toml").chosen(("scripts",))
    run = SuiteRun(suite, [], tmp_path / "x", 1)
    run.begin()
    assert [one.steps for one in run.play().values()] == [7]


def test_other_ends_are_another_suite_and_the_page_says_so(file, tmp_path, capsys):
    run = Evaluate(str(file), only=("scripts",), seeds=1, ends=("rounds:7",), out=tmp_path / "x")
    run.run()
    assert "matches ended by rounds:7, not as the suite says" in capsys.readouterr().out
    report, page = ((tmp_path / "x" / name).read_text() for name in (REPORT, PAGE))
    assert json.loads(report)["other_ends"] == ["rounds:7"]
    assert "rounds:7, not as the suite says" in page and "--ends rounds:7 --seeds 1" in page
    units = (tmp_path / "x" / UNITS).read_text().splitlines()
    assert [json.loads(one)["steps"] for one in units] == [7]
    suite = read_suite(file)
    assert suite.ending(("rounds:7",)).digest != suite.digest == suite.ending(()).digest
    with pytest.raises(UnknownName, match="rainfall"):
        Evaluate(str(file), ends=("resource_exhausted:rainfall",), out=tmp_path / "y").run()
    assert not (tmp_path / "y").exists()


@pytest.mark.parametrize(
    ("model", "slots", "clock", "most"),
    [("slow", 1, "turns", 1), ("slow", 5, "lockstep", 2), ("fake?level=greedy", 1, "turns", 5)],
)
def test_no_more_matches_are_played_at_once_than_a_model_answers(
    model, slots, clock, most, tmp_path, monkeypatch
):
    together = []

    def nothing(self, env, some):
        together.append(len(some))
        raise KeyboardInterrupt

    monkeypatch.setattr(SuiteRun, "_matches", nothing)
    text = TEXT.replace('"{model} script:cooperator"', '"{model}*2"')
    (tmp_path / "x.toml").write_text(text.replace("seeds = 4", f'seeds = 5\nclock = "{clock}"'))
    controls = {"low": "", "high": ""}
    suite = read_suite(tmp_path / "x.toml").chosen(("kind",))
    arm = suite.arm[0]
    arm = arm.model_copy(update={"terms": arm.terms.model_copy(update=controls)})
    run = SuiteRun(suite.model_copy(update={"arm": (arm,)}), [model], tmp_path / "x")
    config = ModelConfig(base_url="http://127.0.0.1:9/v1", model="x", max_in_flight=slots)
    with use_runtime(ModelRuntime(Models({"slow": config}))), pytest.raises(KeyboardInterrupt):
        run.play()
    assert together == [most]


def test_a_plan_tells_calls_of_fakes_from_those_that_cost_something(file, tmp_path, capsys):
    models = tmp_path / "models.toml"
    models.write_text(
        '[models.far]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "x"\n'
        'price_in = 1.0\nprice_out = 2.0\nprice_date = "2026-11"\n'
    )
    asked = {"only": ("kind",), "seeds": 2, "plan": True, "models": models, "out": tmp_path / "x"}
    Evaluate(str(file), ("far",), **asked).run()
    assert "of fakes" not in capsys.readouterr().out
    Evaluate(str(file), ("far", "fake?level=greedy"), **asked).run()
    out = " ".join(capsys.readouterr().out.split())
    assert "120 decisions, 120 calls" in out and "Of these calls 60 are of fakes" in out
    assert "act 60" in out and not (tmp_path / "x").exists()


def test_a_script_that_cannot_sit_in_an_arm_is_refused_before_anything_is_played(tmp_path):
    only = ("coins-visitor-idle", "overcooked-visitor-cook")
    with pytest.raises(BadArgument, match="cannot sit in overcooked-visitor-cook"):
        Evaluate("strangers", ("script:defector",), only=only, out=tmp_path / "x").run()
    assert not (tmp_path / "x").exists()


def test_a_level_is_the_script_that_its_fake_plays(tmp_path):
    suite = read_suite("strangers").chosen(("matrix-visitor-grim",))
    run = SuiteRun(suite, ["level:best", "fake?level=best"], tmp_path, 2)
    run.begin()
    found = Findings(suite, run.units, run.play())
    one, two = (found.values(suite.arm[0].id, who, "return") for who in run.models)
    assert one == two


FOREIGN = """
[suite]
title = "A file of others"

[[metric]]
id = "return"
measure = "return"

[[arm]]
id = "agents"
world = "matrix"
seats = "{model} agent:FOLDER/spy.py:decide"
"""


@pytest.fixture
def foreign(tmp_path):
    """A suite that names an agent, which leaves a file behind when it is called up."""
    (tmp_path / "spy.py").write_text(
        f"open({str(tmp_path / 'called')!r}, 'w').close()\n"
        "def decide(percept):\n    return 'defect'\n"
    )
    (tmp_path / "foreign.toml").write_text(FOREIGN.replace("FOLDER", str(tmp_path)))
    return str(tmp_path / "foreign.toml")


def test_a_plan_calls_no_agent_of_the_suite(foreign, tmp_path, capsys):
    Evaluate(foreign, ("fake?level=random",), seeds=1, plan=True, out=tmp_path / "x").run()
    assert "Language models:" in capsys.readouterr().out
    assert not (tmp_path / "called").exists()


def test_agents_of_a_suite_in_a_file_are_called_only_with_trust(foreign, tmp_path):
    asked = {"model": ("script:cooperator",), "seeds": 1, "out": tmp_path / "x"}
    with pytest.raises(BadArgument, match=r"agent:.*spy\.py:decide.*--trust"):
        Evaluate(foreign, **asked).run()
    assert not (tmp_path / "called").exists() and not (tmp_path / "x").exists()
    Evaluate(foreign, **asked, trust=True).run()
    assert (tmp_path / "called").exists()


def test_films_of_arms_that_are_not_there_are_refused_before_anything_is_played(file, tmp_path):
    with pytest.raises(UnknownName, match="arm named '2'"):
        Evaluate(str(file), ("idle",), films=("2",), out=tmp_path / "x").run()
    assert not (tmp_path / "x").exists()


def test_what_will_be_played_by_whom_is_said_first(tmp_path, capsys):
    Evaluate("strangers", plan=True, out=tmp_path / "x").run()
    said = " ".join(capsys.readouterr().out.split())
    assert "1,092 episodes in 39 arms, 1,092 to play" in said
    assert "Contestants: none (add --model); players of the suite: random" in said
    assert "--only ARM, --seeds N" in said and "--plan" in said
