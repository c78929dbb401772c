"""How a training stands, on standard error or in a notebook, with the time left."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from sociarium.learning.training import TrainingProgress
from sociarium.views.progress import SECONDS, NotebookLine, in_notebook

REMEMBERED = 600.0  # seconds from which the time left is told


@contextmanager
def training_progress(
    what: str, show: bool | None = True
) -> Iterator[Callable[[TrainingProgress], None]]:
    """How a training stands: a bar over a line of figures, or plain lines without a terminal.

    With `show` None it is told in terminals and notebooks only, with False nowhere.
    """
    console = Console(stderr=True)
    if in_notebook() and show is not False:
        page = NotebookLine(f"{what}: compiling")
        yield lambda now: page.bar(what, min(now.step, now.steps), now.steps, standing(now))
        page.close(what)
    elif console.is_terminal and show is not False:
        with _bar(what, console) as on_progress:
            yield on_progress
    elif show:
        yield _lines(what)
    else:
        yield lambda now: None


def standing(now: TrainingProgress) -> str:
    """The figures of a training in one line."""
    parts = [_returns(now.figures["return"])]
    parts += [f"{now.steps_per_s:,.0f} steps/s"] if now.steps_per_s else []
    for name in ("cooperation", "entropy"):
        known = _known(now.figures.get(name, ()))
        parts += [f"{name} {known.mean():.2f}"] if len(known) else []
    return "  ".join(parts)


@contextmanager
def _bar(what: str, console: Console) -> Iterator[Callable[[TrainingProgress], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console, speed_estimate_period=REMEMBERED)
    task, line = bar.add_task(what, total=None), Text("compiling", "dim", no_wrap=True)

    def on_progress(now: TrainingProgress) -> None:
        bar.update(task, completed=min(now.step, now.steps), total=now.steps)
        line.plain = f"step {now.step:,}  {standing(now)}"

    with Live(Group(bar, line), console=console):
        yield on_progress


def _lines(what: str) -> Callable[[TrainingProgress], None]:
    told = time.monotonic()
    print(f"{what}: compiling", file=sys.stderr, flush=True)

    def on_progress(now: TrainingProgress) -> None:
        nonlocal told
        over = now.step >= now.steps
        if over or time.monotonic() - told > SECONDS:
            told = time.monotonic()
            share = min(1.0, now.step / now.steps)
            rest = "" if over or not now.steps_per_s else f"  {_left(now)} left"
            print(f"{what}: {share:.0%}  {standing(now)}{rest}", file=sys.stderr, flush=True)

    return on_progress


def _left(now: TrainingProgress) -> timedelta:
    seeds = len(now.figures["return"])
    return timedelta(seconds=round((now.steps - now.step) * seeds / now.steps_per_s))


def _returns(returns: np.ndarray) -> str:
    """The mean over seeds and their range."""
    known = _known(returns)
    if not len(known):
        return "return not yet known"
    spread = f" ({known.min():.1f} to {known.max():.1f})" if len(known) > 1 else ""
    return f"return {known.mean():.1f}{spread}"


def _known(figures: object) -> np.ndarray:
    array = np.asarray(figures, float)
    return array[np.isfinite(array)]
