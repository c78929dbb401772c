"""Arms that are series: several trials in a row, hidden numbers kept or told."""

import shutil

import pytest

from sociarium import catalogue
from sociarium.arena.match import Match
from sociarium.arena.match_folder import DECISIONS, TIMING, Terms, read_record
from sociarium.arena.series import Series, SeriesTerms, trial_folder
from sociarium.core.errors import CannotRead, MissingFacet
from sociarium.core.hidden import draw_hidden
from sociarium.core.record import restored
from sociarium.evaluation.series_units import over_trials
from sociarium.evaluation.suite import ArmTerms, Metric, Suite, SuiteArm
from sociarium.evaluation.suite_run import PLAYED, UNITS, SuiteRun
from sociarium.players.minds.fake_model import FakeModel
from tests.toys.stall import Stall

TRIALS = ("first", "last", "gain", "mean")
ENTRY = catalogue.Entry(
    id="stall-v0",
    where="tests.toys.stall:Stall",
    players=2,
    paper="",
    summary="tea takes as long as nobody has been told",
    cast="random",
)
STALL = (catalogue, "WORLDS", (*catalogue.WORLDS, ENTRY))


def suite(world="coins", seats="{model} script:defector", measure="return", **terms):
    """One arm, and a metric for each way to look at its trials."""
    told = ArmTerms(**{"seeds": 1, "steps": 8, **terms})
    arm = SuiteArm(id="one", world=world, seats=seats, terms=told)
    metrics = tuple(Metric(id=trial, measure=measure, trial=trial) for trial in TRIALS)
    return Suite(id="s", title="A series", arm=(arm,), metric=metrics)


def played(out, model="script:defector", **given):
    run = SuiteRun(suite(**given), [model], out)
    run.begin()
    return run, run.play()


def test_an_arm_with_trials_is_a_series_and_metrics_say_of_which_trial(tmp_path):
    run, done = played(tmp_path, trials=2, seeds=2, params={"coin_chance": 0.2})
    env = catalogue.make("coins")
    params = env.params(coin_chance=0.2)
    for unit in run.units:
        seats = " ".join(map(str, unit.chairs))
        terms = {"terms": Terms(steps=8), "params": params}
        alone = Series(env, seats, SeriesTerms(2), seed=unit.seed, **terms)
        alone.run()
        earned = alone.raw_returns[:, unit.focal[0]].tolist()
        result = done[unit.key]
        assert result.steps == 16
        expected = [earned[0], earned[1], earned[1] - earned[0], sum(earned) / 2]
        assert [result.values[trial] for trial in TRIALS] == expected


def test_of_one_trial_all_is_the_same_and_there_is_no_gain(tmp_path):
    _, done = played(tmp_path)
    (result,) = done.values()
    assert result.values["gain"] == 0 and not (tmp_path / PLAYED).exists()
    assert result.values["first"] == result.values["last"] == result.values["mean"]


def test_shares_of_trials_add_up_and_have_no_gain():
    shares = [(1.0, 4.0), (3.0, 4.0)]
    assert over_trials(shares, "mean") == (4.0, 8.0) and over_trials(shares, "last") == shares[1]
    with pytest.raises(ValueError, match="no gain"):
        Metric(id="x", measure="aimed:took_other:0", trial="gain")


def test_a_series_that_is_killed_goes_on_where_it_was(tmp_path, monkeypatch):
    given = {"model": "fake?level=best", "trials": 2, "params": {"coin_chance": 0.2}}
    _, expected = played(tmp_path / "whole", **given)
    asked, complete, begun = [], FakeModel.complete, []

    async def counted(model, request):
        asked.append((model.identity[2], request.percept.step))
        if len(asked) == 12 and not begun:
            begun.append(True)
            raise KeyboardInterrupt
        return await complete(model, request)

    monkeypatch.setattr(FakeModel, "complete", counted)
    with pytest.raises(BaseException):  # noqa: B017
        played(tmp_path / "killed", **given)
    killed = list(asked)
    run, found = played(tmp_path / "killed", **given)
    assert found == expected
    assert killed[-1][0] == 1 and asked[len(killed)] == killed[-1]  # nothing before is asked again
    (unit,) = run.units
    for trial in (0, 1):
        one, other = (
            trial_folder(tmp_path / name / PLAYED / unit.episode, trial) / DECISIONS
            for name in ("whole", "killed")
        )
        assert one.read_bytes() == other.read_bytes()
    (run.out / UNITS).unlink()  # as if killed before it was written
    asked.clear()
    assert run.play() == expected and not asked


@pytest.mark.parametrize("name", [DECISIONS, TIMING])
@pytest.mark.parametrize("trials", [1, 2])
def test_a_unit_whose_decisions_were_lost_is_refused_until_it_is_removed(name, trials, tmp_path):
    given = {"trials": trials, "measure": "calls", "params": {"coin_chance": 0.2}}
    run, expected = played(tmp_path, "fake?level=best", **given)
    at = tmp_path / PLAYED / run.units[0].episode
    file = (at if trials == 1 else trial_folder(at, 0)) / name
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-2]))
    (run.out / UNITS).unlink()  # as if killed before it was written
    with pytest.raises(CannotRead, match=rf"{name}.*remove {at} to play"):
        run.play()
    shutil.rmtree(at)
    assert run.play() == expected


def test_a_series_that_was_stopped_says_so(tmp_path, monkeypatch):
    play = Match.play

    async def stopped(match, until=None):
        return await play(match, 3)

    monkeypatch.setattr(Match, "play", stopped)
    with pytest.raises(CannotRead, match="trial-0 is not over: it was stopped"):
        played(tmp_path, model="fake", trials=2)
    monkeypatch.undo()
    _, done = played(tmp_path, model="fake", trials=2)
    assert [result.steps for result in done.values()] == [16]


def test_what_is_hidden_is_drawn_by_the_seed_whether_it_is_told_or_not(tmp_path, monkeypatch):
    monkeypatch.setattr(*STALL)
    given = {"world": "stall", "seats": "{model} random", "measure": "count:brewed"}
    for name, terms in {
        "kept": {},
        "told": {"reveal": True},
        "other": {"split": "held_out"},
    }.items():
        run, _ = played(tmp_path / name, model="random", steps=4, **given, **terms)
        (unit,) = run.units
        page = read_record(trial_folder(tmp_path / name / PLAYED / unit.episode, 0)).page
        _, drawn = draw_hidden(Stall(), Stall().params(), unit.seed, unit.arm.terms.split)
        assert page.revealed == (("brewing",) if name == "told" else ())
        assert restored(Stall().params(), page.numbers).brewing == drawn["brewing"]


def test_only_worlds_that_hide_something_can_tell_it(tmp_path):
    with pytest.raises(MissingFacet):
        played(tmp_path, reveal=True)


def test_the_terms_of_a_series_take_part_in_the_key_of_a_unit(tmp_path):
    usual = {"trials": 2}
    keys = {
        unit.key
        for terms in ({}, usual, *({**usual, **one} for one in ({"carry": True}, {"reveal": True})))
        for unit in SuiteRun(suite(**terms), ["idle"], tmp_path).units
    }
    held_out = SuiteRun(suite(**usual, split="held_out"), ["idle"], tmp_path).units[0].key
    assert len({*keys, held_out}) == 5
