"""Trainings on many machines: each in its run folder, bit for bit as this machine would train it.

All machines share the folders. A training that is lost goes on elsewhere from its last checkpoint.
"""

import dataclasses
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import jax

from sociarium.cluster import OnShare, Play, RayWorkers, WorkPart
from sociarium.learning.studies import state_of
from sociarium.learning.training import Plan, read_plan, train_into
from sociarium.views.progress import work_progress


def train_on_ray(
    workers: RayWorkers,
    plans: Mapping[Path, Plan],
    what: str,
    *,
    seconds: float | None = None,
    tensorboard: bool | None = None,
) -> Iterator[Path]:
    """Trains into all these folders, and names each that is finished or whose time is over.

    With `seconds`, no training begins later, and those that run then stop with a checkpoint.
    """
    until = None if seconds is None else time.time() + seconds
    given = json.dumps({"until": until, "tensorboard": tensorboard})
    parts = [
        WorkPart(str(folder), json.dumps([str(folder.resolve()), dataclasses.asdict(plan)]))
        for folder, plan in plans.items()
    ]
    with work_progress(what) as bar:
        bar.units(0, len(parts))
        # As many processors as devices here, whose number decides the last bits of what is learned.
        played = workers.play(
            _begin, given, parts, processors=jax.local_device_count(), on_standing=bar.there
        )
        done = 0
        for part, state in played:
            done += state == "finished"
            bar.units(done, len(parts))
            yield Path(part.name)


def _begin(given: str) -> Play:
    asked = json.loads(given)

    def play(part: str, on_share: OnShare) -> str:
        name, config = json.loads(part)
        folder, seconds = Path(name), float("inf")
        if asked["until"] is not None:
            seconds = asked["until"] - time.time()
        if state_of(folder) != "finished" and seconds > 0:
            train_into(
                read_plan(config),
                folder,
                resume=state_of(folder) == "unfinished",
                seconds=seconds,
                tensorboard=asked["tensorboard"],
                on_progress=lambda now: on_share(min(1.0, now.step / now.steps)),
            )
        return state_of(folder)

    return play
