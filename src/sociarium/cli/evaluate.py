"""`sociarium evaluate SUITE`."""

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.table import Table

from sociarium.arena import ends
from sociarium.cli.checks import On, at_least
from sociarium.cli.suite_tables import role_table, show
from sociarium.cluster import RayWorkers, parse_workers
from sociarium.core import disk
from sociarium.core.code import code_in
from sociarium.core.compiling import equal_programs_once
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead, MissingExtra, SociariumError
from sociarium.core.manifest import plain, read_manifest
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.pack import report_bytes
from sociarium.evaluation.pack_file import PAGE, REPORT
from sociarium.evaluation.private_split import commitment, find_secret, private_split
from sociarium.evaluation.report import write_report
from sociarium.evaluation.report_films import check_films, read_films, write_films
from sociarium.evaluation.suite import MODEL_SEAT, Suite, contestant, read_suite, suites
from sociarium.evaluation.suite_estimate import estimate_suite
from sociarium.evaluation.suite_run import SuiteRun, environment
from sociarium.evaluation.suite_workers import in_workers
from sociarium.evaluation.unit_table import TABLE, unit_table
from sociarium.language.models.config import Models, find_models
from sociarium.language.models.runtime import FAKE, ModelRuntime, use_runtime
from sociarium.players import roster
from sociarium.views.progress import progress, work_progress

Name = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SUITE")]


@dataclass(frozen=True)
class Evaluate:
    """Run a suite of experiments with models, policies or scripts of your own.

    Contestants sit in the seats that a suite leaves free. What is done is kept in --out, so that
    the same command goes on where it was stopped or killed.
    """

    suite: Name = ""  # name of a suite, or a .toml of your own; without one they are listed
    model: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="CONTESTANT")
    ] = ()  # an alias of models.toml, fake?level=greedy, level:greedy, or a seat: policy:RUN
    seeds: int | None = None  # episodes of each contestant in each arm; by default the suite's
    only: tuple[str, ...] = ()  # names of arms; all if empty
    ends: tuple[str, ...] = ()  # when matches end, instead of what the suite says: rounds:2
    framing: tuple[Literal["numbers", "story"], ...] = ()  # how games of one table are told
    private: int | None = None  # a private split of this number, by the secret in the environment
    out: Path | None = None  # by default runs/SUITE, with --only runs/SUITE-part
    films: tuple[str, ...] = ()  # arms of which the page shows an episode
    preregistered: Path | None = None  # a file whose hash is written into the manifest
    models: Path | None = None  # models.toml; else that of this folder, then the user's own
    jobs: int = 1  # processes; several ask models several times as often as their limits say
    on: On = "local"
    prepare: bool = False  # first train what the suite's seats name, by its own commands
    plan: bool = False  # only say what would be played; no agent is asked
    trust: bool = False  # call the agents and functions that a suite in a file names
    json: bool = False  # the report as one JSON object

    def run(self) -> None:
        """Plays what is left, and prints what it shows."""
        console = Console(width=None if Console().is_terminal else 120, highlight=False)
        if not self.suite:
            _list(console)
            return
        connect = parse_workers(self.on, self.jobs)
        suite, sealed = self._chosen()
        check_films(suite, self.films)
        part = "-part" if self.only or self.ends else ""
        out = self.out or Path("runs") / (suite.id + part)
        code = [part for arm in suite.arm for part in code_in(arm.name)]
        if code and not self.trust:
            raise BadArgument(
                f"this suite runs {code[0]}, which is Python; if you know where it comes from, say "
                "--trust"
            )
        run, models = SuiteRun(suite, self.model, out, self.seeds), find_models(self.models)
        workers = None
        if connect and not self.plan and run.left(run.done()):
            workers = connect()
        if self.plan or not self.json:
            _plan(console, run, models, ask=self.plan or _real(run))
        if self.plan:
            return
        if Path(self.suite).suffix and not self.trust:
            _refuse_code(suite)
        if self.prepare:
            _prepare(suite)
        _check_ends(run, self.ends)
        _check_seats(run)
        run.begin(self._registered(), self.only, sealed, self._named())
        with use_runtime(ModelRuntime(models)), equal_programs_once():
            if isinstance(workers, RayWorkers):
                with work_progress(suite.id) as bar:
                    played = in_workers(run, workers, self.models, bar.there)
                    done = run.play(bar.units, played)
                workers.close()
            else:
                done = run.play(apart=in_workers(run, workers, self.models) if workers else None)
        found = Findings(suite, run.units, done)
        disk.replace(out / REPORT, report_bytes(found))
        where = f"{out / REPORT} holds it all, and {out / PAGE} shows it."
        try:
            write_films(run, self.films)
            write_report(found, read_manifest(out), out / PAGE, self.only, read_films(out))
        except MissingExtra as error:
            where = f"{out / REPORT} holds it all. There is no {PAGE}: {error}"
        try:
            disk.replace(out / TABLE, unit_table(suite, found.results))
        except MissingExtra as error:
            where += f" There is no {TABLE}: {error}"
        if self.json:
            print(json.dumps(found.as_dict()))
            return
        show(console, suite, found)
        console.print(f"\n{where}", style="dim", markup=False)

    def _chosen(self) -> tuple[Suite, str]:
        """The suite as it is asked for, and what binds a private one to its secret."""
        at_least("private", self.private)
        suite, sealed = read_suite(self.suite), ""
        if self.private is not None:
            secret = find_secret()
            suite = private_split(suite, secret, self.private)
            sealed = commitment(secret, self.private)
        return suite.framed(self.framing).chosen(self.only).ending(self.ends), sealed

    def _named(self) -> list[str]:
        """The words of a command that name this suite."""
        framing = ["--framing", *self.framing] if self.framing else []
        private = [] if self.private is None else ["--private", str(self.private)]
        ends = ["--ends", *self.ends] if self.ends else []
        return [str(plain(self.suite)), *framing, *private, *ends]

    def _registered(self) -> bytes:
        if self.preregistered is None:
            return b""
        try:
            return self.preregistered.read_bytes()
        except OSError as error:
            raise CannotRead(f"Cannot read {self.preregistered}: {error.strerror}") from error


def _refuse_code(suite: Suite) -> None:
    """Refuses a suite that calls code or addresses, which a file of others may name."""
    seats = [word for arm in suite.arm for word in arm.seats.split() if not MODEL_SEAT.match(word)]
    seats += [contestant(one, world=arm.world) for arm in suite.arm for one in arm.terms.always]
    chairs = [chair for seat in dict.fromkeys(seats) for chair in roster.parse(seat)]
    names = [str(chair) for chair in chairs if roster.kinds()[chair.kind].needs_trust]
    names += [end for arm in suite.arm for end in arm.terms.ends if ends.calls_code(end)]
    if names:
        raise BadArgument(
            f"this suite calls {', '.join(dict.fromkeys(names))}; if you know where the file comes "
            "from, say --trust"
        )


def _check_seats(run: SuiteRun) -> None:
    """Refuses a script or a policy that cannot sit in an arm, before anything is played."""
    units = {
        (unit.arm.id, unit.model): unit
        for unit in run.units
        if unit.model in run.models and not unit.outside
    }
    worlds: dict[str, Environment[Any, Any]] = {}
    for (arm, model), unit in units.items():
        try:
            worlds[arm] = worlds.get(arm) or environment(unit.arm)
            for seat in unit.focal:
                roster.player(unit.chairs[seat], worlds[arm])
        except SociariumError as error:
            raise BadArgument(
                f"{model} cannot sit in {arm}: {error} Choose arms with --only, or contestants "
                "that can sit anywhere: level:greedy is a script of each world"
            ) from error


def _check_ends(run: SuiteRun, asked: tuple[str, ...]) -> None:
    """Refuses an end that a world does not know, before anything is played."""
    for arm in run.suite.arm if asked else ():
        gauges = [gauge.name for gauge in run.world(arm).gauge_specs]
        for text in asked:
            ends.end(text, gauges)


def _prepare(suite: Suite) -> None:
    """Runs the commands of a suite, which can only be trainings, one after the other."""
    for line in suite.prepare:
        words = [sys.executable, "-m", "sociarium.cli.main", *shlex.split(line)[1:]]
        if subprocess.run(words, check=False).returncode:
            raise BadArgument(f"what prepares {suite.id} failed: {line}")


def _list(console: Console) -> None:
    table = Table("suite", "arms", "question", box=None, pad_edge=False)
    for name in suites():
        suite = read_suite(name)
        table.add_row(name, str(len(suite.arm)), suite.question or suite.title)
    console.print(table)


def _real(run: SuiteRun) -> bool:
    """Whether a language model is asked that is no fake."""
    chairs = {chair for unit in run.units for chair in unit.chairs}
    return any(chair.kind == "llm" and chair.ref != FAKE for chair in chairs)


def _plan(console: Console, run: SuiteRun, models: Models, ask: bool) -> None:
    """How much there is to do, and where `ask` is given what it asks of language models."""
    done = run.done()
    every = {unit.episode for unit in run.units}
    left = {unit.episode: unit for unit in run.units if unit.key not in done}
    outside = sum(unit.outside for unit in left.values())
    arms = len({unit.arm.id for unit in run.units})
    playing = list(dict.fromkeys(unit.model for unit in run.units if unit.model))
    own = [model for model in playing if model not in run.models]
    who = f"Contestants: {', '.join(dict.fromkeys(run.models)) or 'none (add --model)'}"
    who += f"; players of the suite: {', '.join(own)}" if own else ""
    console.print(
        f"{run.suite.title}: {len(every):,} episodes in {arms} arms, {len(left):,} to play"
        + (f", {outside:,} of them with players outside" if outside else "")
        + f". {who}. To play fewer: --only ARM, --seeds N; to play nothing: --plan.",
        markup=False,
    )
    if not run.units:
        raise BadArgument("this suite has no arm to play")
    if not ask or not any(chair.kind == "llm" for unit in left.values() for chair in unit.chairs):
        return
    with progress("estimate") as on_progress:
        found = estimate_suite(run, models, on_progress)
    cost = "no prices in models.toml" if found.money is None else f"{found.money:.2f}"
    console.print(
        f"Language models: {found.decisions:,.0f} decisions, {found.calls:,.0f} calls, "
        f"{found.input_tokens:,.0f} tokens in and {found.output_tokens:,.0f} out, money: {cost}; "
        f"besides waiting for them, about {found.seconds / 60:.0f} minutes here. From the first "
        "steps of each arm; prompts may grow, and retries cost extra."
    )
    asked = sum(used.calls for used in found.roles.values())
    if 0 < asked < found.calls:
        console.print(f"Of these calls {found.calls - asked:,.0f} are of fakes, the others are:")
    if len(found.roles) > 1 or 0 < asked < found.calls:
        console.print(role_table(found.roles))
