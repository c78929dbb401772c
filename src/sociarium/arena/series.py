"""A series: several trials on one drawing of hidden rules, between which players remember.

The world starts anew in every trial. Host players always keep what they remember, pure ones if
asked. Each trial has a record of its own; a series on disk has a folder for each.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from sociarium import catalogue
from sociarium.arena.host_seats import HostSeat
from sociarium.arena.match import Match, run_apart
from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.arena.resuming import retrace
from sociarium.arena.seating import Seats
from sociarium.charters.revealing import reveal
from sociarium.core import disk
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead
from sociarium.core.facets import Hidden, Split
from sociarium.core.hidden import draw_hidden
from sociarium.core.manifest import MANIFEST, begun, read_manifest
from sociarium.core.record import Page, Record
from sociarium.views.progress import OnProgress, silent


@dataclasses.dataclass(frozen=True)
class SeriesTerms:
    """What is agreed before a series: how often, and who is told what."""

    trials: int = 1
    reveal: bool = False  # hidden numbers are told to everybody, in percepts and views alike
    split: Split = "train"  # where hidden numbers are drawn from
    carry: bool = False  # pure players keep what they remember, too

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise BadArgument(f"trials is 1 or more; given {self.trials}")


class Series:
    """Players of any kind in one world, several times in a row.

    >>> series = Series(env, [my_agent, "script:cooperator"], SeriesTerms(trials=3))
    >>> series.run()
    >>> series.raw_returns                     # [trials, players]

    Trial t is episode t of its lane. With `out` it is kept in a folder, from which `resume_series`
    goes on.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        seats: Seats,
        rules: SeriesTerms,
        *,
        seed: int = 0,
        terms: Terms | None = None,
        out: Path | None = None,
        world: str = "",
        params: Any = None,
        on_progress: OnProgress = silent,
        **more: Any,
    ) -> None:
        """`more` goes to every match, such as `names`; `world` is what it is called on disk.

        `params` are the world's own unless given; hidden numbers are drawn in any case.
        """
        self.rules, self.seats, self.seed, self.out = rules, seats, seed, out
        self.terms, self.on_progress, self.more = terms or Terms(), on_progress, more
        self.world = world or env.id or type(env).__name__
        self.params, self.hidden = env.params() if params is None else params, {}
        if rules.reveal or env.has(Hidden):
            self.params, self.hidden = draw_hidden(env, self.params, seed, rules.split)
        self.env = reveal(env) if rules.reveal else env
        self.records: list[Record] = []  # of trials that are over
        self.returns: list[np.ndarray] = []  # what the world paid in them
        self.match: Match | None = None  # the trial that is being played
        self._folder: MatchFolder | None = None  # of that trial
        self._hosts: Mapping[int, HostSeat] = {}
        self._memories: dict[int, Any] = {}  # of pure players
        self._stopping = self._begun = False
        self._lock: disk.FolderLock | None = None

    @property
    def raw_returns(self) -> Float[np.ndarray, "trials players"]:
        """What the world paid each player in each trial that is over."""
        return np.array(self.returns, np.float32).reshape(-1, self.env.players)

    @property
    def memories(self) -> dict[str, Any]:
        """What host players remember, by their seats."""
        hosts = self._hosts if self.match is None else self.match.hosts
        return {one.mind.key: one.mind.memory for one in hosts.values()}

    @property
    def ended(self) -> bool:
        """Whether all trials were played."""
        return len(self.records) == self.rules.trials

    def run(self) -> list[Record]:
        """Plays all trials, or until one is stopped or paused."""
        return run_apart(self.play)

    async def play(self) -> list[Record]:
        """Plays all trials, or until one is stopped or paused."""
        self.claim()
        try:
            while not self.ended and not self._stopping:
                self.match = self.match or self._next()
                try:
                    record = await self.match.play()
                finally:
                    if self._folder is not None:
                        self._folder.close()
                if not self.match.ended:
                    break
                self._over(self.match, record)
        finally:
            self._stopping = False
            if self._lock is not None:
                self._lock.close()
        return self.records

    def claim(self) -> None:
        """The folder, if there is one, is this series' until it has been played or stopped."""
        if self.out is None:
            return
        if not self._begun and (self.out / MANIFEST).exists():
            raise BadArgument(
                f"{self.out} already holds a match; give another folder, or --resume to go on"
            )
        self._lock = (self._lock or disk.FolderLock(self.out)).take()
        if not self._begun:
            self._begin(self.out)
            self._begun = True

    def stop(self) -> None:
        """Ends after the step that is being played; the series can be taken up again."""
        self._stopping = True
        if self.match is not None:
            self.match.stop()

    def retrace(self, kept: Record, check: Callable[[Page], None], by_terms: bool = True) -> None:
        """Plays the next trial again from its record; `check` gets its first page."""
        match = self._next()
        check(match.session.first_page)
        retrace(match.session, kept, by_terms=by_terms)
        self._over(match, kept)

    def _over(self, match: Match, record: Record) -> None:
        """A trial is over; what players remember goes into the next."""
        self.records.append(record)
        self.returns.append(match.raw_returns)
        self._hosts, self._memories = match.hosts, self._carried(match)
        self.match = self._folder = None

    def _carried(self, match: Match) -> dict[int, Any]:
        """What pure players take along into the next trial."""
        pure = set(range(self.env.players)) - set(match.hosts) if self.rules.carry else ()
        return {seat: jax.device_get(match.session.memory(seat)) for seat in sorted(pure)}

    def _trial(self, trial: int) -> dict[str, Any]:
        """What its match is told about a trial."""
        return {
            **self.more,
            "params": self.params,
            "trial": trial,
            "hidden": self.hidden if self.rules.reveal else None,
            "memories": self._memories,
        }

    def _terms(self, trial: int) -> Terms:
        return dataclasses.replace(self.terms, number=self.terms.number + trial)

    def _next(self) -> Match:
        """The match of the next trial, before its first step."""
        trial = len(self.records)
        terms, more = self._terms(trial), self._trial(trial)
        if self._hosts:
            more["guests"] = self._hosts
        folder = None if self.out is None else MatchFolder(trial_folder(self.out, trial))
        if folder is not None:
            folder.claim()
        self._folder = folder
        match = terms.match(self.env, self.seats, self.seed, self.on_progress, folder, **more)
        if folder is not None:
            folder.begin(match, self.world, self._seat_string, self.seed, terms)
        return match

    @property
    def _seat_string(self) -> str:
        return self.seats if isinstance(self.seats, str) else ""

    def _begin(self, out: Path) -> None:
        """The folder, before any trial is."""
        config = {"world": self.world, "seats": self._seat_string, "seed": self.seed}
        config["players"] = self.env.players
        config |= {**dataclasses.asdict(self.terms), **dataclasses.asdict(self.rules)}
        manifest = {**begun(config, [self.seed]), "hidden": list(self.hidden)}
        disk.replace(out / MANIFEST, json.dumps(manifest, indent=1).encode() + b"\n")

    def resume(self, trusted: bool = False, seats: Mapping[int, str] | None = None) -> None:
        """Comes back to where the series in its folder was left, and can be played from there.

        Trials that are over are played again too, for what players carry along. `seats` tell where
        the players of some seats are now.
        """
        assert self.out is not None
        self._begun = True
        self.claim()
        for trial in range(self.rules.trials):
            folder = MatchFolder(trial_folder(self.out, trial))
            if not (folder.path / MANIFEST).exists():
                break
            manifest, more = read_manifest(folder.path), self._trial(trial)
            named = isinstance(self.seats, str)
            match = folder.resumed(
                self.on_progress,
                trusted,
                seats or {},
                env=self.env,
                seats=None if named else self.seats,
                **more,
            )
            if seats and named:  # in the trials to come, too
                sat = folder.record().page.seats
                self.seats = " ".join(seats.get(seat, name) for seat, name in enumerate(sat))
            if not manifest.get("finished"):
                self.match, self._folder = match, folder
                break
            folder.close()
            self._over(match, folder.record())


def trial_folder(series: Path, trial: int) -> Path:
    """The folder of one trial, counted from 0."""
    return series / f"trial-{trial}"


def is_series(folder: Path) -> bool:
    """Whether a folder holds a series."""
    config = read_manifest(folder).get("config")
    return isinstance(config, dict) and "trials" in config


def resume_series(
    folder: Path,
    *,
    trusted: bool = False,
    env: Environment[Any, Any] | None = None,
    seats: Seats | None = None,
    elsewhere: Mapping[int, str] | None = None,
    params: Any = None,
    on_progress: OnProgress = silent,
) -> Series:
    """The series of a folder, where it was left.

    A world that is not in the catalogue, players that no seat string names, and parameters other
    than the world's own must be given; `elsewhere` tells where the players of some seats are now.
    """
    config = read_manifest(folder).get("config")
    if not isinstance(config, dict) or "trials" not in config:
        raise CannotRead(f"{folder} holds no series")
    try:
        names = {field.name for field in dataclasses.fields(SeriesTerms)}
        rules = SeriesTerms(**{name: config[name] for name in names})
        terms, seed, world = Terms.read(config), int(config["seed"]), str(config["world"])
        seated = str(config["seats"]) if seats is None else seats
        players = int(config["players"])
    except (KeyError, TypeError, ValueError) as error:
        raise CannotRead(f"{folder} lacks terms of a series ({error})") from error
    made = catalogue.make(world, players=players) if env is None else env
    more = {"seed": seed, "terms": terms, "out": folder, "world": world, "params": params}
    series = Series(made, seated, rules, on_progress=on_progress, **more)
    series.resume(trusted, elsewhere)
    return series
