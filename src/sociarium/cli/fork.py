"""`sociarium fork RUN`."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from sociarium.arena.match_folder import MatchFolder
from sociarium.cli.checks import Steps
from sociarium.cli.match import conclude, play, players
from sociarium.views.progress import progress


@dataclass(frozen=True)
class Fork:
    """Play a match again from one of its steps, with somebody else in some seats.

    Up to that step the two are the same; afterwards only what follows from the change differs,
    because chance falls as it did.
    """

    run_folder: tyro.conf.Positional[Path]  # the folder of a match
    at: int  # the step from which it goes another way
    out: Path  # folder of the new match
    seat: tuple[str, ...] = ()  # e.g. 2=script:defector
    steps: Steps | None = None  # at most, from the start; otherwise as long as the match it forks
    keep_memory: bool = False  # newcomers remember what those before them did, if of one kind
    trust: bool = False  # call agents again that the folder names
    json: bool = False  # one JSON object as the last line

    def run(self) -> None:
        """Retraces, changes seats, and plays on."""
        folder = MatchFolder(self.out)
        with progress(f"fork of {self.run_folder} at {self.at}") as on_progress:
            match = MatchFolder(self.run_folder).forked(
                folder,
                self.at,
                players(self.seat),
                self.steps,
                on_progress,
                self.trust,
                self.keep_memory,
            )
            play(match)
        conclude(match, folder, self.json)
