"""Whether a pack is true: its units are played again, and its report is worked out anew.

Units of pure players are played from their seeds. Where language models decided, the match is
played from their recorded calls: its prompts, record and decisions must be the sealed ones. What
other players outside did is taken from the record; the world and the pure players must answer as
recorded, and the match must ask whom its clock asks and end where its terms end it. All are
measured again, and must have the sealed values to the last digit. A pack is verified only if every
unit was played again without taking actions from a record.

That a model gave the recorded answers, and what the manifest says of machine and versions, cannot
be told from a pack.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from sociarium.arena import replay
from sociarium.arena.clocks import Realtime, clock
from sociarium.arena.ends import calls_code
from sociarium.arena.match_folder import DECISIONS, EPISODE, MatchFolder
from sociarium.arena.play_many import play_many
from sociarium.arena.replay import world_of
from sociarium.arena.series import Series, SeriesTerms, trial_folder
from sociarium.core import disk, record
from sociarium.core.actions import find_action
from sociarium.core.environment import Environment
from sociarium.core.errors import CannotRead, MissingExtra, SociariumError
from sociarium.core.manifest import MANIFEST, plain, versions
from sociarium.core.patches import NewPlayer
from sociarium.core.record import Page, Record, found_in, told_as
from sociarium.evaluation.comprehension import PART, examine
from sociarium.evaluation.decision_measures import HostDecisions
from sociarium.evaluation.pack import (
    CALL_LINES,
    COUNTED,
    WORLDS,
    Pack,
    described_run,
    member_name,
    packed_minds,
    policy_hash,
    report_bytes,
    unit_name,
)
from sociarium.evaluation.pack_calls import write_calls
from sociarium.evaluation.pack_file import PAGE, REPORT, rendered_with, write_members
from sociarium.evaluation.report import render_report
from sociarium.evaluation.report_films import films_in
from sociarium.evaluation.series_units import is_series, match_terms, play_all
from sociarium.evaluation.suite import SuiteArm, read_suite, suites
from sociarium.evaluation.suite_run import (
    PLAYED,
    RunPlan,
    SuiteRun,
    SuiteUnit,
    UnitResult,
    environment,
    packaged_prompts_hash,
)
from sociarium.language.models.config import Models
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.language.models.store import CALLS
from sociarium.players import roster
from sociarium.players.minds.mind_files import use_minds
from sociarium.players.protocol import Absent
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent

# What the page of a record is before the first step.
BEGUN_WITH = (
    *("seed", "env", "players", "seats", "names", "lane", "number", "numbers", "clock"),
    *("knowledge", "privileged", "revealed", "trial", "carried", "files"),
)
_PICTURE = re.compile(rb"base64,[A-Za-z0-9+/=]*")
World = Environment[Any, Any]


@dataclass(frozen=True)
class PackVerdict:
    """What was checked of a pack in which nothing is wrong."""

    digest: str
    members: int
    units: int
    suite: str
    suite_digest: str
    suite_source: str  # whether it is the installed suite of its name
    played: int = 0  # units of pure players
    from_calls: int = 0  # units of language models, played from their recorded calls
    from_records: int = 0  # units of others, played from what they did
    not_replayed: Mapping[str, int] = field(default_factory=dict)  # by the reason
    page_compared: bool = False
    notes: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether the page was compared and every unit was played again."""
        return self.page_compared and self.played + self.from_calls == self.units


def verify_pack(
    pack: Pack, quick: bool = False, trusted: bool = False, on_progress: OnProgress | None = None
) -> PackVerdict:
    """How a pack was checked; raises `CannotRead` where something differs.

    `quick` plays nothing. A stranger's pack can ask for large worlds, and for policies in any
    place: unless `trusted` these are not played.
    """
    check_manifest(pack)
    notes, suite = check_report(pack), pack.plan.suite
    films = films_in(pack.members)
    checked = PackVerdict(
        digest=pack.seal.digest,
        members=len(pack.members),
        units=len(pack.units),
        suite=suite.id,
        suite_digest=suite.digest,
        suite_source=suite_source(pack.plan),
        page_compared=not notes,
        notes=(*notes, *([f"{len(films)} films were not compared"] if films else [])),
    )
    if quick:
        return checked
    minds = packed_minds(pack.members, pack.path)
    with tempfile.TemporaryDirectory() as scratch, use_minds(minds):
        return _Replayed(pack, trusted, Path(scratch)).verdict(checked, on_progress)


def suite_source(plan: RunPlan) -> str:
    """How a suite differs from the installed one of the same name."""
    suite = plan.suite
    if suite.id not in suites():
        return "no installed suite has this name"
    installed = read_suite(suite.id)
    if suite.digest == installed.digest:
        return "the installed suite"
    for framings in ((), ("numbers",), ("story",), ("numbers", "story"), ("story", "numbers")):
        with suppress(SociariumError):
            asked = installed.framed(framings).chosen(plan.only).ending(suite.other_ends)
            if suite.digest == asked.digest:
                arms = f"{len(suite.arm)} of {len(installed.framed(framings).arm)} arms"
                other_ends = f", ended by {', '.join(asked.other_ends)}" if asked.other_ends else ""
                framed = f", framed as {', '.join(framings)}" if framings else ""
                return f"{arms} of the installed suite{framed}{other_ends}"
    return f"differs from the installed suite of this name, which has digest {installed.digest}"


def check_manifest(pack: Pack) -> None:
    """Refuses a manifest of another run than the plan of the pack."""
    config, plan = pack.manifest.get("config"), pack.plan
    found = config if isinstance(config, dict) else {}
    found = {**found, "seeds": pack.manifest.get("seeds")}
    for name, value in described_run(plan, pack.units).items():
        if found.get(name) != value:
            raise CannotRead(
                f"{pack.path}: {MANIFEST} has {name} {found.get(name)!r}; the units were made with "
                f"{value!r}"
            )


def check_report(pack: Pack) -> list[str]:
    """Refuses a report or a page that is not what the units show; notes what could not be told."""
    findings = pack.findings()
    here, there = rendered_with(), pack.seal.rendered_with
    other = [f"{n} {there.get(n) or 'none'}, here {v or 'none'}" for n, v in here.items()]
    other = [text for text, n in zip(other, here, strict=True) if there.get(n) != here[n]]
    versions_differ = f" It was made with {'; '.join(other)}." if other else ""
    if report_bytes(findings) != pack.members[REPORT]:
        raise CannotRead(f"{pack.path}: {REPORT} is not what the units show.{versions_differ}")
    try:
        films = films_in(pack.members)
        page = render_report(findings, pack.manifest, pack.plan.only, films).encode()
    except MissingExtra as error:
        return [f"{PAGE} was not compared: {error}"]
    if page == pack.members[PAGE]:
        return []
    drawn = there.get("matplotlib"), here["matplotlib"]
    same_text = _PICTURE.sub(b"", page) == _PICTURE.sub(b"", pack.members[PAGE])
    drawn_otherwise = drawn[0] != drawn[1] and (same_text or not all(drawn))
    if there.get("sociarium") == here["sociarium"] and not drawn_otherwise:
        raise CannotRead(f"{pack.path}: {PAGE} is not the page of its report.{versions_differ}")
    return [f"{PAGE} differs from the page that this version makes.{versions_differ}"]


class _Replayed:
    """The units of a pack, played once more in a folder of their own."""

    def __init__(self, pack: Pack, trusted: bool, scratch: Path) -> None:
        self.pack, self.trusted, self.scratch = pack, trusted, scratch
        self.counts: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.notes: list[str] = []
        self._worlds: dict[str, World | str] = {}
        self._reasons: dict[tuple[str, Seat], str] = {}
        self._ready: dict[str, str] = {}  # episodes of host players, and how they were checked

    @cached_property
    def run(self) -> SuiteRun:
        plan = self.pack.plan
        run = SuiteRun(plan.suite, plan.models, self.scratch / "run", plan.seeds)
        run.most_steps = {arm.id: self._longest(arm) + 1 for arm in plan.suite.arm}
        return run

    def verdict(self, checked: PackVerdict, on_progress: OnProgress | None) -> PackVerdict:
        """Plays and compares everything that can be played here."""
        pack, chosen = self.pack, []
        expected: dict[str, UnitResult] = {}
        for unit, one, sealed in zip(pack.units, pack.results, pack.seal.units, strict=True):
            if one.key != unit.key or sealed.episode != unit.episode:
                self._other_key(unit)
            how, placed = self._prepared(unit, sealed.episode)
            if not how:
                continue
            self.counts[how] += 1
            chosen.append(placed)
            expected[unit.key] = one
        self.run.out.mkdir(parents=True, exist_ok=True)
        self.run.units = chosen
        done = self.run.play(on_progress)
        for unit in chosen:
            self._compare(unit, expected[unit.key], done[unit.key])
        if self.counts["records"]:
            self.notes.append(
                f"{self.counts['records']} units were checked from records: what their players "
                "outside chose was not played again"
            )
        return replace(
            checked,
            played=self.counts["played"],
            from_calls=self.counts["calls"],
            from_records=self.counts["records"],
            not_replayed=dict(self.skipped),
            notes=(*checked.notes, *dict.fromkeys(self.notes)),
        )

    def _other_key(self, unit: SuiteUnit) -> None:
        asks_models = any(chair.kind == "llm" for chair in unit.chairs)
        if not asks_models or self.pack.seal.prompts == packaged_prompts_hash():
            raise CannotRead(f"{self.pack.path}: the key of {unit_name(unit)} is not its own")
        self.notes.append(
            "models were asked with other prompts than those of this version, so their recorded "
            "answers cannot be played again"
        )

    def _compare(self, unit: SuiteUnit, sealed: UnitResult, found: UnitResult) -> None:
        """Refuses a value that comes out otherwise."""
        told: dict[str, Any] = {
            name: (getattr(sealed, name), getattr(found, name))
            for name in ("steps", "decisions", "failures")
        }
        for name in {**sealed.values, **found.values}:
            if self._unrecorded(name, unit):
                self.notes.append(f"{name} was not compared: packs hold no prices and no usage")
                continue
            told[name] = sealed.values.get(name), found.values.get(name)
        for name in {**sealed.curves, **found.curves}:
            told[f"the curve {name}"] = sealed.curves.get(name), found.curves.get(name)
        for name, (before, now) in told.items():
            if repr(before) != repr(now):
                raise CannotRead(
                    f"{self.pack.path}: {unit_name(unit)}: {name} is {before!r}, and {now!r} when "
                    f"it is played again. It was changed, or played by versions that play "
                    f"otherwise{self._versions()}"
                )

    def _unrecorded(self, metric: str, unit: SuiteUnit) -> bool:
        """Whether a metric needs the usage of an agent, or the prices of a model."""
        name = metric.partition(PART)[0]
        (measure,) = [one.measure for one in self.pack.plan.suite.metric if one.id == name]
        used = measure.partition(":")[0] in COUNTED
        how = self._ready.get(unit.episode, "played")
        return (how == "records" and used) or (how == "calls" and measure == "cost")

    def _versions(self) -> str:
        there, here = self.pack.manifest.get("versions") or {}, versions()
        other = [f"{n} {there.get(n)}, here {v}" for n, v in here.items() if there.get(n) != v]
        return f" ({'; '.join(other)})" if other else ""

    def _prepared(self, unit: SuiteUnit, episode: str) -> tuple[str, SuiteUnit]:
        """How a unit is played again, and the unit with its world found; nothing if it is not."""
        world = self._world(unit.arm)
        why = world if isinstance(world, str) else self._absent(unit, world)
        if why:
            self.skipped[why] += 1
            return "", unit
        assert not isinstance(world, str)
        placed = replace(unit, arm=self._placed(unit.arm))
        if not unit.outside:
            return "played", placed
        if unit.episode not in self._ready:
            self._ready[unit.episode] = self._replayed(placed, world, episode)
        return self._ready[unit.episode], placed

    # Worlds and players that are here.

    def _place(self, arm: SuiteArm) -> Path:
        """The folder with the files that describe the world of an arm, if there are any."""
        place = [one.id for one in self.pack.plan.suite.arm].index(arm.id)
        folder = self.scratch / WORLDS / str(place)
        write_members(self.pack.members, f"{WORLDS}/{place}", folder)
        return folder

    def _placed(self, arm: SuiteArm) -> SuiteArm:
        """The arm with its world where it lies here."""
        world, _, charter = found_in(told_as(arm.name), self._place(arm)).partition("+")
        return arm.model_copy(update={"world": world, "charter": charter})

    def _longest(self, arm: SuiteArm) -> int:
        return max((one.steps for one in self.pack.results if one.arm == arm.id), default=0)

    def _world(self, arm: SuiteArm) -> World | str:
        """The world of an arm, or why it cannot be made here."""
        if arm.id not in self._worlds:
            try:
                self._worlds[arm.id] = self._made(arm)
            except (SociariumError, ValueError) as error:
                self._worlds[arm.id] = str(error).partition("\n")[0]
        return self._worlds[arm.id]

    def _made(self, arm: SuiteArm) -> World:
        """The world of an arm; a stranger's pack may ask for no more than a stranger's record."""
        chairs, _ = arm.seated(("random",) * arm.free)
        asked = Page(
            sociarium="",
            env=told_as(arm.name),
            players=len(chairs),
            seats=("idle",) * len(chairs),
            steps=min(self._longest(arm), replay.MOST_STEPS + 1),
        )
        nothing = Record(page=asked, actions=np.zeros((0, len(chairs)), np.uint8))
        world_of(nothing, self._place(arm), self.trusted)
        return environment(self._placed(arm))

    def _absent(self, unit: SuiteUnit, world: World) -> str:
        """Why a unit cannot be played here; nothing if it can."""
        custom = list(filter(calls_code, unit.arm.terms.ends))
        if custom and not self.trusted:
            return f"{custom[0]} is not called without --trust"
        for chair in dict.fromkeys(unit.chairs):
            if chair.outside:
                continue
            if (unit.arm.id, chair) not in self._reasons:
                self._reasons[unit.arm.id, chair] = self._reason(chair, world)
            if why := self._reasons[unit.arm.id, chair]:
                return why
        return ""

    def _reason(self, chair: Seat, world: World) -> str:
        file = roster.file_of(chair)
        elsewhere = PurePath(file).is_absolute() or ".." in PurePath(file).parts
        large = any(value.isdigit() and len(value) > 4 for _, value in chair.options)
        if not self.trusted and ((file and elsewhere) or large):
            return f"{chair} is not called up without --trust"
        if file and not Path(file).exists():
            return f"{file} is not here"
        if chair.kind == "policy" and policy_hash(chair) != self.pack.seal.policies.get(str(chair)):
            return f"{file} holds another policy here"
        try:
            roster.player(chair, world)
        except SociariumError as error:
            return str(error)
        return ""

    # Matches of host players.

    def _replayed(self, unit: SuiteUnit, world: World, episode: str) -> str:
        """Makes the folder in which a unit is measured, and says how it was played again."""
        if unit.arm.terms.probes:
            with self._told(unit):
                return self._ask_anew(unit, world, member_name(episode, None))
        series = is_series(unit.arm.terms, world)
        trials = range(unit.arm.terms.trials) if series else (None,)
        names = {trial: member_name(episode, trial) for trial in trials}
        missing = [n for n in names.values() if n + EPISODE not in self.pack.members]
        if missing:
            raise CannotRead(
                f"{self.pack.path}: {unit_name(unit)}: {missing[0]}{EPISODE} is missing"
            )
        told, hosts = unit.arm.terms, [chair for chair in unit.chairs if chair.outside]
        models = [chair for chair in hosts if chair.kind == "llm"]
        without = [n for n in names.values() if n + CALL_LINES not in self.pack.members]
        timed = isinstance(clock(told.clock), Realtime)
        timed |= any(end.partition(":")[0] == "seconds" for end in told.ends)
        if models and without:
            raise CannotRead(
                f"{self.pack.path}: {unit_name(unit)}: {without[0]}{CALL_LINES} is missing; the "
                "calls of language models are always recorded"
            )
        with self._told(unit):
            if models == hosts and not timed and episode == unit.episode:
                self._play_anew(unit, world, names, bool(models))
                return "calls" if models else "played"
            self._play_from_records(unit, world, names, timed)
        return "records"

    @contextmanager
    def _told(self, unit: SuiteUnit) -> Iterator[None]:
        """Says which unit it is that something is wrong with."""
        try:
            yield
        except SociariumError as error:
            raise CannotRead(f"{self.pack.path}: {unit_name(unit)}: {error}") from error

    def _play_anew(
        self, unit: SuiteUnit, world: World, names: Mapping[int | None, str], asks_models: bool
    ) -> None:
        """Plays the match of a unit; models answer as they are recorded."""
        told, seats = unit.arm.terms, " ".join(map(str, unit.chairs))
        if not asks_models:  # models are told how many steps there are, and their calls end
            told = unit.arm.at_most(self._longest(unit.arm) + 1).terms
        recorded, out = self.scratch / "calls" / unit.episode, self.run.out / PLAYED / unit.episode
        for trial, name in names.items() if asks_models else ():
            at = recorded if trial is None else trial_folder(recorded, trial)
            write_calls(self.pack.members[name + CALL_LINES], at / CALLS)
        calls = f"replay:{recorded}" if asks_models else "live"
        terms = replace(match_terms(told), calls=calls)
        params = world.params(**told.params)
        with use_runtime(ModelRuntime(Models(), asks_fakes=True)):
            if None in names:
                folder = MatchFolder(out)
                folder.claim()
                match = terms.match(world, seats, unit.seed, silent, folder, params=params)
                folder.begin(match, unit.arm.name, seats, unit.seed, terms)
                play_many([match], on_progress=silent)
                folder.close()
            else:
                rules = SeriesTerms(told.trials, told.reveal, told.split, told.carry)
                more = {"seed": unit.seed, "terms": terms, "out": out, "params": params}
                play_all([Series(world, seats, rules, world=unit.arm.name, **more)])
        for trial, name in names.items():
            at = out if trial is None else trial_folder(out, trial)
            self._same_match(at, name)

    def _ask_anew(self, unit: SuiteUnit, world: World, name: str) -> str:
        """Asks the questions of a unit once more; models answer as they are recorded."""
        asks_models = any(unit.chairs[seat].outside for seat in unit.focal)
        recorded = self.scratch / "calls" / unit.episode
        if asks_models and name + CALL_LINES not in self.pack.members:
            raise CannotRead(f"{name}{CALL_LINES} is missing")
        if asks_models:
            write_calls(self.pack.members[name + CALL_LINES], recorded / CALLS)
        calls = f"replay:{recorded}" if asks_models else "live"
        asked = self.run.examination(world, unit)
        with use_runtime(ModelRuntime(Models(), calls=calls, asks_fakes=True)):
            examine([asked])
        folder = self.run.out / PLAYED / unit.episode
        if (folder / DECISIONS).read_bytes() != self.pack.members.get(name + DECISIONS):
            raise CannotRead(f"{name}{DECISIONS} is not what is answered again")
        return "calls" if asks_models else "played"

    def _same_match(self, folder: Path, name: str) -> None:
        """Refuses a record or decisions that calls do not lead to."""
        members = self.pack.members
        sealed = record.unpacked(members[name + EPISODE], name + EPISODE)
        played = MatchFolder(folder).record()
        for part in Page.model_fields:
            before, now = (getattr(one.page, part) for one in (sealed, played))
            if before != now and part != "sociarium":
                raise CannotRead(f"{name}{EPISODE} is not what is played again: {part} differs")
        if not np.array_equal(sealed.actions, played.actions):
            step = int(np.argwhere(sealed.actions != played.actions)[0][0])
            raise CannotRead(f"{name}{EPISODE} is not what is played again at step {step}")
        decided = folder / DECISIONS
        if (decided.read_bytes() if decided.exists() else None) != members.get(name + DECISIONS):
            raise CannotRead(f"{name}{DECISIONS} is not what is played again")

    def _play_from_records(
        self, unit: SuiteUnit, world: World, names: Mapping[int | None, str], timed: bool
    ) -> None:
        """Plays the trials of a unit with the recorded actions, and lays them down to measure."""
        told, out = unit.arm.terms, self.run.out / PLAYED / unit.episode
        absent = {seat: Absent() for seat, chair in enumerate(unit.chairs) if chair.outside}
        # Seats that share answers are asked through one of them, which no record tells.
        shares = any("archetypes" in dict(chair.options) for chair in unit.chairs)
        terms, params = replace(match_terms(told), calls="live"), world.params(**told.params)
        rules = SeriesTerms(told.trials, told.reveal, told.split, told.carry)
        series = Series(
            world,
            " ".join(map(str, unit.chairs)),
            rules,
            seed=unit.seed,
            terms=terms,
            params=params,
            guests=absent,
        )
        for trial, name in names.items():
            data = self.pack.members[name + EPISODE]
            kept = record.unpacked(data, EPISODE)
            if any(isinstance(patch, NewPlayer) for patch in kept.page.patches):
                raise CannotRead("its record seats another player during the match")
            series.retrace(kept, partial(self._belongs, kept), by_terms=not (timed or shares))
            decisions = self.pack.members.get(name + DECISIONS, b"")
            at = out if trial is None else trial_folder(out, trial)
            for folder in {out, at}:
                folder.mkdir(parents=True, exist_ok=True)
                disk.replace(folder / MANIFEST, json.dumps({"finished": True}).encode())
            disk.replace(at / EPISODE, data)
            if decisions:
                disk.replace(at / DECISIONS, decisions)
            self._decided(HostDecisions.read(at, unit.chairs, told.clock), world, kept)

    def _belongs(self, kept: Record, expected: Page) -> None:
        """Refuses the record of another match."""
        for name in BEGUN_WITH:
            wanted, found = (getattr(page, name) for page in (expected, kept.page))
            if name == "seats":
                wanted, found = ([_bare(roster.chair(t)) for t in told] for told in (wanted, found))
            if found != wanted:
                raise CannotRead(f"its record is of another match: {name} is {plain(found)}")

    def _decided(self, decided: HostDecisions, world: World, kept: Record) -> None:
        """Refuses decisions that differ from the record: who was asked, who failed, what was done.

        The action of an answer that counted is the one that its player did in that step.
        """
        if wrong := decided.lacks(kept.page):
            raise CannotRead(wrong)
        if any(one.landed >= len(kept) for one in kept.page.asked):
            raise CannotRead(f"{EPISODE} has decisions after its last step")
        for row in decided.rows:
            told = row["decision"] if isinstance(row["decision"], dict) else {}
            if row["failure"] or told.get("skill") or not told.get("action"):
                continue
            done = int(kept.actions[row["landed"], row["seat"]])
            if find_action(world.actions, str(told["action"])) != done:
                raise CannotRead(
                    f"{DECISIONS} has {told['action']!r} for seat {row['seat']} at step "
                    f"{row['landed']}, and {EPISODE} has {world.actions[done].name!r}"
                )


def _bare(chair: Seat) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Who sits in a chair, whatever folder it comes from."""
    return chair.kind, PurePath(chair.ref).name, chair.options
