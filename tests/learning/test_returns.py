"""Advantages: worked by hand, at both limits of the trace, and against a slow reference."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

from sociarium.learning.returns import gae

TIME, LANES, SEATS = 4, 3, 2
compiled = jax.jit(gae)


def advantages(reward, value, next_value, terminated, ended, gamma=0.5, gae_lambda=0.5):
    given = (np.asarray(x, np.float32) for x in (reward, value, next_value))
    ends = (np.asarray(x, bool) for x in (terminated, ended))
    numbers = jnp.float32(gamma), jnp.float32(gae_lambda)
    return np.asarray(compiled(*map(jnp.asarray, (*given, *ends)), *numbers))


def alone(reward, value, next_value, terminated=(), ended=(), **numbers):
    """One seat of one lane, in a batch whose other numbers do not matter."""

    def spread(x, fill):
        full = np.full((TIME, LANES, SEATS), fill)
        full[:, 1, 0] = x
        return full

    ends = np.zeros((2, TIME, LANES), bool)
    ends[:, list(ended), 1] = True
    ends[0, :, 1] = [step in terminated for step in range(TIME)]
    arrays = spread(reward, 9.0), spread(value, -7.0), spread(next_value, 5.0)
    return advantages(*arrays, *ends, **numbers)[:, 1, 0].tolist()


def test_without_an_end_surprises_are_traced_back():
    # Surprises: r + following / 2 - value.
    found = alone([1, 0, 0, 8], [2, 4, 2, 4], [4, 2, 4, 8])
    assert [1 + 2 - 2, 0 + 1 - 4, 0 + 2 - 2, 8 + 4 - 4] == [1, -3, 0, 8]
    assert found == [1 - 3 / 4 + 8 / 64, -3 + 8 / 16, 8 / 4, 8]


def test_a_time_out_counts_what_followed_and_carries_nothing_over():
    found = alone([1, 0, 0, 8], [2, 4, 2, 4], [4, 6, 4, 8], ended=[1])
    assert found == [1 + (0 + 3 - 4) / 4, 0 + 3 - 4, 8 / 4, 8]


def test_after_a_termination_nothing_follows():
    found = alone([1, 0, 0, 8], [2, 4, 2, 4], [4, 6, 4, 8], terminated=[1], ended=[1])
    assert found == [1 + (0 - 4) / 4, 0 - 4, 8 / 4, 8]


def test_an_end_at_the_last_step():
    numbers = [0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 2, 6]
    assert alone(*numbers)[-1] == alone(*numbers, ended=[3])[-1] == 1 + 3 - 2
    assert alone(*numbers, terminated=[3], ended=[3]) == [
        -1 / 64 + 1 / 16,
        -1 / 16 + 1 / 4,
        3 / 4,
        -1,
    ]


def test_lanes_end_apart_and_their_seats_together():
    reward = np.ones((TIME, LANES, SEATS)) * np.array([1.0, 2.0])
    terminated, ended = np.zeros((2, TIME, LANES), bool)
    ended[1, :2] = terminated[1, 1] = True  # a time-out in lane 0, the end of all in lane 1
    found = advantages(reward, 0 * reward, 4 + 0 * reward, terminated, ended, gae_lambda=1.0)
    last = [[3.0, 4.0]] * 3
    step_2 = [[3 + 3 / 2, 4 + 4 / 2]] * 3
    step_1 = [[3.0, 4.0], [1.0, 2.0], [3 + 4.5 / 2, 4 + 6 / 2]]
    step_0 = [[3 + 3 / 2, 4 + 4 / 2], [3 + 1 / 2, 4 + 2 / 2], [3 + 5.25 / 2, 4 + 7 / 2]]
    np.testing.assert_allclose(found, [step_0, step_1, step_2, last])


def test_without_a_trace_a_gain_is_its_own_surprise():
    lot = np.random.default_rng(0)
    reward, value, next_value = lot.normal(size=(3, TIME, LANES, SEATS))
    ended = lot.random((TIME, LANES)) < 0.5
    terminated = ended & (lot.random((TIME, LANES)) < 0.5)
    goes_on = ~terminated[..., None]
    found = advantages(reward, value, next_value, terminated, ended, gae_lambda=0.0)
    np.testing.assert_allclose(found, reward + 0.5 * goes_on * next_value - value, atol=1e-6)


def test_with_a_full_trace_value_and_gain_are_the_discounted_return():
    lot = np.random.default_rng(1)
    reward, value, _ = lot.normal(size=(3, TIME, LANES, SEATS))
    next_value = np.concatenate([value[1:], lot.normal(size=(1, LANES, SEATS))])
    never = np.zeros((TIME, LANES), bool)
    found = advantages(reward, value, next_value, never, never, gamma=0.9, gae_lambda=1.0)
    total = next_value[-1]
    for step in reversed(range(TIME)):
        total = reward[step] + 0.9 * total
        np.testing.assert_allclose(found[step] + value[step], total, atol=1e-5)


def slowly(reward, value, next_value, terminated, ended, gamma, gae_lambda):
    """Every gain as its own sum over the steps up to the end of the episode."""
    found = np.zeros((TIME, LANES, SEATS))
    for step, lane, seat in np.ndindex(TIME, LANES, SEATS):
        weight = 1.0
        for later in range(step, TIME):
            after = 0.0 if terminated[later, lane] else next_value[later, lane, seat]
            td_error = reward[later, lane, seat] + gamma * after - value[later, lane, seat]
            found[step, lane, seat] += weight * td_error
            if ended[later, lane]:
                break
            weight *= gamma * gae_lambda
    return found


NUMBERS = some.arrays(np.float32, (TIME, LANES, SEATS), elements=st.integers(-50, 50).map(float))
FLAGS = some.arrays(bool, (TIME, LANES))
SHARES = st.sampled_from([0.0, 0.25, 0.9, 1.0])


@given(NUMBERS, NUMBERS, NUMBERS, FLAGS, FLAGS, SHARES, SHARES)
def test_gains_are_those_of_a_slow_reference(
    reward, value, next_value, terminated, timed_out, gamma, gae_lambda
):
    ends = terminated, terminated | timed_out
    found = advantages(reward, value, next_value, *ends, gamma, gae_lambda)
    slow = slowly(reward, value, next_value, *ends, gamma, gae_lambda)
    np.testing.assert_allclose(found, slow, rtol=1e-4, atol=1e-3)
