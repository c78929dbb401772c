"""Any world under any charter: the same contract, the same world, words and clauses."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium import catalogue
from sociarium.charters.contract import Contract
from sociarium.charters.law import Law
from sociarium.charters.none import NoCharter
from sociarium.charters.open import Open
from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from sociarium.core.actions import action_names, find_action
from sociarium.core.environment import compiled
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.specs import seat_planes
from sociarium.mechanics.parts import Parts
from sociarium.mechanics.social import NOBODY
from tests.charters.sharing import proceedings
from tests.families import ARTICLES, FAMILIES, WORLDS, charter_of, in_ci
from tests.toys.meadow import Meadow

EAGER = {"jit equals eager"}  # tried in tests/test_contract.py


@pytest.mark.parametrize("charter", in_ci(ARTICLES, ["negotiation", "open"]))
def test_every_world_has_its_shapes_under_every_charter(charter):
    for name in FAMILIES:
        world = sociarium.make(name)
        society = catalogue._society(world, charter_of(charter, world, words=2))
        params = society.params()
        state = jax.eval_shape(society.reset, sociarium.key(0), params)
        actions = jax.ShapeDtypeStruct((society.players,), jnp.int32)
        after, transition = jax.eval_shape(society.step, sociarium.key(0), state, actions, params)
        view = jax.eval_shape(society.observe, state, params)
        assert jax.tree.structure(after) == jax.tree.structure(state)
        assert transition.reward.shape == (society.players,)
        assert view.social.ties.shape[1:] == (
            society.view_spec.social.contacts,
            len(society.view_spec.social.ties),
        )


@pytest.mark.parametrize("charter", in_ci(ARTICLES, ["contract", "agreements"]))
def test_a_small_world_keeps_the_contract_under_every_charter(charter):
    world = sociarium.make("coins-v0")
    sociarium.check(sociarium.make("coins-v0", charter=charter_of(charter, world)), skip=EAGER)


@pytest.mark.parametrize("charter", ["contract", "open"])
def test_the_frontier_keeps_the_contract_under_a_charter(charter):
    sociarium.check(sociarium.make("frontier_easy-v0", charter=charter), skip=EAGER)


@pytest.mark.slow
@pytest.mark.parametrize(("world", "charter"), [*itertools.product(WORLDS, ARTICLES)])
def test_every_world_keeps_the_contract_under_every_charter(world, charter):
    charter = charter_of(charter, sociarium.make(world), words=2)
    sociarium.check(sociarium.make(world, charter=charter), skip=EAGER)


def test_a_world_from_elsewhere_can_be_put_under_a_charter():
    sociarium.check(Society(Meadow(), Contract(rounds=1), Speech(words=2)), skip=EAGER)


@pytest.mark.parametrize("name", ["coins-v0", "frontier_easy-v0"])
def test_without_a_charter_a_society_plays_as_its_world_does(name):
    world = sociarium.make(name)
    society = Society(world, NoCharter())
    params = society.params()
    state, bare = (
        society.reset(sociarium.key(3), params),
        world.reset(sociarium.key(3), params.world),
    )
    steps = jax.jit(society.step), jax.jit(world.step)
    for clock in range(20):
        actions = np.random.default_rng(clock).integers(0, len(world.actions), world.players)
        key, actions = sociarium.key(clock), jnp.asarray(actions, jnp.int32)
        state, transition = steps[0](key, state, actions, params)
        bare, paid = steps[1](key, bare, actions, params.world)
        assert jax.tree.all(jax.tree.map(np.array_equal, state.world, bare))
        np.testing.assert_array_equal(transition.raw, paid.raw)
        np.testing.assert_allclose(transition.reward, paid.reward, atol=1e-5)


def test_a_society_is_asked_for_by_name_with_arguments_for_both():
    society = sociarium.make("harvest_open?map_seed=7+contract?rounds=2+speech?words=4", players=3)
    assert society.id == "harvest_open-v0?map_seed=7+contract?rounds=2+speech?words=4"
    assert int(society.params().charter["contract"].deliberation) == 6
    assert {"say 3 to all", "join group 2"} <= set(action_names(society.actions))
    again = sociarium.make(society.id, players=3)
    assert again.actions == society.actions


def test_numbers_of_world_and_charter_are_changed_by_name():
    society = sociarium.make("clean_up+contract")
    params = society.params(deliberation=3, waste_chance=0.25)
    assert int(params.charter["contract"].deliberation) == 3
    assert float(params.world.waste_chance) == 0.25
    params = society.params(**{"contract.deliberation": 4})
    assert int(params.charter["contract"].deliberation) == 4
    with pytest.raises(UnknownName, match="deliberation"):
        society.params(deliberations=3)


def test_unknown_charters_and_arguments_are_refused():
    with pytest.raises(UnknownName, match="contract"):
        sociarium.make("clean_up+contrakt")
    with pytest.raises(UnknownName, match="rounds"):
        sociarium.make("clean_up+contract?round=2")


def test_a_society_cannot_be_put_under_another_charter():
    with pytest.raises(BadArgument, match="its world"):
        Society(sociarium.make("clean_up+contract"), Contract())


def heard(society, params, actions):
    state = society.reset(sociarium.key(0), params)
    numbers = jnp.array([find_action(society.actions, name) for name in actions], jnp.int32)
    after, transition = society.step(sociarium.key(1), state, numbers, params)
    plane = [tie.name for tie in society.view_spec.social.ties].index("said")
    return np.asarray(society.observe(after, params).social.ties)[..., plane], transition, after


def test_words_reach_whom_they_are_said_to_in_the_next_view_and_are_gone_then():
    society = sociarium.make("coins+speech?words=3", players=3)
    params = society.params()
    said, transition, after = heard(society, params, ["say 2 to seat 1", "say 0 to all", "stay"])
    assert said.tolist() == [[0, 1, 0], [3, 0, 0], [0, 1, 0]]
    assert transition.events["said"].mask.tolist() == [True, True, False]
    later, _ = society.step(sociarium.key(2), after, jnp.zeros(3, jnp.int32), params)
    assert not np.asarray(society.observe(later, params).social.ties)[..., -1].any()


def told(society, state, params, name):
    """A plane of the ties by its name, as [player, contact]."""
    plane = [tie.name for tie in society.view_spec.social.ties].index(name)
    return np.asarray(compiled(society, "observe")(state, params).social.ties)[..., plane]


def test_contacts_are_told_by_their_seats_and_jobs():
    society = sociarium.make("contract_easy-v0")
    params = society.params()
    state = compiled(society, "reset")(sociarium.key(0), params)
    assert told(society, state, params, "seat").tolist() == [[1, 2, 3, 4]] * 4
    job = next(tie for tie in society.view_spec.social.ties if tie.name == "job")
    assert job.codes == ("none", "carpenter", "miner")
    assert told(society, state, params, "job").tolist() == [[1, 1, 2, 2]] * 4


def test_no_two_contacts_have_the_same_seat_however_many_there_are():
    for seats in (2, 255, 256, 300, 65_536, 1_000_000):
        planes = seat_planes(seats)
        sizes = [len(plane.codes) for plane in planes]
        assert max(sizes) <= 256
        codes = np.stack([np.arange(seats + 1) >> 8 * place & 0xFF for place in range(len(planes))])
        assert (codes.max(1) < sizes).all() and len(np.unique(codes, axis=1).T) == seats + 1
    society = Society(Meadow(players=300), Open())
    near = jnp.full((300, 8), NOBODY).at[:, 0].set(jnp.arange(300)[::-1])
    whom = np.asarray(near)
    own = jnp.zeros((300, 0), jnp.int16)
    low, high = np.moveaxis(np.asarray(society._identity(own, near)), -1, 0).astype(int)
    np.testing.assert_array_equal(low + 256 * high - 1, whom)


def test_nobody_speaks_to_itself():
    society = sociarium.make("coins+speech?words=3", players=3)
    legal = society.legal(society.reset(sociarium.key(0), society.params()), society.params())
    for seat in range(3):
        assert not legal[seat, find_action(society.actions, f"say 0 to seat {seat}")]
        assert legal[seat, find_action(society.actions, "say 0 to all")]


def test_speech_costs_the_action_unless_it_is_free():
    quiet = sociarium.make("coins+speech?words=3", players=3)
    talking = sociarium.make("coins+speech?words=3&free=1", players=3)
    for society, names, steps in (
        (quiet, ["say 1 to all", "stay", "stay"], False),
        (talking, ["turn left, say 1 to all", "stay", "stay"], True),
    ):
        params = society.params()
        start = society.reset(sociarium.key(0), params)
        said, _, after = heard(society, params, names)
        assert said[1, 0] == said[2, 0] == 2
        turned = (after.world.heading != start.world.heading).tolist()
        assert turned == [steps, False, False]


def test_a_law_fines_who_does_it_and_pays_the_others():
    society = Society(sociarium.make("coins-v0", players=3), Law(took_own=2.0))
    (law,), params = society.charter.articles, society.params()
    state = society.reset(sociarium.key(0), params)
    _, transition = society.world.step(
        sociarium.key(0), state.world, jnp.zeros(3, jnp.int32), params.world
    )
    ate = eqx.tree_at(
        lambda e: e.mask, transition.events["took_own"], jnp.array([True, False, False])
    )
    step = proceedings(society, {"took_own": ate})
    before = Parts.of(jnp.array([1.0, 0.0, 0.0]))
    left, _, events = law.adjust(before, state.social["law"], step, params.charter["law"])
    np.testing.assert_allclose(left.points(), [-1, 1, 1])
    assert events["broke law 1"].mask.tolist() == [True, False, False]
    sociarium.check(society, skip=EAGER)


def test_laws_name_events_and_their_kinds():
    society = sociarium.make("frontier_easy+law?picked wood=1")
    assert [one.conduct.name for one in society.charter.articles[0].clauses] == ["picked wood"]
    with pytest.raises(UnknownName, match="wood"):
        sociarium.make("frontier_easy+law?picked gold=1")
    with pytest.raises(UnknownName, match="picked"):
        sociarium.make("frontier_easy+law?piked=2")
    with pytest.raises(BadArgument, match=r"law\?zapped=2"):
        sociarium.make("frontier_easy+law?picked=wood")


def test_every_article_of_a_charter_has_a_name_state_and_numbers_of_its_own():
    society = sociarium.make("coins+contract?rounds=1+speech?words=2+pacts?drafts=2+law?took_own=2")
    names = ["contract", "speech", "pacts", "law"]
    assert [article.name for article in society.charter.articles] == names
    params = society.params()
    state = jax.eval_shape(society.reset, sociarium.key(0), params)
    assert set(state.social) == set(params.charter) == set(names)
    sociarium.check(society, skip=EAGER)


def test_no_two_articles_claim_the_same_thing():
    with pytest.raises(BadArgument, match="shares"):
        sociarium.make("coins+contract+open")
    with pytest.raises(BadArgument, match="name"):
        sociarium.make("coins+speech+speech?words=2")


def test_speech_that_costs_nothing_comes_last():
    with pytest.raises(BadArgument, match="last"):
        sociarium.make("coins+speech?words=2&free=1+pacts")
    sociarium.make("coins+pacts+speech?words=2&free=1")


def test_an_article_adds_nothing_to_the_draws_of_another():
    alone, together = (sociarium.make(f"coins+{name}") for name in ("contract", "contract+pacts"))
    for seed in range(5):
        orders = [
            compiled(env, "reset")(sociarium.key(seed), env.params()).social["contract"].order
            for env in (alone, together)
        ]
        np.testing.assert_array_equal(*orders)
