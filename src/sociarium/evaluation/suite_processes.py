"""Processes that play the tables of a suite: much of the work is done by Python, on one core.

The results are what one process would give. Only the first process writes results down; the others
write the folders of their own matches, and die with it.
"""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from sociarium.evaluation.suite_run import (
    Apart,
    RunPlan,
    SuiteRun,
    SuiteUnit,
    UnitResult,
    by_episode,
)
from sociarium.language.models.config import find_models
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.machine import configure, die_with

MATCHES = 15  # that a process plays before its results are written down
_worker: list["SuiteWorker"] = []


class SuiteWorker:
    """Plays units of a suite by their keys, in a process that is not the first."""

    def __init__(self, plan: str, out: Path, models: Path | None) -> None:
        told = RunPlan.model_validate_json(plan)
        self.run = SuiteRun(told.suite, told.models, out, told.seeds)
        self.units = {unit.key: unit for unit in self.run.units}
        self.runtime = ModelRuntime(find_models(models))

    def play(self, keys: list[str], at_once: int | None = None) -> list[UnitResult]:
        """What comes of units of one table; `at_once` as in `SuiteRun.play_table`."""
        with use_runtime(self.runtime):
            table = [self.units[key] for key in keys]
            return [one for some in self.run.play_table(table, at_once) for one in some]


def in_processes(run: SuiteRun, jobs: int, models: Path | None) -> Apart:
    """What plays tables in so many processes, with the models of a file."""

    def played(tables: list[list[SuiteUnit]]) -> Iterator[list[UnitResult]]:
        context = multiprocessing.get_context("spawn")
        arguments = (run.plan.model_dump_json(), run.out, models, os.getpid())
        keys = [[unit.key for unit in part] for table in tables for part in parts_of(table)]
        with context.Pool(min(jobs, max(len(keys), 1)), _begin, arguments) as pool:
            yield from pool.imap_unordered(_play, keys)

    return played


def parts_of(table: list[SuiteUnit]) -> list[list[SuiteUnit]]:
    """A table whose matches are split, so that processes share them; episodes stay whole.

    Pure players play all of a table at once, which is faster.
    """
    if not table[0].outside:
        return [table]
    groups = by_episode(table)
    parts = [groups[first : first + MATCHES] for first in range(0, len(groups), MATCHES)]
    return [[unit for group in part for unit in group] for part in parts]


def _begin(plan: str, out: Path, models: Path | None, parent: int) -> None:
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process stops the others
    configure(devices=1)
    _worker.append(SuiteWorker(plan, out, models))


def _play(keys: list[str]) -> list[UnitResult]:
    return _worker[0].play(keys)
