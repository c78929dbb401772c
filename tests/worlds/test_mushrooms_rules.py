"""Mushrooms, rule by rule."""

import collections

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core.actions import action_names
from sociarium.envs.dilemmas.mushrooms import KINDS, MAP, Mushrooms, Params, rewards
from sociarium.mechanics import beams
from tests.worlds.drawn import LONG, SEEDS, Stage, starred
from tests.worlds.lands import MUSHROOMS as STAGE

ALWAYS = [1, 1, 1, 1]
GLYPHS = "RGBO"
FULL = ["O" * 13] * 8 + ["OPPPOOOOOPPPO"]  # no empty soil anywhere
FULL[3] = "OOOO#OOOOOOOO"


@pytest.fixture(scope="module")
def starts():
    """Three hundred starts of the world's own map."""
    env = Mushrooms()
    keys = jax.random.split(sociarium.key(3), 300)
    return env, jax.jit(jax.vmap(env.reset, (0, None)))(keys, env.params())


def new_kinds(state, after):
    """{kind: how many more of it stand}."""
    old, new = STAGE.mushrooms(state), STAGE.mushrooms(after)
    return dict(collections.Counter(new[place] for place in new.keys() - old.keys()))


def crowded(*rows, top=0):
    """A wood full of mushrooms but for the drawn rows."""
    return "\n".join([*FULL[:top], *rows, *FULL[top + len(rows) :]])


# R1: eating pays


@pytest.mark.parametrize(
    ("glyph", "pay"),
    [
        ("R", [1, 0, 0, 0]),
        ("G", [0.5, 0.5, 0.5, 0.5]),
        ("B", [0, 1, 1, 1]),
        ("O", [-0.2, -0.2, -0.2, -0.2]),
    ],
)
def test_r1_walking_onto_a_mushroom_eats_it_and_pays_by_its_kind(glyph, pay):
    state = STAGE.draw(f".>{glyph}R........v\n............<", top=5)
    after, transition = STAGE.step(state, "forward")
    assert STAGE.mushrooms(after) == {(5, 3): "R"}
    assert np.allclose(transition.reward, pay, rtol=0, atol=1e-6)
    for kind, its in zip(KINDS, GLYPHS, strict=True):
        told = {0: (-1, (5, 2), 1.0)} if its == glyph else {}
        assert STAGE.happened(transition, f"ate_{kind}") == told


def test_r1_what_is_eaten_at_once_adds_up():
    state = STAGE.draw(">R.>G........\n>B.>O........", top=5)
    after, transition = STAGE.step(state, *["forward"] * 4)
    assert np.allclose(transition.reward, [2.3, 1.3, 0.3, 1.3], rtol=0, atol=1e-6)
    assert STAGE.mushrooms(after) == {}


def test_r1_two_who_eat_blue_pay_each_other():
    _, transition = STAGE.step(STAGE.draw(">B.>B.>..^...", top=5), "forward", "forward")
    assert np.allclose(transition.reward, [1, 1, 2, 2], rtol=0, atol=1e-6)


def test_r1_who_is_out_of_play_shares_too():
    _, transition = STAGE.step(STAGE.draw(">G...........", top=5), "forward")
    assert np.allclose(transition.reward, [0.5] * 4, rtol=0, atol=1e-6)


@pytest.mark.parametrize("players", [1, 2, 5, 7])
def test_r1_the_shares_go_by_the_number_of_players(players):
    for kind, (eater, other) in enumerate(
        [(1, 0), (2 / players, 2 / players), (0, 3 / max(players - 1, 1)), (-0.2, -0.2)], start=1
    ):
        found = jnp.asarray([kind] + [0] * (players - 1), jnp.int32)
        pay = rewards(found, Params.of())
        assert np.allclose(pay, [eater] + [other] * (players - 1), rtol=0, atol=1e-6)


@pytest.mark.parametrize("act", ["stay", "turn left", "turn right", "zap", "step left"])
def test_r1_whoever_stands_beside_a_mushroom_does_not_eat_it(act):
    state = STAGE.draw(">R...........", top=5)
    after, transition = STAGE.step(state, act)
    assert STAGE.mushrooms(after) == {(5, 1): "R"}
    assert not transition.reward.any()


def test_r1_what_each_kind_pays_is_a_parameter():
    pays = [5, 8, 9, 0.5]
    for glyph, pay in zip("RGBO", ([5, 0, 0, 0], [2] * 4, [0, 3, 3, 3], [0.5] * 4), strict=True):
        _, transition = STAGE.step(STAGE.draw(f">{glyph}...........", top=5), "forward", pays=pays)
        assert transition.reward.tolist() == pay


def test_r1_the_numbers_are_those_of_the_sheet():
    assert np.allclose(Mushrooms().params().pays, [1, 2, 3, -0.2], rtol=1e-6)


# R2: digestion


@pytest.mark.parametrize(("glyph", "steps"), [("R", 10), ("G", 15), ("B", 20), ("O", 0)])
def test_r2_for_so_many_steps_after_eating_one_can_only_stay(glyph, steps):
    state = STAGE.draw(f">{glyph}...........", top=5)
    state, _ = STAGE.step(state, "forward")
    acts = ["forward", "zap", "turn left", "back", "step right"]
    for step in range(steps):
        assert STAGE.own(state, 0, "digesting") == steps - step
        assert STAGE.may(state, 0) == {"stay"}
        state, transition = STAGE.step(state, acts[step % len(acts)])
        assert STAGE.places(state)[0] == (5, 1) and int(state.heading[0]) == 1
        assert STAGE.happened(transition, "fired") == {}
    assert STAGE.own(state, 0, "digesting") == 0
    assert STAGE.may(state, 0) == set(action_names(STAGE.env.actions))
    state, _ = STAGE.step(state, "forward")
    assert STAGE.places(state)[0] == (5, 2)


def test_r2_the_numbers_are_those_of_the_sheet():
    assert Mushrooms().params().digestion.tolist() == [10, 15, 20, 0]


def test_r2_others_are_not_held_up():
    state = STAGE.draw(">R...........\n>............", top=5)
    state, _ = STAGE.step(state, "forward", "forward")
    assert STAGE.own(state, 1, "digesting") == 0
    state, _ = STAGE.step(state, "forward", "forward")
    assert STAGE.places(state)[:2] == [(5, 1), (6, 2)]


def test_r2_whoever_digests_is_in_the_way_and_still_sees():
    state = STAGE.draw(">>...........", top=5, digesting=[0, 2])
    after, _ = STAGE.step(state, "forward", "forward")
    assert STAGE.places(after)[:2] == [(5, 0), (5, 1)]
    assert (STAGE.view(state, 1, "ground") != "nothing").any()


# R3: the start


def test_r3_ten_mushrooms_stand_at_the_marked_places(starts):
    env, state = starts
    planted = np.asarray(state.mushroom)
    assert (planted == planted[0]).all()
    assert np.bincount(planted[0])[1:].tolist() == [3, 3, 3, 1]
    drawn = "".join(MAP.split())
    for cell, kind in zip(env.soil_cells.tolist(), planted[0].tolist(), strict=True):
        assert drawn[cell] == ".RGBO"[kind]


# R4: spores


@pytest.mark.parametrize(
    ("glyph", "fed"),
    [
        ("R", {"R": 2}),
        ("G", {"R": 2, "G": 2}),
        ("B", {"R": 2, "G": 2, "B": 2}),
        ("O", {"R": 2, "O": 1}),
    ],
)
def test_r4_a_mushroom_eaten_feeds_its_kinds_with_two_tries_each_and_orange_with_one(glyph, fed):
    state = STAGE.draw(f">{glyph}...........", top=5)
    for seed in range(5):
        after, transition = STAGE.step(state, "forward", seed=seed, spore_chance=ALWAYS)
        assert new_kinds(state, after) == fed
        grown = {place for _, place, _ in STAGE.happened(transition, "sprouted").values()}
        assert grown == STAGE.mushrooms(after).keys()
    for kind in GLYPHS:
        only = [float(kind == each) for each in GLYPHS]
        after, _ = STAGE.step(state, "forward", spore_chance=only)
        assert new_kinds(state, after) == ({kind: fed[kind]} if kind in fed else {})
        none = [float(kind != each) for each in GLYPHS]
        after, _ = STAGE.step(state, "forward", spore_chance=none)
        assert new_kinds(state, after) == {each: fed[each] for each in fed if each != kind}


def test_r4_without_a_mushroom_eaten_nothing_grows():
    state = STAGE.draw(".>.RGBO......", top=5)
    after, transition = STAGE.step(state, "forward", spore_chance=ALWAYS)
    assert STAGE.mushrooms(after) == STAGE.mushrooms(state)
    assert STAGE.happened(transition, "sprouted") == {}


def test_r4_every_mushroom_eaten_has_its_own_tries():
    state = STAGE.draw(">R.>R........\n>O.>B........", top=5)
    after, _ = STAGE.step(state, *["forward"] * 4, spore_chance=ALWAYS)
    assert new_kinds(state, after) == {"R": 8, "G": 2, "B": 2, "O": 1}


def test_r4_the_numbers_are_those_of_the_sheet():
    params = Mushrooms().params()
    assert np.allclose(params.spore_chance, [0.25, 0.4, 0.6, 1], rtol=1e-6)
    assert params.spores.tolist() == [2, 2, 2, 1]


@pytest.mark.parametrize("fed", range(3))
def test_r4_each_try_has_its_chance_independently(fed):
    chance = [0.25, 0.4, 0.6, 1][fed]
    chances = [chance if kind == fed else 0 for kind in range(4)]
    state = STAGE.draw(">B...........", top=5)
    after, _ = STAGE.steps(state, "forward", spore_chance=chances)
    grown = (np.asarray(after.mushroom) == fed + 1).sum(1)
    often = np.bincount(grown, minlength=3) / SEEDS
    expected = np.array([(1 - chance) ** 2, 2 * chance * (1 - chance), chance**2])
    assert (abs(often - expected) < 4 * np.sqrt(expected * (1 - expected) / SEEDS)).all()


@pytest.mark.parametrize(
    ("picture", "acts"), [(">B...........", 1), (">R.>R.>R.....", 3)], ids=["kinds", "eaters"]
)
def test_r4_tries_of_different_kinds_and_of_different_mushrooms_are_independent(picture, acts):
    params = {"spore_chance": [0.5] * 4, "spores": [1] * 4}
    after, _ = STAGE.steps(STAGE.draw(picture, top=5), *["forward"] * acts, **params)
    grown = (np.asarray(after.mushroom) > 0).sum(1)
    often = np.bincount(grown, minlength=4) / SEEDS
    expected = np.array([1, 3, 3, 1]) / 8  # of three tries
    assert (abs(often - expected) < 4 * np.sqrt(expected * (1 - expected) / SEEDS)).all()


def test_r4_how_many_tries_are_parameters():
    state = STAGE.draw(">B...........", top=5)
    after, _ = STAGE.step(state, "forward", spore_chance=ALWAYS, spores=[0, 1, 2, 2])
    assert new_kinds(state, after) == {"G": 1, "B": 2}


def test_r4_they_grow_on_empty_cells_drawn_by_lot():
    state = STAGE.draw(crowded("OOOOO.OOOO.OO", ".>GOOOO..OOO.", ".OOOOOOOOOOO.", top=4))
    empty = {(4, 5), (4, 10), (5, 0), (5, 7), (5, 8), (5, 12), (6, 0), (6, 12)}
    after, _ = STAGE.steps(state, "forward", spore_chance=ALWAYS)
    old, new = np.asarray(state.mushroom), np.asarray(after.mushroom)
    number = [STAGE.place(*place) for place in sorted(empty)] + [STAGE.place(5, 1)]
    grown = (new != old) & (np.arange(len(old)) != STAGE.place(5, 2))
    assert (grown.sum(1) == 4).all()
    assert not np.delete(grown, number, axis=1).any()
    for kind in (1, 2):
        times = (new == kind)[:, number].sum(0)
        assert (new == kind)[:, number].sum(1).tolist() == [2] * SEEDS
        expected = SEEDS * 2 / 9
        assert abs(times - expected).max() < 4.5 * np.sqrt(expected)


def test_r4_no_two_spores_of_a_step_fall_on_one_cell():
    state = STAGE.draw(crowded("...>BG<......", top=5))
    after, _ = STAGE.steps(state, "forward", "forward", spore_chance=ALWAYS)
    new = np.asarray(after.mushroom)
    counts = [(new == kind).sum(1).tolist() for kind in (1, 2, 3)]
    assert counts == [[4] * SEEDS, [4] * SEEDS, [2] * SEEDS]  # ten on eleven empty cells


@pytest.mark.parametrize("empty", range(4))
def test_r4_spores_that_find_no_empty_cell_are_lost(empty):
    row = ">B" + "." * empty + "O" * (11 - empty)
    state = STAGE.draw(crowded(row, top=5))
    after, _ = STAGE.steps(state, "back", spore_chance=ALWAYS)
    assert (np.asarray(after.mushroom) == np.asarray(state.mushroom)).all()
    after, transition = STAGE.steps(state, "forward", spore_chance=ALWAYS)
    free = empty + 1  # the cell the eater left is empty too
    assert (np.asarray(transition.events["sprouted"].mask).sum(1) == free).all()
    under = STAGE.place(5, 1)
    assert (np.delete(np.asarray(after.mushroom), under, axis=1) > 0).all()
    assert not np.asarray(after.mushroom)[:, under].any()


def test_r4_no_mushroom_grows_under_a_player():
    state = STAGE.draw(crowded(">R<^v........", top=5))
    free = {(5, col) for col in (0, *range(5, 13))}
    after, _ = STAGE.steps(state, "forward", spore_chance=ALWAYS)
    grew = np.flatnonzero((np.asarray(after.mushroom) == 1).any(0))
    assert {divmod(int(STAGE.ground()[number]), 13) for number in grew} == free


def test_r4_spores_fall_after_beams_so_also_where_somebody_was_hit():
    state = STAGE.draw(crowded("OO>B...<OOOOO", top=5))
    params = {"zap": beams.footprint(4, 0), "spore_chance": ALWAYS}
    after, transition = STAGE.step(state, "forward", "zap", **params)
    assert STAGE.happened(transition, "zapped") == {0: (1, (5, 3), 1.0)}
    assert STAGE.happened(transition, "ate_blue") == {0: (-1, (5, 3), 1.0)}
    assert {(5, col) for col in range(2, 7)} <= STAGE.mushrooms(after).keys()


# R5: the zap beam


def test_r5_the_beam_is_three_long_and_three_wide():
    covered = """
        ......***....
        ......***....
        ......***....
    """
    assert STAGE.struck(".......^.....", top=6) == starred(covered, top=3)
    assert (np.asarray(Mushrooms().params().zap) == (np.arange(5) < 3)[:, None]).all()


def test_r5_the_beam_needs_three_steps_to_recharge():
    assert int(Mushrooms().params().recharge) == 3
    state = STAGE.draw("....>........", top=5)
    fired, shown = [], []
    for step in range(9):
        able = "zap" in STAGE.may(state, 0)
        state, transition = STAGE.step(state, "zap")
        assert (STAGE.happened(transition, "fired") != {}) == able
        fired += [step] * able
        shown.append(STAGE.own(state, 0, "cooldown"))
    assert fired == [0, 4, 8]
    assert shown == [3, 2, 1, 0, 3, 2, 1, 0, 3]


def test_r5_whoever_is_hit_misses_25_steps_and_comes_back_on_a_spawn_cell():
    assert int(Mushrooms().params().exile) == 25
    state = STAGE.draw("....>.<......", top=5)
    state, transition = STAGE.step(state, "zap")
    assert STAGE.happened(transition, "zapped") == {1: (0, (5, 6), 1.0)}
    for missed in range(25):
        assert STAGE.places(state)[1] is None
        assert STAGE.own(state, 1, "away") == 25 - missed
        assert STAGE.may(state, 1) == {"stay"}
        state, transition = STAGE.step(state, "stay", "forward")
    place = STAGE.places(state)[1]
    assert STAGE.land[place[0]][place[1]] == "P"
    assert STAGE.happened(transition, "returned") == {1: (-1, place, 1.0)}
    assert STAGE.may(state, 1) == set(action_names(STAGE.env.actions))


def test_r5_they_see_nothing_meanwhile_but_their_own_timers():
    state = STAGE.draw("....>.<......", top=5, digesting=[0, 5])
    after, _ = STAGE.step(state, "zap", exile=7)
    for plane in STAGE.env.view_spec.planes:
        assert (STAGE.view(after, 1, plane.name) == plane.codes[0]).all()
    assert (STAGE.own(after, 1, "away"), STAGE.own(after, 1, "digesting")) == (7, 4)


@pytest.mark.parametrize("act", ["forward", "turn left", "zap"])
def test_r5_whoever_is_out_of_play_can_do_nothing(act):
    state = STAGE.draw("....>........", top=5)
    after, transition = STAGE.step(state, "stay", act, act, act)
    assert STAGE.places(after)[1:] == [None] * 3
    assert after.heading.tolist() == state.heading.tolist()
    assert STAGE.happened(transition, "fired") == {}


def test_r5_they_come_back_anywhere_free_facing_anywhere():
    state = STAGE.draw(".>PP.....PPP.", top=8, away=[0, 1, LONG, LONG])
    after, _ = STAGE.steps(state)
    cells = np.asarray(after.body)[:, 1].tolist()
    assert {divmod(cell, 13) for cell in cells} == {(8, col) for col in (2, 3, 9, 10, 11)}
    assert min(np.bincount(cells)[sorted(set(cells))]) > SEEDS / 5 / 2
    assert min(np.bincount(np.asarray(after.heading)[:, 1], minlength=4)) > SEEDS / 4 / 2


def test_r5_digestion_goes_on_out_of_play():
    state = STAGE.draw("....>.<......", top=5, digesting=[0, 9])
    state, _ = STAGE.step(state, "zap", exile=4)
    for left in (8, 7, 6, 5):
        assert int(state.digesting[1]) == left
        state, _ = STAGE.step(state, exile=4)
    assert STAGE.places(state)[1] is not None
    assert STAGE.may(state, 1) == {"stay"}
    for left in (4, 3, 2, 1):
        assert STAGE.own(state, 1, "digesting") == left
        state, _ = STAGE.step(state, "stay", "back")
    assert STAGE.may(state, 1) == set(action_names(STAGE.env.actions))


def test_r5_whoever_is_hit_while_eating_has_eaten():
    state = STAGE.draw("....>R.<.....", top=5)
    after, transition = STAGE.step(state, "forward", "zap")
    assert STAGE.happened(transition, "zapped") == {0: (1, (5, 5), 1.0)}
    assert transition.reward.tolist() == [1, 0, 0, 0]
    assert (int(after.digesting[0]), int(after.away[0])) == (10, 25)


def test_r5_a_hit_by_several_beams_is_told_of_the_lowest_seat():
    state = STAGE.draw("....>.v<.....", top=5)
    _, transition = STAGE.step(state, "zap", "stay", "zap")
    assert STAGE.happened(transition, "zapped")[1] == (0, (5, 6), 1.0)


# R6: what stops the beam


def test_r6_the_beam_passes_through_players():
    state = STAGE.draw("....>v<^.....", top=5)
    _, transition = STAGE.step(state, "zap")
    assert STAGE.happened(transition, "zapped").keys() == {1, 2, 3}


def test_r6_each_lane_of_the_beam_stops_at_a_wall_and_at_the_edge():
    covered = """
        ...*.*.......
        ...*#*.......
        ...***.......
    """
    assert STAGE.struck("....^........", top=5) == starred(covered, top=2)
    assert STAGE.struck("............>", top=5) == set()


def test_r6_a_lane_beside_which_a_wall_stands_is_dark():
    covered = """
        .....**......
        .....**......
        .....**......
    """
    assert STAGE.struck("....#^.......", top=3) == starred(covered, top=0)


def test_r6_the_beam_is_seen_where_it_hits_for_one_step():
    fired, _ = STAGE.step(STAGE.draw("....^........", top=5), "zap")
    assert STAGE.lit(fired, "zap") == STAGE.struck("....^........", top=5)
    dark, _ = STAGE.step(fired)
    assert STAGE.lit(dark, "zap") == set()


def test_r6_mushrooms_do_not_stop_the_beam_and_are_not_harmed():
    state = STAGE.draw("....>RB<.....", top=5)
    after, transition = STAGE.step(state, "zap")
    assert STAGE.happened(transition, "zapped").keys() == {1}
    assert STAGE.mushrooms(after) == {(5, 5): "R", (5, 6): "B"}


# R7: no two on a cell


def test_r7_a_contested_cell_goes_to_one_at_random_who_alone_eats():
    state = STAGE.draw("....>R<......\n.....^.......", top=5)
    after, transition = STAGE.steps(state, "forward", "forward", "forward")
    entered = np.asarray(after.body)[:, :3] == STAGE.cell(5, 5)
    assert (entered.sum(1) == 1).all()
    assert (entered.sum(0) > SEEDS / 3 / 2).all()
    assert (np.asarray(transition.reward)[:, :3] == entered).all()


def test_r7_two_players_never_swap_and_never_share():
    state = STAGE.draw("...>><.......", top=5)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    assert (np.asarray(after.body) == np.asarray(state.body)).all()


# R8: places


def test_r8_players_start_on_spawn_cells_with_drawn_places_and_headings(starts):
    env, state = starts
    body = np.asarray(state.body)
    assert np.isin(body, env.spawn).all()
    assert all(len(set(row)) == env.players for row in body.tolist())
    for seat in range(env.players):
        assert len(set(body[:, seat].tolist())) == len(env.spawn)
        assert min(np.bincount(np.asarray(state.heading)[:, seat], minlength=4)) > 300 / 4 / 2
    assert not state.away.any() and not state.cooldown.any() and not state.digesting.any()
    assert (state.fired == -1).all()


def test_r8_no_mushroom_grows_on_spawn_cells(starts):
    env, _ = starts
    assert not np.isin(env.spawn, env.soil_cells).any()
    bare = Stage(Mushrooms, "R.P\nPP#", players=1)
    state = bare.draw("R<P\nPP#")
    after, transition = bare.steps(state, "forward", spore_chance=ALWAYS)
    assert (np.asarray(transition.events["sprouted"].cell)[0] == bare.ground()).all()
    assert (np.asarray(after.mushroom).sum(1) == 1).all()  # on the cell it left


# R9: the end


def test_r9_only_the_horizon_ends_an_episode_by_truncation():
    assert int(Mushrooms().params().horizon) == 1000
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
    assert params.digestion.tolist() == [9, 14, 19, 0]
    assert (int(params.recharge), int(params.exile)) == (0, 0)
    assert np.array_equal(params.zap, beams.SMALL)
    assert np.array_equal(params.spore_chance, Params.of().spore_chance)


def test_the_numbers_of_melting_pot():
    params = Params.meltingpot()
    assert params.digestion.tolist() == [0, 10, 15, 15]
    assert (int(params.recharge), int(params.exile)) == (3, 25)
