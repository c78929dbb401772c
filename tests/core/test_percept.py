"""Percepts: whole, no more than a policy knows, plain, and read back as they were written."""

import copy
import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sociarium
from sociarium.charters.open import Open
from sociarium.charters.society import Society
from sociarium.core.environment import Social, View
from sociarium.core.errors import BadArgument, CannotRead, SociariumError
from sociarium.core.events import Row
from sociarium.core.facets import Board, Places, ground_plan
from sociarium.core.percept import Percept
from sociarium.core.percept_builder import PerceptBuilder, visible_events
from sociarium.core.specs import EventSpec
from sociarium.language.prompts import PromptWriter
from sociarium.language.renderings import STYLES
from tests.percepts import SOCIETIES, encoded, same, stage, start
from tests.toys.meadow import Meadow
from tests.toys.plaza import Plaza
from tests.toys.stall import PLACES, Stall

every_society = pytest.mark.parametrize(("name", "charter"), SOCIETIES)


def perturbed(state, seat, players, leaf, seed):
    """The state with one array changed here and there, but not the seat's own row of it."""
    leaves, tree = jax.tree.flatten(state)
    rng, old = np.random.default_rng(seed), np.asarray(leaves[leaf])
    chosen = rng.random(old.shape) < rng.choice([0.02, 0.3, 1.0])
    if old.shape[:1] == (players,):
        chosen[seat] = False
    new = ~old if old.dtype == bool else old + np.asarray(1, old.dtype)
    leaves[leaf] = np.where(chosen, new, old).astype(old.dtype)
    return jax.tree.unflatten(tree, leaves), bool(chosen.any())


@every_society
def test_states_that_look_the_same_give_the_same_percept(name, charter):
    scene, state = stage(name, charter), start(name, charter)
    players, before = scene.env.players, scene.look(state)
    leaves, alike, different = len(jax.tree.leaves(state)), [], []

    @settings(max_examples=20, derandomize=True)
    @given(st.integers(0, leaves - 1), st.integers(0, 1000), st.integers(0, players - 1))
    def examine(leaf, seed, seat):
        other, changed = perturbed(state, seat, players, leaf, seed)
        one, another = before.of(seat), scene.look(other).of(seat)
        told, told_then = scene.percept(seat, one), scene.percept(seat, another)
        equal = encoded(told) == encoded(told_then)
        if same(knows(one), knows(another)):
            assert equal
            writer = PromptWriter(scene.env, style=STYLES[seed % len(STYLES)])
            assert writer.write(told).text == writer.write(told_then).text
            alike.append(changed)
        else:
            different.append(equal)

    examine()
    assert any(alike)  # something that nobody sees was changed
    assert not (different and all(different))  # what is seen is told


def knows(one):
    """All that a seat is given, less the map, which it makes of this."""
    return one.view, one.legal, one.cell, one.heading, one.knows


def drawn_codes(rng, planes, *shape):
    """Codes that these planes can have, as the last axis."""
    each = [rng.integers(0, len(plane.codes), shape, np.uint8) for plane in planes]
    return np.stack(each, -1) if each else np.zeros((*shape, 0), np.uint8)


def drawn_view(spec, rng):
    """A view with any codes and numbers that its spec allows."""

    def cells(*batch):
        return np.moveaxis(drawn_codes(rng, spec.planes, *batch, spec.rows, spec.cols), -1, -3)

    def numbers(specs):
        return np.array([rng.integers(own.low, own.high + 1) for own in specs], np.int16)

    social = None
    if spec.social is not None:
        whose = rng.integers(0, spec.social.seats + 1, spec.social.shared_views, np.int32)
        social = Social(
            one_player(drawn_codes(rng, spec.social.own)),
            one_player(drawn_codes(rng, spec.social.ties, spec.social.contacts)),
            one_player(whose),
            one_player(rng.integers(-3, 4, (len(whose), 3), np.int16)),
            one_player(cells(len(whose))),
            one_player(numbers(spec.social.numbers)),
        )
    own, shared = numbers(spec.own), numbers(spec.shared)
    view = View(one_player(cells()), one_player(own), one_player(shared), social)
    return jax.tree.map(lambda x: np.array(x)[0], view)


def one_player(array):
    return jnp.asarray(array[None])


def filled(env, rng, **more):
    """A percept with everything in it that there can be."""
    builder = PerceptBuilder(env, knowledge="full", privileged=("pose", "score"))
    legal = rng.random(len(env.actions)) < 0.5
    rows = [
        Row(
            3, spec.name, 0, -1 if number % 2 else 1, number % 3 - 1, 0, 0.0 if spec.values else 1.0
        )
        for number, spec in enumerate(env.event_specs)
    ]
    told = {
        "events": rows,
        "messages": [builder.heard(2, 1, -1, "hallo,\n\tall"), builder.heard(2, 1, 0, "you")],
        "chosen": [builder.choice(1, "stay"), builder.choice(1, None, "go_to", {"place": (1, 2)})],
        "law": ("Whoever zaps somebody pays 5 to its victim.",),
        "cell": 1,
        "heading": 2,
        "score": 0.1,
        "hidden": {"brewing": jnp.int32(3), "rates": np.array([0.5, 0.25], np.float32)},
        "status": "blocked",
        "first": True,
    }
    return builder.build(0, 9, drawn_view(env.view_spec, rng), legal, **{**told, **more})


@every_society
def test_a_percept_is_read_back_as_it_was_written(name, charter):
    scene, rng = stage(name, charter), np.random.default_rng(0)
    one = scene.look(start(name, charter)).of(0)
    seen = scene.percept(0, one, first=True)
    assert seen.map is not None and seen.skills and seen.social and seen.rules
    for percept in (seen, filled(scene.env, rng), filled(scene.env, rng, first=False)):
        again = json.loads(json.dumps(percept.as_dict(), allow_nan=False))
        assert Percept.from_dict(percept.as_dict()) == percept
        assert Percept.from_dict(again) == percept
        assert again == percept.as_dict()


@pytest.mark.parametrize("env", [Meadow(), Plaza(), Stall()], ids=lambda env: type(env).__name__)
def test_percepts_of_worlds_from_elsewhere_are_read_back(env):
    percept = filled(env, np.random.default_rng(1))
    assert Percept.from_dict(json.loads(json.dumps(percept.as_dict()))) == percept
    assert percept.world == type(env).__name__


@every_society
def test_whatever_changes_in_a_view_changes_the_percept(name, charter):
    env, rng = stage(name, charter).env, np.random.default_rng(2)
    builder, legal = PerceptBuilder(env), np.ones(len(env.actions), bool)
    view = drawn_view(env.view_spec, rng)
    if len(view.social.shared_view):
        view.social.shared_view[:] = 1  # a window that is nobody's is not told
    before = encoded(builder.build(0, 0, view, legal))
    leaves, tree = jax.tree.flatten(view)
    spec = env.view_spec
    for number, leaf in enumerate(leaves):
        for _ in range(8 if leaf.size else 0):
            at = tuple(rng.integers(0, leaf.shape))
            changed = [x.copy() for x in leaves]
            most = highest(spec, view, number, at)
            changed[number][at] = (leaf[at] + 1) if leaf[at] < most else leaf[at] - 1
            other = jax.tree.unflatten(tree, changed)
            assert encoded(builder.build(0, 0, other, legal)) != before, (number, at)
    for action in range(len(legal)):
        assert encoded(builder.build(0, 0, view, np.arange(len(legal)) != action)) != before


def highest(spec, view, number, at):
    """The highest code or number that an entry of a view can have."""
    social = spec.social
    kinds = [
        lambda: len(spec.planes[at[0]].codes) - 1,
        lambda: spec.own[at[0]].high,
        lambda: spec.shared[at[0]].high,
        lambda: len(social.own[at[0]].codes) - 1,
        lambda: len(social.ties[at[1]].codes) - 1,
        lambda: social.seats,
        lambda: 3,
        lambda: len(spec.planes[at[1]].codes) - 1,
        lambda: social.numbers[at[0]].high,
    ]
    assert len(jax.tree.leaves(view)) == len(kinds)
    return kinds[number]()


BROKEN = {
    "another protocol": lambda told: told.update(protocol=1),
    "no view": lambda told: told.pop("view"),
    "more than there is": lambda told: told.update(state=[1]),
    "a number as a name": lambda told: told.update(world=3),
    "a name as a number": lambda told: told.update(step="3"),
    "a truth as a number": lambda told: told.update(step=True),
    "before the start": lambda told: told.update(step=-1),
    "rows of different lengths": lambda told: next(iter(told["view"].values()))[0].pop(),
    "planes of different shapes": lambda told: next(iter(told["view"].values())).pop(),
    "nobody's seat": lambda told: told.update(seat=99),
    "another's name": lambda told: told.update(name="somebody else"),
    "no number": lambda told: told.update(score=float("nan")),
    "too long a name": lambda told: told["legal"].append("x" * 1000),
    "a message too long": lambda told: told["messages"][0].update(text="x" * 100_000),
    "rules later on": lambda told: told.update(first=False),
    "arrays": lambda told: told.update(own=np.zeros(3)),
    "depth": lambda told: told.update(own=deep(100_000)),
    "too much": lambda told: told.update(knowledge=["x" * 3000] * 6000),
}


def deep(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_no_percept_is_refused(how):
    env = stage("coins-v0", "none").env
    told = filled(env, np.random.default_rng(3)).as_dict()
    Percept.from_dict(told)
    BROKEN[how](told)
    with pytest.raises(CannotRead):
        Percept.from_dict(told)


def test_percepts_are_frozen():
    percept = filled(Stall(), np.random.default_rng(0))
    with pytest.raises(ValueError, match="frozen"):
        percept.seat = 1


def test_players_are_called_by_their_names():
    env = stage("coins-v0", "open").env
    names = tuple(f"Ann{'e' * number}" for number in range(env.players))
    builder, one = (
        PerceptBuilder(env, names),
        stage("coins-v0", "open").look(start("coins-v0", "open")).of(0),
    )
    event = next(spec.name for spec in env.event_specs if "{target}" in spec.sentence)
    percept = builder.build(
        0,
        1,
        one.view,
        one.legal,
        events=[Row(0, event, 1, 0, -1, -1, 1.0)],
        messages=[builder.heard(0, 1, 0, "hi")],
    )
    assert percept.name == "Ann" and percept.names == names
    assert [(contact.seat, contact.name) for contact in percept.contacts] == [*enumerate(names)]
    assert percept.contacts[0].ties["who"] == "myself"
    assert percept.contacts[1].ties["who"] == "another"
    assert percept.messages[0].name == "Anne"
    assert "Anne" in percept.events[0].text and "Ann." not in percept.events[0].text
    (window,) = percept.windows
    assert (window.seat, window.name) == (1, "Anne")
    assert set(window.view) == set(percept.view)


def test_contacts_of_large_societies_are_told_by_their_seats():
    env = Society(Meadow(players=300), Open())
    view = drawn_view(env.view_spec, np.random.default_rng(0))
    ties = view.social.ties
    names = [plane.name for plane in env.view_spec.social.ties]
    low, high = names.index("seat from 1"), names.index("seat from 1, times 256")
    ties[:, low], ties[:, high] = 0, 0
    ties[0, low], ties[1, low], ties[1, high] = 5, 44, 1
    percept = PerceptBuilder(env).build(0, 0, view, np.ones(len(env.actions), bool))
    assert [contact.seat for contact in percept.contacts[:3]] == [4, 299, None]
    assert percept.contacts[1].name == "player 299" and percept.names == ()


@pytest.mark.parametrize("names", [("one",), ("a\u202eb", "c"), ("x" * 101, "c")])
def test_names_that_do_not_fit_are_refused(names):
    with pytest.raises(SociariumError):
        PerceptBuilder(Plaza(), names)
    with pytest.raises(BadArgument):
        PerceptBuilder(Plaza(), ("a", "b", "c"))


def test_pose_score_and_places_of_events_are_told_only_to_who_is_told_its_pose():
    env, rng = stage("coins-v0", "none").env, np.random.default_rng(0)
    row = Row(0, env.event_specs[0].name, 0, -1, 3, 4, 1.0)
    given = {"events": [row], "cell": 17, "heading": 1, "score": 2.0}
    view, legal = drawn_view(env.view_spec, rng), np.ones(len(env.actions), bool)
    plain = PerceptBuilder(env).build(0, 1, view, legal, **given)
    assert plain.pose is None and plain.score is None
    assert plain.events[0].row is None and plain.events[0].col is None
    told = PerceptBuilder(env, privileged=("pose", "score")).build(0, 1, view, legal, **given)
    cols = ground_plan(env).shape[1]
    assert (told.pose.row, told.pose.col, told.pose.heading) == (*divmod(17, cols), "east")
    assert told.score == 2.0 and (told.events[0].row, told.events[0].col) == (3, 4)
    away = {**given, "cell": ground_plan(env).cells}
    gone = PerceptBuilder(env, privileged=("pose",)).build(0, 1, view, legal, **away).pose
    assert gone.row is None and gone.col is None


def test_recipes_are_disclosed_as_asked_for():
    env, rng = stage("frontier_survival-v0", "none").env, np.random.default_rng(0)
    view, legal = drawn_view(env.view_spec, rng), np.ones(len(env.actions), bool)
    crafting = next(facet for facet in env.facets if hasattr(facet, "recipes"))
    knows = np.arange(len(crafting.recipes)) == 1
    told = {
        knowledge: PerceptBuilder(env, knowledge=knowledge)
        .build(0, 1, view, legal, knows=knows)
        .knowledge
        for knowledge in ("none", "discovered", "full")
    }
    sentences = tuple(str(recipe) for recipe in crafting.recipes)
    assert told == {"none": (), "discovered": sentences[1:2], "full": sentences}


def test_jobs_are_told_by_name():
    env = sociarium.make("contract_easy-v0")
    view = drawn_view(env.view_spec, np.random.default_rng(0))
    number = [own.name for own in env.view_spec.own].index("job")
    view.own[number] = 1
    percept = PerceptBuilder(env).build(0, 0, view, np.ones(len(env.actions), bool))
    assert percept.own["job"] == env.view_spec.own[number].told[1]


def test_worlds_of_places_and_fixed_windows_say_so():
    stall, plaza = (filled(env, np.random.default_rng(0)) for env in (Stall(), Plaza()))
    assert stall.places == PLACES and stall.window == "fixed" and stall.home is None
    assert len(stall.view["station"]) == 1 and len(stall.view["station"][0]) == len(PLACES)
    assert plaza.places == () and plaza.window == "fixed" and plaza.home is None
    assert isinstance(plaza.view["litter"][0][0], int)
    assert set(stall.shared) == {"orders", "next order"}


FAR = (0, 0)  # a corner that a player on another side of the meadow does not see


def notices(
    visible, seat, *, actor=0, target=-1, place=FAR, env=None, cell=None, heading=2, **more
):
    """Whether a player in the last corner, who looks away from the first, notices an event."""
    env = Meadow() if env is None else env
    env.event_specs = (EventSpec("waved", "", visible=visible),)
    row = Row(0, "waved", actor, target, *place, 1.0)
    cell = ground_plan(env).cells - 1 if cell is None else cell
    return bool(visible_events(env, [row], seat, cell, heading, **more))


@pytest.mark.parametrize(
    ("visible", "actor", "target", "other"),
    [
        ("all", True, True, True),
        ("nobody", False, False, False),
        ("involved", True, True, False),
        ("cell", True, True, False),
    ],
)
def test_far_away_an_event_is_noticed_by_those_it_is_visible_to(visible, actor, target, other):
    for seat, expected in enumerate((actor, target, other)):
        assert notices(visible, seat, actor=0, target=1) == expected


def test_what_has_no_place_is_noticed_by_all_unless_it_has_a_target():
    assert notices("cell", 2, place=(-1, -1)) and not notices("involved", 2, place=(-1, -1))
    assert not notices("cell", 2, target=1, place=(-1, -1))
    assert not notices("cell", 2, actor=-1, target=1, place=(-1, -1))


def test_without_a_board_everybody_who_is_present_sees_every_place():
    nowhere = len(PLACES)  # at none of the places
    assert notices("cell", 1, place=(0, 0), env=Stall())
    assert notices("cell", 1, place=(0, 0), env=Stall(), cell=nowhere)
    assert not notices("cell", 1, place=(0, 0), env=Stall(), cell=nowhere, present=False)


def test_a_fixed_window_shows_the_whole_board_to_who_is_on_it():
    for heading in range(4):
        assert notices("cell", 1, env=Plaza(), heading=heading)
    assert not notices("cell", 1, env=Plaza(), cell=ground_plan(Plaza()).cells)


@pytest.mark.parametrize("window", ["turns", "follows"])
@pytest.mark.parametrize("wraps", [False, True])
def test_what_is_noticed_is_what_is_in_the_window(window, wraps):
    env = copy.copy(Meadow())
    (board,) = (facet for facet in env.facets if isinstance(facet, Board))
    board = dataclasses.replace(board, window=window, wraps=wraps)
    env.facets = (board, *(facet for facet in env.facets if not isinstance(facet, Board | Places)))
    rows, cols = board.shape
    (own_row, own_col), spec = env.view_spec.ego_origin, env.view_spec
    for heading in range(4):
        shown = set()
        down, right = ((-1, 0), (0, 1), (1, 0), (0, -1))[heading if window == "turns" else 0]
        for ahead in range(own_row - spec.rows + 1, own_row + 1):
            for aside in range(-own_col, spec.cols - own_col):
                row = 2 + ahead * down + aside * right
                col = 3 + ahead * right - aside * down
                shown |= {(row % rows, col % cols) if wraps else (row, col)}
        for row, col in np.ndindex(rows, cols):
            seen = notices("cell", 2, place=(row, col), env=env, cell=2 * cols + 3, heading=heading)
            assert seen == ((row, col) in shown)
