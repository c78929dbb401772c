"""Observers: shapes known beforehand, nothing lost, memories that end with their episode."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.lanes import Lanes
from sociarium.arena.observers import (
    AgentId,
    Codes,
    Flat,
    FrameStack,
    LastAction,
    OneHot,
)
from sociarium.arena.picture_observer import Rgb
from sociarium.charters.open import Open
from sociarium.charters.pacts import Pacts
from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from sociarium.core.environment import View, compiled
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.views import pixels
from tests import sights
from tests.toys.meadow import Meadow

STACKS = {
    "codes": Codes,
    "one-hot": OneHot,
    "ground only": lambda env: OneHot(env, planes=("ground",)),
    "agent id": lambda env: AgentId(OneHot(env)),
    "last action": lambda env: LastAction(OneHot(env)),
    "stack": lambda env: FrameStack(OneHot(env), 3),
    "everything": lambda env: FrameStack(LastAction(AgentId(OneHot(env))), 2),
    "flat": lambda env: LastAction(Flat(AgentId(Codes(env)))),
    "rgb": Rgb,
    "rgb with id": lambda env: FrameStack(AgentId(Rgb(env, 4)), 2),
}


@pytest.fixture(scope="module")
def meadow():
    return Meadow(players=2)


def views(env, lanes):
    """Views that show every code."""
    spec, draw = env.view_spec, np.random.default_rng(0)
    shape = (lanes, env.players, spec.rows, spec.cols)
    planes = [draw.integers(0, len(plane.codes), shape) for plane in spec.planes]
    own = [draw.integers(number.low, number.high + 1, shape[:2]) for number in spec.own]
    own = np.stack(own, -1) if own else np.zeros((*shape[:2], 0))
    return View(jnp.asarray(np.stack(planes, 2), jnp.uint8), jnp.asarray(own, jnp.int16))


@pytest.mark.parametrize("make", STACKS.values(), ids=STACKS.keys())
def test_shapes_types_and_bounds_are_known_beforehand(make, meadow):
    see, view = make(meadow), views(meadow, 4)
    seen = jax.jit(lambda view: see.look(view, see.begin(view)))(view)
    assert seen.shape == (4, meadow.players, *see.shape)
    assert seen.dtype == see.dtype and len(see.channels) == see.shape[-1]
    assert see.low <= seen.min() and seen.max() <= see.high
    assert len(set(see.channels)) == len(see.channels)


@pytest.mark.parametrize("make", STACKS.values(), ids=STACKS.keys())
def test_a_lane_alone_is_shown_what_it_is_shown_among_others(make, meadow):
    see, view = make(meadow), views(meadow, 3)
    actions, ended = jnp.array([[1, 2], [3, 4], [5, 6]]), jnp.array([False, True, False])

    def twice(view, actions, ended):
        memory = see.after(view, actions, ended, see.begin(view))
        return see.look(view, memory)

    together = jax.jit(twice)(view, actions, ended)
    mapped = jax.jit(jax.vmap(twice))(view, actions, ended)
    np.testing.assert_array_equal(together, mapped)


def test_one_hot_says_what_the_codes_say():
    env = sociarium.make("clean_up-v0")
    see, view = OneHot(env), views(env, 2)
    seen = np.asarray(see.look(view, ()))
    cells = np.asarray(view.cells)
    at = 0
    for number, plane in enumerate(env.view_spec.planes):
        for code, name in enumerate(plane.codes[1:], start=1):
            assert see.channels[at] == f"{plane.name}: {name}"
            np.testing.assert_array_equal(seen[..., at], cells[:, :, number] == code)
            at += 1
    assert see.channels[at:] == ("zap_cooldown", "clean_cooldown", "away")


def test_own_numbers_are_on_a_logarithmic_scale(meadow):
    env = sociarium.make("clean_up-v0")
    view = views(env, 1)
    own = view.own.at[0, 0].set(jnp.array([0, 10, 32767], jnp.int16))
    seen = np.asarray(OneHot(env).look(View(view.cells, own), ()))
    np.testing.assert_allclose(seen[0, 0, 3, 4, -3:], [0, np.log(11) / np.log(32768), 1], rtol=1e-5)
    codes = np.asarray(Codes(env).look(View(view.cells, own), ()))
    assert codes[0, 0, 3, 4, -3:].tolist() == [0, 10, 32767]


def test_agent_id_marks_ones_own_seat(meadow):
    see, view = AgentId(OneHot(meadow)), views(meadow, 2)
    marks = np.asarray(see.look(view, see.begin(view)))[..., -2:]
    assert (marks[:, 0] == [1, 0]).all() and (marks[:, 1] == [0, 1]).all()
    pictured = AgentId(Rgb(meadow))
    assert np.asarray(pictured.look(view, pictured.begin(view)))[0, 1, 0, 0, -1] == 255


def test_last_action_is_none_at_the_start_and_after_an_end(meadow):
    see, view = LastAction(OneHot(meadow)), views(meadow, 2)
    memory = see.begin(view)
    assert not see.look(view, memory)[..., -7:].any()
    actions = jnp.array([[1, 6], [0, 2]])
    memory = see.after(view, actions, jnp.array([False, True]), memory)
    did = np.asarray(see.look(view, memory))[:, :, 0, 0, -7:]
    assert did[0].argmax(-1).tolist() == [1, 6] and did[0].sum(-1).tolist() == [1, 1]
    assert not did[1].any()


def test_a_stack_shows_the_last_moments_of_this_episode_only(meadow):
    params = meadow.params(horizon=4)
    batch, see = Lanes(meadow, 2), FrameStack(Codes(meadow), 3)
    lanes = batch.start(sociarium.key(1), params)
    view = batch.view(lanes, params)
    memory, past = see.begin(view), [view]
    step, after = jax.jit(batch.step), jax.jit(see.after)
    for clock in range(1, 7):
        actions = jnp.full((2, 2), 1 + clock % 6)
        lanes, transition, view = step(lanes, actions, params)
        memory = after(view, actions, transition.truncated, memory)
        past = [view] if transition.truncated.all() else [*past, view]
        wanted = [past[max(len(past) - 1 - back, 0)] for back in (2, 1, 0)]
        shown = np.concatenate([np.asarray(Codes(meadow).look(v, ())) for v in wanted], -1)
        np.testing.assert_array_equal(see.look(view, memory), shown)
    assert len(past) == 3


def test_observers_run_inside_one_scan(meadow):
    params, batch = meadow.params(horizon=5), Lanes(meadow, 3)
    see = FrameStack(LastAction(AgentId(OneHot(meadow))), 2)

    @jax.jit
    def run(key):
        lanes = batch.start(key, params)
        view = batch.view(lanes, params)

        def step(carry, _):
            lanes, memory = carry
            actions = jnp.ones((3, 2), jnp.int32)
            lanes, transition, view = batch.step(lanes, actions, params)
            memory = see.after(view, actions, transition.truncated, memory)
            return (lanes, memory), see.look(view, memory)

        return jax.lax.scan(step, (lanes, see.begin(view)), None, 7)[1]

    assert run(sociarium.key(0)).shape == (7, 3, 2, *see.shape)


@pytest.mark.parametrize("name", ["coins-v0", "harvest_open-v0", "clean_up-v0"])
def test_rgb_is_the_picture_a_person_sees(name):
    env = sociarium.make(name)
    params, see = env.params(), Rgb(env, 8)
    state = compiled(env, "reset")(sociarium.key(5), params)
    moves = np.random.default_rng(0).integers(0, len(env.actions), (25, env.players))
    for clock, actions in enumerate(jnp.asarray(moves, jnp.int32)):
        state, _ = compiled(env, "step")(sociarium.key(clock), state, actions, params)
    view = compiled(env, "observe")(state, params)
    seen = np.asarray(jax.jit(see.look)(view, ()))
    occupied = np.asarray(view.cells)[:, env.view_spec.plane("occupant")] > 0
    for player in range(env.players):
        scene = env.scene(state, params, player=player)
        wanted = np.asarray(pixels.board(scene, 8))
        same = cells_of((seen[player] == wanted).all(-1)).all((2, 3))
        assert same[~_near(occupied[player])].all()
        centre = cells_of((seen[player] == wanted).all(-1))[:, :, 2:6, 2:6].all((2, 3))
        edges = np.zeros_like(centre)
        edges[[0, -1]] = edges[:, [0, -1]] = True
        assert centre[~edges].all()


def cells_of(pixels):
    """A picture's pixels by cell."""
    rows, cols = pixels.shape[0] // 8, pixels.shape[1] // 8
    return pixels.reshape(rows, 8, cols, 8).swapaxes(1, 2)


def _near(occupied):
    padded = np.pad(occupied, 1)
    rows, cols = occupied.shape
    return np.any([padded[y : y + rows, x : x + cols] for y in range(3) for x in range(3)], axis=0)


def test_wrong_arguments_are_refused(meadow):
    with pytest.raises(UnknownName, match="occupant"):
        OneHot(meadow, planes=("ocupant",))
    with pytest.raises(BadArgument, match="at least 1 frame"):
        FrameStack(OneHot(meadow), 0)
    with pytest.raises(BadArgument, match="at least 4 pixels"):
        Rgb(meadow, 2)


@pytest.fixture(scope="module")
def society():
    """Two who can connect, so that each sees through the other's window, speak and make pacts."""
    return Society(Meadow(players=2), Open(), Speech(words=2), Pacts(drafts=1))


TOLD = {
    "codes": Codes,
    "one-hot": OneHot,
    "flat": lambda env: LastAction(Flat(AgentId(OneHot(env)))),
    "stack": lambda env: FrameStack(Codes(env), 2),
}


@pytest.mark.parametrize("make", TOLD.values(), ids=TOLD.keys())
def test_everything_a_society_tells_is_shown(make, society):
    see, spec = make(society), society.view_spec
    numbers = sights.drawn(spec, 3, society.players)
    look = jax.jit(lambda view: see.look(view, see.begin(view)))
    before = np.asarray(look(sights.as_view(numbers)))
    assert before.shape == (3, society.players, *see.shape) and before.dtype == see.dtype
    assert see.low <= before.min() and before.max() <= see.high
    assert len(set(see.channels)) == len(see.channels) == see.shape[-1]
    shown = {}
    for (field, which), other in sights.changes(spec, numbers):
        after = np.asarray(look(sights.as_view(other)))
        assert (before != after).reshape(3 * society.players, -1).any(1).all(), (field, which)
        shown[field] = which
    assert tuple(shown) == tuple(field for field in sights.FIELDS if field not in ("own", "shared"))


def test_codes_of_a_society_are_the_numbers_it_tells(society):
    see, spec = Codes(society), society.view_spec
    numbers = sights.drawn(spec, society.players)
    seen = np.asarray(see.look(sights.as_view(numbers), ()))
    shown = dict(zip(see.channels, np.moveaxis(seen, -1, 0), strict=True))
    group = [tie.name for tie in spec.social.ties].index("group")
    for player in range(society.players):
        assert (shown["society: member"][player] == numbers["social.own"][player, 0]).all()
        for contact in range(2):
            told = numbers["social.ties"][player, contact, group]
            assert (shown[f"contact {contact}: group"][player] == told).all()
        ahead, right, turned = numbers["social.offsets"][player, 0]
        assert (shown["shared view 0: cells ahead"][player] == ahead).all()
        assert (shown["shared view 0: cells to the right"][player] == right).all()
        assert (shown["shared view 0: turned"][player] == turned).all()
        assert (
            shown["shared view 0: whose"][player] == numbers["social.shared_view"][player, 0]
        ).all()
        window = numbers["social.windows"][player, 0, spec.plane("ground")]
        np.testing.assert_array_equal(shown["shared view 0: ground"][player], window)


def test_a_picture_refuses_a_society_that_it_would_leave_out(society):
    with pytest.raises(BadArgument, match="what a society tells"):
        Rgb(society)
