"""Schedules for Cuisine: the values that were worked out before, and what they promise in play."""

import sys
from functools import cache

import pytest

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.core.errors import MissingExtra
from sociarium.core.facets import Bounds
from sociarium.envs.kitchens import schedule
from sociarium.envs.kitchens.cuisine import STREAMS, Cuisine
from sociarium.envs.kitchens.menus import LEVELS
from sociarium.envs.kitchens.schedule import solve
from sociarium.envs.kitchens.work import Order, Problem, work_bound
from sociarium.evaluation.cuisine_bounds import CuisineRunner, LevelTeam, Unit, counts
from tests.reference import cuisine as plain

# Completed in the three published episodes of level 3, intervals 1 to 5, without pre-cooking.
CHECKED = {2: (12, 15, 15, 12, 9), 3: (18, 21, 15, 12, 12)}


@cache
def kitchen(players, level=3, rules="compat"):
    return Cuisine(players, level, rules=rules)


def at(players, interval, stream, **more):
    env = kitchen(players, **more)
    params = env.params(**env.order_stream(interval, stream))
    return env, params, env.problem(params, 0)


def completed(players, interval):
    found = []
    for stream in STREAMS[1:]:
        _, _, problem = at(players, interval, stream)
        found.append(solve(problem, precook=False, seconds=20.0))
    assert not any(one.gap for one in found)
    return sum(one.best for one in found)


def test_a_dish_takes_cooks_four_steps_for_each_ingredient_and_each_cooking():
    empty = Problem((), (), 1, 1)
    sushi = empty.tree("salmon sushi")
    assert [node.recipe.tool for node in sushi.all()] == ["chopping board", "pot", "mixer"]
    assert empty.work("salmon sushi") == 4 * (2 + 3)
    assert empty.work("salmon meatcake") == 4 * (2 + 1)
    assert sushi.shortest == 10  # rice put at 3, taken at 6, put at 8, taken at 8, put at 10


def test_the_work_bound_counts_what_time_allows_and_leaves_the_longest():
    order = lambda dish, due: Order(dish, 0, due, True)  # noqa: E731
    late = [order("salmon sushi", 59)] * 9
    tools = LEVELS[3].tools
    assert len(work_bound(Problem(tuple(late), tools, 2, 60))) == 6
    mixed = (order("salmon sushi", 19), order("salmon meatcake", 19), order("tuna sushi", 59))
    both = Problem(mixed, (*tools, "blender"), 1, 60)
    assert work_bound(both) == ["salmon meatcake", "tuna sushi"]
    assert work_bound(Problem(mixed, tools, 1, 60)) == ["salmon sushi", "tuna sushi"]


def test_the_values_worked_out_before_come_out_again():
    assert completed(2, 1) == CHECKED[2][0]


@pytest.mark.slow
@pytest.mark.parametrize("players", CHECKED)
def test_all_values_worked_out_before_come_out_again(players):
    assert tuple(completed(players, interval) for interval in range(1, 6)) == CHECKED[players]


def test_more_cooks_and_cooking_in_advance_meet_no_fewer_orders():
    found = {
        (players, precook): solve(at(players, 4, "drawn")[2], precook=precook, seconds=8.0)
        for players in (1, 2)
        for precook in (False, True)
    }
    for one in found.values():
        assert 0 < one.best <= one.bound
    assert found[1, False].best <= found[2, False].best
    assert all(found[n, False].best <= found[n, True].best for n in (1, 2))
    assert all(found[n, False].bound <= found[n, True].bound for n in (1, 2))


def play_plainly(env, params, found):
    """The plain reference, told what the schedule says."""
    dishes = [order.dish for order in found.problem.orders]
    state = {
        "clock": 0,
        "cooks": [{"at": "serving table", "holds": None} for _ in range(env.players)],
        "tools": {name: {"inside": set(), "busy": 0, "cooked": False} for name in env.places[2:]},
        "table": [],
        "orders": [],
        "stream": dishes,
        "completed": 0,
        "failed": 0,
    }
    numbers = {"order_reward": 1.0, "order_gap": int(params.order_gap)}
    numbers["patience"] = params.patience.tolist()
    reference, refused = plain.Cuisine(env, env.level), []
    reference.order(state, dishes[0], numbers["patience"])
    for commands in found.commands:
        _, happened = reference.step(state, commands, numbers)
        refused += [what for what in happened if what[0] == "refused"]
    assert refused == []
    return state["completed"], state["failed"]


@pytest.mark.parametrize("interval", [1, 3])
def test_a_schedule_that_is_played_meets_what_it_says(interval):
    env, params, problem = at(2, interval, "drawn", rules="fixed")
    found = solve(problem, precook=True, seconds=4.0)
    assert found.best > 2
    done, failed = play_plainly(env, params, found)
    assert done == found.best
    end = CuisineRunner(LevelTeam(3, 2), "drawn").play(found, params, 0)
    assert counts(end)[:2] == [done, failed]


def test_no_play_of_the_greedy_team_is_above_the_bound():
    env = sociarium.make("cuisine?level=3")
    for interval in (1, 2):
        params = env.params(**env.order_stream(interval, "drawn"))
        problem = env.problem(params, 0)
        reached = int(rollout(env, "script:greedy*2", params=params).states.completed[-1])
        bound = solve(problem, precook=True, seconds=3.0).bound
        assert 0 < reached <= bound <= len(problem.orders)


def test_dishes_without_their_tool_are_left_out():
    _, _, shipped = at(2, 3, "drawn", level=12)
    fries = [n for n, order in enumerate(shipped.orders) if order.dish == "french fries"]
    assert fries and not set(fries) & set(shipped.possible)
    _, _, mended = at(2, 3, "drawn", level=12, rules="fixed")
    assert len(mended.possible) == len(mended.orders)


def test_bounds_are_points_of_all_cooks_and_hang_on_parameters_and_seed():
    env = Cuisine(2, 3, 5)
    bounds = env.facet(Bounds).of(env.params(), 0)
    assert bounds["orders"].total == 8 and bounds["work"].total == 8
    found = bounds["schedule"].found
    assert sum(bounds["schedule"].executions.values()) * 2 == found <= bounds["schedule"].total <= 8
    twice = env.facet(Bounds).of(env.params(order_reward=2.0), 0)
    assert twice["schedule"].total == 2 * bounds["schedule"].total
    others = [env.facet(Bounds).of(env.params(), seed)["orders"].executions for seed in range(4)]
    assert len({tuple(sorted(one.items())) for one in others}) > 1


def test_without_ortools_the_bounds_are_those_that_need_no_solver(monkeypatch):
    monkeypatch.setattr("sociarium.envs.kitchens.cuisine.can_solve", lambda: False)
    env = Cuisine(2, 3, 5)
    assert {*env.facet(Bounds).of(env.params(), 0)} == {"orders", "work"}
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(MissingExtra, match=r"\[oracle\]"):
        schedule.solve(at(2, 5, "drawn")[2], precook=False, seconds=1.0)


def test_units_are_missing_until_their_episodes_are_stored():
    unit = Unit(LevelTeam(3, 2), "drawn", "idle", range(2))
    assert unit.missing({}) and unit.missing({"drawn": {"idle": {"episodes": {"0": []}}}})
    assert not unit.missing({"drawn": {"idle": {"episodes": {"0": [], "1": []}}}})


def test_the_bound_allows_for_a_cook_who_stays_at_a_tool_from_one_cooking_to_the_next():
    """Three at a chopping board: one takes, one puts, and one cuts twice without going anywhere."""
    order = Order("salmon sashimi", 0, 7, False)
    found = solve(Problem((order, order), ("chopping board",), 3, 8), precook=True, seconds=5.0)
    assert found.bound == 2
