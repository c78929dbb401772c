"""A population of partners of different skill: what runs of self-play left along the way.

As in fictitious co-play (Strouse et al., 2021) each seed stands in it three times: untrained, when
it had about half of what it gained by training, and trained.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sociarium.core.errors import BadArgument, CannotRead
from sociarium.core.manifest import read_manifest
from sociarium.learning.folder import read_metrics
from sociarium.players import roster
from sociarium.players.policy import snapshots_of, stored_seats
from sociarium.players.roster import Seat

WORD = "population:"


def parse_pool(text: str) -> tuple[Seat, ...]:
    """The players that a roster names, in which `population:RUN` stands for a whole population."""
    found: list[Seat] = []
    for word in text.split():
        if word.startswith(WORD):
            if set(word) & set("?*"):
                raise BadArgument(
                    f"a population is written {WORD}RUN, without ? and *; given {word}"
                )
            found += population(word.removeprefix(WORD))
        else:
            found += roster.parse(word)
    return tuple(found)


def population(folder: str | Path) -> Iterator[Seat]:
    """Three policies of each seed, and of each seat with its own, of a run that kept snapshots."""
    manifest, steps = read_manifest(folder), snapshots_of(folder)
    if not manifest["finished"]:
        raise CannotRead(f"{folder} is not finished: sociarium train --resume {folder}")
    if len(steps) < 2:
        raise CannotRead(
            f"{folder} has no snapshots of its policies on the way; train it with --snapshots 10"
        )
    figures = read_metrics(folder)
    if "return" not in figures:
        raise CannotRead(f"{folder} has no figures, so nobody knows its skill")
    returns = figures["return"].reshape(len(figures["step"]), -1)
    seats = range(stored_seats(folder)) or [None]
    for place, seed in enumerate(manifest["seeds"]):
        known = np.isfinite(returns[:, place])
        if not known.any():
            raise CannotRead(
                f"{folder} saw no episode end, so nobody knows its skill; train longer"
            )
        earned = np.interp(steps, figures["step"][known], returns[known, place])
        last = returns[known, place][-max(1, known.sum() // 10) :].mean()
        half = 1 + int(np.argmin(np.abs(earned[1:] - (earned[0] + last) / 2)))
        for seat, at in itertools.product(seats, (steps[0], steps[half], None)):
            options = {"seed": seed, "seat": seat, "at": at}
            named = tuple(
                (name, str(value)) for name, value in options.items() if value is not None
            )
            yield Seat("policy", str(folder), named)
