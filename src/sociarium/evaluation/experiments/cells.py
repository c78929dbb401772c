"""The cells of an experiment: their keys, and a folder that keeps each of them once.

A cell is one episode of a line-up in a condition. Its key is a hash of what determines the result:
the version of the world, its parameters and charter, the players by content, the draws and the
steps. It contains no name of a class, an option or a file, and no version of the package.
"""

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from sociarium.arena.seating import Chair, name_of
from sociarium.core import disk
from sociarium.core.checked_lines import checked, unchecked
from sociarium.core.code import code_file, names_code
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead
from sociarium.core.params import without_parameters
from sociarium.networks.stored import NETWORK_VERSION
from sociarium.players import roster
from sociarium.players.minds.mind import mind_hash, mind_hashes
from sociarium.players.minds.mind_files import read_mind
from sociarium.players.minds.templates import find_goal, find_personality

log = logging.getLogger(__name__)
CELLS = "cells.jsonl"


@dataclass(frozen=True)
class PlayedCell:
    """What the players of one episode earned and did, by seat."""

    raw: Sequence[float]
    distributed: Sequence[float]
    reward: Sequence[float]
    length: int
    events: Mapping[str, Sequence[float]] = field(default_factory=dict)
    gauges: Mapping[str, float] = field(default_factory=dict)
    decisions: int = 0
    failures: int = 0


def world_content(env: Environment[Any, Any], params: Any) -> dict[str, Any]:
    """What determines an environment's episodes besides players and draws."""
    if not env.id:
        raise BadArgument(
            f"episodes of {env!r} cannot be stored, since it has no name; name the world, as in "
            "clean_up or my_world.py:MyWorld"
        )
    world, plus, charter = without_parameters(env.id, env.params()).partition("+")
    parts = [world, *(charter.split("+") if plus else [])]
    values = [np.asarray(leaf) for leaf in jax.tree.leaves(params)]
    return {
        "world": [_part_content(part) for part in parts],
        "players": env.players,
        "params": _digest(*(f"{x.dtype}{x.shape}".encode() + x.tobytes() for x in values)),
    }


def _part_content(part: str) -> str:
    """A world or an article by its name; files are replaced by a hash of their bytes."""
    name, mark, query = part.partition("?")
    path = code_file(name) if names_code(name) else name
    if Path(path).is_file():
        name = name.replace(path, _digest(Path(path).read_bytes()))
    return name + mark + query


def player_content(chair: Chair, env: Environment[Any, Any]) -> list[Any]:
    """What determines how a player decides: its kind and options, and its weights or its code."""
    if not isinstance(chair, roster.Seat):
        raise BadArgument(
            f"episodes of {name_of(chair)} cannot be stored, since it is an object; give a seat "
            "such as script:cooperator or policy:runs/coins"
        )
    options = [list(pair) for pair in chair.options]
    if chair.kind == "llm":
        return [chair.kind, chair.ref, options, prompt_content([chair])]
    if not roster.file_of(chair):
        return [chair.kind, chair.ref, options]
    if chair.outside:
        return [chair.kind, _digest(Path(roster.file_of(chair)).read_bytes()), options]
    return [chair.kind, _weights_digest(chair, env), options, NETWORK_VERSION]


def prompt_content(chairs: Sequence[roster.Seat]) -> dict[str, Any]:
    """What language models in these seats are asked with: prompts, minds, goals, personalities."""
    options = [dict(chair.options) for chair in chairs if chair.kind == "llm"]
    if not options:
        return {}
    minds = {one["mind"]: read_mind(one["mind"]) for one in options if "mind" in one}
    own = {name: mind_hash(table) for name, table in minds.items() if name.endswith(".toml")}

    def beside(one: Mapping[str, str]) -> Any:
        return minds[one["mind"]].beside if "mind" in one else {}

    goals = {find_goal(one["goal"], beside(one)).text for one in options if "goal" in one}
    characters = {
        repr(find_personality(one["personality"], beside(one)))
        for one in options
        if "personality" in one
    }
    found: dict[str, Any] = {"templates": packaged_templates(), "goals": sorted(goals)}
    found |= {"minds": own} if own else {}
    return found | ({"personalities": sorted(characters)} if characters else {})


@cache
def packaged_templates() -> dict[str, str]:
    """The hashes of the prompts of all minds of the package."""
    return mind_hashes()


@lru_cache(maxsize=256)
def _weights_digest(seat: roster.Seat, env: Environment[Any, Any]) -> str:
    leaves = jax.tree.leaves(roster.player(seat, env))
    return _digest(*(np.asarray(leaf).tobytes() for leaf in leaves))


def cell_key(
    world: Mapping[str, Any],
    players: Sequence[Any],
    origin: tuple[int, int],
    steps: int,
    counted: Sequence[str],
) -> str:
    """The key of an episode: world, players by seat, its draws, its steps and what is counted."""
    content = [world, players, list(origin), steps, sorted(counted)]
    return _digest(json.dumps(content, sort_keys=True).encode())[:20]


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


class CellStore:
    """Cells in a folder, one line each, by key.

    One process writes at a time. A line that a killed process left torn is dropped, and its cell is
    played again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / CELLS
        self._lock = disk.FolderLock(folder)

    def read(self) -> dict[str, PlayedCell]:
        """All whole cells."""
        return {key: cell for key, cell, _ in self._lines()}

    def _lines(self) -> Iterable[tuple[str, PlayedCell, bytes]]:
        try:
            lines = self.file.read_bytes().splitlines() if self.file.exists() else []
        except OSError as error:
            raise CannotRead(f"Cannot read {self.file}: {error.strerror or error}.") from error
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(unchecked(line))
                yield row.pop("key"), PlayedCell(**row), line + b"\n"
            except (ValueError, KeyError, TypeError):
                log.warning("%s: line %d is damaged; its cell is played again", self.file, number)

    @contextmanager
    def writing(self) -> Any:
        """Locks the folder and repairs the file; cells can be added until it is left."""
        self._lock.take()
        try:
            whole = b"".join(line for _, _, line in self._lines())
            if self.file.exists() and self.file.read_bytes() != whole:
                disk.replace(self.file, whole)
            yield self
        finally:
            self._lock.close()

    def add(self, cells: Mapping[str, PlayedCell]) -> None:
        """Appends these cells; they are on the disk when this returns."""
        lines = (checked(json.dumps({"key": key, **asdict(x)})) for key, x in cells.items())
        disk.append(self.file, b"".join(lines))
