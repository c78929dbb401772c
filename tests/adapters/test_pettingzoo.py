"""The PettingZoo door: its own tests for every world, and the same episodes as inside."""

import jax
import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from sociarium.adapters.pettingzoo import Parallel
from sociarium.arena.observers import OneHot
from sociarium.arena.picture_observer import Rgb
from sociarium.arena.rollout import rollout
from sociarium.core.environment import compiled
from sociarium.core.errors import BadArgument
from tests.adapters.worlds import Siesta, every_world, world


@every_world
def test_the_parallel_api_test_passes(name, capsys):
    env = world(name)
    parallel_api_test(Parallel(env, params=env.params(horizon=12)), num_cycles=15)
    assert "Passed" in capsys.readouterr().out


@every_world
def test_the_seed_test_passes(name):
    parallel_seed_test(lambda: Parallel(world(name)), num_cycles=3)


def play(env, actions):
    """The observations, rewards and ends of an episode with these actions by step and seat."""
    for moves in np.asarray(actions).tolist():
        yield env.step(dict(zip(env.agents, moves, strict=True)))


def test_an_episode_is_the_one_that_a_rollout_plays():
    inside = world("clean_up-v0")
    episode = rollout(inside, "random", seed=5, number=1, steps=8)
    states = episode.states
    env = Parallel(inside)
    env.reset(seed=5)
    start, _ = env.reset()
    views = jax.vmap(compiled(inside, "observe"), (0, None))(states, inside.params())
    legal = jax.vmap(compiled(inside, "legal"), (0, None))(states, inside.params())
    np.testing.assert_array_equal(start["player_2"]["observation"]["cells"], views.cells[0, 2])
    for clock, (seen, rewards, _, _, _) in enumerate(play(env, episode.actions)):
        for seat, agent in enumerate(env.possible_agents):
            shown = seen[agent]["observation"]
            np.testing.assert_array_equal(shown["cells"], views.cells[clock + 1, seat])
            np.testing.assert_array_equal(shown["own"], views.own[clock + 1, seat])
            np.testing.assert_array_equal(seen[agent]["action_mask"], legal[clock + 1, seat])
            assert rewards[agent] == episode.raw[clock, seat]
    last = jax.tree.leaves(jax.tree.map(lambda x: np.asarray(x[-1], np.float32).ravel(), states))
    np.testing.assert_array_equal(env.state(), np.concatenate(last))
    assert env.state_space.contains(env.state())


def test_everybody_is_truncated_together_and_nobody_leaves_before():
    env = Parallel(Siesta(players=3), params=Siesta().params(horizon=5))
    seen, _ = env.reset(seed=0)
    for clock in range(1, 6):
        assert env.agents == ["player_0", "player_1", "player_2"]
        actions = {agent: 1 for agent in env.agents}
        seen, _, terminated, truncated, _ = env.step(actions)
        away = clock % 2 == 1
        assert seen["player_0"]["action_mask"].tolist() == [1] + [int(not away)] * 6
        assert seen["player_0"]["observation"]["cells"].any() != away
        assert not any(terminated.values())
        assert set(truncated.values()) == {clock == 5}
    assert env.agents == [] and env.step({}) == ({}, {}, {}, {}, {})


@pytest.mark.parametrize("observe", [OneHot, Rgb])
def test_observers_are_shown_within_their_space(observe):
    env = Parallel(world("coins-v0"), observe=observe)
    seen, _ = env.reset(seed=1)
    assert all(env.observation_space(agent).contains(seen[agent]) for agent in env.agents)


def test_a_map_can_be_rendered_in_both_modes():
    env = Parallel(world("coins-v0"), render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (16 * 16, 11 * 16, 3) and env.render().dtype == np.uint8
    env = Parallel(world("coins-v0"), render_mode="ansi")
    env.reset(seed=0)
    assert "step 0/1000" in env.render()
    with pytest.raises(BadArgument, match="rgb_array"):
        Parallel(world("coins-v0"), render_mode="human")


@pytest.mark.parametrize("action", [-1, 7, 99])
def test_actions_out_of_range_are_refused(action):
    env = Parallel(world("coins-v0"))
    env.reset(seed=0)
    with pytest.raises(BadArgument, match=rf"0\.\.6 \(stay .*given \[0, {action}\]"):
        env.step({"player_0": 0, "player_1": action})
    env.step({"player_0": 0, "player_1": np.int64(6)})


def test_actions_of_all_agents_are_needed():
    env = Parallel(world("coins-v0"))
    env.reset(seed=0)
    with pytest.raises(BadArgument, match="player_1"):
        env.step({"player_0": 0})
