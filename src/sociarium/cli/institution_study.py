"""`sociarium institution-study`."""

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sociarium.cli.checks import World, WorldCommand
from sociarium.cli.schelling import chosen
from sociarium.core.errors import BadArgument
from sociarium.evaluation import institution_study, plots
from sociarium.views.progress import progress


@dataclass(frozen=True)
class InstitutionStudyCommand(WorldCommand):
    """Measure what institutions are worth in dilemmas: how selfish players may be to cooperate.

    Plays scripted cooperators and defectors under every institution. No training.
    """

    world: World = ""  # catalogue name, e.g. clean_up
    all: bool = False  # every dilemma
    episodes: int = 20  # for each line-up
    seed: int = 0
    out: Path | None = None  # draw the heat map to x.svg or x.png, and write x.json beside it
    json: bool = False  # one JSON object a line instead of a table

    def run(self) -> None:
        """Plays, prints and draws."""
        if self.episodes < 1:
            raise BadArgument(f"--episodes must be at least 1; given {self.episodes}")
        if self.out is not None:
            plots.checked(self.out)
        entries = []
        for name in chosen(self.world, self.all):
            for number, institution in enumerate(institution_study.INSTITUTIONS, 1):
                all_of_them = len(institution_study.INSTITUTIONS)
                what = f"{name}, {institution.name} ({number} of {all_of_them})"
                with progress(what) as on_progress:
                    found = institution_study.surveyed(
                        name,
                        institution,
                        episodes=self.episodes,
                        seed=self.seed,
                        on_progress=on_progress,
                    )
                entries.append(found)
                if self.json:
                    print(json.dumps(found.as_dict()), flush=True)
                if self.out is not None:
                    self._draw(entries)
        if not self.json:
            _show(entries)

    def _draw(self, entries: list[institution_study.InstitutionWorth]) -> None:
        assert self.out is not None
        note = (
            f"Scripted cooperators and defectors, {self.episodes} episodes a mixture. The largest "
            "weight on one's own reward at which the best mixture lasts; 1: nobody is tempted."
        )
        institution_study.save(entries, self.out, note)
        rows = [entry.as_dict() for entry in entries]
        self.out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")


def _show(entries: list[institution_study.InstitutionWorth]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("world", "institution"):
        table.add_column(column, no_wrap=True)
    for column in ("cooperators", "welfare", "if all defect", "equality", "self-interest level"):
        table.add_column(column, justify="right")
    for entry in entries:
        numbers = (entry.welfare, entry.welfare_defecting, entry.equality, entry.self_interest)
        table.add_row(entry.world, entry.institution, str(entry.cooperators), *map(str, numbers))
    Console(width=None if Console().is_terminal else 120).print(table, highlight=False)
