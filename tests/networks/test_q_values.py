"""Noisy layers, dueling streams and the choice among legal actions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core.environment import View
from sociarium.core.specs import OwnSpec, PlaneSpec, ViewSpec
from sociarium.networks.q_values import (
    Noise,
    QNetworkConfig,
    duel,
    expected,
    greedy_actions,
    noise_factors,
    noisy_dense,
    q_values,
)

SPEC = ViewSpec(
    (PlaneSpec("ground", ("none", "grass"), "ground"),), 1, 2, (0, 0), (OwnSpec("coins", 0, 9),)
)


def close(left, right):
    np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


def network(**changes):
    config = QNetworkConfig(**{"atoms": 3, **changes})
    numbers = (jnp.float32(number) for number in (-1, 1, 0.5))
    return q_values(sociarium.key(0), config, SPEC, 4, *numbers)


def seen(batch=()):
    cells, own = jnp.ones((*batch, 1, 1, 2), jnp.uint8), jnp.ones((*batch, 1), jnp.int16)
    blank = View(jnp.zeros((1, 1, 1, 2), jnp.uint8), jnp.zeros((1, 1), jnp.int16))
    return eqx.tree_at(lambda v: (v.cells, v.own), blank, (cells, own))


def test_no_noise_is_the_plain_layer():
    layer = noisy_dense(sociarium.key(0), 3, 2, 1.0, jnp.float32(0.5))
    x = jnp.arange(6.0).reshape(2, 3)
    nothing = Noise(jnp.zeros((1, 3)), jnp.zeros((1, 2)))
    close(layer(x, None), layer.mean(x))
    close(layer(x, nothing), layer.mean(x))


def test_noise_disturbs_weights_by_the_product_of_its_factors():
    layer = noisy_dense(sociarium.key(0), 3, 2, 1.0, jnp.float32(0.5))
    noise = Noise(jnp.array([1.0, -2.0, 0.5]), jnp.array([3.0, -1.0]))
    sigma = 0.5 / 3**0.5
    weight = layer.mean.weight + sigma * noise.ins[:, None] * noise.outs[None]
    x = jnp.array([1.0, -2.0, 3.0])
    close(layer(x, noise), x @ weight + layer.mean.bias + sigma * noise.outs)


def test_factors_are_signed_roots_of_normal_draws():
    sample_actions = noise_factors(sociarium.key(1), 1000)
    normal = jnp.sign(sample_actions) * sample_actions**2
    assert abs(normal.mean()) < 0.15
    assert abs(normal.std() - 1) < 0.15


def test_every_layer_has_noise_of_its_own():
    first, *others = network().noise(sociarium.key(1))
    assert [noise.outs.shape for noise in others] == [(12,), (64,), (3,)]
    assert (first.ins != others[1].ins).any()


def test_different_keys_differ_and_silent_networks_draw_nothing():
    net, silent = network(), network(noisy=False)
    first, second = (net(seen(), net.noise(sociarium.key(k))) for k in (1, 2))
    assert jnp.abs(first - second).max() > 1e-3
    assert not jax.tree.leaves(silent.noise(sociarium.key(1)))
    close(silent(seen(), silent.noise(sociarium.key(1))), silent(seen()))


def test_noise_may_be_drawn_for_each_of_a_batch_or_once():
    net = network()
    keys = jax.random.split(sociarium.key(1), 3)
    each = net(seen((3,)), jax.vmap(net.noise)(keys))
    once = net(seen((3,)), jax.vmap(net.noise)(keys[:1]))
    close(each[0], once[0])
    close(once[0], once[2])
    assert jnp.abs(each[0] - each[2]).max() > 1e-3


def test_advantages_are_centred():
    level, each = jnp.array([2.0, 5.0]), jnp.array([[1.0, 0.0], [3.0, 0.0], [5.0, 3.0]])
    close(duel(level, each), [[0.0, 4.0], [2.0, 4.0], [4.0, 7.0]])
    net = network()
    features = net.torso(seen().cells, seen().own)
    close(net(seen()).mean(0), net.level(features, None, None))


@pytest.mark.parametrize("dueling", [True, False])
def test_worth_is_the_mean_of_the_distribution_or_the_value(dueling):
    net = network(dueling=dueling)
    answer = net(seen((2,)))
    assert answer.shape == (2, 4, 3)
    chances = jax.nn.softmax(answer)
    close(net.expected_values(answer), chances[..., 2] - chances[..., 0])
    plain = network(dueling=dueling, atoms=0)
    answer = plain(seen((2,)))
    close(plain.expected_values(answer), answer.reshape(2, 4))


def test_expected_return_by_hand():
    support = jnp.array([-1.0, 0.0, 1.0])
    close(expected(jnp.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]), support), [-0.5, 0.75])


def test_the_support_is_not_learned():
    slope = jax.grad(lambda net: net.expected_values(net(seen())).sum())(network())
    assert not slope.support.any()


def test_the_best_is_legal_whatever_it_is_worth():
    values = jax.random.normal(sociarium.key(0), (500, 6)) * 100
    legal = jax.random.bernoulli(sociarium.key(1), 0.3, (500, 6)).at[:, 0].set(True)
    chosen = greedy_actions(values, legal)
    assert jnp.take_along_axis(legal, chosen[:, None], 1).all()
    masked = jnp.where(legal, values, -1e9)
    close(jnp.take_along_axis(values, chosen[:, None], 1)[:, 0], masked.max(1))
    assert greedy_actions(jnp.array([-1e30, 5.0]), jnp.array([True, False])) == 0
