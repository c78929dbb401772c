"""Offers of skills: what makes sense now, all of which can be ordered, and nothing else."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sociarium
from sociarium.core.decision import Decision, as_decision
from sociarium.core.facets import Board
from sociarium.core.menu import refusal
from sociarium.core.percept import UNSEEN, Player
from sociarium.envs.kitchens.overcooked import DISH, ONION, SOUP
from sociarium.players.planning.offers import MapReader, SkillOffers, things_lying
from sociarium.players.planning.skill_set import SkillSet
from sociarium.players.planning.skills import Deed
from sociarium.players.scripted import harvest
from tests.percepts import FEWER, Stage, stage, start
from tests.toys.stall import BREW, TAKE, Stall
from tests.worlds import lands


def answers(offer):
    """Some decisions that an offer allows: each thing and player, the ends of every range."""
    places = [] if offer.place is None else [(0, 0), tuple(size - 1 for size in offer.place)]
    choices = {
        "thing": offer.things,
        "player": [one.seat for one in offer.players],
        "place": places,
        "steps": offer.steps or (),
    }
    needed = [[(what, one) for what in group for one in choices[what]] for group in offer.requires]
    for chosen in itertools.product(*needed):
        yield {"skill": offer.name, **dict(chosen)}
        for what, values in choices.items():
            for one in values:
                yield {"skill": offer.name, **dict(chosen), what: one}


def offered(scene, glance, seat):
    one = glance.of(seat)
    return scene.offers.offers(seat, one.view, one.legal, one.memory)


@pytest.mark.parametrize(("name", "charter"), FEWER)
def test_whatever_is_offered_can_be_ordered(name, charter):
    scene = stage(name, charter)
    glance = scene.look(start(name, charter))
    found = set()
    for seat in range(min(3, scene.env.players)):
        percept = scene.percept(seat, glance.of(seat))
        for offer in percept.skills:
            found.add(offer.name)
            for answer in answers(offer):
                decision = as_decision(answer)
                assert refusal(decision, percept) == ""
                scene.skill_set.order(offer.name, **decision.arguments)
    walks = scene.env.has(Board) and charter != "contract"
    assert "wait" in found and ("go_to" in found) == walks


@pytest.mark.parametrize("name", ["clean_up-v0", "frontier_survival-v0"])
def test_what_is_not_offered_is_refused(name):
    scene = stage(name, "open")
    glance = scene.look(start(name, "open"))
    percept = scene.percept(0, glance.of(0))
    allowed = {offer.name: list(answers(offer)) for offer in percept.skills}
    names = [*(skill.name for skill in scene.skill_set.skills), "fly"]
    things = [*scene.skill_set.setting.things.names, "nothing at all"]

    @settings(max_examples=60)
    @given(
        st.sampled_from(names),
        st.fixed_dictionaries(
            {},
            optional={
                "thing": st.sampled_from(things),
                "player": st.integers(0, scene.env.players),
                "place": st.tuples(st.integers(0, 60), st.integers(0, 60)),
                "steps": st.integers(1, 10_000),
            },
        ),
    )
    def examine(skill, arguments):
        wrong = refusal(Decision(skill=skill, **arguments), percept)
        assert wrong.isprintable() and len(wrong) < 1000
        if wrong:
            assert {"skill": skill, **arguments} not in allowed.get(skill, [])
        else:
            scene.skill_set.order(skill, **arguments)

    examine()


def test_actions_are_refused_by_what_is_legal():
    scene = stage("clean_up-v0", "contract")
    percept = scene.percept(0, scene.look(start("clean_up-v0", "contract")).of(0))
    assert "forward" not in percept.legal and refusal(Decision(), percept) == ""
    assert refusal(Decision(action=percept.legal[-1]), percept) == ""
    assert "legal are stay" in refusal(Decision(action="forward"), percept)
    assert "not both" in refusal(Decision(action="stay", skill="wait"), percept)
    assert "argument of a skill" in refusal(Decision(action="stay", steps=3), percept)
    assert "takes no place" in refusal(Decision(skill="wait", place=(0, 0)), percept)


def test_a_refusal_says_what_is_allowed():
    scene = stage("clean_up-v0", "open")
    percept = scene.percept(0, scene.look(start("clean_up-v0", "open")).of(0))
    rows, cols = next(offer.place for offer in percept.skills if offer.place)
    for given_, said in {
        ("go_to", ()): "needs a place",
        ("go_to", ("place", (rows, 0))): f"row 0 to {rows - 1}",
        ("go_to", ("place", (0, cols))): f"column 0 to {cols - 1}",
        ("avoid", ()): "needs a",
        ("avoid", ("thing", "x")): "cannot be about 'x'",
        ("avoid", ("steps", 3)): "needs a",
        ("fly", ()): "those are go_to",
    }.items():
        skill, argument = given_
        arguments = dict([argument]) if argument else {}
        assert said in refusal(Decision(skill=skill, **arguments), percept)


@functools.cache
def yard():
    """A harvest drawn by hand, with the program that looks around in it."""
    env = lands.HARVEST.env
    skill_set, poses = SkillSet(env, own=harvest.SKILLS), env.facet(Board).poses
    tracker = skill_set.map_tracker

    @jax.jit
    def look(state, memory, params):
        view = env.observe(state, params)
        cell, heading = poses(state)
        looked = jax.vmap(tracker.looked, (None, 0, 0, 0, None))
        return view, env.legal(state, params), looked(memory, view, cell, heading, jnp.int32(4))

    return SkillOffers(skill_set, NAMES), tracker, look


NAMES = tuple(f"Bo{number}" for number in range(lands.HARVEST.env.players))


def in_yard(drawing, seat=0):
    """The offers and the map of a seat in a drawn yard."""
    offers, tracker, look = yard()
    given_ = jax.device_get(
        look(lands.HARVEST.draw(drawing), tracker.unknown(), lands.HARVEST.params({}))
    )
    view, legal, memory = jax.tree.map(lambda x: x[seat], given_)
    found = offers.offers(seat, view, legal, memory)
    return {offer.name: offer for offer in found}, MapReader(tracker, NAMES).read(seat, memory)


ALONE = """
    .............
    .............
    ....^........
    .............
    .............
    .............
    .............
    .............
    ...........<.
"""


def test_things_and_players_are_offered_only_where_they_are_known():
    nothing, before = in_yard(ALONE)
    assert "eat" not in nothing and "collect" not in nothing and "follow" not in nothing
    assert "zap" not in nothing and "avoid" not in nothing
    beside = ALONE.replace(".............", "..A..........", 1).replace("^...", "^.v.", 1)
    near, after = in_yard(beside)
    assert {"eat", "follow", "zap"} <= set(near)
    assert near["eat"].things == ("apple",) and near["eat"].requires == ()
    (other,) = near["follow"].players
    assert other == Player(seat=other.seat, name=NAMES[other.seat]) and other.seat != 0
    assert near["avoid"].requires == (("player", "thing"),)
    assert near["guard"].place == (9, 13) and near["guard"].steps is not None
    assert before.met == () and before.ground[0][2] != "apple"
    assert after.ground[0][2] == "apple" and after.seen[0][2] == 4
    (met,) = after.met
    assert (met.seat, met.name, met.row, met.col, met.step) == (
        other.seat, other.name, 2, 6, 4
    )  # fmt: skip
    assert after.ground[8][0] == UNSEEN and after.seen[8][0] == -1


@functools.cache
def stall():
    return Stage(Stall())


def test_deeds_are_offered_where_they_are_legal_or_wait():
    scene = stall()
    glance = scene.look(scene.reset(0))
    one = glance.of(0)
    assert scene.skill_set.setting.move_set is None
    legal = np.zeros(len(scene.env.actions), bool)
    legal[[0, TAKE]] = True
    names = {offer.name: offer for offer in scene.offers.offers(0, one.view, legal, one.memory)}
    assert set(names) == {"wait", "go", "take", "brew", "serve"}
    assert names["go"].things == ("pantry", "kettle", "counter")  # none is legal: it waits
    legal[2] = True
    names = {offer.name: offer for offer in scene.offers.offers(0, one.view, legal, one.memory)}
    assert names["go"].things == ("kettle",) and names["take"].things == ()
    hasty = SkillSet(scene.env, own=(Deed("brew", "Brew now.", verb="brew"),))
    for may in (False, True):
        legal[BREW] = may
        found = SkillOffers(hasty).offers(0, one.view, legal, one.memory)
        assert ("brew" in {offer.name for offer in found}) == may


def test_frontier_deeds_that_do_not_wait_need_to_be_legal():
    scene = stage("frontier_survival-v0", "none")
    one = scene.look(start("frontier_survival-v0", "none")).of(0)
    dumps = [n for n, action in enumerate(scene.env.actions) if action.verb == "dump"]
    for held in ([], dumps[:1], dumps[1:3]):
        legal = one.legal.copy()
        legal[dumps] = False
        legal[held] = True
        found = scene.offers.offers(0, one.view, legal, one.memory)
        (things,) = [offer.things for offer in found if offer.name == "dump"] or [None]
        expected = tuple(scene.env.actions[number].object for number in held)
        assert things == (expected or None)


def test_things_lie_where_their_codes_are_on_the_map():
    scene = stage("frontier_survival-v0", "none")
    memory = scene.look(start("frontier_survival-v0", "none")).of(0).memory
    things = scene.skill_set.setting.things
    lying = things_lying(things, memory)
    for number, name in enumerate(things.names):
        assert (name in lying) == bool(things.where(memory, jnp.int32(number)).any()), name
    assert 0 < len(lying) < len(things.names)


def test_nobody_out_of_play_or_between_turns_is_offered_a_walk():
    scene = stage("clean_up-v0", "none")
    one = scene.look(start("clean_up-v0", "none")).of(0)
    still = np.arange(len(one.legal)) == 0
    names = {offer.name for offer in scene.offers.offers(0, one.view, still, one.memory)}
    assert "go_to" not in names and "explore" not in names and "wait" in names


@functools.cache
def kitchen(world, players=2):
    return Stage(sociarium.make(world, players=players))


def offered_in(scene, state, seat=0):
    return {offer.name: offer.things for offer in offered(scene, scene.look(state), seat)}


def test_in_a_kitchen_one_is_offered_what_hands_and_pots_allow():
    scene = kitchen("overcooked")
    fresh = scene.reset(0)
    own = {"fetch", "fill_pot", "start_pot", "plate_soup", "serve", "put_down"}

    def offers(held=0, **kitchen):
        changed = {"hands": jnp.array([held, 0], jnp.uint8), **kitchen}
        state = eqx.tree_at(
            lambda s: tuple(getattr(s, name) for name in changed), fresh, tuple(changed.values())
        )
        found = offered_in(scene, state)
        return {name: things for name, things in found.items() if name in own}

    full, one = jnp.full(1, 3, jnp.uint8), jnp.full(1, 1, jnp.uint8)
    assert offers() == {"fetch": ("an onion", "a dish")}
    assert offers(onions=one).keys() == {"fetch", "start_pot"}
    assert offers(ONION).keys() == {"fill_pot", "put_down"}
    assert offers(ONION, onions=full, tick=jnp.full(1, 4)).keys() == {"put_down"}
    assert offers(DISH).keys() == {"put_down"}
    assert offers(DISH, onions=full, tick=jnp.full(1, 4)).keys() == {"plate_soup", "put_down"}
    assert offers(SOUP + 2).keys() == {"serve", "put_down"}
    lying = fresh.lying.at[0].set(SOUP + 2)
    assert offers(lying=lying)["fetch"] == ("an onion", "a dish", "a soup")


def test_what_all_see_is_not_explored_and_what_stands_still_not_avoided():
    scene = kitchen("overcooked")
    found = offered_in(scene, scene.reset(0))
    assert "explore" not in found and found["avoid"] == ()


def test_one_waits_for_a_tool_that_is_at_work_and_for_no_other():
    scene = kitchen("cuisine?level=3")
    fresh, pot = scene.reset(0), scene.world.places.index("pot 1")
    rice = jnp.uint32(1 << scene.world.items.index("cooked rice"))

    def offers(busy, inside=rice, held=-1):
        state = eqx.tree_at(
            lambda s: (s.at, s.hands, s.inside, s.busy, s.cooked),
            fresh,
            (
                fresh.at.at[0].set(pot),
                fresh.hands.at[0].set(held),
                fresh.inside.at[0].set(inside),
                fresh.busy.at[0].set(busy),
                fresh.cooked.at[0].set(inside > 0),
            ),
        )
        return "take_out" in offered_in(scene, state)

    assert offers(busy=2) and offers(busy=0)
    assert not offers(busy=2, held=0) and not offers(busy=0, inside=jnp.uint32(0))
