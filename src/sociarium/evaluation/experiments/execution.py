"""Plays a design: every condition, line-up and episode, and gives the table of payoffs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from sociarium.arena.batch import MOST_LANES, Batch, stacked
from sociarium.arena.seating import decides_outside, names_of, shuffled
from sociarium.cluster import OnShare, Play, RayWorkers, Workers, WorkPart, parse_workers
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.experiments.cells import (
    CellStore,
    PlayedCell,
    cell_key,
    player_content,
    world_content,
)
from sociarium.evaluation.experiments.design import Condition, Design
from sociarium.evaluation.experiments.matches import MATCHES, HostedEpisode, play_matches
from sociarium.evaluation.experiments.table import ConditionLabel, PayoffTable
from sociarium.language.models.cluster_limits import use_cluster_limits
from sociarium.language.models.runtime import use_models
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent, watched

AT_ONCE = 2048  # episodes of a stored experiment between two writes
HOSTED_AT_ONCE = 32  # the same where host players decide
RANDOM = Seat("random")


@dataclass(frozen=True)
class DesignProgram:
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

    @cached_property
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
    ) -> list[PlayedCell]:
        """Plays some of the episodes: pure players in one batch, host players in matches.

        Matches are kept in `folder`, if there is one.
        """
        hosts = [decides_outside(kind) for kind in self.design.kinds]
        hosted = [any(hosts[kind] for kind in self.seating[lane]) for _, lane in cells]
        found: dict[tuple[int, int], PlayedCell] = {}
        for is_hosted, play in ((False, self._play_batch), (True, self._play_matches)):
            some = [cell for cell, here in zip(cells, hosted, strict=True) if here is is_hosted]
            if some:
                found |= zip(some, play(some, on_progress, folder), strict=True)
        return [found[cell] for cell in cells]

    def _play_batch(
        self, cells: Sequence[tuple[int, int]], on_progress: OnProgress, folder: Path | None
    ) -> list[PlayedCell]:
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
            PlayedCell(
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
    ) -> list[PlayedCell]:
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


def programs(design: Design) -> list[DesignProgram]:
    """The design by environment; conditions of equal environments share a program."""
    places: dict[Environment[Any, Any], list[int]] = {}
    made: dict[Any, Environment[Any, Any]] = {}  # by world and charter: a grid names one often
    for place, condition in enumerate(design.conditions):
        name = condition.world, condition.charter
        env = made[name] = made.get(name) or condition.environment()
        if env.players != design.players:
            raise BadArgument(
                f"{env.id or env} has {env.players} players; given line-ups of {design.players}"
            )
        places.setdefault(env, []).append(place)
    return [DesignProgram(design, env, tuple(found)) for env, found in places.items()]


def play(
    design: Design,
    store: Path | None = None,
    *,
    jobs: int = 1,
    on: str | Workers = "local",
    models: Path | None = None,
    on_progress: OnProgress | None = None,
) -> PayoffTable:
    """Plays every episode of a design and gives its table of payoffs.

    >>> play(Design((Condition("coins"),), mixtures(cooperator, defector, 2), episodes=20))

    Args:
        design: conditions, line-ups, episodes.
        store: a folder that keeps every episode; those that are there are not played again. Without
            it nothing is written.
        jobs: processes of this machine that play episodes.
        on: "local", "ray" (on this machine), "ray:ADDRESS" of a cluster, or workers that are
            connected already. Ray starts processes, which is safe only before JAX has run.
        models: a file of language models for other processes; by default that of the folder.
        on_progress: called with the amount done and the whole; by default a progress bar.
    """
    connect = parse_workers(on, jobs) if isinstance(on, str) else None
    workers = on if isinstance(on, Workers) else connect and connect()
    parts = programs(design)
    kept = None if store is None else CellStore(store)
    if kept is None and max(len(part.cells) for part in parts) > MOST_LANES:
        raise BadArgument(
            f"{design.size:,} episodes are more than the {MOST_LANES:,} that are played at once; "
            "take fewer episodes, line-ups or values, or give a store"
        )
    names = " and ".join(dict.fromkeys(part.env.id or repr(part.env) for part in parts))
    with watched(on_progress, f"{names}, {design.size:,} episodes") as report:
        if kept is None and workers is None:
            found = [
                part.play(part.cells, _share(report, number, len(parts)))
                for number, part in enumerate(parts)
            ]
        else:
            found = _play_missing(design, parts, kept, workers, models, report)
    if connect and workers:
        workers.close()
    return _table(design, parts, found)


def _play_missing(
    design: Design,
    parts: Sequence[DesignProgram],
    store: CellStore | None,
    workers: Workers | None,
    models: Path | None,
    on_progress: OnProgress,
) -> list[list[PlayedCell]]:
    """Plays the cells that a store lacks, by workers if there are any, and gives all cells."""
    with store.writing() if store else nullcontext():
        known = dict(store.read()) if store else {}
        keys = [part.keys for part in parts]
        left = [
            (p, n) for p, own in enumerate(keys) for n in range(len(own)) if own[n] not in known
        ]
        done = design.size - len(left)
        on_progress(done, design.size)
        folder = store.folder if store else None
        for place, numbers, cells in _played(design, parts, left, workers, models, folder):
            found = {keys[place][n]: cell for n, cell in zip(numbers, cells, strict=True)}
            if store:
                store.add(found)
            known |= found
            done += len(numbers)
            on_progress(done, design.size)
    return [[known[key] for key in own] for own in keys]


Portion = tuple[int, list[int]]  # the place of a program, and numbers of its cells


def _played(
    design: Design,
    parts: Sequence[DesignProgram],
    left: Sequence[tuple[int, int]],
    workers: Workers | None,
    models: Path | None,
    folder: Path | None,
) -> Iterator[tuple[int, list[int], list[PlayedCell]]]:
    """Plays portions of these cells, in this process or by workers."""
    if workers is None or not left:
        for place, numbers in _portions(parts, left, 1):
            part = parts[place]
            yield place, numbers, part.play([part.cells[n] for n in numbers], folder=folder)
        return
    given = {"design": design.to_json(), "folder": folder and str(folder.resolve())}
    given |= {"models": models and str(models.resolve())}
    given |= {"cluster": isinstance(workers, RayWorkers)}
    work = [
        WorkPart(f"{place}-{numbers[0]}", json.dumps([place, numbers]))
        for place, numbers in _portions(parts, left, 2 * workers.at_once)
    ]
    for part, text in workers.play(_begin_worker, json.dumps(given), work):
        yield *json.loads(part.told), [PlayedCell(**row) for row in json.loads(text)]


def _portions(
    parts: Sequence[DesignProgram], left: Sequence[tuple[int, int]], count: int
) -> Iterator[Portion]:
    """Cells of one program at a time, in at least `count` portions if there are so many cells."""
    for place, part in enumerate(parts):
        own = [n for p, n in left if p == place]
        most = HOSTED_AT_ONCE if part.has_hosts else AT_ONCE
        size = max(1, min(most, -(-len(own) // count)))
        for first in range(0, len(own), size):
            yield place, own[first : first + size]


def _begin_worker(given: str) -> Play:
    """Plays portions of a design in another process."""
    asked = json.loads(given)
    parts = programs(Design.from_json(asked["design"]))
    folder, models = (asked[name] and Path(asked[name]) for name in ("folder", "models"))
    if asked["cluster"]:
        use_cluster_limits()

    def play(portion: str, on_share: OnShare) -> str:
        place, numbers = json.loads(portion)
        part = parts[place]
        with use_models(models) if models else nullcontext():
            cells = part.play([part.cells[n] for n in numbers], folder=folder)
        return json.dumps([asdict(cell) for cell in cells])

    return play


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
    design: Design, parts: Sequence[DesignProgram], found: Sequence[Sequence[PlayedCell]]
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
