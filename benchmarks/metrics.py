"""Metrics of 1,000 Clean Up episodes, from columns of events and from rows one by one.

    python benchmarks/metrics.py [EPISODES]

Ten episodes are played and their arrays copied, so that nothing a table has worked out serves
another. Two figures: from what a program recorded to the metrics, and from rows or columns that are
there already. Rows are made and read as they were before events were columns.
"""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.arena.rollout import happened, length_of, recorded
from sociarium.arena.seating import chairs_for, lineup
from sociarium.arena.stepping import Stepper, StepRecord
from sociarium.core.episode import Episode
from sociarium.core.events import Event, Row
from sociarium.core.facets import Board, Cooperation
from sociarium.core.random import step_key
from sociarium.metrics.cooperation import cooperation
from sociarium.metrics.safety import effective, fired, hits

SEATS = "script:cooperator*4 script:defector*3"
PLAYED = 10


def plays(env: Any) -> list[StepRecord]:
    """The records of some episodes, as programs leave them."""
    policies, seating = lineup(env, chairs_for(env, SEATS)).seated()
    stepper, params = Stepper(env, policies), env.params()

    @jax.jit
    def play(key: Any) -> StepRecord:
        def step(moment: Any, clock: Any) -> Any:
            return stepper.step(step_key(key, 0, clock), moment, seating, params)

        first = stepper.begin(jax.random.fold_in(key, 0), seating, params)
        return jax.lax.scan(step, first, jnp.arange(int(env.horizon(params))))[1]

    return [jax.device_get(play(sociarium.key(seed))) for seed in range(PLAYED)]


def rows_of(env: Any, events: Mapping[str, Event]) -> list[Row]:
    """A row for each thing that happened, made one by one."""
    found: list[Row] = []
    cols = env.facet(Board).shape[1]
    for spec in env.event_specs:
        kind = events[spec.name]
        for time_, entry in zip(*np.nonzero(kind.mask), strict=True):
            at = (time_, entry)
            other, cell = int(kind.other[at]), int(kind.cell[at])
            actor = {"actor": int(entry), "target": other, "place": -1}[spec.axis]
            target = {"actor": other, "target": int(entry), "place": -1}[spec.axis]
            row, col = divmod(cell, cols) if cell >= 0 else (-1, -1)
            value = float(kind.value[at])
            found.append(Row(int(time_), spec.name, actor, target, row, col, value))
    return sorted(found, key=lambda row: row.step)


def by_rows(rows: list[Row], players: int, spec: Cooperation) -> None:
    """Acts per opportunity, attacks, attacks that hit, and who hit whom: a look at every row."""
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
    """The same from columns."""
    cooperation(episode, spec)
    fired(episode)
    effective(episode)
    hits(episode)


def timed(run: Callable[[Any], Any], many: list[Any]) -> tuple[list[Any], float]:
    """What it gives for each, and the seconds it took for all."""
    began = time.perf_counter()
    given = [run(one) for one in many]
    return given, time.perf_counter() - began


def main(episodes: int) -> None:
    """Plays, times and prints."""
    env = sociarium.make("clean_up")
    spec, params, seats = env.facet(Cooperation), env.params(), ("",) * env.players
    records = plays(env)
    assert all(length_of(record.transition) == len(record.actions) for record in records)
    many = [records[number % PLAYED] for number in range(episodes)]

    def episode(record: StepRecord) -> Episode:
        return recorded(env, seats, (0, 0, 0), params, record, happened(env, record))

    told, making = timed(lambda record: rows_of(env, record.transition.events), many)
    _, reading = timed(lambda rows: by_rows(rows, env.players, spec), told)
    tables, tabling = timed(episode, many)
    _, measuring = timed(lambda one: by_columns(one, spec), tables)
    each = sum(map(len, told)) / episodes
    print(f"{episodes} episodes of {each:.0f} events")
    print(f"rows: made in {making:.2f} s, read in {reading:.2f} s")
    print(f"columns: made in {tabling:.2f} s, read in {measuring:.3f} s")
    whole = (making + reading) / (tabling + measuring)
    print(f"{whole:.0f} times as fast in all, {reading / measuring:.0f} times as fast to read")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
