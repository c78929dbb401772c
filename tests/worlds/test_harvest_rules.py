"""Commons Harvest, rule by rule."""

import jax
import numpy as np
import pytest

import sociarium
from sociarium.core.actions import action_names
from sociarium.core.facets import Board
from sociarium.envs.dilemmas.harvest import MAPS, Harvest
from tests.worlds.drawn import LONG, SEEDS, Stage, starred
from tests.worlds.lands import HARVEST as STAGE

ALWAYS, NEVER = 1.0, 0.0
FERTILE = [NEVER, ALWAYS, ALWAYS, ALWAYS]
TREES = ("six_trees", "one_tree")
ROOMS = ("closed", "partnership")


@pytest.fixture(scope="module")
def starts():
    """Three hundred starts on the open map."""
    env = sociarium.make("harvest_open-v0")
    keys = jax.random.split(sociarium.key(3), 300)
    return env, jax.jit(jax.vmap(env.reset, (0, None)))(keys, env.params())


# R1: eating pays


def test_r1_walking_onto_an_apple_eats_it_and_pays_one():
    state = STAGE.draw("A<a.........a\na.a........aa")
    after, transition = STAGE.step(state, "forward")
    assert STAGE.apples(after) == set()
    assert transition.reward.tolist() == [1, 0, 0, 0]
    assert STAGE.happened(transition, "ate") == {0: (-1, (0, 0), 1.0)}


def test_r1_zapping_being_zapped_and_walking_on_grass_pay_nothing():
    state = STAGE.draw("..>.<..^.....", top=5)
    _, transition = STAGE.step(state, "zap", "stay", "forward")
    assert STAGE.happened(transition, "zapped") == {1: (0, (5, 4), 1.0)}
    assert not transition.reward.any()


@pytest.mark.parametrize("act", ["stay", "turn left", "turn right", "zap"])
def test_r1_whoever_stands_beside_an_apple_does_not_eat_it(act):
    state = STAGE.draw("A>A.........a\na.a........aa")
    after, transition = STAGE.step(state, act)
    assert STAGE.apples(after) == {(0, 0), (0, 2)}
    assert not transition.reward.any()


# R2: growth by neighbours


@pytest.mark.parametrize(
    ("picture", "sprouts"),
    [  # sprouts[n]: the bare plots with n apples near; two cells away is near, a knight's move not
        ("Aaa.........A\na.a........AA", {0: {(1, 2)}, 1: {(0, 1), (0, 2), (1, 0)}}),
        ("AAa.........A\na.a........AA", {1: {(1, 2)}, 2: {(0, 2), (1, 0)}}),
        ("AAA.........A\nA.a........AA", {3: {(1, 2)}}),
        ("AaA.........A\nA.A........AA", {3: {(0, 1)}}),  # four are near: three or more
    ],
)
def test_r2_growth_goes_by_the_apples_within_distance_two(picture, sprouts):
    state = STAGE.draw(picture)
    for near in range(4):
        only = [ALWAYS if count == near else NEVER for count in range(4)]
        after, _ = STAGE.step(state, regrowth=only)
        assert STAGE.apples(after) == STAGE.apples(state) | sprouts.get(near, set())


def test_r2_apples_eaten_in_this_step_no_longer_count_as_neighbours():
    state = STAGE.draw("aaA<........a\na.a........aa")
    after, _ = STAGE.step(state, "forward", regrowth=FERTILE)
    assert STAGE.apples(after) == set()


def test_r2_apples_grown_in_this_step_do_not_count_yet():
    state = STAGE.draw("Aaa.........a\na.a........aa")
    after, _ = STAGE.step(state, regrowth=FERTILE)
    assert (1, 2) not in STAGE.apples(after)
    later, _ = STAGE.step(after, regrowth=FERTILE)
    assert (1, 2) in STAGE.apples(later)


def test_r2_nothing_grows_under_a_player():
    state = STAGE.draw("A<A.........a\na.a........aa")
    after, _ = STAGE.step(state, regrowth=FERTILE)
    assert STAGE.apples(after) == {(0, 0), (0, 2), (1, 0), (1, 2)}


def test_r2_a_bare_patch_is_dead_for_good():
    state = STAGE.draw("aaa.........A\na.A<.......aa")
    after, transition = STAGE.step(state, "forward", regrowth=FERTILE)
    assert STAGE.happened(transition, "ate_last") == {0: (-1, (1, 2), 1.0)}
    assert STAGE.happened(transition, "patch_died") == {0: (-1, None, 0.0)}
    for seed in range(5):
        after, transition = STAGE.step(after, "back", regrowth=FERTILE, seed=seed)
        assert STAGE.apples(after) == {(0, 12), (1, 11), (1, 12)}
        assert STAGE.happened(transition, "patch_died") == {}


def test_r2_an_apple_is_not_the_last_while_another_of_its_patch_stands():
    state = STAGE.draw("AaA<........a\na.a........aa")
    _, transition = STAGE.step(state, "forward")
    assert STAGE.happened(transition, "ate") == {0: (-1, (0, 2), 1.0)}
    assert STAGE.happened(transition, "ate_last") == {}
    assert STAGE.happened(transition, "patch_died") == {}


@pytest.mark.parametrize("name", MAPS)
def test_r2_the_chances_are_those_of_the_sheet(name):
    regrowth = Harvest(players=3, map=name).params().regrowth
    lowest = 0.0025 if name in TREES else 0.001
    assert np.allclose(regrowth, [0, lowest, 0.005, 0.025], rtol=1e-6, atol=0)


def test_r2_growth_happens_as_often_as_its_chance():
    state = STAGE.draw("AAA.........a\nA.a........aa")
    after, _ = STAGE.steps(state, regrowth=[NEVER, NEVER, NEVER, 0.25])
    grown = np.asarray(after.apple).sum(1) - 4
    assert abs(grown.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / SEEDS)


@pytest.mark.parametrize("name", ["open", "closed", "partnership", "six_trees"])
def test_r2_the_maps_have_64_apples_in_six_patches(name):
    env = Harvest(map=name)
    assert env.plots == 64
    assert sorted(np.bincount(env.patch)) == [6, 6, 13, 13, 13, 13]


def test_r2_the_six_trees_stand_on_an_open_field_of_18_by_24():
    env = Harvest(players=4, map="six_trees")
    assert env.facet(Board).shape == (18, 24)
    assert not env.terrain.wall.any()


def test_r2_the_one_tree_has_13_apples_in_a_yard_without_exit():
    env = Harvest(players=3, map="one_tree")
    assert (env.plots, env.patches) == (13, 1)
    wall = env.terrain.wall
    assert wall[[0, -1]].all() and wall[:, [0, -1]].all() and not wall[1:-1, 1:-1].any()
    assert len(env.spawn) >= env.players and len(env.inside) == 0


# The last apple of a patch, and who leaves it standing


LAST = "aaa.........A\na.A<.......aa"  # one step from the last apple of the left patch


@pytest.mark.parametrize("act", ["back", "step left", "step right"])
def test_whoever_goes_away_from_a_last_apple_has_spared_it(act):
    after, transition = STAGE.step(STAGE.draw(LAST), act)
    assert STAGE.happened(transition, "spared") == {0: (-1, STAGE.places(after)[0], 1.0)}
    assert STAGE.happened(transition, "ate_last") == {}
    _, transition = STAGE.step(after, "stay")
    assert STAGE.happened(transition, "spared") == {}


@pytest.mark.parametrize("act", ["stay", "turn left", "zap"])
def test_whoever_still_stands_beside_a_last_apple_has_not_spared_it_yet(act):
    _, transition = STAGE.step(STAGE.draw(LAST), act)
    assert STAGE.happened(transition, "spared") == {}


def test_whoever_eats_a_last_apple_has_not_spared_it():
    _, transition = STAGE.step(STAGE.draw(LAST), "forward")
    assert STAGE.happened(transition, "ate_last").keys() == {0}
    assert STAGE.happened(transition, "spared") == {}


def test_whoever_waited_until_the_patch_grew_again_has_spared_its_last_apple():
    after, transition = STAGE.step(STAGE.draw(LAST), "stay", regrowth=FERTILE)
    assert len(STAGE.apples(after)) > 2
    assert STAGE.happened(transition, "spared") == {0: (-1, (1, 3), 1.0)}
    _, transition = STAGE.step(after, "back")
    assert STAGE.happened(transition, "spared") == {}


def test_an_apple_that_another_eats_was_spared_by_nobody():
    state = STAGE.draw("aaa.........A\na.A<.......aa\n..^..........")
    _, transition = STAGE.step(state, "back", "forward")
    assert STAGE.happened(transition, "ate_last").keys() == {1}
    assert STAGE.happened(transition, "spared") == {}


def test_an_apple_that_is_not_the_last_or_not_within_a_step_is_not_spared():
    several = STAGE.draw("aaA.........A\na.A<.......aa")
    _, transition = STAGE.step(several, "back")
    assert STAGE.happened(transition, "spared") == {}
    distant = STAGE.draw("aaa.........A\na.A.<......aa")
    _, transition = STAGE.step(distant, "back")
    assert STAGE.happened(transition, "spared") == {}


def test_whoever_walks_up_to_a_last_apple_has_not_spared_it():
    state = STAGE.draw("aaa.........A\na.A.<......aa")
    after, transition = STAGE.step(state, "forward")
    assert STAGE.places(after)[0] == (1, 3)
    assert STAGE.happened(transition, "spared") == {}


def test_whoever_is_zapped_away_from_a_last_apple_has_not_spared_it():
    state = STAGE.draw("aaa.........A\na.A<.<.....aa")
    _, transition = STAGE.step(state, "stay", "zap")
    assert STAGE.happened(transition, "zapped").keys() == {0}
    assert STAGE.happened(transition, "spared") == {}


def test_several_who_leave_a_last_apple_have_all_spared_it():
    state = STAGE.draw("aaa.........A\na.A<.......aa\n..^..........")
    _, transition = STAGE.step(state, "back", "back")
    assert STAGE.happened(transition, "spared").keys() == {0, 1}


# R3: the zap beam


@pytest.mark.parametrize("name", MAPS)
def test_r3_the_beam_is_three_wide_and_three_or_four_long(name):
    zap = np.asarray(Harvest(players=3, map=name).params().zap)
    length = 4 if name in ROOMS else 3
    assert (zap == (np.arange(5) < length)[:, None]).all()


def test_r3_the_beam_covers_the_cells_ahead_facing_north():
    covered = """
        ......***....
        ......***....
        ......***....
    """
    assert STAGE.struck(".......^.....", top=5) == starred(covered, top=2)


def test_r3_the_beam_covers_the_cells_ahead_facing_east():
    covered = """
        ......***....
        ......***....
        ......***....
    """
    assert STAGE.struck(".....>.......", top=5) == starred(covered, top=4)


def test_r3_the_beam_covers_the_cells_ahead_facing_south():
    covered = """
        ......***....
        ......***....
        ......***....
    """
    assert STAGE.struck(".......v.....", top=4) == starred(covered, top=5)


def test_r3_the_beam_covers_the_cells_ahead_facing_west():
    covered = """
        .....***.....
        .....***.....
        .....***.....
    """
    assert STAGE.struck("........<....", top=5) == starred(covered, top=4)


def test_r3_each_lane_of_the_beam_stops_at_a_wall():
    covered = """
        ...*.*.......
        ...*#*.......
        ...***.......
    """
    assert STAGE.struck("....^........", top=5) == starred(covered, top=2)


def test_r3_a_lane_beside_which_a_wall_stands_is_dark():
    covered = """
        .....**......
        .....**......
        .....**......
    """
    # the wall at row 3, column 4 stands left of the player
    assert STAGE.struck(".....^.......", top=3) == starred(covered, top=0)


def test_r3_the_beam_stops_at_the_edge():
    assert STAGE.struck("............>", top=5) == set()
    assert STAGE.struck("...........>.", top=5) == {(4, 12), (5, 12), (6, 12)}


def test_r3_the_beam_passes_through_players():
    state = STAGE.draw("....>v<^.....", top=5)
    _, transition = STAGE.step(state, "zap")
    assert STAGE.happened(transition, "zapped").keys() == {1, 2, 3}


def test_r3_a_hit_by_several_beams_is_told_of_the_lowest_seat():
    state = STAGE.draw("....>.v<.....", top=5)
    _, transition = STAGE.step(state, "zap", "stay", "zap")
    assert STAGE.happened(transition, "zapped")[1] == (0, (5, 6), 1.0)


def test_r3_the_beam_is_seen_where_it_hits_for_one_step():
    state = STAGE.draw("....>........", top=5)
    fired, _ = STAGE.step(state, "zap")
    assert STAGE.lit(fired, "zap") == STAGE.struck("....>........", top=5)
    assert (STAGE.view(fired, 0, "beam")[6:9, 4:7] == "zap").all()
    assert (STAGE.view(fired, 0, "beam") == "zap").sum() == 9
    dark, _ = STAGE.step(fired)
    assert STAGE.lit(dark, "zap") == set()
    assert (STAGE.view(dark, 0, "beam") == "none").all()


@pytest.mark.parametrize("recharge", [0, 1, 2, 5])
def test_r3_the_beam_then_needs_some_steps_to_recharge(recharge):
    state = STAGE.draw("....>........", top=5)
    fired = []
    for step in range(12):
        able = "zap" in STAGE.may(state, 0)
        state, transition = STAGE.step(state, "zap", recharge=recharge)
        assert (STAGE.happened(transition, "fired") != {}) == able
        fired += [step] * able
    assert fired == list(range(0, 12, recharge + 1))


def test_r3_the_owner_sees_its_beam_recharge():
    state = STAGE.draw("....>........", top=5)
    shown = []
    for act in ("zap", "stay", "stay", "stay"):
        state, _ = STAGE.step(state, act, recharge=2)
        shown.append(STAGE.own(state, 0, "cooldown"))
    assert shown == [2, 1, 0, 0]


# R4: out of play


@pytest.mark.parametrize("exile", [1, 2, 4])
def test_r4_whoever_is_hit_misses_that_many_steps_and_comes_back(exile):
    state = STAGE.draw("....>.<......", top=5)
    state, transition = STAGE.step(state, "zap", exile=exile)
    assert STAGE.happened(transition, "zapped") == {1: (0, (5, 6), 1.0)}
    for missed in range(exile):
        assert STAGE.places(state)[1] is None
        assert STAGE.own(state, 1, "away") == exile - missed
        assert STAGE.may(state, 1) == {"stay"}
        state, transition = STAGE.step(state, "stay", "forward", exile=exile)
    place = STAGE.places(state)[1]
    assert STAGE.happened(transition, "returned") == {1: (-1, place, 1.0)}
    assert STAGE.land[place[0]][place[1]] == "P"
    assert STAGE.may(state, 1) == set(action_names(STAGE.env.actions))


@pytest.mark.parametrize("name", MAPS)
def test_r4_the_time_out_of_play_is_that_of_the_sheet(name):
    assert int(Harvest(players=3, map=name).params().exile) == (100 if name in ROOMS else 4)


def test_r4_whoever_is_out_of_play_sees_nothing_and_is_not_seen():
    state = STAGE.draw("....>.<......", top=5)
    assert (STAGE.view(state, 0, "seat") == "seat 1").sum() == 1
    after, _ = STAGE.step(state, "zap")
    planes = [plane.name for plane in STAGE.env.view_spec.planes]
    for plane in planes:
        nothing = STAGE.env.view_spec.planes[STAGE.env.view_spec.plane(plane)].codes[0]
        assert (STAGE.view(after, 1, plane) == nothing).all()
    assert not (STAGE.view(after, 0, "seat") == "seat 1").any()


@pytest.mark.parametrize("act", ["forward", "turn left", "zap"])
def test_r4_whoever_is_out_of_play_can_do_nothing(act):
    state = STAGE.draw("....>........", top=5)
    after, transition = STAGE.step(state, "stay", act, act, act)
    assert STAGE.places(after)[1:] == [None] * 3
    assert after.heading.tolist() == state.heading.tolist()
    assert STAGE.happened(transition, "fired") == {}


def test_r4_they_come_back_anywhere_free_among_the_spawn_cells_facing_anywhere():
    state = STAGE.draw(".>PP.....PPP.", top=8, away=[0, 1, LONG, LONG])
    after, transition = STAGE.steps(state)
    assert np.asarray(transition.events["returned"].mask)[:, 1].all()
    free = {(8, col) for col in (2, 3, 9, 10, 11)}
    cells = np.asarray(after.body)[:, 1].tolist()
    assert {divmod(cell, 13) for cell in cells} == free
    assert min(np.bincount(cells)[sorted(set(cells))]) > SEEDS / 5 / 2
    assert min(np.bincount(np.asarray(after.heading)[:, 1], minlength=4)) > SEEDS / 4 / 2


def test_r4_several_who_come_back_at_once_get_different_cells():
    state = STAGE.draw("....>........", top=5, away=[0, 1, 1, 1])
    after, _ = STAGE.steps(state)
    bodies = np.asarray(after.body)
    assert (bodies != STAGE.env.terrain.nowhere).all()
    assert all(len(set(row)) == 4 for row in bodies.tolist())


def test_r4_where_no_spawn_cell_is_free_they_wait_a_step():
    full = Stage(Harvest, "A.Q.\n.P..", players=2)
    state = full.draw("A.Q.\n.>..", away=[0, 1])
    waiting, transition = full.step(state)
    assert full.places(waiting)[1] is None
    assert full.happened(transition, "returned") == {}
    assert full.may(waiting, 1) == {"stay"}
    after, transition = full.step(waiting, "forward")
    assert full.places(after) == [(1, 2), (1, 1)]
    assert full.happened(transition, "returned") == {1: (-1, (1, 1), 1.0)}


# R5: no two on a cell


def test_r5_a_contested_cell_goes_to_one_at_random():
    state = STAGE.draw("....>.<......\n.....^.......", top=5)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    bodies = np.asarray(after.body)[:, :3]
    entered = bodies == STAGE.cell(5, 5)
    assert (entered.sum(1) == 1).all()
    assert (entered.sum(0) > SEEDS / 3 / 2).all()
    assert (bodies == np.asarray(state.body)[:3])[~entered].all()


def test_r5_whoever_stands_on_a_cell_keeps_it():
    state = STAGE.draw("....>v.......", top=5)
    after, _ = STAGE.steps(state, "forward")
    assert (np.asarray(after.body) == np.asarray(state.body)).all()


def test_r5_two_players_never_swap():
    state = STAGE.draw("....><.......", top=5)
    after, _ = STAGE.steps(state, "forward", "forward")
    assert (np.asarray(after.body) == np.asarray(state.body)).all()


def test_r5_following_is_allowed_and_so_are_rings():
    line = STAGE.draw("....>>>>.....", top=5)
    after, _ = STAGE.step(line, *["forward"] * 4)
    assert STAGE.places(after) == [(5, 5), (5, 6), (5, 7), (5, 8)]
    ring = STAGE.draw(">v...........\n^<...........", top=4)
    after, _ = STAGE.step(ring, *["forward"] * 4)
    assert STAGE.places(after) == [(4, 1), (5, 1), (4, 0), (5, 0)]


def test_r5_a_queue_behind_a_wall_stands_still():
    state = STAGE.draw(".>>>#........", top=3)
    after, _ = STAGE.step(state, *["forward"] * 3)
    assert STAGE.places(after)[:3] == [(3, 1), (3, 2), (3, 3)]


def test_r5_moves_are_relative_to_the_heading():
    for picture, ahead in (("^", (-1, 0)), (">", (0, 1)), ("v", (1, 0)), ("<", (0, -1))):
        state = STAGE.draw(f"......{picture}......", top=5)
        down, right = ahead
        goals = {
            "forward": (5 + down, 6 + right),
            "back": (5 - down, 6 - right),
            "step right": (5 + right, 6 - down),
            "step left": (5 - right, 6 + down),
            "stay": (5, 6),
        }
        for act, goal in goals.items():
            after, _ = STAGE.step(state, act)
            assert STAGE.places(after)[0] == goal
            assert int(after.heading[0]) == int(state.heading[0])
        for act, turn in (("turn right", 1), ("turn left", -1)):
            after, _ = STAGE.step(state, act)
            assert STAGE.places(after)[0] == (5, 6)
            assert int(after.heading[0]) == (int(state.heading[0]) + turn) % 4


# R6: the start


def test_r6_all_apples_stand_and_everybody_is_in_play(starts):
    env, state = starts
    assert state.apple.all()
    assert not state.away.any() and not state.cooldown.any() and (state.fired == -1).all()
    assert all(len(set(row)) == env.players for row in np.asarray(state.body).tolist())


def test_r6_two_chosen_by_lot_begin_inside_and_the_others_on_spawn_cells(starts):
    env, state = starts
    inside = np.isin(state.body, env.inside)
    assert (inside.sum(1) == 2).all()
    assert np.isin(state.body, env.spawn)[~inside].all()
    assert (inside.mean(0) > 2 / 7 / 2).all()


@pytest.mark.parametrize(("name", "players"), [("six_trees", 4), ("one_tree", 3)])
def test_r6_where_a_map_has_no_inside_cells_all_begin_on_spawn_cells(name, players):
    env = Harvest(players=players, map=name)
    keys = jax.random.split(sociarium.key(3), 300)
    state = jax.jit(jax.vmap(env.reset, (0, None)))(keys, env.params())
    assert np.isin(state.body, env.spawn).all()
    assert state.apple.all()
    for seat in range(players):
        assert len(set(np.asarray(state.body)[:, seat].tolist())) == len(env.spawn)


def test_r6_places_and_headings_are_drawn(starts):
    env, state = starts
    heads = np.asarray(state.heading)
    for seat in range(env.players):
        assert min(np.bincount(heads[:, seat], minlength=4)) > 300 / 4 / 2
        assert len(set(np.asarray(state.body)[:, seat].tolist())) > len(env.spawn) / 2


# R7: the end


def test_r7_only_the_horizon_ends_an_episode_by_truncation():
    for horizon, clock, ends in (
        (5, 3, False),
        (5, 4, True),
        (1000, 998, False),
        (1000, 999, True),
    ):
        now = STAGE.draw("....>........", top=5, clock=clock)
        after, transition = STAGE.step(now, horizon=horizon)
        assert int(after.clock) == clock + 1
        assert bool(transition.truncated) == ends
        assert not bool(transition.terminated)
    barren = STAGE.draw("aaa.........a\na.a........aa")
    _, transition = STAGE.step(barren)
    assert not bool(transition.terminated) and not bool(transition.truncated)


def test_r7_the_horizon_is_a_thousand_steps():
    assert int(Harvest().params().horizon) == 1000
