"""Two who learn to speak to each other do what neither can do without words."""

from functools import partial

import equinox as eqx
import jax
import numpy as np
import pytest

from sociarium.charters.none import NoCharter
from sociarium.charters.society import Society
from sociarium.core import random
from sociarium.learning import preferences
from sociarium.learning.ppo import Ppo, PpoTrainer
from sociarium.metrics.speech import influence, listening, signalling
from sociarium.networks.actor_critic import Design
from tests.toys.beacon import KEEPER, WALKER, Beacon

LAMPS, WORDS = 2, 8  # words to spare: with as few as lamps some pairs never agree on a code
DEEDS = 1 + LAMPS
SAID = -1  # the last plane of the ties
BEST = 1 / 2  # lamps lit in a step: a round has two
NUMBERS = {
    "lanes": 64,
    "steps": 16,
    "epochs": 4,
    "minibatches": 4,
    "learning_rate": 1e-2,
    "entropy": 0.03,
    "discount": 0.5,
}


def trained(words, updates):
    """The trainer, its arguments after so many updates with weights of one's own, and the success.

    Success is the share of rounds of the last update that ended with the right lamp.
    """
    env = Society(Beacon(LAMPS), NoCharter(), words=words, parallel_speech=True)
    ppo = Ppo(**NUMBERS, updates=updates, design=Design(shared=False))
    trainer, wish = PpoTrainer(env, ppo), preferences.parse("selfish", env.players)
    learner = jax.jit(trainer.begin)(random.key(0), ppo, wish)
    update = jax.jit(trainer.update)
    for _ in range(updates):
        learner, report = update(learner, ppo, wish)
    return trainer, (learner, ppo, wish), float(report.tally.acts.sum() / report.tally.steps) / BEST


@pytest.fixture(scope="module")
def speakers():
    return trained(WORDS, updates=75)


def rounds(play):
    """The lamp, the keeper's word, what the walker heard a step later and did: round by round."""
    lamp = np.asarray(play.view.cells)[:-1, :, KEEPER, 0, 0, 0]
    word = np.asarray(play.action)[:-1, :, KEEPER] // DEEDS
    heard = np.asarray(play.view.social.ties)[1:, :, WALKER, KEEPER, SAID]
    deed = np.asarray(play.action)[1:, :, WALKER] % DEEDS
    return (x[lamp > 0].astype(int) for x in (lamp, word, heard, deed))


def as_if_heard(trainer, learner, play, word):
    """The walker's chances of every deed if the keeper had just said this, step by step."""
    ties = play.view.social.ties.at[:, :, WALKER, KEEPER, SAID].set(word)
    view = eqx.tree_at(lambda view: view.social.ties, play.view, ties)
    memory = jax.tree.map(lambda x: x[0], play.memory)
    features, _ = trainer.seats.read(learner.weights, view, play.fresh, memory)
    chances = jax.nn.softmax(trainer.seats.logits(learner.weights, features, play.legal))
    return chances[:, :, WALKER].reshape(*ties.shape[:2], WORDS + 1, DEEDS).sum(2)


def test_with_words_they_light_the_right_lamp(speakers):
    *_, found = speakers
    assert found > 0.9


@pytest.mark.slow
def test_without_words_they_guess():
    *_, found = trained(words=0, updates=20)
    assert 0.4 < found < 0.6


def test_what_they_learned_is_to_signal_and_to_listen(speakers):
    trainer, (learner, ppo, wish), _ = speakers
    _, play, *_ = jax.jit(trainer.collect)(learner, ppo, wish)
    lamp, word, heard, deed = rounds(play)
    np.testing.assert_array_equal(word, heard)
    for found in (signalling(word, lamp, shuffles=100), listening(heard, deed, shuffles=100)):
        assert found.bits > 0.5 and found.p < 0.02

    may_light = np.asarray(play.legal)[:, :, WALKER, 1]
    each = jax.jit(jax.vmap(partial(as_if_heard, trainer, learner, play)))
    chances = np.asarray(each(np.arange(WORDS + 1, dtype=np.uint8)))[:, may_light]
    ties = np.asarray(play.view.social.ties)[may_light]
    swayed = influence(chances.swapaxes(0, 1), ties[:, WALKER, KEEPER, SAID])
    assert swayed.low > 0.1
