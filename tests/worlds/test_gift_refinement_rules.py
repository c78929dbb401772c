"""Gift Refinement, rule by rule."""

import jax
import numpy as np
import pytest

import sociarium
from sociarium.envs.dilemmas.gift_refinement import GiftRefinement, Params
from tests.worlds.drawn import SEEDS
from tests.worlds.lands import GIFT_REFINEMENT as STAGE

ALWAYS = 1.0
FIELD = {
    (row, col)
    for row, line in enumerate(STAGE.land)
    for col, glyph in enumerate(line)
    if glyph == "."
}
AHEAD = {"^": (-1, 0), ">": (0, 1), "v": (1, 0), "<": (0, -1)}


@pytest.fixture(scope="module")
def starts():
    """Three hundred starts of the world's own map."""
    env = GiftRefinement()
    keys = jax.random.split(sociarium.key(3), 300)
    return env, jax.jit(jax.vmap(env.reset, (0, None)))(keys, env.params())


def bags(state, seats):
    """(raw, refined, precious) of the first players."""
    columns = (state.raw, state.refined, state.precious)
    return [tuple(int(held[seat]) for held in columns) for seat in range(seats)]


def held(*bags):
    """The fields of a state in which the first players hold these bags."""
    return dict(zip(("raw", "refined", "precious"), zip(*bags, strict=True), strict=True))


# R1: tokens appear


def test_r1_there_are_no_tokens_at_the_start(starts):
    _, state = starts
    assert not state.token.any()


def test_r1_a_token_appears_on_every_empty_token_cell_nobody_stands_on():
    state = STAGE.draw(">..t....<....", top=5)
    after, transition = STAGE.step(state, token_chance=ALWAYS)
    assert STAGE.tokens(after) == FIELD - {(5, 0), (5, 8)}
    assert STAGE.happened(transition, "picked") == {}


def test_r1_where_one_stands_after_moving_counts():
    state = STAGE.draw(">t...........", top=5)
    after, _ = STAGE.step(state, "forward", token_chance=ALWAYS)
    assert STAGE.tokens(after) == FIELD - {(5, 1)}
    assert bags(after, 1) == [(1, 0, 0)]


def test_r1_tokens_appear_as_often_as_their_chance():
    after, _ = STAGE.steps(STAGE.draw(">............", top=5), token_chance=0.25)
    token = np.delete(np.asarray(after.token), STAGE.place(5, 0), axis=1)
    assert abs(token.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / token.size)
    assert abs(token.mean(0) - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / SEEDS)


def test_r1_the_chance_is_that_of_the_sheet():
    assert np.isclose(GiftRefinement().params().token_chance, 0.0002, rtol=1e-6)


# R2: the bag


def test_r2_walking_onto_a_token_puts_it_into_the_bag():
    state = STAGE.draw(">tt.........<", top=5)
    after, transition = STAGE.step(state, "forward", "forward")
    assert bags(after, 2) == [(1, 0, 0), (0, 0, 0)]
    assert STAGE.tokens(after) == {(5, 2)}
    assert STAGE.happened(transition, "picked") == {0: (-1, (5, 1), 1.0)}
    assert not transition.reward.any()


@pytest.mark.parametrize("act", ["stay", "turn left", "turn right", "gift", "consume"])
def test_r2_whoever_stands_beside_a_token_leaves_it(act):
    state = STAGE.draw(">t...........", top=5, raw=[1])
    after, _ = STAGE.step(state, act)
    assert STAGE.tokens(after) == {(5, 1)}


@pytest.mark.parametrize(("raw", "picks"), [(13, True), (14, True), (15, False)])
def test_r2_who_has_15_raw_tokens_leaves_it_lying(raw, picks):
    assert int(GiftRefinement().params().capacity) == 15
    state = STAGE.draw(">t...........", top=5, raw=[raw])
    after, transition = STAGE.step(state, "forward")
    assert STAGE.places(after)[0] == (5, 1)
    assert bags(after, 1) == [(raw + picks, 0, 0)]
    assert STAGE.tokens(after) == (set() if picks else {(5, 1)})
    assert (STAGE.happened(transition, "picked") != {}) == picks


def test_r2_each_level_has_its_own_room():
    state = STAGE.draw(">t...........", top=5, **held((0, 15, 15)))
    after, _ = STAGE.step(state, "forward")
    assert bags(after, 1) == [(1, 15, 15)]


def test_r2_the_room_is_a_parameter():
    state = STAGE.draw(">t...........", top=5, raw=[4])
    assert bags(STAGE.step(state, "forward", capacity=4)[0], 1) == [(4, 0, 0)]
    assert bags(STAGE.step(state, "forward", capacity=5)[0], 1) == [(5, 0, 0)]


# R3: gifts


@pytest.mark.parametrize("arrow", AHEAD)
def test_r3_the_beam_is_straight_and_five_long(arrow):
    top, col = {"^": (6, 6), ">": (5, 6), "v": (0, 6), "<": (5, 6)}[arrow]
    line = "." * col + arrow + "." * (12 - col)
    down, right = AHEAD[arrow]
    reached = {(top + far * down, col + far * right) for far in range(1, 6)}
    assert STAGE.struck(line, top) == reached
    after, _ = STAGE.step(STAGE.draw(line, top, raw=[1]), "gift")
    assert STAGE.lit(after, "gift") == reached


def test_r3_the_beam_is_as_long_as_its_parameter():
    assert int(GiftRefinement().params().length) == 5
    assert STAGE.struck("......>......", 5, length=2) == {(5, 7), (5, 8)}


def test_r3_the_beam_needs_three_steps_to_recharge():
    assert int(GiftRefinement().params().recharge) == 3
    state = STAGE.draw(">............", top=5, raw=[3])
    fired, shown = [], []
    for step in range(9):
        able = "gift" in STAGE.may(state, 0)
        state, transition = STAGE.step(state, "gift")
        assert (STAGE.happened(transition, "reached_out") != {}) == able
        assert bool(STAGE.lit(state, "gift")) == able
        fired += [step] * able
        shown.append(STAGE.own(state, 0, "cooldown"))
    assert fired == [0, 4, 8]
    assert shown == [3, 2, 1, 0, 3, 2, 1, 0, 3]


def test_r3_a_beam_that_recharges_gives_nothing():
    state = STAGE.draw("><...........", top=5, raw=[2], cooldown=[1])
    after, transition = STAGE.step(state, "gift")
    assert bags(after, 2) == [(2, 0, 0), (0, 0, 0)]
    assert STAGE.happened(transition, "gave") == {}


@pytest.mark.parametrize(
    ("bag", "left", "got"),
    [
        ((1, 0, 0), (0, 0, 0), (0, 3, 0)),
        ((2, 5, 7), (1, 5, 7), (0, 3, 0)),
        ((0, 5, 7), (0, 4, 7), (0, 0, 3)),
        ((0, 1, 0), (0, 0, 0), (0, 0, 3)),
    ],
)
def test_r3_one_token_of_the_lowest_level_becomes_three_of_the_next(bag, left, got):
    state = STAGE.draw(">...v........", top=5, **held(bag))
    after, transition = STAGE.step(state, "gift")
    assert bags(after, 2) == [left, got]
    assert STAGE.happened(transition, "gave") == {0: (1, (5, 0), 1.0)}
    assert not transition.reward.any()


def test_r3_what_a_gift_grows_into_is_a_parameter():
    assert int(GiftRefinement().params().growth) == 3
    state = STAGE.draw("><...........", top=5, raw=[1])
    assert bags(STAGE.step(state, "gift", growth=5)[0], 2) == [(0, 0, 0), (0, 5, 0)]


@pytest.mark.parametrize("bag", [(0, 0, 0), (0, 0, 4)])
def test_r3_precious_tokens_cannot_be_given_nor_can_nothing(bag):
    state = STAGE.draw("><...........", top=5, **held(bag))
    assert "gift" not in STAGE.may(state, 0)
    after, transition = STAGE.step(state, "gift")
    assert bags(after, 2) == [bag, (0, 0, 0)]
    assert int(after.cooldown[0]) == 0
    assert STAGE.happened(transition, "reached_out") == {}
    assert STAGE.lit(after, "gift") == set()


def test_r3_only_the_first_player_in_the_beam_gets_it():
    state = STAGE.draw(">.v<.........", top=5, raw=[2])
    after, _ = STAGE.step(state, "gift")
    assert bags(after, 3) == [(1, 0, 0), (0, 3, 0), (0, 0, 0)]
    state = STAGE.draw("^.v<.........", top=5, raw=[0, 0, 2])
    after, _ = STAGE.step(state, "stay", "stay", "gift")
    assert bags(after, 3) == [(0, 0, 0), (0, 3, 0), (1, 0, 0)]


def test_r3_where_nobody_is_in_the_beam_nothing_is_lost_but_time():
    state = STAGE.draw(">.....<......", top=5, raw=[2])
    after, transition = STAGE.step(state, "gift")
    assert bags(after, 2) == [(2, 0, 0), (0, 0, 0)]
    assert STAGE.happened(transition, "gave") == {}
    assert STAGE.happened(transition, "reached_out") == {0: (-1, (5, 0), 1.0)}
    assert int(after.cooldown[0]) == 3


@pytest.mark.parametrize(("has", "then"), [(11, 14), (12, 15), (13, 15), (15, 15)])
def test_r3_the_receiver_gets_them_as_far_as_the_bag_holds_them(has, then):
    raw = STAGE.draw("><...........", top=5, **held((1, 0, 0), (15, has, 0)))
    assert bags(STAGE.step(raw, "gift")[0], 2) == [(0, 0, 0), (15, then, 0)]
    refined = STAGE.draw("><...........", top=5, **held((0, 1, 0), (0, 15, has)))
    assert bags(STAGE.step(refined, "gift")[0], 2) == [(0, 0, 0), (0, 15, then)]


def test_r3_gifts_of_several_to_one_all_count():
    state = STAGE.draw(
        "......v......\n...>..v..<...", top=4, **held((1, 0, 0), (2, 9, 0), (0, 0, 0), (0, 1, 0))
    )
    after, transition = STAGE.step(state, "gift", "gift", "stay", "gift")
    assert bags(after, 4) == [(0, 0, 0), (1, 9, 0), (0, 6, 3), (0, 0, 0)]
    assert {seat: who for seat, (who, *_) in STAGE.happened(transition, "gave").items()} == {
        0: 2,
        1: 2,
        3: 2,
    }


def test_r3_two_can_give_to_each_other_at_once():
    state = STAGE.draw("><...........", top=5, **held((1, 0, 0), (1, 0, 0)))
    after, _ = STAGE.step(state, "gift", "gift")
    assert bags(after, 2) == [(0, 3, 0), (0, 3, 0)]


def test_r3_one_gives_what_it_had_and_not_what_it_gets_in_this_step():
    state = STAGE.draw(">>.>.........", top=5, **held((1, 0, 0), (0, 15, 0), (0, 0, 0)))
    after, _ = STAGE.step(state, "gift", "gift")
    assert bags(after, 3) == [(0, 0, 0), (0, 15, 0), (0, 0, 3)]
    empty = STAGE.draw(">>.>.........", top=5, **held((1, 0, 0), (0, 0, 0), (0, 0, 0)))
    after, _ = STAGE.step(empty, "gift", "gift")
    assert bags(after, 3) == [(0, 0, 0), (0, 3, 0), (0, 0, 0)]


def test_r3_whoever_steps_into_the_beam_in_this_step_gets_the_gift():
    state = STAGE.draw("..v..........\n>..<.........", top=4, raw=[0, 1])
    after, _ = STAGE.step(state, "forward", "gift")
    assert bags(after, 3) == [(0, 3, 0), (0, 0, 0), (0, 0, 0)]


# R4: consuming


def test_r4_consuming_pays_one_for_every_token_and_empties_the_bag():
    state = STAGE.draw(">...........<", top=5, **held((2, 3, 4), (1, 1, 1)))
    after, transition = STAGE.step(state, "consume")
    assert transition.reward.tolist() == [9, 0, 0, 0, 0]
    assert bags(after, 2) == [(0, 0, 0), (1, 1, 1)]
    assert STAGE.happened(transition, "consumed") == {0: (-1, (5, 0), 9.0)}
    assert STAGE.happened(transition, "wasted") == {0: (-1, (5, 0), 5.0)}


@pytest.mark.parametrize("bag", [(5, 0, 0), (0, 5, 0), (0, 0, 5)])
def test_r4_every_level_pays_the_same_and_only_precious_tokens_are_not_wasted(bag):
    state = STAGE.draw(">............", top=5, **held(bag))
    _, transition = STAGE.step(state, "consume")
    assert transition.reward.tolist() == [5, 0, 0, 0, 0]
    wasted = {} if bag[2] else {0: (-1, (5, 0), 5.0)}
    assert STAGE.happened(transition, "wasted") == wasted


def test_r4_what_a_token_pays_is_a_parameter():
    assert float(GiftRefinement().params().token_reward) == 1
    state = STAGE.draw(">............", top=5, **held((1, 0, 1)))
    _, transition = STAGE.step(state, "consume", token_reward=3)
    assert transition.reward.tolist() == [6, 0, 0, 0, 0]


def test_r4_an_empty_bag_cannot_be_consumed():
    state = STAGE.draw(">............", top=5, raw=[0, 1])
    assert "consume" not in STAGE.may(state, 0) and "consume" in STAGE.may(state, 1)
    _, transition = STAGE.step(state, "consume")
    assert not transition.reward.any()
    assert STAGE.happened(transition, "consumed") == {}


@pytest.mark.parametrize("bag", [(0, 1, 0), (0, 0, 1)])
def test_r4_any_level_can_be_consumed(bag):
    assert "consume" in STAGE.may(STAGE.draw(">............", top=5, **held(bag)), 0)


def test_r4_gifts_of_the_same_step_arrive_after_consuming():
    state = STAGE.draw("><...........", top=5, **held((1, 0, 0), (0, 15, 2)))
    after, transition = STAGE.step(state, "gift", "consume")
    assert transition.reward.tolist() == [0, 17, 0, 0, 0]
    assert bags(after, 2) == [(0, 0, 0), (0, 3, 0)]


def test_r4_consuming_needs_no_beam():
    state = STAGE.draw(">............", top=5, raw=[1], cooldown=[2])
    after, transition = STAGE.step(state, "consume")
    assert transition.reward.tolist() == [1, 0, 0, 0, 0]
    assert int(after.cooldown[0]) == 1


# R5: what stops the beam


def test_r5_the_beam_passes_through_players():
    after, _ = STAGE.step(STAGE.draw(">.v.<........", top=5, raw=[1]), "gift")
    assert STAGE.lit(after, "gift") == {(5, col) for col in range(1, 6)}


def test_r5_the_beam_stops_at_the_first_wall_and_at_the_edge():
    assert STAGE.struck("..>.#........", top=3) == {(3, 3)}
    assert STAGE.struck("...........>.", top=5) == {(5, 12)}
    assert STAGE.struck("............>", top=5) == set()
    assert STAGE.struck("......^......", top=0) == set()
    state = STAGE.draw("..>.#<.......", top=3, raw=[1])
    after, transition = STAGE.step(state, "gift")
    assert STAGE.happened(transition, "gave") == {}
    assert STAGE.lit(after, "gift") == {(3, 3)}


def test_r5_the_beam_is_seen_for_one_step():
    fired, _ = STAGE.step(STAGE.draw(">............", top=5, raw=[1]), "gift")
    seen = STAGE.view(fired, 0, "beam")
    assert (seen[4:9, 5] == "gift").all() and (seen == "gift").sum() == 5
    dark, _ = STAGE.step(fired)
    assert STAGE.lit(dark, "gift") == set()


# R6: no two on a cell


def test_r6_a_contested_cell_goes_to_one_at_random_who_alone_picks_up():
    state = STAGE.draw("....>t<......\n.....^.......", top=5)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    entered = np.asarray(after.body)[:, :3] == STAGE.cell(5, 5)
    assert (entered.sum(1) == 1).all()
    assert (entered.sum(0) > SEEDS / 3 / 2).all()
    assert (np.asarray(after.raw)[:, :3] == entered).all()


def test_r6_two_players_never_swap_and_never_share():
    state = STAGE.draw("...>><.......", top=5)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    assert (np.asarray(after.body) == np.asarray(state.body)).all()


# R7: bags are private


def test_r7_everybody_sees_the_own_bag():
    state = STAGE.draw("><...........", top=5, **held((1, 2, 3), (4, 5, 6)))
    for seat, bag in ((0, (1, 2, 3)), (1, (4, 5, 6)), (2, (0, 0, 0))):
        assert (
            tuple(STAGE.own(state, seat, level) for level in ("raw", "refined", "precious")) == bag
        )


def test_r7_nobody_sees_the_bag_of_another():
    poor = STAGE.draw("><...........", top=5, **held((1, 2, 3)))
    rich = STAGE.draw("><...........", top=5, **held((1, 2, 3), (4, 5, 6), (7, 8, 9)))
    views = [STAGE.env.observe(state, STAGE.params({})) for state in (poor, rich)]
    assert np.array_equal(views[0].cells, views[1].cells)
    assert np.array_equal(views[0].own[0], views[1].own[0])


# R8: the start


def test_r8_players_start_on_spawn_cells_with_drawn_places_and_headings(starts):
    env, state = starts
    body = np.asarray(state.body)
    assert np.isin(body, env.spawn).all()
    assert all(len(set(row)) == env.players for row in body.tolist())
    for seat in range(env.players):
        assert len(set(body[:, seat].tolist())) == len(env.spawn)
        assert min(np.bincount(np.asarray(state.heading)[:, seat], minlength=4)) > 300 / 4 / 2


def test_r8_bags_are_empty_and_beams_ready(starts):
    _, state = starts
    for held_at_start in (state.raw, state.refined, state.precious, state.cooldown):
        assert not held_at_start.any()
    assert (state.fired == -1).all()


# R9: the end


def test_r9_only_the_horizon_ends_an_episode_by_truncation():
    assert int(GiftRefinement().params().horizon) == 1000
    for horizon, clock, ends in (
        (5, 3, False),
        (5, 4, True),
        (1000, 998, False),
        (1000, 999, True),
    ):
        state = STAGE.draw(">............", top=5, clock=clock)
        after, transition = STAGE.step(state, horizon=horizon)
        assert int(after.clock) == clock + 1
        assert bool(transition.truncated) == ends
        assert not bool(transition.terminated)


# The numbers of others


def test_the_numbers_of_socialjax():
    params = Params.socialjax()
    assert (int(params.length), int(params.recharge), int(params.growth)) == (1, 0, 3)


def test_the_numbers_of_melting_pot():
    params = Params.meltingpot()
    assert (int(params.length), int(params.recharge), int(params.growth)) == (5, 3, 5)
