"""`sociarium calls`."""

import dataclasses
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from sociarium import catalogue
from sociarium.arena.match_folder import DECISIONS, EPISODE, MatchFolder, Terms
from sociarium.core.errors import BadArgument, CannotRead, printable
from sociarium.core.manifest import MANIFEST, read_manifest
from sociarium.language.models.config import find_models
from sociarium.language.models.requests import CallError
from sociarium.language.models.runtime import ModelRuntime, use_runtime
from sociarium.language.models.store import CALLS, CallReplay
from sociarium.language.models.tracing import TEXTS, TIMES, TRACE
from sociarium.views.progress import progress

RECORDED = (CALLS, EPISODE, DECISIONS, MANIFEST, TRACE, TIMES, TEXTS)


@dataclass(frozen=True)
class CallsCommand:
    """Show the recorded calls of a match, or record them anew with the prompts of today.

    `sociarium calls show RUN`, `sociarium calls rerecord RUN --models models.toml`. To record anew
    plays the same match once more, asks the models, and replaces what the folder held.
    """

    what: Annotated[Literal["show", "rerecord"], tyro.conf.Positional]
    run_folder: tyro.conf.Positional[Path]  # of a match that was played with --calls record
    models: Path | None = None  # models.toml; else that of this folder, then the user's own
    text: bool = False  # show prompts and answers, too
    json: bool = False  # one JSON object a line

    def run(self) -> None:
        """Shows, or plays again."""
        if self.what == "show":
            self._show()
        else:
            self._rerecord()

    def _show(self) -> None:
        replay = CallReplay(self.run_folder / CALLS)
        console = Console(highlight=False, soft_wrap=True)
        for at, asked, answer in replay.calls():
            failed = isinstance(answer, CallError)
            told = {"seat": at.seat, "decision": at.decision, "role": at.role}
            told |= {"attempt": at.attempt, "model": asked["model"]}
            told |= {"failure": str(answer)} if failed else dataclasses.asdict(answer.usage)
            if self.text or self.json:
                told |= {} if failed else {"answer": answer.text}
                told |= {"messages": asked["messages"]} if self.text else {}
            if self.json:
                print(json.dumps(told))
                continue
            short = {name: value for name, value in told.items() if name != "messages"}
            console.print("  ".join(f"{n} {printable(v)}" for n, v in short.items()), markup=False)
            for message in told.get("messages", ()):
                console.print(f"[{message['role']}]\n{message['content']}\n", markup=False)

    def _rerecord(self) -> None:
        config = read_manifest(self.run_folder).get("config")
        if not isinstance(config, dict) or not (self.run_folder / CALLS).exists():
            raise CannotRead(f"{self.run_folder} holds no match with recorded calls ({CALLS}).")
        try:
            world, seats = str(config["world"]), str(config["seats"])
            seed, terms = int(config["seed"]), Terms.read(config)
        except (KeyError, TypeError, ValueError) as error:
            raise CannotRead(f"{self.run_folder} lacks terms of a match ({error})") from error
        if not seats:
            raise BadArgument("its players were given in Python: record it anew there")
        terms = dataclasses.replace(terms, calls="record")
        with tempfile.TemporaryDirectory() as scratch:
            folder = MatchFolder(Path(scratch) / "run")
            folder.claim()
            env = catalogue.make(world, players=len(_record_seats(self.run_folder)))
            with (
                progress("rerecord") as on_progress,
                use_runtime(ModelRuntime(find_models(self.models))),
            ):
                match = terms.match(env, seats, seed, on_progress, folder)
                folder.begin(match, world, seats, seed, terms)
                match.run()
            folder.close()
            if not match.ended:
                raise BadArgument(f"it did not come to its end: {match.paused or 'stopped'}")
            for name in RECORDED:
                shutil.copyfile(folder.path / name, self.run_folder / name)
        print(f"{self.run_folder}: {match.step} steps recorded anew")


def _record_seats(folder: Path) -> tuple[str, ...]:
    return MatchFolder(folder).record().page.seats
