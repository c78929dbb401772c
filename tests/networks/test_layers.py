"""Layers: orthogonal at the start, the last axis mapped and the others kept."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.networks.layers import Dense, dense, head, orthogonal

SHAPES = {"tall": (7, 3), "wide": (3, 7), "square": (64, 64)}


def close(left, right, atol=1e-5):
    np.testing.assert_allclose(left, right, atol=atol)


def gram(weight):
    """The products of the shorter side's vectors with each other."""
    weight = np.asarray(weight)
    return weight.T @ weight if len(weight) >= weight.shape[1] else weight @ weight.T


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shorter_side_is_orthonormal(shape):
    ins, outs = SHAPES[shape]
    keys = jax.random.split(sociarium.key(0), 5)
    sample_actions = jax.jit(jax.vmap(lambda key: orthogonal(key, ins, outs)))(keys)
    assert sample_actions.shape == (5, ins, outs)
    for found in sample_actions:
        close(gram(found), np.eye(min(ins, outs)))


def test_one_key_gives_one_matrix_and_another_key_another():
    one, again, other = (orthogonal(sociarium.key(k), 4, 4) for k in (0, 0, 1))
    assert (one == again).all()
    assert np.abs(one - other).max() > 0.1


def test_all_directions_are_as_likely():
    keys = jax.random.split(sociarium.key(0), 2000)
    sample_actions = np.asarray(jax.vmap(lambda key: orthogonal(key, 3, 2))(keys))
    error = (1 / 3 / len(keys)) ** 0.5  # of a mean; an entry has mean 0 and variance 1 / 3
    assert np.abs(sample_actions.mean(0)).max() < 5 * error
    close((sample_actions**2).mean(0), np.full((3, 2), 1 / 3), atol=0.03)


def test_vmap_and_jit_draw_the_same():
    keys = jax.random.split(sociarium.key(0), 2)
    abreast = jax.jit(jax.vmap(lambda key: orthogonal(key, 5, 4)))(keys)
    close(abreast, [orthogonal(key, 5, 4) for key in keys])


def test_a_new_layer_has_its_scale_and_no_bias():
    plain, scaled = dense(sociarium.key(0), 5, 3), dense(sociarium.key(0), 5, 3, 0.1)
    close(gram(plain.weight), 2 * np.eye(3))
    close(gram(scaled.weight), 0.01 * np.eye(3), atol=1e-7)
    assert not plain.bias.any()


def test_dense_maps_the_last_axis_and_keeps_the_others():
    layer = Dense(jnp.array([[1.0, 0.0], [2.0, -1.0], [0.0, 3.0]]), jnp.array([10.0, 20.0]))
    x = jnp.arange(24.0).reshape(2, 4, 1, 3)
    close(layer(x), np.asarray(x) @ np.asarray(layer.weight) + np.asarray(layer.bias))
    close(layer(x[0, 0, 0]), [12.0, 25.0])  # 0 + 2 * 1 + 10 and -1 * 1 + 3 * 2 + 20
    assert layer(jnp.zeros((0, 3))).shape == (0, 2)


def test_a_head_has_one_hidden_layer_and_outputs_of_its_scale():
    small, large = (head(sociarium.key(0), 6, 2, scale, hidden=8) for scale in (0.01, 1.0))
    x = jax.random.normal(sociarium.key(1), (3, 6))
    hidden = np.maximum(np.asarray(x) @ np.asarray(large.hidden.weight), 0)
    close(large(x), hidden @ np.asarray(large.out.weight))
    close(small(x), large(x) / 100)
