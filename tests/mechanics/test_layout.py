"""Batches laid out for speed give what plain batches give."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.mechanics.layout import lanes_last, no_inline


def rivals(place, weight):
    """Pairwise, over the first axis, with any axes behind: how much weight shares my place."""
    same = place[:, None] == place[None]
    return jnp.sum(jnp.where(same, weight[None], 0.0), axis=1), same.any(1)


laid_out = lanes_last(rivals)
rng = np.random.default_rng(0)
PLACE, WEIGHT = rng.integers(0, 4, (3, 5, 7)), rng.integers(0, 9, (3, 5, 7)).astype(np.float32)


def alone(place, weight):
    """`rivals` of one lane, in NumPy."""
    same = place[:, None] == place[None]
    return np.where(same, weight[None], 0).sum(1), same.any(1)


def check(got, lanes):
    """Every lane of the outcome, [*lanes, players], is what that lane gives alone."""
    for index in np.ndindex(lanes.shape[:-1]):
        for part, expected in zip(got, alone(*lanes[index]), strict=True):
            np.testing.assert_array_equal(part[index], expected)


def stacked(place, weight):
    """Pairs of lanes in one object array."""
    lanes = np.empty((*place.shape[:-1], 2), object)
    for index in np.ndindex(place.shape[:-1]):
        lanes[index] = [place[index], weight[index]]
    return lanes


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_one_lane_is_computed_as_it_is(wrap):
    check(
        wrap(laid_out)(PLACE[0, 0], WEIGHT[0, 0]), stacked(PLACE[0, 0][None], WEIGHT[0, 0][None])[0]
    )


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_lanes_equal_lanes_alone(wrap):
    lanes = jnp.asarray(PLACE[0]), jnp.asarray(WEIGHT[0])
    check(wrap(jax.vmap(laid_out))(*lanes), stacked(PLACE[0], WEIGHT[0]))


def test_lanes_of_lanes_equal_lanes_alone():
    check(jax.jit(jax.vmap(jax.vmap(laid_out)))(PLACE, WEIGHT), stacked(PLACE, WEIGHT))


@pytest.mark.parametrize("shared", [0, 1])
def test_an_argument_that_all_lanes_share_is_spread(shared):
    lanes, axes = [PLACE[0], WEIGHT[0]], [0, 0]
    spread = list(lanes)
    spread[shared] = np.broadcast_to(lanes[shared][0], lanes[shared].shape)
    lanes[shared], axes[shared] = lanes[shared][0], None
    check(jax.jit(jax.vmap(laid_out, tuple(axes)))(*lanes), stacked(*spread))


def test_lanes_may_lie_on_any_axis_going_in_and_coming_out():
    mapped = jax.jit(jax.vmap(laid_out, (1, -1), out_axes=1))
    total, any_ = mapped(PLACE[0].T.copy(), WEIGHT[0].T.copy())
    check((total.T, any_.T), stacked(PLACE[0], WEIGHT[0]))


def test_nested_lanes_may_share_different_arguments():
    inner = jax.vmap(laid_out, (0, None))
    outer = jax.jit(jax.vmap(inner, (None, 0)))
    got = outer(PLACE[0], WEIGHT[:, 0])
    place = np.broadcast_to(PLACE[0][None], (3, 5, 7))
    weight = np.broadcast_to(WEIGHT[:, 0][:, None], (3, 5, 7))
    check(got, stacked(place, weight))


def test_the_lane_axis_is_last_inside():
    """The function sees [players, *lanes] though the caller gives [lane, player]."""
    seen = []

    @lanes_last
    def note(x):
        seen.append(x.shape)
        return x

    jax.vmap(jax.vmap(note))(jnp.zeros((2, 3, 7)))
    assert seen[-1] == (7, 3, 2)


def test_no_inline_changes_no_value():
    table = jnp.asarray(rng.permutation(50))
    index = jnp.asarray(rng.integers(0, 50, (4, 6)))

    def read_twice(unit, index):
        read = unit(lambda where: table[where] * 2, index)
        return read + 1, read.sum(0)

    plain = read_twice(lambda function, x: function(x), index)
    for wrapped in (read_twice, jax.jit(read_twice, static_argnums=0)):
        for once, expected in zip(wrapped(no_inline, index), plain, strict=True):
            np.testing.assert_array_equal(once, expected)
    mapped = jax.jit(jax.vmap(lambda row: no_inline(lambda where: table[where], row)))(index)
    np.testing.assert_array_equal(mapped, table[index])


def test_no_inline_is_traced_once_for_each_way_that_a_platform_may_take():
    traces = []

    def noted(x):
        traces.append(x.shape)
        return x + 1

    for _ in range(3):
        no_inline(noted, jnp.zeros(4))
    assert traces == [(4,), (4,)]
