"""The folder of a match: what was asked for, what was played, and where it can be taken up again.

`manifest.json` says what the match is; `play.episode` is its record; `decisions.jsonl` has every
answer of players outside and `timing.jsonl` how long it took; `snapshots` hold what they remembered
at some steps; `task.toml` is the world, where it is one of your own.
"""

import dataclasses
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sociarium.arena import clocks, ends
from sociarium.arena.match import DEADLINE, Match, Tell, cut
from sociarium.arena.replay import world_of
from sociarium.core import disk, record
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead, CannotWrite
from sociarium.core.manifest import (
    MANIFEST,
    devices,
    git_hash,
    plain,
    read_manifest,
    timestamp,
    versions,
)
from sociarium.core.record import Record, own_task

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
        seats: str,
        seed: int,
        tell: Tell,
        folder: "MatchFolder | None" = None,
    ) -> Match:
        """A match on these terms, before its first step; a folder keeps it, if there is one."""
        gauges = [spec.name for spec in env.gauge_specs]
        return Match(
            env,
            seats,
            seed=seed,
            clock=clocks.clock(self.clock),
            ends=[ends.end(text, gauges) for text in self.ends],
            steps=self.steps,
            deadline=self.deadline,
            tell=tell,
            **({} if folder is None else {"journal": folder.journal, "save": folder.save}),
        )


class MatchFolder:
    """One match on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(
        self, world: str, seats: str, seed: int, terms: Terms, forked_at: int | None = None
    ) -> None:
        """A new match; a folder that holds one already is refused."""
        if (self.path / MANIFEST).exists():
            raise BadArgument(
                f"{self.path} already holds a match; give another folder, or --resume to go on"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            task = own_task(world)
            if task:
                shutil.copyfile(re.split(r"[?+]", world)[0], self.path / task)
        except OSError as error:
            raise CannotWrite(self.path, error) from error
        config = {"world": world, "seats": seats, "seed": seed, **asdict(terms)}
        self._write(
            {
                "config": plain(config),
                "forked_at": forked_at,
                "seeds": [seed],
                "versions": versions(),
                "devices": devices(),
                "git": git_hash(),
                "started": timestamp(),
                "finished": False,
            }
        )

    @property
    def terms(self) -> Terms:
        """What was agreed before the match."""
        config = read_manifest(self.path)["config"]
        return Terms(config["clock"], tuple(config["ends"]), config["steps"], config["deadline"])

    def journal(self, row: dict[str, Any]) -> None:
        """Notes a decision; how long it took is noted elsewhere, since that is never the same."""
        taken = {name: row[name] for name in ("seat", "asked", "seconds")}
        answer = {name: value for name, value in row.items() if name != "seconds"}
        disk.append(self.path / DECISIONS, json.dumps(answer).encode() + b"\n")
        disk.append(self.path / TIMING, json.dumps(taken).encode() + b"\n")

    def save(self, match: Match) -> Record:
        """The record so far, and what players outside remember now."""
        kept = match.record()
        record.save(self.path / EPISODE, kept)
        if match.guests:
            file = self.path / SNAPSHOTS / f"step-{match.step:08d}.json"
            file.parent.mkdir(exist_ok=True)
            disk.replace(file, json.dumps(match.snapshot()).encode() + b"\n")
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

    def record(self) -> Record:
        """What was played."""
        return record.load(self.path / EPISODE)

    def retraced(
        self,
        step: int | None,
        tell: Tell,
        trusted: bool,
        terms: Terms | None = None,
        to: "MatchFolder | None" = None,
    ) -> Match:
        """The match as it was before a step, the last if none is given, to be played on.

        It goes on in this folder and on its terms unless others are given.
        """
        kept = self.record()
        kept = cut(kept, len(kept) if step is None else step)
        if not trusted and any(seat.startswith("agent:") for seat in _players(kept)):
            raise BadArgument(
                "agents sit in this match, which would be called again; if you know where the "
                "folder comes from, say --trust"
            )
        env, page = world_of(kept, self.path, trusted=True), kept.page
        terms, seats = terms or self.terms, " ".join(page.seats)
        match = terms.match(env, seats, page.seed, tell, to or self)
        match.retrace(kept, self._snapshot(match, len(kept)))
        return match

    def forked(
        self,
        to: "MatchFolder",
        step: int,
        changes: Sequence[tuple[int, str]],
        steps: int | None,
        tell: Tell,
        trusted: bool,
    ) -> Match:
        """The match as it was before a step, with others in some seats, in a folder of its own."""
        terms = self.terms if steps is None else dataclasses.replace(self.terms, steps=steps)
        match = self.retraced(step, tell, trusted, terms, to)
        for seat, player in changes:
            if not 0 <= seat < match.env.players:
                raise BadArgument(f"seats are 0 to {match.env.players - 1}; given {seat}")
            match.reseat(seat, player)
        config = read_manifest(self.path)["config"]
        task = own_task(config["world"])
        world = str(self.path / task) if task else config["world"]
        to.begin(world, config["seats"], config["seed"], terms, forked_at=step)
        return match

    def _snapshot(self, match: Match, step: int) -> dict[str, Any] | None:
        file = self.path / SNAPSHOTS / f"step-{step:08d}.json"
        if file.exists():
            return json.loads(file.read_bytes())
        if all(one.player.snapshot() is None for one in match.guests.values()):
            return None
        known = sorted(int(f.stem[5:]) for f in (self.path / SNAPSHOTS).glob("step-*.json"))
        raise CannotRead(
            f"what the agents remembered is known at the steps {known}, not at {step}; choose one "
            "of those, or give their seats to others"
        )

    def _write(self, manifest: Mapping[str, Any]) -> None:
        disk.replace(self.path / MANIFEST, json.dumps(manifest, indent=1).encode() + b"\n")


def results(match: Match) -> dict[str, Any]:
    """How everybody did, and how often players outside failed."""
    scores = match.returns()
    return {
        "scores": scores.tolist(),
        "decisions": {str(seat): one.decisions for seat, one in match.guests.items()},
        "failures": {str(seat): dict(one.failures) for seat, one in match.guests.items()},
    }


def _players(kept: Record) -> list[str]:
    """Everybody who sits or sat in the match."""
    changed = [patch.player for patch in kept.page.patches if patch.kind == "seat"]
    return [*kept.page.seats, *changed]
