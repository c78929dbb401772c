"""`sociarium replay FILE`."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from sociarium.arena.match_folder import EPISODE, read_record
from sociarium.arena.replay import Replay, world_of
from sociarium.arena.verification import describe
from sociarium.cli import watch
from sociarium.core import record
from sociarium.core.errors import BadArgument, CannotRead
from sociarium.core.facets import ground_plan
from sociarium.views import film, pixels
from sociarium.views.progress import progress

MOST_FILM = 1 << 31  # bytes of states and pictures


@dataclass(frozen=True)
class ReplayCommand:
    """Rebuild a recorded episode: verify it, watch it, or draw it with --out x.gif (or .mp4, .png).

    Files from others are safe to open: nobody who sat in them is called, and a world that is larger
    than usual is refused unless you say --trust.
    """

    file: tyro.conf.Positional[Path]  # an .episode file, or the folder of a match
    verify: bool = False  # play it again and compare: what pure players choose, and all hashes
    out: Path | None = None  # .gif or .mp4 for a film, .png for the last picture
    player: int | None = None  # look through this player's eyes
    size: int | None = None  # pixels a cell; what suits the map if not given
    every: int = 1  # show every so many steps
    fps: int = 8
    trust: bool = False  # however large the world is
    json: bool = False  # one JSON object

    def run(self) -> None:
        """Rebuilds, then verifies, draws or shows."""
        if self.out is not None:
            film.checked(self.out)
        file = self.file / EPISODE if self.file.is_dir() else self.file
        kept = read_record(self.file) if self.file.is_dir() else record.load(file)
        env = world_of(kept, file.parent, self.trust)
        watch.a_seat(env, self.player)
        replay = Replay(env, kept)
        if self.verify:
            self._verify(file, replay)
        if self.out is not None or not self.verify:
            self._fits(replay)
            with progress(f"{env.id}") as on_progress:
                episode, states = replay.episode(on_progress, self.every)
            look = {"player": self.player, "fps": self.fps, "every": self.every}
            if self.out is None:
                watch.show(episode, states, **look)
            else:
                console = Console(stderr=True)
                watch.write(self.out, episode, states, console, size=self.size, **look)

    def _fits(self, replay: Replay) -> None:
        size = pixels.fitting(ground_plan(replay.env).shape) if self.size is None else self.size
        if min(self.every, size, self.fps) < 1:
            raise BadArgument("--every, --size and --fps must be at least 1")
        weight = replay.weight(size if self.out is not None else 0, self.every)
        if weight > MOST_FILM and not self.trust:
            raise BadArgument(
                f"to show this episode takes about {weight >> 20} MiB of memory; show fewer steps "
                f"(--every {self.every * math.ceil(weight / MOST_FILM)}), smaller cells (--size), "
                "or say --trust"
            )

    def _verify(self, file: Path, replay: Replay) -> None:
        with progress(f"{file.name}: verifying") as on_progress:
            verdict = replay.verify(on_progress, self.trust)
        page = replay.kept.page
        seats = describe(verdict, page.seats)
        if self.json:
            row = {"env": page.env, "steps": verdict.steps, "marks": verdict.marks, "seats": seats}
            print(json.dumps({**row, "differs": verdict.differs, "verified": bool(verdict)}))
        if verdict.differs is not None:
            raise CannotRead(
                f"{file} comes out differently at step {verdict.differs}: {verdict.why}. It was "
                f"changed, or was recorded by a version that plays otherwise ({page.sociarium})"
            )
        if not self.json:
            said = f"{page.env}, {verdict.steps} steps, all {verdict.marks} hashes equal"
            print(f"{file}: verified ({said})")
            for row in seats:
                checked = ", then ".join(row["checked"])
                print(f"  seat {row['seat']}  {row['player']}: {checked}")
