"""`sociarium play WORLD`."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from sociarium import catalogue
from sociarium.arena import clocks
from sociarium.arena.clocks import Realtime
from sociarium.arena.match import Match, run_apart
from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.arena.replay import world_of
from sociarium.arena.seating import demonstration
from sociarium.cli.checks import Steps, World, WorldCommand, as_begun, at_least
from sociarium.cli.match import conclude
from sociarium.cli.play_app import check_terminal, on_terminal
from sociarium.cli.play_screen import PlayScreen
from sociarium.cli.play_text import LineSink, LineSource, TextKeyboard
from sociarium.core.actions import STAY
from sociarium.core.decision import Decision
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, SociariumError
from sociarium.core.percept_builder import Disclosure
from sociarium.core.stopping import asked_to_stop
from sociarium.players import roster
from sociarium.players.human import at_keyboard
from sociarium.players.roster import Seat
from sociarium.views.progress import silent

HUMAN = "human"
FPS = 8  # steps a second, while one is not asked


@dataclass(frozen=True)
class PlayCommand(WorldCommand):
    """Play a world yourself, with scripts, policies and agents.

    You see what a policy in your seat sees: its window as a coloured map, its numbers, what it
    notices and what others write. Each choice has a key. The match waits for you, unless the clock
    is `realtime`: there who presses nothing stays. With `--out` it is recorded and can be replayed
    (`sociarium replay`) and taken up again (`--resume`).
    """

    world: World = ""  # catalogue name, e.g. clean_up
    seats: str = ""  # e.g. "human script:cooperator*2"; empty: you and the world's demonstration
    name: str = ""  # what others call you
    charter: str = ""  # social rules around the world, e.g. contract?rounds=3
    clock: str = "lockstep"  # or turns, turns:BOT_PERIOD, realtime:SECONDS
    steps: Steps | None = None  # at most; otherwise the world's own episode
    players: int | None = None  # how many, instead of the number of seats
    seed: int = 0
    text: bool = False  # sentences and numbered choices, for screen readers and pipes
    skills: bool = False  # offer skills too, such as go_to; then you are told where you are
    score: bool = False  # tell your points, which no policy is told
    knowledge: Disclosure = "none"  # of hidden recipes
    fps: int = FPS  # steps a second that you see while you are not asked
    out: Path | None = None  # folder of the match; by default nothing is written
    resume: Path | None = None  # folder of a match of yours to go on with
    trust: bool = False  # call agents and functions again that a folder names

    def run(self) -> None:
        """Plays and says how it went."""
        at_least("steps", self.steps)
        at_least("fps", self.fps)
        if self.resume is not None:
            as_begun(self, "text", "skills", "fps", "trust")
        if not self.text:
            check_terminal()
        streams = sys.stdin, sys.stdout  # which stand for others while a status is shown
        with Console(stderr=True).status("getting ready"):
            seated = self._resumed(streams) if self.resume else self._begun(streams)
            folder, match, keyboard = seated
            compile_step(match)
        play(match, keyboard, self.fps)
        conclude(match, folder, command="play")

    def _begun(self, streams: "Streams") -> tuple[MatchFolder | None, Match, "Person"]:
        if not self.world:
            raise BadArgument("say which world to play, as in `sociarium play clean_up`")
        named = catalogue.under(self.world, self.charter) if self.charter else self.world
        env, seats = people_seated(named, self.seats, self.players, self.name)
        terms = Terms(
            clock=self.clock,
            steps=self.steps,
            knowledge=self.knowledge,
            privileged=("score",) if self.score else (),
        )
        folder = None if self.out is None else MatchFolder(self.out)
        keyboard = self._keyboard(env, terms, streams)
        if folder is not None:
            folder.claim()
        with at_keyboard(keyboard):
            match = terms.match(env, seats, self.seed, silent, folder)
        if folder is not None:
            folder.begin(match, named, seats, self.seed, terms)
        return folder, match, keyboard

    def _resumed(self, streams: "Streams") -> tuple[MatchFolder, Match, "Person"]:
        folder = MatchFolder(self.resume or Path())
        kept = folder.record()
        env = world_of(kept, folder.path, self.trust)
        keyboard = self._keyboard(env, folder.terms, streams, skilled=bool(kept.page.tasks))
        with at_keyboard(keyboard):
            return folder, folder.resumed(silent, self.trust, {}, env=env), keyboard

    def _keyboard(
        self,
        env: Environment[Any, Any],
        terms: Terms,
        streams: "Streams",
        skilled: bool = False,
    ) -> "Person":
        polled, skilled = isinstance(clocks.clock(terms.clock), Realtime), skilled or self.skills
        if polled and self.skills:
            raise BadArgument(
                "in real time one plays by single actions, since a skill would go on by itself; "
                "leave out --skills"
            )
        if self.text:
            return TextKeyboard(env, *streams, polled=polled, skilled=skilled)
        steps = int(env.horizon(env.params())) if terms.steps is None else terms.steps
        return PlayScreen(env, polled=polled, skilled=skilled, steps=steps)


Person = PlayScreen | TextKeyboard
Streams = tuple[LineSource, LineSink]
Terminal = Callable[[PlayScreen], AbstractAsyncContextManager[None]]


def people_seated(
    world: str, seats: str, players: int | None, name: str = ""
) -> tuple[Environment[Any, Any], str]:
    """A world with a person in it; seats that nobody was named for go to the demonstration."""
    chairs = list(roster.parse(seats or HUMAN))
    people = [number for number, chair in enumerate(chairs) if chair.kind == HUMAN]
    if len(people) != 1:
        raise BadArgument(
            'one person plays at a terminal; write human once, as in "human script:cooperator*2"; '
            f"given {seats!r}"
        )
    if name:
        options = dict(chairs[people[0]].options) | {"name": name}
        chairs[people[0]] = Seat(HUMAN, chairs[people[0]].ref, tuple(options.items()))
    wanted = len(chairs) if players is None and len(chairs) > 1 else players
    env = catalogue.make(world, players=wanted)
    if len(chairs) == 1:
        cast = demonstration(catalogue.find(world).cast, env.players)
        chairs += roster.parse(cast)[1:]
    return env, " ".join(map(str, chairs))


def compile_step(match: Match) -> None:
    """So that nobody waits after the first key."""
    session = match.session
    session.runner.step(session.now, {seat: STAY for seat in match.hosts})


def play(match: Match, keyboard: Person, fps: int = FPS, terminal: Terminal = on_terminal) -> None:
    """Plays to the end, or until the person leaves."""
    sits = {seat: getattr(one.mind.player, "keyboard", None) for seat, one in match.hosts.items()}
    (seat,) = [seat for seat, found in sits.items() if found is keyboard]
    keyboard.pending.check = lambda decision: refused(match, seat, decision)

    async def played() -> None:
        loop = asyncio.get_running_loop()

        def stop(number: int) -> None:
            match.stop()
            loop.call_soon_threadsafe(keyboard.leave)

        with asked_to_stop(stop):
            if isinstance(keyboard, TextKeyboard):
                async for _ in match:
                    pass
                return
            async with terminal(keyboard):
                with warnings_given_to(keyboard.notice):
                    await _shown(match, seat, keyboard, fps)

    run_apart(played)


def refused(match: Match, seat: int, decision: Decision) -> str:
    """Why what a decision writes cannot be held, if it cannot; nothing is written."""
    session = match.session
    now = session.now
    for patch in decision.writes(session.step, seat, 0):
        try:
            now = session.runner.apply(now, patch)
        except SociariumError as error:
            return str(error)
    return ""


@contextmanager
def warnings_given_to(told: Callable[[str], None]) -> Iterator[None]:
    """While it lasts, warnings are told rather than printed over the page."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: told(record.getMessage())
    ours = logging.getLogger("sociarium")
    before, ours.propagate = ours.propagate, False
    ours.addHandler(handler)
    try:
        yield
    finally:
        ours.removeHandler(handler)
        ours.propagate = before


async def _shown(match: Match, seat: int, screen: PlayScreen, fps: int) -> None:
    """Plays, and shows the steps in which the person is not asked one after another."""
    session = match.session
    if not match.ended:
        await screen.introduce(session.percept(seat))
    async for tick in match:
        if session.clock.waits and screen.asked_at < tick.step:
            screen.show(session.percept(seat), bool(match.hosts[seat].pursues))
            await asyncio.sleep(1 / fps)
        if screen.left:
            match.stop()
    if match.ended and not screen.left:
        await screen.conclude(session.percept(seat), match.ended)
