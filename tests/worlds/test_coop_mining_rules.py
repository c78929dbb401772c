"""Coop Mining, rule by rule."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.envs.dilemmas.coop_mining import CoopMining, Params, found
from tests.worlds.drawn import SEEDS
from tests.worlds.lands import COOP_MINING as STAGE

ALWAYS = 1.0
NOTHING = [0] * 6  # is paid
IDLE = ()  # everybody stays
PIT = {
    (row, col)
    for row, line in enumerate(STAGE.land)
    for col, glyph in enumerate(line)
    if glyph == "."
}
AHEAD = {"^": (-1, 0), ">": (0, 1), "v": (1, 0), "<": (0, -1)}


@pytest.fixture(scope="module")
def starts():
    """Three hundred starts of the world's own map."""
    env = CoopMining()
    keys = jax.random.split(sociarium.key(3), 300)
    return env, jax.jit(jax.vmap(env.reset, (0, None)))(keys, env.params())


def tile(state, row, col):
    """What lies on a cell, as everybody sees it."""
    scene = STAGE.env.draw_map(state, STAGE.params({}))
    return scene.tiles[scene.ground[row, col]]


def worked(state, *rounds, **params):
    """The state after rounds of actions, and for each round what was paid."""
    paid = []
    for acts in rounds:
        state, transition = STAGE.step(state, *acts, **params)
        paid.append(transition.reward.tolist())
    return state, paid


# R1: ore


def test_r1_at_the_start_there_is_no_ore(starts):
    _, state = starts
    assert not state.ore.any()


@pytest.mark.parametrize(("kind", "ore"), [("iron_chance", "i"), ("gold_chance", "g")])
def test_r1_ore_appears_on_every_empty_ore_cell_also_under_players(kind, ore):
    state = STAGE.draw(">..ig...<....", top=5)
    after, _ = STAGE.step(state, **{kind: ALWAYS})
    assert STAGE.ore(after) == dict.fromkeys(PIT, ore) | {(5, 3): "i", (5, 4): "g"}


def test_r1_each_kind_appears_as_often_as_its_chance():
    after, _ = STAGE.steps(STAGE.draw(">............"), iron_chance=0.25, gold_chance=0.125)
    ore = np.asarray(after.ore)
    for kind, chance in ((1, 0.25), (2, 0.125)):
        noise = 4 * np.sqrt(chance * (1 - chance) / ore.size)
        assert abs((ore == kind).mean() - chance) < noise
    often = (ore > 0).mean(0)
    assert abs(often - 0.375).max() < 5 * np.sqrt(0.375 * 0.625 / SEEDS)


def test_r1_the_chances_are_those_of_the_sheet():
    params = CoopMining().params()
    assert np.isclose(params.iron_chance, 0.0004, rtol=1e-6)
    assert np.isclose(params.gold_chance, 0.00016, rtol=1e-6)
    gold, iron = round(0.00016 * 2**31), round(0.0004 * 2**31)
    edges = [0, gold - 1, gold, gold + iron - 1, gold + iron, 2**31 - 1]
    words = jnp.asarray([2 * edge + half for edge in edges for half in (0, 1)], jnp.uint32)
    assert found(words, params).tolist() == [2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0]


def test_r1_ore_does_not_block_the_way_and_is_not_taken_by_walking():
    state = STAGE.draw(">ig..........", top=5)
    for col in (1, 2):
        state, transition = STAGE.step(state, "forward")
        assert STAGE.places(state)[0] == (5, col)
        assert transition.reward.tolist() == NOTHING
    assert STAGE.ore(state) == {(5, 1): "i", (5, 2): "g"}


def test_r1_ore_appears_after_mining_also_where_some_was_mined():
    state = STAGE.draw(">i...........", top=5)
    after, transition = STAGE.step(state, "mine", gold_chance=ALWAYS)
    assert STAGE.happened(transition, "mined_iron").keys() == {0}
    assert STAGE.happened(transition, "struck_gold") == {}
    assert STAGE.ore(after) == dict.fromkeys(PIT, "g")
    assert tile(after, 5, 1) == "gold"


# R2: the mining beam


@pytest.mark.parametrize("arrow", AHEAD)
def test_r2_the_beam_is_straight_and_three_long(arrow):
    down, right = AHEAD[arrow]
    struck = set()
    for place in sorted(PIT - {(3, 8)}):
        ore = np.arange(STAGE.env.places) == STAGE.place(*place)
        state = STAGE.draw(f"....#...{arrow}....", top=3, ore=ore)
        _, transition = STAGE.step(state, "mine")
        struck |= {cell for _, cell, _ in STAGE.happened(transition, "mined_iron").values()}
    assert struck == {(3 + far * down, 8 + far * right) for far in (1, 2, 3)}


@pytest.mark.parametrize("arrow", AHEAD)
def test_r2_the_beam_is_seen_where_it_shines_for_one_step(arrow):
    down, right = AHEAD[arrow]
    fired, _ = STAGE.step(STAGE.draw(f"....#...{arrow}....", top=3), "mine")
    assert STAGE.lit(fired, "mine") == {(3 + far * down, 8 + far * right) for far in (1, 2, 3)}
    seen = STAGE.view(fired, 0, "beam")
    assert (seen[6:9, 5] == "mine").all() and (seen == "mine").sum() == 3
    dark, _ = STAGE.step(fired)
    assert STAGE.lit(dark, "mine") == set()


@pytest.mark.parametrize("recharge", [0, 1, 3])
def test_r2_the_beam_then_needs_some_steps_to_recharge(recharge):
    state = STAGE.draw(">............", top=5)
    fired = []
    for step in range(9):
        able = "mine" in STAGE.may(state, 0)
        state, _ = STAGE.step(state, "mine", recharge=recharge)
        assert bool(STAGE.lit(state, "mine")) == able
        fired += [step] * able
    assert fired == list(range(0, 9, recharge + 1))


def test_r2_three_steps_are_the_default_and_the_owner_sees_them():
    params = CoopMining().params()
    assert (int(params.length), int(params.recharge)) == (3, 3)
    state = STAGE.draw(">............", top=5)
    shown = []
    for act in ("mine", "stay", "turn left", "stay", "stay"):
        state, _ = STAGE.step(state, act)
        shown.append(STAGE.own(state, 0, "cooldown"))
    assert shown == [3, 2, 1, 0, 0]


def test_r2_a_beam_that_recharges_strikes_nothing():
    state = STAGE.draw(">i...........", top=5, cooldown=[1])
    after, transition = STAGE.step(state, "mine")
    assert STAGE.ore(after) == STAGE.ore(state)
    assert transition.reward.tolist() == NOTHING


def test_r2_the_beam_passes_through_players_and_strikes_ore_under_their_feet():
    state = STAGE.draw(">^<i.........", top=5)
    _, transition = STAGE.step(state, "mine")
    assert STAGE.happened(transition, "mined_iron") == {0: (-1, (5, 3), 1.0)}
    under = np.arange(STAGE.env.places) == STAGE.place(5, 1)
    _, transition = STAGE.step(STAGE.draw(">^<..........", top=5, ore=under), "mine")
    assert STAGE.happened(transition, "mined_iron") == {0: (-1, (5, 1), 1.0)}


def test_r2_the_beam_stops_at_a_wall():
    state = STAGE.draw("..>.#i.......", top=3)
    after, transition = STAGE.step(state, "mine")
    assert STAGE.happened(transition, "mined_iron") == {}
    assert STAGE.lit(after, "mine") == {(3, 3)}


@pytest.mark.parametrize(
    "picture",
    [
        ".............\n............>\niii..........",
        "..........iii\n<............\n.............",
    ],
)
def test_r2_the_beam_stops_at_the_edge(picture):
    after, transition = STAGE.step(STAGE.draw(picture), "mine")
    assert STAGE.happened(transition, "mined_iron") == {}
    assert STAGE.lit(after, "mine") == set()


def test_r2_the_beam_stops_at_the_first_ore_which_it_strikes():
    for line, strikes in ((">.ig.........", "mined_iron"), (">.gi.........", "struck_gold")):
        state = STAGE.draw(line, top=5)
        after, transition = STAGE.step(state, "mine")
        assert STAGE.happened(transition, strikes) == {0: (-1, (5, 2), 1.0)}
        assert STAGE.lit(after, "mine") == {(5, 1), (5, 2)}
        assert (5, 3) in STAGE.ore(after)
        kinds = [kind for kind in ("mined_iron", "struck_gold") if STAGE.happened(transition, kind)]
        assert kinds == [strikes]


def test_r2_ore_under_ones_own_feet_is_not_struck():
    state = STAGE.draw("gi>..........", top=5)
    on_ore, _ = STAGE.step(state, "back")
    _, transition = STAGE.step(on_ore, "mine")
    assert STAGE.happened(transition, "mined_iron") == {}


# R3: iron


def test_r3_iron_struck_pays_one_and_is_gone():
    state = STAGE.draw(">.i.i........", top=5)
    after, transition = STAGE.step(state, "mine")
    assert transition.reward.tolist() == [1, 0, 0, 0, 0, 0]
    assert STAGE.ore(after) == {(5, 4): "i"}
    assert STAGE.happened(transition, "mined_iron") == {0: (-1, (5, 2), 1.0)}


def test_r3_struck_by_several_at_once_one_of_them_by_lot_has_it():
    state = STAGE.draw("...v.........\n.>.i.<.......\n...^.........", top=4)
    after, transition = STAGE.steps(state, *["mine"] * 4)
    reward = np.asarray(transition.reward)
    assert (reward.sum(1) == 1).all() and (reward.max(1) == 1).all()
    assert (np.asarray(transition.events["mined_iron"].mask) == (reward == 1)).all()
    times = reward.sum(0)
    assert times[:4].min() > SEEDS / 4 / 1.5 and not times[4:].any()
    assert not np.asarray(after.ore).any()


def test_r3_several_struck_at_once_pay_each_their_own_miner():
    state = STAGE.draw(">i.........i<\n>.i..........", top=4)
    after, transition = STAGE.step(state, "mine", "mine", "mine", iron_reward=3)
    assert transition.reward.tolist() == [3, 3, 3, 0, 0, 0]
    assert STAGE.ore(after) == {}


# R4: gold opens


def test_r4_gold_struck_opens_for_that_step_and_the_three_following():
    assert int(CoopMining().params().open_for) == 3
    state = STAGE.draw(">.g..........", top=5)
    state, transition = STAGE.step(state, "mine")
    assert STAGE.happened(transition, "struck_gold") == {0: (-1, (5, 2), 1.0)}
    assert transition.reward.tolist() == NOTHING
    for _ in range(2):
        assert tile(state, 5, 2) == "open gold"
        assert STAGE.view(state, 0, "ground")[7, 5] == "open gold"
        state, transition = STAGE.step(state)
        assert STAGE.happened(transition, "failed") == {}
    state, transition = STAGE.step(state)
    assert STAGE.happened(transition, "failed") == {0: (-1, (5, 2), 1.0)}
    assert tile(state, 5, 2) == "gold"


@pytest.mark.parametrize("late", range(6))
def test_r4_whoever_strikes_it_meanwhile_joins_in(late):
    state = STAGE.draw(">.g.<........", top=5)
    rounds = [IDLE] * 6
    rounds[0] = ("mine",)
    rounds[late] = ("mine", "mine") if late == 0 else ("stay", "mine")
    after, paid = worked(state, *rounds)
    joined = [8, 8, 0, 0, 0, 0] if late <= 3 else NOTHING
    assert paid == [NOTHING] * 3 + [joined] + [NOTHING] * 2
    assert STAGE.ore(after) == ({} if late <= 3 else {(5, 2): "g"})


@pytest.mark.parametrize("open_for", [0, 1, 2, 5])
def test_r4_it_closes_so_many_steps_after_the_first_strike(open_for):
    state = STAGE.draw(">.g.<........", top=5)
    closed = []
    for step in range(7):
        acts = ("mine", "mine") if step == 0 else IDLE
        state, transition = STAGE.step(state, *acts, open_for=open_for)
        closed += [step] * bool(STAGE.happened(transition, "mined_gold"))
    assert closed == [open_for]


def test_r4_striking_again_or_joining_does_not_keep_it_open_longer():
    state = STAGE.draw(">.g.<........", top=5)
    rounds = [("mine",), ("mine", "mine"), ("mine", "mine"), ("mine", "mine")]
    _, paid = worked(state, *rounds, recharge=0)
    assert paid == [NOTHING] * 3 + [[8, 8, 0, 0, 0, 0]]


def test_r4_gold_that_closed_can_be_opened_anew():
    state = STAGE.draw(">.g.<........", top=5)
    rounds = [("mine",), IDLE, IDLE, IDLE, ("mine",), IDLE, IDLE, ("stay", "mine")]
    after, paid = worked(state, *rounds)
    assert paid == [NOTHING] * 7 + [[8, 8, 0, 0, 0, 0]]
    assert STAGE.ore(after) == {}


def test_r4_who_has_joined_need_not_stay_there():
    state = STAGE.draw(">.g.<........", top=5)
    rounds = [("mine", "mine"), *[("back", "turn left")] * 3]
    _, paid = worked(state, *rounds)
    assert paid[-1] == [8, 8, 0, 0, 0, 0]


# R5: gold pays


CROWD = "....#.v......\n......v......\n...>>>g<....."


@pytest.mark.parametrize("miners", range(1, 7))
def test_r5_two_to_four_get_eight_each_and_fewer_or_more_get_nothing(miners):
    state = STAGE.draw(CROWD, top=3)
    state, paid = worked(state, ["mine"] * miners, IDLE, IDLE)
    assert paid == [NOTHING] * 3
    after, transition = STAGE.step(state)
    told = {"mined_gold": 1.0, "failed": float(miners)}
    enough = 2 <= miners <= 4
    happened, not_happened = ("mined_gold", "failed") if enough else ("failed", "mined_gold")
    assert transition.reward.tolist() == [8 * enough] * miners + [0] * (6 - miners)
    assert STAGE.ore(after) == ({} if enough else {(5, 6): "g"})
    everyone = {seat: (-1, (5, 6), told[happened]) for seat in range(miners)}
    assert STAGE.happened(transition, happened) == everyone
    assert STAGE.happened(transition, not_happened) == {}
    if not enough:
        assert tile(after, 5, 6) == "gold"
    assert float(STAGE.env.gauges(after, STAGE.params({}))["at_work"]) == 0


def test_r5_the_numbers_are_those_of_the_sheet():
    params = CoopMining().params()
    assert (int(params.fewest), int(params.most)) == (2, 4)
    assert (float(params.iron_reward), float(params.gold_reward)) == (1, 8)


def test_r5_how_many_are_needed_and_paid_are_parameters():
    state = STAGE.draw(CROWD, top=3)
    for miners, fewest, most, pay in ((1, 1, 1, 5), (2, 3, 4, 0), (3, 3, 3, 5), (5, 2, 5, 5)):
        numbers = {"fewest": fewest, "most": most, "gold_reward": 5, "open_for": 0}
        _, paid = worked(state, ["mine"] * miners, **numbers)
        assert paid == [[pay] * miners + [0] * (6 - miners)]


def test_r5_each_counts_once_however_often_it_strikes():
    state = STAGE.draw(">.g.<........", top=5)
    after, paid = worked(state, *[("mine",)] * 4, recharge=0)
    assert paid == [NOTHING] * 4
    assert STAGE.ore(after) == {(5, 2): "g"}


def test_r5_two_golds_at_once_pay_their_own_miners():
    state = STAGE.draw(">g<.......>g<", top=5)
    after, paid = worked(
        state, ("mine", "mine"), ("stay", "stay", "mine", "mine"), IDLE, IDLE, IDLE
    )
    assert paid == [NOTHING] * 3 + [[8, 8, 0, 0, 0, 0], [0, 0, 8, 8, 0, 0]]
    assert STAGE.ore(after) == {}


# R6: one gold at a time


TWO_GOLDS = ".g.<.........\ng^..........."  # seat 0 faces the one, seat 1 is between both


def swung(state):
    """Seat 1 has struck the gold ahead, turned left and struck the other."""
    return worked(state, *[("stay", act) for act in ("mine", "turn left", "mine")], recharge=0)[0]


def test_r6_striking_another_gold_gives_up_the_first_which_then_closes():
    state = swung(STAGE.draw(TWO_GOLDS, top=4))
    assert (tile(state, 4, 1), tile(state, 5, 0)) == ("gold", "open gold")
    for step in range(3):
        state, transition = STAGE.step(state)
        failed = {1: (-1, (5, 0), 1.0)} if step == 2 else {}
        assert STAGE.happened(transition, "failed") == failed


def test_r6_a_gold_that_was_given_up_opens_anew_for_its_whole_time():
    state = swung(STAGE.draw(TWO_GOLDS, top=4))
    state, _ = worked(state, ("mine",), IDLE, IDLE)
    assert (tile(state, 4, 1), tile(state, 5, 0)) == ("open gold", "gold")
    _, transition = STAGE.step(state)
    assert STAGE.happened(transition, "failed") == {0: (-1, (4, 1), 1.0)}


def test_r6_those_who_are_left_go_on_and_are_too_few_without_the_other():
    state = STAGE.draw(TWO_GOLDS, top=4)
    state, _ = worked(state, ("mine", "mine"), ("stay", "turn left"), recharge=0)
    state, _ = STAGE.step(state, "stay", "mine", recharge=0)
    assert (tile(state, 4, 1), tile(state, 5, 0)) == ("open gold", "open gold")
    _, transition = STAGE.step(state)
    assert STAGE.happened(transition, "failed") == {0: (-1, (4, 1), 1.0)}
    assert transition.reward.tolist() == NOTHING


@pytest.mark.parametrize(("others", "paid_now"), [(2, True), (4, True), (5, False)])
def test_r6_whoever_gave_it_up_is_neither_paid_nor_counted(others, paid_now):
    state = STAGE.draw("v...#........\nv............\ng<<<.........\n^g...........", top=3)
    acts = ["mine"] * others + ["stay"] * (5 - others)
    state, _ = worked(state, [*acts, "mine"], ["stay"] * 5 + ["turn right"], recharge=0)
    state, paid = worked(state, ["stay"] * 5 + ["mine"], IDLE, recharge=0)
    assert paid[-1] == ([8] * others + [0] * (6 - others) if paid_now else NOTHING)
    assert STAGE.ore(state) == ({} if paid_now else {(5, 0): "g"}) | {(6, 1): "g"}
    _, paid = worked(state, IDLE, IDLE)
    assert paid == [NOTHING] * 2


def test_r6_striking_iron_gives_up_nothing():
    state = STAGE.draw(".g<..........\ni^...........", top=4)
    state, paid = worked(
        state, ("mine", "mine"), ("stay", "turn left"), ("stay", "mine"), IDLE, recharge=0
    )
    assert paid == [NOTHING, NOTHING, [0, 1, 0, 0, 0, 0], [8, 8, 0, 0, 0, 0]]


def test_r6_a_gold_given_up_in_the_step_in_which_another_joins_stays_open():
    state = STAGE.draw(TWO_GOLDS, top=4)
    state, _ = worked(state, ("stay", "mine"), ("stay", "turn left"), ("mine", "mine"), recharge=0)
    assert tile(state, 4, 1) == "open gold"
    _, transition = STAGE.step(state)
    assert STAGE.happened(transition, "failed") == {0: (-1, (4, 1), 1.0)}


def test_r6_players_at_work_are_counted():
    state, _ = worked(STAGE.draw(CROWD, top=3), ["mine"] * 5)
    levels = STAGE.env.gauges(state, STAGE.params({}))
    assert {name: float(level) for name, level in levels.items()} == {
        "iron": 0,
        "gold": 1,
        "at_work": 5,
    }


# R7: no two on a cell


def test_r7_a_contested_cell_goes_to_one_at_random():
    state = STAGE.draw("....>.<......\n.....^.......", top=5)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    entered = np.asarray(after.body)[:, :3] == STAGE.cell(5, 5)
    assert (entered.sum(1) == 1).all()
    assert (entered.sum(0) > SEEDS / 3 / 2).all()


def test_r7_two_players_never_swap_and_never_share():
    state = STAGE.draw("...>><.......", top=5)
    after, _ = STAGE.steps(state, "forward", "forward", "forward")
    assert (np.asarray(after.body) == np.asarray(state.body)).all()


# R8: the start


def test_r8_players_start_on_spawn_cells_with_drawn_places_and_headings(starts):
    env, state = starts
    body = np.asarray(state.body)
    assert np.isin(body, env.spawn).all()
    assert all(len(set(row)) == env.players for row in body.tolist())
    for seat in range(env.players):
        assert len(set(body[:, seat].tolist())) == len(env.spawn)
        assert min(np.bincount(np.asarray(state.heading)[:, seat], minlength=4)) > 300 / 4 / 2


def test_r8_every_beam_is_ready_and_nobody_is_at_work(starts):
    env, state = starts
    assert not state.cooldown.any() and (state.fired == -1).all() and not state.glow.any()
    assert (state.claim == env.places).all() and not state.closing.any()


# R9: the end


def test_r9_only_the_horizon_ends_an_episode_by_truncation():
    assert int(CoopMining().params().horizon) == 1000
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
    assert np.isclose(params.iron_chance, 0.0002, rtol=1e-6)
    assert np.isclose(params.gold_chance, 0.00008, rtol=1e-6)
    assert (int(params.open_for), int(params.recharge)) == (2, 0)
    assert (int(params.fewest), int(params.most), int(params.length)) == (2, 4, 3)


def test_the_numbers_of_melting_pot():
    params = Params.meltingpot()
    assert np.isclose(params.iron_chance, 0.0002, rtol=1e-6)
    assert np.isclose(params.gold_chance, 0.00008, rtol=1e-6)
    assert (int(params.open_for), int(params.recharge)) == (3, 3)
    assert (int(params.fewest), int(params.most), int(params.length)) == (2, 2, 3)
