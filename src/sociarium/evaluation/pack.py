"""A finished run of a suite in one sealed file, which anybody can check without asking a model.

Equal runs give equal packs byte for byte. A pack holds

manifest.json   what the run was made with, without times and paths of the machine
suite.json      the suite, the contestants and the number of seeds: from these follow all units
units.jsonl     what was measured, a line for each unit, in their order
report.json     what the units show; report.html is its page
units           the matches of host players: records, decisions, recorded calls of models
films           of some arms, as the page has them; they are sealed, not drawn again
worlds          files that describe worlds of one's own, by the place of their arm
seal.json       the hash of every member and of every line of units.jsonl, and one of all these

The seal finds what was damaged or changed by hand. Whoever changes a pack on purpose can seal it
anew, so `pack_verification` plays the units again.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sociarium.arena.match_folder import DECISIONS, EPISODE
from sociarium.arena.series import trial_folder
from sociarium.core.disk import step_name
from sociarium.core.errors import BadArgument, CannotRead, first_wrong
from sociarium.core.manifest import MANIFEST, plain, read_manifest
from sociarium.core.record import files_beside
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack_calls import call_lines
from sociarium.evaluation.pack_file import (
    PAGE,
    REPORT,
    SEAL,
    Seal,
    SealedUnit,
    hashed,
    read_members,
    seal_members,
)
from sociarium.evaluation.report import render_report
from sociarium.evaluation.report_films import FILMS, read_films
from sociarium.evaluation.suite_run import (
    PLAN,
    PLAYED,
    UNITS,
    RunPlan,
    SuiteRun,
    SuiteUnit,
    UnitResult,
    units,
)
from sociarium.language.models.store import CALLS
from sociarium.players import roster
from sociarium.players.policy import SNAPSHOTS, WEIGHTS
from sociarium.players.roster import Seat

WORLDS, CALL_LINES = "worlds", "calls.jsonl"
MOST_UNITS = 1_000_000
MOST_CHAIRS = 4  # digits of how often a seat is there
_RESULT = TypeAdapter(UnitResult)


@dataclass(frozen=True)
class Pack:
    """What a pack holds, once its seal was found whole; `results` are in the order of `units`."""

    path: Path
    members: Mapping[str, bytes]
    seal: Seal
    manifest: Mapping[str, Any]
    plan: RunPlan
    units: tuple[SuiteUnit, ...]
    results: tuple[UnitResult, ...]

    def findings(self) -> Findings:
        """What the units show."""
        done = {unit.key: one for unit, one in zip(self.units, self.results, strict=True)}
        return Findings(self.plan.suite, self.units, done)


def report_bytes(findings: Findings) -> bytes:
    """The report of a suite as it is written down."""
    return (json.dumps(findings.as_dict(), indent=1) + "\n").encode()


# Packing.


def make_pack(folder: Path) -> bytes:
    """The pack of a run; one that is not finished is refused."""
    plan = read_plan(folder)
    run = SuiteRun(plan.suite, plan.models, folder, plan.seeds)
    done = run.done()
    missing = [unit for unit in run.units if unit.key not in done]
    if missing:
        raise BadArgument(
            f"{folder} is not finished: {len(missing)} of {len(run.units)} units are missing. "
            "`sociarium evaluate` goes on where it was stopped"
        )
    shown = RunPlan.model_validate(plain(plan.model_dump(mode="json")))
    sealed = units(shown.suite, shown.models, shown.seeds)
    if len(sealed) != len(run.units):
        raise BadArgument(
            "a pack holds no paths of a machine, and without them two contestants have one name; "
            "give policies by paths below the working directory"
        )
    results = [
        replace(done[old.key], key=new.key, model=new.model, lineup=new.lineup)
        for old, new in zip(run.units, sealed, strict=True)
    ]
    by_key = {one.key: one for one in results}
    findings = Findings(shown.suite, sealed, by_key)
    manifest = _timeless(read_manifest(folder), shown)
    report, films = report_bytes(findings), read_films(folder)
    if shown == plan and _read(folder / REPORT) != report:
        raise CannotRead(
            f"{folder / REPORT} is not what the units show; `sociarium evaluate` writes it anew"
        )
    lines = [one.line() for one in results]
    members = {
        MANIFEST: json.dumps(manifest, indent=1).encode() + b"\n",
        PLAN: shown.model_dump_json(indent=1).encode() + b"\n",
        UNITS: b"".join(lines),
        REPORT: report,
        PAGE: render_report(findings, manifest, shown.only, films).encode(),
        **{f"{FILMS}/{arm}.gif": film for arm, film in films.items()},
        **dict(_matches(run, sealed)),
        **dict(_world_files(plan)),
    }
    told = [
        SealedUnit(arm=u.arm.id, model=u.model, seed=u.seed, episode=u.episode, sha256=hashed(line))
        for u, line in zip(sealed, lines, strict=True)
    ]
    policies = {
        str(new): policy_hash(old)
        for before, after in zip(run.units, sealed, strict=True)
        for old, new in zip(before.chairs, after.chairs, strict=True)
        if old.kind == "policy"
    }
    return seal_members(members, told, policies)


def read_plan(folder: Path) -> RunPlan:
    """What was asked of a run."""
    data = _read(folder / PLAN)
    if data is None:
        raise CannotRead(
            f"{folder} holds no run of a suite: there is no {PLAN}. Give the folder that "
            "`sociarium evaluate` wrote"
        )
    return _plan(data, str(folder / PLAN))


def policy_hash(chair: Seat) -> str:
    """A hash of the weights that a policy in a chair is loaded from; nothing if it is not here."""
    folder, at = Path(roster.file_of(chair)), dict(chair.options).get("at", "")
    place = folder / SNAPSHOTS / step_name(int(at)) if at.isdigit() else folder / WEIGHTS
    files = sorted(place.glob("seed-*"))
    told = "".join(f"{file.name} {hashed(file.read_bytes())}\n" for file in files)
    return hashed(told.encode()) if files else ""


def _timeless(manifest: Mapping[str, Any], plan: RunPlan) -> dict[str, Any]:
    """A manifest without times, which are never the same."""
    config = {**manifest.get("config", {}), "digest": plan.suite.digest}
    kept = {name: manifest.get(name) for name in ("seeds", "versions", "devices", "git")}
    return {"config": plain(config), **kept}


def _matches(run: SuiteRun, sealed: Sequence[SuiteUnit]) -> Iterator[tuple[str, bytes]]:
    """What is kept of the matches of host players."""
    for old, new in zip(run.units, sealed, strict=True):
        if not old.outside:
            continue
        for trial, folder in played_in(run.out / PLAYED / old.episode, old.arm.terms.trials):
            record = _read(folder / EPISODE)
            if record is None:
                raise CannotRead(f"{folder} has no {EPISODE}: the match of a unit is missing")
            name = member_name(new.episode, trial)
            yield name + EPISODE, record
            decisions = _read(folder / DECISIONS)
            yield from [] if decisions is None else [(name + DECISIONS, decisions)]
            calls = folder / CALLS
            yield from [(name + CALL_LINES, call_lines(calls))] if calls.exists() else []


def played_in(folder: Path, trials: int) -> Iterator[tuple[int | None, Path]]:
    """The folders of the matches of an episode, with the trial that each is, if it is one."""
    first = trial_folder(folder, 0)
    if trials == 1 and not first.exists():
        yield None, folder
        return
    yield from ((trial, trial_folder(folder, trial)) for trial in range(trials))


def member_name(episode: str, trial: int | None) -> str:
    """How the names of the members of a match begin."""
    return f"{PLAYED}/{episode}/" + ("" if trial is None else f"trial-{trial}/")


def _world_files(plan: RunPlan) -> Iterator[tuple[str, bytes]]:
    for place, arm in enumerate(plan.suite.arm):
        for name, path in files_beside(arm.name).items():
            data = _read(Path(path))
            if data is None:
                raise CannotRead(f"{path} is not here, which the world of the arm {arm.id} is in")
            yield f"{WORLDS}/{place}/{name}", data


def _read(file: Path) -> bytes | None:
    """The bytes of a file, if it is there."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CannotRead(f"Cannot read {file}: {error.strerror or error}.") from error


# Reading, from anybody.


def read_pack(path: Path) -> Pack:
    """What a pack holds; one that differs from its seal is refused, and it is said in what."""
    members, seal = read_members(path)
    plan = _plan(members[PLAN], f"{path}: {PLAN}")
    _check_size(plan, len(seal.units), path)
    found = tuple(units(plan.suite, plan.models, plan.seeds))
    manifest = _json(members[MANIFEST], f"{path}: {MANIFEST}")
    results = _results(members, plan, found, path)
    told = [(one.arm, one.model, one.seed, one.sha256) for one in seal.units]
    if told != [(one.arm, one.model, one.seed, hashed(one.line())) for one in results]:
        raise CannotRead(f"{path}: {SEAL} seals other units than {UNITS} has")
    return Pack(path, members, seal, manifest, plan, found, results)


def _plan(data: bytes, what: str) -> RunPlan:
    try:
        return RunPlan.model_validate_json(data)
    except ValidationError as error:
        raise CannotRead(f"{what} is no plan of a run: {first_wrong(error)}") from None


def _check_size(plan: RunPlan, sealed: int, path: Path) -> None:
    """Refuses a plan of more seats or units than there are, before they are made."""
    suite = plan.suite
    told = [plan.model_dump_json(include={"models"})]
    told += [f"{arm.seats} {' '.join(arm.terms.always)}" for arm in suite.arm]
    if any(re.search(rf"\*\d{{{MOST_CHAIRS + 1},}}", text) for text in told):
        raise CannotRead(f"{path}: {PLAN} asks for more players than a world has")
    least = 0  # every line-up has a unit at least
    for arm in suite.arm:
        many = len({*plan.models, *arm.terms.always}) if arm.has_model else 1
        lineups = {"each": many, "arena": 1}.get(arm.terms.lineups, 0) or (
            many ** min(arm.free, 40)
            if arm.terms.lineups == "orders"
            else math.comb(many + arm.free - 1, arm.free)
        )
        least += lineups * (plan.seeds or arm.terms.seeds)
    if least > min(sealed, MOST_UNITS):
        raise CannotRead(
            f"{path}: {PLAN} asks for {least:,} units or more, of which {sealed:,} are sealed"
        )


def _json(data: bytes, what: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CannotRead(f"{what} is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise CannotRead(f"{what} is no object")
    return found


def _results(
    members: Mapping[str, bytes], plan: RunPlan, found: Sequence[SuiteUnit], path: Path
) -> tuple[UnitResult, ...]:
    """The lines of units.jsonl, which are those of the units, one by one."""
    lines = members[UNITS].splitlines(keepends=True)
    if len(lines) != len(found):
        raise CannotRead(
            f"{path}: {UNITS} has {len(lines)} lines, and the suite has {len(found)} units"
        )
    results = []
    metrics = {metric.id for metric in plan.suite.metric}
    for unit, line in zip(found, lines, strict=True):
        try:
            one = _RESULT.validate_json(line)
        except ValidationError as error:
            raise CannotRead(f"{path}: {UNITS}, {unit_name(unit)}: {first_wrong(error)}") from None
        if (one.arm, one.model, one.seed, one.lineup, one.focal) != unit.place:
            raise CannotRead(
                f"{path}: {UNITS} has a line of {one.arm!r}, {one.model!r}, seed {one.seed} where "
                f"{unit_name(unit)} belongs"
            )
        if one.line() != line or not metrics >= one.values.keys():
            raise CannotRead(
                f"{path}: {UNITS}, {unit_name(unit)}: the line is not as it is written"
            )
        results.append(one)
    return tuple(results)


def unit_name(unit: SuiteUnit) -> str:
    """Which unit it is, in words."""
    alone = set(unit.lineup) <= {unit.model}
    others = "" if alone else f" among {' '.join(unit.lineup)}"
    return f"{unit.arm.id}, {unit.model or 'as seated'}{others}, seed {unit.seed}"
