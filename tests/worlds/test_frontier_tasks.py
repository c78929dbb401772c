"""Every entry of a task takes effect, and every fault is named with what is allowed."""

import copy
import json
from functools import cache

import jax
import numpy as np
import pytest

import sociarium
from sociarium.core.errors import BadArgument, BadMap, CannotRead, UnknownName
from sociarium.core.facets import Board, Crafting
from sociarium.envs.frontier.frontier import Frontier
from sociarium.envs.frontier.task import UNLIMITED, BadTask, built_in, task

YARD = {
    "summary": "smiths and rovers",
    "rows": 6,
    "cols": 8,
    "blocks": 5,
    "sight": 1,
    "horizon": 12,
    "resources": {
        "wood": {"worth": 2, "piles": 4, "units": [2, 3]},
        "stone": {"worth": 0.5, "piles": 2, "units": 7, "at": [[0, 0]]},
        "hammer": {"worth": 5},
        "coal": {"needs": ["hammer"], "at": [[1, 1], [1, 2]]},
    },
    "events": {
        "craft": {
            "takes": {"wood": 1, "stone": 2},
            "gives": {"hammer": 1},
            "places": 3,
            "at": [[0, 0]],
        },
        "forge": {
            "takes": {"coal": 1},
            "gives": {"hammer": 2},
            "needs": ["hammer", "coal"],
            "at": [[5, 7]],
        },
    },
    "jobs": {
        "smith": {
            "players": 2,
            "capacity": {"hammer": 3, "coal": 0},
            "preference": {"wood": 3, "hammer": 0.5},
            "holds": {"wood": 2, "hammer": 1},
            "at": [[2, 2]],
        },
        "rover": {"at": [[3, 3]]},
    },
    "reference": {"jobs": {"smith": {"capacity": {"wood": 4}}}},
}
MAPPED = {
    "map": """
        ..#..
        .....
        #...#
    """,
    "sight": 1,
    "horizon": 5,
    "resources": {"berry": {"piles": 3, "units": 2}, "torch": {}},
    "events": {},
    "jobs": {"settler": {"players": 3}},
    "hunger": {
        "energy": 9,
        "foods": {"berry": 4},
        "beasts": 2,
        "bite": 3,
        "guards": ["torch", "torch"],
    },
}
STARTS = 40


@cache
def world(name):
    """A world and many of its starts."""
    env = Frontier(task({"yard": YARD, "mapped": MAPPED}[name]))
    keys = jax.random.split(sociarium.key(1), STARTS)
    begin = jax.jit(jax.vmap(env.reset, (0, None)))
    return env, jax.tree.map(np.asarray, begin(keys, env.params()))


def changed(table, **changes):
    """The table with some entries replaced, named as in `resources__wood__worth`."""
    table = copy.deepcopy(table)
    for name, value in changes.items():
        *path, last = name.split("__")
        inner = table
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return table


def at(env, row, col):
    return row * env.facet(Board).shape[1] + col


# What the land is like


def test_rows_cols_and_sight_fix_the_shapes():
    env, starts = world("yard")
    assert env.facet(Board).shape == (6, 8)
    assert (env.view_spec.rows, env.view_spec.cols) == (3, 3)
    assert starts.block.shape == (STARTS, 6 * 8 + 3)
    wide = Frontier(task(YARD), sight=2)
    assert (wide.view_spec.rows, wide.view_spec.cols) == (5, 5)


def test_blocks_are_drawn_by_count_and_never_where_something_is_given_a_place():
    env, starts = world("yard")
    assert (starts.block.sum(1) == 5).all()
    assert starts.block.any(0).sum() > 30, "drawn anew"
    given = [at(env, *place) for place in ((0, 0), (1, 1), (1, 2), (5, 7), (2, 2), (3, 3))]
    assert not starts.block[:, given].any()


def test_a_map_has_its_blocks_where_they_are_drawn():
    env, starts = world("mapped")
    assert env.facet(Board).shape == (3, 5)
    rocks = np.flatnonzero(starts.block[0]).tolist()
    assert rocks == [at(env, 0, 2), at(env, 2, 0), at(env, 2, 4)]
    assert (starts.block == starts.block[0]).all()
    assert not starts.goods[:, :, rocks].any() and not np.isin(starts.body, rocks).any()
    assert not np.isin(starts.beast, rocks).any()


def test_a_map_without_blocks_and_a_single_line_will_do():
    assert task(changed(MAPPED, map="." * 8)).blocks == ()


def test_the_horizon_is_a_parameter():
    assert int(world("yard")[0].params().horizon) == 12
    assert int(world("yard")[0].params(horizon=3).horizon) == 3


def test_a_summary_is_kept_and_stands_in_for_a_missing_one():
    assert task(YARD).summary == "smiths and rovers"
    assert task(MAPPED, "mine").summary == "mine" == task(MAPPED, "mine").name


# What lies about


def test_piles_have_their_number_amounts_and_places():
    env, starts = world("yard")
    wood, stone, hammer, coal = np.moveaxis(starts.goods.astype(int), 1, 0)
    assert ((wood > 0).sum(1) == 4).all() and set(wood[wood > 0].tolist()) == {2, 3}
    assert ((stone > 0).sum(1) == 2).all() and set(stone[stone > 0].tolist()) == {7}
    assert (stone[:, at(env, 0, 0)] == 7).all()
    assert (stone[:, 1:] > 0).any(0).sum() > 15, "the other is drawn"
    assert not hammer.any()
    assert np.array_equal(np.flatnonzero(coal[0]), [at(env, 1, 1), at(env, 1, 2)])
    assert (coal == coal[0]).all() and coal.sum(1)[0] == 2


def test_worth_and_needs_of_a_kind():
    env, _ = world("yard")
    params = env.params()
    rover = env.jobs.index("rover")
    assert params.worth[rover].tolist() == [2, 0.5, 5, 0]
    assert params.kind_needs.tolist() == [0, 0, 0, 1 << env.kinds.index("hammer")]


def test_supply_counts_what_lies_and_what_is_held():
    yard = task(YARD)
    assert yard.supply("wood") == (4 * 2 + 2 * 2, 4 * 3 + 2 * 2)
    assert yard.supply("stone") == (14, 14) and yard.supply("hammer") == (2, 2)


# Where goods are made


def test_events_have_their_number_places_recipes_and_needs():
    env, starts = world("yard")
    assert env.workplaces == ("craft", "forge")
    assert ((starts.workplace == 1).sum(1) == 3).all() and (
        (starts.workplace == 2).sum(1) == 1
    ).all()
    assert (starts.workplace[:, at(env, 0, 0)] == 1).all()
    assert (starts.workplace[:, at(env, 5, 7)] == 2).all()
    params = env.params()
    assert params.inputs.tolist() == [[0, 0, 0, 0], [1, 2, 0, 0], [0, 0, 0, 1]]
    assert params.outputs.tolist() == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 2, 0]]
    assert params.workplace_needs.tolist() == [0, 0, 0b1100]
    assert str(env.facet(Crafting).recipes[1]) == (
        "forge: 1 coal make 2 hammer; seen only by who holds hammer and coal"
    )


# Who comes


def test_players_jobs_holds_and_initial_positions():
    env, starts = world("yard")
    assert env.players == 3 and env.jobs == ("smith", "rover")
    assert env.job.tolist() == [0, 0, 1]
    assert (starts.inventory == np.array([[2, 0, 1, 0]] * 2 + [[0, 0, 0, 0]])).all()
    assert (starts.body[:, 0] == at(env, 2, 2)).all() and (starts.body[:, 2] == at(env, 3, 3)).all()
    assert len(set(starts.body[:, 1].tolist())) > 15, "the other smith is drawn"
    assert all(len(set(row)) == 3 for row in starts.body.tolist())


def test_capacity_of_a_job():
    assert world("yard")[0].params().capacity.tolist() == [
        [UNLIMITED, UNLIMITED, 3, 0],
        [UNLIMITED] * 4,
    ]


def test_preference_multiplies_worth():
    env, _ = world("yard")
    assert env.params().worth[env.jobs.index("smith")].tolist() == [6, 0.5, 2.5, 0]


def test_more_players_fill_the_jobs_in_turn():
    env = Frontier(task(YARD), players=7)
    assert env.job.tolist() == [0, 0, 1, 0, 0, 1, 0]
    assert Frontier(task(YARD), players=1).job.tolist() == [0]


def test_tiles_repeat_the_land_and_all_that_is_on_it():
    env = Frontier(task(YARD), tiles=(2, 3))
    assert env.facet(Board).shape == (12, 24) and env.players == 18
    start = jax.tree.map(np.asarray, env.reset(sociarium.key(0), env.params()))
    assert start.block.sum() == 30
    assert (start.goods > 0).sum(1).tolist() == [24, 12, 0, 12]
    assert np.bincount(start.workplace)[1:].tolist() == [18, 6]
    coal = {divmod(int(cell), 24) for cell in np.flatnonzero(start.goods[3])}
    assert {(1, 1), (1, 2), (7, 1), (1, 9), (7, 18)} <= coal
    homes = {divmod(int(cell), 24) for cell in start.body[env.job == 0][:6]}
    assert homes == {(2 + 6 * down, 2 + 8 * right) for down in range(2) for right in range(3)}


# Hunger


def test_hunger_brings_energy_foods_beasts_bites_and_guards():
    env, starts = world("mapped")
    params = env.params()
    assert (starts.energy == 9).all() and int(params.energy) == 9
    assert env.actions[-1].name == "eat berry" and params.nourishment.tolist() == [4]
    assert starts.beast.shape == (STARTS, 2) and int(params.bite) == 3
    assert all(len(set(row)) == 2 for row in starts.beast.tolist())
    assert int(params.guards) == 0b10, "named twice, needed once"
    assert env.view_spec.has("hazard") and not world("yard")[0].view_spec.has("hazard")


def test_a_need_that_is_named_twice_is_one_need():
    needy = changed(YARD, resources__coal__needs=["hammer", "hammer"])
    assert Frontier(task(needy)).params().kind_needs.tolist() == [0, 0, 0, 0b100]


# Where tasks come from


def test_toml_json_and_tables_say_the_same(tmp_path):
    (tmp_path / "yard.json").write_text(json.dumps(YARD))
    (tmp_path / "yard.toml").write_text(toml(YARD))
    tables = [task(YARD, "yard"), task(tmp_path / "yard.json"), task(str(tmp_path / "yard.toml"))]
    assert tables[0] == tables[1] == tables[2]
    env = sociarium.make("frontier_easy-v0", task=str(tmp_path / "yard.toml"), players=3)
    assert env.kinds == ("wood", "stone", "hammer", "coal")


def toml(table):
    """A table whose entries two levels down are inline tables."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items() if is_plain(value)]
    for key, inner in table.items():
        if not is_plain(inner):
            lines.append(f"[{key}]")
            lines += [f"{name} = {inline(value)}" for name, value in inner.items()]
    return "\n".join(lines)


def is_plain(value):
    return not isinstance(value, dict)


def inline(value):
    if is_plain(value):
        return json.dumps(value)
    return "{" + ", ".join(f"{name} = {inline(part)}" for name, part in value.items()) + "}"


def test_a_built_in_task_is_known_by_its_name():
    assert set(built_in()) >= {"easy", "hard", "exploration", "survival"}
    assert task("hard").players == 8 and Frontier("hard").players == 8


@pytest.mark.parametrize(
    ("name", "shape", "blocks", "jobs", "supply"),
    [
        ("easy", (7, 7), 0, [2, 2], {"wood": 20, "stone": 20, "hammer": 0}),
        ("hard", (15, 15), 0, [4, 4], {"wood": 80, "stone": 20, "coal": 20, "iron": 10}),
        (
            "exploration",
            (20, 20),
            25,
            [8],
            {"wood": 200, "stone": 200, "coal": 100, "iron": 80, "gem_mine": 20, "clay": 80},
        ),
    ],
)
def test_the_built_in_tasks_are_the_papers(name, shape, blocks, jobs, supply):
    made = task(name)
    assert (made.rows, made.cols) == shape and made.blocks == blocks
    assert [job.players for job in made.jobs.values()] == jobs
    assert {kind: made.supply(kind) for kind in supply} == {
        kind: (units, units) for kind, units in supply.items()
    }


def test_a_task_extends_another_and_changes_some_entries():
    more = task({"extends": "easy", "horizon": 9, "resources": {"wood": {"piles": 6}}})
    easy = task("easy")
    assert more.horizon == 9 and more.resources["wood"].piles == 6
    assert more.resources["wood"].units == easy.resources["wood"].units
    assert more.resources["stone"] == easy.resources["stone"] and more.events == easy.events


def test_the_numbers_of_the_reference_change_only_what_they_name():
    env, _ = world("yard")
    ours, theirs = env.params(), env.reference()
    assert theirs.capacity.tolist() == [[4, *[UNLIMITED] * 3], [UNLIMITED] * 4]
    np.testing.assert_array_equal(theirs.worth, ours.worth)
    hard = Frontier("hard")
    wood, miner = hard.kinds.index("wood"), hard.jobs.index("miner")
    assert int(hard.params().capacity[miner, wood]) == UNLIMITED
    assert int(hard.reference().capacity[miner, wood]) == 0


# Faults


FAULTS = {
    "rows": (0, "at least 1; given 0"),
    "cols": ("wide", "whole number of at least 1; given 'wide'"),
    "blocks": (-1, "at least 0; given -1"),
    "sight": (None, "at least 1; given None"),
    "horizon": (0.5, "at least 1; given 0.5"),
    "colour": (3, "is no entry; known here are world, summary, rows"),
    "resources": ([], "must be a table of entries"),
    "resources__wood": (7, "must be a table of entries"),
    "resources__seat": ({}, "taken names are ground, occupant, seat"),
    "resources__wood__prize": (1, "known here are worth, needs, piles, units, at"),
    "resources__wood__worth": ("much", "must be a number; given 'much'"),
    "resources__stone__worth": (float("nan"), "must be a number; given nan"),
    "resources__wood__piles": (True, "whole number of at least 0; given True"),
    "resources__wood__units": ([3, 2], r"a number or \[least, most\] within 1..255"),
    "resources__stone__units": (256, r"within 1..255; given 256"),
    "resources__coal__units": ([1, 2, 3], r"a number or \[least, most\]"),
    "resources__wood__needs": (["axe"], "names 'axe', which is no resource; there are wood, stone"),
    "resources__stone__needs": ("hammer", "must be a list of resources; given 'hammer'"),
    "resources__wood__at": ([[6, 0]], r"cells \[row, column\] within 6 x 8"),
    "resources__coal__at": ([[0, 0]], r"uses \(0, 0\), which stone has already"),
    "resources__stone__at": ([[0, 0], [0, 1], [0, 2]], "lists 3 cells, and `piles` is 2"),
    "events__craft__cost": (1, "known here are takes, gives, needs, places, at"),
    "events__craft__takes": ({"axe": 1}, "names 'axe', which is no resource"),
    "events__forge__takes": ({}, "must name resources; there are wood, stone"),
    "events__forge__gives": ({"wood": 0}, "wood` must be a whole number within 1..32767; given 0"),
    "events__forge__needs": (["axe"], "names 'axe'"),
    "events__forge__at": ([[0, 0]], r"uses \(0, 0\), which craft has already"),
    "jobs": ({}, "must name at least one job"),
    "jobs__smith__skill": (1, "known here are players, capacity, preference, holds, at"),
    "jobs__smith__players": (0, "at least 1; given 0"),
    "jobs__smith__capacity": ({"wood": -1}, "wood` must be a whole number within 0..32767"),
    "jobs__rover__capacity": ({"axe": 1}, "names 'axe'"),
    "jobs__rover__preference": ({"wood": "a lot"}, "wood` must be a number"),
    "jobs__rover__holds": ({"wood": 0}, "wood` must be a whole number within 1..32767"),
    "jobs__smith__holds": ({"hammer": 4}, "hammer` is more than the capacity of the job"),
    "jobs__rover__at": ([[2, 2]], r"uses \(2, 2\), which smith has already"),
    "jobs__smith__at": ([[0, 1], [0, 2], [0, 3]], "places 3 players, and the job has 2"),
    "hunger__thirst": (1, "known here are energy, foods, beasts, bite, guards"),
    "hunger__energy": (40_000, "within 1..32767; given 40000"),
    "hunger__foods": ({"cake": 1}, "names 'cake'"),
    "hunger__beasts": (-2, "at least 0; given -2"),
    "hunger__bite": (-2, "within 0..32767; given -2"),
    "hunger__guards": (["dog"], "names 'dog'"),
    "reference": (3, "must be a table"),
    "reference__sizes": ({}, "known here are jobs"),
    "reference__jobs__baker": ({}, "is no job; there are smith, rover"),
    "reference__jobs__smith__players": (3, "known here are capacity, preference"),
    "reference__jobs__rover__capacity": ({"axe": 1}, "names 'axe'"),
}


@pytest.mark.parametrize("entry", FAULTS)
def test_a_fault_is_named_with_what_is_allowed(entry):
    value, says = FAULTS[entry]
    place = entry.replace("__", ".")
    with pytest.raises(BadTask, match=says) as raised:
        task(changed(YARD, **{entry: value}), "yard")
    assert str(raised.value).startswith(f"yard: `{place}"), raised.value


@pytest.mark.parametrize("entry", ["rows", "sight", "horizon"])
def test_an_entry_that_is_missing_is_named(entry):
    with pytest.raises(BadTask, match=f"yard: `{entry}` is missing"):
        task({key: value for key, value in YARD.items() if key != entry}, "yard")


@pytest.mark.parametrize(
    ("changes", "entry", "says"),
    [
        ({"blocks": 44}, "resources", "has 8 piles for 4 open cells"),
        ({"events__forge__places": 41}, "events", "has 44 events for 43 open cells"),
        ({"jobs__rover__players": 42}, "jobs", "has 44 players for 43 open cells"),
        ({"hunger__beasts": 44}, "hunger", "has 44 beasts for 43 open cells"),
        (
            {"resources__wood__piles": 1, "blocks": 43},
            "blocks",
            "has 43 blocks, and 6 of the 48 cells are given to other things",
        ),
        (
            {"events": {f"e{n}": {"takes": {"wood": 1}, "gives": {"wood": 2}} for n in range(32)}},
            "events",
            "at most 31 events; given 32",
        ),
        ({"events__craft__places": 0}, "events.craft.at", "lists 1 cells, and `places` is 0"),
        ({"events__craft__gives": {}}, "events.craft.gives", "must name resources"),
        ({"resources": {}}, "resources", "must name 1 to 32 kinds; given 0"),
        ({"map": "..\n.."}, "rows", "already told by `map`"),
    ],
)
def test_what_does_not_fit_is_refused_with_both_numbers(changes, entry, says):
    with pytest.raises(BadTask, match=f"yard: `{entry}` .*{says}"):
        task(changed(YARD, **changes), "yard")


@pytest.mark.parametrize(
    ("drawing", "says"),
    [
        ("..\n...", "equally long lines of '.' and '#' .*given '..\\\\n...'"),
        ("..\n.~", "equally long lines of '.' and '#'"),
        ("", "equally long lines"),
        (7, "equally long lines .*given 7"),
    ],
)
def test_a_map_that_is_none_is_refused(drawing, says):
    with pytest.raises(BadTask, match=f"`map` must be {says}"):
        task(changed(MAPPED, map=drawing))


@pytest.mark.parametrize("part", ["resources__berry", "jobs__settler"])
def test_nothing_is_put_on_a_block(part):
    place = part.replace("__", ".")
    with pytest.raises(BadTask, match=rf"`{place}.at` puts something on the block \(0, 2\)"):
        task(changed(MAPPED, **{f"{part}__at": [[0, 2]]}))


def test_more_players_than_open_cells_are_refused():
    assert Frontier(task(YARD), players=43).players == 43
    with pytest.raises(
        BadMap, match="44 players need 44 cells without a block, and the map has 43"
    ):
        Frontier(task(YARD), players=44)
    with pytest.raises(BadMap, match="the map has 12"):
        Frontier(task(MAPPED), players=13)


def test_an_unknown_task_is_answered_with_the_known():
    with pytest.raises(UnknownName, match="easy"):
        task("esay")
    with pytest.raises(UnknownName, match="survival"):
        task({"extends": "survivl"})


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(CannotRead, match=r"Cannot read .*gone.toml: No such file"):
        task(tmp_path / "gone.toml")
    for name in ("bad.toml", "bad.json"):
        (tmp_path / name).write_text("{ rows: ]")
        with pytest.raises(CannotRead, match=f"{name} is not {name[4:].upper()}: "):
            task(tmp_path / name)
    (tmp_path / "list.json").write_text("[1, 2]")
    with pytest.raises(CannotRead, match=r"list.json must hold a table of entries; given \[1, 2\]"):
        task(tmp_path / "list.json")


@pytest.mark.parametrize("sight", [0, 4])
def test_nobody_sees_around_the_world(sight):
    with pytest.raises(BadArgument, match="1 to 3 on 7 x 7"):
        Frontier("easy", sight=sight)


@pytest.mark.parametrize("name", built_in())
def test_with_names_exchanged_a_task_is_the_same_but_for_what_kinds_are_called(name):
    own, other = (Frontier(name, names=names) for names in ("own", "exchanged"))
    after = dict(zip(own.kinds, (*own.kinds[1:], *own.kinds[:1]), strict=True))
    assert other.kinds == tuple(after[kind] for kind in own.kinds)
    for one, two in zip(own.recipes, other.recipes, strict=True):
        takes, gives = ({after[k]: n for k, n in x.items()} for x in (one.takes, one.gives))
        assert (two.takes, two.gives) == (takes, gives)
        assert two.needs == tuple(after[kind] for kind in one.needs)
    for numbers in ("params", "reference"):
        one, two = (jax.tree.leaves(getattr(env, numbers)()) for env in (own, other))
        assert all((np.asarray(x) == np.asarray(y)).all() for x, y in zip(one, two, strict=True))
    key = sociarium.key(3)
    one, two = (env.reset(key, env.params()) for env in (own, other))
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True)
    assert all((np.asarray(x) == np.asarray(y)).all() for x, y in pairs)


def test_names_that_are_exchanged_are_those_of_recipes_and_of_what_is_told():
    env = sociarium.make("contract_easy?names=exchanged")
    (recipe,) = env.world.recipes
    assert str(recipe) == "wood_craft: 1 stone and 1 hammer make 1 wood"
    with pytest.raises(UnknownName, match="exchanged"):
        Frontier("easy", names="swapped")
