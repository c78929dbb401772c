"""`sociarium train ALGORITHM WORLD`."""

import dataclasses
import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from sociarium import catalogue
from sociarium.arena.rollout import rollout
from sociarium.cli import watch
from sociarium.cli.checks import Steps, WorldCommand
from sociarium.core import processes
from sociarium.core.errors import BadArgument
from sociarium.core.manifest import MANIFEST
from sociarium.learning import checkpoints, preferences, presets
from sociarium.learning.folder import CHECKPOINTS, EVENTS, METRICS
from sociarium.learning.progress import training_progress
from sociarium.learning.run_summary import latest_step, run_summary, seats_of_run
from sociarium.learning.training import Plan, TrainingProgress, plan_of, train_into
from sociarium.players.policy import SNAPSHOTS, WEIGHTS

FILM = "result.gif"
_ALGORITHMS = "\n".join(
    [
        "what learns, or with --resume alone a run folder",
        *(f"- {name}: {preset.summary}" for name, preset in presets.ALGORITHMS.items()),
    ]
)
_PREFERENCES = "\n".join(
    [
        "what learners want, if not what the algorithm is for; one for all, or one for each seat, "
        "as in 'svo:90*3 selfish*4'",
        *(f"- {preferences.FORMS[kind]}: {text}" for kind, text in preferences.SUMMARIES.items()),
    ]
)


@dataclass(frozen=True)
class Train(WorldCommand):
    """Train players in a world.

    Everything goes into a run folder: figures, checkpoints, weights and a film. Ctrl-C saves and
    stops; `sociarium train --resume FOLDER` goes on bit for bit.
    """

    algorithm: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(metavar="ALGORITHM", help=_ALGORITHMS),
    ]
    world: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(metavar="WORLD", help="catalogue name, e.g. clean_up"),
    ] = ""
    preference: Annotated[str, tyro.conf.arg(metavar="WORD", help=_PREFERENCES)] = ""
    steps: Steps = 1_000_000  # for each seed; 2_000_000, 2e6 or 2m
    seeds: int = 1  # how many, each a learner of its own
    seed: int = 0  # the first of them
    players: int | None = None  # how many, instead of the default
    others: str = ""  # frozen players in the last seats, e.g. "script:defector*3"
    partners: str = ""  # frozen players to draw from for each episode, e.g. "population:runs/a"
    learners: int = 1  # seats, drawn by lot, that learn beside such partners
    snapshots: int = 0  # how many policies to keep on the way, for populations
    curriculum: str = ""  # numbers of the rules over training, e.g. contract (see docs/training.md)
    settings: Annotated[
        tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]],
        tyro.conf.arg(
            name="set",
            metavar="NAME=VALUE ...",
            help="numbers of the algorithm, e.g. lanes=256 learning_rate=3e-4",
        ),
    ] = ()
    out: Path | None = None  # run folder; by default runs/<world>-<algorithm>-<preference>
    resume: bool = False  # go on with the run in the folder, if there is one
    checkpoint_every: float = 60.0  # seconds between checkpoints, which are all that can be lost
    keep: int = checkpoints.KEEP  # how many checkpoints
    gif: bool = True  # draw a film of the first seed's players
    json: bool = False  # one JSON object at the end instead of tables

    def run(self) -> None:
        """Trains, then tells how it went and what to do next."""
        if self.resume and not self.world:
            folder = Path(self.algorithm)
            plan, resume = self._begun(folder), True
        else:
            plan = self.plan()
            folder = self.out or Path("runs") / default_name(plan)
            resume = self.resume and (folder / MANIFEST).exists()
        speed = trained(
            plan, folder, resume=resume, checkpoint_every=self.checkpoint_every, keep=self.keep
        )
        if not processes.leads():
            return
        seats = seats_of_run(plan, folder)
        if self.gif:
            _film(plan, folder, seats)
        row = run_summary(folder) | {"steps_per_s": speed}
        if self.json:
            print(json.dumps(row))
        else:
            _show(plan, folder, seats, row)

    def _begun(self, folder: Path) -> Plan:
        """The plan of a run, to which nothing may be added."""
        free = ("algorithm", "resume", "checkpoint_every", "keep", "gif", "json")
        for field in dataclasses.fields(self):
            if field.name not in free and getattr(self, field.name) != field.default:
                name = {"settings": "set"}.get(field.name, field.name)
                raise BadArgument(
                    f"{folder} goes on as it began: leave out --{name}, or name the algorithm, "
                    "the world and everything else as at first"
                )
        return plan_of(folder)

    def plan(self) -> Plan:
        """What is to be trained."""
        if not self.world:
            raise BadArgument(
                f"name an algorithm ({', '.join(presets.ALGORITHMS)}) and a world, as in: "
                "sociarium train ippo coins"
            )
        if self.seeds < 1:
            raise BadArgument(f"--seeds must be at least 1; given {self.seeds}")
        words = pairs("set", (word for group in self.settings for word in group))
        return Plan(
            algorithm=self.algorithm,
            world=catalogue.full_name(self.world),
            preference=self.preference or presets.find(self.algorithm).preference,
            steps=self.steps,
            seeds=tuple(range(self.seed, self.seed + self.seeds)),
            players=self.players,
            others=self.others,
            partners=self.partners,
            learners=self.learners,
            snapshots=self.snapshots,
            curriculum=self.curriculum,
            settings=presets.parse_settings(self.algorithm, words),
        )


def pairs(what: str, words: Iterable[str]) -> dict[str, str]:
    """`name=value` words by name."""
    found: dict[str, str] = {}
    for word in words:
        name, given, value = word.partition("=")
        if not (name and given and value) or name in found:
            raise BadArgument(
                f"--{what} takes name=value, each name once, as in --{what} lanes=256; given "
                f"{word!r}"
            )
        found[name] = value
    return found


def default_name(plan: Plan) -> str:
    """The name of a run folder that says what was trained."""
    return filename(f"{plan.world}-{plan.algorithm}-{plan.preference}")


def filename(text: str) -> str:
    """The text without what means something in a path, a shell or a seat string."""
    return re.sub(r"[^\w.,=+-]+", "-", text)


def check_folder(folder: Path) -> Path:
    """The folder, unless seats could not name it."""
    if re.search(r"[\s?*]", str(folder)):
        raise BadArgument(
            f"A run folder is named in seats (policy:{folder}): choose one without spaces, ? and *"
        )
    return folder


def trained(
    plan: Plan,
    folder: Path,
    *,
    resume: bool,
    checkpoint_every: float = 60.0,
    keep: int = checkpoints.KEEP,
    what: str = "",
    again: str = "",
) -> float | None:
    """Trains to the end and tells on the way; steps a second, unless there was nothing left to do.

    Whoever presses Ctrl-C is told how to go on.
    """
    check_folder(folder)
    speed: float | None = None
    try:
        what = what or f"{plan.algorithm} in {plan.world}, {plan.preference}"
        with training_progress(what, show=processes.leads()) as bar:

            def on_progress(now: TrainingProgress) -> None:
                nonlocal speed
                speed = now.steps_per_s
                bar(now)

            train_into(
                plan,
                folder,
                resume=resume,
                checkpoint_every=checkpoint_every,
                keep=keep,
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        Console(stderr=True).print(_stopped(folder, again), highlight=False, soft_wrap=True)
        raise SystemExit(130) from None
    return speed


def _stopped(folder: Path, again: str) -> str:
    """What whoever pressed Ctrl-C wants to know."""
    if not (folder / MANIFEST).exists():
        return "Stopped before anything was written."
    step = latest_step(folder)
    saved = f"The checkpoint at step {step:,} is saved" if step else "There is no checkpoint yet"
    return f"Stopped. {saved}; go on with\n  {again or f'sociarium train --resume {folder}'}"


def _film(plan: Plan, folder: Path, seats: str) -> None:
    console = Console(stderr=True)
    env = catalogue.make(plan.world, players=plan.players)
    with console.status(f"playing {env.id} with {seats}"):
        episode = rollout(env, seats, steps=watch.STEPS)
    watch.write(folder / FILM, episode, episode.states, console)


def _show(plan: Plan, folder: Path, seats: str, row: dict[str, Any]) -> None:
    console = Console(width=None if Console().is_terminal else 100)
    table = Table(box=None, pad_edge=False)
    rated = any(rate is not None for rate in row["cooperation"])
    for title in ("seed", "collective return", *["cooperation"] * rated):
        table.add_column(title, justify="right")
    for seed, points, rate in zip(row["seeds"], row["return"], row["cooperation"], strict=True):
        table.add_row(str(seed), shown(points, 1), *[shown(rate, 2)] * rated)
    console.print(f"\n{plan.algorithm} in {plan.world}, {plan.preference}, {row['steps']:,} steps")
    console.print("means over the last tenth of the training\n", style="dim")
    console.print(table, highlight=False)
    parts = (MANIFEST, METRICS, CHECKPOINTS, WEIGHTS, SNAPSHOTS, EVENTS, FILM)
    there = [name for name in parts if (folder / name).exists()]
    console.print(f"\n{folder} has {', '.join(there)}.", highlight=False, soft_wrap=True)
    players = f" --players {plan.players}" if plan.players and " " not in seats else ""
    console.print("Next:", style="dim")
    for command in ("watch", "measure"):
        words = f'  sociarium {command} {shlex.quote(plan.world)}{players} --seats "{seats}"'
        console.print(words, highlight=False, soft_wrap=True)


def shown(number: float | None, digits: int) -> str:
    """A number, or a word where there is none."""
    return "no episode" if number is None else f"{number:.{digits}f}"
