"""Citizens of a society: who keeps the law, who breaks it, who punishes, who signs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.players.roster import Seat, player

LAW = "coins+law?took_other=1"
STEPS = 60


def played(seats, env=LAW, steps=STEPS, **numbers):
    env = sociarium.make(env) if isinstance(env, str) else env
    return rollout(env, seats, steps=steps, params=env.params(**numbers))


def happened(episode, kind):
    return [(row.actor, row.target) for row in episode.events if row.kind == kind]


def seen(env, state, seat):
    """What a player is told of its society."""
    return jax.tree.map(lambda x: x[seat], env.observe(state, env.params()).social)


@pytest.fixture(scope="module")
def cooperating():
    return played("script:cooperator*2").actions


@pytest.fixture(scope="module")
def defecting():
    return played("script:defector*2").actions


def test_lawful_cooperates_while_something_is_fined_and_defects_where_nothing_is(
    cooperating, defecting
):
    assert np.array_equal(played("script:lawful*2").actions, cooperating)
    assert np.array_equal(played("script:lawful*2", fine=0.0).actions, defecting)
    assert not np.array_equal(cooperating, defecting)


def test_lawful_heeds_a_clause_of_a_constitution_only_while_it_is_in_force():
    for enacted in (0, 1):
        env = sociarium.make(f"coins+constitution?took_other=3&enacted={enacted}")
        worker = player(Seat("script", "lawful"), env).worker
        fine = worker.fine(seen(env, env.reset(sociarium.key(0), env.params()), seat=0))
        assert float(fine) == 3 * enacted and bool(worker.yields(fine, jnp.float32(0))) == enacted


def test_an_opportunist_keeps_the_law_where_a_breach_costs_more_than_it_is_worth(
    cooperating, defecting
):
    seats = "script:opportunist?worth=2*2"
    assert np.array_equal(played(seats, fine=2.5).actions, cooperating)
    assert np.array_equal(played(seats, fine=2.0).actions, defecting)


def test_an_opportunist_cooperates_while_a_punishment_still_hurts():
    env = sociarium.make("coins+sanction?ways=punish&ratio=4")
    worker = player(Seat("script", "opportunist", (("worth", "2"), ("lately", "10"))), env).worker
    params = env.params()
    state = env.reset(sociarium.key(0), params)
    hits = jnp.array([len(env.world.actions) + 1, 0], jnp.int32)  # seat 0 punishes seat 1
    state, _ = jax.jit(env.step)(sociarium.key(1), state, hits, params)
    social = seen(env, state, seat=1)
    fear = worker.afraid(social, jnp.float32(0))
    assert float(fear) == 4.0 and bool(worker.yields(jnp.float32(0), fear))
    calm = jax.tree.map(jnp.zeros_like, social)
    for _ in range(10):
        fear = worker.afraid(calm, fear)
    assert abs(float(fear) - 2.0) < 1e-5 and not bool(worker.yields(jnp.float32(0), fear - 1e-3))


def test_the_lawful_do_not_attack_where_attacks_are_fined():
    env = sociarium.make("harvest_one_tree+law?zapped=1")
    seats = "script:lawful?keeps=raider*3"
    assert happened(played(seats, env), "fired") == []
    assert happened(played("script:raider*3", env), "fired") != []


def test_a_punisher_punishes_whom_it_saw_being_unkind_and_nobody_else():
    env = "coins+sanction?ways=punish"
    found = played("script:punisher?every=2 script:defector", env, steps=300)
    assert set(happened(found, "punished")) == {(0, 1)}
    found = played("script:punisher?every=2 script:cooperator", env, steps=300)
    assert not happened(found, "punished")


def test_a_punisher_goes_by_reputation_where_it_is_told():
    env = "coins+law?took_other=1+sanction?ways=punish+reputation"
    found = played("script:punisher script:defector", env, steps=300)
    assert set(happened(found, "punished")) == {(0, 1)}


def test_a_party_proposes_approves_signs_and_stays():
    env = sociarium.make("coins+agreements")
    episode = played("script:party?terms=2*2", env)
    assert [who for who, _ in happened(episode, "made a proposal")] == [0, 1]
    assert len(happened(episode, "signed up")) == 2
    assert episode.gauges["parties"][-1] == 2


def test_a_party_delegates_to_a_mediator():
    assert played("script:party*2", "coins+mediation").gauges["delegators"][-1] == 2


def moves(seats, world):
    """Who made the cooperative move in each round of a game of two."""
    return played(seats, world).actions[-3:] == 2


def test_a_signatory_cooperates_while_it_is_a_party_and_only_then():
    game = "matrix?rounds=3+agreements?terms=whoever plays cooperate gets 2"
    assert moves("script:signatory*2", game).all()
    assert not moves("script:signatory script:defector", game).any()
    assert moves("script:signatory script:cooperator", game).tolist() == [[False, True]] * 3


def test_a_discriminator_cooperates_while_all_others_have_a_good_name():
    game = "matrix?rounds=3+law?clauses=whoever plays defect pays 0+reputation?decay=0.5"
    assert moves("script:discriminator*2", game).all()
    assert moves("script:discriminator script:cooperator", game).all()
    assert moves("script:discriminator script:defector", game)[:, 0].tolist() == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("world", "seat", "message"),
    [
        ("coins+speech", "lawful", "needs a law to keep"),
        ("coins+law?took_own=-1", "lawful", "needs a law to keep"),
        ("coins+speech", "opportunist", "something to fear"),
        ("coins+speech", "punisher", "in which one can punish"),
        ("coins+speech", "party", "in which one can propose"),
        ("coins+mediation", "signatory", "a charter with `agreements`"),
        ("coins+speech", "discriminator", "a charter with `reputation`"),
        ("frontier_easy+sanction", "cooperator?social=punisher", "cooperator"),
        ("frontier_easy+sanction", "gatherer?social=punisher", "reputation"),
    ],
)
def test_citizens_say_what_they_need(world, seat, message):
    env = sociarium.make(world)
    name, _, query = seat.partition("?")
    options = tuple(tuple(pair.split("=")) for pair in query.split("&") if pair)
    with pytest.raises((BadArgument, UnknownName), match=message):
        player(Seat("script", name, options), env)


def test_a_bare_world_has_no_lawful_citizens():
    with pytest.raises(UnknownName, match="lawful"):
        player(Seat("script", "lawful"), sociarium.make("coins"))
