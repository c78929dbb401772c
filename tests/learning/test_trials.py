"""Memory that is carried through the trials of a series: a recurrent learner adapts within it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sociarium.arena.batch import Batch
from sociarium.core import random
from sociarium.core.trials import Trials
from sociarium.learning import preferences
from sociarium.learning.ppo import PpoConfig, PpoTrainer
from sociarium.metrics.bootstrap import over_episodes
from sociarium.metrics.trials import trial_returns
from sociarium.networks.actor_critic import NetworkConfig
from sociarium.players.policy import Policy
from tests.toys.levers import Levers

TRIALS, SERIES = 3, 200
CONFIG = {
    "lanes": 32,
    "num_steps": 24,
    "num_minibatches": 2,
    "bptt_length": 12,
    "epochs": 4,
    "learning_rate": 5e-3,
    "updates": 30,
    "horizon_ends": True,  # a series has an end that everybody knows
}


class Forgetful(eqx.Module):
    """Plays a policy that forgets everything when a trial begins."""

    policy: Policy

    def begin(self, key):
        return self.policy.begin(key), jnp.int16(0)

    def act(self, key, view, legal, memory):
        remembered, trial = memory
        now = view.shared[-1]
        blank = self.policy.begin(key)
        remembered = jax.tree.map(lambda x, y: jnp.where(now != trial, x, y), blank, remembered)
        action, remembered = self.policy.act(key, view, legal, remembered)
        return action, (remembered, now)


def trained(env: Trials, core: str) -> Policy:
    config = PpoConfig(**CONFIG, network=NetworkConfig(core=core))
    trainer, wish = PpoTrainer(env, config), preferences.parse("selfish", env.players)
    learner = jax.jit(trainer.begin)(random.key(0), config, wish)
    update = jax.jit(trainer.update)
    for _ in range(CONFIG["updates"]):
        learner, _ = update(learner, config, wish)
    return Policy(learner.weights)


def returns_by_trial(env: Trials, player: Any) -> np.ndarray:
    """What the player earned in each trial of many series that it was not trained on."""
    seating = np.zeros((SERIES, env.players), int)
    episodes = Batch(env, (player,), seating, seed=1).episodes()
    return np.stack([trial_returns(episode).mean(1) for episode in episodes])


def test_carried_memory_does_better_in_the_last_trial_than_in_the_first():
    env = Trials(Levers(), TRIALS, reward_in_view=True)
    policy = trained(env, "gru")
    carried = returns_by_trial(env, policy)
    gain = over_episodes(carried[:, -1] - carried[:, 0])
    assert carried.shape == (SERIES, TRIALS)
    assert gain.low > 0.25  # from a guess, 1/2, to 1
    # the same weights without carried memory, in the same series
    forgotten = returns_by_trial(env, Forgetful(policy))
    lost = over_episodes(forgotten[:, -1] - forgotten[:, 0])
    assert not lost.above_zero
    assert over_episodes(carried[:, -1] - forgotten[:, -1]).low > 0.25


def test_a_learner_without_memory_does_not():
    env = Trials(Levers(), TRIALS, reward_in_view=True)
    returns = returns_by_trial(env, trained(env, "none"))
    gain = over_episodes(returns[:, -1] - returns[:, 0])
    assert not gain.above_zero
