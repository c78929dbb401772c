"""Windows over n steps worked by hand, and what is drawn again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core.environment import View
from sociarium.core.errors import BadArgument, MissingExtra
from sociarium.learning import replay_buffer
from sociarium.learning.replay_buffer import (
    ReplayBuffer,
    ReplayRows,
    importance_weights,
    n_step,
    n_step_batch,
    priorities,
)

HALF = jnp.float32(0.5)


def close(left, right):
    np.testing.assert_allclose(left, np.array(right, np.float32), rtol=1e-6)


def stepped(utility, terminated, ended):
    """Gain, reach and last row of one window of one seat."""
    flags = (jnp.array([x], bool) for x in (terminated, ended))
    n_step_return, discount, last = n_step(jnp.array(utility)[None, :, None], *flags, HALF)
    return float(n_step_return[0, 0]), float(discount[0]), int(last[0])


def rows(config, ended=None, terminated=None):
    """One seat that sees its number, gets it as utility and then sees one more, 100 at an end."""
    config = jnp.array(config)
    blank = jnp.zeros(config.shape, bool)
    ended = blank if ended is None else jnp.array(ended, bool)
    after = jnp.where(ended, 100, config + 1)

    def seen(code):
        code = code[..., None]
        return View(code[..., None, None, None].astype(jnp.uint8), code[..., None].astype("int16"))

    return ReplayRows(
        seen=seen(config),
        action=config[..., None],
        utility=config[..., None].astype(jnp.float32),
        terminated=blank if terminated is None else jnp.array(terminated, bool),
        ended=ended,
        after=seen(after),
        legal=(after % 2 == 0)[..., None, None],
    )


def test_n_steps_go_on_from_what_came_after_the_last():
    assert stepped([1.0, 2.0, 4.0], [0, 0, 0], [0, 0, 0]) == (1 + 1 + 1, 0.125, 2)


def test_a_time_out_cuts_the_window_and_goes_on_from_the_final_view():
    assert stepped([1.0, 2.0, 4.0], [0, 0, 0], [0, 1, 0]) == (2, 0.25, 1)
    assert stepped([1.0, 2.0, 4.0], [0, 0, 0], [1, 0, 0]) == (1, 0.5, 0)
    assert stepped([1.0, 2.0, 4.0], [0, 0, 0], [0, 0, 1]) == (3, 0.125, 2)


def test_nothing_follows_a_termination():
    assert stepped([1.0, 2.0, 4.0], [0, 1, 0], [0, 1, 0]) == (2, 0, 1)
    assert stepped([1.0, 2.0, 4.0], [0, 0, 1], [0, 0, 1]) == (3, 0, 2)


def test_only_the_first_end_counts():
    assert stepped([1.0, 2.0, 4.0], [0, 1, 0], [1, 1, 0]) == (1, 0.5, 0)
    assert stepped([1.0, 2.0, 4.0], [1, 0, 0], [1, 0, 1]) == (1, 0, 0)


def test_every_seat_has_its_own_gain():
    n_step_return, discount, _ = n_step(
        jnp.array([[[1.0, 10.0], [2.0, 20.0]]]),
        jnp.zeros((1, 2), bool),
        jnp.zeros((1, 2), bool),
        HALF,
    )
    close(n_step_return, [[2, 20]])
    close(discount, [0.25])


def test_a_window_starts_at_its_first_row_and_leads_to_the_last_that_counts():
    window = rows([[3, 4, 5], [6, 7, 8]], ended=[[0, 0, 0], [0, 1, 0]])
    step = n_step_batch(window, HALF)
    assert step.seen.own.ravel().tolist() == [3, 6]
    assert step.action.ravel().tolist() == [3, 6]
    assert step.after.own.ravel().tolist() == [6, 100]  # the final view, not the new start
    assert step.legal.ravel().tolist() == [True, True]
    close(step.n_step_return[:, 0], [3 + 2 + 1.25, 6 + 3.5])
    close(step.discount, [0.125, 0.25])
    close(n_step_batch(window, HALF, horizon_ends=True).discount, [0.125, 0])


def filled(capacity=8, length=2, batch=64, updates=1):
    """Two lanes that count from 0 and from 50, four steps at a time."""
    store = ReplayBuffer(lanes=2, capacity=capacity, length=length, batch=batch)
    memory = store.begin(jax.tree.map(lambda x: x[0, 0], rows([[0]])))
    for update in range(updates):
        config = 4 * update + np.arange(4)
        memory = store.add(memory, rows(np.stack([config, 50 + config], 1)))
    return store, memory


@pytest.mark.parametrize("updates", [1, 2, 5])
def test_windows_are_consecutive_steps_of_one_lane_and_the_newest(updates):
    store, memory = filled(updates=updates)
    sample_actions = store.sample(memory, sociarium.key(0))
    first, second = sample_actions.rows.action[:, 0, 0], sample_actions.rows.action[:, 1, 0]
    assert (second == first + 1).all()
    oldest, newest = max(4 * updates - 8, 0), 4 * updates - 2
    whole = {*range(oldest, newest + 1), *range(50 + oldest, 50 + newest + 1)}
    assert set(np.asarray(first).tolist()) == whole
    assert store.steps_added(memory) == 4 * updates
    close(sample_actions.probability, np.full(64, 1 / len(whole)))


def test_views_are_kept_as_codes():
    _, memory = filled()
    assert memory.experience.seen.cells.dtype == jnp.uint8
    assert memory.experience.after.own.dtype == jnp.int16


def test_priorities_change_what_is_drawn():
    store, memory = filled(length=1, batch=8)
    sample_actions = store.sample(memory, sociarium.key(0))
    wanted = sample_actions.rows.action[:, 0, 0] == 52
    assert wanted.any()
    memory = store.with_priorities(memory, sample_actions, jnp.where(wanted, 7.0, 1.0))
    again = store.sample(memory, sociarium.key(1))
    close(again.probability, np.where(again.rows.action[:, 0, 0] == 52, 0.5, 1 / 14))
    assert (again.rows.action[:, 0, 0] == 52).sum() == 4
    memory = store.with_priorities(
        memory, again, jnp.where(again.rows.action[:, 0, 0] == 52, 0.0, 1.0)
    )
    assert (store.sample(memory, sociarium.key(2)).rows.action != 52).all()


def test_surprise_becomes_a_priority():
    close(priorities(jnp.array([4.0, 9.0]), HALF), [2, 3])
    close(priorities(jnp.array([4.0, 9.0]), jnp.float32(0)), [1, 1])
    assert priorities(jnp.zeros(1), HALF)[0] > 0


def test_corrections_by_hand():
    probability = jnp.array([0.1, 0.4, 0.0])
    close(importance_weights(probability, jnp.float32(0.1), jnp.float32(1)), [1, 0.25, 0])
    close(importance_weights(probability, jnp.float32(0.1), HALF), [1, 0.5, 0])
    close(importance_weights(probability, jnp.float32(0.1), jnp.float32(0)), [1, 1, 0])


def test_a_window_must_fit():
    with pytest.raises(BadArgument, match="no window of 3"):
        ReplayBuffer(lanes=2, capacity=2, length=3, batch=4)


def test_without_flashbax_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(replay_buffer.importlib, "import_module", missing)
    store = ReplayBuffer(lanes=2, capacity=4, length=1, batch=4)
    with pytest.raises(MissingExtra, match=r"\[learning\]"):
        store.begin(jax.tree.map(lambda x: x[0, 0], rows([[0]])))
