"""Suites in several processes, on this machine or on many: tables are played in parts.

The results are what one process would give. Only the first process writes lines of results; the
others write the folders of their own matches, which on a cluster all machines share.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from sociarium.cluster import OnShare, OnStanding, Play, RayWorkers, Workers, WorkPart
from sociarium.evaluation.suite_run import (
    AT_ONCE,
    Apart,
    RunPlan,
    SuiteRun,
    SuiteUnit,
    UnitResult,
    answered_at_once,
    by_episode,
)
from sociarium.language.models.cluster_limits import use_cluster_limits
from sociarium.language.models.config import find_models
from sociarium.language.models.runtime import ModelRuntime, use_runtime

MATCHES = 15  # that a process plays before its results are written down


class SuiteWorker:
    """Plays units of a suite by their keys, in a process that is not the first."""

    def __init__(self, plan: str, out: Path, models: Path | None) -> None:
        read = RunPlan.model_validate_json(plan)
        self.run = SuiteRun(read.suite, read.models, out, read.seeds)
        self.units = {unit.key: unit for unit in self.run.units}
        self.runtime = ModelRuntime(find_models(models))

    def play(self, keys: list[str], at_once: int | None = None) -> list[UnitResult]:
        """The results of units of one table; `at_once` as in `SuiteRun.play_table`."""
        with use_runtime(self.runtime):
            table = [self.units[key] for key in keys]
            return [one for some in self.run.play_table(table, at_once) for one in some]


def in_workers(
    run: SuiteRun,
    workers: Workers,
    models: Path | None,
    on_standing: OnStanding = lambda machines, workers, shares: None,
) -> Apart:
    """Plays tables by workers, with the language models of a file."""
    given = json.dumps(
        {
            "plan": run.plan.model_dump_json(),
            "out": str(run.out.resolve()),
            "models": models and str(models.resolve()),
            "cluster": isinstance(workers, RayWorkers),
        }
    )

    def played(tables: list[list[SuiteUnit]]) -> Iterator[list[UnitResult]]:
        parts = [part for table in tables for part in _parts(table, workers)]
        for _, lines in workers.play(_begin, given, parts, on_standing=on_standing):
            yield [UnitResult.read(line) for line in lines.splitlines()]

    return played


def _parts(table: list[SuiteUnit], workers: Workers) -> Iterator[WorkPart]:
    """Parts of a table; on a cluster language models are asked no more than they answer."""
    answered = answered_at_once(table)
    limited = answered < AT_ONCE[False] and isinstance(workers, RayWorkers)
    for units in _portions(table, isinstance(workers, RayWorkers)):
        asked = {
            "keys": [unit.key for unit in units],
            "at_once": max(1, answered // workers.at_once) if limited else None,
        }
        name = f"{units[0].arm.id}-{units[0].key}"
        yield WorkPart(name, json.dumps(asked), answered if limited else None)


def _portions(table: list[SuiteUnit], split: bool) -> Iterator[list[SuiteUnit]]:
    """The units of some episodes at a time; episodes stay whole.

    Pure players play all of a table at once, which is faster, unless it is `split`.
    """
    groups = by_episode(table)
    most = MATCHES if table[0].outside else AT_ONCE[False] if split else len(groups)
    for first in range(0, len(groups), most):
        yield [unit for group in groups[first : first + most] for unit in group]


def _begin(given: str) -> Play:
    asked = json.loads(given)
    models = asked["models"] and Path(asked["models"])
    worker = SuiteWorker(asked["plan"], Path(asked["out"]), models)
    if asked["cluster"]:
        use_cluster_limits()

    def play(part: str, on_share: OnShare) -> str:
        wanted = json.loads(part)
        results = worker.play(wanted["keys"], wanted["at_once"])
        return b"".join(result.line() for result in results).decode()

    return play
