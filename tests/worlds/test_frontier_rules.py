"""Frontier, rule by rule."""

import jax
import numpy as np
import pytest

import sociarium
from sociarium.core.actions import action_names
from sociarium.core.scene import Thing
from sociarium.envs.frontier.frontier import Frontier
from tests.worlds.drawn import SEEDS
from tests.worlds.outposts import CAMP, WILDS

EMPTY = """
    ......
    ......
    ......
    ......
    ......
"""
APART = """
    0..1..
    ......
    ......
    2..3..
    ......
"""
STARTS = 300


@pytest.fixture(scope="module")
def starts():
    """Three hundred starts of the camp."""
    keys = jax.random.split(sociarium.key(3), STARTS)
    begin = jax.jit(jax.vmap(CAMP.env.reset, (0, None)))
    return jax.tree.map(np.asarray, begin(keys, CAMP.env.params()))


# R1: the land


@pytest.mark.parametrize(
    ("start", "move", "end"),
    [
        ((0, 2), "north", (4, 2)),
        ((4, 2), "south", (0, 2)),
        ((2, 0), "west", (2, 5)),
        ((2, 5), "east", (2, 0)),
        ((0, 0), "west", (0, 5)),
    ],
)
def test_r1_the_land_wraps_around_at_its_edges(start, move, end):
    body = [CAMP.cell(*start), *[CAMP.env.terrain.nowhere] * 3]
    after, _ = CAMP.step(CAMP.draw(EMPTY, body=body), move)
    assert CAMP.places(after)[0] == end


def test_r1_one_sees_across_the_edges():
    state = CAMP.draw(
        """
        0....1
        ......
        ......
        .....#
        3.....
        """
    )
    seats, ground = CAMP.view(state, 0, "seat"), CAMP.view(state, 0, "ground")
    assert (seats[2, 2], seats[2, 1], seats[1, 2]) == ("seat 0", "seat 1", "seat 3")
    assert ground[0, 1] == "block" and (ground == "block").sum() == 1


def test_r1_piles_workplaces_and_players_lie_apart_and_off_blocks(starts):
    cells = CAMP.env.terrain.cells
    kinds = CAMP.env.kinds.index
    assert (starts.block.sum(1) == 2).all() and not starts.block[:, cells:].any()
    lying = starts.goods.astype(int)
    assert ((lying > 0).sum((1, 2)) == 7).all(), "so many piles"
    assert ((lying > 0).sum(1) <= 1).all(), "no two on one cell"
    assert ((lying[:, kinds("wood")] > 0).sum(1) == 3).all()
    assert ((starts.workplace > 0).sum(1) == 6).all()
    assert (np.sort(starts.workplace, 1)[:, -6:] == [1, 1, 1, 2, 2, 3]).all()
    assert not (lying.sum(1) * starts.block).any() and not (starts.workplace * starts.block).any()
    for body, block in zip(starts.body, starts.block, strict=True):
        assert len(set(body.tolist())) == 4 and not block[body].any()


def test_r1_cells_are_drawn_anew_and_evenly(starts):
    cells = CAMP.env.terrain.cells
    for layer in (starts.block, starts.workplace > 0, starts.goods.any(1)):
        found = layer[:, :cells].sum(0)
        assert found.min() > found.sum() / cells / 3
    for seat in range(4):
        assert len(set(starts.body[:, seat].tolist())) == cells
    shared = (starts.workplace > 0) & starts.goods.any(1)
    assert shared.any(), "a workplace may share a cell with a pile"


def test_r1_amounts_are_drawn_from_their_range(starts):
    wood = starts.goods[:, CAMP.env.kinds.index("wood")]
    assert set(wood[wood > 0].tolist()) == {2, 3, 4}
    assert min(np.bincount(wood[wood > 0])[2:]) > STARTS * 3 / 3 / 2
    np.testing.assert_array_equal(starts.wild, starts.goods.sum(1))


# R2: stepping


def test_r2_players_step_where_they_want_and_blocks_stop_them():
    state = CAMP.draw(
        """
        ......
        .0.1#.
        ......
        .2..3.
        ......
        """
    )
    after, _ = CAMP.step(state, "north", "east", "west", "south")
    assert CAMP.places(after) == [(0, 1), (1, 3), (3, 0), (4, 4)]


def test_r2_a_contested_cell_goes_to_one_at_random():
    state = CAMP.draw(
        """
        ......
        ..0...
        .1.2..
        ..3...
        ......
        """
    )
    after, _ = CAMP.steps(state, "south", "east", "west", "north")
    entered = np.asarray(after.body) == CAMP.cell(2, 2)
    assert (entered.sum(1) == 1).all()
    assert (entered.sum(0) > SEEDS / 4 / 2).all()


def test_r2_nobody_steps_onto_one_who_stays_or_is_stopped():
    state = CAMP.draw(
        """
        ......
        .01#..
        .23...
        ......
        ......
        """
    )
    after, _ = CAMP.step(state, "east", "east", "east", "pick wood")
    assert CAMP.places(after) == CAMP.places(state)


def test_r2_players_swap_cells_and_follow_one_another():
    state = CAMP.draw(
        """
        ......
        .01...
        .23...
        ......
        ......
        """
    )
    after, _ = CAMP.step(state, "east", "west", "east", "east")
    assert CAMP.places(after) == [(1, 2), (1, 1), (2, 2), (2, 3)]
    ring, _ = CAMP.step(state, "east", "south", "north", "west")
    assert CAMP.places(ring) == [(1, 2), (2, 2), (1, 1), (2, 1)]


# R3: picking and dumping


def test_r3_picking_takes_one_unit_from_ones_own_cell():
    state = CAMP.draw(APART, piles={0: ("wood", 3), (0, 1): ("stone", 2)})
    after, transition = CAMP.step(state, "pick wood")
    assert CAMP.bag(after, 0) == {"wood": 1}
    assert CAMP.lying(after) == {(0, 0): {"wood": 2}, (0, 1): {"stone": 2}}
    assert CAMP.told(transition, "picked") == {0: "wood"}
    assert CAMP.happened(transition, "picked") == {0: (-1, (0, 0), 0.0)}
    beside, _ = CAMP.step(state, "pick stone")
    assert CAMP.bag(beside, 0) == {} and "pick stone" not in CAMP.may(state, 0)


def test_r3_dumping_leaves_one_unit_there_beside_other_kinds():
    state = CAMP.draw(APART, holds=[{"hammer": 2}], piles={0: ("wood", 3)})
    after, transition = CAMP.step(state, "dump hammer")
    assert CAMP.bag(after, 0) == {"hammer": 1}
    assert CAMP.lying(after) == {(0, 0): {"wood": 3, "hammer": 1}}
    assert CAMP.told(transition, "dumped") == {0: "hammer"}
    assert "dump wood" not in CAMP.may(state, 0)


def test_r3_a_cell_holds_255_units_of_a_kind():
    state = CAMP.draw(
        APART,
        holds=[{"wood": 2, "stone": 1}, {"wood": 2}],
        piles={0: ("wood", 255), 1: ("wood", 254)},
    )
    after, _ = CAMP.step(state, "dump wood", "dump wood")
    assert [CAMP.bag(after, seat)["wood"] for seat in (0, 1)] == [2, 1]
    assert CAMP.lying(after) == {(0, 0): {"wood": 255}, (0, 3): {"wood": 255}}
    assert "dump wood" not in CAMP.may(state, 0) and "dump stone" in CAMP.may(state, 0)


def test_r3_piles_do_not_grow_back():
    state = CAMP.draw(APART, piles={0: ("wood", 1)})
    state, _ = CAMP.step(state, "pick wood")
    for seed in range(20):
        state, _ = CAMP.step(state, seed=seed)
        assert CAMP.lying(state) == {}


# R4: synthesis


def test_r4_a_workplace_turns_all_inputs_into_outputs_once_a_step():
    state = CAMP.draw(
        APART, holds=[{"wood": 3, "stone": 2}], work={0: "hammer_craft", 1: "hammer_craft"}
    )
    after, transition = CAMP.step(state, "synthesise")
    assert CAMP.bag(after, 0) == {"wood": 2, "stone": 1, "hammer": 1}
    assert CAMP.told(transition, "synthesised") == {0: "hammer_craft"}
    assert CAMP.happened(transition, "synthesised") == {0: (-1, (0, 0), 0.0)}


@pytest.mark.parametrize(
    ("bag", "work"),
    [
        ({"wood": 5}, {0: "hammer_craft"}),
        ({"stone": 5}, {0: "hammer_craft"}),
        ({"wood": 1, "stone": 1}, {}),
        ({"wood": 1, "stone": 1}, {(0, 1): "hammer_craft"}),
        ({"stone": 1, "torch": 1, "hammer": 1}, {0: "smelting"}),
    ],
)
def test_r4_without_a_place_or_an_input_nothing_is_made(bag, work):
    state = CAMP.draw(APART, holds=[bag], work=work)
    after, transition = CAMP.step(state, "synthesise")
    assert CAMP.bag(after, 0) == bag
    assert CAMP.told(transition, "synthesised") == {}
    assert "synthesise" not in CAMP.may(state, 0)


# R5: capacity


def test_r5_whatever_would_exceed_the_limit_cannot_be_picked():
    piles = {0: ("hammer", 2), 2: ("stone", 2), 3: ("hammer", 2)}
    state = CAMP.draw(APART, holds=[{"hammer": 1}, {}, {}, {"hammer": 40}], piles=piles)
    after, _ = CAMP.step(state, "pick hammer", "stay", "pick stone", "pick hammer")
    assert [CAMP.bag(after, seat) for seat in range(4)] == [{"hammer": 1}, {}, {}, {"hammer": 41}]
    assert "pick hammer" not in CAMP.may(state, 0) and "pick stone" not in CAMP.may(state, 2)


@pytest.mark.parametrize(("glass", "made"), [(1, True), (2, False)])
def test_r5_whatever_would_exceed_the_limit_cannot_be_made(glass, made):
    bag = {"stone": 2, "torch": 1, "hammer": 1, "glass": glass}
    state = CAMP.draw(APART, holds=[{}, {}, bag], work={2: "smelting"})
    after, _ = CAMP.step(state, "stay", "stay", "synthesise")
    assert CAMP.bag(after, 2).get("glass") == (glass + 3 if made else glass)
    assert ("synthesise" in CAMP.may(state, 2)) == made


def test_r5_one_who_holds_more_than_the_limit_keeps_it_and_works_with_it():
    """As with the reference's numbers, under which miners carry no wood."""
    bag = {"stone": 3, "hammer": 1, "torch": 1}
    state = CAMP.draw(APART, holds=[{}, {}, bag], work={2: "smelting"})
    after, _ = CAMP.step(state, "stay", "stay", "synthesise")
    assert CAMP.bag(after, 2) == {"stone": 1, "hammer": 1, "torch": 1, "glass": 3}


# R6: tools


def test_r6_only_who_holds_the_tool_sees_and_picks():
    state = CAMP.draw(
        EMPTY.replace("......", "..23..", 1),
        holds=[{}, {}, {"hammer": 1}, {}],
        piles={2: ("coal", 3), 3: ("coal", 3)},
    )
    assert CAMP.view(state, 2, "coal")[2, 2:4].tolist() == ["3", "3"]
    assert (CAMP.view(state, 3, "coal") == "none").all()
    assert "pick coal" in CAMP.may(state, 2) and "pick coal" not in CAMP.may(state, 3)
    after, _ = CAMP.step(state, "stay", "stay", "pick coal", "pick coal")
    assert CAMP.bag(after, 2) == {"hammer": 1, "coal": 1}, "the hammer is not used up"
    assert CAMP.bag(after, 3) == {}
    without, _ = CAMP.step(state, "stay", "stay", "dump hammer")
    assert (CAMP.view(without, 2, "coal") == "none").all(), "hidden again with the last hammer"


def test_r6_only_who_holds_all_tools_sees_a_workplace_and_works_there():
    tools = [{"torch": 1}, {"hammer": 1}, {"torch": 1, "hammer": 1}]
    for bag in tools:
        state = CAMP.draw(APART, holds=[bag | {"stone": 2}], work={0: "smelting"})
        after, _ = CAMP.step(state, "synthesise")
        equipped = bag == tools[-1]
        seen = CAMP.view(state, 0, "workplace")[2, 2]
        assert seen == ("smelting" if equipped else "none")
        assert CAMP.bag(after, 0) == (bag | {"glass": 3} if equipped else bag | {"stone": 2})


def test_r6_what_needs_no_tool_is_seen_by_all():
    state = CAMP.draw(APART, work={0: "hammer_craft"}, left={0: {"torch": (1, 2)}})
    assert CAMP.view(state, 0, "workplace")[2, 2] == "hammer_craft"
    assert CAMP.view(state, 0, "torch")[2, 2] == "1"


# R7: where one stood


def test_r7_whoever_picks_dumps_or_works_does_so_where_it_stood_before_anybody_moved():
    state = CAMP.draw(
        """
        ......
        .01...
        ......
        ......
        ......
        """,
        holds=[{"wood": 1}],
        piles={1: ("stone", 1)},
    )
    after, _ = CAMP.step(state, "dump wood", "west")
    assert CAMP.lying(after) == {(1, 1): {"wood": 1}, (1, 2): {"stone": 1}}
    after, transition = CAMP.step(state, "east", "pick stone")
    assert CAMP.places(after)[0] == (1, 1) and CAMP.bag(after, 1) == {"stone": 1}
    assert CAMP.happened(transition, "picked") == {1: (-1, (1, 2), 1.0)}
    after, transition = CAMP.step(state, "dump wood", "west", seed=1)
    assert CAMP.happened(transition, "dumped") == {0: (-1, (1, 1), 0.0)}


# R8: sight


def test_r8_one_sees_the_cells_around_oneself_and_who_and_what_is_there():
    state = CAMP.draw(
        """
        ......
        .0.1..
        ..#...
        ...2..
        ....3.
        """,
        piles={(1, 2): ("wood", 14), 1: ("stone", 15), 2: ("wood", 200), 3: ("wood", 1)},
        work={1: "hammer_craft"},
    )
    look = lambda plane: CAMP.view(state, 0, plane)  # noqa: E731
    assert look("ground").shape == (5, 5)
    assert look("ground")[3, 3] == "block" and (look("ground") == "grass").sum() == 24
    assert look("occupant")[2, 2] == "myself" and look("occupant")[2, 4] == "somebody"
    assert {*look("seat").ravel()} == {"nobody", "seat 0", "seat 1", "seat 2"}
    assert look("workplace")[2, 4] == "hammer_craft"
    assert (look("wood")[2, 3], look("wood")[4, 4]) == ("14", "15 or more")
    assert look("stone")[2, 4] == "15 or more"
    assert (look("wood") != "none").sum() == 2


def test_r8_one_knows_ones_own_job_and_goods_and_nobody_elses():
    bags = [{"wood": 2}, {"stone": 300}, {"torch": 7}]
    state = CAMP.draw(APART, holds=bags)
    assert [CAMP.own(state, seat, "job") for seat in range(4)] == [0, 0, 1, 1]
    assert CAMP.own(state, 1, "stone") == 300 and CAMP.own(state, 2, "torch") == 7
    other = CAMP.draw(APART, holds=[bags[0], {"hammer": 1}, {}])
    for plane in CAMP.env.view_spec.planes:
        assert (CAMP.view(state, 0, plane.name) == CAMP.view(other, 0, plane.name)).all()
    for own in CAMP.env.view_spec.own:
        assert CAMP.own(state, 0, own.name) == CAMP.own(other, 0, own.name)


def test_r8_a_scene_has_the_things_of_the_land_or_of_ones_window():
    state = CAMP.draw(
        """
        ......
        .0....
        ......
        ....1.
        ......
        """,
        holds=[{"wood": 2}, {"hammer": 1}],
        piles={(1, 2): ("wood", 200), 1: ("coal", 3)},
        work={(1, 2): "hammer_craft", 0: "smelting"},
    )
    params = CAMP.params({})
    land, mine = (CAMP.env.scene(state, params, player=player) for player in (None, 0))
    assert set(land.things) == {
        Thing("hammer_craft", 1, 2, sort="place", makes="hammer"),
        Thing("smelting", 1, 1, sort="place", makes="glass"),
        Thing("wood", 1, 2, 200),
        Thing("coal", 3, 4, 3),
    }
    held = [{kind: units for kind, units in bag.items() if units} for bag in land.holdings]
    assert held == [{"wood": 2}, {"hammer": 1}, {}, {}]
    hammers = Thing("hammer_craft", 2, 3, sort="place", makes="hammer")
    assert set(mine.things) == {hammers, Thing("wood", 2, 3, 15)}
    assert mine.holdings == () and mine.private["wood"] == 2
    counting = {plane.name for plane in CAMP.env.view_spec.planes if plane.role == "goods"}
    assert counting == set(CAMP.env.kinds)


# R9: handing over


def test_r9_left_units_are_taken_before_the_pile_and_count_as_handed_over():
    state = CAMP.draw(APART, piles={0: ("wood", 2)}, left={0: {"wood": (1, 3)}})
    after, transition = CAMP.step(state, "pick wood")
    assert CAMP.happened(transition, "handed_over") == {0: (3, (0, 0), 0.0)}
    assert int(after.wild[CAMP.cell(0, 0)]) == 2
    (spec,) = (spec for spec in CAMP.env.event_specs if spec.name == "handed_over")
    assert spec.axis == "target", "the one who left it is the actor"
    after, transition = CAMP.step(after, "pick wood")
    assert CAMP.happened(transition, "handed_over") == {}
    assert int(after.wild[CAMP.cell(0, 0)]) == 1
    assert CAMP.told(transition, "picked") == {0: "wood"}


def test_r9_the_last_who_left_one_of_that_kind_counts():
    state = CAMP.draw(
        """
        01....
        ......
        ......
        ......
        ......
        """,
        holds=[{"torch": 1, "wood": 1}, {"torch": 1}],
    )
    state, _ = CAMP.step(state, "dump torch")
    state, _ = CAMP.step(state, "dump wood")
    state, _ = CAMP.step(state, "east", "west")  # they swap
    state, _ = CAMP.step(state, "stay", "dump torch")
    state, _ = CAMP.step(state, "west", "east")
    state, transition = CAMP.step(state, "pick torch")
    assert CAMP.happened(transition, "handed_over") == {0: (1, (0, 0), 4.0)}
    _, transition = CAMP.step(state, "pick wood")
    assert CAMP.told(transition, "picked") == {0: "wood"}
    assert CAMP.happened(transition, "handed_over") == {}, "one's own"


# R10: worth


def test_r10_the_reward_is_the_change_in_worth_to_the_holder():
    state = CAMP.draw(
        APART,
        holds=[{"wood": 1, "stone": 1}, {"hammer": 1}, {"wood": 1}, {}],
        left={3: {"hammer": (1, 1)}},
        work={0: "hammer_craft"},
    )
    _, transition = CAMP.step(state, "synthesise", "dump hammer", "dump wood", "pick hammer")
    assert transition.reward.tolist() == [5 - 1 - 1, -5, 0, 10]
    _, transition = CAMP.step(state, "north", "synthesise", "pick wood", "stay")
    assert not transition.reward.any()


def test_r10_the_worths_are_those_of_the_paper():
    worth = lambda name: Frontier(name).params().worth.tolist()  # noqa: E731
    assert worth("easy") == [[1, 1, 5], [0, 0, 10]]
    assert worth("hard") == [[1, 1, 5, 10, 30, 20]] * 2
    paper = [1, 1, 5, 2, 20, 3, 30, 100, 150, 4, 4, 40, 100, 200, 1000]
    assert worth("exploration") == [paper]


# R11: knowing


def test_r11_a_kind_is_known_when_held_or_stood_on_with_the_tools_and_not_forgotten():
    state = CAMP.draw(
        APART,
        holds=[{}, {"torch": 1}, {"hammer": 1}],
        piles={0: ("wood", 1), 2: ("coal", 1), 3: ("coal", 1)},
    )
    after, transition = CAMP.step(state, "south", "dump torch")
    known = [CAMP.known(after, seat)[0] for seat in range(4)]
    assert known == [{"wood"}, {"torch"}, {"coal", "hammer"}, set()]
    told = {(seat, kind) for (seat, _), kind in CAMP.told(transition, "discovered").items()}
    assert told == {(0, "wood"), (1, "torch"), (2, "hammer"), (2, "coal")}
    after, transition = CAMP.step(after)
    assert [CAMP.known(after, seat)[0] for seat in range(4)] == known
    assert CAMP.told(transition, "discovered") == {}


def test_r11_a_workplace_is_known_when_stood_on_with_the_tools():
    state = CAMP.draw(
        APART,
        holds=[{}, {}, {"coal": 1}, {}],
        work={0: "hammer_craft", 2: "torch_craft", 3: "torch_craft"},
    )
    after, transition = CAMP.step(state, "south")
    assert [CAMP.known(after, seat)[1] for seat in range(4)] == [
        {"hammer_craft"},
        set(),
        {"torch_craft"},
        set(),
    ]
    assert CAMP.told(transition, "found") == {0: "hammer_craft", 2: "torch_craft"}
    after, transition = CAMP.step(after, "north")
    assert CAMP.known(after, 0)[1] == {"hammer_craft"}
    assert CAMP.told(transition, "found") == {}


# R12: hunger


LONELY = """
    0..1..
    ......
    ...2..
    ......
    ......
"""
FAR = {"beasts": [(4, 5)], "bite": 0}


def alone(state_fields, *actions, **params):
    """A step from a state in which the beast does no harm."""
    state = WILDS.draw(LONELY, beasts=FAR["beasts"], **state_fields)
    return WILDS.step(state, *actions, bite=0, **params)


def test_r12_everybodys_energy_falls_by_one_a_step():
    after, _ = alone({"energy": [20, 7, 2]}, "east", "pick berry")
    assert after.energy.tolist() == [19, 6, 1]


def test_r12_eating_a_unit_restores_some_at_most_to_what_one_began_with():
    holds = [{"berry": 2}, {"berry": 1}, {"stew": 1}]
    after, transition = alone(
        {"energy": [5, 18, 3], "holds": holds}, "eat berry", "eat berry", "eat stew"
    )
    assert after.energy.tolist() == [5 + 6 - 1, 20 - 1, 20 - 1]
    assert [WILDS.bag(after, seat) for seat in range(3)] == [{"berry": 1}, {}, {}]
    assert WILDS.told(transition, "ate") == {0: "berry", 1: "berry", 2: "stew"}
    assert transition.reward.tolist() == [-1, -1, -6]


def test_r12_only_food_one_holds_can_be_eaten():
    state = WILDS.draw(LONELY, holds=[{"torch": 1}], piles={0: ("berry", 3)})
    assert not {"eat berry", "eat stew"} & WILDS.may(state, 0)
    assert "eat torch" not in action_names(WILDS.env.actions)
    after, transition = alone({"energy": [5, 5, 5]}, "eat berry")
    assert after.energy.tolist() == [4, 4, 4] and WILDS.told(transition, "ate") == {}


def test_r12_whoever_has_none_left_is_out_for_good():
    holds = [{"torch": 1, "berry": 3}]
    after, transition = alone({"energy": [1, 9, 9], "holds": holds}, "east")
    assert WILDS.places(after) == [None, (0, 3), (2, 3)]
    assert WILDS.happened(transition, "starved") == {0: (-1, (0, 1), 1.0)}
    assert WILDS.may(after, 0) == {"stay"}
    assert (WILDS.view(after, 0, "ground") == "nothing").all()
    assert (WILDS.view(after, 1, "seat") != "seat 0").all()
    for action in ("eat berry", "dump torch", "north", "synthesise"):
        later, transition = WILDS.step(after, action)
        assert WILDS.places(later)[0] is None and int(later.energy[0]) == 0
        assert WILDS.bag(later, 0) == WILDS.bag(after, 0)
        assert WILDS.happened(transition, "starved") == {}


def test_r12_who_eats_its_last_food_in_time_stays():
    after, _ = alone({"energy": [1, 9, 9], "holds": [{"berry": 1}]}, "eat berry")
    assert WILDS.places(after)[0] == (0, 0) and int(after.energy[0]) == 6


def test_r12_without_hunger_nobody_has_energy_to_lose():
    assert not {"ate", "bitten", "starved"} & {spec.name for spec in CAMP.env.event_specs}
    assert "energy" not in [own.name for own in CAMP.env.view_spec.own]


# R13: beasts


def test_r13_beasts_step_in_a_drawn_direction_unless_a_block_is_there():
    state = WILDS.draw(
        """
        ......
        ...#..
        ......
        ......
        ......
        """,
        beasts=[(2, 3)],
    )
    after, _ = WILDS.steps(state)
    cells, times = np.unique(np.asarray(after.beast), return_counts=True)
    expected = {WILDS.cell(*place) for place in ((2, 3), (3, 3), (2, 2), (2, 4))}
    assert set(cells.tolist()) == expected
    assert (times > SEEDS / 4 / 2).all()


def test_r13_beasts_walk_around_the_edges():
    after, _ = WILDS.steps(WILDS.draw(EMPTY, beasts=[(0, 0)]))
    cells = {divmod(int(cell), 6) for cell in np.asarray(after.beast).ravel()}
    assert cells == {(4, 0), (1, 0), (0, 5), (0, 1)}


CAGED = """
    ...#..
    ..#.#.
    ...#..
    ......
    ......
"""


def test_r13_whoever_stands_on_a_beast_or_beside_it_loses_energy():
    """The beast is caged by blocks, so it stays; players are put on every cell in turn."""
    for place, near in (
        ((1, 3), True),
        ((0, 3), True),
        ((1, 2), True),
        ((1, 4), True),
        ((2, 3), True),
        ((0, 2), False),
        ((1, 1), False),
        ((3, 3), False),
        ((4, 3), False),
    ):
        body = [WILDS.cell(*place), *[WILDS.env.terrain.nowhere] * 2]
        state = WILDS.draw(CAGED, beasts=[(1, 3)], body=body)
        after, transition = WILDS.step(state)
        assert int(after.energy[0]) == (20 - 1 - 4 if near else 20 - 1), place
        told = {0: (-1, place, 1.0)} if near else {}
        assert WILDS.happened(transition, "bitten") == told


def test_r13_nobody_is_bitten_across_a_corner_but_everybody_across_an_edge():
    for place, near in (((4, 3), True), ((4, 2), False)):
        body = [WILDS.cell(*place), *[WILDS.env.terrain.nowhere] * 2]
        land = CAGED.strip().splitlines()
        picture = "\n".join([*land[1:], land[0]])  # the cage goes over the edge
        after, _ = WILDS.step(WILDS.draw(picture, beasts=[(0, 3)], body=body))
        assert int(after.energy[0]) == (15 if near else 19)


def test_r13_a_guard_in_hand_at_the_end_of_the_step_keeps_beasts_off():
    body = [WILDS.cell(1, 3), *[WILDS.env.terrain.nowhere] * 2]
    caged = lambda **kept: WILDS.draw(CAGED, beasts=[(1, 3)], body=body, **kept)  # noqa: E731
    after, transition = WILDS.step(caged(holds=[{"torch": 1}]))
    assert int(after.energy[0]) == 19 and WILDS.happened(transition, "bitten") == {}
    after, _ = WILDS.step(caged(holds=[{"torch": 1}]), "dump torch")
    assert int(after.energy[0]) == 15
    after, _ = WILDS.step(caged(left={(1, 3): {"torch": (1, 0)}}), "pick torch")
    assert int(after.energy[0]) == 19


def test_r13_a_bite_can_be_the_end():
    body = [WILDS.cell(1, 3), *[WILDS.env.terrain.nowhere] * 2]
    state = WILDS.draw(CAGED, beasts=[(1, 3)], body=body, energy=[5, 0, 0])
    after, transition = WILDS.step(state)
    assert WILDS.places(after)[0] is None and int(after.energy[0]) == 0
    assert WILDS.happened(transition, "bitten") == WILDS.happened(transition, "starved")


def test_r13_beasts_are_seen():
    state = WILDS.draw(LONELY, beasts=[(1, 1)])
    assert WILDS.view(state, 0, "hazard")[3, 3] == "beast"
    assert (WILDS.view(state, 0, "hazard") == "beast").sum() == 1


# R14: the end


def test_r14_the_horizon_ends_an_episode_by_truncation():
    for clock, ends in ((28, False), (29, True), (30, True)):
        after, transition = CAMP.step(CAMP.draw(APART, clock=clock))
        assert int(after.clock) == clock + 1
        assert (bool(transition.truncated), bool(transition.terminated)) == (ends, False)


def test_r14_an_episode_ends_when_nobody_is_left():
    for clock in (3, 29):
        state = WILDS.draw(LONELY, energy=[1, 1, 1], clock=clock)
        after, transition = WILDS.step(state)
        assert WILDS.places(after) == [None] * 3
        assert bool(transition.terminated) and not bool(transition.truncated)
    one_left = WILDS.draw(LONELY, energy=[1, 1, 12])
    _, transition = WILDS.step(one_left)
    assert not bool(transition.terminated)


def test_r14_the_horizons_are_those_of_the_physical_stages():
    horizons = [int(Frontier(name).params().horizon) for name in ("easy", "hard", "exploration")]
    assert horizons == [100, 200, 500]
