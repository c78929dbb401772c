"""Societies through the three doors: what the social state tells is shown, within its space."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

from sociarium.adapters import table as tables
from sociarium.adapters.gymnasium import Focal, FocalVector
from sociarium.adapters.jaxmarl import MultiAgent
from sociarium.adapters.pettingzoo import Parallel
from sociarium.arena.observers import Codes, OneHot
from sociarium.arena.picture_observer import Rgb
from sociarium.charters.contract import Contract
from sociarium.charters.open import Open
from sociarium.charters.society import Society
from sociarium.core.actions import find_action
from sociarium.core.environment import compiled
from sociarium.core.errors import BadArgument
from tests.adapters.worlds import world
from tests.toys.meadow import Meadow


@pytest.fixture(scope="module")
def contract():
    return world("coins-v0+contract?rounds=1")


@pytest.fixture(scope="module")
def linked():
    """Two who see through each other's eyes."""
    return Society(Meadow(players=2), Open())


def test_the_parallel_api_test_passes_on_a_society(contract, capsys):
    env = Parallel(contract, params=contract.params(horizon=6))
    parallel_api_test(env, num_cycles=10)
    assert "Passed" in capsys.readouterr().out
    seen, _ = env.reset(seed=0)
    assert {"social_own", "social_ties"} < set(seen["player_0"]["observation"])
    assert all(env.observation_space(agent).contains(seen[agent]) for agent in env.agents)


def in_group(state, group):
    """The same state with everybody in this group."""
    groups = jnp.full_like(state.social["contract"].group, group)
    return eqx.tree_at(lambda s: s.social["contract"].group, state, groups)


@pytest.mark.parametrize("observe", [None, Codes, OneHot])
def test_who_is_in_which_group_is_shown(observe, contract):
    params, table = contract.params(), tables.table(contract, observe)
    state = compiled(contract, "reset")(jax.random.key(0), params)
    look = compiled(contract, "observe")
    apart, united = (look(in_group(state, group), params) for group in (-1, 1))
    np.testing.assert_array_equal(apart.cells, united.cells)
    shown = [jax.tree.leaves(table.look(view, table.begin(view))) for view in (apart, united)]
    changed = [np.asarray(a) != np.asarray(b) for a, b in zip(*shown, strict=True)]
    for player in range(contract.players):
        assert any(part[player].any() for part in changed)


def test_jaxmarl_shows_who_is_in_which_group(contract):
    env = MultiAgent(contract)
    _, state = env.reset(jax.random.PRNGKey(0))
    apart, united = (
        env.get_obs(eqx.tree_at(lambda s: s.world, state, in_group(state.world, group)))
        for group in (-1, 1)
    )
    for agent in env.agents:
        assert (apart[agent] != united[agent]).any()
        assert env.observation_space(agent).contains(united[agent])
        assert united[agent].shape == env.observation_space(agent).shape


def test_windows_of_others_and_where_they_stand_are_within_their_space(linked):
    env = Parallel(linked)
    seen, _ = env.reset(seed=0)
    assert not seen["player_0"]["observation"]["social_windows"].any()
    connect = {
        agent: find_action(linked.actions, f"connect to seat {1 - i}")
        for i, agent in enumerate(env.agents)
    }
    seen, *_ = env.step(connect)
    for seat, agent in enumerate(env.agents):
        assert env.observation_space(agent).contains(seen[agent])
        mine, theirs = (seen[f"player_{who}"]["observation"] for who in (seat, 1 - seat))
        np.testing.assert_array_equal(mine["social_windows"][0], theirs["cells"])
        assert mine["social_shared_view"].tolist() == [2 - seat]
        assert mine["social_offsets"].shape == (1, 3) and mine["social_offsets"].any()


@pytest.mark.filterwarnings("ignore:.*alternative render modes.*spec:UserWarning")
def test_gymnasium_takes_a_society_alone_and_in_lanes(linked):
    check_env(Focal(linked, render_mode="rgb_array"))
    envs = FocalVector(linked, 2, params=linked.params(horizon=2))
    seen, _ = envs.reset(seed=0)
    assert seen in envs.observation_space and seen["social_windows"].shape[:2] == (2, 1)
    for _ in range(2):
        seen, _, _, truncated, infos = envs.step(np.zeros(2, int))
        assert seen in envs.observation_space
    assert truncated.all() and infos["final_obs"][0] in envs.single_observation_space


@pytest.mark.parametrize("door", [Parallel, Focal, MultiAgent])
def test_a_picture_that_would_leave_the_society_out_is_refused(door):
    society = Society(Meadow(players=2), Contract())
    with pytest.raises(BadArgument, match="what a society tells"):
        door(society, observe=Rgb)
