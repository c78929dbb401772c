"""`sociarium check NAME`."""

import importlib
import json
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from sociarium import catalogue
from sociarium.cli.checks import World
from sociarium.core.conformance import CLAUSES, examine
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument


@dataclass(frozen=True)
class Check:
    """Examine whether a world keeps the contract: one of ours, or `your.module:YourWorld`."""

    world: World  # catalogue name, or module:Class of your own
    players: int | None = None  # how many, instead of the default
    steps: int | None = None  # of the random episode examined, instead of all to its horizon
    seed: int = 0
    json: bool = False  # one JSON object instead of text

    def run(self) -> None:
        """Prints each clause with its result; ends with status 1 if any is broken."""
        env = _load(self.world, self.players)
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


def _load(name: str, players: int | None) -> Environment[Any, Any]:
    place = name.partition("?")[0]
    if ":" not in place:
        return catalogue.make(name, players=players)
    module, _, attribute = place.partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise BadArgument(
            f"cannot load {name!r}: {error}. Give module:Class of a module Python can import."
        ) from error
    given = {} if players is None else {"players": players}
    env = made(**catalogue.arguments_of(name, **given))
    env.id = env.id or name
    return env
