"""`sociarium trace RUN`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console

from sociarium.arena.match_folder import read_record
from sociarium.arena.replay import Replay, world_of
from sociarium.arena.run_trace import RunTrace, read_trace
from sociarium.arena.screening import heading
from sociarium.arena.trace_story import draw_map, tell_page
from sociarium.cli.checks import at_least
from sociarium.core import disk
from sociarium.core.errors import BadArgument
from sociarium.core.manifest import read_manifest
from sociarium.views.progress import progress

MOST_PAGE = 15_000_000  # bytes


@dataclass(frozen=True)
class TraceCommand:
    """Why language models did what they did: one page with the map and every decision beside it.

    For each decision it shows what was perceived, remembered and heard, the menu with the choice,
    the thought, the answer, what became of it, and what it cost. The page is one file that loads
    nothing. Folders from others are safe to open.
    """

    run_folder: tyro.conf.Positional[Path]  # the folder of a match that models played in
    out: Path = Path("trace.html")  # the page
    first: int = 0  # only from this step on
    last: int | None = None  # only up to this step
    pictures: bool = True  # draw the map, for which the match is played again
    trust: bool = False  # however large the world is

    def run(self) -> None:
        """Reads the folder, draws the map, and writes the page."""
        at_least("first", self.first, 0)
        if self.last is not None:
            at_least("last", self.last, self.first)
        if self.out.suffix not in (".html", ".htm"):
            raise BadArgument(f"a page is written as .html; given {self.out}")
        trace = read_trace(self.run_folder)
        manifest = read_manifest(self.run_folder)
        told = {"first": self.first, "last": self.last, "facts": facts_of(manifest)}
        told |= self._played(trace) if self.pictures else {"title": _world(manifest)}
        page = tell_page(trace, **told)
        data = page.html().encode()
        if len(data) > MOST_PAGE:
            raise BadArgument(
                f"the page would have {len(data) >> 20} MiB; choose steps with --first and --last"
            )
        disk.replace(self.out, data)
        console = Console(stderr=True)
        said = f"{len(page.decisions)} decisions, {len(page.frames)} pictures, {len(data):,} bytes"
        console.print(f"{self.out}: {said}", soft_wrap=True, highlight=False)

    def _played(self, trace: RunTrace) -> dict[str, Any]:
        """What is known from the record: who sat where, what was done, and the map."""
        kept = read_record(self.run_folder)
        env = world_of(kept, self.run_folder, self.trust)
        last = len(kept) if self.last is None else min(self.last, len(kept))
        decided = [one.step for one in trace.decisions]
        with progress(f"{env.id}: drawing") as on_progress:
            drawn = draw_map(Replay(env, kept), min(self.first, last), last, decided, on_progress)
        actions = [action.name for action in env.actions]
        return {"title": heading(env), "kept": kept, "actions": actions, "drawn": drawn}


def facts_of(manifest: dict[str, Any]) -> list[str]:
    """What a manifest says about a match, in a few words each."""
    config = manifest.get("config")
    config = config if isinstance(config, dict) else {}
    found = [f"seed {config['seed']}"] if isinstance(config.get("seed"), int) else []
    if isinstance(steps := manifest.get("steps"), int):
        found.append("1 step" if steps == 1 else f"{steps} steps")
    for name, words in (("ended", "ended: {}"), ("paused", "paused: {}")):
        if isinstance(why := manifest.get(name), str) and why:
            found.append(words.format(why[:200]))
    if not manifest.get("finished") and not manifest.get("paused"):
        found.append("not over")
    return found


def _world(manifest: dict[str, Any]) -> str:
    config = manifest.get("config")
    return str(config.get("world", "") if isinstance(config, dict) else "")[:200] or "a match"
