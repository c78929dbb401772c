"""A population of partners of different skill: what runs of self-play left along the way.

As in fictitious co-play (Strouse et al., 2021) each seed stands in it three times: untrained, when
it earned about half of what it did in the end, and trained.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sociarium.core.errors import CannotRead
from sociarium.learning.folder import read_metrics
from sociarium.players import roster
from sociarium.players.policy import snapshots_of, training_seeds
from sociarium.players.roster import Seat

WORD = "population:"


def parse_pool(text: str) -> tuple[Seat, ...]:
    """The players that a roster names, in which `population:RUN` stands for a whole population."""
    found: list[Seat] = []
    for word in text.split():
        if word.startswith(WORD):
            found += population(word.removeprefix(WORD))
        else:
            found += roster.parse(word)
    return tuple(found)


def population(folder: str | Path) -> Iterator[Seat]:
    """Three policies of each seed of a run that kept snapshots."""
    steps = snapshots_of(folder)
    if len(steps) < 2:
        raise CannotRead(
            f"{folder} has no snapshots of its policies on the way; train it with --snapshots 10"
        )
    seeds = training_seeds(folder)
    figures = read_metrics(folder)
    returns = figures["return"].reshape(len(figures["step"]), -1)
    for place, seed in enumerate(seeds):
        known = np.isfinite(returns[:, place])
        if not known.any():
            raise CannotRead(
                f"{folder} saw no episode end, so nobody knows its skill; train longer"
            )
        earned = np.interp(steps, figures["step"][known], returns[known, place])
        last = returns[known, place][-max(1, known.sum() // 10) :].mean()
        half = 1 + int(np.argmin(np.abs(earned[1:] - last / 2)))
        for at in (steps[0], steps[half], None):
            options = [("seed", str(seed)), *([] if at is None else [("at", str(at))])]
            yield Seat("policy", str(folder), tuple(options))
