"""Every preference on numbers worked by hand, in mixes, and as the words that name it."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sociarium
from sociarium.core import random
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.learning import preferences
from sociarium.learning.preferences import (
    Common,
    Exchange,
    Inequity,
    Mixed,
    Preference,
    Selfish,
    Shaped,
    Svo,
    parse,
)
from sociarium.learning.rollout_worker import RolloutWorker

RIGHT = math.pi / 2  # 90 degrees
points = st.lists(st.integers(-8, 8).map(lambda n: n / 4), min_size=2, max_size=4)


def utility(preference, reward, progress=0.0):
    wanted, _ = preference.wants(
        jnp.array(reward, jnp.float32), preference.begin(len(reward)), progress
    )
    return np.asarray(wanted)


def close(left, right):
    np.testing.assert_allclose(left, np.array(right, np.float32), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reward", [[3.0], [1.0, -2.0], [0.0, 0.0, 5.0]])
def test_the_selfish_want_their_own_points(reward):
    assert (utility(Selfish(), reward) == np.float32(reward)).all()


@pytest.mark.parametrize(
    ("reward", "mean"), [([3.0], 3.0), ([1.0, -2.0], -0.5), ([0.0, 0.0, 6.0], 2.0)]
)
def test_common_is_the_mean_for_everybody(reward, mean):
    close(utility(Common(), reward), [mean] * len(reward))


@pytest.mark.parametrize(
    ("angle", "reward", "wanted"),
    [
        # Who gets 1 while the other gets 0 stands at 0 degrees, the other at 90.
        (0, [1.0, 0.0], [1.0, 0.0 - 0.5 * RIGHT]),
        (90, [1.0, 0.0], [1.0 - 0.5 * RIGHT, 0.0]),
        (45, [1.0, 0.0], [1.0 - 0.25 * RIGHT, -0.25 * RIGHT]),
        # Equal points are 45 degrees for both.
        (45, [2.0, 2.0], [2.0, 2.0]),
        (90, [2.0, 2.0], [2.0 - 0.25 * RIGHT, 2.0 - 0.25 * RIGHT]),
        # Taking the other's coin: (1, -2) is at -63.43 degrees, (-2, 1) at 153.43.
        (90, [1.0, -2.0], [1.0 - 0.5 * math.radians(153.43495), -2.0 - 0.5 * 1.1071487]),
        (0, [1.0, -2.0], [1.0 - 0.5 * math.atan(2), -2.0 - 0.5 * math.radians(153.43495)]),
        # Both lose the same: -135 degrees, which is 135 from 90 the shorter way round.
        (90, [-1.0, -1.0], [-1.0 - 0.75 * RIGHT, -1.0 - 0.75 * RIGHT]),
        # Three: the others of the first have (0 + 2) / 2, of the second 1.5, of the third 0.5.
        (
            45,
            [1.0, 0.0, 2.0],
            [1.0, -0.25 * RIGHT, 2.0 - 0.5 * (math.pi / 4 - math.atan(0.25))],
        ),
    ],
)
def test_svo_takes_half_the_distance_from_the_wished_angle(angle, reward, wanted):
    close(utility(Svo(angle), reward), wanted)


def test_svo_counts_the_angle_by_its_weight():
    close(utility(Svo(90, 0.2), [1.0, 0.0]), [1.0 - 0.2 * RIGHT, 0.0])


def test_a_quiet_step_costs_an_altruist_nothing_but_by_the_papers_letter_a_right_angle():
    assert (utility(Svo(90), [0.0, 0.0, 0.0]) == 0).all()
    close(utility(Svo(90, quiet_penalty=True), [0.0, 0.0, 0.0]), [-0.5 * RIGHT] * 3)
    close(utility(Svo(0, quiet_penalty=True), [0.0, 0.0, 0.0]), [0.0] * 3)


def test_by_the_papers_letter_angles_are_subtracted_and_not_measured_the_shorter_way():
    close(utility(Svo(90, quiet_penalty=True), [-1.0, -1.0]), [-1.0 - 0.5 * 2.5 * RIGHT] * 2)
    close(utility(Svo(90, quiet_penalty=True), [1.0, 0.0]), [1.0 - 0.5 * RIGHT, 0.0])


@pytest.mark.parametrize(
    ("s", "reward", "wanted"),
    [
        (0.5, [1.0, -2.0], [-0.5, -0.5]),
        (0.25, [4.0, 0.0], [1.0, 3.0]),
        (0.5, [2.0, 0.0, -4.0], [1.0 - 1.0, 0.0 - 0.5, -2.0 + 0.5]),
        (0.0, [2.0, 0.0, 4.0], [2.0, 3.0, 1.0]),
    ],
)
def test_exchange_keeps_a_share_and_gets_the_rest_from_the_others(s, reward, wanted):
    close(utility(Exchange(s), reward), wanted)


def test_a_scheduled_exchange_moves_in_a_straight_line_and_ends_exactly():
    third = np.float32(1 / 3)
    moving = Exchange(third, start=1.0)
    close([moving.share(p) for p in (0.0, 0.25, 0.5)], [1, 1 - 0.25 * 2 / 3, 1 - 0.5 * 2 / 3])
    assert moving.share(1.0) == third
    close(utility(moving, [3.0, 0.0, 0.0], 0.5), [2.0, 0.5, 0.5])
    early = Exchange(0.5, start=1.0, until=0.2)
    close([early.share(p) for p in (0.0, 0.1, 0.2, 0.9)], [1, 0.75, 0.5, 0.5])
    assert all(Exchange(third).share(p) == third for p in (0.0, 0.3, 0.7, 1.0))


@pytest.mark.parametrize(
    ("reward", "wanted"),
    [
        # alpha 5, beta 0.05: the poorer loses 5 times the gap, the richer 0.05 times.
        ([1.0, 0.0], [1 - 0.05, 0 - 5.0]),
        ([-2.0, 1.0], [-2 - 15.0, 1 - 0.15]),
        # Gaps to two others are halved: the middle one envies 2 and pities 1.
        ([0.0, 1.0, 3.0], [-5 * (1 + 3) / 2, 1 - 5 * 2 / 2 - 0.05 * 1 / 2, 3 - 0.05 * 5 / 2]),
        ([0.0, 0.0], [0.0, 0.0]),
        ([2.0], [2.0]),
    ],
)
def test_inequity_costs_envy_and_guilt(reward, wanted):
    close(utility(Inequity(5, 0.05), reward), wanted)


def test_inequity_is_felt_later_and_fades():
    averse = Inequity(1, 0.5, fading=0.5)
    memory = averse.begin(2)
    wanted = []
    for reward in ([4.0, 0.0], [0.0, 0.0], [0.0, 2.0]):
        felt, memory = averse.wants(jnp.array(reward), memory, 0.0)
        wanted.append(felt)
    # Smoothed: (4, 0), (2, 0), (1, 2).
    close(wanted, [[4 - 2.0, -4.0], [-1.0, -2.0], [-1.0, 2 - 0.5]])
    close(memory, [1.0, 2.0])


def test_many_players_are_compared_in_sorted_order_with_the_same_result(monkeypatch):
    reward = np.random.default_rng(0).integers(-9, 9, 40) / 4
    pairs = utility(Inequity(5, 0.05), reward)
    monkeypatch.setattr(preferences, "ALL_PAIRS", 8)
    np.testing.assert_allclose(utility(Inequity(5, 0.05), reward), pairs, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    "word",
    [
        "selfish",
        "common",
        "svo:90",
        "svo:90,0.5,quiet",
        "exchange:0.3",
        "exchange:1..0.2",
        "inequity:5,0.05",
    ],
)
@pytest.mark.parametrize("own", [-2.0, 0.0, 3.0])
def test_whoever_is_alone_wants_its_own_points(word, own):
    assert utility(parse(word, 1), [own], 0.5) == np.float32(own)


@given(points)
def test_what_must_hold_for_any_points(reward):
    close(utility(Common(), reward).mean(), np.mean(reward))
    assert (utility(Exchange(1), reward) == np.float32(reward)).all()
    close(utility(Exchange(1 / len(reward)), reward), utility(Common(), reward))
    close(utility(Exchange(0.3), reward).sum(), np.sum(reward))
    assert (utility(Svo(37, 0), reward) == np.float32(reward)).all()
    assert (utility(Inequity(0, 0), reward) == np.float32(reward)).all()
    for preference in (Svo(60), Inequity(2, 1)):
        assert (utility(preference, reward) <= np.float32(reward)).all()
    assert (utility(Svo(60), reward) >= np.float32(reward) - 0.5 * math.pi - 1e-5).all()


@given(points, st.randoms())
def test_preferences_do_not_care_who_is_who(reward, random):
    order = random.sample(range(len(reward)), len(reward))
    for preference in (Common(), Svo(30), Exchange(0.4), Inequity(2, 1)):
        close(utility(preference, np.array(reward)[order]), utility(preference, reward)[order])


def test_the_shaped_want_more_for_what_they_do_until_that_has_faded():
    did = {"potted": jnp.array([1, 0, 2]), "plated": jnp.array([0, 1, 0])}
    reward = jnp.array([20.0, 20.0, 20.0])
    stays = Shaped({"potted": 3.0, "plated": 5.0})
    fades = Shaped({"potted": 3.0, "plated": 5.0}, until=0.5)
    for preference, progress, left in ((stays, 0.9, 1.0), (fades, 0.25, 0.5), (fades, 0.5, 0.0)):
        wanted, _ = preference.wants(reward, (), progress, did)
        close(wanted, [20 + 3 * left, 20 + 5 * left, 20 + 6 * left])
    mixed = parse("shaped:potted=3 selfish*2", 3)
    assert mixed.reads == ("potted",)
    close(mixed.wants(reward, mixed.begin(3), 0.0, did)[0], [23, 20, 20])


def test_what_the_shaped_look_at_must_be_an_event_of_the_world():
    worker = RolloutWorker(sociarium.make("overcooked"), 4)
    params, preference = worker.env.params(), parse("shaped:potted=3,fried=1", 2)
    rollout = jax.eval_shape(lambda: worker.begin(random.key(0), params, preference))
    step = lambda rollout: worker.step(  # noqa: E731
        rollout, jnp.zeros((4, 2), jnp.int32), rollout.minds, params, preference, jnp.float32(0)
    )
    with pytest.raises(UnknownName, match="fried"):
        jax.eval_shape(step, rollout)


def test_each_seat_of_a_mix_wants_its_own_kind_of_thing():
    mixed = parse("svo:90 selfish inequity:5,0.05 common svo:90", 5)
    reward = [1.0, 2.0, 0.0, -3.0, 5.0]
    assert isinstance(mixed, Mixed)
    assert len(mixed.kinds) == 4
    alike = [Svo(90), Selfish(), Inequity(5, 0.05), Common(), Svo(90)]
    close(utility(mixed, reward), [utility(p, reward)[seat] for seat, p in enumerate(alike)])


def test_a_mix_remembers_for_each_kind():
    mixed, averse = parse("selfish inequity:1,1", 2), Inequity(1, 1)
    memory, alone = mixed.begin(2), averse.begin(2)
    for reward in (jnp.array([3.0, 0.0]), jnp.array([0.0, 1.0])):
        wanted, memory = mixed.wants(reward, memory, 0.0)
        felt, alone = averse.wants(reward, alone, 0.0)
        close(wanted, [reward[0], felt[1]])


@pytest.mark.parametrize(
    "words",
    [
        "selfish",
        "common",
        "svo:90",
        "svo:22.5",
        "svo:-45,0.2",
        "svo:90,0.5,quiet",
        "exchange:0.5",
        "exchange:1..0.14285715",
        "exchange:1..0.25,0.8",
        "inequity:5,0.05",
        "inequity:5,0.05,0.9",
        "shaped:potted=3,plated=5,until=0.5",
        "svo:90*3 selfish*4",
        "selfish svo:90*2 selfish common*3",
    ],
)
def test_a_preference_is_written_as_it_is_read(words):
    preference = parse(words, 7)
    assert str(preference) == words
    assert eqx.tree_equal(parse(preference.name, 7), preference)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(preference))


@given(st.floats(-180, 180, width=32), st.floats(0, 100, width=32))
def test_any_number_is_read_back_to_the_bit(angle, weight):
    assert eqx.tree_equal(parse(str(Svo(angle, weight)), 2), Svo(angle, weight))


def test_words_mean_what_they_say():
    assert eqx.tree_equal(parse("exchange:1/n", 4), Exchange(0.25))
    assert eqx.tree_equal(parse("exchange:1..1/n", 4), Exchange(0.25, start=1))
    assert eqx.tree_equal(parse("exchange:2/3", 4), Exchange(2 / 3))
    assert eqx.tree_equal(parse("svo:45,0.2", 4), Svo(45, 0.2))
    assert eqx.tree_equal(parse("svo:90,0.5,quiet", 4), Svo(90, quiet_penalty=True))
    assert eqx.tree_equal(parse("inequity:5,0.05", 4), Inequity(5, 0.05))
    assert isinstance(parse("selfish*7", 7), Selfish)
    assert isinstance(parse("svo:90 svo:90.0", 2), Svo)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "4 players need one preference for all or 4, one for each; none was given"),
        ("selfish*3", "'selfish\\*3' names 3"),
        ("svo:90*3 selfish*999999999999", "names 1000000000002"),
        ("svo", "write svo:angle"),
        ("svo:90,0.5,loud", "write svo:angle"),
        ("svo:north", "angle of svo must be a number, such as 0.5 or 1/n; given 'north'"),
        ("svo:nan", "angle of svo must be between -180 and 180; given 'nan'"),
        ("svo:90,-1", "weight of svo must be 0 or more"),
        ("svo:90,inf", "weight of svo must be 0 or more"),
        ("selfish:1", "'selfish:1' is not a preference; write selfish"),
        ("exchange:1.5", "s of exchange must be between 0 and 1"),
        ("exchange:1..", "s of exchange must be a number"),
        ("exchange:0.5,0.2", "'exchange:0.5,0.2' is not a preference; write exchange:s or"),
        ("exchange:1..0.5,0", "until of exchange must be between"),
        ("exchange:1/0", "s of exchange must be a number"),
        ("inequity:5", "write inequity:alpha,beta"),
        ("inequity:5,0.05,2", "fading of inequity must be between 0 and 1"),
        ("selfish*0", "write kind\\[:numbers\\]\\[\\*seats\\]"),
        ("90", "is not a preference; write kind"),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_form(words, message):
    with pytest.raises(BadArgument, match=message):
        parse(words, 4)


def test_an_unknown_kind_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match=r"no preference named 'selfsh'\. Did you mean selfish"):
        parse("selfsh", 4)
    with pytest.raises(UnknownName, match="Known: selfish, common, svo, exchange, inequity"):
        parse("zzz", 4)


@pytest.mark.parametrize(
    "words",
    ["selfish", "common", "svo:60", "exchange:1..1/n", "inequity:5,0.05", "svo:90 common*2"],
)
def test_lanes_are_a_vmap_and_a_compiled_step_gives_the_same(words):
    preference = parse(words, 3)
    reward = jnp.array([[1.0, 0.0, -2.0], [0.0, 0.0, 0.0], [3.0, 3.0, 1.0], [0.0, 5.0, 0.5]])
    memory = jax.tree.map(lambda x: jnp.tile(x, (4, 1)), preference.begin(3))

    @eqx.filter_jit
    def lanes(preference: Preference, reward, memory, progress):
        return jax.vmap(preference.wants, in_axes=(0, 0, None))(reward, memory, progress)

    wanted, after = lanes(preference, reward, memory, jnp.float32(0.5))
    close(wanted, [utility(preference, row, 0.5) for row in reward])
    assert jax.tree.structure(after) == jax.tree.structure(memory)


def test_angles_are_swept_by_vmap():
    angles = jnp.array([0.0, 22.5, 45.0, 67.5, 90.0])
    population = jax.vmap(Svo)(angles)
    reward = jnp.array([1.0, 0.0])
    wanted, _ = jax.vmap(lambda p: p.wants(reward, (), 0.0))(population)
    close(wanted, [[1 - 0.5 * a, -0.5 * (RIGHT - a)] for a in np.deg2rad(angles)])
