"""`sociarium crossplay NAME`."""

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import sociarium
from sociarium.cli.checks import On, World, WorldCommand
from sociarium.cli.train import filename
from sociarium.cluster import parse_engine
from sociarium.core.errors import BadArgument
from sociarium.evaluation import plots
from sociarium.evaluation.crossplay import PartnerReturns, crossplay, draw
from sociarium.evaluation.crossplay_on_ray import crossplay_on_ray
from sociarium.players import roster
from sociarium.players.scripted.known import scripts
from sociarium.views.progress import progress


@dataclass(frozen=True)
class Crossplay(WorldCommand):
    """Let everybody of a roster play beside everybody: who gets on with whom.

    A row is one player, a column its partners; every pair plays in every seat. Scripts and trained
    policies (policy:RUN) can stand in one roster.
    """

    world: World  # catalogue name, e.g. overcooked?layout=coordination_ring
    seats: str = ""  # the roster; empty for all scripts of the world
    episodes: int = 30  # of each pair, in each seat
    seed: int = 0
    players: int | None = None  # how many, instead of the default
    out: Path | None = None  # write the heatmap to x.svg or x.png
    on: On = "local"
    json: bool = False  # one JSON object instead of a table

    def run(self) -> None:
        """Plays, prints and draws."""
        if self.episodes < 1:
            raise BadArgument(f"--episodes must be at least 1; given {self.episodes}")
        if self.out is not None:
            plots.checked(self.out)
        cluster = parse_engine(self.on)
        workers = cluster.connect() if cluster else None
        env = sociarium.make(self.world, players=self.players)
        known = [f"script:{name}" for name in scripts(env)]
        who = [str(seat) for seat in roster.parse(self.seats)] or known
        how = {"episodes": self.episodes, "seed": self.seed}
        if workers:
            folder = Path("runs") / filename(f"crossplay-{env.id}")
            found = crossplay_on_ray(workers, env, (self.world, self.players), who, folder, **how)
        else:
            with progress(f"{env.id}, {len(who)} players of a roster") as on_progress:
                found = crossplay(env, who, **how, on_progress=on_progress)
        if self.out is not None:
            note = (
                f"{self.episodes} episodes in each seat, seed {self.seed}; ± half of 95% interval"
            )
            draw(found, self.out, title=f"{env.sheet.title}: {self.world}", footnote=note)
        if self.json:
            told = {"env": env.id, "players": env.players, "seed": self.seed}
            print(json.dumps({**told, **found.as_dict()}))
        else:
            _show(found)


def _show(found: PartnerReturns) -> None:
    console = Console(width=None if Console().is_terminal else 120)
    table = Table("beside", box=None, pad_edge=False)
    for name in (*found.partners, "all others"):
        table.add_column(name.removeprefix("script:"), justify="right")
    for name, row, others in zip(found.names, found.table, found.with_others, strict=True):
        table.add_row(name.removeprefix("script:"), *map(str, row), str(others or ""))
    console.print(table, highlight=False)
