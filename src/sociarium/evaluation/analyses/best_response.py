"""Best responses: what one learner does among frozen others, and what it leaves to them.

A learner sits in the first seat, the others are scripts or stored policies that never change. What
it learns to do is (nearly) the best that a selfish player can do there, so it tells whether
defecting pays; playing alone tells whether the learner would do as badly without any others.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from sociarium.core import random
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.evaluation.experiments.design import Condition, Design, LineUp
from sociarium.evaluation.experiments.execution import play
from sociarium.learning import preferences, presets
from sociarium.learning.learner_batch import LearnerBatch
from sociarium.learning.partners import Partners
from sociarium.learning.ppo import PpoConfig, PpoTrainer
from sociarium.players import roster
from sociarium.views.progress import OnProgress, silent

SETTINGS: Mapping[str, Any] = {
    "lanes": 32,
    "num_steps": 128,
    "epochs": 4,
    "num_minibatches": 8,
    "learning_rate": 1e-3,
}
SETTLED = 0.25  # the last part of a training, whose episodes are counted


@dataclass(frozen=True)
class Response:
    """What a player in the first seat earned and what each of the others did beside it."""

    own: Float[np.ndarray, " samples"]  # by seed of a learner, by episode of a script
    others: Float[np.ndarray, " samples"]  # mean return of the others; zero where there are none


def best_responses(
    env: Environment[Any, Any],
    others: str,
    *,
    discounts: Sequence[float] = (0.99,),
    seeds: Sequence[int] = (0,),
    steps: int = 500_000,
    settings: Mapping[str, Any] = SETTINGS,
    params: Any = None,
    on_progress: OnProgress = silent,
) -> list[Response]:
    """One response for each discount, every seed trained for `steps` steps of its own."""
    chairs = seats_beside(env, others)
    config, _ = presets.make_config("ippo", settings)
    updates = max(4, -(-steps // (config.lanes * config.num_steps)))
    least = round(
        int(env.horizon(env.params() if params is None else params)) * config.lanes / SETTLED
    )
    if updates * config.lanes * config.num_steps < least:
        raise BadArgument(
            f"{steps:,} steps end too early to count whole episodes of {env.id or env}; give at "
            f"least {least:,}"
        )
    config = dataclasses.replace(config, updates=updates)
    members = [(discount, seed) for discount in discounts for seed in seeds]
    local = jax.local_devices()
    devices = local if config.lanes % len(local) == 0 else local[:1]
    trainer = PpoTrainer(
        env, config, params=params, partners=Partners(chairs), devices=len(devices)
    )
    learner_batch = LearnerBatch(
        trainer,
        [random.key(seed) for _, seed in members],
        [_patient(config, discount) for discount, _ in members],
        [preferences.Selfish()] * len(members),
        devices,
    )
    returns = _trained(learner_batch, env.players, updates, on_progress)
    own, beside = (
        returns[:, 0],
        returns[:, 1:].mean(1) if chairs else np.zeros(len(members)),
    )
    shape = (len(discounts), len(seeds))
    return [Response(*pair) for pair in zip(own.reshape(shape), beside.reshape(shape), strict=True)]


def scripted_response(
    env: Environment[Any, Any],
    seat: str,
    others: str,
    *,
    episodes: int = 30,
    seed: int = 0,
) -> Response:
    """The same of a script (or any pure player) in the first seat."""
    lineup = LineUp((roster.chair(seat), *seats_beside(env, others)), focal=(0,))
    design = Design((Condition(env),), (lineup,), episodes, seed, seating="fixed")
    returns = play(design, on_progress=silent).raw[0, 0]
    beside = returns[:, 1:].mean(1) if env.players > 1 else np.zeros(episodes)
    return Response(returns[:, 0], beside)


def seats_beside(env: Environment[Any, Any], others: str) -> tuple[roster.Seat, ...]:
    """The chairs of the others; a single seat string fills them all."""
    chairs = roster.parse(others)
    if len(chairs) == 1:
        chairs *= env.players - 1
    if len(chairs) != env.players - 1:
        raise BadArgument(
            f"One learner among {env.players} players has {env.players - 1} others; given "
            f"{len(chairs)} in {others!r}"
        )
    return chairs


def _patient(config: PpoConfig, discount: float) -> PpoConfig:
    return dataclasses.replace(config, gamma=discount)


def _trained(
    learner_batch: LearnerBatch, players: int, updates: int, on_progress: OnProgress
) -> Float[np.ndarray, "members players"]:
    """Mean returns by seat over the episodes at the end of the training."""
    learners = learner_batch.begin()
    total = np.zeros((len(learner_batch.keys), players))
    episodes = np.zeros((len(learner_batch.keys), 1))
    on_progress(0, updates)
    for update in range(updates):
        learners, report = learner_batch.update(learners)
        tally = jax.device_get(report.stats)
        if update >= (1 - SETTLED) * updates:
            total += tally.returns
            episodes += tally.episodes[:, None]
        on_progress(update + 1, updates)
    return total / episodes
