"""Known faults of SocialJax (at 9df972d) that our worlds must not have."""

import functools

import jax
import numpy as np
import pytest

import sociarium
from sociarium.catalogue import find
from sociarium.core.actions import action_names
from sociarium.envs.dilemmas import clean_up, harvest, mushrooms
from sociarium.envs.dilemmas.harvest import Harvest
from tests.families import WORLDS, in_ci
from tests.worlds.drawn import SEEDS, Stage
from tests.worlds.lands import (
    CLEAN_UP,
    COOP_MINING,
    GIFT_REFINEMENT,
    HARVEST,
    MUSHROOMS,
    PD_ARENA,
)

STARTS = 400
ZAPPING = [
    pytest.param(HARVEST, id="harvest"),
    pytest.param(CLEAN_UP, id="clean_up"),
    pytest.param(MUSHROOMS, id="mushrooms"),
]
FOOTPRINTS = [
    pytest.param(HARVEST, "zap", id="harvest"),
    pytest.param(CLEAN_UP, "zap", id="clean_up"),
    pytest.param(MUSHROOMS, "zap", id="mushrooms"),
    pytest.param(PD_ARENA, "beam", id="pd_arena"),
]


@functools.cache
def begun(name):
    """A world, many of its starts, and what is seen at the first of them."""
    env = sociarium.make(name)
    keys = jax.random.split(sociarium.key(11), STARTS)

    def begin(keys, params):
        states = jax.vmap(env.reset, (0, None))(keys, params)
        return states, env.observe(jax.tree.map(lambda leaf: leaf[0], states), params)

    states, view = jax.jit(begin)(keys, env.params())
    return env, jax.tree.map(np.asarray, states), jax.tree.map(np.asarray, view)


@pytest.fixture(
    scope="module", params=in_ci([w for w in WORLDS if find(w).kind not in ("kitchen", "rounds")])
)
def starts(request):
    """Starts of every world."""
    return begun(request.param)


@pytest.fixture(scope="module", params=in_ci([w for w in WORLDS if find(w).kind == "dilemma"]))
def headed_starts(request):
    """Starts of the worlds in which players look somewhere; on the frontier they do not."""
    return begun(request.param)


def test_every_player_sees_itself_and_not_its_neighbour_by_number_at_the_centre(starts):
    """The self plane was shifted by one seat."""
    env, _, view = starts
    occupant = view.cells[:, env.view_spec.plane("occupant")]
    seats = view.cells[:, env.view_spec.plane("seat")]
    for seat in range(env.players):
        assert list(zip(*np.nonzero(occupant[seat] == 1), strict=True)) == [
            env.view_spec.ego_origin
        ]
        assert seats[seat][env.view_spec.ego_origin] == seat + 1
        assert (seats[seat] == seat + 1).sum() == 1


TURNTABLE = Stage(
    Harvest,
    """
    .............
    .............
    .............
    .......A.....
    ....A........
    .............
    ........A....
    .....A.......
    .P...........
    """,
    players=1,
)


@pytest.mark.parametrize(("plot", "arrow"), list(enumerate("^<>v")))
def test_the_window_is_turned_the_right_way_for_every_heading(plot, arrow):
    """Windows of headings 1 and 3 were upside down. The apple is two ahead, one to the right."""
    apple = np.arange(4) == plot
    state = TURNTABLE.draw(f"......{arrow}......", top=5, apple=apple)
    ground = TURNTABLE.view(state, 0, "ground")
    assert list(zip(*np.nonzero(ground == "apple"), strict=True)) == [(9 - 2, 5 + 1)]


@pytest.mark.parametrize(
    ("shooter", "top"), [("......^......", 0), ("......v......", 8), ("<............", 5)]
)
@pytest.mark.parametrize(("stage", "beam"), FOOTPRINTS)
def test_beams_do_not_wrap_around_the_edge(stage, beam, shooter, top):
    """Cells beyond the low edge were read from the far edge."""
    assert stage.struck(shooter, top, **{beam: np.ones((5, 3), bool)}) == set()


@pytest.mark.parametrize(("stage", "beam"), FOOTPRINTS)
def test_beams_do_not_pierce_walls(stage, beam):
    shot = stage.struck("....^........", 4, **{beam: np.ones((5, 3), bool)})
    assert not {(0, 4), (1, 4), (2, 4)} & shot  # behind the wall at row 3, column 4
    assert {(3, 3), (3, 5)} <= shot


def test_the_last_step_of_an_episode_pays():
    """The reward of the last step was replaced by 0."""
    state = HARVEST.draw("A<a.........a\na.a........aa", clock=999)
    _, transition = HARVEST.step(state, "forward", horizon=1000)
    assert bool(transition.truncated)
    assert transition.reward.tolist() == [1, 0, 0, 0]


def test_rewards_are_plain_points_whatever_the_number_of_players():
    """Individual rewards were multiplied by the number of players."""
    _, transition = CLEAN_UP.step(CLEAN_UP.draw("A<BBB........", top=7), "forward")
    assert transition.reward.tolist() == [1, 0, 0, 0]
    _, transition = MUSHROOMS.step(MUSHROOMS.draw("R<...........", top=7), "forward")
    assert transition.reward.tolist() == [1, 0, 0, 0]
    _, transition = COOP_MINING.step(COOP_MINING.draw("i<...........", top=5), "mine")
    assert transition.reward.tolist() == [1, 0, 0, 0, 0, 0]
    bag = GIFT_REFINEMENT.draw("<............", top=5, raw=[2])
    _, transition = GIFT_REFINEMENT.step(bag, "consume")
    assert transition.reward.tolist() == [2, 0, 0, 0, 0]
    bags = PD_ARENA.draw("....>.<......", top=5, cooperate=[1, 1])
    _, transition = PD_ARENA.step(bags, "interact")
    assert transition.reward.tolist() == [3, 3, 0, 0]


def test_all_four_headings_are_drawn_at_the_start(headed_starts):
    """Heading 3 was never drawn."""
    env, states, _ = headed_starts
    for seat in range(env.players):
        often = np.bincount(states.heading[:, seat], minlength=4)
        assert often.min() > STARTS / 4 / 2


@pytest.mark.parametrize("stage", [*ZAPPING, pytest.param(PD_ARENA, id="pd_arena")])
def test_all_four_headings_are_drawn_on_return(stage):
    state = stage.draw("....>........", top=5, away=[0, 1, 1, 1])
    after, _ = stage.steps(state)
    for seat in (1, 2, 3):
        often = np.bincount(np.asarray(after.heading)[:, seat], minlength=4)
        assert often.min() > SEEDS / 4 / 2


@pytest.mark.parametrize("stage", ZAPPING)
def test_a_cell_lit_by_a_beam_can_be_walked_onto(stage):
    """A beam mark blocked movement in the next step."""
    state = stage.draw(".....>..>....", top=5)
    fired, transition = stage.step(state, "zap", zap=stage.env.params().zap.at[2].set(False))
    assert stage.happened(transition, "fired") != {} and stage.happened(transition, "zapped") == {}
    assert (5, 7) in stage.lit(fired, "zap", zap=stage.env.params().zap.at[2].set(False))
    after, _ = stage.step(fired, "forward", "back")
    contested = stage.places(after)[:2]
    assert contested == [(5, 6), (5, 7)]


def test_growth_waste_and_the_fouled_cell_are_drawn_independently():
    """One key drove the apple draw, the waste draw and the order of the cells."""
    state = CLEAN_UP.draw("wwwwww..~~...\nwwwwww..~~...", clock=60)
    chances = {"growth": 0.5, "waste_chance": 0.5, "depletion": 1, "restoration": 1}
    batches = [CLEAN_UP.steps(state, seed=seed, **chances)[0] for seed in range(16)]
    after = jax.tree.map(lambda *leaves: np.concatenate([*leaves]), *batches)
    fouled, apple = after.waste.any(1), after.apple
    assert abs(fouled.mean() - 0.5) < 0.05
    assert (abs(apple.mean(0) - 0.5) < 0.05).all()
    columns = [fouled, *apple.T]
    noise = 4.5 / np.sqrt(len(fouled))
    between = np.corrcoef(columns) - np.eye(len(columns))
    assert abs(between).max() < noise
    which = after.waste[fouled].argmax(1)
    for column in apple[fouled].T:
        assert abs(np.corrcoef(which, column)[0, 1]) < 4.5 / np.sqrt(fouled.sum())


@pytest.mark.parametrize(
    ("stage", "module"),
    [(HARVEST, harvest), (CLEAN_UP, clean_up), (MUSHROOMS, mushrooms)],
    ids=["harvest", "clean_up", "mushrooms"],
)
def test_whoever_returns_sees_and_acts_from_the_new_place_at_once(stage, module):
    """The view of the zap step was from the old place, the next action from the new one."""
    state = stage.draw("....>.<......", top=5)
    socialjax = module.Params.socialjax()
    params = {"zap": socialjax.zap, "exile": 0}
    after, transition = stage.step(state, "zap", **params)
    place = stage.places(after)[1]
    assert stage.happened(transition, "zapped") == {1: (0, (5, 6), 1.0)}
    assert stage.happened(transition, "returned") == {1: (-1, place, 1.0)}
    assert stage.land[place[0]][place[1]] == "P"
    seen = stage.view(after, 1, "ground", **params)
    heading = int(after.heading[1])
    down, right = ((-1, 0), (0, 1), (1, 0), (0, -1))[heading]
    for ahead in range(3):
        row, col = place[0] + ahead * down, place[1] + ahead * right
        inside = 0 <= row < 9 and 0 <= col < 13
        wall = not inside or stage.land[row][col] == "#"
        assert (seen[9 - ahead, 5] == "wall") == wall
    later, _ = stage.step(after, "stay", "back", **params)
    back = (place[0] - down, place[1] - right)
    on_map = 0 <= back[0] < 9 and 0 <= back[1] < 13
    assert stage.places(later)[1] == (back if on_map else place)


def test_nobody_shares_a_cell_at_the_start(starts):
    env, states, _ = starts
    assert all(len(set(row)) == env.players for row in states.body.tolist())


@pytest.mark.parametrize("stage", [*ZAPPING, pytest.param(PD_ARENA, id="pd_arena")])
def test_nobody_returns_onto_somebody(stage):
    """Two agents could stand on one cell."""
    state = stage.draw(".>PP.....PP^.", top=8, away=[0, 0, 1, 1])
    after, _ = stage.steps(state)
    bodies = np.asarray(after.body)
    assert (bodies != stage.env.terrain.nowhere).all()
    assert all(len(set(row)) == 4 for row in bodies.tolist())


@pytest.mark.parametrize("seats", [(0, 1), (1, 0)])
def test_a_bystander_aiming_at_the_same_cell_does_not_undo_a_cleaning(seats):
    """Beam cells of agents that did not clean were written back."""
    state = CLEAN_UP.draw("xxxxxx..~~...\nxxxxxx..~~...\n..^^.........")
    acts = [("clean", "stay")[seat] for seat in seats]
    after, _ = CLEAN_UP.step(state, *acts)
    cleaner = 2 + acts.index("clean")
    swept = {(row, col) for row in (0, 1) for col in range(cleaner - 1, cleaner + 2)}
    assert CLEAN_UP.waste(state) - CLEAN_UP.waste(after) == swept


def test_a_lower_left_neighbour_counts_in_the_last_column():
    """It was ignored there."""
    state = HARVEST.draw("aaa.........a\na.a........Aa")
    after, _ = HARVEST.step(state, regrowth=[0, 1, 0, 0])
    assert HARVEST.apples(after) == {(1, 11), (0, 12), (1, 12)}


def test_no_seat_is_privileged_at_the_start(starts):
    """Seats 0 and 1 always began inside (Harvest), and seat 0 was always red (Coins)."""
    env, states, _ = starts
    marks = [np.isin(states.body, env.inside)] if hasattr(env, "inside") else []
    if hasattr(states, "colour"):
        marks += [states.colour == 0, states.body == env.starts[0]]
    if hasattr(states, "heading"):
        marks.append(states.heading == 0)
    marks.append(states.body < env.terrain.cells // 2)
    for mark in marks:
        share = mark.mean()
        noise = 4.5 * np.sqrt(max(share * (1 - share), 1e-9) / STARTS)
        assert (abs(mark.mean(0) - share) <= noise).all()


@pytest.mark.parametrize("act", [*action_names(GIFT_REFINEMENT.env.actions)[:7], "consume"])
def test_nothing_is_given_without_the_gift_action(act):
    """A gift was made whenever somebody stood right ahead and faced the same way."""
    bags = {"raw": [2, 2], "refined": [2, 2]}
    state = GIFT_REFINEMENT.draw("....>>.......", top=5, **bags)
    after, transition = GIFT_REFINEMENT.step(state, act)
    assert GIFT_REFINEMENT.happened(transition, "gave") == {}
    left = 0 if act == "consume" else 2
    assert (after.raw[:2].tolist(), after.refined[:2].tolist()) == ([left, 2], [left, 2])


@pytest.mark.parametrize("arrow", "^>v<")
def test_a_gift_reaches_somebody_who_faces_another_way(arrow):
    """It was made only to who faced the same way."""
    state = GIFT_REFINEMENT.draw(f"....>{arrow}.......", top=5, raw=[1])
    after, _ = GIFT_REFINEMENT.step(state, "gift")
    assert after.refined.tolist() == [0, 3, 0, 0, 0]


def test_gifts_of_two_to_one_both_count():
    """Two givers to one receiver gave only one lot."""
    state = GIFT_REFINEMENT.draw("....>.v.<....", top=5, raw=[1, 0, 1])
    after, _ = GIFT_REFINEMENT.step(state, "gift", "stay", "gift")
    assert after.refined.tolist() == [0, 6, 0, 0, 0]
    assert after.raw.tolist() == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("stage", "levels"),
    [(GIFT_REFINEMENT, ("raw", "refined", "precious")), (PD_ARENA, ("cooperate", "defect"))],
    ids=["gift_refinement", "pd_arena"],
)
def test_a_view_does_not_change_when_only_the_bags_of_others_do(stage, levels):
    """Everybody saw the inventories of all, or nobody the own."""
    players = stage.env.players
    scene = {"picture": "....>.<......", "top": 5}
    empty = stage.draw(**scene)
    base = jax.tree.map(np.asarray, stage.env.observe(empty, stage.params({})))
    for rich in range(players):
        bag = {
            level: [number + 2 if seat == rich else 0 for seat in range(players)]
            for number, level in enumerate(levels)
        }
        view = jax.tree.map(
            np.asarray, stage.env.observe(stage.draw(**scene, **bag), stage.params({}))
        )
        assert np.array_equal(view.cells, base.cells)
        unlike = (view.own != base.own).any(1)
        assert unlike.tolist() == [seat == rich for seat in range(players)]


@pytest.mark.parametrize("acts", [("interact", "stay"), ("stay", "interact")])
def test_both_players_leave_after_a_meeting(acts):
    """Only who was hit left; who had fired stayed and was not held up."""
    state = PD_ARENA.draw("....>.<......", top=5, cooperate=[1, 1])
    after, _ = PD_ARENA.step(state, *acts)
    assert PD_ARENA.places(after)[:2] == [None, None]
    assert (after.away[:2] >= 10).all()


def test_an_interaction_needs_a_token_on_each_side():
    """Who had none could interact for nothing and empty the other's inventory."""
    for bag in ([1, 0], [0, 1]):
        state = PD_ARENA.draw("....>.<......", top=5, cooperate=bag)
        after, transition = PD_ARENA.step(state, "interact", "interact")
        assert PD_ARENA.happened(transition, "met") == {}
        assert after.cooperate[:2].tolist() == bag


@pytest.mark.parametrize("last", [0, 1, 2])
def test_every_miner_of_a_gold_is_paid_and_not_only_who_completes_it(last):
    """Only the miner who completed it was paid."""
    state = COOP_MINING.draw("......v......\n....>.g.<....", top=4)
    early = ["stay" if seat == last else "mine" for seat in range(3)]
    late = ["mine" if seat == last else "stay" for seat in range(3)]
    state, _ = COOP_MINING.step(state, *early)
    state, _ = COOP_MINING.step(state, *late)
    state, _ = COOP_MINING.step(state)
    _, transition = COOP_MINING.step(state)
    assert transition.reward.tolist() == [8, 8, 8, 0, 0, 0]


def test_iron_is_not_always_the_lowest_seats():
    """Agents were served in the order of their numbers."""
    state = COOP_MINING.draw("....>.i.<....", top=5)
    _, transition = COOP_MINING.steps(state, "mine", "mine")
    often = np.asarray(transition.reward).sum(0)[:2]
    assert often.sum() == SEEDS and often.min() > SEEDS / 2 / 1.5


def test_spores_of_different_kinds_and_their_places_are_drawn_independently():
    """One key drove all four draws and the order of the cells, so that successes were nested."""
    state = MUSHROOMS.draw("B<...........", top=5)
    chances = {"spore_chance": [0.5, 0.5, 0.5, 0], "spores": [1, 1, 1, 0]}
    batches = [
        np.asarray(MUSHROOMS.steps(state, "forward", seed=seed, **chances)[0].mushroom)
        for seed in range(16)
    ]
    mushroom = np.concatenate(batches)
    grown = [(mushroom == kind).any(1) for kind in (1, 2, 3)]
    noise = 4.5 / np.sqrt(len(mushroom))
    assert all(abs(each.mean() - 0.5) < noise / 2 for each in grown)
    assert abs(np.corrcoef(grown) - np.eye(3)).max() < noise
    some = mushroom.any(1)
    which = mushroom[some].astype(bool).argmax(1)
    for each in grown:
        if 0 < each[some].mean() < 1:
            assert abs(np.corrcoef(which, each[some])[0, 1]) < 4.5 / np.sqrt(some.sum())


def test_both_tries_of_a_kind_are_drawn_independently():
    state = MUSHROOMS.draw("R<...........", top=5)
    chances = {"spore_chance": [0.5, 0, 0, 0]}
    batches = [
        np.asarray(MUSHROOMS.steps(state, "forward", seed=seed, **chances)[0].mushroom)
        for seed in range(16)
    ]
    often = np.bincount((np.concatenate(batches) == 1).sum(1), minlength=3) / (16 * SEEDS)
    assert abs(often - [0.25, 0.5, 0.25]).max() < 0.03


def test_every_mushroom_eaten_feeds_and_no_kind_has_a_limit():
    """At most five tries a kind were made, and none where more than five stood."""
    state = MUSHROOMS.draw("RRRRRRRR.....\n>B.>B.>B.....", top=5)
    after, _ = MUSHROOMS.step(state, *["forward"] * 3, spore_chance=[1, 1, 1, 1])
    kinds = np.bincount(np.asarray(after.mushroom), minlength=5)
    assert kinds[1:].tolist() == [8 + 6, 6, 6, 0]
