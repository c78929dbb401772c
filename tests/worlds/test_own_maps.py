"""A map of one's own is either refused with a reason when the world is built, or it works."""

import jax
import jax.numpy as jnp
import pytest

import sociarium
from sociarium.core.errors import BadMap
from sociarium.envs.dilemmas.clean_up import CleanUp
from sociarium.envs.dilemmas.coins import Coins
from sociarium.envs.dilemmas.harvest import Harvest


@pytest.mark.parametrize(
    ("world", "map"),
    [
        pytest.param(Harvest, "...\nPPP", id="harvest without apples"),
        pytest.param(Harvest, "A..\nPPP", id="harvest without inside cells"),
        pytest.param(Harvest, "AQQ\n...", id="harvest without outside cells"),
        pytest.param(CleanUp, "BBB\nPPP", id="clean up without water"),
        pytest.param(CleanUp, "www\nPPP", id="clean up without an orchard"),
        pytest.param(Coins, "...\n...", id="coins without start cells"),
        pytest.param(Coins, "PP\nPP", id="coins without floor"),
    ],
)
def test_a_map_without_some_kind_of_cell_is_refused_or_works(world, map):
    try:
        env = world(players=2, map=map)
    except BadMap:
        return
    params = env.params()
    state = jax.jit(env.reset)(sociarium.key(0), params)
    stay = jnp.zeros(2, jnp.int32)
    after, _ = jax.jit(env.step)(sociarium.key(1), state, stay, params)
    assert after.body.tolist() == state.body.tolist()
    env.overview(after, params)
