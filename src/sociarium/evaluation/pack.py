"""A finished run of a suite in one sealed file, which anybody can check without asking a model.

Equal runs give equal packs byte for byte. A pack holds

manifest.json   what the run was made with, without times and paths of the machine
suite.json      the suite, the contestants and the number of seeds: from these follow all units
units.jsonl     what was measured, a line for each unit, in their order
report.json     what the units show; report.html is its page
units           the matches of host players: records, decisions, recorded calls of models
films           of some arms, as the page has them; they are sealed, not drawn again
worlds          files that describe worlds of one's own, by the place of their arm
minds           mind files and the files beside them, by a hash of the path in the seat
seal.json       the hash of every member and of every line of units.jsonl, and one of all these

The seal finds what was damaged or changed by hand. Whoever changes a pack on purpose can seal it
anew, so `pack_verification` plays the units again.
"""

import json
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from sociarium.arena.match_folder import DECISIONS, EPISODE
from sociarium.arena.series import trial_folder
from sociarium.core import record
from sociarium.core.checked_lines import unchecked
from sociarium.core.code import code_in
from sociarium.core.disk import step_name
from sociarium.core.errors import BadArgument, CannotRead, first_wrong
from sociarium.core.manifest import MANIFEST, plain, read_manifest
from sociarium.core.record import files_beside
from sociarium.core.text import BadText, read_json
from sociarium.evaluation.comprehension import PART
from sociarium.evaluation.decision_measures import TOKENS_FOR, USAGE, HostDecisions
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack_calls import call_lines
from sociarium.evaluation.pack_file import (
    PAGE,
    REPORT,
    SEAL,
    SURE,
    Seal,
    SealedUnit,
    hashed,
    read_members,
    seal_members,
    write_members,
)
from sociarium.evaluation.report import render_report
from sociarium.evaluation.report_films import FILMS, films_in, read_films
from sociarium.evaluation.suite import Suite
from sociarium.evaluation.suite_run import (
    PLAN,
    PLAYED,
    UNITS,
    RunPlan,
    SuiteRun,
    SuiteUnit,
    UnitResult,
    packaged_prompts_hash,
    units,
)
from sociarium.language.models.store import CALLS
from sociarium.players import roster
from sociarium.players.minds.mind_files import SUFFIX, MindTable, read_mind_file, use_minds
from sociarium.players.policy import SNAPSHOTS, WEIGHTS
from sociarium.players.roster import Seat

WORLDS, MINDS, CALL_LINES = "worlds", "minds", "calls.jsonl"
MIND_FILE = "mind.toml"
MOST_UNITS = 1_000_000
MOST_CHAIRS = 4  # digits of how often a seat is there
COUNTED = (*USAGE, "used", TOKENS_FOR)
MOST_VALUE = 1e15  # of a number in units.jsonl
_RESULT = TypeAdapter(UnitResult)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Config(_Part):
    suite: str
    digest: str
    models: list[str]
    preregistered: str = ""
    private: str = ""
    command: list[str] = []


class _Git(_Part):
    commit: str
    changed: bool


class _Devices(_Part):
    backend: str
    kind: str
    count: int


class _Manifest(_Part):
    config: _Config
    seeds: list[int]
    versions: dict[str, str | None]
    devices: _Devices | None
    git: _Git | None


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
    minds = dict(_mind_members(run.units))
    with use_minds(packed_minds(minds, folder)):
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
    manifest = _timeless(read_manifest(folder), shown, sealed)
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
        **dict(_world_members(plan)),
        **minds,
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
    return seal_members(members, told, policies, packaged_prompts_hash())


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


def described_run(plan: RunPlan, found: Sequence[SuiteUnit]) -> dict[str, Any]:
    """What a manifest says of the run besides the machine and the versions."""
    return {
        "suite": plan.suite.id,
        "digest": plan.suite.digest,
        "models": list(plan.models),
        "seeds": sorted({unit.seed for unit in found}),
    }


def _timeless(
    manifest: Mapping[str, Any], plan: RunPlan, found: Sequence[SuiteUnit]
) -> dict[str, Any]:
    """A manifest without times, which are never the same."""
    run = described_run(plan, found)
    seeds = run.pop("seeds")
    kept = {name: manifest.get(name) for name in ("versions", "devices", "git")}
    return {"config": plain({**manifest.get("config", {}), **run}), "seeds": seeds, **kept}


def _matches(run: SuiteRun, sealed: Sequence[SuiteUnit]) -> Iterator[tuple[str, bytes]]:
    """What is kept of the matches of host players."""
    for old, new in zip(run.units, sealed, strict=True):
        if not old.outside:
            continue
        if old.arm.terms.probes:
            yield from _answers(run.out / PLAYED / old.episode, member_name(new.episode, None))
            continue
        for trial, folder in played_in(run.out / PLAYED / old.episode, old.arm.terms.trials):
            episode = _read(folder / EPISODE)
            if episode is None:
                raise CannotRead(f"{folder} has no {EPISODE}: the match of a unit is missing")
            kept = record.unpacked(episode, str(folder / EPISODE))
            decided = HostDecisions.read(folder, old.chairs, old.arm.terms.clock)
            if wrong := decided.lacks(kept.page):
                raise CannotRead(f"{folder}: {wrong}")
            name = member_name(new.episode, trial)
            yield name + EPISODE, episode
            decisions = _read(folder / DECISIONS)
            yield from [] if decisions is None else [(name + DECISIONS, decisions)]
            calls = folder / CALLS
            yield from [(name + CALL_LINES, call_lines(calls))] if calls.exists() else []


def _answers(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """What is kept of the questions of a unit with probes."""
    yield name + DECISIONS, _needed(folder / DECISIONS, "a unit with probes")
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


def _world_members(plan: RunPlan) -> Iterator[tuple[str, bytes]]:
    for place, arm in enumerate(plan.suite.arm):
        if code := code_in(arm.name):
            raise BadArgument(
                f"the arm {arm.id} has {code[0]}, which is Python: `verify` runs no code of a "
                "pack, so a world or charter in Python cannot be packed. Use tables in TOML, or "
                "install it as a package"
            )
        for name, path in files_beside(arm.name).items():
            yield f"{WORLDS}/{place}/{name}", _needed(Path(path), f"the world of the arm {arm.id}")


def _mind_members(found: Sequence[SuiteUnit]) -> Iterator[tuple[str, bytes]]:
    """The mind files of chairs, and the files beside them."""
    packed: dict[str, Path] = {}
    for chair in dict.fromkeys(chair for unit in found for chair in unit.chairs):
        source = dict(chair.options).get("mind", "")
        if chair.kind != "llm" or not source.endswith(SUFFIX):
            continue
        shown = dict(roster.chair(plain(str(chair))).options)["mind"]
        file = packed.setdefault(shown, Path(source))
        if file != Path(source):
            raise BadArgument(
                f"a pack holds no paths of a machine, and without them the minds {file} and "
                f"{source} have one name; give them by paths below the working directory"
            )
        beside = {name: file.parent / name for name in read_mind_file(file, source).beside}
        for name, path in {MIND_FILE: file, **beside}.items():
            yield f"{_mind_place(shown)}/{name}", _needed(path, f"the mind {source}")


def _mind_place(source: str) -> str:
    return f"{MINDS}/{hashed(source.encode())[:16]}"


def _needed(file: Path, by: str) -> bytes:
    data = _read(file)
    if data is None:
        raise CannotRead(f"{file} is missing; {by} needs it")
    return data


def _read(file: Path) -> bytes | None:
    """The bytes of a file, if it is there."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CannotRead(f"Cannot read {file}: {error.strerror or error}.") from error


# Reading, from anybody.


def packed_minds(members: Mapping[str, bytes], pack: Path) -> Callable[[str], MindTable]:
    """Finds minds by the paths in seats among the members of a pack, never at these paths."""

    @cache
    def find(source: str) -> MindTable:
        place = _mind_place(source)
        if f"{place}/{MIND_FILE}" not in members:
            raise CannotRead(f"{pack} has no {place}/{MIND_FILE}, which a seat names as {source}")
        with tempfile.TemporaryDirectory() as scratch:
            write_members(members, place, Path(scratch))
            return read_mind_file(Path(scratch) / MIND_FILE, source)

    return find


def read_pack(path: Path, trusted: bool = False) -> Pack:
    """What a pack holds; one that differs from its seal is refused with what differs.

    Prompts of packed minds can use any time and memory: unless `trusted` they are refused.
    """
    members, seal = read_members(path)
    if not trusted and any(name.startswith(f"{MINDS}/") for name in members):
        raise CannotRead(
            f"{path} holds mind files, whose prompts can use any time and memory. If you trust its "
            "author, `sociarium verify --trust` checks it"
        )
    plan = _plan(members[PLAN], f"{path}: {PLAN}")
    if code := [part for arm in plan.suite.arm for part in code_in(arm.name)]:
        raise CannotRead(f"{path}: {PLAN} names {code[0]}, which is Python; `verify` runs none")
    _check_size(plan, len(seal.units), path)
    with use_minds(packed_minds(members, path)):
        found = tuple(units(plan.suite, plan.models, plan.seeds))
    manifest = _manifest(members[MANIFEST], f"{path}: {MANIFEST}")
    for arm, film in films_in(members).items():
        if arm not in {one.id for one in plan.suite.arm} or not film.startswith(b"GIF8"):
            raise CannotRead(f"{path}: {FILMS}/{arm}.gif is not the GIF of an arm of the suite")
    known = {*SURE, *_named_members(plan, found, seal, members)}
    if unknown := sorted(n for n in members if n not in known and not n.startswith(f"{FILMS}/")):
        raise CannotRead(f"{path}: {unknown[0]} belongs to nothing that {PLAN} asks for")
    results = _results(members, plan, found, path)
    told = [(one.arm, one.model, one.seed, one.sha256) for one in seal.units]
    if told != [(one.arm, one.model, one.seed, hashed(one.line())) for one in results]:
        raise CannotRead(f"{path}: {SEAL} seals other units than {UNITS} has")
    return Pack(path, members, seal, manifest, plan, found, results)


def _named_members(
    plan: RunPlan, found: Sequence[SuiteUnit], seal: Seal, members: Mapping[str, bytes]
) -> Iterator[str]:
    """The members besides those of every pack and films: of worlds, minds and matches."""
    for place, arm in enumerate(plan.suite.arm):
        yield from (f"{WORLDS}/{place}/{name}" for name in files_beside(arm.name))
    chairs = {chair for unit in found for chair in unit.chairs if chair.kind == "llm"}
    places = {_mind_place(dict(chair.options).get("mind", "")) for chair in chairs}
    yield from (name for name in members if name.rpartition("/")[0] in places)
    for unit, sealed in zip(found, seal.units, strict=False):  # the lines are counted elsewhere
        if unit.outside:
            trials: Sequence[int | None] = range(unit.arm.terms.trials)
            if f"{member_name(sealed.episode, 0)}{EPISODE}" not in members:
                trials = (None,)
            for trial in trials:
                name = member_name(sealed.episode, trial)
                yield from (name + file for file in (EPISODE, DECISIONS, CALL_LINES))


def _plan(data: bytes, what: str) -> RunPlan:
    try:
        read_json(data, most=len(data))
        return RunPlan.model_validate_json(data)
    except BadText as error:
        raise CannotRead(f"{what} is no plan of a run: it {error}") from None
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


def _manifest(data: bytes, what: str) -> dict[str, Any]:
    try:
        read_json(data, most=len(data))
        return _Manifest.model_validate_json(data).model_dump(exclude_unset=True)
    except BadText as error:
        raise CannotRead(f"{what} is no manifest of a run: it {error}") from None
    except ValidationError as error:
        raise CannotRead(f"{what} is no manifest of a run: {first_wrong(error)}") from None


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
            one = _RESULT.validate_json(unchecked(line))
        except ValidationError as error:
            raise CannotRead(f"{path}: {UNITS}, {unit_name(unit)}: {first_wrong(error)}") from None
        except ValueError as error:
            raise CannotRead(f"{path}: {UNITS}, {unit_name(unit)}: {error}") from None
        if (one.arm, one.model, one.seed, one.lineup, one.focal) != unit.place:
            raise CannotRead(
                f"{path}: {UNITS} has a line of {one.arm!r}, {one.model!r}, seed {one.seed} where "
                f"{unit_name(unit)} belongs"
            )
        if one.line() != line or not metrics >= {name.partition(PART)[0] for name in one.values}:
            raise CannotRead(
                f"{path}: {UNITS}, {unit_name(unit)}: the line is not as it is written"
            )
        if wrong := _impossible(one, plan.suite):
            raise CannotRead(f"{path}: {UNITS}, {unit_name(unit)}: {wrong}")
        results.append(one)
    return tuple(results)


def _impossible(one: UnitResult, suite: Suite) -> str:
    """A number or a curve that no unit has."""
    if min(one.steps, one.decisions, one.failures) < 0 or one.steps > MOST_VALUE:
        return f"it has {one.steps} steps, {one.decisions} decisions and {one.failures} failures"
    counted = {metric.id for metric in suite.metric if metric.measure.partition(":")[0] in COUNTED}
    for name, value in (one.values | one.curves).items():
        least = 0.0 if name in counted else -MOST_VALUE
        numbers = value if isinstance(value, tuple) else (value,)
        if not all(least <= x <= MOST_VALUE for x in numbers):  # NaN neither
            return f"{name} is {value}; it can be between {least:g} and {MOST_VALUE:g}"
    points = {f"{c.id} {side}": c.points + 1 for c in suite.curve for side in c.of}
    for name, curve in one.curves.items():
        if len(curve) != points.get(name):
            return f"the curve {name} has {len(curve)} points; the suite has {points.get(name, 0)}"
    return ""


def unit_name(unit: SuiteUnit) -> str:
    """Which unit it is, in words."""
    alone = set(unit.lineup) <= {unit.model}
    others = "" if alone else f" among {' '.join(unit.lineup)}"
    return f"{unit.arm.id}, {unit.model or 'as seated'}{others}, seed {unit.seed}"
