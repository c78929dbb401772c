"""Whether a recorded episode is true: it is played again, and everything that can be compared is.

Pure players sit down again and must choose what is recorded. For players outside, and for those who
are not here, the recorded actions are taken; that they lead from mark to mark shows that the world
answered so, not that somebody chose so. Texts and names stand as the file has them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import jax
import numpy as np

from sociarium.arena import clocks
from sociarium.arena.past import Past
from sociarium.arena.runner import MOST, EpisodeRunner, RunnerState
from sociarium.core.environment import Environment
from sociarium.core.episode import fingerprint
from sociarium.core.errors import CannotRead, SociariumError
from sociarium.core.record import Record
from sociarium.players import roster
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent

PLAYED, GIVEN = "played again", "from its actions"


@dataclass(frozen=True)
class Verdict:
    """How an episode was checked, and what is wrong with it, if anything is.

    `seats` says of every player that sat in a seat, one after another, how it was checked.
    """

    steps: int
    marks: int  # hashes compared
    seats: tuple[tuple[str, ...], ...]
    differs: int | None = None  # the first step that comes out otherwise
    why: str = ""

    def __bool__(self) -> bool:
        return self.differs is None


class Verification:
    """One record beside the match that it tells of."""

    def __init__(
        self, env: Environment[Any, Any], kept: Record, params: Any, trusted: bool = False
    ) -> None:
        self.env, self.kept, self.trusted, page = env, kept, trusted, kept.page
        self.past, self.clock = Past(page), clocks.clock(page.clock)
        chairs = [roster.chair(name) for name in page.seats]
        self.chairs = chairs  # who sits there now
        self.how = [[self._checks(chair)] for chair in chairs]
        hosts = [seat for seat, how in enumerate(self.how) if how[-1] != PLAYED]
        identity = (page.seed, page.lane, page.number)
        self.runner = EpisodeRunner(env, chairs, hosts, identity=identity, params=params)
        self.now: RunnerState = self.runner.start()
        self.marks = dict(page.marks)

    def _checks(self, chair: Seat) -> str:
        """How what a player did can be checked."""
        if chair.outside:
            return GIVEN
        if self.kept.page.carried:
            return f"{GIVEN} (it remembers an earlier trial)"
        try:
            self._harmless(chair)
            roster.player(chair, self.env)
        except SociariumError as error:
            return f"{GIVEN} ({error})"
        return PLAYED

    def _harmless(self, chair: Seat) -> None:
        """Refuses what a stranger's record may not ask for: files elsewhere, large numbers."""
        place = PurePath(chair.ref)
        elsewhere = chair.kind == "policy" and (place.is_absolute() or ".." in place.parts)
        large = any(value.isdigit() and len(value) > 4 for _, value in chair.options)
        if (elsewhere or large) and not self.trusted:
            raise CannotRead("not called up without --trust")

    def run(self, on_progress: OnProgress = silent) -> Verdict:
        """Plays to the end, or to the first step that comes out otherwise."""
        now, total = 0, len(self.kept)
        while True:
            if now in self.marks and self._state() != self.marks[now]:
                return self._verdict(now, "the state is another")
            self._seat_newcomers(now)
            if now == total:
                return self._verdict()
            if (writes := self._cannot_write(now)) is not None:
                return self._verdict(now, f"the player in seat {writes} cannot write anything")
            self._write(now)
            size, done = self._play(now)
            wrong = done != self.kept.actions[now : now + size]
            if wrong.any():
                step, seat = (int(number) for number in np.argwhere(wrong)[0])
                chosen = self.env.actions[int(done[step, seat])].name
                return self._verdict(now + step, f"the player in seat {seat} chooses {chosen!r}")
            now += size
            on_progress(now, total)

    def _state(self) -> str:
        return fingerprint(jax.device_get(self.now.state))

    def _verdict(self, differs: int | None = None, why: str = "") -> Verdict:
        reached = len(self.kept) if differs is None else differs
        marks = sum(step <= reached for step in self.marks)
        return Verdict(len(self.kept), marks, tuple(map(tuple, self.how)), differs, why)

    def _seat_newcomers(self, now: int) -> None:
        for change in self.past.changes(now):
            chair = self.chairs[change.seat] = roster.chair(change.player)
            self.how[change.seat].append(self._checks(chair))
            played = self.how[change.seat][-1] == PLAYED
            kept = None
            if change.keeps_memory and played and self.how[change.seat][-2] == PLAYED:
                kept = self.runner.memory(self.now, change.seat)
            self.now = self.runner.reseat(
                self.now, change.seat, chair if played else None, skilled=False
            )
            if kept is not None:
                self.now = self.runner.remembering(self.now, change.seat, kept)

    def _cannot_write(self, now: int) -> int | None:
        """A seat that writes though a pure player sits there, if there is one."""
        seats = (patch.seat for patch in self.past.written(now))
        return next((seat for seat in seats if not self.chairs[seat].outside), None)

    def _write(self, now: int) -> None:
        for patch in self.past.written(now):
            try:
                self.now = self.runner.apply(self.now, patch)
            except SociariumError as error:
                raise CannotRead(f"what is written at step {now} is refused: {error}") from error

    def _play(self, now: int) -> tuple[int, np.ndarray]:
        """Some steps: how many, and what everybody does in them."""
        hosts = list(self.runner.hosts)
        if hosts:
            given = {seat: int(self.kept.actions[now][seat]) for seat in hosts}
            others = self.clock.others_move(now)
            self.now, kept, _ = self.runner.step(self.now, given, others)
            return 1, np.asarray(kept.actions)[None]
        stops = (len(self.kept), *self.marks, *self.past.steps())
        size = min(MOST, min(stop for stop in stops if stop > now) - now)
        self.now, film = self.runner.step_many(self.now, size)
        return size, np.asarray(film.actions)


def describe(verdict: Verdict, seats: Sequence[str]) -> list[Mapping[str, Any]]:
    """For each seat who sat there first, and how all who sat there were checked."""
    return [
        {"seat": seat, "player": player, "checked": list(how)}
        for seat, (player, how) in enumerate(zip(seats, verdict.seats, strict=True))
    ]
