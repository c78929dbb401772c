"""`sociarium check NAME`."""

import json
from dataclasses import dataclass

from rich.console import Console

from sociarium import catalogue
from sociarium.cli.checks import Steps, World, WorldCommand
from sociarium.conformance.contract import CLAUSES, examine


@dataclass(frozen=True)
class Check(WorldCommand):
    """Examine whether a world keeps the contract: one of ours, or `my_world.py:MyWorld`."""

    world: World  # catalogue name, or file.py:Class or module:Class of your own
    players: int | None = None  # how many, instead of the default
    steps: Steps | None = None  # of the random episode examined, instead of all to its horizon
    seed: int = 0
    json: bool = False  # one JSON object instead of text

    def run(self) -> None:
        """Prints each clause with its result; ends with status 1 if any is broken."""
        env = catalogue.make(self.world, players=self.players)
        console = Console(stderr=self.json)
        with console.status("playing") as status:
            findings = examine(
                env,
                steps=self.steps,
                seed=self.seed,
                on_progress=lambda clause: status.update(clause),
            )
        broken = {name: detail for name, detail in findings if detail}
        if self.json:
            print(json.dumps({"env": env.id, "clauses": list(CLAUSES), "broken": broken}))
        else:
            for name, detail in findings:
                mark = "[red]broken[/red]" if detail else "[green]holds [/green]"
                console.print(f"{mark}  {name:24} {CLAUSES[name]}", highlight=False)
                if detail:
                    console.print(f"        found: {detail}", style="red", highlight=False)
            console.print(f"\n{len(findings) - len(broken)} of {len(findings)} clauses hold.")
        if broken:
            raise SystemExit(1)
