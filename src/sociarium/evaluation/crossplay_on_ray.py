"""Everybody with everybody on many machines: a pair of players in all seats at a time.

What pairs earned is kept in a file, a line for each, known by all that can change it; so a command
that is killed and begun again plays the pairs that are left.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sociarium import catalogue
from sociarium.cluster import OnShare, Play, RayWorkers, WorkPart
from sociarium.core import disk
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.crossplay import Pairing, PartnerReturns
from sociarium.views.progress import work_progress

PAIRS = "pairs.jsonl"


def crossplay_on_ray(
    workers: RayWorkers,
    env: Environment[Any, Any],
    made: tuple[str, int | None],
    roster: Sequence[str],
    folder: Path,
    *,
    episodes: int,
    seed: int,
) -> PartnerReturns:
    """What `crossplay` gives; the catalogue makes the world by this name and number of players."""
    if len(roster) < 2:
        raise BadArgument(f"a roster has at least two players; given {len(roster)}")
    pairing = Pairing(env, roster, roster, episodes, seed)
    given = json.dumps([*made, list(roster), episodes, seed])
    each = env.players * episodes
    pairs = {_key(given, env.id, first): first for first in pairing.lanes[::each]}
    file, earned = folder / PAIRS, np.zeros(len(pairing.lanes), np.float32)
    found = _read(file)
    parts = [
        WorkPart(key, json.dumps([first, each])) for key, first in pairs.items() if key not in found
    ]
    folder.mkdir(parents=True, exist_ok=True)
    with work_progress(env.id) as bar:
        bar.units(len(pairs) - len(parts), len(pairs))
        for part, told in workers.play(_begin, given, parts, on_standing=bar.there):
            found[part.name] = json.loads(told)
            disk.append(file, json.dumps([part.name, found[part.name]]).encode() + b"\n")
            bar.units(sum(key in found for key in pairs), len(pairs))
    workers.close()
    for key, first in pairs.items():
        earned[first : first + each] = found[key]
    return pairing.table(earned)


def _key(given: str, world: str, first: int) -> str:
    return hashlib.sha256(json.dumps([given, world, first]).encode()).hexdigest()[:16]


def _read(file: Path) -> dict[str, list[float]]:
    """What pairs earned, by key; a line that was cut off while it was written is left out."""
    found: dict[str, list[float]] = {}
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            key, earned = json.loads(line)
        except ValueError:
            continue
        found[key] = earned
    return found


def _begin(given: str) -> Play:
    world, players, roster, episodes, seed = json.loads(given)
    env = catalogue.make(world, players=players)
    pairing = Pairing(env, roster, roster, episodes, seed)

    def play(part: str, on_share: OnShare) -> str:
        first, many = json.loads(part)
        earned = pairing.earned(
            range(first, first + many), lambda done, steps: on_share(done / steps)
        )
        return json.dumps(earned.tolist())

    return play
