"""Coins, rule by rule."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core import random
from sociarium.core.errors import BadArgument
from sociarium.envs.dilemmas import coins
from sociarium.envs.dilemmas.coins import Coins
from tests.worlds.drawn import SEEDS
from tests.worlds.lands import COINS as STAGE


@pytest.fixture(scope="module")
def starts():
    """Three hundred starts of the land."""
    keys = jax.random.split(sociarium.key(3), 300)
    return jax.jit(jax.vmap(STAGE.env.reset, (0, None)))(keys, STAGE.env.params())


# R1: colours


def test_r1_more_players_than_colours_are_refused():
    with pytest.raises(BadArgument, match="65535"):
        Coins(players=65536, tiles=(100, 100))


def test_r1_each_player_has_a_colour_of_its_own_drawn_at_the_start(starts):
    colour = np.asarray(starts.colour)
    assert (np.sort(colour, axis=1) == np.arange(3)).all()
    for seat in range(3):
        assert min(np.bincount(colour[:, seat], minlength=3)) > 300 / 3 / 2


def test_r1_players_see_coins_as_their_own_or_anothers():
    picture = """
        ....0....
        .P..1..P.
        ....#....
        ...^^^...
        .........
    """
    state = STAGE.draw(picture, colour=[1, 0, 2])
    for seat, zero, one in ((0, "their", "my"), (1, "my", "their"), (2, "their", "their")):
        ground = STAGE.view(state, seat, "ground")
        ahead = 5 + 1 - seat  # the column of the coins in this player's window
        assert ground[6, ahead] == f"{zero} coin"
        assert ground[7, ahead] == f"{one} coin"


# R2: new coins


EMPTY = """
    .........
    .P.....P.
    ....#....
    ...^>v...
    .........
"""


def test_r2_coins_appear_on_every_empty_cell_nobody_stands_on():
    after, _ = STAGE.step(STAGE.draw(EMPTY), coin_chance=1)
    floor = {
        (row, col)
        for row, line in enumerate(STAGE.land)
        for col, glyph in enumerate(line)
        if glyph == "."
    }
    assert STAGE.coins(after).keys() == floor - {(3, 3), (3, 4), (3, 5)}


def test_r2_a_cell_that_a_coin_was_taken_from_stays_empty_while_somebody_stands_there():
    state = STAGE.draw(EMPTY.replace("v..", "v0."))
    after, _ = STAGE.step(state, "stay", "stay", "step left", coin_chance=1)
    assert STAGE.places(after)[2] == (3, 6)
    assert (3, 6) not in STAGE.coins(after)
    assert (3, 5) in STAGE.coins(after)  # where the taker came from


def test_r2_a_cell_holds_one_coin_and_keeps_it():
    state = STAGE.draw(EMPTY.replace(".........", "012012012"))
    after, _ = STAGE.steps(state, coin_chance=1)
    lying = np.asarray(state.coin) >= 0
    assert (np.asarray(after.coin)[:, lying] == np.asarray(state.coin)[lying]).all()


def test_r2_no_coin_appears_without_chance():
    after, _ = STAGE.step(STAGE.draw(EMPTY), coin_chance=0)
    assert STAGE.coins(after) == {}


@pytest.mark.parametrize("coin_chance", [0.0005, 0.1, 1.0])
def test_r2_every_colour_is_equally_likely(coin_chance):
    words = random.bits(sociarium.key(1), 4_000_000 if coin_chance < 0.01 else 60_000)
    params = STAGE.env.params(coin_chance=coin_chance)
    colour = np.asarray(jax.jit(coins.minted, static_argnums=1)(words, 3, params))
    per_colour = np.bincount(colour[colour >= 0], minlength=3)
    expected = len(words) * min(coin_chance, 1 / 3)
    assert (abs(per_colour - expected) < 5 * np.sqrt(expected)).all()


def test_r2_the_chance_is_that_of_the_sheet():
    assert float(Coins().params().coin_chance) == pytest.approx(0.0005)


def minting_draws(mint, players, coin_chance):
    """How many of the 31-bit draws mint a coin, found by bisection."""
    low, high = 0, 2**31
    while low < high:
        middle = (low + high) // 2
        word = jnp.array([middle << 1], jnp.uint32)
        found = int(mint(word, players, coins.Params.of(coin_chance))[0]) >= 0
        low, high = (middle + 1, high) if found else (low, middle)
    return low


@pytest.mark.parametrize("players", [2, 3, 4, 7])
def test_r2_the_chance_of_a_coin_is_the_same_bits_however_it_is_compiled(players):
    compiled = jax.jit(coins.minted, static_argnums=1)
    for chance in (0.0005, 0.00025, 0.01):
        eager = minting_draws(coins.minted, players, chance)
        assert minting_draws(compiled, players, chance) == eager


# R3 and R4: taking


LOOT = """
    .........
    .P.....P.
    ....#....
    ..>0>1>2.
    .........
"""


def test_r3_walking_onto_a_coin_takes_it_and_pays_one_whatever_its_colour():
    for colour in "012":
        state = STAGE.draw(LOOT.replace(">0", f">{colour}").replace("1>2", ".>."))
        after, transition = STAGE.step(state, "forward", loss=0)
        assert STAGE.coins(after) == {}
        assert transition.reward.tolist() == [1, 0, 0]


def test_r3_staying_beside_a_coin_takes_nothing():
    state = STAGE.draw(LOOT)
    after, transition = STAGE.step(state, "turn left", "turn right", "stay")
    assert STAGE.coins(after) == STAGE.coins(state)
    assert not transition.reward.any()
    assert STAGE.happened(transition, "took_own") == {}
    assert STAGE.happened(transition, "took_other") == {}


def test_r4_taking_ones_own_coin_costs_nobody_anything():
    after, transition = STAGE.step(STAGE.draw(LOOT), *["forward"] * 3)
    assert STAGE.coins(after) == {}
    assert transition.reward.tolist() == [1, 1, 1]
    assert STAGE.happened(transition, "took_own") == {
        0: (-1, (3, 3), 1.0),
        1: (-1, (3, 5), 1.0),
        2: (-1, (3, 7), 1.0),
    }
    assert STAGE.happened(transition, "took_other") == {}


def test_r4_taking_anothers_coin_costs_the_owner_two():
    state = STAGE.draw(LOOT, colour=[2, 0, 1])  # coin 0 is seat 1's, 1 is seat 2's, 2 is seat 0's
    _, transition = STAGE.step(state, "forward")
    assert transition.reward.tolist() == [1, -2, 0]
    assert STAGE.happened(transition, "took_other") == {0: (1, (3, 3), 1.0)}
    assert STAGE.happened(transition, "took_own") == {}


def test_r4_losses_to_several_takers_add_up():
    state = STAGE.draw(LOOT.replace("1", "0").replace("2", "0"), colour=[1, 2, 0])
    _, transition = STAGE.step(state, "forward", "forward", "forward")
    assert transition.reward.tolist() == [1, 1, 1 - 2 - 2]
    assert STAGE.happened(transition, "took_other") == {0: (2, (3, 3), 1.0), 1: (2, (3, 5), 1.0)}


def test_r4_the_numbers_are_those_of_the_sheet():
    params = Coins().params()
    assert (float(params.coin_reward), float(params.loss)) == (1, -2)


# R5: no two on a cell


def test_r5_a_contested_cell_goes_to_one_at_random():
    state = STAGE.draw("..>.<....\n...^.....", top=3)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    entered = np.asarray(after.body) == STAGE.cell(3, 3)
    assert (entered.sum(1) == 1).all()
    assert (entered.sum(0) > SEEDS / 3 / 2).all()


def test_r5_two_players_never_swap_and_never_share():
    state = STAGE.draw(".>><.....", top=3)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    assert (np.asarray(after.body) == np.asarray(state.body)).all()


# R6: the start


def test_r6_players_start_on_start_cells_and_then_on_drawn_floor(starts):
    env, body = STAGE.env, np.asarray(starts.body)
    on_start = np.isin(body, env.starts)
    assert (on_start.sum(1) == 2).all()
    assert np.isin(body, env.floor_cells)[~on_start].all()
    assert all(len(set(row)) == 3 for row in body.tolist())
    assert len(set(body[~on_start].tolist())) > env.places * 3 / 4
    assert (on_start.mean(0) > 2 / 3 / 2).all()


def test_r6_with_as_many_start_cells_as_players_nobody_starts_elsewhere():
    env = Coins()
    keys = jax.random.split(sociarium.key(5), 100)
    body = np.asarray(jax.jit(jax.vmap(env.reset, (0, None)))(keys, env.params()).body)
    assert (np.sort(body, axis=1) == np.sort(env.starts)).all()
    assert 25 < (body[:, 0] == env.starts[0]).sum() < 75


def test_r6_headings_are_drawn_and_no_coin_lies(starts):
    for seat in range(3):
        assert min(np.bincount(np.asarray(starts.heading)[:, seat], minlength=4)) > 300 / 4 / 2
    assert (starts.coin == -1).all()


# R7: the end


def test_r7_only_the_horizon_ends_an_episode_by_truncation():
    for horizon, clock, ends in (
        (5, 3, False),
        (5, 4, True),
        (1000, 998, False),
        (1000, 999, True),
    ):
        after, transition = STAGE.step(STAGE.draw(LOOT, clock=clock), horizon=horizon)
        assert int(after.clock) == clock + 1
        assert bool(transition.truncated) == ends
        assert not bool(transition.terminated)


def test_r7_the_horizon_is_a_thousand_steps():
    assert int(Coins().params().horizon) == 1000
