"""`sociarium watch NAME`."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.live import Live
from rich.progress import Progress

from sociarium.arena.rollout import rollout
from sociarium.arena.screening import screening, shown
from sociarium.arena.seating import seated
from sociarium.core.errors import BadArgument
from sociarium.views import film, pixels, terminal

STEPS = 200  # of a film


@dataclass(frozen=True)
class Watch:
    """Watch players in a world: in the terminal, or as a film with --out x.gif (or .mp4, .png).

    Seats are strings such as `random`, `idle` or `script:cooperator*3 script:defector*4`.
    """

    world: tyro.conf.Positional[str]  # catalogue name, e.g. clean_up
    out: Path | None = None  # .gif or .mp4 for a film, .png for the last picture
    seats: str = ""  # who plays; empty for the world's own demonstration
    players: int | None = None  # how many, instead of the default
    steps: int = STEPS  # how long
    seed: int = 0
    player: int | None = None  # look through this player's eyes
    size: int = 20  # pixels a cell
    fps: int = 8

    def run(self) -> None:
        """Plays, then shows or writes."""
        if self.out is not None:
            check(self.out)
        env, seats = seated(self.world, self.seats, self.players)
        if self.player is not None and not 0 <= self.player < env.players:
            raise BadArgument(f"--player must be 0 to {env.players - 1}; given {self.player}")
        console = Console(stderr=True)
        with console.status(f"playing {self.steps} steps of {env.id} with {seats}"):
            episode, states = rollout(env, seats, seed=self.seed, steps=self.steps)
        if self.out is None:
            show(env, episode, states, self.player, self.fps)
        else:
            look = {"player": self.player, "size": self.size, "fps": self.fps}
            write(self.out, env, episode, states, console, **look)


def check(out: Path) -> None:
    """Refuses a file of a kind that cannot be drawn."""
    if out.suffix not in (".gif", ".mp4", ".png"):
        raise BadArgument(f"--out must end in .gif, .mp4 or .png; given {out}")


def show(env: Any, episode: Any, states: Any, player: int | None, fps: int, every: int = 1) -> None:
    """An episode in the terminal."""
    colour = Console().is_terminal
    with Live(auto_refresh=False, screen=colour) as live:
        for scene, scores, _ in screening(env, episode, states, player, every):
            page = terminal.text(scene, colour)
            page.append(f"\nstep {scene.clock} of {scene.horizon}   scores {_plain(scores)}")
            live.update(page, refresh=True)
            time.sleep(1 / fps if live.console.is_terminal else 0)
    print(f"\n{env.id}: {len(episode)} steps, scores {_plain(episode.raw_returns)}")


def write(
    out: Path,
    env: Any,
    episode: Any,
    states: Any,
    console: Console,
    *,
    player: int | None = None,
    size: int = 20,
    fps: int = 8,
    every: int = 1,
) -> None:
    """Draws an episode: a film if `out` ends in .gif or .mp4, otherwise the last picture."""
    with Progress(console=console, transient=True) as progress:
        pictures = len(shown(len(episode), every))
        task = progress.add_task("drawing", total=pictures)
        frames = []
        film_of = screening(env, episode, states, player, every)
        for number, (scene, scores, names) in enumerate(film_of, 1):
            if out.suffix != ".png" or number == pictures:
                frames.append(pixels.picture(scene, size=size, scores=scores, names=names))
            progress.advance(task)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".png":
        frames[-1].save(out)
    elif out.suffix == ".mp4":
        film.save_mp4(frames, out, fps=fps)
    else:
        film.save_gif(frames, out, fps=fps)
    console.print(f"{out}: {len(frames)} pictures, scores {_plain(episode.raw_returns)}")


def _plain(scores: np.ndarray) -> str:
    return " ".join(f"{score:g}" for score in scores)
