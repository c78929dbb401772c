"""`sociarium measure NAME`."""

import json
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from sociarium.arena.seating import chairs_for
from sociarium.cli.checks import World, WorldCommand, seated
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.facets import Cooperation
from sociarium.evaluation.analyses.measures import Measures, measure
from sociarium.evaluation.experiments.design import LineUp
from sociarium.metrics.bootstrap import Estimate

ATTACKS = ("attacks_fired", "attacks_effective", "hits")
COOPERATION = ("acts", "opportunities", "cooperation")


@dataclass(frozen=True)
class Measure(WorldCommand):
    """Measure how a line-up of players does: welfare, equality, peace, attacks, cooperation."""

    world: World  # catalogue name, e.g. clean_up
    seats: str = ""  # who plays; empty for the world's own demonstration
    episodes: int = 30
    seed: int = 0
    players: int | None = None  # how many, instead of the default
    json: bool = False  # one JSON object instead of tables

    def run(self) -> None:
        """Plays and prints means with their intervals."""
        if self.episodes < 1:
            raise BadArgument(f"--episodes must be at least 1; given {self.episodes}")
        env, seats = seated(self.world, self.seats, self.players)
        lineup = chairs_for(env, seats)
        measures = measure(env, lineup, episodes=self.episodes, seed=self.seed)
        if self.json:
            print(json.dumps(self._row(env, lineup, measures)))
            return
        console = Console(width=None if Console().is_terminal else 100)
        left_out = _left_out(env)
        console.print(f"{self._header(env, lineup)}\n", highlight=False)
        console.print(_society(measures, left_out), highlight=False)
        console.print(_kinds(measures, left_out), highlight=False)
        if measures.jobs:
            console.print(_jobs(measures), highlight=False)
        if env.has(Cooperation):
            spec = env.facet(Cooperation)
            counted = "Cooperation" if spec.has_rate else "Acts"
            console.print(f"\n{counted}: {spec.meaning}.", style="dim", highlight=False)

    def _header(self, env: Any, lineup: Any) -> str:
        seats = str(LineUp(tuple(lineup)))
        changed = "" if env.param_overrides else ", default parameters"
        return (
            f"{env.id}{changed}, {env.players} players: {seats}\n"
            f"{self.episodes} episodes from seed {self.seed}"
        )

    def _row(self, env: Any, lineup: Any, measures: Measures) -> dict[str, Any]:
        return {
            "env": env.id,
            "players": env.players,
            "seats": str(LineUp(tuple(lineup))),
            "episodes": self.episodes,
            "seed": self.seed,
            **measures.as_dict(),
        }


def _society(measures: Measures, left_out: set[str]) -> Table:
    table = Table("society", box=None, pad_edge=False)
    table.add_column("mean [95% interval]", justify="right")
    for name in (name for name in measures.society if name not in left_out):
        table.add_row(name.replace("_", " "), _shown(name, measures.society))
    return table


def _kinds(measures: Measures, left_out: set[str]) -> Table:
    table = Table("\none player", box=None, pad_edge=False)
    for kind in measures.kinds:
        table.add_column(f"\n{kind}", justify="right")
    names = next(iter(measures.kinds.values()))
    for name in (name for name in names if name not in left_out):
        values = [_shown(name, metrics) for metrics in measures.kinds.values()]
        table.add_row(name.replace("_", " "), *values)
    return table


def _jobs(measures: Measures) -> Table:
    table = Table("\njob", box=None, pad_edge=False)
    table.add_column("\nshare of what all are left with", justify="right")
    for name, share in measures.jobs.items():
        table.add_row(name, str(share))
    return table


def _left_out(env: Environment[Any, Any]) -> set[str]:
    """Metrics that say nothing about this world, which has no attacks or counts no cooperation."""
    roles = {spec.role for spec in env.event_specs}
    attacks = () if {"attack", "harm"} & roles else ATTACKS
    return {*attacks, *(() if env.has(Cooperation) else COOPERATION)}


def _shown(name: str, metrics: dict[str, Estimate]) -> str:
    if name == "cooperation" and metrics["opportunities"].high == 0:
        return "no opportunity"
    return str(metrics[name])
