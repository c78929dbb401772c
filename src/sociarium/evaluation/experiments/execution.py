"""Plays a design: every condition, line-up and episode, and gives the table of payoffs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from sociarium.arena.batch import MOST_LANES, Batch, stacked
from sociarium.arena.seating import decides_outside, names_of, shuffled
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.experiments.cells import (
    Cell,
    CellStore,
    cell_key,
    player_content,
    world_content,
)
from sociarium.evaluation.experiments.design import Condition, Design
from sociarium.evaluation.experiments.matches import MATCHES, HostedEpisode, play_matches
from sociarium.evaluation.experiments.table import ConditionLabel, PayoffTable
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent, watched

AT_ONCE = 2048  # episodes of a stored experiment between two writes
HOSTED_AT_ONCE = 32  # the same where host players decide
RANDOM = Seat("random")


@dataclass(frozen=True)
class Program:
    """Episodes of a design that share one environment, and so one compiled program."""

    design: Design
    env: Environment[Any, Any]
    conditions: tuple[int, ...]  # their places in the design

    @cached_property
    def params(self) -> list[Any]:
        """The parameters of each condition."""
        return [_params(self.env, self.design.conditions[place]) for place in self.conditions]

    @cached_property
    def seating(self) -> Int[np.ndarray, "lanes players"]:
        """The kind of player in each seat, by lane; the same in all conditions."""
        rows = np.repeat(self.design.composition, self.design.episodes, axis=0)
        return shuffled(rows, self.design.seed) if self.design.seating == "random" else rows

    @property
    def has_hosts(self) -> bool:
        """Whether any player decides outside compiled code."""
        return any(map(decides_outside, self.design.kinds))

    @property
    def cells(self) -> list[tuple[int, int]]:
        """Place of the condition and lane of every episode."""
        lanes = range(len(self.seating))
        return [(place, lane) for place in range(len(self.conditions)) for lane in lanes]

    @cached_property
    def keys(self) -> list[str]:
        """The key of every episode."""
        design, kinds = self.design, self.design.kinds
        players = [player_content(kind, self.env) for kind in kinds]
        worlds = [world_content(self.env, params) for params in self.params]
        steps = [min(design.steps or horizon, horizon) for horizon in self._horizons]
        counted = (*design.events, *design.gauges)
        return [
            cell_key(
                worlds[place],
                [players[kind] for kind in self.seating[lane]],
                (design.seed, lane),
                steps[place],
                counted,
            )
            for place, lane in self.cells
        ]

    @property
    def _horizons(self) -> list[int]:
        return [int(self.env.horizon(params)) for params in self.params]

    def play(
        self,
        cells: Sequence[tuple[int, int]],
        on_progress: OnProgress = silent,
        folder: Path | None = None,
    ) -> list[Cell]:
        """Plays some of the episodes: pure players in one batch, host players in matches.

        Matches are kept in `folder`, if there is one.
        """
        hosts = [decides_outside(kind) for kind in self.design.kinds]
        hosted = [any(hosts[kind] for kind in self.seating[lane]) for _, lane in cells]
        found: dict[tuple[int, int], Cell] = {}
        for is_hosted, play in ((False, self._play_batch), (True, self._play_matches)):
            some = [cell for cell, here in zip(cells, hosted, strict=True) if here is is_hosted]
            if some:
                found |= zip(some, play(some, on_progress, folder), strict=True)
        return [found[cell] for cell in cells]

    def _play_batch(
        self, cells: Sequence[tuple[int, int]], on_progress: OnProgress, folder: Path | None
    ) -> list[Cell]:
        places, lanes = np.array(cells).T
        alike = all(_same(one, self.params[0]) for one in self.params)
        params = self.params[0] if alike else _by_lane(self.params, places)
        pure = [RANDOM if decides_outside(kind) else kind for kind in self.design.kinds]
        batch = Batch(
            self.env,
            pure,
            self.seating[lanes],
            origins=[(self.design.seed, int(lane)) for lane in lanes],
            params=params,
            own_params=not alike,
            steps=self.design.steps,
        )
        sums = batch.sums(self.design.events, on_progress, gauges=self.design.gauges)
        return [
            Cell(
                raw=sums.raw[row].tolist(),
                distributed=sums.distributed[row].tolist(),
                reward=sums.reward[row].tolist(),
                length=int(sums.length[row]),
                events={name: values[row].tolist() for name, values in sums.done.items()},
                gauges={name: float(values[row]) for name, values in sums.gauges.items()},
            )
            for row in range(len(cells))
        ]

    def _play_matches(
        self, cells: Sequence[tuple[int, int]], on_progress: OnProgress, folder: Path | None
    ) -> list[Cell]:
        design, kinds = self.design, self.design.kinds
        episodes = [
            HostedEpisode(
                self.env,
                self.params[place],
                tuple(kinds[kind] for kind in self.seating[lane]),
                design.seed,
                lane,
                design.steps,
                folder and folder / MATCHES / self.keys[place * len(self.seating) + lane],
            )
            for place, lane in cells
        ]
        return play_matches(episodes, design.events, design.gauges, on_progress)


def programs(design: Design) -> list[Program]:
    """The design by environment; conditions of equal environments share a program."""
    places: dict[Environment[Any, Any], list[int]] = {}
    for place, condition in enumerate(design.conditions):
        env = condition.environment()
        if env.players != design.players:
            raise BadArgument(
                f"{env.id or env} has {env.players} players; given line-ups of {design.players}"
            )
        places.setdefault(env, []).append(place)
    return [Program(design, env, tuple(found)) for env, found in places.items()]


def play(
    design: Design, store: Path | None = None, *, on_progress: OnProgress | None = None
) -> PayoffTable:
    """Plays every episode of a design and gives its table of payoffs.

    >>> play(Design((Condition("coins"),), mixtures(cooperator, defector, 2), episodes=20))

    Args:
        design: conditions, line-ups, episodes.
        store: a folder that keeps every episode; those that are there are not played again. Without
            it nothing is written.
        on_progress: called with the steps done and all steps; by default a progress bar.
    """
    parts = programs(design)
    kept = None if store is None else CellStore(store)
    if kept is None and max(len(part.cells) for part in parts) > MOST_LANES:
        raise BadArgument(
            f"{design.size:,} episodes are more than the {MOST_LANES:,} that are played at once; "
            "take fewer episodes, line-ups or values, or give a store"
        )
    names = " and ".join(dict.fromkeys(part.env.id or repr(part.env) for part in parts))
    with watched(on_progress, f"{names}, {design.size:,} episodes") as report:
        if kept is None:
            found = [
                part.play(part.cells, _share(report, number, len(parts)))
                for number, part in enumerate(parts)
            ]
        else:
            found = _play_stored(parts, kept, report)
    return _table(design, parts, found)


def _play_stored(
    parts: Sequence[Program], store: CellStore, on_progress: OnProgress
) -> list[list[Cell]]:
    """Plays what a store lacks, and gives all cells."""
    with store.writing():
        known = store.read()
        total = sum(len(part.cells) for part in parts)
        for part, cells in missing(parts, known):
            on_progress(len(known), total)
            played = part.play([part.cells[n] for n in cells], folder=store.folder)
            found = {part.keys[n]: cell for n, cell in zip(cells, played, strict=True)}
            store.add(found)
            known |= found
        on_progress(total, total)
    return [[known[key] for key in part.keys] for part in parts]


def missing(
    parts: Sequence[Program], known: Mapping[str, Cell]
) -> Iterator[tuple[Program, list[int]]]:
    """The cells that are not known, in portions that are played at once."""
    for part in parts:
        left = [n for n, key in enumerate(part.keys) if key not in known]
        at_once = HOSTED_AT_ONCE if part.has_hosts else AT_ONCE
        for first in range(0, len(left), at_once):
            yield part, left[first : first + at_once]


def _share(on_progress: OnProgress, number: int, count: int) -> OnProgress:
    """Reports the progress of one of several equal parts as progress of the whole."""
    return lambda done, steps: on_progress(number * steps + done, count * steps)


def _params(env: Environment[Any, Any], condition: Condition) -> Any:
    changes = condition.params
    return env.params(**changes) if isinstance(changes, Mapping) else changes


def _same(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs)


def _by_lane(params: Sequence[Any], places: Int[np.ndarray, " lanes"]) -> Any:
    """Parameters with a leading axis of lanes."""
    return jax.tree.map(lambda x: np.asarray(x)[places], stacked(params, 1))


def _table(
    design: Design, parts: Sequence[Program], found: Sequence[Sequence[Cell]]
) -> PayoffTable:
    """The table of these cells, conditions in the order of the design."""
    shape = (len(design.conditions), len(design.lineups), design.episodes)
    cells = np.empty(shape, object)
    labels: list[ConditionLabel] = [ConditionLabel("")] * len(design.conditions)
    for part, played in zip(parts, found, strict=True):
        own = np.empty((len(part.conditions), *shape[1:]), object)
        own.ravel()[:] = played
        cells[list(part.conditions)] = own
        for place in part.conditions:
            condition = design.conditions[place]
            world = part.env.id or repr(part.env)
            changes = condition.params if isinstance(condition.params, Mapping) else {}
            labels[place] = ConditionLabel(world, changes, condition.factors)

    def of_players(value: Any) -> np.ndarray:
        rows = [value(cell) for cell in cells.ravel()]
        return np.array(rows, np.float64).reshape(*shape, design.players)

    def of_episodes(value: Any, kind: type = np.int64) -> np.ndarray:
        return np.array([value(cell) for cell in cells.ravel()], kind).reshape(shape)

    return PayoffTable(
        conditions=tuple(labels),
        lineups=tuple(map(str, design.lineups)),
        kinds=names_of(design.kinds),
        kind=parts[0].seating.reshape(*shape[1:], design.players),
        raw=of_players(lambda cell: cell.raw),
        distributed=of_players(lambda cell: cell.distributed),
        reward=of_players(lambda cell: cell.reward),
        length=of_episodes(lambda cell: cell.length),
        events={n: of_players(lambda cell, n=n: cell.events[n]) for n in design.events},
        gauges={n: of_episodes(lambda cell, n=n: cell.gauges[n], float) for n in design.gauges},
        decisions=of_episodes(lambda cell: cell.decisions),
        failures=of_episodes(lambda cell: cell.failures),
    )
