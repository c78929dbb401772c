"""`sociarium laws WORLD --grid GRID`."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import sociarium
from sociarium.cli.checks import World, WorldCommand, at_least
from sociarium.evaluation import law_maps, plots
from sociarium.evaluation.law_maps import MEASURES, LawMap
from sociarium.metrics.bootstrap import Estimate
from sociarium.views.progress import progress

SHOWN = 3  # laws of each sort


@dataclass(frozen=True)
class Laws(WorldCommand):
    """Map a thousand laws: how a population lives under every combination of some numbers.

    A number is named after its article, as law.fine or sanction.ratio, and goes from LOW to HIGH in
    COUNT values; one or two of them. A dilemma without a charter gets a law of its own. Seats take
    trained policies too (policy:RUN).
    """

    world: World  # catalogue name, e.g. clean_up, or clean_up+law?zapped=2+sanction
    grid: str = law_maps.EXAMPLE  # NAME=LOW:HIGH:COUNT, one or two with a comma between them
    seats: str = ""  # the population; empty for opportunists of all sorts, and two punishers
    episodes: int = 4  # for each law
    seed: int = 0
    players: int | None = None  # how many, instead of the default
    out: Path | None = None  # draw the maps to x.svg or x.png, and write x.json beside it
    json: bool = False  # one JSON object instead of a table

    def run(self) -> None:
        """Plays, prints and draws."""
        at_least("episodes", self.episodes)
        if self.out is not None:
            plots.checked(self.out)
        grid = law_maps.read_grid(self.grid)
        env = sociarium.make(law_maps.society_for(self.world, grid), players=self.players)
        began = time.perf_counter()
        laws = int(np.prod([len(values) for values in grid.values()]))
        with progress(f"{env.id}, {laws:,} laws") as on_progress:
            found = law_maps.map_laws(
                env,
                grid,
                self.seats,
                episodes=self.episodes,
                seed=self.seed,
                on_progress=on_progress,
            )
        seconds = time.perf_counter() - began
        if self.out is not None:
            law_maps.save(found, self.out)
            text = json.dumps({**found.as_dict(), "seconds": round(seconds)})
            self.out.with_suffix(".json").write_text(text + "\n")
        if self.json:
            print(json.dumps({**found.as_dict(), "seconds": round(seconds, 1)}))
        else:
            _show(found, seconds)


def _show(found: LawMap, seconds: float) -> None:
    console = Console(width=None if Console().is_terminal else 120)
    table = Table(*found.grid, box=None, pad_edge=False)
    for name in MEASURES:
        table.add_column(name, justify="right")
    order = np.argsort(found.welfare.mean(1))
    some = dict.fromkeys([*order[:SHOWN], *order[-SHOWN:]])
    for law in some:
        row = found.row(int(law))
        numbers = (f"{row[name]:.3g}" for name in found.grid)
        table.add_row(*numbers, *(str(Estimate.read(row[name])) for name in MEASURES))
    count, episodes = found.welfare.shape
    console.print(f"\n{found.society}", highlight=False, soft_wrap=True)
    console.print(f"{found.seats}\n", style="dim", highlight=False, soft_wrap=True)
    console.print(table, highlight=False)
    said = "; ".join(f"{name}: {meaning}" for name, meaning in MEASURES.items())
    console.print(
        f"\nThe {SHOWN} worst and the {SHOWN} best of {count:,} laws by welfare, {episodes} "
        f"episodes each, {seconds:.0f} s. Picked out of so many, they look better and worse than "
        f"they are. {said}.",
        highlight=False,
        soft_wrap=True,
    )
