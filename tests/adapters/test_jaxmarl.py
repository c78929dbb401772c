"""The JaxMARL door: its wrappers and a training loop in its conventions take a world as it is.

JaxMARL takes seconds to import, so that only the tests that need it do.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.adapters import jaxmarl as adapter
from sociarium.adapters.jaxmarl import MultiAgent
from sociarium.arena.observers import Codes, Flat, FrameStack, LastAction, OneHot
from sociarium.core.actions import STAY, find_action
from sociarium.core.errors import BadArgument, UnknownName
from tests.adapters.worlds import Siesta, every_world, world
from tests.toys.meadow import Meadow
from tests.toys.taking import Taking


@pytest.fixture(scope="module")
def meadow():
    return Meadow(players=2)


def test_it_has_everything_that_jaxmarl_asks_of_an_environment(meadow):
    from jaxmarl.environments.multi_agent_env import MultiAgentEnv
    from jaxmarl.environments.spaces import Box, Discrete

    env = MultiAgent(meadow)
    asked = {name for name in vars(MultiAgentEnv) if not name.startswith("_")}
    asked |= set(vars(MultiAgentEnv(2)))
    assert {name for name in asked if not hasattr(env, name)} == set()
    assert env.agents == ["agent_0", "agent_1"] and env.name == "Meadow"
    assert isinstance(env.observation_space("agent_0"), Box)
    assert isinstance(env.action_space("agent_1"), Discrete)
    assert env.agent_classes == {"players": env.agents}


@every_world
def test_every_world_steps_in_a_batch_of_old_keys(name):
    env = MultiAgent(world(name))
    keys = jax.random.split(jax.random.PRNGKey(0), 2)

    def two_moments(keys):
        _, state = jax.vmap(env.reset)(keys)
        actions = {agent: jnp.ones(2, jnp.int32) for agent in env.agents}
        legal = jax.vmap(env.get_avail_actions)(state)
        return legal, jax.vmap(env.step)(keys, state, actions)

    legal, (seen, state, rewards, dones, infos) = jax.eval_shape(two_moments, keys)
    box, actions = env.observation_space("agent_0"), len(env.world.actions)
    assert all(seen[agent].shape == (2, *box.shape) for agent in env.agents)
    assert all(seen[agent].dtype == box.dtype for agent in env.agents)
    assert all(legal[agent].shape == (2, actions) for agent in env.agents)
    assert set(rewards) == set(env.agents) and set(dones) == {*env.agents, "__all__"}
    assert all(value.shape == (2, env.num_agents) for value in infos.values())
    assert state.step.shape == (2,)


def test_an_untouched_training_loop_runs():
    from tests.adapters.ippo import make_train

    coins = world("coins-v0")
    env = MultiAgent(coins, params=coins.params(horizon=10, coin_chance=0.05))
    config = {"NUM_ENVS": 4, "NUM_STEPS": 20, "NUM_UPDATES": 2, "LR": 1e-3}
    _, metric = jax.jit(make_train(env, config))(jax.random.PRNGKey(0))
    assert np.isfinite(metric["loss"]).all()
    raw = np.asarray(metric["raw"]).reshape(4, 10, -1)  # episodes of ten steps, one after another
    returns = np.asarray(metric["returned_episode_returns"]).reshape(4, 10, -1)
    assert np.abs(raw).sum() > 0
    np.testing.assert_array_equal(returns[:, -1], raw.sum(1))
    assert np.asarray(metric["returned_episode"]).reshape(4, 10, -1)[:, -1].all()
    assert np.asarray(metric["truncated"]).sum() == 4 * 8


def test_a_step_restarts_and_step_env_does_not(meadow):
    env = MultiAgent(
        meadow,
        params=meadow.params(horizon=3),
        observe=lambda env: FrameStack(LastAction(Codes(env)), 2),
    )
    actions = dict.fromkeys(env.agents, jnp.int32(find_action(meadow.actions, "turn left")))
    seen, state = env.reset(jax.random.key(0))
    for clock in range(1, 4):
        key = jax.random.key(clock)
        last, stopped, *_ = env.step_env(key, state, actions)
        seen, state, _, dones, infos = env.step(key, state, actions)
        assert bool(dones["__all__"]) == bool(stopped.done) == (clock == 3)
        assert infos["truncated"].tolist() == [clock == 3] * 2
    assert state.step == 0 and state.world.clock == 0 and stopped.world.clock == 3
    half = env.observation_space("agent_0").shape[-1] // 2
    np.testing.assert_array_equal(seen["agent_0"][..., :half], seen["agent_0"][..., half:])
    assert (last["agent_0"][..., :half] != last["agent_0"][..., half:]).any()
    again = env.get_obs(state)
    np.testing.assert_array_equal(again["agent_1"], seen["agent_1"])
    _, other = env.reset(jax.random.key(9))
    ended = env.step(key, stopped, actions, other)[1]
    np.testing.assert_array_equal(ended.world.body, other.world.body)


def test_starts_are_made_only_where_an_episode_ends(meadow):
    """Under two maps at once, as when seeds are swept over batched environments."""
    env = MultiAgent(meadow, params=meadow.params(horizon=2))
    keys = jax.random.split(jax.random.key(0), (3, 4))
    _, state = jax.vmap(jax.vmap(env.reset))(keys)
    actions = dict.fromkeys(env.agents, jnp.zeros((3, 4), jnp.int32))
    step = jax.jit(jax.vmap(jax.vmap(env.step)))
    program = step.lower(keys, state, actions).as_text()
    assert "stablehlo.case" in program or "stablehlo.if" in program
    for _ in range(2):
        _, state, _, dones, _ = step(keys, state, actions)
    assert dones["__all__"].all() and (state.world.clock == 0).all()
    assert len(np.unique(np.asarray(state.world.body).reshape(12, 2), axis=0)) > 3


def test_rewards_can_be_those_of_the_reference():
    points = jnp.array([1.0, -2.0, 4.0])
    assert adapter.wanted(points, "own").tolist() == [1, -2, 4]
    assert adapter.wanted(points, "mean").tolist() == [1, 1, 1]
    assert adapter.wanted(points, "sum").tolist() == [3, 3, 3]
    assert adapter.wanted(points, "times_players").tolist() == [3, -6, 12]
    with pytest.raises(UnknownName, match="mean"):
        MultiAgent("coins-v0", reward="men")


def test_deeds_can_be_worth_something_besides_points():
    env = MultiAgent(Taking(players=3), observe=Codes, shaped={"took": 2.0, "stayed": 0.5})
    key = jax.random.PRNGKey(0)
    _, state = env.reset(key)
    actions = {"agent_0": jnp.int32(1), "agent_1": jnp.int32(0), "agent_2": jnp.int32(1)}
    *_, info = env.step(key, state, actions)
    assert {agent: float(x) for agent, x in info["shaped_reward"].items()} == {
        "agent_0": 2.0,
        "agent_1": 0.5,
        "agent_2": 2.0,
    }
    with pytest.raises(UnknownName, match="took"):
        MultiAgent(Taking(players=3), shaped={"tok": 1.0})


def test_actions_out_of_range_are_refused_and_inside_a_program_they_stay(meadow):
    env = MultiAgent(meadow, observe=lambda env: LastAction(Codes(env)))
    key = jax.random.PRNGKey(0)
    _, state = env.reset(key)
    strange = {"agent_0": jnp.int32(-1), "agent_1": jnp.int32(7)}
    for step in (env.step, env.step_env):
        with pytest.raises(BadArgument, match=r"0\.\.6 \(stay .*given \[-1, 7\]"):
            step(key, state, strange)
    step = jax.jit(env.step_env)
    found, wanted = (
        step(key, state, actions) for actions in (strange, dict.fromkeys(strange, jnp.int32(STAY)))
    )
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), found, wanted))


def test_a_player_out_of_play_may_only_stay():
    env = MultiAgent(Siesta(players=2))
    _, state = env.reset(jax.random.PRNGKey(0))
    _, state, *_ = env.step(jax.random.PRNGKey(1), state, dict.fromkeys(env.agents, jnp.int32(1)))
    legal = env.get_avail_actions(state)
    assert np.flatnonzero(legal["agent_0"]).tolist() == [STAY] and legal["agent_1"].all()


def test_jaxmarls_q_learning_manager_takes_it(meadow):
    from jaxmarl.wrappers.baselines import CTRolloutManager, LogWrapper

    env = MultiAgent(meadow, observe=lambda env: Flat(OneHot(env)))
    manager = CTRolloutManager(LogWrapper(env), batch_size=3)
    seen, state = manager.batch_reset(jax.random.PRNGKey(0))
    actions = {a: manager.batch_sample(jax.random.PRNGKey(1), a) for a in env.agents}
    seen, state, rewards, _, _ = manager.batch_step(jax.random.PRNGKey(2), state, actions)
    assert seen["agent_0"].shape == (3, env.observer.shape[0] + 2)
    np.testing.assert_allclose(rewards["__all__"], rewards["agent_0"] + rewards["agent_1"])


def test_without_jaxmarl_spaces_are_our_own(monkeypatch, meadow):
    monkeypatch.delitem(__import__("sys").modules, "jaxmarl.environments.spaces", raising=False)
    env = MultiAgent(meadow)
    box, discrete = env.observation_space("agent_0"), env.action_space("agent_0")
    assert isinstance(box, adapter.Box) and isinstance(discrete, adapter.Discrete)
    assert box.contains(box.sample(jax.random.key(0)))
    assert discrete.contains(discrete.sample(jax.random.key(0))) and discrete.n == 7
