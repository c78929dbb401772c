"""Training from Python: `train` gives a run, which plays, is measured and is drawn."""

import html
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from sociarium import catalogue
from sociarium.arena.rollout import rollout
from sociarium.arena.screening import Look, PlayedEpisode
from sociarium.arena.seating import Chair
from sociarium.core.devices import Device
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.manifest import read_manifest
from sociarium.evaluation import figures
from sociarium.evaluation.analyses import learning_curves
from sociarium.evaluation.analyses.measures import Measures, measure
from sociarium.learning import presets
from sociarium.learning.folder import read_end, read_metrics
from sociarium.learning.progress import training_progress
from sociarium.learning.run_summary import seats_beside_learners
from sociarium.learning.training import Plan, plan_of, train_into
from sociarium.players.policy import Policy, QPolicy, load_policy
from sociarium.players.scripted.known import scripts
from sociarium.views.film import Film
from sociarium.views.progress import silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BASELINE_EPISODES = 8


class Run:
    """What came of a training: policies, learning curves, films and measurements.

    >>> run = train("ippo", make("coins"), steps=200_000)
    >>> run                          # in a notebook, its learning curve
    >>> rollout(make("coins"), [run.policy(), "script:cooperator"]).film()
    """

    def __init__(self, folder: str | Path, env: Environment[Any, Any] | None = None) -> None:
        """The run in a folder; `env`, if its world is not one of the catalogue."""
        self.folder = Path(folder)
        self.plan = plan_of(folder)
        world, players = self.plan.world, self.plan.players
        self.env = catalogue.make(world, players=players) if env is None else env

    @property
    def finished(self) -> bool:
        """Whether it came to its end, rather than being stopped before."""
        return bool(read_manifest(self.folder)["finished"])

    @cached_property
    def curves(self) -> Mapping[str, np.ndarray]:
        """Figures by name along the training, rows first, then seeds: `step`, `return`, losses."""
        return read_metrics(self.folder)

    def policy(
        self, *, seed: int | None = None, seat: int | None = None, greedy: bool = False
    ) -> Policy | QPolicy:
        """The policy of one seed, the first if none is named.

        `seat` says whose, where every seat learned weights of its own.
        """
        which = -1 if seed is None else seed
        whose = -1 if seat is None else seat
        return load_policy(str(self.folder), self.env, which, whose, int(greedy))

    def seats(self, seed: int | None = None) -> list[str | Chair]:
        """The players as they sat in training: the learned policy, and the others it met."""
        others: list[str | Chair] = [*seats_beside_learners(self.plan, self.env.players)]
        learners = self.env.players - len(others)
        if read_manifest(self.folder)["config"]["hyperparameters"]["shared"]:
            return [self.policy(seed=seed)] * learners + others
        return [self.policy(seed=seed, seat=seat) for seat in range(learners)] + others

    def episode(self, *, steps: int | None = 200, seed: int = 0) -> PlayedEpisode:
        """An episode of the players as they sat in training."""
        return rollout(self.env, self.seats(), steps=steps, seed=seed)

    def film(self, *, steps: int | None = 200, seed: int = 0, **look: Unpack[Look]) -> Film:
        """A film of such an episode; `look` is what `episode.film` takes."""
        return self.episode(steps=steps, seed=seed).film(**look)

    def measure(self, *, episodes: int = 20, seed: int = 0) -> Measures:
        """The metrics of the first seed's players over many episodes."""
        return measure(self.env, self.seats(), episodes=episodes, seed=seed)

    def plot(self) -> "Figure":
        """The learning curve: collective return, mean over seeds and interval, and baselines."""
        name = f"{self.plan.algorithm}, {self.plan.preference}"
        steps, returns = self.curves["step"], self.curves["return"]
        line = learning_curves.Line(self.env.id or self.plan.world, name, steps, returns)
        title = "Collective return while learning"
        return learning_curves.draw([line], title=title, levels=self.baselines)

    @cached_property
    def baselines(self) -> Mapping[str, float]:
        """The collective return of random play, and of the best script in all seats."""
        returns = {name: self._collective_return(f"script:{name}") for name in scripts(self.env)}
        levels = {"random play": self._collective_return("random")}
        if returns:
            best = max(returns, key=lambda name: returns[name])
            levels[f"script:{best}"] = returns[best]
        return levels

    def _collective_return(self, seats: str) -> float:
        played = measure(self.env, seats, episodes=BASELINE_EPISODES, on_progress=silent)
        return played.society["collective_return"].mean

    def save(self, folder: str | Path) -> Path:
        """Copies the run folder, so that it outlives this program; it seats as `policy:FOLDER`."""
        if Path(folder).exists():
            raise BadArgument(f"{folder} exists already; give another folder")
        return Path(shutil.copytree(self.folder, folder))

    def __repr__(self) -> str:
        end, plan = read_end(self.folder), self.plan
        known = [f"{value:.1f}" for value in np.atleast_1d(end["return"]) if np.isfinite(value)]
        returns = ", ".join(known) or "not known: no episode has ended yet"
        what = f"{plan.algorithm} in {plan.world}, {plan.preference}"
        return f"Run({what}, {int(self.curves['step'][-1]):,} steps, return {returns})"

    def _repr_html_(self) -> str:
        """The learning curve, where matplotlib is installed."""
        words = html.escape(repr(self))
        return f"{words}<br>{figures.html_image(self.plot())}" if figures.can_draw() else words


def train(
    algorithm: str,
    env: Environment[Any, Any] | str,
    *,
    steps: int | float = 1_000_000,
    preference: str = "",
    seeds: int | Sequence[int] = 1,
    others: str = "",
    partners: str = "",
    learners: int = 1,
    snapshots: int = 0,
    curriculum: str = "",
    folder: str | Path | None = None,
    resume: bool = False,
    seconds: float = float("inf"),
    devices: Sequence[Device] | None = None,
    show: bool | None = None,
    **settings: object,
) -> Run:
    """Trains players in a world and gives the run.

    >>> run = train("ippo", "coins", steps=500_000, preference="common", lanes=64)
    >>> run.policy(), run.curves["return"], run.film(), run.measure()

    `algorithm` is ippo, mappo, mappo-state, mappo-actions, recppo, rainbow or vdn; `env` is an
    environment or a catalogue name. `steps` are of the environment, for each of the `seeds` (a
    number of them, or which). `settings` are the algorithm's own, such as `learning_rate` or
    `lanes`. `others` are frozen players in the last seats; of `partners` one is drawn for every
    seat of every episode, but for `learners` seats, anywhere, that learn; so many `snapshots` of
    the policies are kept on the way, for a `population:FOLDER` of partners. Without a `folder` the
    run lives as long as the program; with one it can be gone on with (`resume=True`) and seated as
    `policy:FOLDER`. Training stops at its end or after so many `seconds`. `show` forces a progress
    bar, or none.
    """
    world = env if isinstance(env, str) else env.id or type(env).__name__
    made = catalogue.make(env) if isinstance(env, str) else env
    presets.make_config(algorithm, settings)
    plan = Plan(
        algorithm=algorithm,
        world=catalogue.full_name(world) if isinstance(env, str) else world,
        preference=preference,
        steps=int(steps),
        seeds=tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
        players=made.players,
        others=others,
        partners=partners,
        learners=learners,
        snapshots=snapshots,
        curriculum=curriculum,
        settings=settings,
    )
    temporary = None
    if folder is None:
        temporary = tempfile.mkdtemp(prefix="sociarium-run-")
        folder = Path(temporary) / "run"
    with training_progress(f"{algorithm} in {world}", show) as on_progress:
        train_into(
            plan,
            folder,
            env=made,
            devices=devices,
            resume=resume,
            seconds=seconds,
            tensorboard=False if temporary else None,
            on_progress=on_progress,
        )
    run = Run(folder, made)
    if temporary:
        weakref.finalize(run, shutil.rmtree, temporary, ignore_errors=True)
    return run
