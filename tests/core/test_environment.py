"""The kernel of the contract: its members, facets, equality, actions and numbers by name."""

import jax.numpy as jnp
import pytest

import sociarium
from sociarium.core.actions import (
    action_names,
    actions_by_direction,
    actions_by_object,
    find_action,
)
from sociarium.core.environment import Environment, compiled
from sociarium.core.errors import BadArgument, MissingFacet, UnknownName
from sociarium.core.facets import (
    Bench,
    Board,
    Bounds,
    Cooperation,
    Crafting,
    Writing,
    find_facet,
    ground_plan,
)
from sociarium.core.params import parameter, parameter_names, replace_parameters
from tests.toys.meadow import Meadow
from tests.toys.stall import PLACES, Stall
from tests.toys.taking import Taking

KERNEL = {
    *("id", "players", "sheet", "actions", "view_spec", "event_specs", "gauge_specs", "facets"),
    *(
        "params",
        "default_params",
        "param_sets",
        "set_params",
        "reset",
        "step",
        "observe",
        "legal",
        "gauges",
        "present",
        "horizon",
        "scene",
    ),
}


def test_the_kernel_has_twenty_members_and_two_ways_to_ask_for_facets():
    declared = {*Environment.__annotations__, *vars(Environment)}
    assert {name for name in declared if not name.startswith("_")} == KERNEL | {"facet", "has"}
    assert len(KERNEL) == 20


def test_a_society_has_the_facets_of_its_world_read_from_its_own_state():
    world, society = sociarium.make("clean_up"), sociarium.make("clean_up+contract")
    *kinds, own = [type(facet) for facet in society.facets]
    assert kinds == [type(facet) for facet in world.facets] == [Board, Cooperation, Bench]
    assert own is Writing and society.facet(Writing).kinds == ()
    spoken = sociarium.make("clean_up+contract+speech+pacts?drafts=3").facet(Writing)
    assert spoken.kinds == ("say", "draft", "sign", "vote")
    assert spoken.spans == {"sign": (0, 2), "vote": (0, 2)}
    assert {"ate", "zapped"} <= set(spoken.terms)
    state = compiled(society, "reset")(sociarium.key(0), society.params())
    cells, _ = society.facet(Board).poses(state)
    assert cells.tolist() == state.world.body.tolist()
    easy = sociarium.make("contract_easy")
    assert easy.facet(Bounds).of(easy.params(), 0)["oracle"].total == 200
    assert easy.facet(Crafting).recipes == easy.world.facet(Crafting).recipes


def test_regions_of_a_board_are_named_cells():
    env = sociarium.make("harvest_open")
    regions = env.facet(Board).regions
    assert len(regions) == env.patches and next(iter(regions)) == "patch 0"
    assert sorted(cell for cells in regions.values() for cell in cells) == sorted(env.plot_cells)


def test_a_facet_that_is_not_there_is_named_or_none():
    env = Meadow()
    assert find_facet(env, Bounds) is None and find_facet(env, Board) is env.facet(Board)
    with pytest.raises(MissingFacet, match="Meadow has no facet Bounds; it has Board, Bench"):
        env.facet(Bounds)


def test_places_are_a_board_of_one_row_and_a_world_with_neither_has_one_cell():
    assert ground_plan(Stall()).shape == (1, len(PLACES))
    assert ground_plan(Taking()).shape == (1, 1)
    cells, _ = ground_plan(Taking(players=3)).poses(None)
    assert cells.tolist() == [0, 0, 0]


def test_environments_made_alike_are_equal_and_share_programs():
    one, same, other = Meadow(players=2), Meadow(2), Meadow(players=4)
    assert one == same and hash(one) == hash(same) and one != other and one != Stall(players=2)
    assert compiled(one, "reset") is compiled(same, "reset") is not compiled(other, "reset")
    names = ("clean_up", "clean_up+contract?rounds=3", "frontier_easy", "coins+open+speech?words=2")
    for name in names:
        assert sociarium.make(name) == sociarium.make(name)
    assert sociarium.make("clean_up+contract?rounds=3") != sociarium.make("clean_up+contract")


def test_a_task_that_was_written_anew_makes_another_world(tmp_path):
    file = tmp_path / "task.toml"
    file.write_text('world = "frontier"\nextends = "easy"\n')
    before = sociarium.make(str(file))
    assert before == sociarium.make(str(file))
    file.write_text('world = "frontier"\nextends = "easy"\nhorizon = 7\n')
    assert before != sociarium.make(str(file))


def test_actions_are_found_by_name_object_and_direction():
    actions = sociarium.make("frontier_easy").actions
    assert action_names(actions)[:3] == ("stay", "north", "south")
    assert actions[find_action(actions, "pick wood")].object == "wood"
    dumped = actions_by_object(actions, "dump")
    assert {actions[number].name for number in dumped.values()} == {f"dump {k}" for k in dumped}
    assert set(actions_by_direction(actions, "move")) == {"north", "east", "south", "west"}
    with pytest.raises(UnknownName, match=r"no action named 'foward'\. Did you mean forward"):
        find_action(Meadow().actions, "foward")


def test_every_action_of_every_world_and_charter_says_what_it_does():
    charters = ("contract", "negotiation", "open+speech?words=2+pacts?drafts=1", "hierarchy")
    for env in (*map(sociarium.make, ("clean_up", "frontier_survival", "pd_arena")),):
        assert all(action.sentence for action in env.actions)
    for charter in charters:
        assert all(a.sentence and a.verb for a in sociarium.make(f"coins+{charter}").actions)


def test_numbers_are_read_and_changed_by_name_in_the_world_first():
    society = sociarium.make("coins+negotiation")
    params = society.params(horizon=9, fine=2.0)
    assert int(parameter(params, "horizon")) == 9 == int(params.world.horizon)
    fine = params.charter["negotiation"].fine
    assert float(fine) == 2 and parameter(params, "fine").dtype == jnp.float32
    assert float(parameter(params, "negotiation.fine")) == 2
    names = {"horizon", "negotiation.fine", "negotiation.deliberation"}
    assert names <= set(parameter_names(params))
    again = replace_parameters(params, deliberation=3)
    assert int(society.horizon(again)) == 9 + 3
    with pytest.raises(UnknownName, match="horizn"):
        society.params(horizn=3)
    assert int(society.params(horizon=9.0).world.horizon) == 9
    with pytest.raises(BadArgument, match="horizon is a whole number"):
        society.params(horizon=2.5)
