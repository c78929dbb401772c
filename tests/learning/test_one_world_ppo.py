"""PPO in one world over devices learns what it learns in one piece, and that is PPO."""

import json

import pytest

from tests.devices import printed


def found(folder, *checks):
    told = printed(4, "tests.learning.one_world_ppo", *checks, folder=folder)
    return json.loads(told.splitlines()[-1])


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return found(tmp_path_factory.mktemp("ppo"), "bare", "episodes", "kept", "refusals")


def same_over_devices(bare):
    assert bare["crossings"] > 0 and any(bare["reward"]) and bare["learned"] > 1e-3
    assert bare["over"] <= 1e-5 and bare["metrics"] <= 1e-5


def test_what_is_learned_over_devices_is_what_is_learned_in_one_piece(quick):
    same_over_devices(quick["bare"])


def test_in_one_piece_it_is_ppo_in_one_lane(quick):
    assert quick["bare"]["lane"] <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("check", ["remembering", "contract"])
def test_so_it_is_with_a_memory_and_under_a_charter(check, tmp_path):
    same_over_devices(found(tmp_path, check)[check])


def test_another_episode_begins_where_one_is_over(quick):
    episodes = quick["episodes"]
    assert episodes["clocks"] == [[0, 250], [0, 500], [1, 250]]
    first, second = episodes["starts"]
    assert first != second


def test_what_was_learned_plays_as_a_policy(quick):
    assert quick["kept"] == {"gap": 0, "steps": 3}


def test_what_one_world_cannot_learn_is_refused(quick):
    events, lanes, memory, rollout, minibatches, critic = quick["refusals"]
    assert "given one that reads exchanged" in events
    assert "give lanes=1; given lanes=2" in lanes and "give bptt_length=1" in memory
    assert "an episode of 500 steps" in rollout and "given num_steps=16" in rollout
    assert "num_minibatches=3" in minibatches
    assert "give shared=True, critic_sees=own" in critic
