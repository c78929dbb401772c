"""Small runs for tests, and a program that trains one to be killed, or on several devices."""

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from sociarium.learning.training import Plan, Training, train_into

ROOT = Path(__file__).parents[2]
SMALL = {"lanes": 4, "num_steps": 16, "num_minibatches": 2, "epochs": 1}
REPLAYED = {
    "lanes": 4,
    "num_steps": 16,
    "buffer_size": 256,
    "batch_size": 8,
    "gradient_steps": 2,
    "learning_starts": 100,
}
EACH = 4 * 16  # environment steps of an update
LONG = 30  # updates of the run that is killed


def small(algorithm: str = "ippo", updates: int = 6, **changes: Any) -> Plan:
    """A run of a few updates with two seeds."""
    settings = {**(REPLAYED if algorithm == "rainbow" else SMALL), **changes.pop("settings", {})}
    plan = {"preference": "svo:90", "seeds": (0, 1), "steps": updates * EACH, **changes}
    return Plan(algorithm, "coins-v0", settings=settings, **plan)


def one_update(file: Path, devices: int) -> None:
    """Leaves what an update on so many devices makes of the weights, and what it reports."""
    plan = small(settings={"lanes": 8}, partners="script:cooperator script:defector random")
    training = Training(plan, devices=jax.devices()[:devices])
    assert training.learner_batch.mesh.size == devices
    learners, report = training.learner_batch.update(training.learners)
    leaves = jax.tree.leaves((learners.weights, learners.opt_state, report))
    np.savez(file, *map(np.asarray, leaves))


if __name__ == "__main__":
    rollout = Path(sys.argv[1])
    if len(sys.argv) == 2:
        train_into(small(updates=LONG), rollout, resume=rollout.exists(), checkpoint_every=0.0)
    for devices in map(int, sys.argv[2:]):
        one_update(rollout / f"{devices}.npz", devices)
