"""Critics: the world as numbers, oneself first, and no peeking at one's own action."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Bool, Float, Int, UInt8, UInt32

from sociarium.core.environment import View
from sociarium.core.specs import OwnSpec, PlaneSpec, ViewSpec
from sociarium.networks.critics import BITS, CriticInput, critic, state_features
from tests.networks.filled import filled

SPEC = ViewSpec(
    (PlaneSpec("ground", ("none", "grass", "sand"), "ground"),),
    2,
    2,
    (1, 0),
    (OwnSpec("age", 0, 9),),
)
PLAYERS, ACTIONS, FACTS = 3, 4, 5
SEATS = jnp.arange(PLAYERS)


class Toy(eqx.Module):
    ripe: Bool[Array, " trees"]
    cell: Int[Array, ""]
    debt: Int[Array, " players"]
    seen: UInt8[Array, ""]
    set: UInt32[Array, " words"]
    level: Float[Array, " pools"]


def close(left, right):
    np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


def low_bits(number, count=BITS):
    return [number >> place & 1 for place in range(count)]


def judged(sees):
    return filled(lambda key: critic(key, sees, SPEC, PLAYERS, ACTIONS, FACTS, "lean"))


judge = jax.jit(lambda made, critic_input, seats: made(critic_input, seats))


def windows(seed=0):
    lot = np.random.default_rng(seed)
    return View(
        jnp.asarray(lot.integers(3, size=(2, PLAYERS, 1, 2, 2)), jnp.uint8),
        jnp.asarray(lot.integers(9, size=(2, PLAYERS, 1)), jnp.int16),
    )


def known():
    return jnp.asarray(np.random.default_rng(1).normal(size=(2, FACTS)), jnp.float32)


def test_a_state_in_numbers_by_hand():
    state = Toy(
        ripe=jnp.array([True, False]),
        cell=jnp.int32(4097),
        debt=jnp.array([0, -1], jnp.int32),
        seen=jnp.uint8(0b1000_0001),
        set=jnp.array([0xFFFF_FFFF, 0x8000_0001], jnp.uint32),
        level=jnp.array([0.0, -1.5]),
    )
    wanted = [
        *(1, 0),
        *(np.log(4098), *low_bits(4097)),
        *(0, *[0] * BITS),
        *(-np.log(2), *[1] * BITS),
        *low_bits(0b1000_0001, 8),
        *[1] * 32,
        *low_bits(0x8000_0001, 32),
        *(0, -np.log(2.5)),
    ]
    found = jax.jit(state_features)(state)
    assert found.dtype == jnp.float32
    close(found, wanted)


def test_numbers_of_cells_can_be_told_apart():
    numbers = jax.vmap(state_features)(jnp.arange(2**BITS))
    assert len(np.unique(numbers[:, 1:], axis=0)) == 2**BITS


def test_windows_are_judged_with_ones_own_first_and_the_next_seats_after_it():
    made, view = judged("views"), windows()
    features = np.asarray(jax.jit(lambda m, v: m(v.cells, v.own))(made.torso, view))
    rolled = np.stack([np.roll(features, -seat, axis=1) for seat in range(PLAYERS)], 1)
    value = made.value_head(jnp.asarray(rolled.reshape(2, PLAYERS, -1)))
    close(judge(made, CriticInput(view), SEATS), value[..., 0])


def test_moving_everybody_one_seat_on_moves_the_values_along():
    made, view = judged("views"), windows()
    moved = jax.tree.map(lambda x: jnp.asarray(np.roll(x, 1, axis=1)), view)
    value = np.asarray(judge(made, CriticInput(view), SEATS))
    close(judge(made, CriticInput(moved), SEATS), np.roll(value, 1, axis=1))
    assert np.abs(np.diff(value)).min() > 1e-4  # although one and the same world is judged


@pytest.mark.parametrize("sees", ["views", "state", "state+others_actions"])
def test_some_seats_are_judged_as_they_are_among_all(sees):
    critic_input = CriticInput(windows(), known(), jnp.array([[0, 1, 2], [3, 0, 1]]))
    made = judged(sees)
    everybody = np.asarray(judge(made, critic_input, SEATS))
    close(judge(made, critic_input, jnp.array([2, 0])), everybody[:, [2, 0]])


def test_the_state_is_worth_something_else_to_everybody():
    value = judge(judged("state"), CriticInput(features=known()), SEATS)
    assert value.shape == (2, PLAYERS)
    assert np.abs(np.diff(value)).min() > 1e-4


def test_the_others_actions_count_and_ones_own_does_not():
    made, before = judged("state+others_actions"), np.array([[0, 1, 2], [3, 0, 1]])

    def value(actions):
        critic_input = CriticInput(features=known(), actions=jnp.asarray(actions))
        return np.asarray(judge(made, critic_input, SEATS))

    for seat in range(PLAYERS):
        after = before.copy()
        after[:, seat] = (before[:, seat] + 1) % ACTIONS
        change = np.abs(value(after) - value(before))
        close(change[:, seat], 0)
        assert np.delete(change, seat, axis=1).min() > 1e-4
