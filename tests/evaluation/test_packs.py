"""Packs: runs of suites that anybody can check, and that nobody can alter unseen."""

import io
import json
import random
import shutil
import sqlite3
import sys
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sociarium.arena.match_folder import DECISIONS, EPISODE, TIMING
from sociarium.cli.evaluate import Evaluate
from sociarium.cli.main import main
from sociarium.core import record
from sociarium.core.errors import BadArgument, CannotRead, MissingExtra
from sociarium.core.manifest import MANIFEST
from sociarium.evaluation import pack_file, pack_verification
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack import CALL_LINES, make_pack, read_pack, report_bytes
from sociarium.evaluation.pack_calls import call_lines, write_calls
from sociarium.evaluation.pack_file import (
    PAGE,
    REPORT,
    SEAL,
    hashed,
    read_members,
    seal_members,
    zipped,
)
from sociarium.evaluation.pack_verification import verify_pack
from sociarium.evaluation.report import render_report
from sociarium.evaluation.suite import read_suite
from sociarium.evaluation.suite_run import PLAN, PLAYED, UNITS, RunPlan, SuiteRun
from sociarium.evaluation.unit_table import TABLE, unit_rows, unit_table
from sociarium.language.models.store import CALLS
from sociarium.players import roster

SUITE = """
[suite]
title = "A tiny one"

[defaults]
seeds = 2

[[metric]]
id = "return"
measure = "return"

[[arm]]
id = "scripts"
world = "matrix"
seats = "{model} script:cooperator"
"""
AGENT = """
def decide(percept):
    return "defect"
"""
FAKE, SCRIPT = "fake?level=random", "script:defector"


def played(folder, text=SUITE, models=(FAKE, SCRIPT), seeds=None, name="tiny"):
    """The folder of a run, as `sociarium evaluate` leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.toml"
    file.write_text(text)
    Evaluate(str(file), tuple(models), seeds=seeds, out=folder / "run", json=True).run()
    return folder / "run"


def packed(run, file):
    file.write_bytes(make_pack(run))
    return file


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return played(tmp_path_factory.mktemp("suite"))


@pytest.fixture(scope="module")
def data(run):
    return make_pack(run)


@pytest.fixture
def file(data, tmp_path):
    path = tmp_path / "tiny.zip"
    path.write_bytes(data)
    return path


def forged(file, results=None, **changes):
    """The pack with other members, its report and its seals made anew as if nothing had been."""
    pack = read_pack(file)
    results = pack.results if results is None else results
    done = {unit.key: one for unit, one in zip(pack.units, results, strict=True)}
    found = Findings(pack.plan.suite, pack.units, done)
    members = {name: data for name, data in pack.members.items() if name != SEAL}
    members[UNITS] = b"".join(one.line() for one in results)
    members[REPORT] = report_bytes(found)
    members[PAGE] = render_report(found, pack.manifest, pack.plan.only).encode()
    members |= changes
    told = [
        sealed.model_copy(update={"sha256": hashed(one.line())})
        for sealed, one in zip(pack.seal.units, results, strict=True)
    ]
    file.write_bytes(seal_members(members, told, pack.seal.policies))
    return file


def host_unit(pack):
    return next((n, unit) for n, unit in enumerate(pack.units) if unit.outside)


# Packing.


def test_equal_runs_give_equal_packs_byte_for_byte(run, data, tmp_path):
    again = played(tmp_path)
    assert (again / MANIFEST).read_bytes() != b"" and make_pack(again) == data
    assert make_pack(run) == data


def test_a_pack_holds_no_times_paths_locks_or_databases(data, tmp_path):
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        assert opened.testzip() is None
        names = opened.namelist()
        manifest = json.loads(opened.read(MANIFEST))
    assert names == sorted(names)
    ends = {name.rpartition("/")[2] for name in names}
    assert ends == {MANIFEST, PLAN, UNITS, REPORT, PAGE, SEAL, EPISODE, DECISIONS, CALL_LINES}
    assert not {"started", "updated", "seconds"} & manifest.keys()
    for word in (str(tmp_path.parent), str(Path.home()), "elapsed", "spending", TIMING):
        assert word.encode() not in data


def test_a_run_that_is_not_finished_is_refused_with_what_is_missing(run, tmp_path):
    part = shutil.copytree(run, tmp_path / "part")
    lines = (part / UNITS).read_bytes().splitlines(keepends=True)
    (part / UNITS).write_bytes(b"".join(lines[1:]))
    with pytest.raises(BadArgument, match="1 of 4 units are missing"):
        make_pack(part)
    (part / PLAN).unlink()
    with pytest.raises(CannotRead, match="no run of a suite"):
        make_pack(part)


def test_a_run_whose_match_is_gone_or_whose_report_was_altered_is_refused(run, tmp_path):
    part = shutil.copytree(run, tmp_path / "part")
    (part / REPORT).write_text("{}")
    with pytest.raises(CannotRead, match="not what the units show"):
        make_pack(part)
    shutil.copy(run / REPORT, part / REPORT)
    shutil.rmtree(part / PLAYED)
    with pytest.raises(CannotRead, match=r"has no play\.episode"):
        make_pack(part)


def test_only_units_that_belong_are_packed_in_their_order(run, data, tmp_path):
    part = shutil.copytree(run, tmp_path / "part")
    lines = (part / UNITS).read_bytes().splitlines(keepends=True)
    stale = lines[0].replace(json.loads(lines[0])["key"].encode(), b"0" * 16)
    (part / UNITS).write_bytes(b"".join([stale, *reversed(lines)]))
    assert make_pack(part) == data


def test_paths_of_the_machine_are_cut_and_contestants_stay_apart(run, tmp_path):
    part = shutil.copytree(run, tmp_path / "part")
    plan = RunPlan.model_validate_json((part / PLAN).read_bytes())
    two = [f"agent:{tmp_path}/{folder}/a.py:decide" for folder in ("one", "two")]
    SuiteRun(plan.suite, two[:1], part, 2).begin()
    one = SuiteRun(plan.suite, two[:1], part, 2)
    folders = sorted((part / PLAYED).iterdir())
    done = [*one.done().values()]
    with (part / UNITS).open("ab") as out:
        for unit, sample, folder in zip(one.units, done, folders, strict=False):
            out.write(replace(sample, key=unit.key, model=unit.model, lineup=unit.lineup).line())
            shutil.copytree(folder, part / PLAYED / unit.episode)
    members, _ = read_members(_written(tmp_path / "x.zip", make_pack(part)))
    assert b"agent:a.py:decide" in members[UNITS] and b"agent:a.py:decide" in members[REPORT]
    assert not any(str(tmp_path).encode() in data for data in members.values())
    SuiteRun(plan.suite, two, part, 2).begin()
    with pytest.raises(BadArgument, match=r"missing"):
        make_pack(part)


def _written(file, data):
    file.write_bytes(data)
    return file


# Seals.


def test_a_pack_altered_at_any_byte_is_refused(data, tmp_path):
    path, lot = tmp_path / "altered.zip", random.Random(0)
    places = {*range(0, len(data), 211), *range(200), *range(len(data) - 1500, len(data), 3)}
    for place in sorted(places):
        altered = bytearray(data)
        altered[place] ^= 1 << lot.randrange(8)
        path.write_bytes(altered)
        with pytest.raises(CannotRead):
            read_pack(path)


def test_a_pack_cut_off_anywhere_or_followed_by_anything_is_refused(data, tmp_path):
    path = tmp_path / "cut.zip"
    for size in range(0, len(data), 997):
        path.write_bytes(data[:size])
        with pytest.raises(CannotRead):
            read_pack(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(CannotRead, match="what stands between"):
        read_pack(path)


def test_it_is_said_which_record_differs(data, file):
    members, _ = read_members(file)
    for name in members:
        altered = bytearray(data)
        altered[data.index(members[name]) + len(members[name]) // 2] ^= 1
        file.write_bytes(altered)
        with pytest.raises(CannotRead, match=name.replace(".", r"\.")):
            read_pack(file)


def test_it_is_said_which_unit_differs(data, file):
    line = read_members(file)[0][UNITS].splitlines()[-1]
    altered = bytearray(data)
    altered[data.index(line) + line.index(b'"return": ') + 10] ^= 1
    file.write_bytes(altered)
    with pytest.raises(CannotRead, match=r"units\.jsonl \(scripts, script:defector, seed 1\)"):
        read_pack(file)


def test_members_that_are_missing_or_added_are_named(file):
    members, _ = read_members(file)
    match = next(name for name in members if name.endswith(EPISODE))
    file.write_bytes(zipped({name: data for name, data in members.items() if name != match}))
    with pytest.raises(CannotRead, match=f"{match} is missing"):
        read_pack(file)
    added = f"{PLAYED}/{'0' * 16}/{EPISODE}"
    file.write_bytes(zipped({**members, added: b"x"}))
    with pytest.raises(CannotRead, match=f"{added} was added"):
        read_pack(file)
    file.write_bytes(zipped({name: data for name, data in members.items() if name != SEAL}))
    with pytest.raises(CannotRead, match=r"seal\.json is missing"):
        read_pack(file)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "units/../../x", "manifest.json\n", "x.pkl"])
def test_names_that_lead_elsewhere_are_refused(name, file):
    members, _ = read_members(file)
    file.write_bytes(zipped({**members, name: b"x"}))
    with pytest.raises(CannotRead, match="is no pack"):
        read_pack(file)


def test_bombs_and_other_archives_are_refused(file, monkeypatch):
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(MANIFEST, b"0" * (1 << 22))
    for content, why in ((bomb.getvalue(), "cut off or damaged"), (b"", "begin"), (b"P", "begin")):
        other = file.with_name("other.zip")
        other.write_bytes(content)
        with pytest.raises(CannotRead, match=why):
            read_pack(other)
    with pytest.raises(CannotRead, match="Cannot read"):
        read_pack(file.with_name("nowhere.zip"))
    monkeypatch.setattr(pack_file, "MOST_MEMBERS", 3)
    with pytest.raises(CannotRead, match="more than 3 members"):
        read_pack(file)
    monkeypatch.setattr(pack_file, "MOST_BYTES", 100)
    with pytest.raises(CannotRead, match="larger than"):
        read_pack(file)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"seeds": 10_000}, "asks for 20,000 units or more"),
        ({"models": ["random*99999999999"]}, "more players than a world has"),
        ({"models": []}, "contestant"),
        ({"seeds": 0}, "no plan of a run"),
        ({"colour": 1}, "no plan of a run"),
        ({"models": ["script:defector", FAKE]}, "belongs"),
    ],
)
def test_a_plan_that_asks_for_other_units_is_refused_before_they_are_made(change, why, file):
    plan = {**json.loads(read_members(file)[0][PLAN]), **change}
    forged(file, **{PLAN: json.dumps(plan).encode()})
    with pytest.raises((CannotRead, BadArgument), match=why):
        read_pack(file)


# Replays.


def test_all_units_are_played_again(file):
    found = verify_pack(read_pack(file))
    assert (found.units, found.played, found.from_calls, found.from_records) == (4, 2, 2, 0)
    assert not found.not_replayed and not found.notes
    quick = verify_pack(read_pack(file), quick=True)
    assert quick.played == quick.from_calls == 0 and quick.digest == found.digest


@pytest.mark.parametrize("place", [0, 3])
def test_a_value_that_was_forged_and_sealed_anew_is_found_by_playing(place, file):
    results = [*read_pack(file).results]
    earned = results[place].values["return"]
    results[place] = replace(results[place], values={"return": earned + 2**-40})
    forged(file, results)
    verify_pack(read_pack(file), quick=True)
    name = "fake.*seed 0" if place == 0 else "script:defector, seed 1"
    with pytest.raises(CannotRead, match=f"scripts, {name}: return is"):
        verify_pack(read_pack(file))


def test_steps_that_were_forged_are_found(file):
    results = [*read_pack(file).results]
    results[-1] = replace(results[-1], steps=7)
    with pytest.raises(CannotRead, match="steps is 7, and 1 when"):
        verify_pack(read_pack(forged(file, results)))


def test_a_record_that_its_calls_do_not_lead_to_is_found(file, tmp_path):
    pack = read_pack(file)
    place, unit = host_unit(pack)
    name = f"{PLAYED}/{unit.episode}/{EPISODE}"
    kept = record.unpacked(pack.members[name], name)
    actions = np.where(np.arange(2) == unit.focal[0], 1 + kept.actions % 2, kept.actions)
    altered = kept.model_copy(update={"actions": actions.astype(kept.actions.dtype)})
    record.save(tmp_path / EPISODE, altered)
    with pytest.raises(CannotRead, match="not what its calls lead to at step 0"):
        verify_pack(read_pack(forged(file, **{name: (tmp_path / EPISODE).read_bytes()})))
    assert place == 0


@pytest.mark.parametrize("what", [CALL_LINES, DECISIONS])
def test_answers_and_decisions_that_were_forged_are_found(what, file):
    pack = read_pack(file)
    _, unit = host_unit(pack)
    name = f"{PLAYED}/{unit.episode}/{what}"
    words = (b"stay", b"defect", b"cooperate")
    said = next(word for word in words if b'"' + word in pack.members[name].rpartition(b"text")[2])
    other = next(word for word in words if word != said)
    altered = pack.members[name].replace(b'": \\\\\\"' + said, b'": \\\\\\"' + other)
    altered = altered.replace(b'"action": "' + said, b'"action": "' + other)
    assert altered != pack.members[name]
    with pytest.raises(CannotRead, match=r"fake.*calls lead to"):
        verify_pack(read_pack(forged(file, **{name: altered})))


@pytest.mark.parametrize("name", [REPORT, PAGE])
def test_a_report_or_page_that_the_units_do_not_show_is_found(name, file):
    altered = read_pack(file).members[name].replace(b"A tiny one", b"A huge one")
    forged(file, **{name: altered})
    with pytest.raises(CannotRead, match=name):
        verify_pack(read_pack(file), quick=True)


def test_a_page_of_another_version_is_noted(file, monkeypatch):
    altered = read_pack(file).members[PAGE] + b"<!-- older -->"
    older = {**pack_file.rendered_with(), "sociarium": "0.0.1"}
    monkeypatch.setattr(pack_file, "rendered_with", lambda: older)
    forged(file, **{PAGE: altered})
    (note,) = verify_pack(read_pack(file), quick=True).notes
    assert "report.html differs" in note and "sociarium 0.0.1" in note


def test_what_is_not_on_this_machine_is_counted_and_said(file, tmp_path, monkeypatch):
    pack = read_pack(file)
    seat = next(unit for unit in pack.units if not unit.outside).chairs[0]

    def reason(self, chair, world):
        return "runs/coins is not here" if chair == seat else ""

    monkeypatch.setattr(pack_verification._Replayed, "_reason", reason)
    found = verify_pack(pack)
    assert found.not_replayed == {"runs/coins is not here": 2} and found.from_calls == 2


def test_a_policy_is_played_if_it_is_the_one_that_was_packed(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    replayed = pack_verification._Replayed(read_pack(file), False, tmp_path)
    chair, world = roster.chair, replayed._world(replayed.pack.plan.suite.arm[0])
    assert "not here" in replayed._reason(chair("policy:runs/x"), world)
    assert "--trust" in replayed._reason(chair("policy:../x"), world)
    assert "--trust" in replayed._reason(chair(f"policy:{tmp_path}"), world)
    weights = tmp_path / "runs" / "x" / "weights"
    weights.mkdir(parents=True)
    (weights / "seed-0.safetensors").write_bytes(b"1")
    assert "another policy" in replayed._reason(chair("policy:runs/x"), world)


def test_prompts_of_another_version_leave_records_to_be_played(file, monkeypatch):
    monkeypatch.setattr("sociarium.evaluation.suite_run._templates", lambda: {"zero_shot": "new"})
    found = verify_pack(read_pack(file))
    assert (found.played, found.from_calls, found.from_records) == (2, 0, 2)
    assert "other prompts" in found.notes[0]


def test_the_record_of_another_unit_is_refused(file, monkeypatch):
    monkeypatch.setattr("sociarium.evaluation.suite_run._templates", lambda: {"zero_shot": "new"})
    pack = read_pack(file)
    one, two = (name for name in pack.members if name.endswith(EPISODE))
    forged(file, **{one: pack.members[two], two: pack.members[one]})
    with pytest.raises(CannotRead, match="record is of another match: seed"):
        verify_pack(read_pack(file))


def test_series_programs_and_files_of_worlds_are_checked_too(tmp_path, monkeypatch):
    (tmp_path / "kind.py").write_text(AGENT)
    (tmp_path / "law.toml").write_text('[[article]]\nname = "norm"\n')
    text = SUITE + f'trials = 2\ncharter = "{tmp_path}/law.toml"\n'
    run = played(tmp_path, text, (f"agent:{tmp_path}/kind.py:decide", FAKE), seeds=1)
    file = packed(run, tmp_path / "mixed.zip")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for name in ("kind.py", "law.toml"):
        (tmp_path / name).unlink()
    pack = read_pack(file)
    assert "worlds/0/charter.toml" in pack.members
    found = verify_pack(pack)
    assert (found.units, found.from_calls, found.from_records) == (2, 1, 1)


def test_a_custom_end_or_a_large_world_is_not_played_without_trust(file, tmp_path):
    pack = read_pack(file)
    (arm,) = pack.plan.suite.arm
    terms = arm.terms.model_copy(update={"ends": ("custom:os:getcwd",)})
    replayed = pack_verification._Replayed(pack, False, tmp_path)
    world = replayed._world(arm)
    custom = replace(pack.units[0], arm=arm.model_copy(update={"terms": terms}))
    assert "--trust" in replayed._absent(custom, world)
    large = arm.model_copy(update={"id": "large", "world": "harvest_open?tiles=99x99"})
    results = (*pack.results, replace(pack.results[0], arm="large"))
    suite = pack.plan.suite.model_copy(update={"arm": (arm, large)})
    plan = pack.plan.model_copy(update={"suite": suite})
    pack = replace(pack, results=results, plan=plan)
    assert "--trust" in str(pack_verification._Replayed(pack, False, tmp_path)._world(large))


# Calls, the table, commands.


def test_calls_are_lines_without_times_and_come_back_whole(run, tmp_path):
    calls = next((run / PLAYED).rglob(CALLS))
    lines = call_lines(calls)
    write_calls(lines, tmp_path / CALLS)
    assert call_lines(tmp_path / CALLS) == lines
    with closing(sqlite3.connect(tmp_path / CALLS)) as sql:
        assert sql.execute("SELECT COUNT(*) FROM spending").fetchone() == (0,)
    for wrong in (b"[]", b'["texts", "x"]', b'["sqlite_master", 1]', b'["meta", [], {}]', b"x"):
        with pytest.raises(CannotRead, match="damaged"):
            write_calls(wrong, tmp_path / "wrong.sqlite")


def test_the_table_has_a_row_for_each_unit_and_metric(run):
    polars = pytest.importorskip("polars")
    plan = RunPlan.model_validate_json((run / PLAN).read_bytes())
    one = SuiteRun(plan.suite, plan.models, run, plan.seeds)
    results = [one.done()[unit.key] for unit in one.units]
    table = polars.read_parquet(io.BytesIO((run / TABLE).read_bytes()))
    assert table.height == 4 and table["model"].to_list() == [FAKE, FAKE, SCRIPT, SCRIPT]
    assert table["value"].to_list() == [one.values["return"] for one in results]
    assert unit_table(plan.suite, results) == (run / TABLE).read_bytes()


def test_a_share_has_how_often_of_how_many_times(run):
    plan = RunPlan.model_validate_json((run / PLAN).read_bytes())
    sample = SuiteRun(plan.suite, plan.models, run, plan.seeds).done().popitem()[1]
    shares = [replace(sample, values={"return": told}) for told in ((1.0, 4.0), (0.0, 0.0))]
    rows = unit_rows(plan.suite, shares)
    assert [(row["value"], row["done"], row["times"]) for row in rows] == [
        (0.25, 1.0, 4.0),
        (None, 0.0, 0.0),
    ]


def test_without_the_extra_there_is_no_table(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    plan = RunPlan.model_validate_json((run / PLAN).read_bytes())
    with pytest.raises(MissingExtra, match="export"):
        unit_table(plan.suite, ())


def test_the_commands_pack_and_verify_and_refuse_with_status_2(run, tmp_path, monkeypatch, capsys):
    def command(*words):
        monkeypatch.setattr(sys, "argv", ["sociarium", *map(str, words)])
        main()
        return capsys.readouterr().out

    file = tmp_path / "tiny.zip"
    assert hashed(make_pack(run)) in command("pack", run, "--out", file)
    assert "every unit was played again" in command("verify", file)
    assert "nothing was played" in command("verify", file, "--quick")
    assert json.loads(command("verify", file, "--json"))["verified"]
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(SystemExit) as refused:
        command("verify", file)
    assert refused.value.code == 2 and "Traceback" not in capsys.readouterr().err


def test_a_suite_is_packed_from_what_was_asked_last(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SUITE)
    for seeds in (1, 2):
        run = SuiteRun(read_suite(file), ["idle"], tmp_path / "run", seeds)
        run.begin(only=("scripts",))
    plan = RunPlan.model_validate_json((tmp_path / "run" / PLAN).read_bytes())
    assert (plan.suite, plan.models, plan.seeds, plan.only) == (
        run.suite,
        ("idle",),
        2,
        ("scripts",),
    )
    assert plan.suite.digest == run.suite.digest
