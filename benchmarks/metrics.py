"""Metrics of 1,000 Clean Up episodes, from columns of events and from rows one by one.

    python benchmarks/metrics.py [EPISODES]

Ten episodes are played and copied, so that nothing a table has worked out serves another.
"""

import dataclasses
import sys
import time
from collections.abc import Callable

import numpy as np

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.core.episode import Episode
from sociarium.core.events import EventTable, Row
from sociarium.core.facets import Cooperation
from sociarium.metrics.cooperation import cooperation
from sociarium.metrics.safety import effective, fired, hits

SEATS = "script:cooperator*4 script:defector*3"


def by_rows(rows: tuple[Row, ...], players: int, spec: Cooperation) -> None:
    """The same metrics, with a look at every row."""
    for kinds in (spec.acts, spec.refusals):
        total = np.zeros(players)
        for row in rows:
            if row.kind in kinds and row.actor >= 0:
                total[row.actor] += row.value
    np.bincount([row.actor for row in rows if row.kind == "fired"], minlength=players)
    {(row.step, row.actor) for row in rows if row.kind == "zapped" and row.actor >= 0}
    matrix = np.zeros((players, players), int)
    for row in rows:
        if row.kind == "zapped" and row.actor >= 0:
            matrix[row.actor, row.target] += 1


def by_columns(episode: Episode, spec: Cooperation) -> None:
    """Acts per opportunity, attacks, attacks that hit, and who hit whom."""
    cooperation(episode, spec)
    fired(episode)
    effective(episode)
    hits(episode)


def timed(run: Callable[[], None]) -> float:
    """Seconds."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def main(episodes: int) -> None:
    """Plays, times and prints."""
    env = sociarium.make("clean_up")
    spec = env.facet(Cooperation)
    played = [rollout(env, SEATS, seed=seed)[0] for seed in range(10)]
    many = [played[number % 10] for number in range(episodes)]
    copies = [
        dataclasses.replace(one, events=EventTable(one.events.specs, *one.events.columns.values()))
        for one in many
    ]
    rows = [tuple(one.events) for one in played]
    told = [rows[number % 10] for number in range(episodes)]
    slow = timed(lambda: [by_rows(each, env.players, spec) for each in told] and None)
    fast = timed(lambda: [by_columns(each, spec) for each in copies] and None)
    each = sum(map(len, told)) / episodes
    print(f"{episodes} episodes of {each:.0f} events: rows {slow:.2f} s, columns {fast:.3f} s")
    print(f"{slow / fast:.0f} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
