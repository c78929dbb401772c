"""Schedules out of the middle of play, and the scheduler that makes them anew as orders come."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import sociarium
from sociarium.core.decision import Decision
from sociarium.core.errors import BadArgument, MissingExtra, UnknownName
from sociarium.envs.kitchens.begun import INSIDE, TO_FETCH, KitchenNow, ToolNow, begin_with, waiting
from sociarium.envs.kitchens.schedule import go_on
from sociarium.envs.kitchens.work import Order, Problem
from sociarium.players.planning.crew_scheduling import (
    BEST,
    Scheduled,
    crew_scheduler,
    crew_schedulers,
)
from sociarium.players.scripted import cuisine_crew
from sociarium.players.scripted.cuisine_crew import RollingCrew

SUSHI, CAKE, SASHIMI = "salmon sushi", "salmon meatcake", "salmon sashimi"


def problem(*orders, cooks=1, tools=("blender",)):
    """Orders by their dishes and last steps."""
    given = tuple(Order(dish, 0, due, True) for dish, due in orders)
    return Problem(given, tools, cooks, max(12, *(order.due + 1 for order in given)))


def kitchen(*cooks, tools=None, table=()):
    """Cooks as (place, what they hold), tools as (kind, inside, cooked, left)."""
    found = {name: ToolNow(kind, frozenset(inside), *more) for name, (kind, inside, *more) in tools}
    at, held = zip(*cooks, strict=True)
    return KitchenNow(at, held, found, dict(table))


def served(given, now, **options):
    """When the dishes are put on the table, and every seat's commands until then."""
    options = {"turn": range(len(given.orders)), "seconds": 2.0, **options}
    found = go_on(given, now, **options)
    steps = [number for number, step in enumerate(found.commands) if set(step) - {"stay"}]
    return found.met, found.commands[: steps[-1] + 1] if steps else ()


def cake(*cooks, inside=(), more=(), due=11):
    tools = [("blender", ("blender", inside, *more))]
    given = problem((CAKE, due), cooks=len(cooks))
    met, commands = served(given, kitchen(*cooks, tools=tools))
    return met, [list(step) for step in zip(*commands, strict=True)]


def test_an_ingredient_that_is_in_its_tool_is_not_brought_again():
    met, (one,) = cake(("serving table", ""), inside=("flour",))
    assert met == (0,) and one == [
        *("go to storage", "take salmon", "go to blender", "put", "activate"),
        *("stay", "take", "go to serving table", "put"),
    ]


def test_what_a_cook_holds_only_has_to_go_and_be_put():
    _, (one,) = cake(("storage", "flour"), inside=("salmon",))
    assert one[:3] == ["go to blender", "put", "activate"] and len(one) == 7
    _, (at_once,) = cake(("blender", "flour"), inside=("salmon",))
    assert at_once == one[1:]


def test_a_cook_acts_at_once_where_it_is():
    _, (one,) = cake(("blender", ""), inside=("salmon", "flour"))
    assert one == ["activate", "stay", "take", "go to serving table", "put"]
    _, (carries,) = cake(("serving table", CAKE))
    assert carries == ["put"]
    _, (fetches,) = cake(("storage", ""), inside=("salmon",))
    assert fetches[:2] == ["take flour", "go to blender"]


def test_a_tool_at_work_is_waited_for():
    _, (one,) = cake(("serving table", ""), inside=(CAKE,), more=(True, 2))
    assert one == ["stay", "go to blender", "take", "go to serving table", "put"]


def test_a_useless_thing_in_hand_goes_to_the_storage_first_and_a_dish_to_the_table():
    met, (one,) = cake(("serving table", "rice"), inside=("flour",))
    assert met == (0,) and [step for step in one if step != "stay"][:4] == [
        *("go to storage", "put", "take salmon", "go to blender"),
    ]
    tools = [("blender", ("blender", ()))]
    given = problem((CAKE, 20), (SUSHI, 0), cooks=1)
    _, commands = served(given, kitchen(("storage", SUSHI), tools=tools))
    assert [step[0] for step in commands][:3] == ["go to serving table", "put", "go to storage"]


def test_what_nobody_needs_blocks_its_tool_unless_it_can_be_taken_out():
    met, _ = cake(("serving table", ""), inside=("lamb",), due=20)
    assert met == ()
    met, (one,) = cake(("blender", ""), inside=("lamb meatcake",), more=(True, 0), due=20)
    assert met == (0,) and one[:3] == ["take", "go to storage", "put"]


def test_what_cannot_be_in_time_leaves_what_there_is_to_others():
    given = problem((SASHIMI, 1), (SASHIMI, 11), tools=("chopping board",))
    now = kitchen(("storage", "salmon"), tools=[("chopping board", ("chopping board", ()))])
    start = begin_with(given, now, (0, 1))
    assert {n: stage.raw for n, stage in start.stages.items()} == {1: (0,)}
    assert served(given, now)[0] == (1,)


def test_things_go_to_the_order_that_comes_first():
    given = problem((CAKE, 20), (CAKE, 20), cooks=1, tools=("blender", "blender"))
    tools = [("blender 1", ("blender", ("flour",))), ("blender 2", ("blender", ()))]
    start = begin_with(given, kitchen(("storage", ""), tools=tools), (1, 0))
    assert start.stages[1].tool == "blender 1" and start.stages[1].raw == (TO_FETCH, INSIDE)
    assert start.stages[0].raw == (TO_FETCH, TO_FETCH)


def test_a_dish_on_the_table_serves_the_order_with_the_least_time():
    orders = problem((CAKE, 9), (CAKE, 4), (SUSHI, 2)).orders
    assert waiting(orders, {CAKE: 1}) == [2, 0]


@pytest.mark.parametrize("first", [0, 1])
def test_with_ranks_an_order_counts_for_more_than_all_after_it(first):
    given = problem((SASHIMI, 8), (SASHIMI, 8), tools=("chopping board",))
    now = kitchen(("storage", ""), tools=[("chopping board", ("chopping board", ()))])
    assert served(given, now, turn=(first, 1 - first), ranked=True)[0] == (first,)


# In play.

AGENT = "agent:sociarium.players.planning.crew_scheduling:Scheduled"


@pytest.fixture
def schedules(monkeypatch):
    """Steps in which a schedule was made, each with the orders it was for."""
    made, plan = [], RollingCrew._schedule

    def noted(self, kitchen, jobs, turn, step):
        made.append((step, tuple((job.name, job.what, job.due) for job in jobs)))
        return plan(self, kitchen, jobs, turn, step)

    monkeypatch.setattr(RollingCrew, "_schedule", noted)
    return made


@cache
def level(players, interval):
    return sociarium.make("cuisine", level=3, players=players, interval=interval)


def plays(seats, steps=60, interval=1, seed=0, players=2, **terms):
    env = level(players, interval)
    match = sociarium.Match(env, seats, steps=steps, seed=seed, **terms)
    match.run()
    assert not match.failures
    return env, match.episode()


def refused(record):
    return len(record.events.of("refused"))


@pytest.mark.parametrize("players", [2, 3])
def test_rolling_commands_are_carried_out_and_meet_no_fewer_orders_than_greedy(players):
    for seed in range(4 - players):
        marks = []
        for by in ("greedy", "cp_sat"):
            seats = f"{AGENT}?by={by}&seconds=0.2&crew=kitchen*{players}"
            _, record = plays(seats, steps=45, players=players, seed=seed)
            marks.append(int(record.states.completed[-1]))
            assert by == "greedy" or refused(record) == 0
        assert marks[1] >= marks[0] > 0


def test_it_knows_no_order_before_it_is_there_and_plans_anew_only_when_they_change(schedules):
    env, record = plays(f"{AGENT}?by=cp_sat&seconds=0.2&crew=kitchen*2", steps=30)
    gap = int(env.params().order_gap)
    for step, jobs in schedules:
        assert len(jobs) <= 1 + step // gap
        dishes, left = record.states.dish[step], record.states.left[step]
        there = {
            (env.dishes[d], step + int(n) - 1) for d, n in zip(dishes, left, strict=True) if d >= 0
        }
        assert {(what, due) for _, what, due in jobs} == there
    steps = [step for step, _ in schedules]
    assert all(now[1] != then[1] for then, now in itertools.pairwise(schedules))
    assert steps[0] == 0 and len(steps) < 15 and {gap, 2 * gap} <= set(steps)


class Slips(Scheduled):
    """A crew in which a cook does not follow once."""

    async def decide(self, percepts, deadline):
        reply = await super().decide(percepts, deadline)
        slip = {0: Decision(action="stay")} if percepts[0].step == 2 else {}
        return replace(reply, decisions={**reply.decisions, **slip})


def test_it_plans_anew_when_a_cook_does_something_else(schedules):
    gap = int(level(2, 1).params().order_gap)
    assert gap > 4
    plays(f"{AGENT}?by=cp_sat&seconds=0.2&crew=kitchen*2", steps=gap)
    assert [step for step, _ in schedules] == [0]
    plays(f"agent:{__name__}:Slips?by=cp_sat&seconds=0.2&crew=kitchen*2", steps=gap)
    assert [step for step, _ in schedules[1:]] == [0, 3]


def test_whoever_does_not_belong_to_the_crew_is_reckoned_with():
    _, record = plays(f"script:greedy {AGENT}?by=cp_sat&seconds=0.1&crew=kitchen", steps=16)
    assert record.actions[:, 1].any()


def test_where_nothing_can_be_met_in_time_it_does_what_greedy_does():
    hopeless = level(2, 1).params(patience=np.full(2, 5))
    actions = [
        plays(f"{AGENT}?by={by}&crew=kitchen*2", steps=12, params=hopeless)[1].actions
        for by in ("greedy", "cp_sat")
    ]
    assert np.array_equal(*actions)


def test_the_greedy_scheduler_is_the_greedy_script_and_worlds_without_one_are_refused(monkeypatch):
    _, crew = plays(f"{AGENT}?crew=kitchen*2", steps=30)
    _, script = plays("script:greedy*2", steps=30)
    assert np.array_equal(crew.actions, script.actions)
    kitchen, coins = level(2, 1), sociarium.make("coins")
    assert tuple(crew_schedulers(kitchen)) == ("greedy", "cp_sat") and not crew_schedulers(coins)
    assert isinstance(crew_scheduler(kitchen, BEST), RollingCrew)
    with pytest.raises(UnknownName, match="cp_sat"):
        crew_scheduler(kitchen, "cpsat")
    with pytest.raises(BadArgument, match=r"coins-v0 has no scheduler for crews.*cuisine-v0"):
        crew_scheduler(coins)
    monkeypatch.setattr(cuisine_crew, "can_solve", lambda: False)
    with pytest.raises(MissingExtra, match=r"\[oracle\]"):
        crew_scheduler(kitchen, BEST)
