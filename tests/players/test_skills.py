"""Skills: each of them and each way to end, in situations drawn by hand."""

import functools
import re
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium import catalogue
from sociarium.core.environment import compiled
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.facets import Board
from sociarium.mechanics.layout import merged
from sociarium.players.planning.skill import SkillCall, Status
from sociarium.players.planning.skill_set import SkillSet, own_skills
from sociarium.players.planning.skills import ANYWHERE
from sociarium.players.scripted import (
    clean_up,
    coins,
    coop_mining,
    frontier,
    gift_refinement,
    harvest,
    pd_arena,
)
from tests.players.told import Told
from tests.toys.echo import Echo
from tests.toys.meadow import Meadow
from tests.worlds import lands
from tests.worlds.outposts import CAMP, WILDS

YARD = """
    aaa.........a
    a.a........aa
    .............
    ....#........
    .............
    .............
    .............
    .............
    .............
"""


@functools.cache
def yard():
    return Told(lands.HARVEST, harvest.SKILLS)


@functools.cache
def room():
    return Told(lands.COINS, coins.SKILLS, names=("collect", "take", "go_to"))


def drawn(*changes):
    """The yard with other rows: (row, text)."""
    lines = [line.strip() for line in YARD.strip().splitlines()]
    for row, text in changes:
        lines[row] = text
    return yard().stage.draw("\n".join(lines))


def test_go_to_walks_a_shortest_way_and_stops_there():
    state = drawn((6, "....^........"))
    done = yard().follow(state, "go_to", place=(2, 4))
    assert done.status == Status.SUCCESS and done.place() == (2, 4)
    assert len(done.deeds) == 6  # around the wall
    assert yard().follow(done.state, "go_to", place=(2, 4)).deeds == []


def test_go_to_walks_around_what_it_would_take_if_it_can():
    corner = yard().stage.draw(
        """
        AAA.........A
        A.A........A^
        .............
        """
    )
    around = yard().follow(corner, "go_to", place=(0, 11))
    assert around.status == Status.SUCCESS and len(around.deeds) == 6 and not around.paid
    enclosed = yard().stage.draw(
        """
        vAA.........A
        A.A........AA
        .............
        """
    )
    through = yard().follow(enclosed, "go_to", place=(1, 1))
    assert through.status == Status.SUCCESS and len(through.deeds) == 2 and through.paid == 1


def test_go_to_a_wall_or_through_people_is_blocked():
    state = drawn((4, "....^........"))
    assert yard().follow(state, "go_to", place=(3, 4)).status == Status.BLOCKED
    cornered = drawn((7, ".>..........."), (8, "^<..........."))
    assert yard().follow(cornered, "go_to", place=(8, 1), seat=1).status == Status.BLOCKED


def test_go_to_finds_a_way_through_what_it_has_not_seen():
    state = drawn((8, "v............"))
    done = yard().follow(state, "go_to", place=(2, 12))
    assert done.status == Status.SUCCESS and len(done.deeds) == 18


@pytest.mark.parametrize("place", [(-1, 0), (9, 0), (0, 13)])
def test_a_place_outside_the_map_is_invalid(place):
    done = yard().follow(drawn((4, "....^........")), "go_to", place=place)
    assert done.status == Status.INVALID and done.deeds == []


def test_orders_that_make_no_sense_are_invalid():
    state = drawn((4, "....^....<..."))
    for name, told in {
        "follow": {"player": 0},
        "zap": {"player": 7},
        "wait": {"steps": 0},
        "avoid": {"player": -1},
    }.items():
        assert yard().follow(state, name, **told).status == Status.INVALID
    for skill in (-1, 99):
        assert yard().follow(state, "", order=SkillCall.of(skill)).status == Status.INVALID


def test_wait_takes_as_many_steps_as_it_says():
    done = yard().follow(drawn((4, "....^........")), "wait", steps=5)
    assert done.deeds == ["stay"] * 5 and done.status == Status.SUCCESS


def test_an_order_times_out():
    state = drawn((8, "v............"))
    done = yard().follow(state, "go_to", place=(2, 12), limit=4)
    assert done.status == Status.TIMEOUT and len(done.deeds) == 4


def test_an_order_can_be_interrupted():
    state = drawn((8, "v............"))
    done = yard().follow(state, "go_to", place=(2, 12), stop=3)
    assert done.status == Status.INTERRUPTED and len(done.deeds) == 3
    reached = yard().follow(drawn((4, "....^........")), "go_to", place=(4, 4), stop=0)
    assert reached.status == Status.SUCCESS


def test_out_of_play_one_waits():
    state = drawn((4, "....^........"))
    done = yard().follow(state, "go_to", place=(0, 0), seat=1, limit=3)
    assert done.deeds == ["stay"] * 3 and done.status == Status.TIMEOUT


def test_eat_walks_to_the_nearest_apple_and_ends_when_it_is_gone():
    state = yard().stage.draw(
        """
        aaA.........A
        a.a........aa
        .............
        ....#........
        ....v........
        """
    )
    for name in ("eat", "collect"):
        done = yard().follow(state, name)
        assert done.status == Status.BLOCKED  # it looks south and knows of none
    seen = yard().follow(state, "explore", steps=12).memory
    for name in ("eat", "collect"):
        done = yard().follow(state, name, memory=seen)
        assert done.status == Status.SUCCESS and done.paid == 1 and done.place() == (0, 2)
        assert len(done.deeds) == 6


def test_collect_takes_one_kind_and_walks_around_the_other():
    state = room().stage.draw(
        """
        .........
        ....1....
        .0..#....
        .0.......
        .1.^<...<
        """
    )
    for name in ("collect", "take"):
        done = room().follow(state, name, thing="their coin")
        assert done.status == Status.SUCCESS and done.paid == 1 and done.place() == (4, 1)
    corner = room().stage.draw(
        """
        .........
        .........
        ....#....
        .1......<
        .01^....<
        """
    )
    done = room().follow(corner, "collect", thing="my coin")
    assert done.status == Status.SUCCESS and done.paid == 1
    assert len(done.deeds) > 2  # the short way leads over a coin of the other's
    assert {(3, 1), (4, 2)} <= room().stage.coins(done.state).keys()


def test_avoid_walks_away_from_a_player():
    state = drawn((4, ".....^......."), (3, "....#<......."))
    far = yard().follow(state, "avoid", player=0, steps=4, seat=1)
    (row, col), (r, c) = far.place(0), far.place(1)
    assert far.status == Status.SUCCESS and abs(row - r) + abs(col - c) == 5
    again = yard().follow(far.state, "avoid", player=0, steps=4, seat=1, memory=far.memory)
    assert again.deeds == []


def test_floor_and_walls_are_neither_avoided_nor_collected():
    skill_set = SkillSet(sociarium.make("clean_up"))
    things = skill_set.named("avoid").things(skill_set.setting)
    assert things == ("river", "clean water", "waste", "orchard", "apple")


def test_guard_stays_at_its_place_and_zaps_who_comes_near():
    state = drawn((4, "....^......<."))
    done = yard().follow(state, "guard", place=(4, 8), steps=12, others=("stay",))
    assert done.status == Status.SUCCESS and len(done.deeds) == 12
    assert done.deeds[:4] == ["step right"] * 4 and "zap" in done.deeds
    alone = drawn((4, "....^........"))
    done = yard().follow(alone, "guard", place=(4, 5), steps=6)
    assert done.deeds == ["step right", *["stay"] * 5]


@pytest.mark.parametrize(("world", "there"), [("overcooked", False), ("harvest_open", True)])
def test_guard_is_there_where_there_is_a_beam_to_zap_with(world, there):
    names = [skill.name for skill in SkillSet(sociarium.make(world)).skills]
    assert ("guard" in names) == ("zap" in names) == there


def test_guard_is_not_over_before_the_place_is_reached():
    done = yard().follow(drawn((4, "....^........")), "guard", place=(4, 9), steps=2)
    assert done.status == Status.SUCCESS and done.place() == (4, 9) and len(done.deeds) == 5


def test_follow_keeps_beside_a_player_and_gives_up_when_it_is_lost():
    state = drawn((2, ".^..........."), (6, ".^..........."))
    done = yard().follow(state, "follow", player=0, seat=1, steps=6)
    assert done.status == Status.SUCCESS and done.place(1) == (3, 1)
    stranger = yard().follow(state, "follow", player=1, seat=0)
    assert stranger.status == Status.BLOCKED and stranger.deeds == []
    alone = drawn((6, ".^..........."))
    blank = yard().skill_set.map_tracker.unknown()
    met = eqx.tree_at(lambda memory: memory.met, blank, blank.met.at[1].set(14))
    lost = yard().follow(alone, "follow", player=1, memory=met)
    assert lost.status == Status.BLOCKED and lost.place() == (1, 1)


def test_zap_walks_up_to_a_player_fires_and_ends_when_it_is_gone():
    state = drawn((2, ".^..........."), (8, ".^..........."))
    done = yard().follow(state, "zap", player=0, seat=1)
    assert done.status == Status.SUCCESS and done.deeds == ["forward"] * 3 + ["zap"]
    assert yard().stage.places(done.state)[0] is None
    beside = drawn((4, ".>........<.."), (5, "....>........"))
    done = yard().follow(beside, "zap", player=1, seat=0)
    assert done.status == Status.SUCCESS and yard().stage.places(done.state)[2]


def test_explore_sees_the_whole_map_and_then_looks_again():
    state = drawn((8, "v............"))
    done = yard().follow(state, "explore", steps=40)
    assert done.status == Status.SUCCESS and len(done.deeds) == 40
    assert (done.memory.known > 0).all()
    assert int(done.memory.seen_at.min()) > 0
    half = yard().follow(state, "explore", steps=12)
    assert (half.memory.known > 0).mean() > 0.8


def test_a_skill_looks_at_nothing_but_its_view_and_its_map():
    """Two worlds that differ out of sight only."""
    apples = yard().stage.draw(
        "AAA.........A\nA.A........AA\n.............\n....#........\n....v........"
    )
    bare = drawn((4, "....v........"))
    for name, told in {"explore": {"steps": 1}, "go_to": {"place": (0, 0)}}.items():
        one, other = (yard().follow(state, name, most=1, **told) for state in (apples, bare))
        assert one.deeds == other.deeds


def test_players_with_different_orders_act_together_as_they_would_alone():
    env, skill_set = yard().env, yard().skill_set
    state, params = drawn((4, "....^....<..."), (6, ".>......v....")), yard().stage.params({})
    view, legal = (compiled(env, look)(state, params) for look in ("observe", "legal"))
    orders = [
        skill_set.order("go_to", place=(0, 0)),
        skill_set.order("zap", player=0),
        skill_set.order("explore", steps=9),
        skill_set.order("wait", steps=2),
    ]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *orders)
    blank, begun = (
        jax.tree.map(lambda x: jnp.broadcast_to(x, (4, *x.shape)), tree)
        for tree in (skill_set.map_tracker.unknown(), skill_set.begin())
    )
    keys = jax.random.split(sociarium.key(3), 4)

    def act(key, view, legal, memory, pose, order, running):
        memory = skill_set.map_tracker.looked(memory, view, *pose, jnp.int32(0))
        return skill_set.act(key, view, legal, memory, order, running)

    given = (keys, view, legal, blank, env.facet(Board).poses(state), stacked, begun)
    together = jax.jit(jax.vmap(act))(*given)
    alone = jax.jit(act)
    for seat in range(4):
        one = alone(*jax.tree.map(lambda x, seat=seat: x[seat], given))
        expected = jax.tree.map(lambda x, seat=seat: x[seat], together)
        assert jax.tree.all(jax.tree.map(np.array_equal, one, expected))


def test_clean_walks_to_waste_and_cleans_it():
    told = Told(lands.CLEAN_UP, clean_up.SKILLS, names=("clean",))
    state = told.stage.draw(
        """
        xxwwww..~~...
        wwwwww..~~...
        .............
        ....#........
        .............
        .............
        ^............
        """
    )
    done = told.follow(state, "clean")
    assert done.status == Status.SUCCESS and done.deeds == ["forward"] * 3 + ["clean"]
    assert not told.stage.waste(done.state)
    assert told.follow(done.state, "clean", memory=done.memory).status == Status.BLOCKED


def test_mine_strikes_the_ore_it_is_told_to():
    told = Told(lands.COOP_MINING, coop_mining.SKILLS, names=("mine",))
    state = told.stage.draw(
        """
        .i...........
        .............
        .............
        ....#........
        .^.g.........
        .............
        <<<<<........
        """
    )
    iron = told.follow(state, "mine", thing="iron")
    assert iron.status == Status.SUCCESS and iron.paid == 1
    assert iron.deeds == ["forward", "mine"]
    gold = told.follow(state, "mine", thing="gold")
    assert gold.deeds == ["turn right", "mine"] and gold.status == Status.SUCCESS
    on_ore = eqx.tree_at(lambda s: s.ore, state, 0 * state.ore)
    on_ore = eqx.tree_at(lambda s: s.ore, on_ore, on_ore.ore.at[told.stage.place(4, 1)].set(1))
    aside = told.follow(on_ore, "mine", thing="iron")
    assert aside.status == Status.SUCCESS and aside.paid == 1 and aside.deeds[-1] == "mine"


def test_gift_gives_and_consume_uses_up():
    told = Told(lands.GIFT_REFINEMENT, gift_refinement.SKILLS, names=("gift", "gather", "consume"))
    picture = """
        t............
        .............
        ^.......^....
        ....#........
        <.<..........
        .............
        .<...........
        """
    state = told.stage.draw(picture)
    gathered = told.follow(state, "gather")
    assert gathered.status == Status.SUCCESS and told.stage.own(gathered.state, 0, "raw") == 1
    given = told.follow(gathered.state, "gift", player=1, memory=gathered.memory)
    assert given.status == Status.BLOCKED  # never seen
    seen = told.stage.draw(picture.replace("^.......^", ">.......^"), raw=[1, 0, 0, 0, 0])
    given = told.follow(seen, "gift", player=1)
    assert given.status == Status.SUCCESS and given.deeds == ["forward"] * 3 + ["gift"]
    assert told.stage.own(given.state, 1, "refined") == 3
    used = told.follow(gathered.state, "consume")
    assert used.status == Status.SUCCESS and used.paid == 1 and used.deeds == ["consume"]


def test_interact_meets_a_player_with_the_token_one_has_fetched():
    told = Told(lands.PD_ARENA, pd_arena.SKILLS, names=("fetch", "interact"))
    state = told.stage.draw("CDcd.........\n.............\n..^..........")
    fetched = told.follow(state, "fetch", thing="cooperate token")
    assert fetched.status == Status.SUCCESS and len(fetched.deeds) == 4
    assert told.stage.own(fetched.state, 0, "cooperate tokens") == 1
    assert told.stage.own(fetched.state, 0, "defect tokens") == 0
    pair = "cdcd.........\n..v..........\n.....^......."
    met = told.follow(told.stage.draw(pair, cooperate=[1, 1]), "interact", player=1)
    assert met.status == Status.SUCCESS and met.paid == 3 and met.deeds[-1] == "interact"


@functools.cache
def camp():
    return Told(CAMP, frontier.SKILLS, names=("collect", "gather", "craft", "dump", "go_to"))


LONE = """
    ......
    .0....
    ......
    ......
    ......
"""


def test_on_the_frontier_one_walks_by_the_compass_and_around_the_world():
    done = camp().follow(camp().stage.draw(LONE), "go_to", place=(4, 5))
    assert done.status == Status.SUCCESS
    assert sorted(done.deeds) == ["north", "north", "west", "west"]


def test_collect_picks_one_unit_and_gather_all():
    state = camp().stage.draw(LONE, piles={(3, 3): ("wood", 2), (1, 3): ("stone", 1)})
    one = camp().follow(state, "collect", thing="wood")
    assert one.status == Status.SUCCESS and camp().stage.bag(one.state, 0) == {"wood": 1}
    both = camp().follow(state, "gather", thing="wood")
    assert both.status == Status.SUCCESS and camp().stage.bag(both.state, 0) == {"wood": 2}
    assert both.deeds[4:] == ["pick wood"] * 2
    assert camp().follow(state, "gather", thing="glass").status == Status.BLOCKED
    full = camp().stage.draw(LONE, piles={(1, 2): ("hammer", 2)}, holds=[{"hammer": 1}])
    assert camp().follow(full, "gather", thing="hammer").status == Status.BLOCKED


def test_craft_works_at_the_nearest_place_and_dump_leaves_a_unit():
    work = {(1, 3): "hammer_craft"}
    state = camp().stage.draw(LONE, work=work, holds=[{"wood": 1, "stone": 1}])
    done = camp().follow(state, "craft", thing="hammer_craft")
    assert done.status == Status.SUCCESS and done.deeds == ["east", "east", "synthesise"]
    assert camp().follow(state, "dump", thing="hammer").status == Status.BLOCKED
    left = camp().follow(done.state, "dump", thing="hammer")
    assert left.status == Status.SUCCESS and left.deeds == ["dump hammer"]
    poor = camp().follow(camp().stage.draw(LONE, work=work), "craft", thing="hammer_craft")
    assert poor.status == Status.BLOCKED and len(poor.deeds) == 2


def test_settlers_eat_and_keep_away_from_beasts():
    told = Told(WILDS, frontier.SKILLS, names=("eat", "avoid"))
    state = told.stage.draw(LONE, holds=[{"berry": 1}], beasts=[(1, 3)])
    done = told.follow(state, "eat", thing="berry")
    assert done.status == Status.SUCCESS and done.deeds == ["eat berry"]
    away = told.follow(state, "avoid", thing="beast", steps=2)
    assert away.status == Status.SUCCESS and away.deeds


def test_a_society_adds_what_its_charter_lets_one_do():
    env = sociarium.make("coins+contract?rounds=1")
    skill_set = SkillSet(env, names=("take", "join"))
    assert skill_set.named("join").things(skill_set.setting) == ("group 0", "group 1")
    params, seat = env.params(), 1
    state, running = env.reset(sociarium.key(0), params), skill_set.begin()
    memory, order = skill_set.map_tracker.unknown(), skill_set.order("join", thing="group 1")

    @jax.jit
    def step(state, memory, running):
        mine = lambda tree: jax.tree.map(lambda x: x[seat], tree)  # noqa: E731
        view, legal = mine(env.observe(state, params)), env.legal(state, params)[seat]
        memory = skill_set.map_tracker.looked(
            memory, view, *mine(env.facet(Board).poses(state)), jnp.int32(0)
        )
        action, running = skill_set.act(sociarium.key(0), view, legal, memory, order, running)
        stays = jnp.zeros(2, jnp.int32)
        return *env.step(sociarium.key(1), state, stays.at[seat].set(action), params), running

    for _ in range(6):
        state, _, running = step(state, memory, running)
    assert running.status == Status.SUCCESS and state.social["contract"].group[seat] == 1


def test_a_world_nobody_has_heard_of_has_the_skills_for_any_world():
    skill_set = SkillSet(Meadow())
    names = [skill.name for skill in skill_set.skills]
    assert names == ["go_to", "collect", "avoid", "follow", "explore", "wait"]
    assert skill_set.named("collect").things(skill_set.setting) == ("flower",)
    assert skill_set.named("avoid").things(skill_set.setting) == ("flower",)
    assert [skill.name for skill in SkillSet(Echo()).skills] == ["wait", "show"]


def test_where_nothing_can_be_taken_nothing_is_collected():
    names = [skill.name for skill in SkillSet(sociarium.make("coop_mining")).skills]
    assert "mine" in names and "collect" not in names


def test_whatever_is_ordered_what_is_done_is_legal():
    env = sociarium.make("frontier_survival")
    skill_set, params = SkillSet(env), env.params()
    players, look = env.players, skill_set.map_tracker.looked
    everybody = lambda tree: jax.tree.map(  # noqa: E731
        lambda x: jnp.broadcast_to(x, (players, *x.shape)), tree
    )
    below = jnp.array([len(skill_set.skills), *env.facet(Board).shape, 12, players, 6, 1])

    def one(carry, key):
        state, memory, order, running = carry
        k_order, k_act, k_step = jax.random.split(key, 3)
        drawn = jax.random.randint(k_order, (7, players), -1, below[:, None])
        ended = running.status != Status.RUNNING
        order, running = merged(
            ended, (jax.vmap(SkillCall)(*drawn), everybody(skill_set.begin())), (order, running)
        )
        view, legal = env.observe(state, params), env.legal(state, params)
        cell, heading = env.facet(Board).poses(state)
        memory = jax.vmap(look, (0, 0, 0, 0, None))(memory, view, cell, heading, state.clock)
        keys = jax.random.split(k_act, players)
        action, running = jax.vmap(skill_set.act)(keys, view, legal, memory, order, running)
        allowed = jnp.take_along_axis(legal, action[:, None], 1)[:, 0]
        stays = (running.status == Status.RUNNING) | (action == 0)
        state, _ = env.step(k_step, state, action, params)
        return (state, memory, order, running), (allowed & stays, running.status)

    @jax.jit
    def play(key):
        unknown, idle = skill_set.map_tracker.unknown(), skill_set.idle()
        start = env.reset(key, params), *everybody((unknown, SkillCall.of(0), idle))
        return jax.lax.scan(one, start, jax.random.split(key, 300))[1]

    fine, status = map(np.asarray, play(sociarium.key(2)))
    assert fine.all() and set(status.ravel()) == set(Status) - {Status.INTERRUPTED}


def test_orders_in_words_are_checked():
    skill_set = SkillSet(sociarium.make("coins"))
    take = skill_set.order("take", thing="their coin")
    assert int(take.thing) == 1 and skill_set.skills[int(take.skill)].name == "take"
    assert int(skill_set.order("wait", steps=3).steps) == 3
    with pytest.raises(UnknownName, match="Did you mean collect"):
        skill_set.order("colect", thing="my coin")
    with pytest.raises(UnknownName, match="my coin"):
        skill_set.order("collect", thing="my con")
    with pytest.raises(BadArgument, match="go_to asks for place; given nothing"):
        skill_set.order("go_to")
    with pytest.raises(BadArgument, match="wait asks for steps; given steps, player"):
        skill_set.order("wait", steps=3, player=1)
    with pytest.raises(BadArgument, match="avoid asks for player or thing, steps"):
        skill_set.order("avoid", steps=3)
    with pytest.raises(BadArgument, match="wait asks for steps; given how_long"):
        skill_set.order("wait", how_long=3)
    for place in ((1,), 4, "north", (1.5, 2), [2**40, 0]):
        with pytest.raises(BadArgument, match="place of go_to must be a row and a column"):
            skill_set.order("go_to", place=place)
    with pytest.raises(BadArgument, match="steps of wait must be a whole number; given 'ten'"):
        skill_set.order("wait", steps="ten")
    with pytest.raises(UnknownName, match="thing to take"):
        skill_set.order("take", thing=3)


def test_every_skill_of_every_world_says_what_it_does():
    for entry in (*catalogue.WORLDS, *catalogue.SOCIETIES):
        for skill in SkillSet(sociarium.make(entry.id)).skills:
            assert skill.says.endswith(".") and skill.says[0].isupper()


def test_the_page_on_skills_lists_them_all_and_its_example_runs():
    page = (Path(__file__).parents[2] / "docs" / "skills.md").read_text()
    for entry in catalogue.WORLDS:
        for skill in (*ANYWHERE, *own_skills(sociarium.make(entry.id))):
            assert f"| `{skill.name}` |" in page and f"| {skill.says} |" in page
    for status in Status:
        assert f"| `{status.name}` |" in page
    (example,) = re.findall(r"```python\n(.*?)```", page, re.S)
    found = {}
    exec(compile(example, "docs/skills.md", "exec"), found)
    assert found["running"].status == Status.SUCCESS
