"""A run: plan it, train it, write it down; stop it any time and go on where it was."""

import dataclasses
import logging
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from sociarium import catalogue
from sociarium.core import processes, random
from sociarium.core.devices import Device
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument, CannotRead
from sociarium.core.facets import Cooperation, find_facet
from sociarium.core.manifest import read_manifest
from sociarium.core.stopping import asked_to_stop
from sociarium.learning import checkpoints, preferences, presets
from sociarium.learning.folder import ReadFolder, RunFolder
from sociarium.learning.learner_batch import LearnerBatch, Trainer
from sociarium.learning.partners import Partners
from sociarium.learning.population import parse_pool
from sociarium.networks import stored
from sociarium.players import roster
from sociarium.players.policy import WEIGHTS, snapshot_folder

ROWS = 200  # of figures in a whole run, about

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """What is trained: an algorithm in a world, what its learners want, and for how long."""

    algorithm: str
    world: str
    preference: str = ""  # empty: the algorithm's own
    steps: int = 1_000_000  # of the environment, for each seed
    seeds: tuple[int, ...] = (0,)
    players: int | None = None
    others: str = ""  # frozen players in the last seats; the rest learn
    partners: str = ""  # frozen players to draw from for every episode and seat
    learners: int = 1  # seats that learn beside partners
    snapshots: int = 0  # policies to keep on the way, evenly spaced from the untrained one
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the algorithm
    curriculum: str = ""  # a schedule of the rules' numbers, or its name


@dataclass(frozen=True)
class TrainingProgress:
    """How far a run is, and how it does: its last figures, by name."""

    step: int
    steps: int
    steps_per_s: float  # of the environment, all seeds together; 0 until that is known
    figures: Mapping[str, Any]


OnTraining = Callable[[TrainingProgress], None]


class Training:
    """The learners of a plan, and everything needed to go on."""

    def __init__(
        self,
        plan: Plan,
        env: Environment[Any, Any] | None = None,
        devices: Sequence[Device] | None = None,
    ) -> None:
        """`env` is the plan's world if it is at hand; `devices` share the lanes."""
        if plan.steps < 1 or not plan.seeds or len(set(plan.seeds)) < len(plan.seeds):
            raise BadArgument(
                f"A run needs steps and different seeds; given {plan.steps} and {plan.seeds}"
            )
        if plan.snapshots < 0:
            raise BadArgument(f"snapshots are 0 or more; given {plan.snapshots}")
        self.env = catalogue.make(plan.world, players=plan.players) if env is None else env
        self.plan = dataclasses.replace(
            plan,
            world=self.env.id or plan.world,
            preference=plan.preference or presets.find(plan.algorithm).preference,
        )
        config, _ = presets.make_config(plan.algorithm, plan.settings)
        self.each_update = config.lanes * config.num_steps
        if min(config.lanes, config.num_steps) < 1:
            raise BadArgument(
                f"lanes and num_steps are 1 or more; given {config.lanes} and {config.num_steps}"
            )
        self.updates = -(-plan.steps // self.each_update)
        config = dataclasses.replace(config, updates=self.updates)
        self.algorithm_config = config
        wish = preferences.parse(self.plan.preference, self.env.players)
        if plan.partners and isinstance(wish, preferences.Mixed):
            raise BadArgument(
                "beside partners that are drawn learners sit anywhere, so all want the same: give "
                f"one preference; given {self.plan.preference!r}"
            )
        chosen = _dividing(config.lanes, jax.devices() if devices is None else devices)
        keys = [random.key(seed) for seed in plan.seeds]
        settings = tuple(sorted(plan.settings.items()))
        partners = Partners(roster.parse(plan.others), parse_pool(plan.partners), plan.learners)
        program = (plan.algorithm, settings, self.updates, partners, plan.curriculum)
        stored_players = any(seat.kind == "policy" for seat in partners.fixed + partners.pool)
        self.learner_batch = LearnerBatch(
            (_new_trainer if stored_players else _trainer)(self.env, *program, len(chosen)),
            keys,
            [config] * len(keys),
            [wish] * len(keys),
            chosen,
        )
        self.done = 0  # updates

    @cached_property
    def learners(self) -> Any:
        """Everybody who learns, one along the leading axis for each seed."""
        return self.learner_batch.begin()

    @cached_property
    def window(self) -> Any:
        """Sums of what the updates since the last row of figures told."""
        return _nothing(self.learner_batch, self.learners)

    @property
    def step(self) -> int:
        """Environment steps that each seed has made."""
        return self.done * self.each_update

    @property
    def config(self) -> dict[str, Any]:
        """Everything that decides what is learned, as the manifest of a run has it."""
        return {**dataclasses.asdict(self.plan), "hyperparameters": self.settings}

    @property
    def settings(self) -> dict[str, Any]:
        """The config of the algorithm and of its network as plain values."""
        made = self.algorithm_config
        shown = {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}
        network = dataclasses.asdict(made.network)
        shown.pop("network", None)
        shown = {k: v.item() if isinstance(v, jax.Array) else v for k, v in shown.items()}
        return {**shown, **network}

    def update(self) -> dict[str, Any] | None:
        """One update of every seed, and a row of figures if one is due."""
        self.learners, report = self.learner_batch.update(self.learners)
        report = jax.device_get(report)
        self.window = jax.tree.map(np.add, self.window, (report.stats, report.metrics, 1.0))
        self.done += 1
        if self.done % max(1, self.updates // ROWS) and self.done < self.updates:
            return None
        row = self.figures()
        self.window = jax.tree.map(np.zeros_like, self.window)
        return row

    def figures(self) -> dict[str, Any]:
        """What the updates since the last row of figures told."""
        cooperation = find_facet(self.env, Cooperation)
        return figures(*self.window, has_rate=cooperation is not None and cooperation.has_rate)

    def save(self, folder: Path, keep: int) -> None:
        """A checkpoint from which training goes on bit for bit, with any number of processes."""
        tree = (self.learner_batch.whole(self.learners), self.window)
        if not processes.leads():
            return
        about = {"updates": self.done, "network_version": stored.NETWORK_VERSION}
        checkpoints.save(folder, self.step, tree, about, keep)

    def restore(self, folder: Path) -> bool:
        """Goes back to the newest whole checkpoint, if there is one."""
        place = checkpoints.latest(folder)
        if place is None:
            return False
        if other := stored.another_version(checkpoints.about(place)):
            raise CannotRead(f"{place} was {other}")
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), self.learners)
        learners, self.window = checkpoints.load(place, (shapes, self.window))
        self.learners = self.learner_batch.placed(learners)
        self.done = checkpoints.about(place)["updates"]
        return True

    def weights(self, member: int) -> Any:
        """What one seed has learned."""
        return jax.tree.map(lambda x: np.asarray(x)[member], self.learners.weights)

    @property
    def snapshot_due(self) -> bool:
        """Whether this is one of the moments at which policies are kept."""
        many = self.plan.snapshots
        return self.done in {number * self.updates // many for number in range(many)}

    def export(self, folder: Path) -> None:
        """Leaves each seed's policy for others to play with."""
        if processes.leads():
            self._save_policies(folder / WEIGHTS)

    def snapshot(self, folder: Path) -> None:
        """Keeps each seed's policy as it is now, if this is one of the moments for it."""
        if self.snapshot_due and processes.leads():
            self._save_policies(snapshot_folder(folder, self.step))

    def _save_policies(self, folder: Path) -> None:
        for member, seed in enumerate(self.plan.seeds):
            stored.save(
                folder / f"seed-{seed}",
                self.weights(member),
                self.algorithm_config.network,
                self.env,
                algorithm=self.plan.algorithm,
                preference=self.plan.preference,
                seed=seed,
                steps=self.step,
            )


def _new_trainer(
    env: Environment[Any, Any],
    algorithm: str,
    settings: tuple[tuple[str, Any], ...],
    updates: int,
    partners: Partners,
    curriculum: str,
    devices: int,
) -> Trainer:
    """The trainer of a plan."""
    config, kind = presets.make_config(algorithm, dict(settings))
    config = dataclasses.replace(config, updates=updates)
    return kind(env, config, partners=partners, devices=devices, curriculum=curriculum)


# Equal plans share a trainer, and with it what was compiled; not where it holds weights of a file,
# which may be trained again.
_trainer = lru_cache(maxsize=8)(_new_trainer)


def train_into(
    plan: Plan,
    folder: str | Path,
    *,
    env: Environment[Any, Any] | None = None,
    devices: Sequence[Device] | None = None,
    resume: bool = False,
    checkpoint_every: float = 60.0,
    keep: int = checkpoints.KEEP,
    seconds: float = float("inf"),
    tensorboard: bool | None = None,
    on_progress: OnTraining = lambda now: None,
) -> bool:
    """Trains into a run folder; whether it came to the end.

    It stops early after `seconds`, at Ctrl-C and when terminated, always with a checkpoint to
    `resume` from; what is lost at worst is the time since the last one, `checkpoint_every` seconds.
    """
    started = saved = begun = time.monotonic()
    training = Training(plan, env, devices)
    with RunFolder(folder, tensorboard) if processes.leads() else ReadFolder(folder) as run:
        if resume:
            run.expect(training.config)
            run.own()
            training.restore(run.checkpoints)
            run.resume(training.step)
        else:
            run.begin(training.config, plan.seeds)
        first, row = training.done, None
        training.snapshot(run.path)
        asked: list[int] = []

        def ask(number: int) -> None:
            if training.done == first:  # nothing yet that is worth keeping
                signal.raise_signal(number)
            asked.append(number)
            log.warning("Saving after this update; ask again to stop at once.")

        with asked_to_stop(ask):
            while training.done < training.updates:
                due = training.update()
                if due is not None:
                    run.report(training.step, due)
                training.snapshot(run.path)
                row = due or row or training.figures()
                now = time.monotonic()
                begun = now if training.done == first + 1 else begun  # when all is compiled
                played = (training.done - first - 1) * training.each_update * len(plan.seeds)
                pace = played / (now - begun) if played else 0.0
                on_progress(TrainingProgress(training.step, plan.steps, pace, row))
                over = training.done == training.updates
                facts = (bool(asked), now - started > seconds, now - saved > checkpoint_every)
                stopped, enough, aged = processes.any_says(facts)
                if over or stopped or enough or aged:
                    training.save(run.checkpoints, keep)
                    training.export(run.path)
                    run.update()
                    saved = time.monotonic()
                if stopped and not over:
                    raise KeyboardInterrupt
                if enough and not over:
                    return False
        training.export(run.path)
        run.update(finished=True)
    if asked:
        raise KeyboardInterrupt
    return True


def plan_of(folder: str | Path) -> Plan:
    """The plan that a run folder was begun with."""
    config = read_manifest(folder)["config"]
    try:
        return read_plan(config)
    except (KeyError, TypeError) as error:
        raise CannotRead(f"{folder} is no run folder of `sociarium train`") from error


def read_plan(config: Mapping[str, Any]) -> Plan:
    """The plan in a config of plain values, which may hold more."""
    known = {f.name: config[f.name] for f in dataclasses.fields(Plan)}
    return Plan(**{**known, "seeds": tuple(known["seeds"])})


def figures(
    stats: Any, metrics: Mapping[str, Any], updates: Any, has_rate: bool = True
) -> dict[str, Any]:
    """What sums over some updates say, each an array over seeds; not a number where none ended.

    Neither is cooperation where it has no rate.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        returns = stats.returns / stats.episodes[:, None]
        chances = stats.acts.sum(1) + stats.refusals.sum(1) if has_rate else np.nan
        each = 1000 / stats.steps  # a thousand steps, the length of most episodes
        return {
            "return": returns.sum(1),
            "returns": returns,
            "episodes": stats.episodes,
            "cooperation": stats.acts.sum(1) / chances,
            "acts": stats.acts.sum(1) * each,
            "refusals": stats.refusals.sum(1) * each,
            **{name: total / updates for name, total in metrics.items()},
        }


def _nothing(learner_batch: LearnerBatch, learners: Any) -> Any:
    """Empty sums of what updates report."""
    _, report = jax.eval_shape(learner_batch.update, learners)
    empty = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), (report.stats, report.metrics))
    return (*empty, np.zeros(()))


def _dividing(lanes: int, devices: Sequence[Device]) -> tuple[Device, ...]:
    """As many of the devices as share the lanes evenly; of several processes all must take part."""
    many = next(n for n in range(min(len(devices), lanes), 0, -1) if lanes % n == 0)
    if not processes.alone() and many < len(devices):
        raise BadArgument(
            f"{jax.process_count()} processes have {len(devices)} devices, which cannot share "
            f"{lanes} lanes evenly; give a multiple, as in --set lanes={lanes * len(devices)}"
        )
    return tuple(devices[:many])
