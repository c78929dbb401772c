"""What a run folder came to, in plain numbers, and the seats its players sit in."""

from pathlib import Path
from typing import Any

import numpy as np

from sociarium import catalogue
from sociarium.core.manifest import read_manifest
from sociarium.learning import checkpoints
from sociarium.learning.folder import CHECKPOINTS, read_end
from sociarium.learning.population import parse_pool
from sociarium.learning.training import Plan
from sociarium.players import roster
from sociarium.players.roster import Seat


def seats_of_run(plan: Plan, folder: Path) -> str:
    """The seats in which a run's players sit as they did when they learned."""
    players = catalogue.make(plan.world, players=plan.players).players
    others = seats_beside_learners(plan, players)
    learners = players - len(others)
    if not read_manifest(folder)["config"]["hyperparameters"]["shared"]:
        words = [f"policy:{folder}?seat={seat}" for seat in range(learners)]
    else:
        words = [f"policy:{folder}*{learners}" if others and learners > 1 else f"policy:{folder}"]
    beside = " ".join(map(str, others)) if plan.partners else plan.others
    return " ".join([*words, beside]).strip()


def seats_beside_learners(plan: Plan, players: int) -> tuple[Seat, ...]:
    """The frozen players of a plan; of those that were drawn, the last of the pool.

    The last of a population are trained, the first are not.
    """
    if pool := parse_pool(plan.partners):
        return tuple(pool[-1 - n % len(pool)] for n in range(players - plan.learners))
    return roster.parse(plan.others)


def run_summary(folder: Path) -> dict[str, Any]:
    """What a run came to, by seed, as plain numbers."""
    manifest, end = read_manifest(folder), read_end(folder)
    config = manifest["config"]
    return {
        "folder": str(folder),
        **{name: config[name] for name in ("algorithm", "world", "preference", "seeds")},
        "steps": latest_step(folder),
        "finished": manifest["finished"],
        **{name: _plain(end[name]) for name in ("return", "cooperation")},
    }


def latest_step(folder: Path) -> int:
    """The step of the newest checkpoint, 0 if there is none."""
    place = checkpoints.latest(folder / CHECKPOINTS)
    return checkpoints.about(place)["step"] if place else 0


def _plain(figures: np.ndarray) -> list[float | None]:
    return [round(float(x), 4) if np.isfinite(x) else None for x in figures]
