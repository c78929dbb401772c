"""Whether a pack is true: its units are played again, and its report is worked out anew.

Units of pure players are played from their seeds. Where language models decided, the match is
played from their recorded calls and must come to the same record and the same decisions. What other
players outside did is taken from the record: that it leads from mark to mark shows that the world
answered so. All are measured again, and must have the sealed values to the last digit.

That a model gave the recorded answers, and what the manifest says of machine and versions, cannot
be told from a pack.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from sociarium.arena import replay
from sociarium.arena.clocks import Realtime, clock
from sociarium.arena.match_folder import DECISIONS, EPISODE, MatchFolder
from sociarium.arena.play_many import play_many
from sociarium.arena.replay import Replay, world_of
from sociarium.arena.series import Series, SeriesTerms, trial_folder
from sociarium.charters.revealing import reveal
from sociarium.core import disk, record
from sociarium.core.environment import Environment
from sociarium.core.errors import CannotRead, MissingExtra, SociariumError
from sociarium.core.facets import Hidden
from sociarium.core.hidden import draw_hidden
from sociarium.core.manifest import MANIFEST, plain, versions
from sociarium.core.record import Page, Record, found_in, told_as
from sociarium.evaluation.decision_measures import USAGE, WORDS
from sociarium.evaluation.pack import (
    CALL_LINES,
    WORLDS,
    Pack,
    member_name,
    policy_hash,
    report_bytes,
    unit_name,
)
from sociarium.evaluation.pack_calls import write_calls
from sociarium.evaluation.pack_file import PAGE, REPORT, rendered_with
from sociarium.evaluation.report import render_report
from sociarium.evaluation.report_films import films_in
from sociarium.evaluation.series_units import is_series, match_terms, play_all
from sociarium.evaluation.suite import SuiteArm
from sociarium.evaluation.suite_run import (
    PLAYED,
    SuiteRun,
    SuiteUnit,
    UnitResult,
    environment,
)
from sociarium.language.models.config import Models
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.language.models.store import CALLS
from sociarium.players import roster
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent

_PICTURE = re.compile(rb"base64,[A-Za-z0-9+/=]*")
World = Environment[Any, Any]


@dataclass(frozen=True)
class PackVerdict:
    """What was checked of a pack in which nothing is wrong."""

    digest: str
    members: int
    units: int
    played: int = 0  # units of pure players
    from_calls: int = 0  # units of language models, played from their recorded calls
    from_records: int = 0  # units of others, played from what they did
    not_replayed: Mapping[str, int] = field(default_factory=dict)  # by the reason
    notes: tuple[str, ...] = ()


def verify_pack(
    pack: Pack, quick: bool = False, trusted: bool = False, on_progress: OnProgress | None = None
) -> PackVerdict:
    """How a pack was checked; raises `CannotRead` where something differs.

    `quick` plays nothing. A stranger's pack can ask for large worlds, and for policies in any
    place: unless `trusted` these are not played.
    """
    notes = check_report(pack)
    checked = PackVerdict(pack.seal.digest, len(pack.members), len(pack.units), notes=tuple(notes))
    if quick:
        return checked
    with tempfile.TemporaryDirectory() as scratch:
        return _Replayed(pack, trusted, Path(scratch)).verdict(checked, on_progress)


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
        return SuiteRun(plan.suite, plan.models, self.scratch / "run", plan.seeds)

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
        return replace(
            checked,
            played=self.counts["played"],
            from_calls=self.counts["calls"],
            from_records=self.counts["records"],
            not_replayed=dict(self.skipped),
            notes=(*checked.notes, *dict.fromkeys(self.notes)),
        )

    def _other_key(self, unit: SuiteUnit) -> None:
        if not any(chair.kind == "llm" for chair in unit.chairs):
            raise CannotRead(f"{self.pack.path}: the key of {unit_name(unit)} is not its own")
        self.notes.append(
            "models were asked with other prompts than those of this version: what they did is "
            "taken from records"
        )

    def _compare(self, unit: SuiteUnit, sealed: UnitResult, found: UnitResult) -> None:
        """Refuses a value that comes out otherwise."""
        told: dict[str, Any] = {"steps": (sealed.steps, found.steps)}
        if found.decisions:  # else it was played from a record, which has none
            told["failures"] = sealed.failures, found.failures
        for name in {**sealed.values, **found.values}:
            if self._unrecorded(name, name in found.values):
                continue
            told[name] = sealed.values.get(name), found.values.get(name)
        for name, (before, now) in told.items():
            if repr(before) != repr(now):
                raise CannotRead(
                    f"{self.pack.path}: {unit_name(unit)}: {name} is {before!r}, and {now!r} when "
                    f"it is played again. It was changed, or played by versions that play "
                    f"otherwise{self._versions()}"
                )

    @property
    def _by_decisions(self) -> bool:
        """Whether a metric is about what host players decided, or whose turn it was."""
        words = (*WORDS, "last_apples")
        metrics = self.pack.plan.suite.metric
        return any(one.measure.partition(":")[0] in words for one in metrics)

    def _unrecorded(self, metric: str, found: bool) -> bool:
        """Whether a metric is of what calls used: no record has it, and prices are not sealed."""
        (measure,) = [one.measure for one in self.pack.plan.suite.metric if one.id == metric]
        return measure == "cost" or (measure in USAGE and not found)

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
        placed = replace(unit, arm=self._placed(unit.arm, bounded=not unit.outside))
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
        for name, data in self.pack.members.items():
            if name.startswith(f"{WORLDS}/{place}/"):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / PurePath(name).name).write_bytes(data)
        return folder

    def _placed(self, arm: SuiteArm, bounded: bool = False) -> SuiteArm:
        """The arm with its world where it lies here; `bounded`, it ends after what was played."""
        world, _, charter = found_in(told_as(arm.name), self._place(arm)).partition("+")
        terms = arm.terms
        if bounded and terms.steps is None:
            terms = terms.model_copy(update={"steps": self._longest(arm) + 1})
        return arm.model_copy(update={"world": world, "charter": charter, "terms": terms})

    def _longest(self, arm: SuiteArm) -> int:
        return max(one.steps for one in self.pack.results if one.arm == arm.id)

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
        custom = [end for end in unit.arm.terms.ends if end.startswith("custom:")]
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
        series = is_series(unit.arm.terms, world)
        trials = range(unit.arm.terms.trials) if series else (None,)
        names = {trial: member_name(episode, trial) for trial in trials}
        missing = [n for n in names.values() if n + EPISODE not in self.pack.members]
        if missing:
            raise CannotRead(
                f"{self.pack.path}: {unit_name(unit)}: {missing[0]}{EPISODE} is missing"
            )
        models = all(chair.kind == "llm" for chair in unit.chairs if chair.outside)
        recorded = all(n + CALL_LINES in self.pack.members for n in names.values())
        timed = isinstance(clock(unit.arm.terms.clock), Realtime)
        if models and recorded and not timed and episode == unit.episode:
            with self._told(unit):
                self._play_from_calls(unit, world, names)
            return "calls"
        with self._told(unit):
            for trial, name in names.items():
                decisions = self.pack.members.get(name + DECISIONS, b"")
                data = self.pack.members[name + EPISODE]
                self._play_from_record(unit, world, trial, data, decisions)
        return "records"

    @contextmanager
    def _told(self, unit: SuiteUnit) -> Iterator[None]:
        """Says which unit it is that something is wrong with."""
        try:
            yield
        except SociariumError as error:
            raise CannotRead(f"{self.pack.path}: {unit_name(unit)}: {error}") from error

    def _play_from_calls(
        self, unit: SuiteUnit, world: World, names: Mapping[int | None, str]
    ) -> None:
        told, seats = unit.arm.terms, " ".join(map(str, unit.chairs))
        recorded, out = self.scratch / "calls" / unit.episode, self.run.out / PLAYED / unit.episode
        for trial, name in names.items():
            at = recorded if trial is None else trial_folder(recorded, trial)
            write_calls(self.pack.members[name + CALL_LINES], at / CALLS)
        terms = replace(match_terms(told), calls=f"replay:{recorded}")
        params = world.params(**told.params)
        with use_runtime(ModelRuntime(Models())):
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

    def _same_match(self, folder: Path, name: str) -> None:
        """Refuses a record or decisions that calls do not lead to."""
        members = self.pack.members
        sealed = record.unpacked(members[name + EPISODE], name + EPISODE)
        played = MatchFolder(folder).record()
        for part in Page.model_fields:
            before, now = (getattr(one.page, part) for one in (sealed, played))
            if before != now and part != "sociarium":
                raise CannotRead(f"{name}{EPISODE} is not what its calls lead to: {part} differs")
        if not np.array_equal(sealed.actions, played.actions):
            step = int(np.argwhere(sealed.actions != played.actions)[0][0])
            raise CannotRead(f"{name}{EPISODE} is not what its calls lead to at step {step}")
        if (folder / DECISIONS).read_bytes() != members.get(name + DECISIONS):
            raise CannotRead(f"{name}{DECISIONS} is not what its calls lead to")

    def _play_from_record(
        self, unit: SuiteUnit, world: World, trial: int | None, data: bytes, decisions: bytes
    ) -> None:
        """Checks a record by itself, and that it is of this unit, and lays it down to measure.

        Decisions are laid down as they are told; what they used is in no record.
        """
        told = unit.arm.terms
        kept = record.unpacked(data, EPISODE)
        env = reveal(world) if told.reveal else world
        self._belongs(unit, world, env, trial, kept)
        verdict = Replay(env, kept).verify(trusted=self.trusted)
        if not verdict:
            raise CannotRead(f"comes out differently at step {verdict.differs}: {verdict.why}")
        episode = Replay(env, kept).episode()[0]
        over = bool(episode.terminated[-1] or episode.truncated[-1] or told.ends)
        if not over and len(kept) != (self.pack.plan.suite.find_arm(unit.arm.id).terms.steps):
            raise CannotRead(f"{EPISODE} breaks off after {len(kept)} steps")
        out = self.run.out / PLAYED / unit.episode
        at = out if trial is None else trial_folder(out, trial)
        for folder in {out, at}:
            folder.mkdir(parents=True, exist_ok=True)
            disk.replace(folder / MANIFEST, json.dumps({"finished": True}).encode())
        disk.replace(at / EPISODE, data)
        if decisions and self._by_decisions:
            disk.replace(at / DECISIONS, decisions)

    def _belongs(
        self, unit: SuiteUnit, world: World, env: World, trial: int | None, kept: Record
    ) -> None:
        """Refuses the record of another match."""
        told, page = unit.arm.terms, kept.page
        params = world.params(**told.params)
        if told.reveal or (trial is not None and world.has(Hidden)):
            params, _ = draw_hidden(world, params, unit.seed, told.split)
        expected = {
            "seed": unit.seed,
            "lane": 0,
            "number": trial or 0,
            "seats": [_bare(chair) for chair in unit.chairs],
            "env": told_as(env.id),
            "numbers": record.differing(params, env.params()),
            "clock": str(clock(told.clock)),
            "knowledge": told.knowledge,
            "privileged": tuple(told.privileged),
        }
        for name, value in expected.items():
            found: Any = getattr(page, name)
            if name == "seats":
                found = [_bare(roster.chair(text)) for text in page.seats]
            if found != value:
                raise CannotRead(f"its record is of another match: {name} is {plain(found)}")


def _bare(chair: Seat) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Who sits in a chair, whatever folder it comes from."""
    return chair.kind, PurePath(chair.ref).name, chair.options
