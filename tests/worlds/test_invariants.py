"""What holds after any step from any state under any actions."""

import dataclasses
import functools

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sociarium
from tests.worlds.comparison import LIVELY, PAIRS, crowded

CASES = (  # every world, and one, two and seven players
    ("coins-v0", 1),
    ("coins-v0", 2),
    ("coins-v0", 7),
    ("harvest_open-v0", 7),
    ("harvest_closed-v0", 2),
    ("harvest_partnership-v0", 1),
    ("clean_up-v0", 2),
    ("clean_up-v0", 7),
)


@dataclasses.dataclass
class Step:
    """A step and everything around it, as NumPy."""

    actions: np.ndarray
    before: object
    legal_before: np.ndarray
    after: object
    transition: object
    legal: np.ndarray
    view: object
    after_staying: object  # the same step with illegal actions replaced by `stay`
    params: object


class Steps:
    """One compiled step of a world, from many states."""

    def __init__(self, name, players):
        self.env = sociarium.make(name, players=players)
        self.lively = LIVELY[PAIRS[name].module]
        self.start = jax.jit(self.env.reset)(sociarium.key(0), self.env.params())
        self._step = jax.jit(self._around)

    def _around(self, key, state, actions, params):
        env, before = self.env, self.env.legal(state, params)
        after, transition = env.step(key, state, actions, params)
        able = before[np.arange(env.players), actions]
        staying, _ = env.step(key, state, actions * able, params)
        view = env.observe(after, params)
        return before, after, transition, env.legal(after, params), view, staying

    def take(self, seed, actions):
        """A step from a crowded state."""
        rng = np.random.default_rng(seed)
        params = self.env.params(**self.lively(rng))
        state = crowded(self.env, jax.tree.map(np.asarray, self.start), rng)
        actions = np.array(actions[: self.env.players], np.int32) % len(self.env.actions)
        legal_before, *rest = jax.tree.map(
            np.asarray, self._step(sociarium.key(seed), state, actions, params)
        )
        return Step(actions, state, legal_before, *rest, jax.tree.map(np.asarray, params))


compiled = functools.cache(Steps)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def steps(request):
    return compiled(*request.param)


any_step = given(st.integers(0, 2**31 - 1), st.lists(st.integers(0, 62), min_size=7, max_size=7))
few = settings(max_examples=25)


def in_play(env, state):
    return state.body != env.terrain.nowhere


@few
@any_step
def test_players_in_play_stand_on_distinct_cells_that_are_no_walls(steps, seed, actions):
    env, step = steps.env, steps.take(seed, actions)
    standing = step.after.body[in_play(env, step.after)]
    assert len(set(standing.tolist())) == len(standing)
    assert not env.terrain.wall.ravel()[standing].any()
    assert ((step.after.heading >= 0) & (step.after.heading < 4)).all()


@few
@any_step
def test_players_step_at_most_one_cell_unless_they_return(steps, seed, actions):
    env, step = steps.env, steps.take(seed, actions)
    stayed = in_play(env, step.before) & in_play(env, step.after)
    if "returned" in step.transition.events:
        stayed &= ~step.transition.events["returned"].mask
    old, new = (np.stack(np.divmod(s.body, env.terrain.cols)) for s in (step.before, step.after))
    assert (abs(old - new).sum(0)[stayed] <= 1).all()


@few
@any_step
def test_who_is_out_of_play_is_nowhere_sees_nothing_and_may_only_stay(steps, seed, actions):
    env, step = steps.env, steps.take(seed, actions)
    out = ~in_play(env, step.after)
    if hasattr(step.after, "away"):
        assert out[step.after.away > 0].all()
    else:
        assert not out.any()
    assert not step.view.cells[out].any()
    assert not step.legal[out, 1:].any()
    assert step.view.cells[~out].any(axis=(1, 2, 3)).all()


@few
@any_step
def test_everybody_may_always_stay_and_no_row_is_empty(steps, seed, actions):
    step = steps.take(seed, actions)
    assert step.legal[:, 0].all()
    assert step.legal.shape == (steps.env.players, len(steps.env.actions))


@few
@any_step
def test_illegal_actions_do_what_staying_does(steps, seed, actions):
    step = steps.take(seed, actions)
    same = jax.tree.map(np.array_equal, step.after, step.after_staying)
    assert all(jax.tree.leaves(same))


@few
@any_step
def test_things_change_only_by_being_taken_and_by_growing(steps, seed, actions):
    """What is gone was taken by somebody; nothing grows under a player."""
    env, step = steps.env, steps.take(seed, actions)
    old, new = lying(env, step.before), lying(env, step.after)
    events = step.transition.events
    taking = [events[kind] for kind in ("ate", "took_own", "took_other") if kind in events]
    taken = set(np.concatenate([event.cell[event.mask] for event in taking]).tolist())
    assert old.keys() - new.keys() == taken
    assert not (new.keys() - old.keys()) & set(step.after.body.tolist())
    assert all(old[cell] == new[cell] for cell in old.keys() & new.keys())


def lying(env, state):
    """{cell: what lies there}: coins by colour, or apples."""
    if hasattr(state, "coin"):
        pairs = zip(env.floor_cells.tolist(), state.coin.tolist(), strict=True)
        return {cell: coin for cell, coin in pairs if coin >= 0}
    cells = env.plot_cells if hasattr(env, "plot_cells") else env.orchard_cells
    return dict.fromkeys(cells[state.apple].tolist(), "apple")


@few
@any_step
def test_reward_is_what_was_taken(steps, seed, actions):
    step = steps.take(seed, actions)
    events, params = step.transition.events, step.params
    if "ate" in events:
        expected = events["ate"].mask * params.apple_reward
    else:
        own, other = events["took_own"], events["took_other"]
        lost = np.bincount(other.other[other.mask], minlength=steps.env.players)
        expected = (own.mask | other.mask) * params.coin_reward + lost * params.loss
    assert np.array_equal(step.transition.reward, expected.astype(np.float32))
    assert np.array_equal(step.transition.raw, step.transition.reward)
    assert np.array_equal(step.transition.distributed, step.transition.reward)


@few
@any_step
def test_every_code_of_a_view_is_in_its_spec(steps, seed, actions):
    env, step = steps.env, steps.take(seed, actions)
    spec = env.view_spec
    shape = (env.players, len(spec.planes), spec.rows, spec.cols)
    assert (step.view.cells.shape, step.view.cells.dtype) == (shape, np.uint8)
    for number, plane in enumerate(spec.planes):
        assert step.view.cells[:, number].max() < len(plane.codes)
    assert (step.view.own.shape, step.view.own.dtype) == ((env.players, len(spec.own)), np.int16)
    for number, own in enumerate(spec.own):
        values = step.view.own[:, number]
        assert own.low <= values.min() and values.max() <= own.high


@pytest.mark.parametrize("players", [2, 7])
@few
@any_step
def test_waste_changes_by_what_was_cleaned_and_fouled(players, seed, actions):
    step = compiled("clean_up-v0", players).take(seed, actions)
    cleaned, fouled = (step.transition.events[kind] for kind in ("cleaned", "fouled"))
    change = step.after.waste.sum() - step.before.waste.sum()
    assert change == fouled.mask.sum() - cleaned.value[cleaned.mask].sum()
    assert fouled.mask.sum() <= 1
    assert step.after.waste[fouled.mask].all()


@few
@any_step
def test_time_passes(steps, seed, actions):
    step = steps.take(seed, actions)
    assert step.after.clock == step.before.clock + 1
    assert step.transition.truncated == (step.after.clock >= step.params.horizon)
    assert not step.transition.terminated


TIMERS = {
    "away": ("exile", "zapped"),
    "cooldown": ("recharge", "fired"),
    "zap_cooldown": ("zap_recharge", "fired"),
}


@few
@any_step
def test_timers_run_down_by_one_unless_they_are_set(steps, seed, actions):
    step = steps.take(seed, actions)
    for timer, (number, kind) in TIMERS.items():
        if hasattr(step.after, timer):
            old, new = getattr(step.before, timer), getattr(step.after, timer)
            event = step.transition.events[kind].mask
            assert (new[event] == getattr(step.params, number)).all()
            assert (new[~event] == np.maximum(old - 1, 0)[~event]).all()
