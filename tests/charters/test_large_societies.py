"""Societies of more players than can be named: nothing grows with their square, or they refuse."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium import catalogue
from sociarium.charters.article import CONTACTS
from sociarium.charters.hierarchy import Hierarchy
from sociarium.charters.negotiation import Negotiation
from sociarium.charters.open import TIES, Open
from sociarium.charters.society import Society
from sociarium.core.actions import action_names
from sociarium.core.errors import BadArgument
from sociarium.core.specs import ANONYMOUS
from sociarium.mechanics.social import NOBODY
from tests.charters.sharing import circumstances

MANY = 10_007  # a prime, so that an axis of this length is one of players
SMALL_ENOUGH = ("none", "contract", "open")
REST = "speech?words=2+pacts?drafts=2+law?picked wood=1"  # which do with any number of players


@pytest.fixture(scope="module")
def land():
    return sociarium.make("frontier_exploration", players=MANY, tiles=(40, 40))


@pytest.fixture(scope="module")
def crowd():
    return sociarium.make("coins-v0", players=300, tiles=(3, 3))


def shapes(jaxpr):
    """The shape of every array that a program makes, at any depth."""
    for equation in jaxpr.eqns:
        yield from (variable.aval.shape for variable in equation.outvars)
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")
        ):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield from shapes(inner)


@pytest.mark.parametrize("charter", SMALL_ENOUGH)
def test_no_array_has_two_axes_of_players(land, charter):
    society = catalogue._society(land, f"{charter}+{REST}")
    params = society.params()
    key = sociarium.key(0)
    state = jax.eval_shape(society.reset, key, params)
    actions = jax.ShapeDtypeStruct((MANY,), jnp.int32)
    programs = {
        "reset": (society.reset, key, params),
        "step": (society.step, key, state, actions, params),
        "observe": (society.observe, state, params),
        "legal": (society.legal, state, params),
        "gauges": (society.gauges, state, params),
    }
    for name, (program, *inputs) in programs.items():
        found = set(shapes(jax.make_jaxpr(program)(*inputs).jaxpr))
        assert any(MANY in shape for shape in found), name
        quadratic = [s for s in found if s.count(MANY) > 1 or np.prod(s) >= MANY**2]
        assert not quadratic, (name, quadratic)


@pytest.mark.parametrize("charter", ["structure", "schedule", "hierarchy", "negotiation"])
def test_charters_that_name_everybody_refuse_and_say_which_do_not(crowd, charter):
    with pytest.raises(BadArgument, match=r"256; given 300.*none, contract, open"):
        catalogue._society(crowd, charter)


def test_what_other_packages_bring_refuses_too_unless_it_says_that_it_need_not(crowd):
    class Own(type(catalogue.find_article("none").load()())):
        suits_large = False

    with pytest.raises(BadArgument, match="256"):
        Society(crowd, Own())


@pytest.mark.parametrize("charter", ["contract", "open"])
def test_a_society_of_300_takes_a_step_and_is_told_of_its_contacts(crowd, charter):
    society = catalogue._society(crowd, f"{charter}+speech?words=2")
    params = society.params()
    state = jax.jit(society.reset)(sociarium.key(0), params)
    stay = jnp.zeros(300, jnp.int32)
    state, transition = jax.jit(society.step)(sociarium.key(1), state, stay, params)
    told = jax.jit(society.observe)(state, params).social
    assert told.ties.shape[:2] == (300, len(society.charter.contacts))
    assert np.isfinite(np.asarray(transition.reward)).all()
    whom = np.asarray(circumstances(society, near=state.near, states=state.social).whom)
    assert whom.shape == (300, len(society.charter.contacts)) and (whom != NOBODY).any()
    assert "say 1 to near player 0" in action_names(society.actions)
    assert society.charter.nearby == CONTACTS


@pytest.mark.parametrize("charter", ["sanction+open", "open+sanction"])
def test_contacts_are_those_of_who_decides_about_them_before_and_after_it(crowd, charter):
    society = catalogue._society(crowd, charter)
    known = {article.name: article.contacts for article in society.charter.articles}
    assert known["sanction"] == known["open"] == society.charter.contacts
    assert len(known["open"]) > CONTACTS
    legal = jax.eval_shape(
        lambda: society.legal(society.reset(sociarium.key(0), society.params()), society.params())
    )
    assert legal.shape == (society.players, len(society.actions))


def test_seats_are_named_up_to_254_players_and_anonymous_beyond(crowd):
    few = sociarium.make("coins-v0", players=254, tiles=(3, 3))
    plane = few.view_spec.planes[few.view_spec.plane("seat")]
    assert plane.codes[0] == "nobody" and plane.codes[-1] == "seat 253"
    plane = crowd.view_spec.planes[crowd.view_spec.plane("seat")]
    assert plane.codes == ANONYMOUS and crowd.view_spec.seats_named == 0
    for env in (few, crowd):
        params = env.params()
        state = jax.jit(env.reset)(sociarium.key(0), params)
        cells = np.asarray(jax.jit(env.observe)(state, params).cells)
        seat = cells[:, env.view_spec.plane("seat")]
        mine = seat[:, env.view_spec.ego_origin[0], env.view_spec.ego_origin[1]]
        named = np.arange(1, 255) if env is few else np.ones(300)
        np.testing.assert_array_equal(mine, named)
        assert seat.max() == len(env.view_spec.planes[env.view_spec.plane("seat")].codes) - 1
    bodies = crowd.scene(state, params, player=7).bodies
    assert {body.seat for body in bodies} <= {7, -1} and 7 in {body.seat for body in bodies}


def test_a_lookout_is_told_by_its_seat_in_the_largest_named_society():
    world = sociarium.make("coins-v0", players=256, tiles=(3, 3))
    society = Society(world, Negotiation(sight=True))
    params = society.params()
    blank = jax.eval_shape(society.reset, sociarium.key(0), params)
    state = jax.tree.map(lambda x: jnp.asarray(np.zeros(x.shape, x.dtype)), blank)
    sight = np.zeros((256, 256), bool)
    sight[[0, 255, 254], [255, 0, 0]] = True
    state = eqx.tree_at(lambda s: s.social["negotiation"].sight, state, jnp.asarray(sight))
    shared_view = np.asarray(
        jax.jit(lambda state: society.observe(state, params).social.shared_view)(state)
    )
    assert shared_view[0].tolist() == [255, 256, 0, 0] and shared_view[255].tolist() == [1, 0, 0, 0]


def test_hierarchies_with_more_groups_than_codes_are_refused():
    world = sociarium.make("coins-v0", players=256, tiles=(3, 3))
    with pytest.raises(BadArgument, match="256 players in groups of 1 make 256"):
        Society(world, Hierarchy(size=1))
    society = Society(world, Hierarchy(size=2))
    params, now = society.params().charter, circumstances(society)
    state = society.charter.begin(sociarium.key(0), now, params)
    told = np.asarray(society.charter.tell(state, now, params).ties)[0]
    assert told[:, 0].tolist() == (np.arange(256) // 2 + 1).tolist()


class Witness(type(catalogue.find_article("none").load()())):
    """Keeps whom it was told about at the start and at the end of the last step."""

    name, suits_large, claims = "witness", True, ()

    def begin(self, key, now, params):
        return jnp.stack([now.whom, now.whom])

    def turn(self, key, state, now, params):
        return state.at[1].set(now.whom)


@pytest.mark.parametrize("open_first", [True, False])
def test_every_article_has_the_contacts_of_open_wherever_it_is_listed(crowd, open_first):
    articles = [Open(), Witness()] if open_first else [Witness(), Open()]
    society = Society(crowd, *articles)
    params, names = society.params(), action_names(society.actions)
    state = jax.jit(society.reset)(sociarium.key(0), params)
    seen = state.social["witness"]
    assert seen.shape == (2, 300, len(society.charter.contacts)) == (2, 300, TIES + CONTACTS)
    assert (seen[0, :, :TIES] == NOBODY).all() and (seen[0, :, TIES:] == state.near).all()
    connect = names.index("connect to near player 0")
    legal = jax.jit(society.legal)(state, params)[:, connect]
    state, _ = jax.jit(society.step)(sociarium.key(1), state, jnp.where(legal, connect, 0), params)
    tied = state.social["witness"][1, :, :TIES]
    assert legal.any() and (tied == state.social["open"].edges.to).all()
    assert ((tied != NOBODY).any(1) == legal).all()
