"""`sociarium oracle NAME`."""

import json
import shlex
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from sociarium import catalogue
from sociarium.arena.seating import chairs_for
from sociarium.cli.checks import World, WorldCommand, seated
from sociarium.core.errors import BadArgument
from sociarium.core.facets import Bounds, Crafting
from sociarium.core.recipes import Bound
from sociarium.evaluation.analyses.measures import played
from sociarium.evaluation.progress import Progress, progress
from sociarium.views.progress import progress as shown


@dataclass(frozen=True)
class Oracle(WorldCommand):
    """Tell what a society can earn at most, proven, and how much of it some players reach.

    The frontiers have bounds for a task, whatever the seed; Cuisine has bounds for the orders of
    one seed, which take about half a minute. What players reach is told of frontiers.
    """

    world: World  # a world of recipes, e.g. frontier_easy, "cuisine?level=3", or a task file
    seats: str = ""  # who plays, in a frontier; empty to tell the bounds only
    episodes: int = 30
    seed: int = 0
    json: bool = False  # one JSON object instead of tables

    def run(self) -> None:
        """Solves, plays if asked to, and prints."""
        if self.episodes < 1:
            raise BadArgument(f"--episodes must be at least 1; given {self.episodes}")
        world = catalogue.make(self.world)
        if not world.has(Bounds):
            every = (catalogue.make(entry.id) for entry in catalogue.WORLDS)
            known = ", ".join(env.id for env in every if env.has(Bounds))
            raise BadArgument(f"{self.world} has no known bound; these have: {known}")
        if self.seats and not world.has(Crafting):
            raise BadArgument(
                f"--seats is for worlds whose bounds hold in every episode; those of {self.world} "
                "are for the orders of one seed. Leave it out, or see what players earn "
                f'with: sociarium measure {shlex.quote(self.world)} --seats "{self.seats}"'
            )
        bounds = dict(world.facet(Bounds).of(world.params(), self.seed))
        reached = self._played(world.players) if self.seats else None
        if self.json:
            row: dict[str, Any] = {
                "env": catalogue.full_name(self.world),
                "players": world.players,
            }
            row |= {name: vars(bound) for name, bound in bounds.items()}
            row |= {"seats": self.seats, **reached.as_dict()} if reached else {}
            print(json.dumps(row))
            return
        console = Console(width=None if Console().is_terminal else 100)
        console.print(_bounds(bounds), highlight=False)
        together = f"Points of all {world.players} players together"
        episode = "" if world.has(Crafting) else f", with the orders of seed {self.seed}"
        console.print(f"\n{together}{episode}.", style="dim", highlight=False)
        if reached:
            console.print(_reached(reached), highlight=False)
            console.print(_kinds(reached), highlight=False)

    def _played(self, players: int) -> Progress:
        env, seats = seated(self.world, self.seats, None)
        if env.players != players:
            raise BadArgument("the bounds are for the task's own number of players; seat as many")
        lineup = chairs_for(env, seats)
        with shown(f"{env.id}, {env.players} players") as on_progress:
            records = played(
                env, lineup, episodes=self.episodes, seed=self.seed, on_progress=on_progress
            )
        return progress(env, records)


def _bounds(bounds: dict[str, Bound]) -> Table:
    searched = any(bound.found is not None for bound in bounds.values())
    table = Table("bound", box=None, pad_edge=False)
    for title in ("proved at most", *["found"] * searched):
        table.add_column(title, justify="right")
    table.add_column("made up of" if searched else "in one way to earn it")
    for name, bound in bounds.items():
        done = ", ".join(f"{times} {event}" for event, times in bound.executions.items() if times)
        found = "" if bound.found is None else f"{bound.found:g}"
        table.add_row(name, f"{bound.total:g}", *[found] * searched, done)
    return table


def _reached(reached: Progress) -> Table:
    table = Table("\nreached", box=None, pad_edge=False)
    table.add_column("\nmean [95% interval]", justify="right")
    table.add_row("share of the oracle", str(reached.share))
    table.add_row("fairness", str(reached.fairness))
    table.add_row("depth in the tree", str(reached.deepest))
    table.add_row("goods handed over", str(reached.handed_over))
    for event, share in reached.completion.items():
        table.add_row(f"completion of {event}", str(share))
    return table


def _kinds(reached: Progress) -> Table:
    table = Table("\ndiscovered", box=None, pad_edge=False)
    table.add_column("\nepisodes", justify="right")
    table.add_column("\nfirst step [95% interval]", justify="right")
    for kind, share in reached.discovered.items():
        first = reached.first.get(kind)
        table.add_row(kind, f"{share:.0%}", "never" if first is None else str(first))
    return table
