"""Episodes written by hand."""

import numpy as np

from sociarium.core.episode import Episode
from sociarium.core.events import EventTable, Row
from sociarium.core.specs import EventSpec

ROLES = {"fired": "attack", "zapped": "harm"}


def happened(step, kind, actor=-1, target=-1, value=1.0):
    return Row(step, kind, actor, target, -1, -1, value)


def in_columns(rows):
    """The table of these rows, in their order."""
    kinds = sorted({row.kind for row in rows})
    return EventTable.of_rows(rows, [EventSpec(k, "", role=ROLES.get(k, "")) for k in kinds])


def episode(raw, *, present=None, events=(), gauges=None, seats=None):
    """An episode that paid `raw[time][player]`."""
    raw = np.array(raw, np.float32)
    time, players = raw.shape
    return Episode(
        env="written-v0",
        players=players,
        seats=seats or ("random",) * players,
        seed=0,
        lane=0,
        number=0,
        params=None,
        actions=np.zeros((time, players), np.int32),
        reward=raw,
        raw=raw,
        distributed=raw,
        present=np.ones((time, players), bool) if present is None else np.array(present, bool),
        truncated=np.arange(time) == time - 1,
        terminated=np.zeros(time, bool),
        events=in_columns(events),
        gauges={} if gauges is None else gauges,
    )
