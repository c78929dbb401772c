"""How commands show results: one console, tables, JSON, and files by their ending."""

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sociarium.core.errors import BadArgument, CannotWrite
from sociarium.evaluation import figures
from sociarium.evaluation.analyses.analysis import Result, Row, html_table, shown
from sociarium.evaluation.experiments.table import PayoffTable

WIDTH = 120  # letters of a line where output is no terminal
ENDINGS = (*figures.FORMATS, ".html", ".json", ".parquet")
PER_WORLD = "{world}"


def console(width: int = WIDTH) -> Console:
    """A console that is as wide as the terminal, or has lines of a fixed length elsewhere."""
    return Console(width=None if Console().is_terminal else width)


def rich_table(rows: Sequence[Row]) -> Table:
    """Rows as a table; numbers are aligned to the right."""
    table = Table(box=None, pad_edge=False)
    for name, value in (rows[0] if rows else {}).items():
        table.add_column(name, justify="left" if isinstance(value, str) else "right")
    for row in rows:
        table.add_row(*map(shown, row.values()))
    return table


def print_result(result: Result) -> None:
    """The title, the table and the notes of a result."""
    out = console()
    if title := result.layout().title:
        out.print(f"\n[bold]{title}[/bold]\n", highlight=False, soft_wrap=True)
    out.print(rich_table(result.rows()), highlight=False)
    for note in result.notes():
        out.print(f"\n{note}", highlight=False, soft_wrap=True)


def check_out(paths: Sequence[Path], several: bool = False) -> None:
    """Refuses files that cannot be written, before anything is played."""
    for path in paths:
        if path.suffix not in ENDINGS:
            raise BadArgument(f"--out ends in {', '.join(ENDINGS)}; given {path}")
        if path.suffix in figures.FORMATS:
            figures.check_path(path)
        if path.suffix == ".parquet" and several and PER_WORLD not in path.name:
            raise BadArgument(
                "payoffs of several worlds are several files, as in x-{world}.parquet; given "
                f"{path}"
            )


def write_results(
    path: Path, results: Sequence[Result], tables: Sequence[dict[str, PayoffTable]]
) -> None:
    """Writes results into a file by its ending; `.parquet` holds the payoffs of each episode."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        match path.suffix:
            case ".json":
                path.write_text(to_json(results, indent=1) + "\n")
            case ".html":
                path.write_text(html_page(results))
            case ".parquet":
                for name, table in tables[0].items():
                    several = len(tables[0]) > 1
                    named = path.with_stem(f"{path.stem}-{name}") if several else path
                    table.write_parquet(named)
            case _:
                figures.write(figures.figure_of(results), path)
    except OSError as error:
        raise CannotWrite(path, error) from error


def to_json(results: Sequence[Result], indent: int | None = None) -> str:
    """One result as an object, several as a list."""
    rows = [result.as_dict() for result in results]
    return json.dumps(rows[0] if len(rows) == 1 else rows, indent=indent)


def html_page(results: Sequence[Result]) -> str:
    """A page with the figure, the table and the notes of each result."""
    parts: list[Any] = []
    for result in results:
        image = figures.html_image(result.figure()) if figures.can_draw() else ""
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in result.notes())
        title = html.escape(result.layout().title)
        parts += [f"<h1>{title}</h1>", image, html_table(result.rows()), notes]
    style = "body{font-family:sans-serif;max-width:60em;margin:2em auto}td,th{padding:.2em .8em}"
    head = f'<!doctype html><meta charset="utf-8"><style>{style}</style>'
    return head + "".join(parts) + "\n"
