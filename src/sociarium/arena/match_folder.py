"""The folder of a match: what was asked for, what was played, and where it can be taken up again.

`manifest.json` says what the match is; `play.episode` is its record; `decisions.jsonl` has every
answer of players outside and `timing.jsonl` how long it took; `snapshots` hold what they remembered
at some steps; `world.toml` describes the world, where it is one of your own.
"""

import dataclasses
import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sociarium.arena import clocks, ends
from sociarium.arena.guests import DEADLINE, Absent
from sociarium.arena.match import SAVED, Match
from sociarium.arena.past import cut
from sociarium.arena.replay import world_of
from sociarium.core import disk, record
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite
from sociarium.core.manifest import MANIFEST, begun, plain, read_manifest, timestamp
from sociarium.core.patches import NewPlayer
from sociarium.core.record import Record, file_beside, plain_name
from sociarium.players import roster
from sociarium.players.protocol import HostPlayer
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress

EPISODE, DECISIONS, TIMING, SNAPSHOTS = (
    "play.episode",
    "decisions.jsonl",
    "timing.jsonl",
    "snapshots",
)


@dataclass(frozen=True)
class Terms:
    """What is agreed before a match: how time passes, when it ends, how long anybody may think."""

    clock: str = "lockstep"
    ends: tuple[str, ...] = ()
    steps: int | None = None
    deadline: float = DEADLINE

    def match(
        self,
        env: Environment[Any, Any],
        seats: str | Sequence[Seat],
        seed: int,
        on_progress: OnProgress,
        folder: "MatchFolder | None" = None,
        guests: Mapping[int, HostPlayer] | None = None,
    ) -> Match:
        """A match on these terms, before its first step; a folder keeps it, if there is one."""
        gauges = [spec.name for spec in env.gauge_specs]
        return Match(
            env,
            seats,
            guests=guests,
            seed=seed,
            clock=clocks.clock(self.clock),
            ends=[ends.end(text, gauges) for text in self.ends],
            steps=self.steps,
            deadline=self.deadline,
            on_progress=on_progress,
            **({} if folder is None else {"journal": folder.journal, "save": folder.save}),
        )


class MatchFolder:
    """One match on disk; from its begin or its resumption until `close` nobody else writes here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: list[bytes] = []  # to be written with the next record
        self._times: list[bytes] = []
        self._lock = disk.FolderLock(path)

    def close(self) -> None:
        """Others may write."""
        self._lock.close()

    def begin(
        self, match: Match, world: str, seats: str, seed: int, terms: Terms, forked: Any = None
    ) -> None:
        """A new match; a folder that holds one already is refused.

        Its record is there before its manifest is, so that a match that can be seen can be resumed.
        """
        if (self.path / MANIFEST).exists():
            raise BadArgument(
                f"{self.path} already holds a match; give another folder, or --resume to go on"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.take()
            task = file_beside(world)
            if task:
                shutil.copyfile(plain_name(world), self.path / task)
        except OSError as error:
            raise CannotWrite(self.path, error) from error
        self._keep(match)
        config = {"world": world, "seats": seats, "seed": seed, **asdict(terms)}
        self._write({**begun(config, [seed]), "forked": plain(forked)})

    @property
    def terms(self) -> Terms:
        """What was agreed before the match."""
        config = self._config()
        try:
            ends = tuple(str(end) for end in config["ends"])
            return Terms(str(config["clock"]), ends, config["steps"], float(config["deadline"]))
        except (KeyError, TypeError, ValueError) as error:
            raise CannotRead(f"{self.path} lacks terms of a match ({error})") from error

    def _config(self) -> dict[str, Any]:
        config = read_manifest(self.path).get("config")
        if not isinstance(config, dict):
            raise CannotRead(f"{self.path} is no folder of a match")
        return config

    def journal(self, row: dict[str, Any]) -> None:
        """Notes a decision; how long it took is noted elsewhere, since that is never the same."""
        taken = {name: row[name] for name in ("seat", "asked", "landed", "seconds")}
        answer = {name: value for name, value in row.items() if name != "seconds"}
        self._answers.append(json.dumps(answer).encode() + b"\n")
        self._times.append(json.dumps(taken).encode() + b"\n")

    def save(self, match: Match) -> Record:
        """The record so far, and what players outside remember now."""
        for name, rows in ((DECISIONS, self._answers), (TIMING, self._times)):
            if rows:
                disk.append(self.path / name, b"".join(rows))
            rows.clear()
        kept = self._keep(match)
        for step in self._known():
            if step % SAVED and step < match.step:
                self._remembered_at(step).unlink()
        self._write(
            {
                **read_manifest(self.path),
                "updated": timestamp(),
                "finished": bool(match.ended),
                "ended": match.ended,
                "steps": match.step,
                **results(match),
            }
        )
        return kept

    def _keep(self, match: Match) -> Record:
        kept = match.record()
        if match.guests:
            file = self._remembered_at(match.step)
            file.parent.mkdir(exist_ok=True)
            disk.replace(file, json.dumps(match.snapshot()).encode() + b"\n")
        record.save(self.path / EPISODE, kept)
        return kept

    def record(self) -> Record:
        """What was played."""
        return record.load(self.path / EPISODE)

    def resumed(self, on_progress: OnProgress, trusted: bool, found: Mapping[int, str]) -> Match:
        """The match where it was left; `found` says where the players of some seats are now."""
        read_manifest(self.path)
        self._lock.take()
        kept = self.record()
        match = self._retraced(kept, self.terms, on_progress, trusted, found=found)
        for name in (DECISIONS, TIMING):
            self._forget(name, len(kept))
        return match

    def forked(
        self,
        to: "MatchFolder",
        step: int,
        changes: Mapping[int, str],
        steps: int | None,
        on_progress: OnProgress,
        trusted: bool,
    ) -> Match:
        """The match as it was before a step, with others in some seats, in a folder of its own."""
        terms = self.terms if steps is None else dataclasses.replace(self.terms, steps=steps)
        kept, config = cut(self.record(), step), self._config()
        for seat in changes:
            if seat >= kept.page.players:
                raise BadArgument(f"seats are 0 to {kept.page.players - 1}; given {seat}")
        match = self._retraced(kept, terms, on_progress, trusted, to=to, leaving=changes)
        for seat, player in changes.items():
            match.reseat(seat, player)
        task = file_beside(kept.page.env)
        world = str(self.path / task) + kept.page.env.removeprefix(task) if task else kept.page.env
        forked = {"from": self.path, "at": step, "seats": changes}
        to.begin(match, world, str(config.get("seats", "")), kept.page.seed, terms, forked)
        return match

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
    ) -> Match:
        """The match at the end of a record, for those who stay; it goes on in this folder or `to`.

        Whoever sat there once and does not stay is not called up.
        """
        page = kept.page
        sits = {seat: found.get(seat, name) for seat, name in enumerate(page.seats)}
        changed = {p.seat: p.player for p in page.patches if isinstance(p, NewPlayer)}
        chairs = {seat: roster.chair(name) for seat, name in sits.items()}
        stays = {**chairs, **{seat: roster.chair(name) for seat, name in changed.items()}}
        called = [str(who) for seat, who in stays.items() if seat not in leaving and who.outside]
        called += [end for end in terms.ends if end.startswith("custom:")]
        if called and not trusted:
            raise BadArgument(
                f"this match calls {', '.join(called)}; if you know where the folder comes from, "
                "say --trust"
            )
        env = world_of(kept, self.path, trusted)
        away = {*leaving, *changed}
        guests = {s: Absent() for s, who in chairs.items() if s in away and who.outside}
        for seat, who in chairs.items():
            file = roster.file_of(who)
            if seat not in guests and file and not Path(file).exists():
                raise CannotRead(
                    f"{file}, for seat {seat}, is not here, and records hold no paths of a machine;"
                    f" go where the match was begun, or say where it is: --seat {seat}={who}"
                )
        match = terms.match(env, tuple(chairs.values()), page.seed, on_progress, to or self, guests)
        match.retrace(kept, leaving)
        match.restore(self._snapshot(match))
        return match

    def _snapshot(self, match: Match) -> dict[str, Any]:
        file = self._remembered_at(match.step)
        if file.exists():
            try:
                remembered = json.loads(file.read_bytes())
                return {"seconds": remembered["seconds"], "players": dict(remembered["players"])}
            except (OSError, ValueError, TypeError, KeyError) as error:
                raise CannotRead(f"{file} is damaged ({error})") from error
        if all(one.player.snapshot() is None for one in match.guests.values()):
            return {"seconds": 0.0, "players": {}}
        raise CannotRead(
            f"what the agents remembered is known at the steps {self._known()}, not at "
            f"{match.step}; choose one of those, or give their seats to others"
        )

    def _remembered_at(self, step: int) -> Path:
        return self.path / SNAPSHOTS / f"step-{step:08d}.json"

    def _known(self) -> list[int]:
        """The steps at which it is known what agents remembered."""
        files = (self.path / SNAPSHOTS).glob("step-*.json")
        return sorted(int(file.stem[5:]) for file in files if file.stem[5:].isdigit())

    def _forget(self, name: str, step: int) -> None:
        """Rows about steps that are played again."""
        file = self.path / name
        if file.exists():
            rows = file.read_bytes().splitlines(True)
            disk.replace(file, b"".join(r for r in rows if json.loads(r)["landed"] < step))

    def _write(self, manifest: Mapping[str, Any]) -> None:
        disk.replace(self.path / MANIFEST, json.dumps(manifest, indent=1).encode() + b"\n")


def results(match: Match) -> dict[str, Any]:
    """How everybody did, and how often players outside failed."""
    return {
        "raw_returns": match.raw_returns.tolist(),
        "reward_returns": match.reward_returns.tolist(),
        "decisions": {str(seat): one.decisions for seat, one in match.guests.items()},
        "failures": {str(seat): dict(one.failures) for seat, one in match.guests.items()},
    }
