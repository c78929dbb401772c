"""A series of trials is one episode on one drawing of hidden numbers."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.batch import Batch
from sociarium.arena.rollout import rollout
from sociarium.charters.contract import Contract
from sociarium.charters.society import Society
from sociarium.conformance.contract import CLAUSES, examine, same
from sociarium.core.environment import compiled
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.facets import Bench, Cooperation, Places
from sociarium.core.hidden import Revealed
from sociarium.core.trials import Trials
from sociarium.players import roster
from tests.toys.meadow import Meadow
from tests.toys.stall import COUNTER, GO, KETTLE, PANTRY, Stall

STAY = 0


class Closing(Stall):
    """A stall that closes when somebody stands at the counter, which ends the episode."""

    def step(self, key, state, actions, params):
        after, transition = super().step(key, state, actions, params)
        closes = (after.at == COUNTER).any() & ~transition.truncated
        return after, eqx.tree_at(lambda t: t.terminated, transition, closes)


@partial(jax.jit, static_argnums=0)
def play(env, key, actions, params):
    """The states after all steps and what they did, under these actions."""

    def step(state, given):
        number, action = given
        k_step = jax.random.fold_in(key, number)
        after, transition = env.step(k_step, state, action, params)
        return after, (after, transition, env.observe(after, params), env.gauges(after, params))

    start = env.reset(key, params)
    return start, jax.lax.scan(step, start, (jnp.arange(len(actions)), actions))[1]


def steps(action, length, players=2):
    return jnp.full((length, players), action)


def at(tree, index):
    return jax.tree.map(lambda x: x[index], tree)


def test_trials_keep_the_contract():
    assert set(sociarium.check(Trials(Stall(), 3))) == set(CLAUSES)
    society = Society(Stall(), Contract(rounds=1))
    skip = ("jit equals eager", "any key", "state to disk", "out of range is stay")
    env = Trials(society, 2, reward_in_view=True)
    assert not [finding for finding in examine(env, skip=skip) if finding[1]]


def test_only_the_last_trial_ends_the_series_and_every_trial_has_its_whole_length():
    env = Trials(Stall(), 3)
    params = env.params(horizon=5)
    assert int(env.horizon(params)) == 15
    start, (states, transition, views, gauges) = play(env, sociarium.key(0), steps(0, 15), params)
    assert np.flatnonzero(transition.truncated).tolist() == [14]
    assert not transition.terminated.any()
    clocks = [1, 2, 3, 4, 0]
    assert states.inner.clock.tolist() == [*clocks, *clocks, 1, 2, 3, 4, 5]  # its last view is kept
    trials = [1] * 4 + [2] * 5 + [3] * 6
    assert gauges["trial"].tolist() == (states.trial + 1).tolist() == trials
    assert views.shared[:, 0, -1].tolist() == views.shared[:, 1, -1].tolist() == trials
    assert env.view_spec.shared[-1].name == "trial" and int(start.trial) == 0


def test_a_trial_that_terminates_is_followed_by_the_next_and_the_last_one_terminates():
    env = Trials(Closing(), 2)
    to_the_counter = steps(GO + COUNTER, 2)
    _, (states, transition, *_) = play(env, sociarium.key(0), to_the_counter, env.params())
    assert transition.terminated.tolist() == [False, True] and not transition.truncated.any()
    assert states.trial.tolist() == [1, 1] and states.inner.clock.tolist() == [0, 1]


def test_the_start_of_a_trial_does_not_depend_on_how_earlier_ones_went():
    env = Trials(Closing(), 4)
    params = env.params(horizon=6)
    starts, lengths = {}, {}
    for name, actions in {
        "waits": steps(GO + PANTRY, 24),
        "closes": steps(GO + COUNTER, 24),
        "closes late": jnp.tile(jnp.array([GO + KETTLE] * 3 + [GO + COUNTER])[:, None], (6, 2)),
    }.items():
        first, (states, *_) = play(env, sociarium.key(3), actions, params)
        begins = np.searchsorted(states.trial, [1, 2, 3])
        starts[name] = [first.inner, *(at(states.inner, int(step)) for step in begins)]
        lengths[name] = begins.tolist()
    assert lengths["waits"] != lengths["closes"] != lengths["closes late"] != lengths["waits"]
    assert same(starts["waits"], starts["closes"]) and same(starts["waits"], starts["closes late"])
    places = {tuple(start.at.tolist()) for start in starts["waits"]}
    assert len(places) > 1  # trials do start differently


def test_hidden_numbers_last_for_a_series_and_differ_between_lanes():
    env = Trials(Stall(), 3)
    params = env.params(horizon=4, brewing=9)
    keys = jax.random.split(sociarium.key(0), 16)
    run = jax.jit(jax.vmap(lambda key: play(env, key, steps(0, 12), params)))
    start, (states, *_) = run(keys)
    brewing = np.asarray(states.hidden["brewing"])
    assert (brewing == np.asarray(start.hidden["brewing"])[:, None]).all()
    assert {*brewing[:, 0].tolist()} == {2, 3}
    held_out = Trials(Stall(), 3, split="held_out")
    assert int(held_out.reset(keys[0], params).hidden["brewing"]) == 5
    one = at(states, (0, 0))
    now = env.inner_params(one, params)
    assert (int(now.brewing), int(now.horizon)) == (int(brewing[0, 0]), 4)


def test_the_drawn_number_is_the_one_that_counts_and_is_revealed():
    """The kettle is at work for as long as the drawing says, whatever the parameters given."""
    env = Trials(Revealed(Stall(1)), 2, split="held_out")
    params = env.params(brewing=2)
    state = env.reset(sociarium.key(0), params)
    here = eqx.tree_at(
        lambda s: (s.inner.at, s.inner.hands), state, (jnp.array([KETTLE]), jnp.array([1]))
    )
    brew = [action.name for action in env.actions].index("brew")
    after, _ = compiled(env, "step")(sociarium.key(1), here, jnp.array([brew]), params)
    assert int(after.inner.busy) == 5
    assert env.observe(after, params).shared[0, -2:].tolist() == [5, 1]


def test_compiled_batched_and_plain_steps_agree_where_a_trial_begins():
    env = Trials(Stall(), 2, reward_in_view=True)
    params = env.params(horizon=3)
    keys = jax.random.split(sociarium.key(0), 6).reshape(2, 3)
    clock = jnp.array([[0, 1, 2], [2, 0, 1]])  # some of these lanes begin a trial now
    states = jax.vmap(jax.vmap(env.reset, (0, None)), (0, None))(keys, params)
    states = eqx.tree_at(lambda s: s.inner.clock, states, clock)
    actions = jnp.full((2, 3, 2), GO + KETTLE)
    over = jax.vmap(env.step, (0, 0, 0, None))
    many = jax.jit(jax.vmap(over, (0, 0, 0, None)))(keys, states, actions, params)
    assert many[0].trial.tolist() == [[0, 0, 1], [1, 0, 0]]
    for index in ((0, 0), (0, 2), (1, 0)):
        given = at(keys, index), at(states, index), at(actions, index), params
        assert same(compiled(env, "step")(*given), at(many, index))
    assert same(env.step(*given), at(many, index))


def test_runners_play_a_series_as_any_episode():
    env = Trials(Stall(), 2)
    played = Batch(env, ("random",), np.zeros((3, 2), int), seed=4).episodes()
    alone = rollout(env, "random", seed=4, lane=2)
    assert len(alone) == 48 and alone.truncated[-1]
    assert np.array_equal(alone.actions, played[2].actions)
    assert np.array_equal(alone.raw, played[2].raw)
    assert alone.gauges["trial"].tolist() == played[2].gauges["trial"].tolist()
    assert np.shape(alone.states.key_words) == (49, 2)


def test_the_last_action_and_reward_are_shown_where_asked_for():
    env = Trials(Stall(), 2, reward_in_view=True)
    names = [spec.name for spec in env.view_spec.own]
    assert names == ["hands", "last action", "last reward (in 0.01)"]
    params = env.params(horizon=2)
    state = env.reset(sociarium.key(0), params)
    assert env.observe(state, params).own[:, 1:].tolist() == [[0, 0], [0, 0]]
    state = eqx.tree_at(
        lambda s: (s.inner.at, s.inner.hands, s.inner.clock),
        state,
        (jnp.array([COUNTER, PANTRY]), jnp.array([2, 0]), jnp.int32(1)),
    )
    serve, brew = ([action.name for action in env.actions].index(n) for n in ("serve", "brew"))
    act = jnp.array([serve, brew])  # one may not brew at the pantry
    after, transition = env.step(sociarium.key(1), state, act, params)
    assert transition.reward.tolist() == [1, 1] and int(after.trial) == 1
    assert env.observe(after, params).own[:, 1:].tolist() == [[serve, 100], [STAY, 100]]
    scene = env.scene(after, params, player=0)
    assert scene.private["last action"] == serve and scene.shared[-1].name == "trial 2 of 2"


def test_facets_are_read_from_the_trial():
    env = Trials(Stall(), 2)
    assert [type(facet) for facet in env.facets] == [Places, Cooperation, Bench]
    state = env.reset(sociarium.key(0), env.params())
    assert same(env.facet(Places).at(state), state.inner.at)


def test_any_world_can_be_repeated_and_seats_its_scripts():
    meadow = Trials(Meadow(), 2)
    assert meadow.reset(sociarium.key(0), meadow.params()).hidden == {}
    assert np.array_equal(meadow.flower, meadow.inner.flower)
    with pytest.raises(AttributeError, match="does not forward codes"):
        _ = meadow.codes  # it reads another state
    coins = Trials(sociarium.make("coins"), 3)
    assert coins.id == "coins-v0?trials=3"
    assert roster.script("cooperator", coins)
    stall = Stall()
    stall.id = "stall-v0?players=2+contract?rounds=1"
    assert Trials(stall, 3).id == "stall-v0?players=2&trials=3+contract?rounds=1"


def test_trials_are_equal_by_arguments_and_refuse_wrong_ones():
    assert Trials(Stall(), 2) == Trials(Stall(), 2) != Trials(Stall(), 3)
    assert Trials(Stall(), 2) != Trials(Stall(), 2, reward_in_view=True)
    with pytest.raises(BadArgument, match="trials is 1 or more; given 0"):
        Trials(Stall(), 0)
    with pytest.raises(UnknownName, match="no split named"):
        Trials(Stall(), 2, "test")
