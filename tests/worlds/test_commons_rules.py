"""Commons, rule by rule, and what its source says about scripted users."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sociarium
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.envs.rounds.commons import FULL, Commons, optimum
from tests.reference.commons import PlainCommons, played

OPTIMUM = 584.98
ENV = Commons(3)
STEP, RESET = jax.jit(ENV.step), jax.jit(ENV.reset)


def after(*rounds, **numbers):
    params = ENV.params(**numbers)
    state, transitions = RESET(sociarium.key(0), params), []
    for number, asked in enumerate(rounds):
        key = jax.random.fold_in(sociarium.key(1), number)
        state, done = STEP(key, state, jnp.array(asked, jnp.int32), params)
        transitions.append(done)
    return state, transitions, params


def test_r1_everybody_gets_what_it_asked_for_and_is_paid_for_it():
    state, (done,), _ = after([0, 2, 3])
    assert done.raw.tolist() == [0, 2, 3] == state.got.tolist()
    assert done.events["took"].mask.tolist() == [False, True, True]
    assert done.events["took"].value.tolist() == [0, 2, 3]


def test_r2_if_all_ask_for_more_than_there_is_everybody_gets_its_part():
    state, (done,), _ = after([1, 2, 3], start=3)
    assert np.allclose(done.raw, [0.5, 1.0, 1.5]) and float(ENV.units(state)) == 0
    assert not bool(state.alive)


def test_r3_the_stock_regrows_by_the_rate_and_up_to_the_capacity():
    state, _, _ = after([0, 0, 0])
    assert float(ENV.units(state)) == pytest.approx(60 + 0.35 * 60 * 0.4, abs=1e-4)
    full, _, _ = after([0, 0, 0], start=100)
    assert float(ENV.units(full)) == pytest.approx(100, abs=1e-4)
    bred, _, _ = after([0, 0, 0], regrowth=3.0)
    assert int(bred.stock) == FULL


def test_r3_a_stock_below_the_least_is_dead_for_ever_and_can_be_taken():
    state, (done, later), _ = after([1, 1, 0], [0, 0, 3], start=11)
    assert not bool(state.alive) and float(ENV.units(state)) == pytest.approx(6, abs=1e-4)
    assert done.events["collapsed"].mask.tolist() == [True]
    assert later.events["collapsed"].mask.tolist() == [False]
    exactly, _, _ = after([1, 0, 0], start=11)
    assert bool(exactly.alive)


def test_r4_everybody_sees_the_stock_and_what_was_taken_and_with_a_ledger_by_whom():
    state, _, params = after([0, 2, 3])
    names = [spec.called(("Ana", "Bo", "Cy")) for spec in ENV.view_spec.shared]
    shown = dict(zip(names, ENV.observe(state, params).shared[0].tolist(), strict=True))
    assert shown["stock"] == 6366 and shown["taken by all"] == 500 and shown["rounds played"] == 1
    assert [shown[f"{name} got"] for name in ("Ana", "Bo", "Cy")] == [0, 200, 300]
    assert ENV.observe(state, params).own.tolist() == [[0, 0], [1, 200], [2, 300]]
    silent = Commons(3, ledger=False)
    assert len(silent.view_spec.shared) == 4 and silent.event_specs[0].visible == "involved"


def test_r5_only_the_number_of_rounds_ends_the_game():
    _, transitions, _ = after([0, 0, 0], [3, 3, 3], horizon=2)
    assert [bool(done.truncated) for done in transitions] == [False, True]
    assert not any(bool(done.terminated) for done in transitions)


def test_a_drawn_end_comes_by_lot():
    env = Commons(2, end="drawn")
    params, step = env.params(continues=0.5), jax.jit(env.step)
    state = env.reset(sociarium.key(0), params)
    keys = jax.random.split(sociarium.key(1), 400)
    ends = [bool(step(key, state, jnp.zeros(2, jnp.int32), params)[1].terminated) for key in keys]
    assert 150 < sum(ends) < 250
    assert "chance of 95%" in env.sheet.rules["R5"]


def test_a_share_is_what_each_can_take_of_a_stock_that_regrows_fastest():
    _, (done,), params = after([0, 2, 3])
    assert int(ENV.fair_share(params)) == 2
    assert done.events["overtook"].mask.tolist() == [False, False, True]
    assert done.events["spared"].mask.tolist() == [True, True, False]


def test_the_optimum_is_the_published_one():
    env = Commons()
    assert optimum(env, env.params()) == pytest.approx(585.0, abs=0.05)
    assert optimum(env, env.params(horizon=30)) == pytest.approx(322.5, abs=0.05)


@pytest.mark.parametrize(
    ("kinds", "share", "died"),
    [
        ("ssssssss", 94.5, None),
        ("gsssssss", 80.6, None),
        ("ggssssss", 28.0, 17),
        ("gggsssss", 19.2, 8),
        ("grrrrrrr", 80.6, None),
        ("ggrrrrrr", 13.9, 3),
        ("gggrrrrr", 13.7, 3),
        ("gggggggg", 12.6, 2),
    ],
)
def test_scripts_reach_the_published_share_of_the_optimum(kinds, share, died):
    names = {"s": "sustainable", "g": "greedy", "r": "reciprocator"}
    env = sociarium.make("commons")
    episode = sociarium.rollout(env, " ".join(f"script:{names[kind]}" for kind in kinds))
    left = float(episode.gauges["stock"][-1])
    welfare, plain_death, _, stocks = played(kinds)
    assert 100 * (episode.raw.sum() + left) / OPTIMUM == pytest.approx(share, abs=0.06)
    assert plain_death == died and 100 * welfare / OPTIMUM == pytest.approx(share, abs=0.06)
    assert np.allclose(episode.gauges["stock"], stocks, atol=0.01)
    dead = [row.step for row in episode.events if row.kind == "collapsed"]
    assert dead == ([] if died is None else [died])


ENFORCED = "commons+sanction?ways=punish&free=1"
OF_ENFORCERS = (
    *((12.6, 2, 0), (10.6, 3, 4), (6.9, 3, 10), (2.6, 4, 18), (-13.6, 9, 48)),
    *((-77.7, None, 225), (-44.1, None, 186), (22.2, None, 112), (94.5, None, 0)),
)


@pytest.mark.parametrize("enforcers", range(9))
def test_enforcement_costs_more_than_it_saves_until_nearly_all_enforce(enforcers):
    share, died, sanctions = OF_ENFORCERS[enforcers]
    seats = (
        f"script:sustainable?social=enforcer*{enforcers} "
        f"script:deterrable?keeps=modest&breaks=greedy*{8 - enforcers}"
    )
    seats = " ".join(word for word in seats.split() if not word.endswith("*0"))
    episode = sociarium.rollout(sociarium.make(ENFORCED), seats)
    left = float(episode.gauges["stock"][-1])
    assert 100 * (episode.reward.sum() + left) / OPTIMUM == pytest.approx(share, abs=0.06)
    assert len([row for row in episode.events if row.kind == "punished"]) == sanctions
    welfare, plain_death, many, _ = played("e" * enforcers + "d" * (8 - enforcers))
    assert (plain_death, many) == (died, sanctions)
    assert 100 * welfare / OPTIMUM == pytest.approx(share, abs=0.06)


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=5, max_size=5))
def test_any_demands_give_what_plain_python_gives(rounds):
    state, transitions, _ = after(*rounds, start=20)
    plain = PlainCommons(3, start=20)
    for asked, done in zip(rounds, transitions, strict=True):
        assert np.allclose([float(units) for units in plain.step(asked)], done.raw, atol=1e-4)
    assert float(ENV.units(state)) == pytest.approx(float(plain.stock), abs=1e-3)
    assert bool(state.alive) == plain.alive


def test_what_cannot_be_is_refused():
    with pytest.raises(BadArgument, match="players is 1 to 100; given 101"):
        Commons(101)
    with pytest.raises(UnknownName, match="weighted"):
        Commons(end="weighted")
    with pytest.raises(UnknownName, match="sad"):
        Commons(framing="sad")
    with pytest.raises(BadArgument, match="needs a world with a ledger"):
        sociarium.rollout(
            sociarium.make("commons?ledger=0+sanction"), "script:greedy?social=enforcer*8", steps=1
        )


def test_the_story_is_told_only_where_it_is_asked_for():
    assert "lake" not in str(Commons().sheet) and "lake" in str(Commons(framing="story").sheet)
