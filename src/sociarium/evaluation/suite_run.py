"""Plays the units of a suite: an arm, a contestant, a seed. What is done is not done again.

A folder holds `manifest.json`, `suite.json` with what was asked for last, `units.jsonl` with a line
for each unit that is done, and `units` with the folders of series, and of matches in which somebody
decides outside compiled code. A unit is known by a hash of all that can change it, so that a suite
that is killed and begun again goes on, and one that was changed plays anew what changed.
"""

import hashlib
import itertools
import json
import logging
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from sociarium import catalogue
from sociarium.arena.batch import Batch
from sociarium.arena.match import Match
from sociarium.arena.match_folder import MatchFolder, read_record
from sociarium.arena.play_many import play_many
from sociarium.arena.replay import Replay
from sociarium.arena.screening import PlayedEpisode
from sociarium.arena.series import trial_folder
from sociarium.core import disk
from sociarium.core.checked_lines import checked, unchecked
from sociarium.core.compiling import free_programs
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead
from sociarium.core.manifest import MANIFEST, begun, read_manifest
from sociarium.evaluation.comprehension import (
    Examination,
    check_answers,
    draw_questions,
    examine,
    probe_values,
)
from sociarium.evaluation.decision_measures import (
    TOKENS_FOR,
    WORDS,
    HostDecisions,
    decision_value,
    tokens_for,
)
from sociarium.evaluation.episode_curves import curve_points
from sociarium.evaluation.episode_measures import measured
from sociarium.evaluation.experiments.cells import packaged_templates, prompt_content
from sociarium.evaluation.experiments.matches import max_concurrent_matches
from sociarium.evaluation.series_units import (
    is_series,
    match_terms,
    over_trials,
    play_all,
    series_of,
    trial_episodes,
)
from sociarium.evaluation.suite import MOST_SEEDS, Metric, Side, Suite, SuiteArm
from sociarium.evaluation.values import Value, defined
from sociarium.players.minds.llm_player import PROBE
from sociarium.players.minds.templates import goals, part_template, personalities
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent, watched

log = logging.getLogger(__name__)
PLAN, UNITS, PLAYED = "suite.json", "units.jsonl", "units"
# Terms that change no episode: what they do is in the seats and the seed.
APART = frozenset({"seeds", "first_seed", "lineups", "roster", "low", "high", "rotate"})
AT_ONCE = {True: 32, False: 256}  # matches, or lanes, after which results are written down


@dataclass(frozen=True)
class SuiteUnit:
    """What one contestant gets in an episode; `model` is nothing where none sits.

    Several units may share an `episode`, in which their contestants meet.
    """

    arm: SuiteArm
    model: str
    seed: int
    lineup: tuple[str, ...]
    chairs: tuple[Seat, ...]
    focal: tuple[int, ...]
    episode: str
    key: str

    @property
    def outside(self) -> bool:
        """Whether it has a folder: some player is outside compiled code, or it may end early."""
        terms = self.arm.terms
        early = bool(terms.ends) or terms.clock != "lockstep" or bool(terms.probes)
        return early or any(chair.outside for chair in self.chairs)

    @property
    def place(self) -> tuple[str, str, int, tuple[str, ...], tuple[int, ...]]:
        """Where it stands among others."""
        return self.arm.id, self.model, self.seed, self.lineup, self.focal


@dataclass(frozen=True)
class UnitResult:
    """What was measured in a unit, by metric."""

    key: str
    arm: str
    model: str
    seed: int
    lineup: tuple[str, ...]  # who else played in the free seats of the arm
    focal: tuple[int, ...]
    steps: int
    values: dict[str, Value]
    decisions: int = 0  # that its host players were asked for
    failures: int = 0  # and those for which they gave no valid answer in time
    curves: dict[str, tuple[float, ...]] = field(default_factory=dict)  # by curve and side

    def line(self) -> bytes:
        """As it is written down."""
        return checked(json.dumps(vars(self)))

    @classmethod
    def read(cls, line: str | bytes) -> "UnitResult":
        """What a line says; one that differs from its checksum is refused."""
        row = json.loads(unchecked(line))
        tables = ("values", "curves")
        told = {name: _fixed(x) for name, x in row.items() if name not in tables}
        told |= {table: {name: _fixed(x) for name, x in row[table].items()} for table in tables}
        return cls(**told)


Apart = Callable[[list[list[SuiteUnit]]], Iterator[list[UnitResult]]]


class RunPlan(BaseModel):
    """What is asked of a run: from it alone all units can be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suite: Suite
    models: tuple[str, ...] = ()
    seeds: int | None = Field(None, ge=1, le=MOST_SEEDS)
    only: tuple[str, ...] = ()  # arms, where the suite is not a whole one


def units(suite: Suite, models: Sequence[str], seeds: int | None = None) -> list[SuiteUnit]:
    """Every unit of a suite for these contestants, arm by arm."""
    return [
        unit
        for arm in suite.arm
        for lineup in arm.lineups(list(dict.fromkeys([*models, *arm.terms.always])))
        for seed in arm.terms.every_seed(seeds)
        for unit in _units(suite, arm, lineup, seed)
    ]


def _units(suite: Suite, arm: SuiteArm, lineup: tuple[str, ...], seed: int) -> Iterator[SuiteUnit]:
    """What there is to measure in an episode: each contestant, or each seat if orders matter."""
    chairs, who = arm.seated(lineup, seed)
    played: dict[str, Any] = {
        "world": arm.name,
        "terms": arm.terms.model_dump(mode="json", exclude=set(APART)),
        "seats": [str(chair) for chair in chairs],
        "seed": seed,
    }
    played |= prompt_content(chairs)
    if arm.terms.probes:
        for model, chair in zip(who, chairs, strict=True):
            if model:
                check_answers(chair)
        played["probe"] = part_template(PROBE).hash
    episode = _hashed(played)
    measured: list[Any] = [(one.id, one.measure, one.of, one.trial) for one in suite.metric]
    measured += [one.model_dump() for one in suite.curve if one.applies(arm.id)]
    free = [seat for seat, model in enumerate(who) if model]
    sides = [(seat,) for seat in free]
    if arm.terms.lineups != "orders":
        by_model = {model: tuple(s for s in free if who[s] == model) for model in lineup}
        sides = list(by_model.values()) or [()]
    for focal in sides:
        model = who[focal[0]] if focal else ""
        key = _hashed([arm.id, episode, measured, model, focal])
        yield SuiteUnit(arm, model, seed, lineup, chairs, focal, episode, key)


def _hashed(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def _fixed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def packaged_prompts_hash() -> str:
    """The same for the same prompts, goals and personalities of the package."""
    texts = [{name: repr(x) for name, x in known.items()} for known in (goals(), personalities())]
    return _hashed([packaged_templates(), *texts])


class SuiteRun:
    """A suite in a folder: what is done, and what there is to do."""

    def __init__(self, suite: Suite, models: Sequence[str], out: Path, seeds: int | None = None):
        if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
            raise BadArgument(f"seeds is 1 to {MOST_SEEDS:,}; given {seeds}")
        self.suite, self.out, self.models = suite, out, tuple(models)
        self.units = units(suite, models, seeds)
        self.seeds = seeds
        self.most_steps: dict[str, int] = {}  # by arm, of episodes that are played again
        self._worlds: dict[tuple[str, int], Environment[Any, Any]] = {}
        self._questions: dict[tuple[str, int], Any] = {}  # of the arms of one table, by seed
        self._lock = disk.FolderLock(out)

    def world(self, arm: SuiteArm) -> Environment[Any, Any]:
        """The world of an arm; arms that share one share its programs."""
        name = (arm.name, len(arm.seated(("random",) * arm.free)[0]))
        if name not in self._worlds:
            self._worlds[name] = environment(arm)
        return self._worlds[name]

    def begin(
        self,
        preregistered: bytes = b"",
        only: tuple[str, ...] = (),
        sealed: str = "",
        command: Sequence[str] = (),
    ) -> None:
        """Writes what is going to be done, or checks that it is what was begun here.

        `sealed` binds a private split to its secret; `command` are words that name the suite.
        """
        digest = hashlib.sha256(preregistered).hexdigest() if preregistered else ""
        config = {
            "suite": self.suite.id,
            "digest": self.suite.digest,
            "models": list(self.models),
            "preregistered": digest,
            "private": sealed,
            "command": list(command),
        }
        with closing(self._lock.take()):
            self._write_plan(config, only)

    def _write_plan(self, config: Mapping[str, Any], only: tuple[str, ...]) -> None:
        if not (self.out / MANIFEST).exists():
            manifest = begun(config, sorted({unit.seed for unit in self.units}))
            disk.replace(self.out / MANIFEST, json.dumps(manifest, indent=1).encode() + b"\n")
        before = read_manifest(self.out).get("config", {})
        for name in ("suite", "digest", "private", "preregistered"):
            if before.get(name) != config[name] and (name != "preregistered" or config[name]):
                raise BadArgument(
                    f"{self.out} was begun with another {name} ({before.get(name)!r}, now "
                    f"{config[name]!r}); give another folder"
                )
        plan = self.plan.model_copy(update={"only": only})
        disk.replace(self.out / PLAN, plan.model_dump_json(indent=1).encode() + b"\n")

    @property
    def plan(self) -> RunPlan:
        """What is asked of it."""
        return RunPlan(suite=self.suite, models=self.models, seeds=self.seeds)

    def done(self) -> dict[str, UnitResult]:
        """Results by key; the units of damaged lines are played again."""
        return {result.key: result for result in map(UnitResult.read, self._whole_lines())}

    def _whole_lines(self) -> list[bytes]:
        file, whole = self.out / UNITS, []
        try:
            lines = file.read_bytes().splitlines() if file.exists() else []
        except OSError as error:
            raise CannotRead(f"Cannot read {file}: {error.strerror or error}.") from error
        for number, line in enumerate(lines, 1):
            try:
                UnitResult.read(line)
                whole.append(line + b"\n")
            except (ValueError, KeyError, TypeError):
                log.warning("%s: line %d is damaged; its unit is played again", file, number)
        return whole

    def left(self, done: Container[str]) -> list[SuiteUnit]:
        """The units that are not done."""
        return [unit for unit in self.units if unit.key not in done]

    def play(
        self, on_progress: OnProgress | None = None, apart: Apart | None = None
    ) -> dict[str, UnitResult]:
        """Plays what is left, and gives all results; `apart` plays tables in other processes."""
        with closing(self._lock.take()):
            return self._play(on_progress, apart)

    def _play(self, on_progress: OnProgress | None, apart: Apart | None) -> dict[str, UnitResult]:
        whole = b"".join(self._whole_lines())
        if (self.out / UNITS).exists() and (self.out / UNITS).read_bytes() != whole:
            disk.replace(self.out / UNITS, whole)  # else the next line would follow a torn one
        done = self.done()
        left = self.left(done)
        with watched(on_progress, self.suite.id) as told:
            total = len(self.units)
            told(total - len(left), total)
            tables = self.tables(left)
            played = apart(tables) if apart else itertools.chain(*map(self.play_table, tables))
            for unit_results in played:
                disk.append(self.out / UNITS, b"".join(r.line() for r in unit_results))
                done |= {result.key: result for result in unit_results}
                told(len([u for u in self.units if u.key in done]), total)
        return done

    def tables(self, left: Sequence[SuiteUnit]) -> list[list[SuiteUnit]]:
        """Units in one world on the same terms, whatever arms they are of: programs are shared."""
        by_table: dict[tuple[str, int, bool, str], list[SuiteUnit]] = {}
        for unit in left:
            terms = unit.arm.terms.model_dump_json(exclude=set(APART))
            table = (unit.arm.name, len(unit.chairs), unit.outside, terms)
            by_table.setdefault(table, []).append(unit)
        return list(by_table.values())

    def play_table(
        self, table: Sequence[SuiteUnit], at_once: int | None = None
    ) -> Iterator[list[UnitResult]]:
        """Plays the episodes of a table, many at once; `at_once` says how many, if it is known."""
        free_programs()
        if table[0].arm.terms.probes:
            yield from self._examined(table, at_once)
            return
        groups, outside = by_episode(table), table[0].outside
        env = self.world(table[0].arm)
        series = is_series(table[0].arm.terms, env)
        most = min(AT_ONCE[outside or series], at_once or answered_at_once(table))
        steps = max(self.most_steps.get(unit.arm.id, 0) for unit in table)
        for first in range(0, len(groups), most):
            some = groups[first : first + most]
            firsts = [replace(one, arm=one.arm.at_most(steps)) for one, *_ in some]
            if series:
                played = self._series(env, firsts)
            else:
                episodes = self._matches(env, firsts) if outside else batch(env, firsts)
                played = ([episode] for episode in episodes)
            yield [
                self._result(env, unit, trials)
                for group, trials in zip(some, played, strict=True)
                for unit in group
            ]

    def episode(self, unit: SuiteUnit) -> PlayedEpisode:
        """The episode of a unit that is done, once more; that of a series is its last trial."""
        env = self.world(unit.arm)
        if is_series(unit.arm.terms, env):
            return next(iter(self._series(env, [unit])))[-1]
        return (self._matches(env, [unit]) if unit.outside else batch(env, [unit]))[0]

    def _result(
        self, env: Environment[Any, Any], unit: SuiteUnit, trials: Sequence[PlayedEpisode]
    ) -> UnitResult:
        decided = self.decisions(env, unit)
        values = {
            one.id: over_trials(
                [value_of(one, env, unit, *each) for each in zip(trials, decided, strict=True)],
                one.trial,
            )
            for one in self.suite.metric
            if one.applies(unit.arm) and measured_seats(one.of, env.players, unit)
        }
        rows = [row for one in decided for row in one.of(unit.focal or range(env.players))]
        failed = sum(bool(row["failure"]) for row in rows)
        return UnitResult(
            unit.key,
            *unit.place,
            sum(map(len, trials)),
            defined(values),
            len(rows),
            failed,
            self._curves(env, unit, trials[-1], decided[-1]),
        )

    def _examined(
        self, table: Sequence[SuiteUnit], at_once: int | None
    ) -> Iterator[list[UnitResult]]:
        """Asks the questions of a table of units with probes."""
        env, most = self.world(table[0].arm), at_once or answered_at_once(table)
        self._questions.clear()
        for first in range(0, len(table), min(AT_ONCE[True], most)):
            some = table[first : first + min(AT_ONCE[True], most)]
            asked = [self.examination(env, unit) for unit in some]
            examine(asked)
            decided = [one.decisions() for one in asked]
            yield [
                UnitResult(
                    unit.key,
                    *unit.place,
                    steps=0,
                    values=probe_values(self.suite.metric, unit.focal, found),
                    decisions=len(found.rows),
                    failures=sum(bool(row["failure"]) for row in found.rows),
                )
                for unit, found in zip(some, decided, strict=True)
            ]

    def examination(self, env: Environment[Any, Any], unit: SuiteUnit) -> Examination:
        """The questions of a unit, which all contestants share, and the answers in its folder."""
        drawn, at = (unit.arm, unit.chairs, unit.focal, unit.seed), (unit.arm.id, unit.seed)
        if at not in self._questions:
            self._questions[at] = draw_questions(env, *drawn)
        return Examination(env, *drawn, self._questions[at], self.out / PLAYED / unit.episode)

    def decisions(self, env: Environment[Any, Any], unit: SuiteUnit) -> list[HostDecisions]:
        """What the host players of a unit decided, trial by trial; nothing where there are none."""
        terms, folder = unit.arm.terms, self.out / PLAYED / unit.episode
        if not unit.outside:
            return [HostDecisions()] * terms.trials
        series = is_series(terms, env)
        trials = [trial_folder(folder, n) if series else folder for n in range(terms.trials)]
        found = [HostDecisions.read(trial, unit.chairs, terms.clock) for trial in trials]
        for decided, trial in zip(found, trials, strict=True):
            if wrong := decided.lacks(read_record(trial).page):
                raise CannotRead(f"{trial}: {wrong}; remove {folder} to play its episode again")
        return found

    def _curves(
        self,
        env: Environment[Any, Any],
        unit: SuiteUnit,
        episode: PlayedEpisode,
        decided: HostDecisions,
    ) -> dict[str, tuple[float, ...]]:
        """By curve and side, how it went in the last trial."""
        rounds = decided.rounds(len(episode))
        return {
            f"{one.id} {side}": curve_points(episode, env, one, unit.arm.terms, seats, rounds)
            for one in self.suite.curve
            for side in one.of
            if one.applies(unit.arm.id) and (seats := measured_seats(side, env.players, unit))
        }

    def _series(
        self, env: Environment[Any, Any], some: Sequence[SuiteUnit]
    ) -> Iterable[list[PlayedEpisode]]:
        """Plays units that are series, each in a folder of its own, and gives their trials."""
        places = [self.out / PLAYED / unit.episode for unit in some]
        given = [(unit.arm, unit.chairs, unit.seed) for unit in some]
        series = [series_of(env, *one, at) for one, at in zip(given, places, strict=True)]
        play_all([one for one in series if one is not None])
        return (trial_episodes(env, some[0].arm.terms, at) for at in places)

    def _matches(
        self, env: Environment[Any, Any], some: Sequence[SuiteUnit]
    ) -> list[PlayedEpisode]:
        """Plays units with host players, each in a folder of its own."""
        matches = [self._match(env, unit) for unit in some]
        play_many([match for match in matches if match is not None])
        found = []
        for unit in some:
            folder = MatchFolder(self.out / PLAYED / unit.episode)
            manifest = read_manifest(folder.path)
            if not manifest.get("finished"):
                why = manifest.get("paused") or "it was stopped"
                raise CannotRead(f"{folder.path} is not over: {why}. Begin again to go on")
            found.append(Replay(env, folder.record()).episode()[0])
        return found

    def _match(self, env: Environment[Any, Any], unit: SuiteUnit) -> Match | None:
        """The match of a unit: new, where it was left, or nothing if it is over."""
        folder, told = MatchFolder(self.out / PLAYED / unit.episode), unit.arm.terms
        if (folder.path / MANIFEST).exists():
            if read_manifest(folder.path).get("finished"):
                return None
            return folder.resumed(silent, True, {}, env=env, params=env.params(**told.params))
        terms = match_terms(told)
        folder.claim()
        seats = " ".join(map(str, unit.chairs))
        match = terms.match(env, seats, unit.seed, silent, folder, params=env.params(**told.params))
        folder.begin(match, unit.arm.name, seats, unit.seed, terms)
        return match


def by_episode(units: Iterable[SuiteUnit]) -> list[list[SuiteUnit]]:
    """The units of each episode, which are played together."""
    found: dict[str, list[SuiteUnit]] = {}
    for unit in units:
        found.setdefault(unit.episode, []).append(unit)
    return list(found.values())


def answered_at_once(table: Sequence[SuiteUnit]) -> int:
    """The number of matches of a table that their language models can answer at a time."""
    in_turns = table[0].arm.terms.clock.startswith("turns")
    return max_concurrent_matches([unit.chairs for unit in table], in_turns, AT_ONCE[False])


def environment(arm: SuiteArm) -> Environment[Any, Any]:
    """The world of an arm, for as many players as it seats."""
    chairs, _ = arm.seated(("random",) * arm.free)
    asked = catalogue.arguments_of(arm.name)
    sized = catalogue.find(arm.name).sized_by in asked or "players" in asked
    env = catalogue.make(arm.name, players=None if sized else len(chairs))
    if env.players != len(chairs):
        raise BadArgument(f"{arm.id}: {arm.name} has {env.players} seats; given {len(chairs)}")
    return env


def batch(env: Environment[Any, Any], some: Sequence[SuiteUnit]) -> list[PlayedEpisode]:
    """Plays units of one arm in which everybody is pure, all at once."""
    kinds = list(dict.fromkeys(chair for unit in some for chair in unit.chairs))
    seating = np.array([[kinds.index(chair) for chair in unit.chairs] for unit in some])
    terms = some[0].arm.terms
    return Batch(
        env,
        kinds,
        seating,
        origins=[(unit.seed, 0) for unit in some],
        params=env.params(**terms.params),
        steps=terms.steps,
    ).episodes()


def value_of(
    metric: Metric,
    env: Environment[Any, Any],
    unit: SuiteUnit,
    episode: PlayedEpisode,
    decided: HostDecisions | None = None,
) -> Value:
    """A metric of an episode, of the contestant, of all others, or of everybody."""
    seats, decided = measured_seats(metric.of, env.players, unit), decided or HostDecisions()
    word, _, rest = metric.measure.partition(":")
    if word == TOKENS_FOR:
        return tokens_for(rest, decided, seats, episode)
    if word in WORDS:
        return decision_value(metric.measure, decided, seats, len(episode))
    event, _, name = rest.rpartition(":")
    if word == "aimed" and not name.isdigit():
        target = next((n for n, chair in enumerate(unit.chairs) if chair.name == name), None)
        others = [seat for seat in seats if seat != target]
        told = f"aimed:{event}:{target}"
        return (0.0, 0.0) if target is None else measured(episode, env, told, others)
    moves = decided.moves(*episode.actions.shape)
    return measured(episode, env, metric.measure, seats, moves)


def measured_seats(side: Side, players: int, unit: SuiteUnit) -> tuple[int, ...]:
    """Whom a metric is about; nobody, where it is about others and there are none."""
    everybody = tuple(range(players))
    if side == "others":
        return tuple(seat for seat in everybody if seat not in unit.focal)
    return unit.focal if side == "focal" and unit.focal else everybody
