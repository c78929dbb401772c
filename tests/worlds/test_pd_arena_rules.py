"""The Prisoner's Dilemma Arena, rule by rule."""

import jax
import numpy as np
import pytest

import sociarium
from sociarium.core.actions import action_names
from sociarium.envs.dilemmas.pd_arena import BAG, Params, PDArena
from sociarium.mechanics import beams
from tests.worlds.drawn import LONG, SEEDS, starred
from tests.worlds.lands import PD_ARENA as STAGE

ALWAYS = 1.0
PLACES = {(0, 0), (0, 1), (0, 2), (0, 3)}
CARRYING = {"cooperate": [1, 1, 1, 1]}


@pytest.fixture(scope="module")
def starts():
    """Three hundred starts of the world's own map."""
    env = PDArena()
    keys = jax.random.split(sociarium.key(3), 300)
    return env, jax.jit(jax.vmap(env.reset, (0, None)))(keys, env.params())


def bags(state):
    """(cooperate, defect) of everybody."""
    return list(zip(state.cooperate.tolist(), state.defect.tolist(), strict=True))


def held(*bags):
    """The fields of a state in which the first players hold these bags."""
    return dict(zip(("cooperate", "defect"), zip(*bags, strict=True), strict=True))


def meeting(transition):
    """{host: guest} of a step."""
    return {seat: other for seat, (other, *_) in STAGE.happened(transition, "met").items()}


def meetings(transition):
    """How often each set of meetings took place: {{(host, guest), ..}: times}."""
    met = jax.tree.map(np.asarray, transition.events["met"])
    times = {}
    for mask, other in zip(met.mask, met.other, strict=True):
        pairs = frozenset((int(host), int(other[host])) for host in np.flatnonzero(mask))
        times[pairs] = times.get(pairs, 0) + 1
    return times


def about(times, chance):
    """Whether something happened as often as its chance says."""
    return abs(times / SEEDS - chance) < 4 * np.sqrt(chance * (1 - chance) / SEEDS)


# R1: tokens


def test_r1_walking_onto_a_token_puts_it_into_the_bag():
    state = STAGE.draw("CDCD.........\n^^.^.........")
    after, transition = STAGE.step(state, "forward", "forward", "forward")
    assert bags(after) == [(1, 0), (0, 1), (0, 1), (0, 0)]
    assert STAGE.tokens(after) == {(0, 2)}
    assert STAGE.happened(transition, "took_cooperate") == {0: (-1, (0, 0), 1.0)}
    took = {1: (-1, (0, 1), 1.0), 2: (-1, (0, 3), 1.0)}
    assert STAGE.happened(transition, "took_defect") == took
    assert not transition.reward.any()


@pytest.mark.parametrize("act", ["stay", "turn left", "interact", "step right"])
def test_r1_whoever_stands_beside_a_token_leaves_it(act):
    after, _ = STAGE.step(STAGE.draw("CDCD.........\n^............", **CARRYING), act)
    assert STAGE.tokens(after) == PLACES


def test_r1_all_tokens_stand_at_the_start(starts):
    env, state = starts
    assert state.token.all()
    assert sorted(np.asarray(env.kind).tolist()) == [3] * 6 + [4] * 6
    assert not state.cooperate.any() and not state.defect.any()


def test_r1_a_place_keeps_its_kind():
    state = STAGE.draw("cdCD.........")
    ground = STAGE.env.draw_map(state, STAGE.params({}))
    assert [ground.tiles[code] for code in ground.ground[0, :4]] == [
        "floor",
        "floor",
        "cooperate token",
        "defect token",
    ]


@pytest.mark.parametrize(
    ("bag", "then"),
    [
        ((998, 0), (999, 0)),
        ((999, 0), (999, 0)),
        ((0, 999), (1, 999)),
    ],
)
def test_r1_a_bag_holds_999_of_each(bag, then):
    assert BAG == 999
    state = STAGE.draw("CDCD.........\n^............", **held(bag))
    after, transition = STAGE.step(state, "forward")
    assert bags(after)[0] == then
    taken = bag != then
    assert ((0, 0) in STAGE.tokens(after)) != taken
    assert (STAGE.happened(transition, "took_cooperate") != {}) == taken
    state = STAGE.draw("CDCD.........\n.^...........", **held(bag[::-1]))
    after, _ = STAGE.step(state, "forward")
    assert bags(after)[0] == then[::-1]


# R2: regrowth


def test_r2_an_empty_place_nobody_stands_on_gets_its_token_back():
    state = STAGE.draw("cd^D.........")
    after, _ = STAGE.step(state, regrowth=ALWAYS)
    assert STAGE.tokens(after) == PLACES - {(0, 2)}


def test_r2_a_token_taken_in_this_step_does_not_grow_back_under_its_taker():
    state = STAGE.draw("cdCD.........\n..^..........")
    after, _ = STAGE.step(state, "forward", regrowth=ALWAYS)
    assert STAGE.tokens(after) == PLACES - {(0, 2)}
    later, _ = STAGE.step(after, "back", regrowth=ALWAYS)
    assert STAGE.tokens(later) == PLACES


def test_r2_who_has_met_somebody_stands_there_no_longer():
    state = STAGE.draw("cd>.<........", **CARRYING)
    after, transition = STAGE.step(state, "interact", regrowth=ALWAYS)
    assert meeting(transition) == {0: 1}
    assert STAGE.tokens(after) == PLACES


def test_r2_tokens_grow_back_as_often_as_their_chance():
    assert np.isclose(PDArena().params().regrowth, 0.1, rtol=1e-6)
    after, _ = STAGE.steps(STAGE.draw("cdcd........."), regrowth=0.25)
    token = np.asarray(after.token)
    assert abs(token.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / token.size)
    assert abs(token.mean(0) - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / SEEDS)


# R3: the interaction beam


@pytest.mark.parametrize(
    ("picture", "top", "first"),
    [
        (".......^.....", 6, (3, 6)),
        (".....>.......", 5, (4, 6)),
        (".......v.....", 4, (5, 6)),
        ("........<....", 5, (4, 5)),
    ],
)
def test_r3_the_beam_is_three_long_and_three_wide(picture, top, first):
    row, col = first
    square = {(row + down, col + right) for down in range(3) for right in range(3)}
    assert STAGE.struck(picture, top) == square
    assert (np.asarray(PDArena().params().beam) == (np.arange(5) < 3)[:, None]).all()


def test_r3_the_beam_needs_two_steps_to_recharge():
    assert int(PDArena().params().recharge) == 2
    state = STAGE.draw("....>........", top=5, **CARRYING)
    fired, shown = [], []
    for step in range(7):
        able = "interact" in STAGE.may(state, 0)
        state, transition = STAGE.step(state, "interact")
        assert (STAGE.happened(transition, "reached_out") != {}) == able
        assert bool(STAGE.lit(state, "interact")) == able
        fired += [step] * able
        shown.append(STAGE.own(state, 0, "cooldown"))
    assert fired == [0, 3, 6]
    assert shown == [2, 1, 0, 2, 1, 0, 2]


def test_r3_a_beam_that_recharges_meets_nobody():
    state = STAGE.draw("....>.<......", top=5, cooldown=[1], **CARRYING)
    after, transition = STAGE.step(state, "interact")
    assert meeting(transition) == {}
    assert bags(after)[:2] == [(1, 0), (1, 0)]


def test_r3_who_carries_no_token_meets_nobody():
    state = STAGE.draw("....>.<......", top=5, **held((0, 0), (1, 1)))
    assert "interact" not in STAGE.may(state, 0) and "interact" in STAGE.may(state, 1)
    after, transition = STAGE.step(state, "interact")
    assert meeting(transition) == {}
    assert STAGE.happened(transition, "reached_out") == {}
    assert (int(after.cooldown[0]), int(after.fired[0])) == (0, -1)


def test_r3_who_carries_no_token_is_not_met():
    state = STAGE.draw("....>.<......", top=5, **held((1, 1), (0, 0)))
    after, transition = STAGE.step(state, "interact")
    assert meeting(transition) == {}
    assert STAGE.happened(transition, "reached_out") == {0: (-1, (5, 4), 1.0)}
    assert STAGE.places(after)[:2] == [(5, 4), (5, 6)]
    assert bags(after)[0] == (1, 1)
    assert int(after.cooldown[0]) == 2


@pytest.mark.parametrize("bag", [(1, 0), (0, 1)])
def test_r3_one_token_of_either_kind_is_enough(bag):
    state = STAGE.draw("....>.<......", top=5, **held(bag, bag))
    _, transition = STAGE.step(state, "interact")
    assert meeting(transition) == {0: 1}


def test_r3_the_beam_goes_past_those_who_carry_none_to_the_first_who_does():
    state = STAGE.draw("....>^v<.....", top=5, **held((1, 0), (0, 0), (0, 2), (1, 0)))
    _, transition = STAGE.step(state, "interact")
    assert meeting(transition) == {0: 2}


@pytest.mark.parametrize(
    ("picture", "top", "host", "guest"),
    [  # nearer rows first; in a row the middle, then left, then right
        (".....vvv.....\n.............\n......^......", 4, 3, 1),
        (".....v.v.....\n.............\n......^......", 4, 2, 0),
        (".......v.....\n......v......\n......^......", 4, 2, 1),
        ("......v......\n.......v.....\n......^......", 4, 2, 1),
        ("......v......\n.....v.......\n......^......", 4, 2, 1),
        ("......v......\n......^......", 5, 1, 0),
        (".......v.....\n....>..v.....\n.......v.....", 4, 1, 2),
        (".......v.....\n....>........\n.......v.....", 4, 1, 0),
        ("......v......\n.............\n.....^.^.....", 4, 0, 2),
        ("....v........\n....v..<.....\n....v........", 4, 2, 1),
        ("....v........\n.......<.....\n....v........", 4, 1, 2),
    ],
)
def test_r3_the_first_player_in_the_beam_is_met(picture, top, host, guest):
    acts = ["stay"] * host + ["interact"]
    _, transition = STAGE.step(STAGE.draw(picture, top, **CARRYING), *acts)
    assert meeting(transition) == {host: guest}


def test_r3_a_token_taken_in_this_step_counts():
    state = STAGE.draw("cdC.<........\n..^..........", **held((1, 0), (0, 0)))
    _, transition = STAGE.step(state, "interact", "forward")
    assert meeting(transition) == {0: 1}
    assert transition.reward.tolist() == [3, 3, 0, 0]


# R4: one meeting at a time


def test_r4_of_two_who_want_to_meet_one_player_one_does_by_lot():
    state = STAGE.draw("....>.v.<....", top=5, **held((1, 0), (0, 1), (0, 2)))
    after, transition = STAGE.steps(state, "interact", "stay", "interact")
    times = meetings(transition)
    first, second = frozenset({(0, 1)}), frozenset({(2, 1)})
    assert times.keys() == {first, second}
    assert about(times[first], 0.5)
    left = np.asarray(after.body)[:, :3] == STAGE.env.terrain.nowhere
    assert (left.sum(1) == 2).all() and left[:, 1].all()
    assert (np.asarray(after.defect)[:, 2] == 2 * ~left[:, 2]).all()
    assert (np.asarray(after.cooldown)[:, [0, 2]] == 2).all()


def test_r4_of_three_who_want_to_meet_one_player_each_does_equally_often():
    state = STAGE.draw("....>.v.<....\n......^......", top=5, **CARRYING)
    _, transition = STAGE.steps(state, "interact", "stay", "interact", "interact")
    times = meetings(transition)
    assert times.keys() == {frozenset({(host, 1)}) for host in (0, 2, 3)}
    assert all(about(each, 1 / 3) for each in times.values())


def test_r4_whoever_is_met_does_not_meet_another():
    state = STAGE.draw("...>..>..v...", top=5, **CARRYING)
    _, transition = STAGE.steps(state, "interact", "interact")
    times = meetings(transition)
    assert times.keys() == {frozenset({(0, 1)}), frozenset({(1, 2)})}
    assert all(about(each, 0.5) for each in times.values())


def test_r4_a_proposal_stands_if_it_is_the_highest_for_both():
    state = STAGE.draw("..>..>..>..v.", top=5, **CARRYING)
    _, transition = STAGE.steps(state, "interact", "interact", "interact")
    expected = {
        frozenset({(1, 2)}): 1 / 3,
        frozenset({(0, 1), (2, 3)}): 1 / 3,
        frozenset({(0, 1)}): 1 / 6,  # the second beats the third, and is beaten by the first
        frozenset({(2, 3)}): 1 / 6,
    }
    times = meetings(transition)
    assert times.keys() == expected.keys()
    assert all(about(times[pairs], expected[pairs]) for pairs in expected)


def test_r4_two_who_want_to_meet_each_other_meet_once():
    state = STAGE.draw("....>.<......", top=5, **held((1, 0), (0, 1)))
    _, transition = STAGE.steps(state, "interact", "interact")
    assert meetings(transition).keys() == {frozenset({(0, 1)}), frozenset({(1, 0)})}
    assert (np.asarray(transition.reward) == [-1, 5, 0, 0]).all()
    met, was_met = (np.asarray(transition.events[kind].mask) for kind in ("met", "was_met"))
    assert (met.sum(1) == 1).all() and (was_met.sum(1) == 1).all() and not (met & was_met).any()


def test_r4_two_pairs_can_meet_at_once():
    state = STAGE.draw(".>.<.....>.<.", top=5, **held((1, 0), (1, 0), (0, 1), (0, 1)))
    _, transition = STAGE.step(state, "interact", "stay", "interact")
    assert meeting(transition) == {0: 1, 2: 3}
    assert transition.reward.tolist() == [3, 3, 1, 1]


# R5: payoffs


@pytest.mark.parametrize(
    ("mine", "theirs", "pay"),
    [
        ((1, 0), (1, 0), (3, 3)),
        ((0, 1), (0, 1), (1, 1)),
        ((0, 1), (1, 0), (5, -1)),
        ((1, 0), (0, 1), (-1, 5)),
        ((7, 0), (0, 2), (-1, 5)),
        ((1, 1), (1, 0), (4, 1)),
        ((1, 1), (0, 1), (0, 3)),
        ((1, 1), (1, 1), (2, 2)),
        ((5, 5), (3, 3), (2, 2)),
        ((3, 1), (1, 3), (0.5, 3.5)),
        ((2, 1), (1, 0), (11 / 3, 5 / 3)),
        ((999, 999), (999, 0), (4, 1)),
        ((999, 999), (999, 999), (2, 2)),
        ((999, 1), (1, 999), (-0.994, 4.994)),
    ],
)
def test_r5_each_plays_the_shares_of_its_bag(mine, theirs, pay):
    state = STAGE.draw("....>.<......", top=5, **held(mine, theirs))
    _, transition = STAGE.step(state, "interact")
    assert np.allclose(transition.reward, [*pay, 0, 0], rtol=1e-6, atol=1e-6)
    first, second = transition.reward[:2].tolist()
    assert STAGE.happened(transition, "met") == {0: (1, (5, 4), first)}
    assert STAGE.happened(transition, "was_met") == {1: (0, (5, 6), second)}


def test_r5_the_payoffs_are_those_of_the_sheet():
    assert PDArena().params().payoff.tolist() == [[3, -1], [5, 1]]


def test_r5_the_payoffs_are_parameters():
    payoff = [[1, 2], [3, 4]]
    for mine, theirs, pay in (
        ((1, 0), (1, 0), [1, 1]),
        ((1, 0), (0, 1), [2, 3]),
        ((0, 1), (1, 0), [3, 2]),
        ((0, 1), (0, 1), [4, 4]),
        ((1, 3), (1, 1), [3, 2.75]),
    ):
        state = STAGE.draw("....>.<......", top=5, **held(mine, theirs))
        _, transition = STAGE.step(state, "interact", payoff=payoff)
        assert transition.reward.tolist() == [*pay, 0, 0]


# R6: leaving and coming back


def test_r6_both_bags_are_empty_and_both_players_are_out_of_play():
    state = STAGE.draw("....>.<..^...", top=5, **held((2, 3), (4, 5), (6, 7)))
    after, _ = STAGE.step(state, "interact")
    assert STAGE.places(after)[:3] == [None, None, (5, 9)]
    assert bags(after) == [(0, 0), (0, 0), (6, 7), (0, 0)]
    for seat in (0, 1):
        assert STAGE.may(after, seat) == {"stay"}
        for plane in STAGE.env.view_spec.planes:
            assert (STAGE.view(after, seat, plane.name) == plane.codes[0]).all()


def test_r6_each_is_away_for_a_drawn_time():
    params = PDArena().params()
    assert (int(params.least_exile), int(params.most_exile)) == (10, 100)
    state = STAGE.draw("....>.<......", top=5, **CARRYING)
    after, _ = STAGE.steps(state, "interact")
    away = np.asarray(after.away)[:, :2]
    assert away.min() in range(10, 15) and away.max() in range(96, 101)
    assert abs(away.mean() - 55) < 4 * 26.3 / np.sqrt(away.size)
    assert abs(np.corrcoef(away.T)[0, 1]) < 4.5 / np.sqrt(SEEDS)
    after, _ = STAGE.steps(state, "interact", least_exile=10, most_exile=13)
    times = np.bincount(np.asarray(after.away)[:, :2].ravel(), minlength=14)
    assert times[:10].sum() == 0 and len(times) == 14
    assert abs(times[10:] - SEEDS / 2).max() < 4.5 * np.sqrt(SEEDS / 2)


@pytest.mark.parametrize("exile", [1, 2, 10])
def test_r6_they_miss_that_many_steps_and_come_back_on_a_spawn_cell(exile):
    params = {"least_exile": exile, "most_exile": exile}
    state = STAGE.draw("....>.<......", top=5, **CARRYING)
    state, _ = STAGE.step(state, "interact", **params)
    for missed in range(exile):
        for seat in (0, 1):
            assert STAGE.places(state)[seat] is None
            assert STAGE.own(state, seat, "away") == exile - missed
        state, transition = STAGE.step(state, "forward", "interact", **params)
    back = STAGE.happened(transition, "returned")
    assert back == {seat: (-1, STAGE.places(state)[seat], 1.0) for seat in (0, 1)}
    assert len(set(STAGE.places(state)[:2])) == 2
    for row, col in STAGE.places(state)[:2]:
        assert STAGE.land[row][col] == "P"
    assert STAGE.may(state, 0) == set(action_names(STAGE.env.actions)) - {"interact"}


def test_r6_they_come_back_anywhere_free_facing_anywhere():
    state = STAGE.draw(".>PP.....PPP.", top=8, away=[0, 1, LONG, LONG])
    after, _ = STAGE.steps(state)
    cells = np.asarray(after.body)[:, 1].tolist()
    assert {divmod(cell, 13) for cell in cells} == {(8, col) for col in (2, 3, 9, 10, 11)}
    assert min(np.bincount(cells)[sorted(set(cells))]) > SEEDS / 5 / 2
    assert min(np.bincount(np.asarray(after.heading)[:, 1], minlength=4)) > SEEDS / 4 / 2


@pytest.mark.parametrize("act", ["forward", "turn left", "interact"])
def test_r6_whoever_is_out_of_play_can_do_nothing(act):
    state = STAGE.draw("....>........", top=5)
    after, transition = STAGE.step(state, "stay", act, act, act)
    assert STAGE.places(after)[1:] == [None] * 3
    assert after.heading.tolist() == state.heading.tolist()
    assert STAGE.happened(transition, "reached_out") == {}


# R7: what stops the beam


def test_r7_the_beam_passes_through_players():
    state = STAGE.draw("....>^v<.....", top=5, **held((1, 0), (0, 0), (0, 0), (1, 0)))
    after, transition = STAGE.step(state, "interact")
    assert meeting(transition) == {0: 3}
    assert len(STAGE.lit(after, "interact")) == 9


def test_r7_each_lane_of_the_beam_stops_at_a_wall_and_at_the_edge():
    covered = """
        ...*.*.......
        ...*#*.......
        ...***.......
    """
    assert STAGE.struck("....^........", top=5) == starred(covered, top=2)
    assert STAGE.struck("............>", top=5) == set()


def test_r7_a_lane_beside_which_a_wall_stands_is_dark():
    covered = """
        .....**......
        .....**......
        .....**......
    """
    assert STAGE.struck("....#^.......", top=3) == starred(covered, top=0)


def test_r7_the_beam_is_seen_where_it_reaches_for_one_step():
    fired, _ = STAGE.step(STAGE.draw("....^........", top=5, **CARRYING), "interact")
    assert STAGE.lit(fired, "interact") == STAGE.struck("....^........", top=5)
    dark, _ = STAGE.step(fired)
    assert STAGE.lit(dark, "interact") == set()


# R8: no two on a cell


def test_r8_a_contested_cell_goes_to_one_at_random_who_alone_takes():
    state = STAGE.draw("c>C<.........\n..^..........")
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    entered = np.asarray(after.body)[:, :3] == STAGE.cell(0, 2)
    assert (entered.sum(1) == 1).all()
    assert (entered.sum(0) > SEEDS / 3 / 2).all()
    assert (np.asarray(after.cooperate)[:, :3] == entered).all()


def test_r8_two_players_never_swap_and_never_share():
    state = STAGE.draw("...>><.......", top=5)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    assert (np.asarray(after.body) == np.asarray(state.body)).all()


# R9: bags are private


def test_r9_everybody_sees_the_own_bag():
    state = STAGE.draw("....>.<......", top=5, **held((1, 2), (3, 4)))
    for seat, bag in ((0, (1, 2)), (1, (3, 4)), (2, (0, 0))):
        names = ("cooperate tokens", "defect tokens")
        assert tuple(STAGE.own(state, seat, name) for name in names) == bag


def test_r9_nobody_sees_the_bag_of_another():
    poor = STAGE.draw("....>.<......", top=5, **held((1, 2)))
    rich = STAGE.draw("....>.<......", top=5, **held((1, 2), (3, 4), (5, 6)))
    views = [STAGE.env.observe(state, STAGE.params({})) for state in (poor, rich)]
    assert np.array_equal(views[0].cells, views[1].cells)
    assert np.array_equal(views[0].own[0], views[1].own[0])


# R10: the start


def test_r10_players_start_on_spawn_cells_with_drawn_places_and_headings(starts):
    env, state = starts
    body = np.asarray(state.body)
    assert np.isin(body, env.spawn).all()
    assert all(len(set(row)) == env.players for row in body.tolist())
    for seat in range(env.players):
        assert len(set(body[:, seat].tolist())) > len(env.spawn) * 0.9
        assert min(np.bincount(np.asarray(state.heading)[:, seat], minlength=4)) > 300 / 4 / 2
    assert not state.away.any() and not state.cooldown.any() and (state.fired == -1).all()


# R11: the end


def test_r11_only_the_horizon_ends_an_episode_by_truncation():
    assert int(PDArena().params().horizon) == 1000
    for horizon, clock, ends in (
        (5, 3, False),
        (5, 4, True),
        (1000, 998, False),
        (1000, 999, True),
    ):
        state = STAGE.draw("....>........", top=5, clock=clock)
        after, transition = STAGE.step(state, horizon=horizon)
        assert int(after.clock) == clock + 1
        assert bool(transition.truncated) == ends
        assert not bool(transition.terminated)


# The numbers of others


def test_the_numbers_of_socialjax():
    params = Params.socialjax()
    assert int(params.recharge) == 0
    assert np.array_equal(params.beam, beams.footprint(1, 0))
    assert np.array_equal(params.payoff, Params.of().payoff)


def test_the_numbers_of_melting_pot():
    params = Params.meltingpot()
    assert params.payoff.tolist() == [[3, 0], [5, 1]]
    assert np.isclose(params.regrowth, 0.04, rtol=1e-6)
    assert (int(params.least_exile), int(params.most_exile)) == (66, 66)
    assert int(params.recharge) == 2
