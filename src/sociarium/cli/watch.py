"""`sociarium watch NAME`."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress import Progress

from sociarium.arena.rollout import rollout
from sociarium.arena.screening import PlayedEpisode, film_of, points, screening, shown
from sociarium.cli.checks import Steps, World, WorldCommand, at_least, seated
from sociarium.core.environment import Environment
from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument
from sociarium.views import film, terminal

STEPS = 200  # of a film


@dataclass(frozen=True)
class Watch(WorldCommand):
    """Watch players in a world: in the terminal, or as a film with --out x.gif (or .mp4, .png).

    Seats are strings such as `random`, `idle` or `script:cooperator*3 script:defector*4`.
    """

    world: World  # catalogue name, e.g. clean_up
    out: Path | None = None  # .gif or .mp4 for a film, .png for the last picture
    seats: str = ""  # who plays; empty for the world's own demonstration
    players: int | None = None  # how many, instead of the default
    steps: Steps = STEPS  # how long
    seed: int = 0
    player: int | None = None  # look through this player's eyes
    size: int | None = None  # pixels a cell; what suits the map if not given
    fps: int = 8

    def run(self) -> None:
        """Plays, then shows or writes."""
        at_least("steps", self.steps)
        at_least("size", 1 if self.size is None else self.size)
        at_least("fps", self.fps)
        if self.out is not None:
            film.checked(self.out)
        env, seats = seated(self.world, self.seats, self.players)
        a_seat(env, self.player)
        console = Console(stderr=True)
        with console.status(f"playing {self.steps} steps of {env.id} with {seats}"):
            episode = rollout(env, seats, seed=self.seed, steps=self.steps)
        if self.out is None:
            show(episode, episode.states, self.player, self.fps)
        else:
            look = {"player": self.player, "size": self.size, "fps": self.fps}
            write(self.out, episode, episode.states, console, **look)


def a_seat(env: Environment[Any, Any], player: int | None) -> None:
    """Refuses eyes that nobody has."""
    if player is not None and not 0 <= player < env.players:
        raise BadArgument(f"--player must be 0 to {env.players - 1}; given {player}")


def show(episode: PlayedEpisode, states: Any, player: int | None, fps: int, every: int = 1) -> None:
    """An episode in the terminal."""
    colour = Console().is_terminal
    with Live(auto_refresh=False, screen=colour) as live:
        for scene, raw, left, _ in screening(episode, states, shown(len(episode), every), player):
            page = terminal.text(scene, colour)
            page.append(f"\nstep {scene.clock} of {scene.horizon}   {points(raw, left)}")
            live.update(page, refresh=True)
            time.sleep(1 / fps if live.console.is_terminal else 0)
    print(f"\n{episode.env}: {len(episode)} steps, {final(episode)}")


def final(episode: Episode) -> str:
    """The points of all seats at the end."""
    return points(episode.raw_returns, episode.reward_returns)


def write(
    out: Path,
    episode: PlayedEpisode,
    states: Any,
    console: Console,
    *,
    every: int = 1,
    **look: Any,
) -> None:
    """Draws an episode: a film if `out` ends in .gif or .mp4, otherwise the last picture."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("drawing")
        moved = lambda done, total: progress.update(task, completed=done, total=total)  # noqa: E731
        last, steps = out.suffix == ".png", shown(len(episode), every)
        drawn = film_of(episode, states, steps, on_progress=moved, last=last, **look)
    drawn.save(out)
    pictures = len(drawn.frames)
    console.print(f"{out}: {pictures} pictures, {final(episode)}", soft_wrap=True, highlight=False)
