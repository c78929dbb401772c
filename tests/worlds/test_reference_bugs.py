"""Known faults of SocialJax (at 9df972d) that our worlds must not have."""

import jax
import numpy as np
import pytest

import sociarium
from sociarium.envs.dilemmas import clean_up, harvest
from sociarium.envs.dilemmas.harvest import Harvest
from tests.conftest import WORLDS
from tests.worlds.drawn import SEEDS, Stage
from tests.worlds.lands import CLEAN_UP, HARVEST

STARTS = 400


@pytest.fixture(scope="module", params=WORLDS)
def starts(request):
    """A world, many of its starts, and what is seen at the first of them."""
    env = sociarium.make(request.param)
    keys = jax.random.split(sociarium.key(11), STARTS)

    def begin(keys, params):
        states = jax.vmap(env.reset, (0, None))(keys, params)
        return states, env.observe(jax.tree.map(lambda leaf: leaf[0], states), params)

    states, view = jax.jit(begin)(keys, env.params())
    return env, jax.tree.map(np.asarray, states), jax.tree.map(np.asarray, view)


def test_every_player_sees_itself_and_not_its_neighbour_by_number_at_the_centre(starts):
    """The self plane was shifted by one seat."""
    env, _, view = starts
    occupant = view.cells[:, env.view_spec.plane("occupant")]
    seats = view.cells[:, env.view_spec.plane("seat")]
    for seat in range(env.players):
        assert list(zip(*np.nonzero(occupant[seat] == 1), strict=True)) == [(9, 5)]
        assert seats[seat, 9, 5] == seat + 1
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
@pytest.mark.parametrize("stage", [HARVEST, CLEAN_UP], ids=["harvest", "clean_up"])
def test_beams_do_not_wrap_around_the_edge(stage, shooter, top):
    """Cells beyond the low edge were read from the far edge."""
    assert stage.struck(shooter, top, zap=np.ones((5, 3), bool)) == set()


@pytest.mark.parametrize("stage", [HARVEST, CLEAN_UP], ids=["harvest", "clean_up"])
def test_beams_do_not_pierce_walls(stage):
    shot = stage.struck("....^........", 4, zap=np.ones((5, 3), bool))
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


def test_all_four_headings_are_drawn_at_the_start(starts):
    """Heading 3 was never drawn."""
    _, states, _ = starts
    for seat in range(states.heading.shape[1]):
        often = np.bincount(states.heading[:, seat], minlength=4)
        assert often.min() > STARTS / 4 / 2


@pytest.mark.parametrize("stage", [HARVEST, CLEAN_UP], ids=["harvest", "clean_up"])
def test_all_four_headings_are_drawn_on_return(stage):
    state = stage.draw("....>........", top=5, away=[0, 1, 1, 1])
    after, _ = stage.steps(state)
    for seat in (1, 2, 3):
        often = np.bincount(np.asarray(after.heading)[:, seat], minlength=4)
        assert often.min() > SEEDS / 4 / 2


@pytest.mark.parametrize("stage", [HARVEST, CLEAN_UP], ids=["harvest", "clean_up"])
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
    chances = {"growth": 0.5, "waste_chance": 0.5, "depletion": 100}
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
    ("stage", "module"), [(HARVEST, harvest), (CLEAN_UP, clean_up)], ids=["harvest", "clean_up"]
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


def test_nobody_returns_onto_somebody():
    """Two agents could stand on one cell."""
    state = HARVEST.draw(".>PP.....PP^.", top=8, away=[0, 0, 1, 1])
    after, _ = HARVEST.steps(state)
    bodies = np.asarray(after.body)
    assert (bodies != HARVEST.env.terrain.nowhere).all()
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
    marks += [states.body < env.terrain.cells // 2, states.heading == 0]
    for mark in marks:
        share = mark.mean()
        noise = 4.5 * np.sqrt(max(share * (1 - share), 1e-9) / STARTS)
        assert (abs(mark.mean(0) - share) <= noise).all()
