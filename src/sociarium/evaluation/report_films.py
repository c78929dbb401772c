"""Films in a report: one episode of some arms, so that one sees what the numbers are about."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from sociarium.core.errors import BadArgument
from sociarium.evaluation.suite import Suite
from sociarium.evaluation.suite_run import SuiteRun
from sociarium.views.progress import OnProgress, silent

FILMS, SUFFIX = "films", ".gif"
MOST_FILMS, MOST_PICTURES = 12, 60
SIZE = 14  # pixels of a cell


def check_films(suite: Suite, arms: Sequence[str]) -> None:
    """Refuses films that cannot be drawn, before anything is played."""
    if len(set(arms)) > MOST_FILMS:
        raise BadArgument(f"a report has at most {MOST_FILMS} films; given {len(set(arms))}")
    for arm in arms:
        if suite.find_arm(arm).terms.probes:
            raise BadArgument(f"{arm} asks questions and plays no match, so it has no film")


def write_films(run: SuiteRun, arms: Sequence[str], on_progress: OnProgress = silent) -> None:
    """Draws the first episode of each of these arms into the run's folder."""
    folder = run.out / FILMS
    for number, arm in enumerate(arms):
        on_progress(number, len(arms))
        unit = next(unit for unit in run.units if unit.arm.id == arm)
        episode = run.episode(unit)
        every = math.ceil(len(episode) / MOST_PICTURES)
        episode.film(size=SIZE, every=every).save(folder / f"{arm}{SUFFIX}")


def read_films(folder: Path) -> dict[str, bytes]:
    """The films in a run's folder by arm."""
    files = sorted((folder / FILMS).glob(f"*{SUFFIX}"))
    return {file.name.removesuffix(SUFFIX): file.read_bytes() for file in files}


def films_in(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The films among the members of a pack by arm."""
    begins = f"{FILMS}/"
    return {
        name.removeprefix(begins).removesuffix(SUFFIX): data
        for name, data in sorted(members.items())
        if name.startswith(begins)
    }
