"""How far long work is: a bar in a terminal or a notebook, with the time left."""

import html
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

OnProgress = Callable[[int, int], None]  # is told how much is done, and how much there is to do
OnWork = Callable[[float, int, str], None]  # the same, with words for it
OFTEN = 0.2  # seconds between two looks of a bar in a notebook
SECONDS = 10.0  # between two lines where there is no terminal


def silent(done: int, total: int) -> None:
    """Shows nothing."""


class WorkProgress:
    """A bar over work on many machines: what is done, and who is there."""

    def __init__(self, show: OnWork) -> None:
        self._show, self._done, self._total, self._shares = show, 0, 0, 0.0
        self._there = "waiting for workers"

    def units(self, done: int, total: int) -> None:
        """So many units are done."""
        self._done, self._total = done, total
        self._tell()

    def there(self, machines: int, workers: int, shares: float = 0.0) -> None:
        """So many are alive, and what they are at is done by these shares of units."""
        self._there, self._shares = f"machines {machines}, workers {workers}", shares
        self._tell()

    def _tell(self) -> None:
        words = f"{self._done:,} of {self._total:,} units, {self._there}"
        self._show(min(self._done + self._shares, float(self._total)), self._total, words)


@contextmanager
def progress(what: str, show: bool | None = None) -> Iterator[OnProgress]:
    """A bar that moves as it is told how much is done.

    Without `show` there is one in a terminal and in a notebook, and none where output is kept.
    """
    notebook = in_notebook()
    console = Console(stderr=True)
    if not (notebook or console.is_terminal if show is None else show):
        yield silent
    elif notebook:
        yield from _in_page(what)
    else:
        with _in_terminal(what, console) as bar:
            yield lambda done, total: bar(float(done), total, f"step {done} of {total}")


@contextmanager
def work_progress(what: str) -> Iterator[WorkProgress]:
    """A bar for work on many machines; plain lines where there is neither terminal nor notebook."""
    console = Console(stderr=True)
    if in_notebook():
        page = NotebookLine(f"{what}: waiting for workers")
        yield WorkProgress(lambda done, total, words: page.bar(what, int(done), total, words))
        page.close(what)
    elif console.is_terminal:
        with _in_terminal(what, console) as bar:
            yield WorkProgress(bar)
    else:
        yield WorkProgress(_lines(what))


@contextmanager
def watched(on_progress: OnProgress | None, what: str) -> Iterator[OnProgress]:
    """The callback that was given, or else a bar."""
    if on_progress is not None:
        yield on_progress
    else:
        with progress(what) as bar:
            yield bar


def in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


@contextmanager
def _in_terminal(what: str, console: Console) -> Iterator[OnWork]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[stage]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(what, total=None, stage="compiling")

        def show(done: float, total: int, words: str) -> None:
            bar.update(task, completed=done, total=total, stage=words)

        yield show


def _lines(what: str) -> OnWork:
    """Plain lines, not too many of them, each with the time left."""
    began, told = time.monotonic(), 0.0

    def show(done: float, total: int, words: str) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= SECONDS or done == total:
            told = now
            left = _clock((now - began) * (total - done) / done) if done else "?"
            print(f"{what}: {words}, left {left}", file=sys.stderr, flush=True)

    return show


def _in_page(what: str) -> Iterator[OnProgress]:
    """A bar as HTML, which needs no widgets and stays as a line of text when it is done."""
    page = NotebookLine(f"{what}: compiling")

    def on_progress(done: int, total: int) -> None:
        page.bar(what, done, total)

    yield on_progress
    page.close(what)


class NotebookLine:
    """One place in a notebook whose content is replaced."""

    def __init__(self, text: str) -> None:
        show: Any = importlib.import_module("IPython.display").display
        self._began = self._drawn = time.monotonic()
        self._handle: Any = show(_Html(html.escape(text)), display_id=True)

    def bar(self, what: str, done: int, total: int, more: str = "") -> None:
        """How much is done, the time left and some words."""
        now = time.monotonic()
        if now - self._drawn < OFTEN:
            return
        self._drawn = now
        spent = now - self._began
        left = _clock(spent * (total - done) / done) if done else "?"
        words = f"{what}: {done:,} of {total:,}, {_clock(spent)}, left {left}  {more}"
        meter = f'<progress value="{done}" max="{total}" style="width:20em"></progress> '
        self._handle.update(_Html(meter + html.escape(words)))

    def close(self, what: str) -> None:
        """What is left to read."""
        spent = _clock(time.monotonic() - self._began)
        self._handle.update(_Html(html.escape(f"{what}: done in {spent}")))


class _Html:
    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
