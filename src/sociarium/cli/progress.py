"""The progress bar of long commands, on standard error and with the time left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from sociarium.arena.batch import Tell


@contextmanager
def progress(what: str) -> Iterator[Tell]:
    """A bar that moves as it is told the steps played of the steps to play."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[stage]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None, stage="compiling")

        def tell(played: int, steps: int) -> None:
            bar.update(task, completed=played, total=steps, stage=f"step {played} of {steps}")

        yield tell
