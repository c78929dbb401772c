"""`sociarium match WORLD`."""

import dataclasses
import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from sociarium import catalogue
from sociarium.arena.call_estimate import load_estimate
from sociarium.arena.host_seats import DEADLINE
from sociarium.arena.match import Match
from sociarium.arena.match_folder import EPISODE, MatchFolder, Terms, results
from sociarium.arena.seating import name_of
from sociarium.arena.series import Series, SeriesTerms, is_series, resume_series
from sociarium.cli.checks import Steps, World, WorldCommand, as_begun, at_least, seated
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.facets import Split
from sociarium.core.percept_builder import Disclosure, Privileged
from sociarium.core.stopping import asked_to_stop
from sociarium.language.models.budget import AtCap
from sociarium.language.models.config import find_models
from sociarium.language.models.repair import RUNGS
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.machine import keep_loaded
from sociarium.views.progress import OnProgress, progress

log = logging.getLogger(__name__)

STOPPED, PAUSED = 130, 75  # exit codes: like interrupted programs, and "try again later"


@dataclass(frozen=True)
class MatchCommand(WorldCommand):
    """Play one episode with any mix of players, and record it.

    Besides scripts and policies, agents can sit anywhere: `agent:http://127.0.0.1:9000/decide` is
    asked over the wire, `agent:my_players.py:Polite` in Python. The folder can be replayed
    (`sociarium replay`), taken up again (`--resume`) and forked (`sociarium fork`).
    """

    world: World = ""  # catalogue name, e.g. clean_up
    seats: str = ""  # who plays; empty for the world's own demonstration
    charter: str = ""  # social rules around the world, e.g. contract?rounds=3
    clock: str = "lockstep"  # or turns, turns:BOT_PERIOD, realtime:SECONDS
    steps: Steps | None = None  # at most; otherwise the world's own episode
    ends: tuple[str, ...] = ()  # e.g. rounds:100 all_out resource_exhausted:apples budget:50
    players: int | None = None  # how many, instead of the number of seats
    seed: int = 0
    deadline: float = DEADLINE  # seconds an agent may think
    privileged: tuple[Privileged, ...] = ()  # what agents are told beyond their view: pose, score
    knowledge: Disclosure = "none"  # of hidden recipes, for agents
    reserve: str = ""  # who may sit down later, so that nothing is compiled then
    lane: int = 0  # of a batch under the same seed, to play the same episode
    number: int = 0  # of the episode in its lane
    snapshot_every: int = 1  # steps after which it is written down what agents remember
    trials: int | None = None  # a series: so many episodes on one drawing of hidden numbers
    reveal: bool = False  # of a series: everybody is told the hidden numbers
    split: Split = "train"  # of a series: where hidden numbers are drawn from
    carry: bool = False  # of a series: policies keep what they remember, as agents always do
    models: Path | None = None  # models.toml; else that of this folder, then the user's own
    calls: str = "live"  # of models: live, record (calls.sqlite in --out), or replay:FILE
    budget: str = ""  # caps for models, e.g. calls=100,tokens=50000,money=1.5,seat.calls=20
    at_cap: AtCap = "pause"  # or a cheaper model ([roles] cheaper), or rules (the seat's fallback)
    out: Path | None = None  # folder of the match; by default nothing is written
    resume: Path | None = None  # folder of a match to go on with; only these can stand beside it:
    seat: tuple[str, ...] = ()  # where the player of a seat is now, as in 0=policy:runs/coins
    trust: bool = False  # call agents and functions again that a folder names
    json: bool = False  # one JSON object as the last line

    def run(self) -> None:
        """Plays and says how it went."""
        at_least("steps", self.steps)
        at_least("trials", self.trials)
        if self.resume is not None:
            as_begun(self, "seat", "trust", "models", "budget", "at_cap", "json")
        with use_runtime(ModelRuntime(find_models(self.models))):
            self._run()

    def _run(self) -> None:
        if self.trials is not None or (self.resume is not None and is_series(self.resume)):
            with progress("series") as on_progress:
                series = self._series(on_progress)
                play(series)
            conclude_series(series, self.json)
        else:
            place = self.resume or self.out
            folder = None if place is None else MatchFolder(place)
            try:
                with progress("match") as on_progress:
                    match = self._match(folder, on_progress)
                    play(match)
                conclude(match, folder, self.json)
            finally:  # also for others in this process, while an error keeps the match in memory
                if folder is not None:
                    folder.close()

    def _match(self, folder: MatchFolder | None, on_progress: OnProgress) -> Match:
        if self.resume is None or folder is None:
            return self._begun(folder, on_progress)
        if self.budget:  # more than before, for a match that paused because it was used up
            folder.agree(budget=self.budget, at_cap=self.at_cap)
        return folder.resumed(on_progress, self.trust, players(self.seat))

    def _series(self, on_progress: OnProgress) -> Series:
        if self.resume is not None:
            return resume_series(
                self.resume,
                trusted=self.trust,
                elsewhere=players(self.seat),
                on_progress=on_progress,
            )
        named, env, seats = self._seated()
        rules = SeriesTerms(self.trials or 1, self.reveal, self.split, self.carry)
        series = Series(
            env,
            seats,
            rules,
            seed=self.seed,
            terms=self._terms,
            out=self.out,
            world=named,
            on_progress=on_progress,
        )
        series.claim()
        return series

    @property
    def _terms(self) -> Terms:
        return Terms(**{f.name: getattr(self, f.name) for f in dataclasses.fields(Terms)})

    def _seated(self) -> tuple[str, Environment[Any, Any], str]:
        """The world by name, the world, and who sits there."""
        if not self.world:
            raise BadArgument("say which world to play, as in `sociarium match coins`")
        named = catalogue.under(self.world, self.charter) if self.charter else self.world
        return named, *seated(named, self.seats, self.players)

    def _begun(self, folder: MatchFolder | None, on_progress: OnProgress) -> Match:
        for name in ("reveal", "carry"):
            if getattr(self, name):
                raise BadArgument(f"--{name} is for a series; say also --trials, as in --trials 3")
        named, env, seats = self._seated()
        if folder is not None:
            folder.claim()
        match = self._terms.match(env, seats, self.seed, on_progress, folder, reserve=self.reserve)
        if folder is not None:
            folder.begin(match, named, seats, self.seed, self._terms)
        return match


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


def play(match: Match | Series) -> None:
    """Plays to the end, or until it is asked to stop."""

    def stop(number: int) -> None:
        match.stop()
        log.warning("Stopping after this step; ask again to stop at once.")

    keep_loaded()
    with asked_to_stop(stop):
        match.run()


def conclude(
    match: Match, folder: MatchFolder | None, as_json: bool = False, command: str = "match"
) -> None:
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
    _show_usage(console, match, folder)
    if folder is not None:
        console.print(f"{folder.path / EPISODE} holds the record", markup=False)
        if not match.ended:
            console.print(f"go on with: sociarium {command} --resume {folder.path}", markup=False)
    if as_json:
        told = {"env": match.env.id, "steps": match.step, "ended": match.ended}
        told |= {"paused": match.paused, "folder": str(folder.path) if folder else None}
        print(json.dumps({**told, **results(match.session)}))
    if not match.ended:
        raise SystemExit(PAUSED if match.paused else STOPPED)


def _show_usage(console: Console, match: Match, folder: MatchFolder | None) -> None:
    """What language models used, how they answered, and how wrong the estimate was."""
    total = sum((Counter(used) for used in match.usage.values()), Counter())
    if not total["calls"]:
        return
    tokens = f"{total['input_tokens']:,.0f} tokens in, {total['output_tokens']:,.0f} out"
    paid = f", money {total['money']:.4f}" if total["money"] else ""
    console.print(f"  models: {total['calls']:,.0f} calls, {tokens}{paid}", markup=False)
    rungs = {rung: total[f"rung_{rung}"] for rung in RUNGS if total[f"rung_{rung}"]}
    failed = {name: n for name, n in total.items() if name.startswith("failed_")}
    told = [f"{name.removeprefix('failed_')} {n:.0f}" for name, n in (rungs | failed).items()]
    console.print(f"  answers: {', '.join(told)}", markup=False)
    estimate = None if folder is None else load_estimate(folder.path)
    if estimate is not None and match.ended:
        console.print(
            f"  estimated were {estimate.tokens:,.0f} tokens ({estimate.error(total):+.0%})",
            markup=False,
        )


def conclude_series(series: Series, as_json: bool = False) -> None:
    """Says in a few lines how each trial went."""
    console = Console(width=None if Console().is_terminal else 100, highlight=False)
    done, trials = len(series.records), series.rules.trials
    console.print(f"{series.env.id}: {done} of {trials} trials", markup=False)
    for trial, returns in enumerate(series.raw_returns):
        paid = "  ".join(f"{points:g}" for points in returns)
        console.print(f"  trial {trial}  {paid}", markup=False)
    if series.out is not None:
        console.print(f"{series.out} holds the records", markup=False)
        if not series.ended:
            console.print(f"go on with: sociarium match --resume {series.out}", markup=False)
    paused = "" if series.match is None else series.match.paused
    if as_json:
        told = {"env": series.env.id, "trials": trials, "played": done, "paused": paused}
        told |= {"raw_returns": series.raw_returns.tolist()}
        told |= {"folder": str(series.out) if series.out else None}
        print(json.dumps(told))
    if not series.ended:
        raise SystemExit(PAUSED if paused else STOPPED)


def _counts(failures: Any) -> str:
    return ", ".join(f"{name} {count}" for name, count in failures.items())
