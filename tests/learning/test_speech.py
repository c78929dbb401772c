"""Two who learn to speak to each other do what neither can do without words."""

from functools import partial

import equinox as eqx
import jax
import numpy as np
import pytest

from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from sociarium.core import random
from sociarium.learning import preferences
from sociarium.learning.ppo import PpoConfig, PpoTrainer
from sociarium.metrics.speech import influence, listening, signalling
from sociarium.networks.actor_critic import NetworkConfig
from tests.toys.beacon import KEEPER, WALKER, Beacon

LAMPS, WORDS = 2, 8  # words to spare: with as few as lamps some pairs never agree on a code
DEEDS = 1 + LAMPS
SAID = -1  # the last plane of the ties
BEST = 1 / 2  # lamps lit in a step: a round has two
NUMBERS = {
    "lanes": 64,
    "num_steps": 16,
    "epochs": 4,
    "num_minibatches": 4,
    "learning_rate": 1e-2,
    "entropy_coef": 0.03,
    "gamma": 0.5,
}


def trained(words, updates):
    """The trainer, its arguments after so many updates with weights of one's own, and the success.

    Success is the share of rounds of the last update that ended with the right lamp.
    """
    env = Society(Beacon(LAMPS), Speech(words, free=True))
    config = PpoConfig(**NUMBERS, updates=updates, network=NetworkConfig(shared=False))
    trainer, wish = PpoTrainer(env, config), preferences.parse("selfish", env.players)
    learner = jax.jit(trainer.begin)(random.key(1), config, wish)
    update = jax.jit(trainer.update)
    for _ in range(updates):
        learner, report = update(learner, config, wish)
    return (
        trainer,
        (learner, config, wish),
        float(report.stats.acts.sum() / report.stats.steps) / BEST,
    )


@pytest.fixture(scope="module")
def speakers():
    return trained(WORDS, updates=75)


def rounds(trajectory):
    """The lamp, the keeper's word, what the walker heard a step later and did: round by round."""
    lamp = np.asarray(trajectory.view.cells)[:-1, :, KEEPER, 0, 0, 0]
    word = np.asarray(trajectory.action)[:-1, :, KEEPER] // DEEDS
    heard = np.asarray(trajectory.view.social.ties)[1:, :, WALKER, KEEPER, SAID]
    deed = np.asarray(trajectory.action)[1:, :, WALKER] % DEEDS
    return (x[lamp > 0].astype(int) for x in (lamp, word, heard, deed))


def as_if_heard(trainer, learner, trajectory, word):
    """The walker's chances of every deed if the keeper had just said this, step by step."""
    ties = trajectory.view.social.ties.at[:, :, WALKER, KEEPER, SAID].set(word)
    view = eqx.tree_at(lambda view: view.social.ties, trajectory.view, ties)
    memory = jax.tree.map(lambda x: x[0], trajectory.memory)
    features, _ = trainer.seats.read(learner.weights, view, trajectory.reset, memory)
    chances = jax.nn.softmax(trainer.seats.logits(learner.weights, features, trajectory.legal))
    return chances[:, :, WALKER].reshape(*ties.shape[:2], WORDS + 1, DEEDS).sum(2)


def test_with_words_they_light_the_right_lamp(speakers):
    *_, found = speakers
    assert found > 0.9


@pytest.mark.slow
def test_without_words_they_guess():
    *_, found = trained(words=0, updates=20)
    assert 0.4 < found < 0.6


def test_what_they_learned_is_to_signal_and_to_listen(speakers):
    trainer, (learner, config, wish), _ = speakers
    _, trajectory, *_ = jax.jit(trainer.collect)(learner, config, wish)
    lamp, word, heard, deed = rounds(trajectory)
    np.testing.assert_array_equal(word, heard)
    for found in (signalling(word, lamp, shuffles=100), listening(heard, deed, shuffles=100)):
        assert found.bits > 0.5 and found.p < 0.02

    may_light = np.asarray(trajectory.legal)[:, :, WALKER, 1]
    each = jax.jit(jax.vmap(partial(as_if_heard, trainer, learner, trajectory)))
    chances = np.asarray(each(np.arange(WORDS + 1, dtype=np.uint8)))[:, may_light]
    ties = np.asarray(trajectory.view.social.ties)[may_light]
    swayed = influence(chances.swapaxes(0, 1), ties[:, WALKER, KEEPER, SAID])
    assert swayed.low > 0.1
