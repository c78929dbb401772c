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
from sociarium.cli import verify
from sociarium.cli.evaluate import Evaluate
from sociarium.cli.main import main
from sociarium.cli.verify import VerifyCommand
from sociarium.core import record
from sociarium.core.errors import BadArgument, CannotRead, MissingExtra
from sociarium.core.manifest import MANIFEST
from sociarium.core.patches import NewPlayer
from sociarium.evaluation import pack_file, pack_verification, suite_run
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack import (
    CALL_LINES,
    _mind_members,
    _world_members,
    make_pack,
    read_pack,
    report_bytes,
)
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
from sociarium.evaluation.pack_verification import suite_source, verify_pack
from sociarium.evaluation.report import render_report
from sociarium.evaluation.suite import read_suite
from sociarium.evaluation.suite_run import PLAN, PLAYED, UNITS, RunPlan, SuiteRun
from sociarium.evaluation.unit_table import TABLE, unit_rows, unit_table
from sociarium.language.models import runtime
from sociarium.language.models.runtime import RunCalls
from sociarium.language.models.store import CALLS
from sociarium.players import roster
from sociarium.players.minds.fake_model import FakeModel

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
    pack = read_pack(file, trusted=True)
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
    file.write_bytes(seal_members(members, told, pack.seal.policies, pack.seal.prompts))
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


@pytest.mark.parametrize(
    "name",
    [
        *("../x", "/etc/x", "units/../../x", "manifest.json\n", "x.pkl"),
        *(f"minds/{'0' * 16}/{name}" for name in ("../x.md", "x.py", "x.toml")),
    ],
)
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
    assert not found.not_replayed and not found.notes and found.verified
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
    with pytest.raises(CannotRead, match="not what is played again at step 0"):
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
    with pytest.raises(CannotRead, match=r"fake.*(played again|not the one)"):
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


def change_prompts(monkeypatch):
    """The package has other prompts from now on."""
    for module in ("experiments.cells", "suite_run"):
        place = f"sociarium.evaluation.{module}.packaged_templates"
        monkeypatch.setattr(place, lambda: {"zero_shot": "new"})


def test_prompts_of_another_version_leave_records_to_be_played(file, monkeypatch):
    change_prompts(monkeypatch)
    found = verify_pack(read_pack(file))
    assert (found.played, found.from_calls, found.from_records) == (2, 0, 2)
    assert "other prompts" in found.notes[0]


def test_the_record_of_another_unit_is_refused(file, monkeypatch):
    change_prompts(monkeypatch)
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
    assert not found.verified and "1 units were checked from records" in found.notes[0]


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


# Minds from files.

MIND = """
[[part]]
name = "act"
kind = "act"
template = "trade.md"
reads = ["percept"]
"""
PROMPT = """---
You are a trader.
---
Choose. {{ form }}
"""
GOALS = """
[even]
text = "Take no more than you give."
"""


@pytest.fixture(scope="module")
def mind_pack(tmp_path_factory):
    """The bytes of a pack whose contestant has a mind in files that are gone."""
    folder = tmp_path_factory.mktemp("minds")
    files = {"mine.toml": MIND, "trade.md": PROMPT, "goals.toml": GOALS}
    for name, text in files.items():
        (folder / name).write_text(text)
    run = played(folder, models=(f"{FAKE}&mind={folder}/mine.toml&goal=even",), seeds=1)
    data = make_pack(run)
    for name in files:
        (folder / name).unlink()
    return data


@pytest.fixture
def mind_file(mind_pack, tmp_path, monkeypatch):
    """That pack in another folder, where a different mind has the same path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("[mind]")
    return _written(tmp_path / "minds.zip", mind_pack)


def mind_member(file, name):
    return next(one for one in read_members(file)[0] if one.endswith(f"/{name}"))


def test_a_mind_file_is_packed_with_the_files_beside_it_and_replayed_without_them(mind_file):
    pack = read_pack(mind_file, trusted=True)
    assert pack.plan.models == ("fake?level=random&mind=mine.toml&goal=even",)
    assert pack.members[mind_member(mind_file, "trade.md")] == PROMPT.encode()
    found = verify_pack(pack)
    assert (found.units, found.from_calls, found.verified) == (1, 1, True)


@pytest.mark.parametrize("name", ["mind.toml", "trade.md", "goals.toml"])
def test_a_changed_file_of_a_mind_is_refused(name, mind_file):
    member = mind_member(mind_file, name)
    members, _ = read_members(mind_file)
    mind_file.write_bytes(zipped({**members, member: members[member] + b"\n"}))
    with pytest.raises(CannotRead, match=f"{member} differs from its seal"):
        read_pack(mind_file, trusted=True)


def test_a_changed_prompt_that_was_sealed_anew_is_refused(mind_file):
    pack, member = read_pack(mind_file, trusted=True), mind_member(mind_file, "trade.md")
    forged(mind_file, **{member: PROMPT.replace("trader", "thief").encode()})
    with pytest.raises(CannotRead, match=r"the key of scripts, fake.* is not its own"):
        verify_pack(read_pack(mind_file, trusted=True))
    (unit,) = read_pack(mind_file, trusted=True).units
    (result,) = pack.results
    line = replace(result, key=unit.key).line()
    old = pack.units[0].episode
    members = {n.replace(old, unit.episode): x for n, x in read_members(mind_file)[0].items()}
    del members[SEAL]
    members[UNITS] = line
    (sealed,) = pack.seal.units
    sealed = sealed.model_copy(update={"episode": unit.episode, "sha256": hashed(line)})
    mind_file.write_bytes(seal_members(members, [sealed], {}, pack.seal.prompts))
    with pytest.raises(CannotRead, match="not the one recorded"):
        verify_pack(read_pack(mind_file, trusted=True))


def test_a_pack_without_its_mind_reads_no_file_of_that_path(mind_file):
    (mind_file.parent / "mine.toml").write_text(MIND)
    (mind_file.parent / "trade.md").write_text(PROMPT)
    (mind_file.parent / "goals.toml").write_text(GOALS)
    pack = read_pack(mind_file, trusted=True)
    members = {n: x for n, x in pack.members.items() if n[:6] != "minds/" and n != SEAL}
    mind_file.write_bytes(seal_members(members, pack.seal.units, {}, pack.seal.prompts))
    with pytest.raises(CannotRead, match=r"has no minds/.*/mind\.toml, which a seat names as mine"):
        read_pack(mind_file, trusted=True)


def test_two_minds_with_one_file_name_outside_the_working_directory_are_refused(tmp_path):
    models = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "mine.toml").write_text(MIND)
        (folder / "trade.md").write_text(PROMPT)
        models.append(f"{FAKE}&mind={folder}/mine.toml")
    suite = read_suite(_written(tmp_path / "tiny.toml", SUITE.encode()))
    with pytest.raises(BadArgument, match=r"the minds .*one/mine.* have one name"):
        dict(_mind_members(SuiteRun(suite, models, tmp_path).units))


# Forged packs: one honest pack of a script, an agent and a partner, altered and sealed anew.

FALLIBLE = """
def decide(percept):
    return "defect" if percept.step % 2 else "nonsense"
"""
ROUNDS = """
[suite]
title = "Four rounds"

[defaults]
seeds = 2
ends = ["steps:4"]

[[metric]]
id = "return"
measure = "return"

[[metric]]
id = "valid"
measure = "valid_share"

[[arm]]
id = "rounds"
world = "matrix?rounds=9"
seats = "{model} script:cooperator"
"""


@pytest.fixture(scope="module")
def rounds(tmp_path_factory):
    """Units of an agent and of a script, and the name of the record of the agent's first."""
    folder = tmp_path_factory.mktemp("rounds")
    (folder / "agent.py").write_text(FALLIBLE)
    run = played(folder, ROUNDS, (f"agent:{folder}/agent.py:decide", SCRIPT))
    pack = read_pack(packed(run, folder / "honest.zip"))
    return pack, f"{PLAYED}/{pack.units[0].episode}/"


def refused(rounds, tmp_path, why, results=None, **changes):
    """The message with which `verify` refuses the honest pack with these changes."""
    file = tmp_path / "forged.zip"
    shutil.copy(rounds[0].path, file)
    with pytest.raises(CannotRead, match=why):
        verify_pack(read_pack(forged(file, results, **changes)))


def with_page(rounds, tmp_path, actions=None, **changes):
    """The record of the agent's first match with another page or other actions."""
    pack, name = rounds
    kept = record.unpacked(pack.members[name + EPISODE], name)
    page = kept.page.model_copy(update=changes)
    record.save(tmp_path / EPISODE, record.Record(page=page, actions=_or(actions, kept.actions)))
    return {name + EPISODE: (tmp_path / EPISODE).read_bytes()}


def _or(given, usual):
    return usual if given is None else given


def kept_of(rounds):
    pack, name = rounds
    return record.unpacked(pack.members[name + EPISODE], name)


def test_an_agent_is_checked_and_not_verified_while_scripts_with_ends_are_played(rounds):
    found = verify_pack(rounds[0])
    assert (found.played, found.from_records, found.verified) == (2, 2, False)
    assert rounds[0].results[0].failures == 2 and rounds[0].results[0].decisions == 4


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"carried": True}, "another match: carried"),
        ({"trial": 1}, "another match: trial"),
        ({"names": ("One", "Two")}, "another match: names"),
        ({"seed": 7}, "another match: seed"),
        (
            {"patches": (NewPlayer(step=0, seat=1, player="agent:agent.py:decide"),)},
            "seats another player",
        ),
        (
            {"patches": (NewPlayer(step=2, seat=1, player="script:defector"),)},
            "seats another player",
        ),
    ],
)
def test_a_record_with_a_forged_page_is_refused(changes, why, rounds, tmp_path):
    refused(rounds, tmp_path, why, **with_page(rounds, tmp_path, **changes))


def test_a_partner_that_does_not_do_what_its_script_does_is_refused(rounds, tmp_path):
    actions = kept_of(rounds).actions.copy()
    actions[1, 1 - rounds[0].units[0].focal[0]] = 1
    forged_record = with_page(rounds, tmp_path, actions)
    refused(rounds, tmp_path, "come[s]? out differently|decide otherwise", **forged_record)


def test_a_record_cut_before_the_end_of_its_arm_is_refused(rounds, tmp_path):
    kept = kept_of(rounds)
    short = with_page(
        rounds,
        tmp_path,
        kept.actions[:2],
        steps=2,
        asked=kept.page.asked[:2],
        marks=(kept.page.marks[0], (2, "0" * 16)),
    )
    refused(rounds, tmp_path, "comes out differently at step 2", **short)
    folder = tmp_path / "short"
    folder.mkdir()
    text = ROUNDS.replace("steps:4", "steps:2")
    (folder / "agent.py").write_text(FALLIBLE)
    run = played(folder, text, (f"agent:{folder}/agent.py:decide", SCRIPT))
    other = read_pack(packed(run, folder / "short.zip"))
    honest = record.unpacked(other.members[f"{PLAYED}/{other.units[0].episode}/{EPISODE}"], "x")
    true_marks = with_page(
        rounds,
        tmp_path,
        kept.actions[:2],
        steps=2,
        asked=kept.page.asked[:2],
        marks=honest.page.marks,
        ended="steps 2",
    )
    refused(rounds, tmp_path, "stops at step 2 .* not over", **true_marks)


def test_failures_that_were_hidden_are_refused(rounds, tmp_path):
    pack, name = rounds
    results = [replace(pack.results[0], failures=0), *pack.results[1:]]
    refused(rounds, tmp_path, "failures is 0, and 2 when", results)
    values = {**pack.results[0].values, "valid": (4.0, 4.0)}
    results = [replace(pack.results[0], values=values), *pack.results[1:]]
    refused(rounds, tmp_path, "valid is", results)
    decided = pack.members[name + DECISIONS].replace(b'"failure": "illegal"', b'"failure": ""')
    assert decided != pack.members[name + DECISIONS]
    refused(rounds, tmp_path, "different decisions", **{name + DECISIONS: decided})
    refused(rounds, tmp_path, "different decisions", **{name + DECISIONS: b""})
    fewer = with_page(rounds, tmp_path, asked=kept_of(rounds).page.asked[1::2])
    refused(rounds, tmp_path, "are asked at step 0", **fewer)


def test_an_action_in_the_decisions_that_was_not_played_is_refused(rounds, tmp_path):
    pack, name = rounds
    decided = pack.members[name + DECISIONS].replace(
        b'"action": "defect"', b'"action": "cooperate"'
    )
    refused(rounds, tmp_path, "'cooperate' for seat", **{name + DECISIONS: decided})


def test_models_without_their_calls_are_refused(file):
    pack = read_pack(file)
    members = {n: d for n, d in pack.members.items() if not n.endswith((CALL_LINES, SEAL))}
    file.write_bytes(seal_members(members, pack.seal.units, {}, pack.seal.prompts))
    with pytest.raises(CannotRead, match=r"calls\.jsonl is missing"):
        verify_pack(read_pack(file))


def test_a_prompt_that_was_not_asked_is_refused(file):
    pack = read_pack(file)
    name = next(name for name in pack.members if name.endswith(CALL_LINES))
    altered = pack.members[name].replace(b"cooperate", b"surrender", 1)
    assert altered != pack.members[name]
    with pytest.raises(CannotRead, match="not the one recorded"):
        verify_pack(read_pack(forged(file, **{name: altered})))


@pytest.mark.parametrize(
    "change", [{"models": ["llm:gpt"]}, {"suite": "strangers"}, {"digest": "0" * 16}]
)
def test_a_manifest_of_another_run_is_refused(change, file):
    pack = read_pack(file)
    manifest = {**pack.manifest, "config": {**pack.manifest["config"], **change}}
    data = json.dumps(manifest, indent=1).encode() + b"\n"
    with pytest.raises(CannotRead, match=r"manifest\.json has"):
        verify_pack(read_pack(forged(file, **{MANIFEST: data})), quick=True)


def test_a_suite_with_the_name_of_an_installed_one_is_named_as_another(tmp_path):
    whole = read_suite("strangers")
    arm = whole.arm[0].id
    assert suite_source(RunPlan(suite=whole)) == "the installed suite"
    part = RunPlan(suite=whole.chosen((arm,)), only=(arm,))
    assert suite_source(part) == f"1 of {len(whole.arm)} arms of the installed suite"
    file = tmp_path / "strangers.toml"
    file.write_text(SUITE)
    assert "differs from the installed suite" in suite_source(RunPlan(suite=read_suite(file)))


def test_a_pack_of_which_nothing_could_be_played_is_not_verified(file, monkeypatch, capsys):
    monkeypatch.setattr(pack_verification._Replayed, "_world", lambda self, arm: "no such world")
    with pytest.raises(SystemExit) as stopped:
        VerifyCommand(file, json=True).run()
    told = json.loads(capsys.readouterr().out)
    assert stopped.value.code == 1 and not told["verified"]
    assert told["not_replayed"] == {"no such world": 4}


# Forged packs with calls and curves.

COUNTED = (
    SUITE
    + """
[[metric]]
id = "calls"
measure = "calls"

[[metric]]
id = "tokens"
measure = "tokens"

[[metric]]
id = "cost"
measure = "cost"

[[curve]]
id = "gain"
measure = "return"
of = ["focal"]
points = 1
"""
)


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A pack of a fake model's unit and a script's, with calls, tokens and a curve."""
    folder = tmp_path_factory.mktemp("counted")
    run = played(folder, COUNTED, seeds=1)
    return read_pack(packed(run, folder / "honest.zip")), ""


def with_result(counted, place, **changes):
    """The results of the pack with changes in one; values are added to its own."""
    results = [*counted[0].results]
    values = {**results[place].values, **changes.pop("values", {})}
    results[place] = replace(results[place], values=values, **changes)
    return results


def with_answers(counted, change):
    """The recorded calls with a change in every answer."""
    pack, _ = counted
    name = next(name for name in pack.members if name.endswith(CALL_LINES))
    rows = [json.loads(line) for line in pack.members[name].splitlines()]
    for row in rows:
        if row[0] == "calls":
            row[7] = json.dumps(change(json.loads(row[7])))
    return {name: b"".join(json.dumps(row).encode() + b"\n" for row in rows)}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("curves", [{}, {"gain focal": (0.0, 99.0)}])
def test_forged_curves_are_refused(place, curves, counted, tmp_path):
    results = with_result(counted, place, curves=curves)
    refused(counted, tmp_path, "the curve gain focal is", results)


@pytest.mark.parametrize("metric", ["calls", "tokens", "cost"])
def test_forged_usage_of_a_script_is_refused(metric, counted, tmp_path):
    results = with_result(counted, 1, values={metric: 7.0})
    refused(counted, tmp_path, rf"{metric} is 7\.0, and None", results)


@pytest.mark.parametrize("sent", [-1000, 1])
def test_recorded_usage_that_cannot_be_true_is_refused(sent, counted, tmp_path, monkeypatch):
    monkeypatch.setattr(RunCalls, "fake", lambda self, seat: None)  # as of a model on a server

    def change(answer):
        return {**answer, "usage": {**answer["usage"], "input_tokens": sent}}

    told = with_answers(counted, change)
    (row,) = [json.loads(x) for x in next(iter(told.values())).splitlines() if b'"calls"' in x[:10]]
    tokens = float(sent + json.loads(row[7])["usage"]["output_tokens"])
    results = with_result(counted, 0, values={"tokens": max(tokens, 0.0)})
    why = "tokens is a whole number from 0 on" if sent < 0 else "tokens is"
    refused(counted, tmp_path, why, results, **told)


def test_settings_that_a_pack_gives_a_fake_model_do_not_count(tmp_path, monkeypatch):
    """Tokens of a fake that was asked in another form, which recorded calls say was its own."""
    settings = runtime._HERE.model_copy(update={"structured": "text", "model": "fake"})
    with monkeypatch.context() as patched:
        patched.setattr(runtime, "_HERE", settings)
        run = played(tmp_path, COUNTED, (FAKE,), seeds=1)
        pack = read_pack(packed(run, tmp_path / "text.zip"))
    name = next(name for name in pack.members if name.endswith(CALL_LINES))
    rows = [json.loads(line) for line in pack.members[name].splitlines()]
    for row in rows:
        if row[:2] == ["meta", "models"]:
            row[2] = json.dumps({"fake": settings.model_dump(mode="json")})
    told = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    refused((pack, ""), tmp_path, "mode was 'text' and is 'legal_schema'", **{name: told})


@pytest.mark.parametrize(
    "name",
    [
        f"{PLAYED}/{'f' * 16}/{EPISODE}",
        f"{PLAYED}/{{episode}}/trial-1/{DECISIONS}",
        "worlds/0/world.toml",
        "worlds/7/charter.json",
        f"minds/{'0' * 16}/mind.toml",
    ],
)
def test_members_that_belong_to_nothing_in_the_plan_are_refused(name, file, tmp_path):
    name = name.format(episode=host_unit(read_pack(file))[1].episode)
    forged(file, **{name: b"unread"})
    with pytest.raises(CannotRead, match=f"{name} belongs to nothing"):
        read_pack(file, trusted=True)


@pytest.mark.parametrize(("name", "key"), [(PLAN, b'"title":'), (MANIFEST, b'"seeds":')])
def test_a_plan_or_a_manifest_that_says_two_things_is_refused(name, key, file):
    data = read_pack(file).members[name]
    forged(file, **{name: data.replace(key, key + b' "another", ' + key, 1)})
    with pytest.raises(CannotRead, match=f"{key.decode()[1:-2]}' twice in one object"):
        read_pack(file)


def test_what_verify_prints_of_a_pack_cannot_break_or_command_the_terminal(monkeypatch, capsys):
    given = {"script:[/b] is not here \x1b[2J": 1}
    verdict = pack_verification.PackVerdict("", 6, 1, "tiny", "", "", not_replayed=given)
    monkeypatch.setattr(verify, "read_pack", lambda *given: None)
    monkeypatch.setattr(verify, "verify_pack", lambda *given: verdict)
    with pytest.raises(SystemExit) as stopped:
        VerifyCommand(Path("tiny.zip")).run()
    said = capsys.readouterr().out
    assert stopped.value.code == 1 and "script:[/b] is not here [2J" in said
    assert "\x1b" not in said


def test_errors_are_printed_without_control_characters(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sociarium", "verify", str(tmp_path / "no\x1b[2J.zip")])
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and "Cannot read" in said and "\x1b" not in said


def test_a_pack_in_which_a_fake_did_not_follow_its_script_is_refused(
    tmp_path, monkeypatch, counted
):
    with monkeypatch.context() as patched:
        patched.setattr(FakeModel, "action", lambda self, percept: "stay")
        run = played(tmp_path, COUNTED, ("fake?level=random",), seeds=2)
        file = packed(run, tmp_path / "stays.zip")
    with pytest.raises(CannotRead, match="not the one of the fake model"):
        verify_pack(read_pack(file))
    name = next(name for name in counted[0].members if name.endswith(CALL_LINES))
    late = counted[0].members[name] + b'["outcomes", 0, 0, "late", "slow"]\n'
    seat = json.loads(next(x for x in late.splitlines() if b'"calls"' in x[:10]))[1]
    late = late.replace(b'["outcomes", 0,', f'["outcomes", {seat},'.encode())
    refused(counted, tmp_path, "is recorded as late", **{name: late})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"values": {"cost": -1.0}}, "cost is -1.0; it can be between 0"),
        ({"values": {"cost": float("inf")}}, "cost is inf"),
        ({"values": {"cost": float("nan")}}, "cost is nan"),
        ({"values": {"cost": 1e308}}, r"cost is 1e\+308"),
        ({"steps": -1}, "-1 steps"),
        ({"curves": {"gain focal": (1.0,)}}, "the curve gain focal has 1 points; the suite has 2"),
        ({"curves": {"other focal": (1.0, 2.0)}}, "the curve other focal has 2 points"),
    ],
)
def test_impossible_numbers_are_refused_in_words(changes, why, counted, tmp_path):
    line = with_result(counted, 0, **changes)[0].line()
    with pytest.raises(CannotRead, match=why):
        read_pack(resealed(counted[0], tmp_path, {}, {0: line}))


def resealed(pack, folder, changes, lines=None):
    """The pack with changed members or lines of units, and its old report."""
    found = {n: one.line() for n, one in enumerate(pack.results)} | (lines or {})
    members = {**pack.members, UNITS: b"".join(found.values()), **changes}
    del members[SEAL]
    told = [
        sealed.model_copy(update={"sha256": hashed(line)})
        for sealed, line in zip(pack.seal.units, found.values(), strict=True)
    ]
    data = seal_members(members, told, pack.seal.policies, pack.seal.prompts)
    return _written(folder / "resealed.zip", data)


@pytest.mark.parametrize(
    "change",
    [
        {"versions": ["a"]},
        {"versions": {"jax": {"a": [1]}}},
        {"git": ["x"]},
        {"git": {}},
        {"devices": [{}]},
        {"config": [1]},
        {"command": 7},
        {"command": ["\ud800"]},
        {"preregistered": 7},
    ],
)
def test_a_manifest_of_another_form_is_refused_in_words(change, counted, tmp_path):
    pack = counted[0]
    own = change.keys() <= {"command", "preregistered"}
    told = {"config": {**pack.manifest["config"], **change}} if own else change
    data = json.dumps({**pack.manifest, **told}).encode()
    with pytest.raises(CannotRead, match="is no manifest of a run"):
        read_pack(resealed(pack, tmp_path, {MANIFEST: data}))


def test_films_of_no_arm_or_of_no_picture_are_refused_and_others_noted(counted, tmp_path):
    for films in ({"films/zz.gif": b"GIF89a"}, {"films/scripts.gif": b"<script>"}):
        with pytest.raises(CannotRead, match="is not the GIF of an arm"):
            read_pack(resealed(counted[0], tmp_path, films))
    pack = read_pack(resealed(counted[0], tmp_path, {"films/scripts.gif": b"GIF89a"}))
    found = Findings(
        pack.plan.suite,
        pack.units,
        dict(zip([u.key for u in pack.units], pack.results, strict=True)),
    )
    page = render_report(found, pack.manifest, pack.plan.only, {"scripts": b"GIF89a"}).encode()
    pack = replace(pack, members={**pack.members, PAGE: page})
    assert verify_pack(pack, quick=True).notes == ("1 films were not compared",)


@pytest.mark.parametrize("claim", [{"sociarium": "0.0.1"}, {"matplotlib": ""}])
def test_a_page_that_could_not_be_compared_is_not_verified(claim, counted, monkeypatch, capsys):
    pack = counted[0]
    seal = pack.seal.model_copy(update={"rendered_with": {**pack.seal.rendered_with, **claim}})
    page = pack.members[PAGE].replace(b"A tiny one", b"A huge one")
    other = replace(pack, seal=seal, members={**pack.members, PAGE: page})
    monkeypatch.setattr("sociarium.cli.verify.read_pack", lambda *_: other)
    with pytest.raises(SystemExit) as stopped:
        VerifyCommand(pack.path).run()
    said = capsys.readouterr().out
    assert stopped.value.code == 1 and "not verified: 0 of 2 units" in said
    assert "report.html was not compared" in said and "claims of the author" in said


@pytest.mark.parametrize("row", [["meta", "x", 10**30], ["texts", "x", "\ud800"]])
def test_calls_that_no_database_holds_are_refused_in_words(row, tmp_path):
    with pytest.raises(CannotRead, match="recorded calls are damaged"):
        write_calls(json.dumps(row).encode(), tmp_path / CALLS)


def test_steps_of_a_plan_are_bounded_by_what_was_sealed(counted, tmp_path, monkeypatch):
    pack = counted[0]
    (arm,) = pack.plan.suite.arm
    long = arm.model_copy(update={"terms": arm.terms.model_copy(update={"steps": 100_000})})
    plan = pack.plan.model_copy(
        update={"suite": pack.plan.suite.model_copy(update={"arm": (long,)})}
    )
    replayed = pack_verification._Replayed(replace(pack, plan=plan), False, tmp_path)
    asked, play = [], suite_run.batch

    def batch(env, some):
        asked.extend(one.arm.terms.steps for one in some)
        return play(env, some)

    monkeypatch.setattr(suite_run, "batch", batch)
    list(replayed.run.play_table([replace(pack.units[1], arm=long)]))
    assert asked == [2]


def test_packs_with_mind_files_need_trust(mind_file):
    with pytest.raises(CannotRead, match=r"holds mind files.*--trust"):
        read_pack(mind_file)


def test_the_key_of_a_model_s_unit_must_be_its_own(counted, tmp_path):
    results = with_result(counted, 0, key="0" * 16)
    pack = read_pack(resealed(counted[0], tmp_path, {}, {0: results[0].line()}))
    with pytest.raises(CannotRead, match=r"the key of scripts, fake.* is not its own"):
        verify_pack(pack)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        (EPISODE, b"damaged", "not an episode file"),
        (DECISIONS, b"{", "damaged"),
        (DECISIONS, b"", "different decisions"),
    ],
)
def test_a_damaged_match_is_not_packed(name, content, why, run, tmp_path):
    part = shutil.copytree(run, tmp_path / "part")
    next((part / PLAYED).rglob(name)).write_bytes(content)
    with pytest.raises(CannotRead, match=why):
        make_pack(part)


def test_a_world_in_python_is_not_packed(run, tmp_path):
    part = shutil.copytree(run, tmp_path / "part")
    plan = RunPlan.model_validate_json((part / PLAN).read_bytes())
    (arm,) = plan.suite.arm
    suite = plan.suite.model_copy(
        update={"arm": (arm.model_copy(update={"world": "my_world.py:MyWorld"}),)}
    )
    with pytest.raises(BadArgument, match=r"my_world\.py:MyWorld, which is Python"):
        dict(_world_members(plan.model_copy(update={"suite": suite})))


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
    said = command("verify", file)
    assert "verified: every unit was played again" in said
    assert "suite tiny, digest" in said and "no installed suite has this name" in said
    assert "nothing was played" in command("verify", file, "--quick")
    assert not json.loads(command("verify", file, "--quick", "--json"))["verified"]
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
