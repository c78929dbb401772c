"""Suites on many machines: tables in parts, as local processes play them.

Folders of matches are written where they are played, so all machines share the folder of the run.
Lines of results come back to the first process, which alone appends them.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from sociarium.cluster import OnShare, Play, RayWorkers, WorkPart
from sociarium.evaluation.suite_processes import SuiteWorker, parts_of
from sociarium.evaluation.suite_run import (
    AT_ONCE,
    SuiteRun,
    SuiteUnit,
    UnitResult,
    answered_at_once,
    by_episode,
)
from sociarium.language.models.cluster_limits import use_cluster_limits
from sociarium.views.progress import work_progress


def play_on_ray(run: SuiteRun, workers: RayWorkers, models: Path | None) -> dict[str, UnitResult]:
    """Plays what is left of a suite on a cluster, with the models of a file; all results."""
    given = json.dumps(
        {
            "plan": run.plan.model_dump_json(),
            "out": str(run.out.resolve()),
            "models": models and str(models.resolve()),
        }
    )
    with work_progress(run.suite.id) as bar:

        def played(tables: list[list[SuiteUnit]]) -> Iterator[list[UnitResult]]:
            parts = [part for table in tables for part in _parts(table, workers.at_once)]
            for _, lines in workers.play(_begin, given, parts, on_standing=bar.there):
                yield [UnitResult.read(line) for line in lines.splitlines()]

        done = run.play(bar.units, played)
    workers.close()
    return done


def _parts(table: list[SuiteUnit], workers: int) -> Iterator[WorkPart]:
    """Parts of a table; where language models are asked, no more of them than are answered."""
    answered = answered_at_once(table)
    limited = answered < AT_ONCE[False]
    for some in parts_of(table):
        for units in _chunks(some):
            told = {
                "keys": [unit.key for unit in units],
                "at_once": max(1, answered // workers) if limited else None,
            }
            name = f"{units[0].arm.id}-{units[0].key}"
            yield WorkPart(name, json.dumps(told), answered if limited else None)


def _chunks(units: list[SuiteUnit]) -> Iterator[list[SuiteUnit]]:
    """As many episodes as are played at once, with all units of each."""
    groups, most = by_episode(units), AT_ONCE[False]
    for first in range(0, len(groups), most):
        yield [unit for group in groups[first : first + most] for unit in group]


def _begin(given: str) -> Play:
    told = json.loads(given)
    models = told["models"] and Path(told["models"])
    worker = SuiteWorker(told["plan"], Path(told["out"]), models)
    use_cluster_limits()

    def play(part: str, on_share: OnShare) -> str:
        asked = json.loads(part)
        results = worker.play(asked["keys"], asked["at_once"])
        return b"".join(result.line() for result in results).decode()

    return play
