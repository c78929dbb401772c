"""The folder of a match: what was asked for, what was played, and where it can be taken up again.

`manifest.json` says what the match is; `play.log` has a frame for each step, written before the
step is told to anybody; `play.episode` is the record, once the match is over or stopped;
`decisions.jsonl` has every answer of host players and `timing.jsonl` how long it took;
`memory.log` what they remembered; `minds` what they keep for themselves; `world.toml` describes the
world, where it is one of your own.
"""

import dataclasses
import json
import logging
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sociarium.arena import clocks, ends
from sociarium.arena.host_seats import DEADLINE, MINDS
from sociarium.arena.match import Match
from sociarium.arena.past import cut
from sociarium.arena.recording import Recorder, payloads_of, record_of
from sociarium.arena.replay import world_of
from sociarium.arena.resuming import retrace
from sociarium.arena.seating import Seats, chairs_of, decides_outside
from sociarium.arena.session import Session
from sociarium.core import disk, record
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite
from sociarium.core.frames import FrameFile
from sociarium.core.manifest import MANIFEST, begun, plain, read_manifest, timestamp
from sociarium.core.patches import NewPlayer
from sociarium.core.percept_builder import Disclosure, Privileged
from sociarium.core.record import Asked, Record, files_beside, found_in
from sociarium.language.models.budget import AtCap
from sociarium.language.models.runtime import current_runtime, use_runtime
from sociarium.players import roster
from sociarium.players.protocol import Absent
from sociarium.players.roster import Seat, kinds
from sociarium.views.progress import OnProgress, silent

log = logging.getLogger(__name__)

EPISODE, LOG, MEMORY, DECISIONS, TIMING = (
    "play.episode",
    "play.log",
    "memory.log",
    "decisions.jsonl",
    "timing.jsonl",
)


@dataclass(frozen=True)
class Terms:
    """What is agreed before a match: how time passes, when it ends, what host players are told."""

    clock: str = "lockstep"
    ends: tuple[str, ...] = ()
    steps: int | None = None
    deadline: float = DEADLINE
    knowledge: Disclosure = "none"  # of hidden recipes
    privileged: tuple[Privileged, ...] = ()  # beyond the view
    snapshot_every: int = 1  # steps
    lane: int = 0
    number: int = 0  # of the episode in its lane
    calls: str = "live"  # of language models: live, record, or replay:FILE
    budget: str = ""  # caps on what language models use, as `Caps.read` reads them
    at_cap: AtCap = "pause"

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> "Terms":
        """The terms in a config of plain values."""
        told = {name.name: config[name.name] for name in dataclasses.fields(cls)}
        lists = {name: tuple(map(str, told[name])) for name in ("ends", "privileged")}
        return cls(**{**told, **lists, "deadline": float(told["deadline"])})

    def match(
        self,
        env: Environment[Any, Any],
        seats: Seats,
        seed: int,
        on_progress: OnProgress = silent,
        folder: "MatchFolder | None" = None,
        **more: Any,
    ) -> Match:
        """A match on these terms, before its first step; a folder keeps it, if there is one.

        `more` are other arguments of `Session`.
        """
        gauges = [spec.name for spec in env.gauge_specs]
        apart = ("clock", "ends", "calls", "budget", "at_cap")
        terms = {name: value for name, value in vars(self).items() if name not in apart}
        kept = {} if folder is None else {"recorder": folder, "folder": folder.path}
        about_calls = {"calls": self.calls, "budget": self.budget, "at_cap": self.at_cap}
        asked = {name: told for name, told in about_calls.items() if told != getattr(Terms, name)}
        with use_runtime(dataclasses.replace(current_runtime(), **asked)):
            return Match(
                env,
                seats,
                seed=seed,
                clock=clocks.clock(self.clock),
                ends=[ends.end(text, gauges) for text in self.ends],
                on_progress=on_progress,
                **terms,
                **kept,
                **more,
            )


class MatchFolder(Recorder):
    """One match on disk; from its begin or its resumption until `close` nobody else writes here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log, self._memories = FrameFile(path / LOG), FrameFile(path / MEMORY)
        self._last: dict[str, Any] = {}  # memories that were written down last
        self._remembered = 0  # the step of the last frame of memories
        self._claimed = self._begun = False
        self._lock = disk.FolderLock(path)

    def close(self) -> None:
        """Others may write."""
        self._lock.close()

    def begin(
        self, match: Match, world: str, seats: str, seed: int, terms: Terms, forked: Any = None
    ) -> None:
        """A new match; a folder that holds one already is refused.

        Its log is there before its manifest is, so that a match that can be seen can be resumed.
        """
        self.claim()
        try:
            for name, path in files_beside(world).items():
                shutil.copyfile(path, self.path / name)
        except OSError as error:
            raise CannotWrite(self.path, error) from error
        match.session.begin_record()
        self.remember(match.step, match.session.memories())
        config = {"world": world, "seats": seats, "seed": seed, **asdict(terms)}
        self._write({**begun(config, [seed]), "forked": plain(forked)})

    def claim(self) -> None:
        """The folder is this match's from now on; what an earlier try left behind is removed."""
        try:
            if (self.path / MANIFEST).exists():
                raise BadArgument(
                    f"{self.path} already holds a match; give another folder, or --resume to go on"
                )
            if self._claimed:
                return
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.take()
            for name in (LOG, MEMORY, DECISIONS, TIMING, EPISODE):
                (self.path / name).unlink(missing_ok=True)
        except OSError as error:
            raise CannotWrite(self.path, error) from error
        self._claimed = True

    # What is written down while it is played.

    def append(self, payload: bytes) -> None:
        """A frame, which outlives this process from now on."""
        self._log.append([payload])

    def remember(self, step: int, memories: Mapping[str, Any]) -> None:
        """What has changed in what minds remember; a frame also where nothing has."""
        changed = {k: memory for k, memory in memories.items() if self._last.get(k) != memory}
        if changed or (memories and step > self._remembered):
            self._memories.append([json.dumps({"step": step, "minds": changed}).encode()])
            self._last |= changed
            self._remembered = step

    def note(
        self, decisions: Sequence[Mapping[str, Any]], timing: Sequence[Mapping[str, Any]]
    ) -> None:
        """Answers; how long they took is noted elsewhere, since that is never the same."""
        for name, rows in ((DECISIONS, decisions), (TIMING, timing)):
            disk.append(self.path / name, _lines(rows), sync=False)

    @property
    def begun(self) -> bool:
        """Whether there is a header."""
        self._begun = self._begun or bool(self._log.frames())
        return self._begun

    def payloads(self) -> Sequence[bytes]:
        """The header and all frames."""
        return self._log.frames()

    def finish(self, session: Session) -> None:
        """The record in one file, and how everybody did."""
        record.save(self.path / EPISODE, session.record())
        self._write(
            {
                **read_manifest(self.path),
                "updated": timestamp(),
                "finished": bool(session.ended),
                "ended": session.ended,
                "paused": session.paused,
                "steps": session.step,
                "seconds": session.seconds,
                **results(session),
            }
        )

    @property
    def terms(self) -> Terms:
        """What was agreed before the match."""
        try:
            return Terms.read(self._config())
        except (KeyError, TypeError, ValueError) as error:
            raise CannotRead(f"{self.path} lacks terms of a match ({error})") from error

    def agree(self, **terms: Any) -> None:
        """Other terms from now on, such as a larger budget."""
        changed = dataclasses.replace(self.terms, **terms)
        self._lock.take()
        manifest = read_manifest(self.path)
        self._write({**manifest, "config": {**self._config(), **asdict(changed)}})

    def _config(self) -> dict[str, Any]:
        config = read_manifest(self.path).get("config")
        if not isinstance(config, dict):
            raise CannotRead(f"{self.path} is no folder of a match")
        return config

    def record(self) -> Record:
        """What was played."""
        return read_record(self.path)

    def resumed(
        self,
        on_progress: OnProgress,
        trusted: bool,
        found: Mapping[int, str],
        *,
        env: Environment[Any, Any] | None = None,
        seats: Seats | None = None,
        **more: Any,
    ) -> Match:
        """The match where it was left; `found` says where the players of some seats are now.

        A world that is not in the catalogue, and players that no seat string names, must be given.
        """
        read_manifest(self.path)
        self._lock.take()
        kept = self.record()
        given = {"found": found, "env": env, "seats": seats, **more}
        match = self._retraced(kept, self.terms, on_progress, trusted, **given)
        if found:
            sits = tuple(plain(found.get(s, name)) for s, name in enumerate(kept.page.seats))
            kept = Record(page=kept.page.model_copy(update={"seats": sits}), actions=kept.actions)
        self._log.replace(payloads_of(kept, len(match.env.actions)))
        for asked, used in self._used():
            for mind in match.session.minds:
                if mind.seats == asked:
                    mind.usage.update(used)
        self._restore_rows(kept, [action.name for action in match.env.actions])
        frames = self._memories.frames()
        self._memories.replace([f for f in frames if json.loads(f)["step"] <= len(kept)])
        return match

    def _used(self) -> Iterator[tuple[tuple[int, ...], Mapping[str, float]]]:
        """What host players used before, answer by answer."""
        for row in self._rows(TIMING):
            yield tuple(row.get("seats", ())), row.get("usage", {})

    def _rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a file; a damaged line is left out, and named in a warning."""
        file, rows = self.path / name, []
        lines = file.read_bytes().splitlines() if file.exists() else []
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                if not isinstance(row["landed"], int):
                    raise ValueError
                rows.append(row)
            except (ValueError, TypeError, KeyError):
                log.warning("%s: line %d is damaged and left out", file, number)
        return rows

    def forked(
        self,
        to: "MatchFolder",
        step: int,
        changes: Mapping[int, str],
        steps: int | None,
        on_progress: OnProgress,
        trusted: bool,
        keep_memory: bool = False,
    ) -> Match:
        """The match as it was before a step, with others in some seats, in a folder of its own.

        With `keep_memory`, the new player of a seat remembers what the old one did.
        """
        terms = self.terms if steps is None else dataclasses.replace(self.terms, steps=steps)
        kept, config = cut(self.record(), step), self._config()
        for seat in changes:
            if seat >= kept.page.players:
                raise BadArgument(f"seats are 0 to {kept.page.players - 1}; given {seat}")
        to.claim()
        leaving = () if keep_memory else changes
        self._copy_minds(to, leaving)
        match = self._retraced(kept, terms, on_progress, trusted, to=to, leaving=leaving)
        for seat, player in changes.items():
            match.session.reseat(seat, player, keep_memory=keep_memory)
        world = found_in(kept.page.env, self.path)
        forked = {"from": self.path, "at": step, "seats": changes}
        to.begin(match, world, str(config.get("seats", "")), kept.page.seed, terms, forked)
        return match

    def _copy_minds(self, to: "MatchFolder", leaving: Collection[int]) -> None:
        """Gives those who stay what they wrote down; each goes back to what it knew by itself."""
        for place in sorted((self.path / MINDS).glob("seat-*")):
            seats = {int(seat) for seat in re.findall(r"\d+", place.name)}
            if place.is_dir() and not seats & set(leaving):
                shutil.copytree(place, to.path / MINDS / place.name, symlinks=True)

    def _retraced(
        self,
        kept: Record,
        terms: Terms,
        on_progress: OnProgress,
        trusted: bool,
        *,
        to: "MatchFolder | None" = None,
        leaving: Collection[int] = (),
        found: Mapping[int, str] = MappingProxyType({}),
        env: Environment[Any, Any] | None = None,
        seats: Seats | None = None,
        **more: Any,
    ) -> Match:
        """The match at the end of a record, for those who stay; it goes on in this folder or `to`.

        Whoever sat there once and does not stay is not called up.
        """
        page = kept.page
        changed = {p.seat: p.player for p in page.patches if isinstance(p, NewPlayer)}
        away = {*leaving, *changed}
        if seats is None:
            sits = {seat: found.get(seat, name) for seat, name in enumerate(page.seats)}
            chairs = [roster.chair(name) for name in sits.values()]
        else:
            chairs = chairs_of(seats) * (page.players if len(chairs_of(seats)) == 1 else 1)
        named = {seat: chair for seat, chair in enumerate(chairs) if isinstance(chair, Seat)}
        stays = {**named, **{seat: roster.chair(name) for seat, name in changed.items()}}
        self._trusts({s: w for s, w in stays.items() if s not in leaving}, terms, trusted)
        env = world_of(kept, self.path, trusted) if env is None else env
        guests = {s: Absent() for s, who in enumerate(chairs) if s in away and decides_outside(who)}
        for seat, who in named.items():
            file = roster.file_of(who)
            if seat not in guests and file and not Path(file).exists():
                raise CannotRead(
                    f"{file}, for seat {seat}, is not here, and records hold no paths of a machine;"
                    f" go where the match was begun, or say where it is: --seat {seat}={who}"
                )
        more["guests"] = {**more.get("guests", {}), **guests}
        params = record.restored(env.params(), page.numbers)
        own = {"params": params, "names": dict(enumerate(page.names)), **more}
        match = terms.match(env, chairs, page.seed, on_progress, to or self, **own)
        retrace(match.session, kept, leaving)
        exactly = to is not None
        match.session.restore(self._memories_at(match.session, exactly), self._seconds())
        return match

    def _trusts(self, called: Mapping[int, Seat], terms: Terms, trusted: bool) -> None:
        """Refuses to call what a folder of others may name."""
        names = [str(who) for who in called.values() if kinds()[who.kind].needs_trust]
        names += list(filter(ends.calls_code, terms.ends))
        if names and not trusted:
            raise BadArgument(
                f"this match calls {', '.join(names)}; if you know where the folder comes from, "
                "say --trust"
            )

    def _seconds(self) -> float:
        return float(read_manifest(self.path).get("seconds", 0.0))

    def _memories_at(self, session: Session, exactly: bool) -> dict[str, Any]:
        """What minds remembered before this step; unless `exactly`, the last that is known.

        This is older than the record after a kill if not every step was snapshot, or if the file
        lost its end.
        """
        step, every, found, last = session.step, self.terms.snapshot_every, {}, 0
        try:
            for frame in map(json.loads, self._memories.frames()):
                if frame["step"] <= step:
                    found |= frame["minds"]
                    last = frame["step"]
        except (ValueError, TypeError, KeyError) as error:
            raise CannotRead(f"{self._memories.path} is damaged ({error})") from error
        if last == step or all(isinstance(mind.player, Absent) for mind in session.minds):
            return found
        if not exactly:
            log.warning(
                "%s: agents remember what they knew at step %d of %d", self.path, last, step
            )
            return found
        if step % every:
            why = f"what the agents remembered is known at every {every} steps, not at {step}"
        else:
            why = f"{self._memories.path} lacks what the agents remembered after step {last}"
        raise CannotRead(f"{why}; choose a step where it is known, or give their seats to others")

    def _restore_rows(self, kept: Record, actions: Sequence[str]) -> None:
        """Answers and times up to the end of a record; a lost answer is told as the record has it.

        Rows about steps that are played again are removed.
        """
        noted = {_asked_of(row): row for row in self._rows(DECISIONS)}
        decisions = [
            noted.get(_asked_of(one.model_dump())) or _told_by_record(one, kept, actions)
            for one in kept.page.asked
        ]
        timing = [row for row in self._rows(TIMING) if row["landed"] < len(kept)]
        for name, rows in ((DECISIONS, decisions), (TIMING, timing)):
            if rows or (self.path / name).exists():
                disk.replace(self.path / name, _lines(rows))

    def _write(self, manifest: Mapping[str, Any]) -> None:
        disk.replace(self.path / MANIFEST, json.dumps(manifest, indent=1).encode() + b"\n")


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _asked_of(row: Mapping[str, Any]) -> str:
    return str([row.get(name) for name in Asked.model_fields])


def _told_by_record(one: Asked, kept: Record, actions: Sequence[str]) -> dict[str, Any]:
    """An answer whose row was lost: the action of its step, without what was thought."""
    action = actions[int(kept.actions[one.landed, one.seat])]
    return {
        "seat": one.seat,
        "asked": one.asked,
        "landed": one.landed,
        "decision": None if one.failure else {"action": action},
        "failure": one.failure,
        "why": "restored from the record",
    }


def read_record(folder: Path) -> Record:
    """The record of a match: what its log tells while it is not over, else its episode file."""
    payloads = FrameFile(folder / LOG).frames()
    episode = folder / EPISODE
    if not payloads:
        return record.load(episode)
    told = record_of(payloads)
    if episode.exists():
        kept = record.load(episode)
        if len(kept) >= len(told):
            return kept
    return told


def results(session: Session) -> dict[str, Any]:
    """How everybody did, and how often host players failed."""
    hosts = session.hosts.items()
    return {
        "raw_returns": session.raw_returns.tolist(),
        "reward_returns": session.reward_returns.tolist(),
        "decisions": {str(seat): one.decisions for seat, one in hosts},
        "failures": {str(seat): dict(one.failures) for seat, one in hosts},
        "usage": {mind.key: dict(mind.usage) for mind in session.minds if mind.usage},
    }
