"""`sociarium list`."""

import json
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sociarium.catalogue import WORLDS, Entry, make


@dataclass(frozen=True)
class List:
    """Show all worlds."""

    json: bool = False  # one JSON array instead of a table

    def run(self) -> None:
        """Prints the catalogue."""
        if self.json:
            print(json.dumps([_row(entry) for entry in WORLDS]))
            return
        table = Table(box=None, pad_edge=False)
        table.add_column("world", no_wrap=True)
        table.add_column("players", justify="right")
        table.add_column("what it is about")
        for entry in WORLDS:
            about = Text.assemble(entry.summary, (f" ({entry.paper})", "dim"))
            table.add_row(entry.id, str(entry.players), about)
        console = Console()
        console.print(table)
        console.print(f"\n`sociarium info {WORLDS[-1].family}` shows its rules.", style="dim")


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "players": entry.players,
        "actions": list(make(entry.id).actions),
        "paper": entry.paper,
        "summary": entry.summary,
    }
