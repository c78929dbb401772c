"""Steps of many episodes, played as one batch where they are due at the same time.

For a small world, calling a program costs much more than what it computes. Each episode comes out
as it would alone.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from sociarium.arena.runner import EpisodeRunner, Programs, RunnerState, Seen
from sociarium.arena.stepping import StepRecord
from sociarium.core.actions import STAY

Played = tuple[RunnerState, StepRecord, Seen]
FEWEST = 8  # matches for which a second program is worth compiling
WORTH = 4  # a batch is played from one part in so many of its size


@dataclass
class DueSteps:
    """The steps that are due in one program's episodes: their arguments, and who waits for them."""

    arguments: list[Any] = field(default_factory=list)
    waiting: list[asyncio.Future[Played]] = field(default_factory=list)


class JointSteps:
    """Plays steps of at most `size` episodes at once; where few are due, one by one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._due: dict[Programs, DueSteps] = {}

    def ready(self, runner: EpisodeRunner, now: RunnerState) -> None:
        """Compiles what the steps of this episode need, before anybody waits for it."""
        if self._joins(runner) and runner.programs not in self._due:
            self._due[runner.programs] = DueSteps()
            stay = runner.arguments(now, dict.fromkeys(runner.hosts, STAY), on_host=True)
            self._play(runner.programs, [stay])

    async def step(
        self, runner: EpisodeRunner, now: RunnerState, chosen: Mapping[int, int], others_move: bool
    ) -> Played:
        """As `EpisodeRunner.step`, together with others that are due now."""
        if not self._joins(runner):
            return runner.step(now, chosen, others_move)
        loop, due = asyncio.get_running_loop(), self._due.setdefault(runner.programs, DueSteps())
        if not due.waiting:
            loop.call_soon(self._flush, runner.programs)
        due.arguments.append(runner.arguments(now, chosen, others_move, on_host=True))
        due.waiting.append(loop.create_future())
        return await due.waiting[-1]

    def _joins(self, runner: EpisodeRunner) -> bool:
        """Whether it is worth while; weights would have to be copied for every episode."""
        return self.size >= FEWEST and not runner.programs.stepper.policies.have_weights

    def _flush(self, programs: Programs) -> None:
        due, self._due[programs] = self._due[programs], DueSteps()
        joint = len(due.waiting) * WORTH >= self.size
        size = self.size if joint else 1
        for first in range(0, len(due.waiting), size):
            waiting, arguments = (x[first : first + size] for x in (due.waiting, due.arguments))
            try:
                played = (
                    self._play(programs, arguments) if joint else [programs.played(*arguments[0])]
                )
            except Exception as error:
                for one in waiting:
                    if not one.cancelled():
                        one.set_exception(error)
                continue
            for one, result in zip(waiting, played, strict=True):
                if not one.cancelled():
                    one.set_result(result)

    def _play(self, programs: Programs, arguments: list[Any]) -> list[Played]:
        """The steps with these arguments as one batch, filled up with copies of the first."""
        rows = [*arguments, *arguments[:1] * (self.size - len(arguments))]
        played = programs.step_joint(*jax.tree.map(_stacked, *rows))
        leaves, tree = jax.tree.flatten(jax.device_get(played))
        return [
            jax.tree.unflatten(tree, [leaf[row] for leaf in leaves])
            for row in range(len(arguments))
        ]


def _stacked(*arrays: Any) -> np.ndarray:
    return np.array([np.asarray(array) for array in arrays])
