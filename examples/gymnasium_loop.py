"""One learner's seat among scripts, in many lanes: `python examples/gymnasium_loop.py`."""

import argparse
import time

import numpy as np

from sociarium.adapters.gymnasium import FocalVector
from sociarium.arena.observers import OneHot


def main(world: str, seats: str, lanes: int, steps: int) -> tuple[float, float]:
    """Plays at random among the given seats; returns points a step and env steps a second."""
    envs = FocalVector(world, lanes, seats=seats, observe=OneHot)
    envs.reset(seed=0)
    draw = np.random.default_rng(0)
    _, _, _, _, infos = envs.step(np.zeros(lanes, int))
    total, began = 0.0, time.perf_counter()
    for _ in range(steps):
        wish = draw.random(infos["action_mask"].shape) * infos["action_mask"]
        _, reward, _, _, infos = envs.step(wish.argmax(axis=1))
        total += float(reward.sum())
    return total / (steps * lanes), steps * lanes / (time.perf_counter() - began)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world", default="clean_up-v0")
    parser.add_argument("--seats", default="script:cooperator*3 script:defector*3")
    parser.add_argument("--lanes", type=int, default=128)
    parser.add_argument("--steps", type=int, default=1000)
    points, rate = main(**vars(parser.parse_args()))
    print(f"{points:.4f} points a step, {rate:,.0f} env steps a second")
