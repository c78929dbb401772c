"""Two runs of a suite beside each other, cell by cell: in pairs of seeds where these are known."""

import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from sociarium.core.errors import BadArgument, CannotRead
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack import read_pack, read_plan
from sociarium.evaluation.pack_file import REPORT
from sociarium.evaluation.suite import Suite
from sociarium.evaluation.suite_run import APART, PLAN, SuiteRun
from sociarium.evaluation.values import Value
from sociarium.metrics.bootstrap import RESAMPLES, Estimate, estimate
from sociarium.metrics.comparison import paired_difference

MOST_BYTES = 1 << 28  # of a report
_SEATING = ("rotate", "lineups")  # terms that say who sits where
Cell = tuple[str, str, str]  # an arm, a contestant, a metric
Counts = Float[np.ndarray, "seeds 2"]  # how often, of how many times


@dataclass(frozen=True)
class ReportSource:
    """One side of a comparison; a report by itself has neither a suite nor values by seed."""

    name: str
    id: str
    digest: str
    cells: Mapping[Cell, Estimate]
    suite: Suite | None = None
    values: Mapping[Cell, Mapping[int, Value]] = field(default_factory=dict)


@dataclass(frozen=True)
class CellComparison:
    """A cell on both sides, and the second less the first where seeds can be paired."""

    arm: str
    model: str
    metric: str
    first: Estimate
    second: Estimate
    difference: Estimate | None = None
    seeds: int = 0  # pairs

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "arm": self.arm,
            "model": self.model,
            "metric": self.metric,
            "first": _plain(self.first),
            "second": _plain(self.second),
            "difference": _plain(self.difference),
            "seeds": self.seeds,
        }


@dataclass(frozen=True)
class ReportComparison:
    """All cells that two sides share, and what one of them has alone."""

    first: str
    second: str
    cells: tuple[CellComparison, ...]
    only: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]  # arms, models, metrics; by side
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        only = {kind: {"first": a, "second": b} for kind, (a, b) in self.only.items()}
        cells = [cell.as_dict() for cell in self.cells]
        return {
            "first": self.first,
            "second": self.second,
            "cells": cells,
            "only": only,
            "notes": list(self.notes),
        }


def read_source(path: Path) -> ReportSource:
    """A side from a pack, the folder of a run, or a report.json."""
    if path.is_dir():
        if not (path / PLAN).exists():
            return _from_report(path / REPORT, str(path))
        plan = read_plan(path)
        run = SuiteRun(plan.suite, plan.models, path, plan.seeds)
        return _from_findings(Findings(plan.suite, run.units, run.done()), str(path))
    if zipfile.is_zipfile(path):
        return _from_findings(read_pack(path).findings(), str(path))
    return _from_report(path, str(path))


def _from_findings(found: Findings, name: str) -> ReportSource:
    cells = {(one.arm, one.model, one.metric): one.estimate for one in found.cells}
    values = {cell: found.values(*cell) for cell in cells}
    return ReportSource(name, found.suite.id, found.suite.digest, cells, found.suite, values)


def _from_report(file: Path, name: str) -> ReportSource:
    try:
        with file.open("rb") as opened:
            report = json.loads(opened.read(MOST_BYTES))
        cells = {
            (str(one["arm"]), str(one["model"]), str(one["metric"])): _estimate(one["estimate"])
            for one in report["cells"]
        }
        return ReportSource(name, str(report["suite"]), str(report["digest"]), cells)
    except OSError as error:
        raise CannotRead(f"Cannot read {file}: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CannotRead(f"{file} is no report, run or pack of a suite ({error!r})") from error


def _estimate(told: Mapping[str, Any]) -> Estimate:
    """An estimate as a report has it, in which null is no number."""
    mean, low, high = (
        math.nan if told[name] is None else float(told[name]) for name in ("mean", "low", "high")
    )
    return Estimate(mean, low, high)


def compare(one: ReportSource, other: ReportSource) -> ReportComparison:
    """The second less the first; what was not measured alike is refused."""
    notes = _comparable(one, other)
    shared = [cell for cell in one.cells if cell in other.cells]
    if not shared:
        raise BadArgument(f"{one.name} and {other.name} share no arm, contestant and metric")
    cells = tuple(_compared(one, other, cell) for cell in shared)
    unpaired = sum(cell.difference is None for cell in cells)
    if unpaired and not (one.values and other.values):
        notes.append("values by seed are not known from a report alone: give runs or packs")
    only = {}
    for place, kind in enumerate(("arms", "models", "metrics")):
        a, b = ({cell[place]: None for cell in side.cells} for side in (one, other))
        only[kind] = (tuple(x for x in a if x not in b), tuple(x for x in b if x not in a))
    return ReportComparison(one.name, other.name, cells, only, tuple(notes))


def _comparable(one: ReportSource, other: ReportSource) -> list[str]:
    """Refuses two suites unless what they share is equal; notes where they are two."""
    if one.digest == other.digest:
        return []
    differ = f"{one.name} is of the suite {one.id} ({one.digest}), {other.name} of {other.id} "
    differ += f"({other.digest})"
    if one.suite is None or other.suite is None:
        raise BadArgument(f"{differ}. A report alone does not say whether their arms are equal")
    arms = _played_alike(one.suite), _played_alike(other.suite)
    metrics = _measured_alike(one.suite), _measured_alike(other.suite)
    for kind, (first, second) in (("arms", arms), ("metrics", metrics)):
        shared = [id for id in first if id in second]
        if not shared:
            raise BadArgument(f"{differ}, and they share no {kind}")
        changed = [id for id in shared if first[id] != second[id]]
        if changed:
            raise BadArgument(f"{differ}, and {', '.join(changed)} is not the same in both")
    shared = ", ".join(id for id in arms[0] if id in arms[1])
    return [f"{differ}; the arms that they share are equal: {shared}"]


def _played_alike(suite: Suite) -> dict[str, Any]:
    """What changes the episodes of an arm, by arm."""
    return {
        arm.id: (
            arm.name,
            arm.seats,
            arm.terms.model_dump(mode="json", exclude={n for n in APART if n not in _SEATING}),
        )
        for arm in suite.arm
    }


def _measured_alike(suite: Suite) -> dict[str, Any]:
    return {one.id: (one.measure, one.of, one.trial) for one in suite.metric}


def _compared(one: ReportSource, other: ReportSource, cell: Cell) -> CellComparison:
    first, second = one.cells[cell], other.cells[cell]
    left, right = one.values.get(cell, {}), other.values.get(cell, {})
    seeds = [s for s in sorted(left.keys() & right.keys()) if _told(left[s]) and _told(right[s])]
    if not seeds:
        return CellComparison(*cell, first, second)
    a, b = (np.array([x[seed] for seed in seeds], np.float64) for x in (left, right))
    if a.ndim == 2:
        return CellComparison(*cell, first, second, difference_of_shares(b, a), len(seeds))
    return CellComparison(*cell, first, second, paired_difference(b, a), len(seeds))


def _told(value: Value) -> bool:
    """Whether there is a number, or anything that a share is of."""
    return value[1] > 0 if isinstance(value, tuple) else math.isfinite(value)


def difference_of_shares(one: Counts, other: Counts) -> Estimate:
    """One share less another, of sums over seeds that are resampled in pairs; one has no interval.

    Both have a row for each seed: how often, and of how many times, which are not 0.
    """
    shares = [side[:, 0].sum() / side[:, 1].sum() for side in (one, other)]
    if len(one) == 1:
        return Estimate(float(shares[0] - shares[1]), math.nan, math.nan)
    which = np.random.default_rng(0).integers(len(one), size=(RESAMPLES, len(one)))
    draws = [side[which, 0].sum(1) / side[which, 1].sum(1) for side in (one, other)]
    return estimate(shares[0] - shares[1], draws[0] - draws[1])


def _plain(one: Estimate | None) -> dict[str, Any] | None:
    if one is None:
        return None
    told = {"mean": one.mean, "low": one.low, "high": one.high}
    return {name: x if math.isfinite(x) else None for name, x in told.items()}
