"""`sociarium study ANALYSIS WORLD`."""

from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import tyro

from sociarium import catalogue
from sociarium.cli.checks import Count, On, OptionalSteps, World
from sociarium.cli.output import (
    PER_WORLD,
    check_out,
    console,
    print_result,
    rich_table,
    to_json,
    write_results,
)
from sociarium.cluster import parse_workers
from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses import analyses, find_analysis
from sociarium.evaluation.analyses.analysis import Result
from sociarium.evaluation.experiments.table import PayoffTable
from sociarium.language.models.runtime import use_models


@dataclass(frozen=True)
class StudyOptions:
    """Options that all analyses share."""

    params: Annotated[
        str,
        tyro.conf.arg(
            metavar="SET|FILE",
            help="a named set of the world's parameters, such as socialjax, or a TOML file of them",
        ),
    ] = field(default="", kw_only=True)
    all: Annotated[
        bool, tyro.conf.arg(help="every dilemma, one after another, instead of one world")
    ] = field(default=False, kw_only=True)
    out: Annotated[
        tuple[Path, ...],
        tyro.conf.arg(
            metavar="FILE ...",
            help="files to write: .svg or .png (figure), .json, .html, .parquet (payoffs of each "
            "episode); with --all, {world} in a name makes one file for each world",
        ),
    ] = field(default=(), kw_only=True)
    store: Annotated[
        Path | None,
        tyro.conf.arg(
            metavar="FOLDER",
            help="keep every episode in this folder; the same command, and other analyses of the "
            "same episodes, play only what is missing",
        ),
    ] = field(default=None, kw_only=True)
    jobs: Annotated[
        int, tyro.conf.arg(metavar="N", help="processes of this machine that play episodes")
    ] = field(default=1, kw_only=True)
    on: Annotated[On, tyro.conf.arg(metavar="ENGINE")] = field(default="local", kw_only=True)
    models: Annotated[
        Path | None,
        tyro.conf.arg(
            metavar="FILE",
            help="models.toml of language models in seats; by default that of this folder, then "
            "the user's own",
        ),
    ] = field(default=None, kw_only=True)
    json: Annotated[bool, tyro.conf.arg(help="print JSON instead of a table")] = field(
        default=False, kw_only=True
    )

    def run(self) -> None:
        """Plays, analyses, prints and writes."""
        analysis: Any = self
        names = chosen(analysis.world, self.all)
        check_out(self.out, several=len(names) > 1)
        connect = parse_workers(self.on, self.jobs)
        workers = connect() if connect else None  # before JAX runs: Ray starts processes
        results: list[Result] = []
        tables: list[dict[str, PayoffTable]] = []
        for name in names:
            one = replace(analysis, world=name, all=False)
            with use_models(self.models) if self.models else nullcontext():
                tables.append(one.tables(self.store, on=workers or "local", models=self.models))
            results.append(one.analyse(tables[-1]))
            if not self.json and not analysis.together:
                print_result(results[-1])
            for path in self.out:
                if PER_WORLD in path.name:
                    own = path.with_name(path.name.replace(PER_WORLD, filename(name)))
                    write_results(own, results[-1:], tables[-1:])
        joined = results[0].joined(results[1:])
        results = results if joined is None else [joined]
        if self.json:
            print(to_json(results))
        elif analysis.together:
            console(150).print(rich_table([row for one in results for row in one.rows()]))
            for note in results[0].notes():
                console().print(f"\n{note}", highlight=False, soft_wrap=True)
        for path in self.out:
            if PER_WORLD not in path.name:
                write_results(path, results, tables)
        if workers:
            workers.close()


def chosen(world: str, every: bool) -> list[str]:
    """The full name of the world, or those of all dilemmas."""
    if every == bool(world):
        raise BadArgument("name one world, or give --all")
    if not every:
        return [catalogue.full_name(world)]
    return [entry.id for entry in catalogue.worlds() if entry.kind == "dilemma"]


def filename(name: str) -> str:
    """A world's short name as part of a file's name."""
    short = catalogue.short_name(name)
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in short)


@cache
def command_class(name: str) -> type[StudyOptions]:
    """The command of an analysis: its options, and those that all share."""
    kind = find_analysis(name)
    types: dict[str, Any] = {"world": World}
    for one in fields(kind):
        if one.name in types:
            continue
        if one.metadata.get("python_only"):
            types[one.name] = tyro.conf.Suppress[Any]
        elif one.type == int | None:
            types[one.name] = OptionalSteps if one.name == "steps" else Count
        elif one.type not in (str, int, float, bool):
            types[one.name] = str
    defaults = {one.name: one.default for one in fields(kind) if one.name in types}
    namespace: dict[str, Any] = {"__annotations__": types, **defaults, "world": ""}
    namespace |= {"__doc__": kind.__doc__, "__module__": __name__}
    return dataclass(frozen=True)(type(kind.__name__, (StudyOptions, kind), namespace))


def overview() -> str:
    """All analyses with a line each."""
    from sociarium.cli.main import SUBCOMMANDS

    known = {name: find_analysis(name).summary for name in analyses()}
    for name, command in SUBCOMMANDS.items():
        if name.startswith("study "):
            known[name.removeprefix("study ")] = command.summary
    width = max(map(len, known))
    lines = [f"  {name:{width}}  {summary}" for name, summary in known.items()]
    return "\n".join(
        [
            "usage: sociarium study ANALYSIS WORLD ...",
            "",
            "Plays a designed experiment in a world and analyses the payoffs.",
            "`sociarium study ANALYSIS --help` has the options of one of these:",
            "",
            *lines,
            "",
            "Examples:",
            "  sociarium study schelling clean_up --out clean_up.svg",
            "  sociarium study laws coins --grid law.fine=0:5:20 --store runs/coins-laws",
        ]
    )
