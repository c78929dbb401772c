"""Memories: one step by hand, empty at the beginning, and none at all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.networks.layers import Dense
from sociarium.networks.recurrence import Gru, Lstm, NoMemory, core

FEATURES = 3
LOT = np.random.default_rng(0)


def close(left, right):
    np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


def layer(ins, outs):
    return Dense(
        *(jnp.asarray(LOT.normal(size=shape), jnp.float32) for shape in ((ins, outs), outs))
    )


def numbers(*shape):
    return LOT.normal(size=shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def through(layer, *parts):
    return np.concatenate(parts, -1) @ np.asarray(layer.weight) + np.asarray(layer.bias)


def test_one_step_of_an_lstm_by_hand():
    lstm = Lstm(layer(2 * FEATURES, 4 * FEATURES))
    x, shown, cell = (numbers(2, FEATURES) for _ in range(3))
    takes, forgets, gives, offers = np.split(through(lstm.gates, x, shown), 4, -1)
    kept = sigmoid(forgets + 1) * cell + sigmoid(takes) * np.tanh(offers)
    said = sigmoid(gives) * np.tanh(kept)
    out, memory = lstm(jnp.asarray(x), (jnp.asarray(shown), jnp.asarray(cell)))
    close(out, said)
    close(memory[0], said)
    close(memory[1], kept)


def test_one_step_of_a_gru_by_hand():
    gru = Gru(layer(2 * FEATURES, 2 * FEATURES), layer(2 * FEATURES, FEATURES))
    x, before = numbers(2, FEATURES), numbers(2, FEATURES)
    renew, recall = np.split(sigmoid(through(gru.gates, x, before)), 2, -1)
    after = (1 - renew) * before + renew * np.tanh(through(gru.offer, x, recall * before))
    out, memory = gru(jnp.asarray(x), jnp.asarray(before))
    close(out, after)
    close(memory, after)


@pytest.mark.parametrize(("kind", "parts"), [("lstm", 2), ("gru", 1)])
def test_a_new_memory_is_empty_and_as_wide_as_the_features(kind, parts):
    made = core(sociarium.key(0), FEATURES, kind)
    empty = jax.tree.leaves(made.begin(5, 2))
    assert [part.shape for part in empty] == [(5, 2, FEATURES)] * parts
    assert not any(part.any() for part in empty)
    out, memory = made(jnp.ones((5, 2, FEATURES)), made.begin(5, 2))
    assert out.shape == (5, 2, FEATURES)
    assert jax.tree.map(jnp.shape, memory) == jax.tree.map(jnp.shape, made.begin(5, 2))


def test_without_a_memory_features_pass_through():
    made = core(sociarium.key(0), FEATURES, "none")
    x = jnp.ones((2, FEATURES))
    assert isinstance(made, NoMemory) and made.begin(5, 2) == ()
    assert made(x, ()) == (x, ())
    assert not jax.tree.leaves(made)
