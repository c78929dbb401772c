"""`sociarium contract-study WORLD`."""

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sociarium import catalogue
from sociarium.cli.checks import World, WorldCommand
from sociarium.core.errors import BadArgument
from sociarium.evaluation import contract_study, plots
from sociarium.views.progress import progress


@dataclass(frozen=True)
class ContractStudyCommand(WorldCommand):
    """Measure what a contract changes in a dilemma: nobody signs, all do, cooperators do, or may.

    Plays scripted cooperators and defectors who sign or do not. No training.
    """

    world: World  # catalogue name, e.g. clean_up
    episodes: int = 20  # for each line-up
    seed: int = 0
    out: Path | None = None  # draw the four arms to x.svg or x.png, and write x.json beside it
    json: bool = False  # one JSON object a line instead of a table

    def run(self) -> None:
        """Plays, prints and draws."""
        if self.episodes < 2:
            raise BadArgument(f"--episodes must be at least 2; given {self.episodes}")
        if self.out is not None:
            plots.checked(self.out)
        name = catalogue.full_name(self.world)
        with progress(name) as on_progress:
            found = contract_study.arms(
                name, episodes=self.episodes, seed=self.seed, on_progress=on_progress
            )
        if self.out is not None:
            note = (
                "Scripted cooperators and defectors, one round of joining, "
                f"{self.episodes} episodes a line-up, 95% bootstrap intervals."
            )
            title = catalogue.make(name).sheet.title
            contract_study.save(found, self.out, f"What a contract changes in {title}", note)
            rows = [arm.as_dict() for arm in found]
            self.out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
        for arm in found:
            if self.json:
                print(json.dumps(arm.as_dict()), flush=True)
            else:
                _show(arm)


def _show(arm: contract_study.Arm) -> None:
    """What each kind is left with, by how many cooperate."""
    table = Table(box=None, pad_edge=False)
    for column in ("cooperators", "each is left with", "each defector", "who signs"):
        table.add_column(column, justify="right")
    last = arm.shared.players
    for count, signs in enumerate(arm.profiles):
        kinds = zip(("cooperators", "defectors"), (count, last - count), signs, strict=True)
        signing = [kind for kind, many, sign in kinds if sign and many]
        table.add_row(
            str(count),
            str(arm.shared.r_c[count - 1]) if count else "",
            str(arm.shared.r_d[count]) if count < last else "",
            " and ".join(signing) or "nobody",
        )
    console = Console(width=None if Console().is_terminal else 100)
    console.print(f"\n[bold]{arm.name}[/bold]\n")
    console.print(table, highlight=False)
