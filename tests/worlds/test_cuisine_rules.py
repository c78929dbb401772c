"""Cuisine, rule by rule."""

import dataclasses
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sociarium.core import random
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.envs.kitchens.cuisine import NONE, OUTCOMES, STREAMS, Cuisine
from sociarium.envs.kitchens.menus import ALPHAS, LEVELS, RAW, RECIPES
from tests.kitchens.cuisine_play import compared

# Failures of an idle team in the three published episodes, by level and interval, as published.
IDLE = (
    (54, 30, 24, 18, 15),
    (54, 30, 24, 18, 15),
    (31, 23, 16, 12, 11),
    (24, 15, 12, 9, 6),
    (25, 21, 14, 7, 8),
    (21, 12, 6, 6, 3),
    (21, 12, 9, 6, 3),
    (30, 21, 15, 9, 9),
    (30, 21, 15, 9, 6),
    (18, 10, 7, 3, 3),
    (21, 12, 9, 6, 3),
    (21, 12, 9, 6, 5),
    (32, 21, 15, 10, 8),
)
INTERVALS = (
    *((3, 5, 6, 8, 9),) * 2,
    (5, 7, 9, 12, 14),
    (6, 8, 11, 13, 16),
    (5, 7, 9, 12, 14),
    (7, 10, 14, 17, 20),
    (7, 10, 13, 16, 19),
    (5, 7, 9, 11, 13),
    (5, 7, 9, 12, 14),
    (8, 12, 15, 19, 23),
    *((7, 10, 13, 16, 19),) * 2,
    (5, 7, 9, 12, 14),
)


STAYS = jnp.zeros(1, jnp.int32)


@cache
def kitchen():
    """Level 3: sushi, for two."""
    env = Cuisine(2, 3, 3)
    return env, jax.jit(env.reset), jax.jit(env.step), jax.jit(env.legal)


class Kitchen:
    """A game that is played by the names of actions."""

    def __init__(self, **changes):
        self.env, reset, self._step, self._legal = kitchen()
        self.params = self.env.params()
        self.state = dataclasses.replace(reset(random.key(0), self.params), **changes)
        self.names = [action.name for action in self.env.actions]

    def does(self, *commands):
        """One step; gives what happened."""
        legal = self.legal()
        assert all(command in legal[seat] for seat, command in enumerate(commands)), commands
        numbers = jnp.array([self.names.index(command) for command in commands], jnp.int32)
        self.state, self.done = self._step(random.key(0), self.state, numbers, self.params)
        found = []
        for name, kind in self.done.events.items():
            for entry in np.flatnonzero(kind.mask):
                value = int(kind.value[entry])
                named = OUTCOMES[value] if name == "refused" else self.env.items[value]
                found.append((name, int(entry), named))
        return found

    def legal(self):
        rows = np.asarray(self._legal(self.state, self.params))
        return [[self.names[n] for n in np.flatnonzero(row)] for row in rows]

    def at(self, seat):
        return self.env.places[int(self.state.at[seat])]

    def holds(self, seat):
        held = int(self.state.hands[seat])
        return None if held == NONE else self.env.items[held]

    def inside(self, place):
        bits = int(self.state.inside[self.env.places.index(place) - 2])
        return {self.env.items[n] for n in range(self.env.useful) if bits >> n & 1}

    def walk(self, seat, *commands):
        for command in commands:
            self.does(*(command if one == seat else "stay" for one in range(2)))


# R1: places


def test_r1_one_goes_anywhere_in_a_step_and_several_can_be_at_one_place():
    game = Kitchen()
    assert [game.at(seat) for seat in range(2)] == ["serving table"] * 2
    for place in (*game.env.places[2:], "storage"):
        game.does(f"go to {place}", f"go to {place}")
        assert [game.at(seat) for seat in range(2)] == [place] * 2


# R2: one after the other


def test_r2_a_later_seat_finds_what_an_earlier_one_left():
    game = Kitchen()
    game.does("go to storage", "go to chopping board 1")
    game.does("take salmon", "stay")
    game.does("go to chopping board 1", "stay")
    assert ("cooked", 1, "salmon sashimi") in game.does("put", "activate")
    game = Kitchen()
    game.does("go to chopping board 1", "go to storage")
    game.does("stay", "take salmon")
    game.does("stay", "go to chopping board 1")
    assert "activate" not in game.legal()[0]  # nobody acts before seat 0


def test_r2_what_a_mixer_makes_can_be_taken_in_the_same_step():
    sushi = {"salmon sashimi", "cooked rice"}
    env = kitchen()[0]
    bits = sum(1 << env.items.index(item) for item in sushi)
    mixer = env.places.index("mixer 1")
    inside = np.zeros(len(env.tools), np.uint32)
    inside[mixer - 2] = bits
    game = Kitchen(inside=jnp.asarray(inside), at=jnp.full(2, mixer, jnp.int32))
    happened = game.does("activate", "take")
    assert {("took", 1, "salmon sushi"), ("cooked", 0, "salmon sushi")} <= {*happened}
    assert game.holds(1) == "salmon sushi" and game.inside("mixer 1") == set()


# R3: taking


def test_r3_hands_hold_one_thing():
    game = Kitchen()
    game.walk(0, "go to storage", "take rice")
    assert game.holds(0) == "rice"
    assert not any(command.startswith("take") for command in game.legal()[0])


def test_r3_only_a_chopping_board_gives_back_what_is_raw():
    game = Kitchen()
    game.walk(0, "go to storage", "take rice", "go to pot 1", "put")
    assert "take" not in game.legal()[0]
    game.walk(0, "go to storage", "take tuna", "go to chopping board 1", "put", "take")
    assert game.holds(0) == "tuna"


# R4: putting in


def test_r4_only_what_some_recipe_needs_fits():
    game = Kitchen()
    game.walk(0, "go to storage", "take rice", "go to chopping board 1")
    assert "put" not in game.legal()[0]
    game.walk(0, "go to pot 1", "put")
    assert game.inside("pot 1") == {"rice"}


def test_r4_what_is_inside_already_is_lost():
    game = Kitchen()
    for _ in range(2):
        game.walk(0, "go to storage", "take rice", "go to pot 1", "put")
    assert game.inside("pot 1") == {"rice"} and game.holds(0) is None


# R5: storage and table


def test_r5_the_storage_takes_everything_and_the_table_dishes_only():
    game = Kitchen()
    game.walk(0, "go to storage", "take rice")
    assert ("threw_away", 0, "rice") in game.does("put", "stay")
    game.walk(0, "take rice", "go to serving table")
    assert "put" not in game.legal()[0]
    dish = kitchen()[0].dishes[0]
    game = Kitchen(hands=jnp.array([0, NONE], jnp.int32), dish=jnp.full(6, NONE, jnp.int32))
    assert ("served", 0, dish) in game.does("put", "stay")
    assert int(game.state.table[0]) == 1  # it waits


# R6: cooking


@pytest.mark.parametrize(
    ("raw", "place", "product", "steps"),
    [("salmon", "chopping board 1", "salmon sashimi", 1), ("rice", "pot 2", "cooked rice", 3)],
)
def test_r6_a_tool_is_at_work_for_as_long_as_it_takes(raw, place, product, steps):
    game = Kitchen()
    game.walk(0, "go to storage", f"take {raw}", f"go to {place}", "put", "activate")
    assert game.inside(place) == {product}
    for _ in range(steps - 1):
        assert "take" not in game.legal()[0]
        game.walk(0, "stay")
    assert "take" in game.legal()[0]


def test_r6_only_what_a_recipe_needs_exactly_can_be_started():
    game = Kitchen()
    game.walk(0, "go to mixer 1")
    assert "activate" not in game.legal()[0]
    env = kitchen()[0]
    mixer = env.places.index("mixer 1")
    inside = np.zeros(len(env.tools), np.uint32)
    inside[mixer - 2] = 1 << env.items.index("cooked rice")
    game = Kitchen(inside=jnp.asarray(inside), at=jnp.full(2, mixer, jnp.int32))
    assert "activate" not in game.legal()[0] and "activate" in game.legal()[1]
    assert ("refused", 1, "no recipe needs just this") in game.does("stay", "activate")


# R7: orders


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_r7_intervals_are_the_published_ones(level):
    assert tuple(LEVELS[level].interval(alpha) for alpha in ALPHAS) == INTERVALS[level]


def test_r7_orders_come_at_the_start_and_every_interval_while_there_is_room():
    game, came = Kitchen(), [0]
    assert int((game.state.dish != NONE).sum()) == 1
    for step in range(1, 40):
        came += [step for name, _, _ in game.does("stay", "stay") if name == "ordered"]
    assert came == [*range(0, 40, int(game.params.order_gap))]
    crowded = Kitchen(dish=jnp.zeros(6, jnp.int32), left=jnp.full(6, 30, jnp.int32))
    for _ in range(int(game.params.order_gap)):
        assert not [1 for name, _, _ in crowded.does("stay", "stay") if name == "ordered"]


def test_r7_orders_are_drawn_by_lot():
    env = kitchen()[0]
    streams = jax.vmap(env.reset, (0, None))(jax.random.split(random.key(0), 40), env.params())
    share = np.asarray(streams.stream).mean()
    assert 0.4 < share < 0.6  # two dishes


# R8: what becomes of orders


def order(dish, left, **more):
    full = lambda first, rest: jnp.array([first, *[rest] * 5], jnp.int32)  # noqa: E731
    return Kitchen(dish=full(dish, NONE), left=full(left, 0), **more)


def test_r8_an_order_without_time_has_failed_even_if_its_dish_is_served_now():
    game = order(0, 0, hands=jnp.array([0, NONE], jnp.int32))
    happened = game.does("put", "stay")
    assert ("failed", 0, game.env.dishes[0]) in happened
    assert float(game.done.reward[0]) == 0 and int(game.state.table[0]) == 1
    game = order(0, 1, hands=jnp.array([0, NONE], jnp.int32))
    assert ("completed", 0, game.env.dishes[0]) in game.does("put", "stay")
    assert game.done.reward.tolist() == [1, 1]


def test_r8_a_dish_goes_to_the_order_with_the_least_time():
    game = Kitchen(
        dish=jnp.array([0, 0, 0, NONE, NONE, NONE], jnp.int32),
        left=jnp.array([9, 4, 6, 0, 0, 0], jnp.int32),
        table=jnp.array([2, 0], jnp.int32),
    )
    met = [slot for name, slot, _ in game.does("stay", "stay") if name == "completed"]
    assert met == [1, 2] and int(game.state.table[0]) == 0


def test_r8_the_fixed_rules_count_every_failure_and_the_shipped_ones_one_a_step():
    for rules, counted in (("fixed", 2), ("compat", 1)):
        env = Cuisine(1, 0, 3, rules)
        state = dataclasses.replace(
            env.reset(random.key(0), env.params()),
            dish=jnp.array([0, 0, NONE, NONE, NONE, NONE], jnp.int32),
            left=jnp.zeros(6, jnp.int32),
        )
        after, _ = env.step(random.key(0), state, jnp.zeros(1, jnp.int32), env.params())
        assert int(after.failed) == counted


# R9: the end


def test_r9_only_the_horizon_ends():
    for clock, ended in ((58, False), (59, True)):
        game = Kitchen(clock=jnp.int32(clock))
        game.does("stay", "stay")
        assert bool(game.done.truncated) is ended and not bool(game.done.terminated)


# Besides.


def idle_failures(level):
    env = Cuisine(1, level, rules="compat")
    reset, step, total = jax.jit(env.reset), jax.jit(env.step), []
    for interval in range(1, 6):
        total.append(0)
        for stream in STREAMS[1:]:
            params = env.params(**env.order_stream(interval, stream))
            state = reset(random.key(0), params)
            for _ in range(60):
                state, _ = step(random.key(0), state, STAYS, params)
            total[-1] += int(state.failed)
    return tuple(total)


def test_an_idle_team_fails_as_often_as_was_published():
    assert idle_failures(3) == IDLE[3]


@pytest.mark.slow
@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_an_idle_team_fails_as_often_as_was_published_on_every_level(level):
    assert idle_failures(level) == IDLE[level]


def test_every_interval_and_stream_has_parameters_of_the_same_shapes():
    env = kitchen()[0]
    shapes = jax.tree.map(jnp.shape, env.params())
    for interval in range(1, 6):
        for stream in STREAMS:
            params = env.params(**env.order_stream(interval, stream))
            assert jax.tree.map(jnp.shape, params) == shapes
            own = Cuisine(2, 3, interval, stream=stream)
            assert eqx.tree_equal(own.params(), params) and own.view_spec == env.view_spec


def test_the_fast_kitchen_equals_the_plain_one():
    counts = compared(3, "fixed", 2, seed=3)
    assert not [what for what in ("took", "put_in", "cooked", "served", "paid") if not counts[what]]


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["fixed", "compat"])
@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_every_level_equals_the_plain_one(level, rules):
    counts = compared(level, rules, 1 + level % 4, seed=level)
    assert counts["cooked"] > 5 and counts["served"] > 1


def test_the_fixed_rules_give_level_12_its_fryers():
    assert LEVELS[12].missing == ("fryer",) and not any(one.missing for one in LEVELS[:12])
    assert "fryer 1" in Cuisine(2, 12).places
    shipped = Cuisine(2, 12, rules="compat")
    assert not any("fryer" in place for place in shipped.places) and shipped.raw[-1] in RAW
    assert len(RECIPES) == 63 and len(set(RAW)) == 27


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"level": 13}, BadArgument, "0 to 12"),
        ({"level": 3, "level_seed": 4}, BadArgument, "a level or a level_seed; given 3 and 4"),
        ({"level_seed": -1}, BadArgument, "level_seed is a whole number from 0 on; given -1"),
        ({"interval": 0}, BadArgument, "1 .hard. to 5"),
        ({"players": 9}, BadArgument, "1 to 8 cooks"),
        ({"rules": "new"}, UnknownName, "compat"),
        ({"stream": "published"}, UnknownName, "published:0"),
    ],
)
def test_a_kitchen_that_cannot_be_says_what_can(arguments, kind, said):
    with pytest.raises(kind, match=said):
        Cuisine(**arguments)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"order_gap": 0}, "from 1 to"),
        ({"order_gap": "long"}, "order_gap is a whole number; given 'long'"),
        ({"patience": [1000, 1]}, "from 1 to 39"),
        ({"orders": [7] * 21}, "from -1 to 1"),
        ({"orders": ["tuna roll"]}, "salmon sushi, tuna sushi.*given .'tuna roll'."),
        ({"orders": ["tuna sushi"] * 22}, "up to 21 of the dishes"),
        ({"orders": ["tuna sushi", 1]}, "up to 21 of the dishes"),
    ],
)
def test_numbers_that_no_order_can_have_are_refused(numbers, said):
    with pytest.raises(BadArgument, match=said):
        Cuisine().params(**numbers)


def test_orders_can_be_given_by_the_names_of_dishes():
    env = Cuisine()
    params = env.params(orders=["tuna sushi", "salmon sushi"])
    assert params.orders.tolist() == [1, 0, *[-1] * 19]
    assert env.params(orders="tuna sushi").orders.tolist() == [1, *[-1] * 20]
    assert env.params(orders=[1] * 21).orders.tolist() == [1] * 21


def test_the_usual_level_is_equal_to_the_one_asked_for():
    assert Cuisine() == Cuisine(level=3) and Cuisine() != Cuisine(level=4)
    assert Cuisine(level_seed=3) != Cuisine()


@pytest.mark.parametrize(("interval", "steps"), [(1, 6), (3, 11), (5, 16)])
def test_r7_of_a_kitchen_names_the_steps_between_two_orders(interval, steps):
    env = Cuisine(interval=interval)
    assert int(env.params().order_gap) == steps
    assert f"another one every {steps} steps while" in env.sheet.rules["R7"]
    assert list(env.sheet.rules)[:9] == [f"R{number}" for number in range(1, 10)]
