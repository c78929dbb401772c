"""Units of a suite that are a series: trials in a row on one drawing of hidden numbers.

An arm is played so if it has several trials, if it reveals what is hidden, or if its world hides
anything: then what is hidden is drawn by the seed of the unit, the same in all arms.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sociarium.arena.match import run_apart
from sociarium.arena.match_folder import Terms, read_record
from sociarium.arena.replay import Replay
from sociarium.arena.screening import PlayedEpisode
from sociarium.arena.series import Series, SeriesTerms, resume_series, trial_folder
from sociarium.charters.revealing import reveal
from sociarium.core.environment import Environment
from sociarium.core.errors import CannotRead
from sociarium.core.facets import Hidden
from sociarium.core.manifest import MANIFEST, read_manifest
from sociarium.core.stopping import asked_to_stop
from sociarium.evaluation.suite import ArmTerms, SuiteArm, Trial
from sociarium.evaluation.values import Value
from sociarium.machine import keep_loaded
from sociarium.players.roster import Seat


def match_terms(told: ArmTerms) -> Terms:
    """The terms of every match of an arm; calls of models are recorded."""
    return Terms(
        clock=told.clock,
        ends=told.ends,
        steps=told.steps,
        deadline=told.deadline,
        knowledge=told.knowledge,
        privileged=told.privileged,
        calls="record",
    )


def is_series(told: ArmTerms, env: Environment[Any, Any]) -> bool:
    """Whether an arm in this world is played as a series."""
    return told.trials > 1 or told.reveal or env.has(Hidden)


def series_of(
    env: Environment[Any, Any], arm: SuiteArm, chairs: Sequence[Seat], seed: int, folder: Path
) -> Series | None:
    """The series of a unit: new, where it was left, or nothing if it is over."""
    told, params = arm.terms, env.params(**arm.terms.params)
    if (folder / MANIFEST).exists():
        if not _unfinished(told, folder):
            return None
        return resume_series(folder, trusted=True, env=env, params=params)
    return Series(
        env,
        " ".join(map(str, chairs)),
        SeriesTerms(told.trials, told.reveal, told.split, told.carry),
        seed=seed,
        terms=match_terms(told),
        out=folder,
        world=arm.name,
        params=params,
    )


def _unfinished(told: ArmTerms, folder: Path) -> list[Path]:
    """The folders of trials that are not over."""
    trials = [trial_folder(folder, trial) for trial in range(told.trials)]
    over = [(at / MANIFEST).exists() and read_manifest(at).get("finished") for at in trials]
    return [at for at, finished in zip(trials, over, strict=True) if not finished]


def play_all(series: Sequence[Series]) -> None:
    """Plays all of them at once; Ctrl-C stops each after its step."""

    def stop(number: int) -> None:
        for one in series:
            one.stop()

    async def play() -> None:
        async with asyncio.TaskGroup() as group:
            for one in series:
                group.create_task(one.play())

    keep_loaded()
    with asked_to_stop(stop):
        try:
            run_apart(play)
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors


def trial_episodes(env: Environment[Any, Any], told: ArmTerms, folder: Path) -> list[PlayedEpisode]:
    """What was played in every trial of a series."""
    if unfinished := _unfinished(told, folder):
        at = unfinished[0]
        paused = read_manifest(at).get("paused") if (at / MANIFEST).exists() else ""
        raise CannotRead(f"{at} is not over: {paused or 'it was stopped'}. Begin again to go on")
    seen = reveal(env) if told.reveal else env
    trials = [trial_folder(folder, trial) for trial in range(told.trials)]
    return [Replay(seen, read_record(at)).episode()[0] for at in trials]


def over_trials(values: Sequence[Value], trial: Trial) -> Value:
    """A metric of the trials that it is about; of shares, times are added up."""
    if trial in ("first", "last"):
        return values[0 if trial == "first" else -1]
    if any(isinstance(value, tuple) for value in values):
        done, times = np.sum(values, axis=0).tolist()
        return done, times
    numbers = np.array(values, np.float64)
    return float(numbers[-1] - numbers[0] if trial == "gain" else numbers.mean())
