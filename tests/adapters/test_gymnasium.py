"""The Gymnasium doors: the checker for every world, lanes that restart, the same episodes."""

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from sociarium.adapters.gymnasium import Focal, FocalVector
from sociarium.arena.observers import FrameStack, LastAction, OneHot
from sociarium.arena.picture_observer import Rgb
from sociarium.arena.rollout import rollout
from sociarium.core.environment import compiled
from sociarium.core.errors import BadArgument
from tests.adapters.worlds import every_world, world
from tests.toys.meadow import Meadow


@every_world
@pytest.mark.filterwarnings("ignore:.*alternative render modes.*spec:UserWarning")
def test_the_checker_passes(name):
    check_env(Focal(world(name), render_mode="rgb_array"))


def test_registered_worlds_are_made_by_name():
    env = gymnasium.make("sociarium/coins-v0", seats="idle", render_mode="ansi")
    check_env(env.unwrapped)
    seen, _ = env.reset(seed=0)
    assert seen in env.observation_space and "step 0/1000" in env.render()
    envs = gymnasium.make_vec("sociarium/coins-v0", 3, seats="idle")
    seen, _ = envs.reset(seed=0)
    assert seen in envs.observation_space


def test_an_episode_is_the_one_that_a_rollout_plays():
    inside = world("clean_up-v0")
    episode = rollout(inside, "random", seed=7, steps=6)
    states = episode.states
    views = jax.vmap(compiled(inside, "observe"), (0, None))(states, inside.params())
    env = Focal(inside, seat=3, seats="random")
    seen, _ = env.reset(seed=7)
    for clock, action in enumerate(np.asarray(episode.actions)[:, 3].tolist()):
        np.testing.assert_array_equal(seen["cells"], views.cells[clock, 3])
        seen, reward, terminated, truncated, _ = env.step(action)
        assert reward == episode.raw[clock, 3] and not terminated and not truncated


def stepped(envs, steps):
    """What every step brings when the focal player walks in circles."""
    for clock in range(steps):
        yield envs.step(np.full(envs.num_envs, (1, 1, 5)[clock % 3]))


def test_lanes_restart_in_the_same_step_and_keep_their_last_sight():
    def observe(env):
        return FrameStack(LastAction(OneHot(env)), 2)

    meadow = Meadow(players=2)
    params = meadow.params(horizon=4)
    envs = FocalVector(meadow, 3, seat=1, params=params, observe=observe)
    alone = Focal(meadow, seat=1, params=params, observe=observe)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    seen, infos = envs.reset(seed=2)
    single, _ = alone.reset(seed=2)
    np.testing.assert_array_equal(seen[0], single)
    for clock, step in enumerate(stepped(envs, 9), start=1):
        seen, reward, terminated, truncated, infos = step
        single, points, _, over, _ = alone.step((1, 1, 5)[(clock - 1) % 3])
        assert seen in envs.observation_space
        assert infos["action_mask"].shape == (3, 7) and infos["_action_mask"].all()
        assert reward[0] == points and truncated[0] == over == (clock % 4 == 0)
        assert not terminated.any() and ("final_obs" in infos) == bool(truncated.any())
        if over:
            np.testing.assert_array_equal(infos["final_obs"][0], single)
            assert infos["_final_obs"].all()
            single, _ = alone.reset()
        np.testing.assert_array_equal(seen[0], single)


def test_gymnasiums_own_wrappers_count_returns():
    meadow = Meadow(players=2)
    envs = RecordEpisodeStatistics(FocalVector(meadow, 4, params=meadow.params(horizon=5)))
    envs.reset(seed=0)
    rewards = []
    for _ in range(5):
        _, reward, _, _, infos = envs.step(np.ones(4, int))
        rewards.append(reward)
    np.testing.assert_allclose(infos["episode"]["r"], np.sum(rewards, axis=0))
    assert infos["episode"]["l"].tolist() == [5] * 4


def test_scripts_sit_in_the_other_seats():
    env = world("coins-v0")
    params = env.params(coin_chance=0.05)
    idle = FocalVector(env, 2, seats="idle", params=params, observe=Rgb, render_mode="rgb_array")
    idle.reset(seed=0)
    for _ in range(4):
        _, reward, _, _, _ = idle.step(np.zeros(2, int))
        assert (reward == 0).all()
    assert [frame.shape for frame in idle.render()] == [(256, 176, 3)] * 2


def test_actions_out_of_range_are_refused():
    meadow = Meadow(players=2)
    alone, envs = Focal(meadow), FocalVector(meadow, 2)
    alone.reset(seed=0)
    envs.reset(seed=0)
    for action in (-1, 7, 10**12):
        with pytest.raises(BadArgument, match=rf"0\.\.6 \(stay .*given \[{action}\]"):
            alone.step(action)
        with pytest.raises(BadArgument, match=rf"0\.\.6 \(stay .*given \[0, {action}\]"):
            envs.step(np.array([0, action]))
    with pytest.raises(BadArgument, match=r"2 actions are needed; given 1"):
        envs.step(np.array([0]))


def test_wrong_seats_are_refused():
    with pytest.raises(BadArgument, match="need as many players; given 2"):
        Focal(world("clean_up-v0"), seats="random*2")
    with pytest.raises(BadArgument, match=r"one of 0\.\.1; given 2"):
        Focal(world("coins-v0"), seat=2)
    with pytest.raises(BadArgument, match="one seed serves all lanes"):
        FocalVector(world("coins-v0"), 2).reset(seed=[1, 2])
