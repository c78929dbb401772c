"""Overcooked, rule by rule."""

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core import random
from sociarium.core.actions import COMPASS
from sociarium.core.errors import BadArgument, BadMap, UnknownName
from sociarium.envs.kitchens.layouts import LAYOUTS, draw_layout
from sociarium.envs.kitchens.overcooked import IDLE, ITEMS, Overcooked
from tests.kitchens.lossless import CHANNELS, LosslessPlanes
from tests.kitchens.overcooked_play import TOMATOES, compared

# One pot, and everything within a step or two:
#   X X P X X
#   O . . 2 O
#   X 1 . . X
#   X D X S X
ONIONS, FULL_POT = 3, {"onions": 3, "tick": 20}


@cache
def kitchen(layout="cramped_room", players=2):
    env = Overcooked(players, layout)
    return env, jax.jit(env.reset), jax.jit(env.step), jax.jit(env.observe)


@dataclasses.dataclass
class Played:
    """A state put together by hand, and what one joint action does to it."""

    env: Overcooked
    before: object
    after: object
    done: object

    def hands(self, seat):
        return ITEMS[int(self.after.hands[seat])]

    def did(self, event):
        return np.flatnonzero(self.done.events[event].mask).tolist()


def play(
    *actions,
    layout="cramped_room",
    cells=None,
    facing=("north", "north"),
    hands=("nothing", "nothing"),
    lying=None,
    onions=0,
    tomatoes=0,
    tick=IDLE,
    clock=0,
    **params,
):
    """Plays one step: cooks on these cells (row, column), with these things in their hands."""
    players = len(actions)
    env, reset, step, _ = kitchen(layout, players)
    params = env.params(**params)
    state = reset(random.key(0), params)
    at = lambda place: place[0] * env.terrain.cols + place[1]  # noqa: E731
    pots = len(env.pot_cells)
    lies = np.zeros(env.terrain.cells, np.uint8)
    for place, item in (lying or {}).items():
        lies[at(place)] = ITEMS.index(item)
    state = dataclasses.replace(
        state,
        clock=jnp.int32(clock),
        body=state.body if cells is None else jnp.array([at(c) for c in cells], jnp.int32),
        heading=jnp.array([COMPASS.index(way) for way in facing[:players]], jnp.int32),
        hands=jnp.array([ITEMS.index(item) for item in hands[:players]], jnp.uint8),
        lying=jnp.asarray(lies),
        onions=jnp.array([onions, *[0] * (pots - 1)], jnp.uint8),
        tomatoes=jnp.array([tomatoes, *[0] * (pots - 1)], jnp.uint8),
        tick=jnp.array([tick, *[IDLE] * (pots - 1)], jnp.int32),
    )
    names = [action.name for action in env.actions]
    chosen = jnp.array([names.index(action) for action in actions], jnp.int32)
    after, done = step(random.key(1), state, chosen, params)
    return Played(env, state, after, done)


def places(played):
    cols = played.env.terrain.cols
    return [divmod(int(cell), cols) for cell in played.after.body]


# R1: moving


@pytest.mark.parametrize(
    ("way", "ends"), [("north", (1, 2)), ("east", (2, 3)), ("south", (2, 2)), ("west", (2, 1))]
)
def test_r1_a_step_turns_and_moves_where_floor_lies(way, ends):
    played = play(way, "stay", cells=((2, 2), (1, 3)))
    assert places(played)[0] == ends and COMPASS[int(played.after.heading[0])] == way


@pytest.mark.parametrize(
    ("acts", "cells"),
    [
        (("east", "west"), ((1, 1), (1, 3))),  # onto one cell
        (("east", "west"), ((1, 1), (1, 2))),  # swap
        (("east", "stay"), ((1, 1), (1, 2))),  # into who stands
    ],
)
def test_r1_of_two_who_collide_nobody_moves_but_both_turn(acts, cells):
    played = play(*acts, cells=cells)
    assert places(played) == [*cells]
    assert int(played.after.heading[0]) == COMPASS.index("east")
    assert played.did("collided") == [seat for seat, act in enumerate(acts) if act != "stay"]


def test_r1_one_may_step_onto_the_cell_that_another_leaves():
    played = play("east", "east", cells=((1, 1), (1, 2)))
    assert places(played) == [(1, 2), (1, 3)] and played.did("collided") == []


def test_r1_of_three_only_those_stay_who_lose_a_contested_cell():
    played = play(
        "east",
        "west",
        "south",
        cells=((1, 1), (1, 3), (2, 2)),
        facing=("north",) * 3,
        hands=("nothing",) * 3,
    )
    assert sorted(places(played)).count((1, 2)) == 1 and len(played.did("collided")) == 1


# R2: interacting


def test_r2_interacting_uses_the_cell_one_faces_and_moves_nobody():
    played = play("interact", "stay", cells=((1, 1), (2, 3)), facing=("west", "north"))
    assert played.hands(0) == "onion" and places(played)[0] == (1, 1)
    assert play("interact", "stay", cells=((1, 1), (2, 3))).hands(0) == "nothing"  # a bare counter


def test_r2_seat_0_is_first_and_seat_1_finds_what_it_left():
    """In the ring two can stand at one counter: what the first puts down the second takes up."""
    both = {"layout": "coordination_ring", "cells": ((2, 3), (3, 2)), "facing": ("west", "north")}
    handed = play("interact", "interact", hands=("onion", "nothing"), **both)
    assert (handed.hands(0), handed.hands(1)) == ("nothing", "onion")
    other = play("interact", "interact", hands=("nothing", "onion"), **both)
    assert (other.hands(0), other.hands(1)) == ("nothing", "nothing")


def test_r2_all_interact_before_anybody_moves():
    """The cook at the pot is served by who walks away from the counter in the same step."""
    played = play(
        "interact", "south", cells=((1, 2), (1, 3)), hands=("dish", "nothing"), **FULL_POT
    )
    assert played.hands(0) == "onion soup" and places(played)[1] == (2, 3)


# R3: taking and putting down


@pytest.mark.parametrize(
    ("cell", "way", "item"), [((1, 1), "west", "onion"), ((2, 1), "south", "dish")]
)
def test_r3_crates_and_racks_give_to_empty_hands_only(cell, way, item):
    at = {"cells": (cell, (2, 3)), "facing": (way, "north")}
    played = play("interact", "stay", **at)
    assert played.hands(0) == item and played.did("took") == [0]
    assert play("interact", "stay", hands=("dish", "nothing"), **at).hands(0) == "dish"


def test_r3_tomatoes_come_from_their_crate():
    played = play("interact", "stay", layout=TOMATOES, cells=((1, 1), (2, 3)))
    assert played.hands(0) == "tomato"


def test_r3_a_counter_holds_one_thing():
    at = {"cells": ((1, 1), (2, 3))}
    played = play("interact", "stay", hands=("dish", "nothing"), **at)
    assert played.hands(0) == "nothing" and ITEMS[int(played.after.lying[1])] == "dish"
    assert played.did("put") == [0]
    taken = play("interact", "stay", lying={(0, 1): "dish"}, **at)
    assert taken.hands(0) == "dish" and not taken.after.lying.any() and taken.did("lifted") == [0]
    kept = play("interact", "stay", hands=("onion", "nothing"), lying={(0, 1): "dish"}, **at)
    assert kept.hands(0) == "onion" and ITEMS[int(kept.after.lying[1])] == "dish"


# R4: pots


@pytest.mark.parametrize("inside", range(4))
def test_r4_a_pot_takes_three_ingredients(inside):
    tick = 5 if inside == 3 else IDLE
    played = play(
        "interact",
        "stay",
        cells=((1, 2), (2, 3)),
        hands=("onion", "nothing"),
        onions=inside,
        tick=tick,
    )
    assert int(played.after.onions[0]) == min(inside + 1, 3)
    assert played.hands(0) == ("nothing" if inside < 3 else "onion")


def test_r4_a_pot_at_work_takes_nothing_even_if_it_has_room():
    played = play(
        "interact",
        "stay",
        cells=((1, 2), (2, 3)),
        hands=("onion", "nothing"),
        onions=1,
        tick=4,
        manual_start=True,
    )
    assert played.hands(0) == "onion" and int(played.after.onions[0]) == 1


# R5: cooking begins


def test_r5_the_third_ingredient_starts_a_pot_in_that_step():
    played = play("interact", "stay", cells=((1, 2), (2, 3)), hands=("onion", "nothing"), onions=2)
    assert int(played.after.tick[0]) == 1


def test_r5_where_cooking_has_to_be_started_empty_hands_start_whatever_is_inside():
    at = {"cells": ((1, 2), (2, 3)), "manual_start": True}
    waits = play("interact", "stay", hands=("onion", "nothing"), onions=2, **at)
    assert int(waits.after.tick[0]) == IDLE
    for onions in (1, 2, 3):
        played = play("interact", "stay", onions=onions, **at)
        assert int(played.after.tick[0]) == 1 and played.did("started") == [0]
    assert int(play("interact", "stay", onions=0, **at).after.tick[0]) == IDLE
    assert int(play("interact", "stay", cells=at["cells"], onions=2).after.tick[0]) == IDLE


# R6: cooking


def test_r6_a_soup_can_be_taken_twenty_steps_after_the_third_onion():
    env, reset, step, _ = kitchen()
    params = env.params()
    state = dataclasses.replace(
        reset(random.key(0), params),
        body=jnp.array([7, 13], jnp.int32),
        hands=jnp.array([ITEMS.index("onion"), 0], jnp.uint8),
        onions=jnp.array([2], jnp.uint8),
    )
    interact, stay = 5, 0
    state, _ = step(random.key(1), state, jnp.array([interact, stay]), params)
    state = dataclasses.replace(state, hands=jnp.array([ITEMS.index("dish"), 0], jnp.uint8))
    taken = []
    for number in range(1, 25):
        state, done = step(random.key(1), state, jnp.array([interact, stay]), params)
        taken += [number] * int(done.events["plated"].mask[0])
    assert taken == [20]


def test_r6_the_soup_is_on_the_dish_and_the_pot_is_empty():
    played = play("interact", "stay", cells=((1, 2), (2, 3)), hands=("dish", "nothing"), **FULL_POT)
    assert played.hands(0) == "onion soup"
    assert int(played.after.onions[0]) == 0 and int(played.after.tick[0]) == IDLE
    early = play(
        "interact", "stay", cells=((1, 2), (2, 3)), hands=("dish", "nothing"), onions=3, tick=19
    )
    assert early.hands(0) == "dish"


def test_r6_a_soup_remembers_what_is_in_it():
    played = play(
        "interact",
        "stay",
        layout=TOMATOES,
        cells=((1, 2), (2, 3)),
        hands=("dish", "nothing"),
        onions=1,
        tomatoes=2,
        tick=20,
    )
    assert played.hands(0) == "soup of 1 onion and 2 tomatoes"


# R7: serving


def test_r7_an_ordered_soup_pays_each_cook_and_any_soup_is_gone():
    at = {"cells": ((2, 1), (2, 3)), "facing": ("north", "south")}
    played = play("stay", "interact", hands=("nothing", "onion soup"), **at)
    assert played.done.reward.tolist() == [20, 20] and played.hands(1) == "nothing"
    assert played.did("served") == [1]
    none = [False] * 9
    unpaid = play("stay", "interact", hands=("nothing", "onion soup"), orders=none, **at)
    assert unpaid.done.reward.tolist() == [0, 0] and unpaid.hands(1) == "nothing"
    kept = play("stay", "interact", hands=("nothing", "onion"), **at)
    assert kept.hands(1) == "onion" and not kept.did("served")


# R8: the start


@pytest.mark.parametrize("layout", LAYOUTS)
def test_r8_cooks_start_on_their_cells_facing_north_with_nothing(layout):
    env = Overcooked(layout=layout)
    state = env.reset(random.key(3), env.params())
    lines = LAYOUTS[layout].split()
    starts = {g: (r, c) for r, line in enumerate(lines) for c, g in enumerate(line)}
    at = [divmod(int(cell), env.terrain.cols) for cell in state.body]
    assert at == [starts["1"], starts["2"]]
    assert not state.heading.any() and not state.hands.any() and not state.lying.any()
    assert not state.onions.any() and (state.tick == IDLE).all()


def test_r8_more_cooks_than_start_cells_start_on_cells_by_lot():
    env = Overcooked(4, "counter_circuit")
    keys = jax.random.split(random.key(0), 20)
    body = np.asarray(jax.vmap(env.reset, (0, None))(keys, env.params()).body)
    assert len(set(map(tuple, body.tolist()))) > 5
    assert all(len(set(row)) == 4 and not env.terrain.wall.ravel()[row].any() for row in body)


# R9: the end


def test_r9_the_horizon_ends_and_everybody_is_told_before():
    env, _, _, observe = kitchen()
    assert not bool(play("stay", "stay", clock=398).done.truncated)
    last = play("stay", "stay", clock=399).done
    assert bool(last.truncated) and not bool(last.terminated)
    told = [
        observe(dataclasses.replace(play("stay", "stay", clock=clock).after), env.params())
        for clock in (359, 360)
    ]
    assert [view.shared[:, 0].tolist() for view in told] == [[0, 0], [1, 1]]


# Besides.


@pytest.mark.parametrize("layout", ["cramped_room", "forced_coordination", TOMATOES])
def test_the_fast_kitchen_equals_the_plain_one(layout):
    counts = compared(layout, steps=4000, seed=3)
    wanted = ("took", "lifted", "put", "potted", "started", "plated", "served", "useful_dish")
    assert not [what for what in wanted if not counts.get(what)]


def test_a_window_shows_pots_hands_and_headings():
    env = kitchen()[0]
    played = play("stay", "stay", hands=("dish", "onion"), onions=2, lying={(0, 1): "onion soup"})
    for player in (None, 0, 1):
        scene = env.scene(played.after, env.params(), player)
        assert {body.seat: body.holds for body in scene.bodies} == {0: ("dish",), 1: ("onion",)}
        assert [t.inside for t in scene.things if t.name == "pot"] == ["2 onions"]
        assert [t.left for t in scene.things if t.name == "pot"] == [None]
        assert [(t.row, t.col) for t in scene.things if t.name == "onion soup"] == [(0, 1)]


def test_lossless_planes_are_for_two_cooks_of_overcooked():
    assert len(CHANNELS) == 26
    with pytest.raises(BadArgument, match="two cooks"):
        LosslessPlanes(Overcooked(3, "counter_circuit"))


@pytest.mark.parametrize(
    ("drawing", "said"),
    [
        ("XXX\nX1X\nXOX", "a pot"),
        ("XPX\nO1S\nX.D", "no floor at its edge"),
        ("XPX\nS1D\nXXX", "onion crate"),
        ("XPX\nO1S\nXDX", "2 players need 2 cells of floor"),
        ("XXXXXXX\nO12X.PX\nXDXSXXX", "no cook can reach the pot"),
        ("XXPXXXX\nX12X.OX\nXDXSXTX", "no cook can reach the onion crate or tomato crate"),
        ("XXPXXDX\nO12X.XX\nXXXSXXX", "no cook can reach the dish rack"),
        ("XXPXXSX\nO12X.XX\nXDXXXXX", "no cook can reach the hatch"),
    ],
)
def test_a_drawing_that_is_no_kitchen_is_refused(drawing, said):
    with pytest.raises(BadMap, match=said):
        Overcooked(layout=drawing)


def test_an_unknown_layout_names_those_there_are():
    with pytest.raises(UnknownName, match="cramped_room"):
        Overcooked(layout="cramped")


@pytest.mark.parametrize("layout", ["counter_circuit", "cramped_room"])
def test_a_kitchen_has_a_layout_or_a_seed(layout):
    with pytest.raises(BadArgument, match=f"a layout or a layout_seed; given '{layout}' and 3"):
        Overcooked(layout=layout, layout_seed=3)
    with pytest.raises(BadArgument, match="a layout or a layout_seed"):
        sociarium.make(f"overcooked?layout={layout}&layout_seed=3")


def test_the_usual_layout_is_equal_to_the_one_asked_for():
    assert Overcooked() == Overcooked(layout="cramped_room") != Overcooked(layout_seed=3)


@pytest.mark.parametrize("seed", [-1, "x", 1.5])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(BadArgument, match=f"a whole number from 0 on; given {seed!r}"):
        sociarium.make("overcooked", layout_seed=seed)


def test_cooks_in_two_rooms_can_reach_everything_together():
    assert Overcooked(layout=LAYOUTS["forced_coordination"]).players == 2


def test_orders_can_be_given_by_the_names_of_soups():
    env = Overcooked(layout=TOMATOES)
    soups = ["tomato soup", "soup of 2 onions and 1 tomato"]
    assert [ITEMS[4 + n] for n in np.flatnonzero(env.params(orders=soups).orders)] == soups
    table = env.params(orders="onion soup").orders
    assert table.tolist() == [False] * 8 + [True]
    assert env.params(orders=table.tolist()).orders.tolist() == table.tolist()
    assert jax.jit(lambda t: env.params(orders=t, cook_time=t.sum()).cook_time)(~table) == 8


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"orders": ["fish soup"]}, "onion soup.*or true or false for each of 9.*'fish soup'"),
        ({"orders": ["tomato soup"]}, r"cooked here \(soup of 1 onion, .*, onion soup\)"),
        ({"orders": [True]}, "for each of 9 soups"),
        ({"orders": []}, "for each of 9 soups"),
        ({"orders": [7] * 9}, "for each of 9 soups"),
        ({"cook_time": 0}, "cook_time is at least 1; given 0"),
        ({"cook_time": -3}, "cook_time is at least 1; given -3"),
        ({"cook_time": "long"}, "cook_time is a whole number; given 'long'"),
    ],
)
def test_numbers_that_no_kitchen_has_are_refused(numbers, said):
    with pytest.raises(BadArgument, match=said):
        Overcooked().params(**numbers)


def test_drawn_kitchens_are_the_same_for_the_same_seed_and_differ_otherwise():
    assert draw_layout(3, 2) == draw_layout(3, 2)
    assert len({draw_layout(seed, 2) for seed in range(20)}) == 20


def test_a_society_takes_orders_by_name_too():
    society = sociarium.make("overcooked+open")
    params = society.params(orders=["onion soup"], cook_time=7)
    assert params.world.orders.tolist() == [False] * 8 + [True] and params.world.cook_time == 7
    with pytest.raises(BadArgument, match="cook_time is at least 1"):
        society.params(cook_time=0)
