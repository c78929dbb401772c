"""Clean Up, rule by rule."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.envs.dilemmas.clean_up import CleanUp
from tests.worlds.drawn import LONG, SEEDS, starred
from tests.worlds.lands import CLEAN_UP as STAGE

ALWAYS, NEVER = 1.0, 0.0
ORCHARD = {(7, col) for col in range(5)}


@pytest.fixture(scope="module")
def starts():
    """Three hundred starts of the world's own map."""
    env = CleanUp()
    keys = jax.random.split(sociarium.key(3), 300)
    return env, jax.jit(jax.vmap(env.reset, (0, None)))(keys, env.params())


# R1: eating pays


def test_r1_walking_onto_an_apple_eats_it_and_pays_one():
    state = STAGE.draw("AA<BB........", top=7)
    after, transition = STAGE.step(state, "forward")
    assert STAGE.apples(after) == {(7, 0)}
    assert transition.reward.tolist() == [1, 0, 0, 0]
    assert STAGE.happened(transition, "ate") == {0: (-1, (7, 1), 1.0)}


def test_r1_cleaning_zapping_and_being_zapped_pay_nothing():
    state = STAGE.draw("xxxxxx..~~...\n.^....>.<....", top=1)
    _, transition = STAGE.step(state, "clean", "zap", "forward")
    assert STAGE.happened(transition, "cleaned").keys() == {0}
    assert STAGE.happened(transition, "zapped").keys() == {2}
    assert not transition.reward.any()


# R2: the start


def test_r2_79_of_the_147_basin_cells_are_fouled_by_lot_and_no_apple_stands(starts):
    env, state = starts
    assert env.basin == 147
    waste = np.asarray(state.waste)
    assert (waste.sum(1) == 79).all()
    often = waste.mean(0)
    assert often.min() > 0.4 and often.max() < 0.68  # 79 / 147 is 0.54
    assert not state.apple.any()


# R3: new waste


def test_r3_after_fifty_quiet_steps_one_clean_basin_cell_is_fouled():
    for clock, fouled in ((0, 0), (49, 0), (50, 1), (999, 1)):
        state = STAGE.draw("wwwxxx..~~...", clock=clock)
        after, transition = STAGE.step(state, waste_chance=ALWAYS)
        new = STAGE.waste(after) - STAGE.waste(state)
        assert len(new) == fouled
        assert STAGE.waste(state) <= STAGE.waste(after)
        events = STAGE.happened(transition, "fouled")
        assert {place for _, place, _ in events.values()} == new


def test_r3_the_cell_is_drawn_by_lot_among_the_clean_ones():
    state = STAGE.draw("wwwxxx..~~...\nxxxxxw..~~...", clock=50)
    after, _ = STAGE.steps(state, waste_chance=ALWAYS)
    new = np.asarray(after.waste) & ~np.asarray(state.waste)
    assert (new.sum(1) == 1).all()
    times = new.sum(0)
    assert (times > 0).tolist() == (~np.asarray(state.waste)).tolist()
    assert times[times > 0].min() > SEEDS / 4 / 2


def test_r3_the_chance_is_one_half():
    state = STAGE.draw("wwwwww..~~...", clock=50)
    params = CleanUp().params()
    assert (float(params.waste_chance), int(params.quiet)) == (0.5, 50)
    after, _ = STAGE.steps(state, waste_chance=0.5)
    often = np.asarray(after.waste).any(1).mean()
    assert abs(often - 0.5) < 4 * np.sqrt(0.25 / SEEDS)


def test_r3_nothing_happens_if_somebody_stands_on_the_drawn_cell():
    state = STAGE.draw("vxxxxx..~~...\nxxxxxx..~~...", clock=50)
    after, transition = STAGE.steps(state, waste_chance=ALWAYS)
    assert (np.asarray(after.waste) == np.asarray(state.waste)).all()
    assert not np.asarray(transition.events["fouled"].mask).any()


def test_r3_nothing_happens_when_all_the_basin_is_fouled():
    state = STAGE.draw("xxxxxx..~~...\nxxxxxx..~~...", clock=50)
    after, transition = STAGE.step(state, waste_chance=ALWAYS)
    assert after.waste.all()
    assert STAGE.happened(transition, "fouled") == {}


# R4: growth


def test_r4_clean_water_lets_apples_grow_on_every_empty_orchard_cell_nobody_stands_on():
    state = STAGE.draw("BAB<B........", top=7)
    after, _ = STAGE.step(state, growth=ALWAYS)
    assert STAGE.apples(after) == ORCHARD - {(7, 3)}


def test_r4_at_forty_percent_fouled_nothing_grows():
    """Of the sixteen water cells seven are 44 percent, six 37.5."""
    seven = STAGE.draw("xxxxxx..~~...\nxwwwww..~~...")
    six = STAGE.draw("xxxxxx..~~...\nwwwwww..~~...")
    grown = [np.asarray(STAGE.steps(s, growth=ALWAYS)[0].apple).any(1).mean() for s in (seven, six)]
    assert grown[0] == 0
    assert grown[1] > 0


@pytest.mark.parametrize("dirty", range(8))
def test_r4_the_chance_falls_in_a_straight_line(dirty):
    top, low = ("x" * dirty).ljust(12, "w")[:6], ("x" * dirty).ljust(12, "w")[6:]
    after, _ = STAGE.steps(STAGE.draw(f"{top}..~~...\n{low}..~~..."), growth=ALWAYS)
    chance = max(1 - dirty / 16 / 0.4, 0)
    often = np.asarray(after.apple).mean()
    assert abs(often - chance) <= 4 * np.sqrt(chance * (1 - chance) / (SEEDS * 5))


def test_r4_the_numbers_are_those_of_the_sheet():
    """The growth threshold of the world's own map, against the sheet's line in full precision."""
    env = CleanUp()
    params = env.params()
    assert env.water == 167
    dirty = jnp.arange(148, dtype=jnp.int32)
    limit = jax.vmap(env.growth_limit, (0, None))(dirty, params)
    sheet = 0.05 * np.maximum(1 - np.arange(148) / 167 / 0.4, 0)
    assert np.allclose(np.asarray(limit) / 2**31, sheet, rtol=0, atol=2e-6)
    assert (limit == jax.jit(jax.vmap(env.growth_limit, (0, None)))(dirty, params)).all()


@pytest.mark.parametrize("water", [4_000_000, 5_000_000, 24_000_000, 500_000_000])
def test_r4_holds_on_the_waters_of_a_million_players(water):
    env = CleanUp()
    env.water = water
    params = env.params()
    share = np.array([0.0, 0.1, 0.2, 0.3999, 0.4, 0.9])
    dirty = jnp.asarray(share * water, jnp.int32)
    limit = jax.vmap(env.growth_limit, (0, None))(dirty, params)
    sheet = 0.05 * np.maximum(1 - share / 0.4, 0)
    assert np.allclose(np.asarray(limit) / 2**31, sheet, rtol=0, atol=2e-6)


def test_r4_waste_cleaned_in_this_step_no_longer_counts():
    state = STAGE.draw("xxxwww..~~...\nxxxwww..~~...\n.^...........")
    after, _ = STAGE.step(state, "clean", growth=ALWAYS)
    assert STAGE.waste(after) == set()
    assert STAGE.apples(after) == ORCHARD


# R5: the cleaning beam


def test_r5_the_beam_cleans_the_fouled_cells_it_covers():
    state = STAGE.draw("xwxxxx..~~...\nxxxxxx..~~...\n.^...........")
    after, transition = STAGE.step(state, "clean")
    assert STAGE.waste(after) == {(0, 3), (0, 4), (0, 5), (1, 3), (1, 4), (1, 5)}
    assert STAGE.happened(transition, "cleaned") == {0: (-1, (2, 1), 5.0)}


def test_r5_the_beam_is_three_long_and_three_wide():
    clean = np.asarray(CleanUp().params().clean)
    assert (clean == (np.arange(5) < 3)[:, None]).all()
    state = STAGE.draw(".......^.....", top=6)
    after, _ = STAGE.step(state, "clean")
    covered = """
        ......***....
        ......***....
        ......***....
    """
    assert STAGE.lit(after, "clean") == starred(covered, top=3)


def test_r5_cells_out_of_reach_stay_fouled():
    state = STAGE.draw("xxxxxx..~~...\nxxxxxx..~~...\n.............\n....#........\n.^...........")
    after, transition = STAGE.step(state, "clean")
    assert STAGE.waste(state) - STAGE.waste(after) == {(1, 0), (1, 1), (1, 2)}
    assert STAGE.happened(transition, "cleaned") == {0: (-1, (4, 1), 3.0)}


def test_r5_a_cell_cleaned_by_two_is_credited_once_to_the_lower_seat():
    state = STAGE.draw("wwxwww..~~...\nwwwwww..~~...\n..^^.........")
    after, transition = STAGE.step(state, "clean", "clean")
    assert STAGE.waste(after) == set()
    assert STAGE.happened(transition, "cleaned") == {0: (-1, (2, 2), 1.0)}


def test_r5_the_beam_harms_nobody():
    state = STAGE.draw("....>v.......", top=5)
    after, transition = STAGE.step(state, "clean")
    assert STAGE.places(after)[1] == (5, 5)
    assert STAGE.happened(transition, "zapped") == {}


def test_r5_the_beam_needs_two_steps_to_recharge():
    assert int(CleanUp().params().clean_recharge) == 2
    state = STAGE.draw("....>........", top=5)
    fired = []
    for step in range(7):
        able = "clean" in STAGE.may(state, 0)
        state, _ = STAGE.step(state, "clean")
        assert bool(STAGE.lit(state, "clean")) == able
        fired += [step] * able
    assert fired == [0, 3, 6]


# Cells a ready cleaning beam would have reached


@pytest.mark.parametrize("act", ["stay", "turn left", "zap", "back", "step right"])
def test_whoever_does_not_clean_passes_up_the_fouled_cells_in_reach(act):
    state = STAGE.draw("xwxxxx..~~...\nxxxxxx..~~...\n.^...........")
    _, transition = STAGE.step(state, act)
    assert STAGE.happened(transition, "passed_up") == {0: (-1, (2, 1), 5.0)}


def test_whoever_cleans_passes_up_nothing():
    state = STAGE.draw("xwxxxx..~~...\nxxxxxx..~~...\n.^...........")
    _, transition = STAGE.step(state, "clean")
    assert STAGE.happened(transition, "cleaned").keys() == {0}
    assert STAGE.happened(transition, "passed_up") == {}


def test_a_beam_that_recharges_passes_up_nothing():
    state = STAGE.draw("xxxxxx..~~...\nxxxxxx..~~...\n.^...........", clean_cooldown=[1])
    _, transition = STAGE.step(state, "clean")
    assert STAGE.happened(transition, "passed_up") == {}
    ready = STAGE.draw("xxxxxx..~~...\nxxxxxx..~~...\n.^...........", zap_cooldown=[1])
    _, transition = STAGE.step(ready)
    assert STAGE.happened(transition, "passed_up") == {0: (-1, (2, 1), 6.0)}


def test_where_no_fouled_cell_is_in_reach_nothing_is_passed_up():
    clean = STAGE.draw("wwwxxx..~~...\nwwwxxx..~~...\n.^...........")
    _, transition = STAGE.step(clean)
    assert STAGE.happened(transition, "passed_up") == {}
    aside = STAGE.draw("xxxxxx..~~...\nxxxxxx..~~...\n.............\n.>..#........")
    _, transition = STAGE.step(aside, "turn left")
    assert STAGE.happened(transition, "passed_up") == {}


def test_what_counts_as_passed_up_is_what_was_fouled_before_the_step():
    state = STAGE.draw("xxxxxx..~~...\nxxxxxx..~~...\n.^^..........")
    _, transition = STAGE.step(state, "clean", "stay")
    assert STAGE.happened(transition, "cleaned") == {0: (-1, (2, 1), 6.0)}
    assert STAGE.happened(transition, "passed_up") == {1: (-1, (2, 2), 6.0)}


def test_whoever_is_out_of_play_passes_up_nothing():
    state = STAGE.draw("xxxxxx..~~...\nxxxxxx..~~...\n.............")
    _, transition = STAGE.step(state)
    assert STAGE.happened(transition, "passed_up") == {}


# R6: the zap beam


def test_r6_the_zap_beam_is_three_long_and_three_wide():
    covered = """
        ......***....
        ......***....
        ......***....
    """
    assert STAGE.struck(".......^.....", top=6) == starred(covered, top=3)
    assert (np.asarray(CleanUp().params().zap) == (np.arange(5) < 3)[:, None]).all()


def test_r6_the_zap_beam_needs_ten_steps_to_recharge_and_leaves_the_other_beam_ready():
    assert int(CleanUp().params().zap_recharge) == 10
    state = STAGE.draw("....>........", top=5)
    fired = []
    for step in range(23):
        state, transition = STAGE.step(state, "zap")
        fired += [step] * bool(STAGE.happened(transition, "fired"))
        assert "clean" in STAGE.may(state, 0)
    assert fired == [0, 11, 22]


def test_r6_whoever_is_hit_misses_fifty_steps_and_comes_back_on_a_spawn_cell():
    assert int(CleanUp().params().exile) == 50
    state = STAGE.draw("....>.<......", top=5)
    state, transition = STAGE.step(state, "zap")
    assert STAGE.happened(transition, "zapped") == {1: (0, (5, 6), 1.0)}
    for _ in range(50):
        assert STAGE.places(state)[1] is None
        assert STAGE.may(state, 1) == {"stay"}
        state, transition = STAGE.step(state, "stay", "forward")
    place = STAGE.places(state)[1]
    assert STAGE.land[place[0]][place[1]] == "P"
    assert STAGE.happened(transition, "returned") == {1: (-1, place, 1.0)}


def test_r6_they_see_nothing_meanwhile_but_their_own_timers():
    state = STAGE.draw("....>.<......", top=5)
    after, _ = STAGE.step(state, "zap", exile=7)
    for plane in STAGE.env.view_spec.planes:
        assert (STAGE.view(after, 1, plane.name) == plane.codes[0]).all()
    assert STAGE.own(after, 1, "away") == 7
    assert STAGE.own(after, 0, "zap_cooldown") == 10


def test_r6_they_come_back_anywhere_free_facing_anywhere():
    state = STAGE.draw(".>PP.....PPP.", top=8, away=[0, 1, LONG, LONG])
    after, _ = STAGE.steps(state)
    cells = np.asarray(after.body)[:, 1].tolist()
    assert {divmod(cell, 13) for cell in cells} == {(8, col) for col in (2, 3, 9, 10, 11)}
    assert min(np.bincount(cells)[sorted(set(cells))]) > SEEDS / 5 / 2
    assert min(np.bincount(np.asarray(after.heading)[:, 1], minlength=4)) > SEEDS / 4 / 2


def test_r6_a_hit_by_several_beams_is_told_of_the_lowest_seat():
    state = STAGE.draw("....>.v<.....", top=5)
    _, transition = STAGE.step(state, "zap", "stay", "zap")
    assert STAGE.happened(transition, "zapped")[1] == (0, (5, 6), 1.0)


def test_r6_whoever_is_zapped_while_zapping_still_hits():
    state = STAGE.draw("....>.<......", top=5)
    _, transition = STAGE.step(state, "zap", "zap")
    hits = STAGE.happened(transition, "zapped")
    assert hits == {0: (1, (5, 4), 1.0), 1: (0, (5, 6), 1.0)}


# R7: beams and water


def test_r7_the_zap_beam_stops_at_walls_and_the_edge():
    covered = """
        ...*.*.......
        ...*#*.......
        ...***.......
    """
    assert STAGE.struck("....^........", top=5) == starred(covered, top=2)
    assert STAGE.struck("............>", top=5) == set()


def test_r7_the_cleaning_beam_stops_at_walls_and_the_edge():
    state = STAGE.draw("xxxxxx..~~...\nxxxxxx..~~...\n.............\n....#........\n....^........")
    after, _ = STAGE.step(state, "clean")
    assert STAGE.waste(state) - STAGE.waste(after) == {(1, 3), (1, 5)}
    edge = STAGE.draw("xxxx>x..~~...\nxxxxxx..~~...")
    after, _ = STAGE.step(edge, "turn left")
    after, transition = STAGE.step(after, "clean")
    assert STAGE.happened(transition, "cleaned") == {}


def test_r7_beams_pass_through_players():
    state = STAGE.draw("....>v<^.....", top=5)
    _, transition = STAGE.step(state, "zap")
    assert STAGE.happened(transition, "zapped").keys() == {1, 2, 3}
    state = STAGE.draw("wwxwww..~~...\nwwvwww..~~...\n..^..........")
    after, _ = STAGE.step(state, "stay", "clean")
    assert STAGE.waste(after) == set()


def test_r7_water_can_be_walked_on():
    state = STAGE.draw("wwwwww.>~~...\nxxxxx<..~~...")
    after, _ = STAGE.step(state, "forward", "forward")
    assert STAGE.places(after)[:2] == [(0, 8), (1, 4)]
    assert STAGE.waste(after) == STAGE.waste(state)


# R8: no two on a cell


def test_r8_a_contested_cell_goes_to_one_at_random():
    state = STAGE.draw("....>.<......\n.....^.......", top=5)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    entered = np.asarray(after.body)[:, :3] == STAGE.cell(5, 5)
    assert (entered.sum(1) == 1).all()
    assert (entered.sum(0) > SEEDS / 3 / 2).all()


def test_r8_two_players_never_swap_and_never_share():
    state = STAGE.draw("...>><.......", top=5)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    assert (np.asarray(after.body) == np.asarray(state.body)).all()


# R9: places


def test_r9_players_start_on_spawn_cells_with_drawn_places_and_headings(starts):
    env, state = starts
    body = np.asarray(state.body)
    assert np.isin(body, env.spawn).all()
    assert all(len(set(row)) == env.players for row in body.tolist())
    for seat in range(env.players):
        assert len(set(body[:, seat].tolist())) == len(env.spawn)
        assert min(np.bincount(np.asarray(state.heading)[:, seat], minlength=4)) > 300 / 4 / 2
    assert not state.away.any() and not state.zap_cooldown.any() and not state.clean_cooldown.any()


# R10: the end


def test_r10_only_the_horizon_ends_an_episode_by_truncation():
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


def test_r10_the_horizon_is_a_thousand_steps():
    assert int(CleanUp().params().horizon) == 1000
