"""A batch of mixed line-ups as fingerprints, one for each lane.

Run as a program it prints them, so that a process with other devices can be asked for its own.
"""

import numpy as np

from sociarium.arena.batch import Batch
from sociarium.arena.seating import shuffled
from sociarium.core.episode import fingerprint
from sociarium.players import roster
from tests.toys.meadow import Meadow

KINDS = roster.parse("random idle")
SEATING = shuffled(np.array([[0, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]]), seed=3)


def meadow_batch() -> Batch:
    """Five lanes, which no even number of devices can share equally."""
    env = Meadow()
    return Batch(env, KINDS, SEATING, seed=3, params=env.params(horizon=9))


def fingerprints(batch: Batch) -> list[str]:
    """Everything each lane recorded, and what was added up for it."""
    sums = batch.sums(("smelled",))
    return [
        fingerprint((e.actions, e.raw, e.present, e.gauges, sums.raw[k], sums.done["smelled"][k]))
        for k, e in enumerate(batch.episodes())
    ]


if __name__ == "__main__":
    print(*fingerprints(meadow_batch()))
