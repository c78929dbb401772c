"""A map of one's own is either refused with a reason when the world is built, or it works."""

import jax
import jax.numpy as jnp
import pytest

import sociarium
from sociarium.core.errors import BadMap
from sociarium.envs.dilemmas.clean_up import CleanUp
from sociarium.envs.dilemmas.coins import Coins
from sociarium.envs.dilemmas.coop_mining import CoopMining
from sociarium.envs.dilemmas.gift_refinement import GiftRefinement
from sociarium.envs.dilemmas.harvest import Harvest
from sociarium.envs.dilemmas.mushrooms import Mushrooms
from sociarium.envs.dilemmas.pd_arena import PDArena


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
        pytest.param(CoopMining, "###\nPPP", id="coop mining without ore cells"),
        pytest.param(CoopMining, "...\n...", id="coop mining without spawn cells"),
        pytest.param(CoopMining, "...\nPPP", id="coop mining without walls"),
        pytest.param(Mushrooms, "###\nPPP", id="mushrooms without soil"),
        pytest.param(Mushrooms, "RGB\n.O.", id="mushrooms without spawn cells"),
        pytest.param(Mushrooms, "...\nPPP", id="mushrooms without mushrooms"),
        pytest.param(Mushrooms, "RGB\nPPP", id="mushrooms without empty soil"),
        pytest.param(GiftRefinement, "#_#\nPPP", id="gift refinement without token cells"),
        pytest.param(GiftRefinement, "...\n___", id="gift refinement without spawn cells"),
        pytest.param(GiftRefinement, "...\nPPP", id="gift refinement without floor"),
        pytest.param(PDArena, "...\nPPP", id="pd arena without tokens"),
        pytest.param(PDArena, "CD.\n...", id="pd arena without spawn cells"),
        pytest.param(PDArena, "CC.\nPPP", id="pd arena without defect tokens"),
        pytest.param(PDArena, "DD.\nPPP", id="pd arena without cooperate tokens"),
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
    env.draw_map(after, params)


@pytest.mark.parametrize(
    ("world", "map", "says"),
    [
        (CoopMining, "###\nPPP", "ore cell"),
        (CoopMining, "...\n..P", "spawn cells"),
        (Mushrooms, "###\nPPP", "soil"),
        (Mushrooms, "RGB\n.OP", "spawn cells"),
        (GiftRefinement, "___\nPPP", "token cell"),
        (GiftRefinement, "...\n__P", "spawn cells"),
        (PDArena, "...\nPPP", "token place"),
        (PDArena, "CDC\n..P", "spawn cells"),
    ],
)
def test_what_is_missing_is_said(world, map, says):
    with pytest.raises(BadMap, match=says):
        world(players=2, map=map)
