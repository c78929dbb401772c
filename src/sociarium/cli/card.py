"""`sociarium card NAME`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown

from sociarium import catalogue
from sociarium.arena.seating import demonstration
from sociarium.catalogue import Entry
from sociarium.charters.society import Society
from sociarium.cli.checks import World, WorldCommand
from sociarium.cli.schelling import chosen
from sociarium.cli.train import filename
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation import cards
from sociarium.evaluation.baselines import baselines, rivals
from sociarium.evaluation.schelling import COOPERATOR, DEFECTOR
from sociarium.players import roster
from sociarium.views.progress import progress


@dataclass(frozen=True)
class CardCommand(WorldCommand):
    """Write a world's card: what cooperating and defecting pay, controls, and two baselines.

    The baselines, random play and the best line-up of scripts, are what the tables of results hold
    learners against. Societies, and worlds without cooperators and defectors, have a card of these
    two alone.
    """

    world: World = ""  # catalogue name, e.g. clean_up
    all: bool = False  # every world that has scripted cooperators and defectors
    cooperators: str = COOPERATOR  # a seat, such as script:cooperator
    defectors: str = DEFECTOR  # a seat of another kind
    idle: str = cards.IDLE  # a seat that stays where it is
    episodes: int = 30  # for each line-up
    seed: int = 0
    players: int | None = None  # how many, instead of the default
    out: Path | None = None  # also write <world>.json into this folder
    json: bool = False  # one JSON object a line instead of tables

    def run(self) -> None:
        """Plays, prints and writes one world after the other."""
        if self.episodes < 1:
            raise BadArgument(f"--episodes must be at least 1; given {self.episodes}")
        for name in chosen(self.world, self.all):
            row = self._row(name)
            if self.out is not None:
                self.out.mkdir(parents=True, exist_ok=True)
                file = self.out / f"{filename(catalogue.short_name(name))}.json"
                file.write_text(json.dumps(row, indent=2) + "\n")
            if self.json:
                print(json.dumps(row), flush=True)
            else:
                console = Console(width=None if Console().is_terminal else 100)
                console.print(Markdown(f"**{name}**\n\n{cards.markdown(row)}"))

    def _row(self, name: str) -> dict[str, Any]:
        entry, env = catalogue.find(name), catalogue.make(name, players=self.players)
        if entry.kind != "dilemma" or isinstance(env, Society):
            return self._baselines(entry, env)
        alone = catalogue.make(catalogue.without(name, "players"), players=1)
        return self._dilemma(entry, env, alone)

    def _baselines(self, entry: Entry, env: Environment[Any, Any]) -> dict[str, Any]:
        scripts = (roster.parse(demonstration(entry.cast, env.players)), *rivals(env, entry.cast))
        with progress(f"{env.id}, {env.players} players") as on_progress:
            by_chance, planner = baselines(
                env,
                list(dict.fromkeys(scripts)),
                episodes=self.episodes,
                seed=self.seed,
                on_progress=on_progress,
            )
        return {
            "env": env.id,
            "players": env.players,
            "episodes": self.episodes,
            "seed": self.seed,
            "random": by_chance.as_dict(),
            "planner": planner.as_dict(),
        }

    def _dilemma(
        self, entry: Entry, env: Environment[Any, Any], alone: Environment[Any, Any]
    ) -> dict[str, Any]:
        with progress(f"{env.id}, {env.players} players") as on_progress:
            card = cards.card(
                env,
                alone,
                self.cooperators,
                self.defectors,
                idle=self.idle,
                cast=entry.cast,
                rivals=rivals(env, entry.cast),
                episodes=self.episodes,
                seed=self.seed,
                on_progress=on_progress,
            )
        return {
            "env": env.id,
            "players": env.players,
            "cooperators": self.cooperators,
            "defectors": self.defectors,
            "episodes": self.episodes,
            "seed": self.seed,
            **card.as_dict(),
            "paper_asserts": entry.asserts,
            "paper_agreement": card.diagram.agreement(entry.asserts),
        }
