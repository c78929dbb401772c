"""Kills processes that save without pause, and looks at what they leave: a program of its own."""

import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from sociarium.learning import checkpoints

LIKE = {"step": np.int64(0), "weights": np.zeros(200_000, np.float32)}


def state(step: int) -> dict:
    """A tree whose every number follows from the step."""
    weights = np.random.default_rng(step).random(200_000, np.float32)
    return {"step": np.int64(step), "weights": weights}


def save_without_end(folder: Path, step: int) -> None:
    """Saves every step; now and then the same one again, as a resumed run may."""
    while True:
        checkpoints.save(folder, step, state(step), {"step": step}, keep=2)
        checkpoints.save(folder, step, state(step), keep=2)
        step += 1


def main(folder: Path, kills: int, seed: int) -> None:
    """Kills a saving child again and again; fails if the newest checkpoint is ever not whole."""
    warnings.simplefilter("ignore")
    moments, reached, sizes = random.Random(seed), -1, []
    for _ in range(kills):
        before = reached
        child = os.fork()
        if child == 0:
            save_without_end(folder, before + 1)
        while not (folder / f"{before + 1:012d}").exists():
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.04))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        sizes.append(len(list(folder.iterdir())))
        newest = checkpoints.latest(folder)
        assert newest is not None
        found = checkpoints.load(newest, LIKE)
        reached = int(found["step"])
        assert reached > before, (before, reached)
        assert (found["weights"] == state(reached)["weights"]).all()
    print(kills, reached, max(sizes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
