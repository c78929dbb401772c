"""Actors and critics: seats with one set of weights or their own, legal draws, fresh memories."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core import random
from sociarium.core.environment import View
from sociarium.core.specs import OwnSpec, PlaneSpec, ViewSpec
from sociarium.networks.actor_critic import (
    ILLEGAL_LOGIT,
    NetworkConfig,
    PerSeat,
    actor_critic,
    sample_actions,
)
from sociarium.networks.critics import CriticInput
from tests.networks.filled import filled

PLANE = PlaneSpec("ground", ("none", "grass", "sand"), "ground")
SPEC = ViewSpec((PLANE,), 2, 2, (1, 0), (OwnSpec("age", 0, 9),))
PLAYERS, ACTIONS, FACTS, TIME, LANES = 3, 4, 5, 6, 2
SHARED, SEPARATE = PerSeat(True, PLAYERS), PerSeat(False, PLAYERS)
LOT = np.random.default_rng(0)
VIEW = View(
    jnp.asarray(LOT.integers(3, size=(TIME, LANES, PLAYERS, 1, 2, 2)), jnp.uint8),
    jnp.asarray(LOT.integers(9, size=(TIME, LANES, PLAYERS, 1)), jnp.int16),
)
LEGAL = LOT.random((TIME, LANES, PLAYERS, ACTIONS)) < 0.6
LEGAL[..., 0] = True
BEGUN = {0: 3, 1: 2}  # when each lane begins anew; its first step goes on from a memory
FRESH = jnp.asarray([[step == BEGUN[lane] for lane in range(LANES)] for step in range(TIME)])


def close(left, right):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5), left, right)


def weights(config, copies=()):
    def new(key):
        return actor_critic(key, config, SPEC, PLAYERS, ACTIONS, FACTS)

    return filled(new, copies=copies)


def of(tree, seat):
    return jax.tree.map(lambda x: x[seat], tree)


def remembered(core, lanes=LANES):
    """A memory that is not empty."""
    units = 64
    full = jnp.asarray(np.random.default_rng(1).normal(size=(lanes, PLAYERS, units)), jnp.float32)
    return {"none": (), "gru": full, "lstm": (full, -full)}[core]


def answers(seats, weights, memory):
    """Features and memory, logits and values of the whole sequence."""
    features, after = seats.read(weights, VIEW, FRESH, memory)
    logits = seats.logits(weights, features, jnp.asarray(LEGAL))
    return features, after, logits, seats.values(weights, features, CriticInput())


def test_weights_play_all_seats_if_shared_and_their_own_if_not():
    config, memory = NetworkConfig(core="lstm"), remembered("lstm")
    own = weights(config, (PLAYERS,))

    @jax.jit
    def plainly(weights):
        features, after = weights.read(VIEW, FRESH, memory)
        value = weights.values(features, CriticInput(), jnp.arange(PLAYERS))
        return features, after, weights.logits(features, jnp.asarray(LEGAL)), value

    shared = jax.jit(lambda weights: answers(SHARED, weights, memory))
    close(shared(of(own, 0)), plainly(of(own, 0)))
    features, after, logits, value = jax.jit(lambda w: answers(SEPARATE, w, memory))(own)
    assert features.shape == (TIME, LANES, PLAYERS, 64)
    for seat in range(PLAYERS):
        f, a, p, v = plainly(of(own, seat))
        close(features[:, :, seat], f[:, :, seat])
        close([m[:, seat] for m in after], [m[:, seat] for m in a])
        close(logits[:, :, seat], p[:, :, seat])
        close(value[:, :, seat], v[:, :, seat])


@pytest.mark.parametrize("sees", ["views", "state+others_actions"])
def test_a_seats_value_is_what_its_own_critic_says(sees):
    own = weights(NetworkConfig(critic_sees=sees, shared=False), (PLAYERS,))
    known = jnp.asarray(LOT.normal(size=(TIME, LANES, FACTS)), jnp.float32)
    critic_input = CriticInput(
        VIEW, known, jnp.asarray(LOT.integers(ACTIONS, size=(TIME, LANES, PLAYERS)))
    )
    features = jnp.zeros((TIME, LANES, PLAYERS, 64))
    value = jax.jit(lambda w: SEPARATE.values(w, features, critic_input))(own)
    shared = jax.jit(lambda w: SHARED.values(w, features, critic_input))
    for seat in range(PLAYERS):
        close(value[..., seat], shared(of(own, seat))[..., seat])


def test_what_is_not_legal_has_no_chance_and_all_the_rest_begins_likely():
    @jax.jit
    def likely(key):
        made = actor_critic(key, NetworkConfig(), SPEC, PLAYERS, ACTIONS, FACTS)
        features, memory = made.read(VIEW, FRESH, ())
        assert memory == ()
        return jax.nn.softmax(made.logits(features, jnp.asarray(LEGAL)))

    chances = np.asarray(likely(sociarium.key(0)))
    assert not chances[~LEGAL].any()
    np.testing.assert_allclose(chances.sum(-1), 1, rtol=1e-5)
    assert chances[LEGAL].min() > 0.9 / ACTIONS


def test_actions_are_drawn_as_often_as_the_logits_say():
    logits = np.array([1.0, ILLEGAL_LOGIT, 0.0, -2.0, 3.0], np.float32)
    draws = 100_000
    words = random.bits(sociarium.key(0), draws)
    chosen = sample_actions(words, jnp.asarray(np.broadcast_to(logits, (draws, 5))))
    expected = draws * np.exp(logits) / np.exp(logits).sum()
    found = np.bincount(chosen, minlength=5)
    assert found[1] == 0
    error = (found - expected)[[0, 2, 3, 4]] ** 2 / expected[[0, 2, 3, 4]]
    assert error.sum() < 18.5  # chi-square with 3 degrees of freedom: one key in 3000 fails


def test_no_word_draws_what_is_not_legal():
    rows, actions = 4000, 24
    legal = LOT.random((rows, actions)) < 0.4
    legal[np.arange(rows), LOT.integers(actions, size=rows)] = True
    legal[0] = np.arange(actions) == 7
    logits = np.where(legal, LOT.normal(size=legal.shape) * 5, ILLEGAL_LOGIT).astype(np.float32)
    heaped = np.cumsum(np.exp(logits) / np.exp(logits).sum(-1, keepdims=True), -1)
    edge = np.clip(heaped * 2.0**23, 0, 2**23 - 1).astype(np.uint32)  # where each action ends
    near = [
        edge[:, action] * 512 + 512 * shift for action in range(0, actions, 4) for shift in (0, 1)
    ]
    draw = jax.jit(sample_actions)
    for word in (0, 1, 511, 512, 2**31, 2**32 - 512, 2**32 - 1, *near):
        words = np.broadcast_to(word, rows).astype(np.uint32)
        chosen = np.asarray(draw(jnp.asarray(words), jnp.asarray(logits)))
        assert legal[np.arange(rows), chosen].all()


def test_the_lowest_word_draws_the_first_legal_action_and_the_highest_the_last():
    logits = jnp.array([ILLEGAL_LOGIT, 0.0, ILLEGAL_LOGIT, 0.0, ILLEGAL_LOGIT])
    for word, action in ((0, 1), (2**31 - 1, 1), (2**31, 3), (2**32 - 1, 3)):
        assert sample_actions(jnp.uint32(word), logits) == action


@pytest.mark.parametrize("core", ["lstm", "gru"])
def test_a_sequence_with_a_new_episode_is_two_sequences(core):
    made, memory = weights(NetworkConfig(core=core)), remembered(core)
    read = jax.jit(lambda made, view, reset, memory: made.read(view, reset, memory))
    features, after = read(made, VIEW, FRESH, memory)
    quiet = jnp.zeros_like(FRESH)
    for lane, start in BEGUN.items():
        before, _ = read(made, VIEW, quiet, memory)
        close(features[:start, lane], before[:start, lane])
        shifted = jax.tree.map(lambda x, start=start: jnp.asarray(np.roll(x, -start, 0)), VIEW)
        empty = jax.tree.map(jnp.zeros_like, memory)
        later, _ = read(made, shifted, quiet, empty)
        close(features[start:, lane], later[: TIME - start, lane])
        shown = after[0] if core == "lstm" else after
        close(shown[lane], features[-1, lane])
