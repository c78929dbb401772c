"""How fast training runs, and what it spends its time on."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array

from sociarium.core import random
from sociarium.core.errors import BadArgument
from sociarium.learning.learner_batch import LANES, WHOLE
from sociarium.learning.ppo import PpoState, PpoTrainer
from sociarium.learning.training import Plan, Training

PLAYED = PartitionSpec(None, None, "lanes")


@dataclass(frozen=True)
class TrainSpeed:
    """One measurement; times are medians over rounds in which all three programs ran in turn."""

    world: str
    algorithm: str
    players: int
    lanes: int
    devices: int
    env_steps_per_s: float  # of the whole update: play and learn
    env_share: float  # of that time, stepping the world and making views
    ratio: float  # to the same update on a frozen, recorded batch
    update_s: float
    frozen_s: float
    env_s: float
    compile_s: float
    rounds: int
    settings: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return asdict(self)


def measure(
    plan: Plan, *, seconds: float = 20.0, on_progress: Callable[[str], None] = lambda stage: None
) -> TrainSpeed:
    """Times the update, the update on a frozen batch, and the world alone, round after round."""
    training = Training(plan)
    learner_batch, trainer = training.learner_batch, training.learner_batch.trainer
    if not isinstance(trainer, PpoTrainer):
        raise BadArgument(f"{plan.algorithm} cannot be taken apart; give one of the PPO kind")
    specs = learner_batch.specs(training.learners)
    whole = (specs, WHOLE, WHOLE)
    recorded = learner_batch.spread(lambda *m: trainer.collect(*m)[1:3], whole, PLAYED)
    frozen = learner_batch.spread(
        lambda learner, config, trajectory, advantages: (
            trainer.fit(learner, config, trajectory, advantages)[0].weights
        ),
        (specs, WHOLE, PLAYED, PLAYED),
        WHOLE,
    )
    world = learner_batch.spread(lambda *m: _world_alone(trainer, *m), whole, LANES)

    on_progress("compiling")
    begun = time.perf_counter()
    training.update()
    compiled = time.perf_counter() - begun
    given = (learner_batch.configs, learner_batch.preferences)
    batch = jax.block_until_ready(recorded(training.learners, *given))
    runs: dict[str, Callable[[], Any]] = {
        "update": training.update,
        "frozen": lambda: frozen(training.learners, learner_batch.configs, *batch),
        "env": lambda: world(training.learners, *given),
    }
    for run in runs.values():
        jax.block_until_ready(run())
    times: dict[str, list[float]] = {name: [] for name in runs}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(times["update"]) < 3:
        for name, run in runs.items():
            on_progress(f"round {len(times['env']) + 1}, {name}")
            start = time.perf_counter()
            jax.block_until_ready(run())
            times[name].append(time.perf_counter() - start)
    middle = {name: statistics.median(taken) for name, taken in times.items()}
    return TrainSpeed(
        world=training.env.id,
        algorithm=plan.algorithm,
        players=training.env.players,
        lanes=training.algorithm_config.lanes,
        devices=trainer.devices,
        env_steps_per_s=training.each_update * len(plan.seeds) / middle["update"],
        env_share=middle["env"] / middle["update"],
        ratio=middle["frozen"] / middle["update"],
        update_s=middle["update"],
        frozen_s=middle["frozen"],
        env_s=middle["env"],
        compile_s=compiled,
        rounds=len(times["update"]),
        settings=training.settings,
    )


def _world_alone(trainer: PpoTrainer, learner: PpoState, config: Any, preference: Any) -> Array:
    """As many steps as an update plays, with views and legality, under random actions."""
    worker = trainer.worker
    actions = len(trainer.env.actions)

    def step(carry: Any, _: None) -> Any:
        rollout, seen = carry
        bits = worker.bits(rollout)
        chosen = random.randint_from_bits(bits, jnp.full(bits.shape, actions))
        everybody, minds = worker.with_frozen(rollout, chosen)
        rollout, _outcome = worker.step(
            rollout, everybody, minds, trainer.params, preference, jnp.float32(0)
        )
        seen = seen + rollout.view.cells[:, 0, 0, 0, 0].astype(jnp.int32)
        return (rollout, seen), None

    start = (learner.rollout, jnp.zeros(worker.n, jnp.int32))
    (_, seen), _ = jax.lax.scan(step, start, None, length=config.num_steps)
    return seen
