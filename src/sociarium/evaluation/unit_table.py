"""What was measured in the units of a suite as one table: a row for each unit and metric."""

import io
from collections.abc import Iterable
from typing import Any

from sociarium.core.errors import MissingExtra
from sociarium.evaluation.suite import Suite
from sociarium.evaluation.suite_run import UnitResult

TABLE = "units.parquet"
_COLUMNS = {
    "suite": str,
    "arm": str,
    "world": str,
    "charter": str,
    "model": str,
    "seed": int,
    "lineup": str,
    "focal": str,
    "metric": str,
    "value": float,
    "done": float,
    "times": float,
}


def unit_rows(suite: Suite, results: Iterable[UnitResult]) -> list[dict[str, Any]]:
    """The rows; the value of a share is `done` of `times`, and null where there were none.

    `lineup` and `focal` are the contestants of the episode and the seats of this one, by spaces.
    """
    arms = {arm.id: arm for arm in suite.arm}
    rows = []
    for one in results:
        arm = arms[one.arm]
        for metric, value in one.values.items():
            done, times = value if isinstance(value, tuple) else (None, None)
            share = done / times if done is not None and times else None
            rows.append(
                {
                    "suite": suite.id,
                    "arm": one.arm,
                    "world": arm.world,
                    "charter": arm.charter,
                    "model": one.model,
                    "seed": one.seed,
                    "lineup": " ".join(one.lineup),
                    "focal": " ".join(map(str, one.focal)),
                    "metric": metric,
                    "value": share if isinstance(value, tuple) else value,
                    "done": done,
                    "times": times,
                }
            )
    return rows


def unit_table(suite: Suite, results: Iterable[UnitResult]) -> bytes:
    """The table as a Parquet file; equal results give equal bytes."""
    try:
        import polars
    except ImportError:
        raise MissingExtra("polars", "export") from None
    kinds: dict[Any, Any] = {str: polars.String, int: polars.Int64, float: polars.Float64}
    rows = unit_rows(suite, results)
    columns = {name: [row[name] for row in rows] for name in _COLUMNS}
    table = polars.DataFrame(columns, {name: kinds[kind] for name, kind in _COLUMNS.items()})
    file = io.BytesIO()
    table.write_parquet(file, compression="zstd", row_group_size=1 << 18)
    return file.getvalue()
