"""`sociarium match WORLD`."""

import dataclasses
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from sociarium import catalogue
from sociarium.arena.host_seats import DEADLINE
from sociarium.arena.match import Match
from sociarium.arena.match_folder import EPISODE, MatchFolder, Terms, results
from sociarium.arena.seating import name_of, seated
from sociarium.cli.checks import World, at_least
from sociarium.core.errors import BadArgument
from sociarium.core.percept_builder import Disclosure, Telling
from sociarium.core.stopping import asked_to_stop
from sociarium.views.progress import progress

log = logging.getLogger(__name__)

STOPPED, PAUSED = 130, 75  # exit codes: like interrupted programs, and "try again later"


@dataclass(frozen=True)
class MatchCommand:
    """Play one episode with any mix of players, and record it.

    Besides scripts and policies, agents can sit anywhere: `agent:http://127.0.0.1:9000/decide` is
    asked over the wire, `agent:my_players.py:Polite` in Python. The folder can be replayed
    (`sociarium replay`), taken up again (`--resume`) and forked (`sociarium fork`).
    """

    world: World = ""  # catalogue name, e.g. clean_up
    seats: str = ""  # who plays; empty for the world's own demonstration
    charter: str = ""  # social rules around the world, e.g. contract?rounds=3
    clock: str = "lockstep"  # or turns, turns:BOT_PERIOD, realtime:SECONDS
    steps: int | None = None  # at most; otherwise the world's own episode
    ends: tuple[str, ...] = ()  # e.g. rounds:100 all_out resource_exhausted:apples budget:50
    players: int | None = None  # how many, instead of the number of seats
    seed: int = 0
    deadline: float = DEADLINE  # seconds an agent may think
    tell: tuple[Telling, ...] = ()  # agents beyond their view: pose, score
    knowledge: Disclosure = "none"  # of hidden recipes, for agents
    reserve: str = ""  # who may sit down later, so that nothing is compiled then
    lane: int = 0  # of a batch under the same seed, to play the same episode
    number: int = 0  # of the episode in its lane
    snapshot_every: int = 1  # steps after which it is written down what agents remember
    out: Path | None = None  # folder of the match; by default nothing is written
    resume: Path | None = None  # folder of a match to go on with; only these can stand beside it:
    seat: tuple[str, ...] = ()  # where the player of a seat is now, as in 0=policy:runs/coins
    trust: bool = False  # call agents and functions again that a folder names
    json: bool = False  # one JSON object as the last line

    def run(self) -> None:
        """Plays and says how it went."""
        at_least("steps", self.steps)
        with progress("match") as on_progress:
            if self.resume is not None:
                self._alone()
                folder = MatchFolder(self.resume)
                match = folder.resumed(on_progress, self.trust, players(self.seat))
            else:
                folder, match = self._begun(on_progress)
            play(match)
        conclude(match, folder, self.json)

    def _alone(self) -> None:
        """What was agreed stays as it was."""
        usual = {field.name: field.default for field in dataclasses.fields(self)}
        given = [name for name, default in usual.items() if getattr(self, name) != default]
        if others := [name for name in given if name not in ("resume", "seat", "trust", "json")]:
            raise BadArgument(
                f"a match goes on as it was begun; leave out {', '.join(others)}, or fork it"
            )

    def _begun(self, on_progress: Any) -> tuple[MatchFolder | None, Match]:
        if not self.world:
            raise BadArgument("say which world to play, as in `sociarium match coins`")
        named = catalogue.under(self.world, self.charter) if self.charter else self.world
        env, seats = seated(named, self.seats, self.players)
        terms = Terms(**{f.name: getattr(self, f.name) for f in dataclasses.fields(Terms)})
        if self.out is None:
            return None, terms.match(env, seats, self.seed, on_progress, reserve=self.reserve)
        folder = MatchFolder(self.out)
        match = terms.match(env, seats, self.seed, on_progress, folder, reserve=self.reserve)
        folder.begin(match, named, seats, self.seed, terms)
        return folder, match


def players(seats: Sequence[str]) -> dict[int, str]:
    """Players by seat, from words like `2=script:defector`."""
    found = {}
    for text in seats:
        seat, equals, player = text.partition("=")
        if not equals or not seat.isdigit():
            raise BadArgument(
                f"write --seat NUMBER=PLAYER, as in 2=script:defector; given {text!r}"
            )
        found[int(seat)] = player
    return found


def play(match: Match) -> None:
    """Plays to the end, or until it is asked to stop."""

    def stop(number: int) -> None:
        match.stop()
        log.warning("Stopping after this step; ask again to stop at once.")

    with asked_to_stop(stop):
        match.run()


def conclude(match: Match, folder: MatchFolder | None, as_json: bool = False) -> None:
    """Says in a few lines how a match went; one that is not over exits with a code of its own."""
    if folder is not None:
        folder.close()
    console = Console(width=None if Console().is_terminal else 100, highlight=False)
    how = f"ended by {match.ended}" if match.ended else "stopped"
    if match.paused:
        how = f"paused: {match.paused}"
    console.print(f"{match.env.id}: {match.step} steps, {how}", markup=False)
    raw, left = match.raw_returns, match.reward_returns
    for seat, chair in enumerate(match.session.chairs):
        one = match.hosts.get(seat)
        asked = f"  {one.decisions} decisions" if one else ""
        failed = f", failed: {_counts(one.failures)}" if one and one.failures else ""
        score = f"{left[seat]:8g}"
        paid = f" (the world paid {raw[seat]:g})" if raw[seat] != left[seat] else ""
        console.print(
            f"  seat {seat}  {score}  {name_of(chair)}{paid}{asked}{failed}", markup=False
        )
    if folder is not None:
        console.print(f"{folder.path / EPISODE} holds the record", markup=False)
        if not match.ended:
            console.print(f"go on with: sociarium match --resume {folder.path}", markup=False)
    if as_json:
        told = {"env": match.env.id, "steps": match.step, "ended": match.ended}
        told |= {"paused": match.paused, "folder": str(folder.path) if folder else None}
        print(json.dumps({**told, **results(match.session)}))
    if not match.ended:
        raise SystemExit(PAUSED if match.paused else STOPPED)


def _counts(failures: Any) -> str:
    return ", ".join(f"{name} {count}" for name, count in failures.items())
