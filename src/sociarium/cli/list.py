"""`sociarium list`."""

import json
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sociarium.catalogue import Entry, articles, make, worlds
from sociarium.core.actions import action_names

WIDTH = 27  # of the longest id


@dataclass(frozen=True)
class List:
    """Show all worlds, all articles of charters, and worlds that come with a charter."""

    json: bool = False  # one JSON array instead of a table

    def run(self) -> None:
        """Prints the catalogue."""
        if self.json:
            print(json.dumps([_row(entry) for entry in worlds()]))
            return
        console = Console()
        for kind in ("world", "society"):
            table = Table(box=None, pad_edge=False)
            table.add_column(kind, no_wrap=True, min_width=WIDTH)
            table.add_column("players", justify="right")
            table.add_column("what it is about")
            for entry in (e for e in worlds() if bool(e.charter) == (kind == "society")):
                about = Text.assemble(entry.summary, (f" ({entry.paper})", "dim"))
                table.add_row(entry.id, str(entry.players), about)
            console.print(table)
            console.print()
        table = Table(box=None, pad_edge=False)
        table.add_column("article", no_wrap=True, min_width=WIDTH)
        table.add_column("what it adds to any world")
        for article in articles():
            table.add_row(article.name, article.summary)
        console.print(table)
        console.print(
            f"\n`sociarium info {worlds()[0].family}` shows a world's rules, `sociarium watch "
            f"{worlds()[0].family}+contract+speech?words=3` plays one under a charter of two "
            "articles.",
            style="dim",
        )


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "players": entry.players,
        "actions": list(action_names(make(entry.id).actions)),
        "paper": entry.paper,
        "charter": entry.charter,
        "summary": entry.summary,
    }
