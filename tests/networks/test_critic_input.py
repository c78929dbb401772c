"""Every network sees every part of a view that its spec declares, at a bearable cost."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core.environment import View, compiled
from sociarium.core.errors import BadArgument
from sociarium.core.specs import OwnSpec, PlaneSpec, SocialSpec, ViewSpec, seat_planes
from sociarium.networks import graphs
from sociarium.networks.actor_critic import NetworkConfig, PerSeat, actor_critic
from sociarium.networks.critics import CriticInput
from sociarium.networks.graphs import society
from sociarium.networks.q_values import QNetworkConfig, q_values
from tests import sights
from tests.networks.filled import filled

PLAYERS, ACTIONS, LANES = 3, 4, 2
TOLD = SocialSpec(
    own=(PlaneSpec("stage", ("talk", "work")), PlaneSpec("turn", ("theirs", "mine"))),
    ties=(
        PlaneSpec("who", ("another", "myself")),
        PlaneSpec("group", ("none", "red", "blue"), role="group"),
        *seat_planes(300),
        PlaneSpec("job", ("none", "carpenter", "miner")),
    ),
    contacts=PLAYERS,
    shared_views=2,
    seats=300,
    far=9,
)
SPEC = ViewSpec(
    (
        PlaneSpec("ground", ("none", "grass", "sand"), "ground"),
        PlaneSpec("seat", ("nobody", "a", "b"), "seat"),
    ),
    2,
    3,
    (1, 1),
    (OwnSpec("age", 0, 9), OwnSpec("debt", -9, 9)),
    TOLD,
    (OwnSpec("orders", 0, 5),),
)


def reads(config):
    """The logits of an actor with these weights, shared or one set for each seat."""
    seats = PerSeat(config.shared, PLAYERS)

    def logits(weights, view):
        memory = weights.core.begin(LANES, PLAYERS)
        features, _ = seats.read(weights, view, jnp.zeros((1, LANES), bool), memory)
        return seats.logits(weights, features, jnp.ones((1, LANES, PLAYERS, ACTIONS), bool))

    def new(key):
        return actor_critic(key, config, SPEC, PLAYERS, ACTIONS, 1)

    return logits, filled(new, copies=() if config.shared else (PLAYERS,))


def judges():
    """The values of a critic that sees all views."""

    def new(key):
        return actor_critic(key, NetworkConfig(critic_sees="views"), SPEC, PLAYERS, ACTIONS, 1)

    def values(weights, view):
        return weights.value(CriticInput(view), jnp.arange(PLAYERS))[..., None]

    return values, filled(new)


def reckons(torso):
    """The values of actions."""
    zero = jnp.float32(0)
    config = QNetworkConfig(torso=torso, atoms=0)
    return (
        lambda weights, view: weights(view)[..., 0],
        filled(lambda key: q_values(key, config, SPEC, ACTIONS, zero, zero, zero)),
    )


NETWORKS = {
    "lean": lambda: reads(NetworkConfig()),
    "paper": lambda: reads(NetworkConfig(torso="paper")),
    "recurrent, seat by seat": lambda: reads(NetworkConfig(core="gru", shared=False)),
    "critic of views": judges,
    "action values": lambda: reckons("lean"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_declared_part_of_a_view_changes_what_a_network_says(name):
    answer, weights = NETWORKS[name]()
    answer = jax.jit(answer)
    numbers = sights.drawn(SPEC, 1, LANES, PLAYERS)
    before = np.asarray(answer(weights, sights.as_view(numbers)))
    parts = dict(sights.changes(SPEC, numbers))
    assert len(parts) == 2 + 2 + 1 + 2 + len(TOLD.ties) + TOLD.shared_views + 3 + 2
    for part, other in parts.items():
        after = np.asarray(answer(weights, sights.as_view(other)))
        assert (abs(after - before).max(-1) > 1e-6).all(), part


def test_a_network_of_a_bare_world_and_a_societys_view_are_kept_apart():
    bare = dataclasses.replace(SPEC, social=None)
    told = sights.as_view(sights.drawn(SPEC, 1, LANES, PLAYERS))
    alone = View(told.cells, told.own)
    for spec, view in ((bare, told), (SPEC, alone)):
        made = jax.eval_shape(
            lambda key, spec=spec: actor_critic(key, NetworkConfig(), spec, PLAYERS, ACTIONS, 1),
            sociarium.key(0),
        )
        with pytest.raises(BadArgument, match="view spec"):
            made.read(view, jnp.zeros((1, LANES), bool), ())


def of(contacts):
    """A spec of a society with so many contacts, each of which may have a group of its own."""
    groups = PlaneSpec("group", ("none", *map(str, range(contacts))), role="group")
    social = SocialSpec((), (TOLD.ties[0], groups), contacts)
    return ViewSpec(SPEC.planes, 2, 3, (1, 1), (), social)


def told(contacts, *batch):
    numbers = sights.drawn(of(contacts), *batch)
    return sights.as_view(numbers).social


def largest(contacts):
    """The size of the largest array on the way to one player's features."""
    made = jax.eval_shape(lambda key: society(key, of(contacts)), sociarium.key(0))
    found = jax.make_jaxpr(lambda made, seen: made(seen))(made, told(contacts, 1))
    return max(var.aval.size for step in found.jaxpr.eqns for var in step.outvars)


def test_a_players_features_cost_in_proportion_to_its_contacts():
    assert largest(256) / largest(64) < 4.5


def test_many_contacts_hear_what_few_would(monkeypatch):
    made, seen = filled(lambda key: society(key, of(7))), told(7, 2, 5)
    few = np.asarray(jax.jit(lambda made, seen: made(seen))(made, seen))
    monkeypatch.setattr(graphs, "FEW", 0)
    many = np.asarray(jax.jit(lambda made, seen: made(seen))(made, seen))
    np.testing.assert_allclose(few, many, rtol=1e-4, atol=1e-5)


def test_a_carpenter_beside_a_miner_says_something_else_than_beside_a_carpenter():
    env = sociarium.make("contract_easy-v0")
    params, spec = env.params(), env.view_spec
    state = compiled(env, "reset")(sociarium.key(0), params)
    made = filled(
        lambda key: actor_critic(key, NetworkConfig(), spec, env.players, len(env.actions), 1)
    )

    @jax.jit
    def logits(made, group):
        joined = eqx.tree_at(lambda s: s.social["contract"].group, state, group)
        social = env.observe(joined, params).social
        view = env.observe(state, params)
        view = jax.tree.map(lambda x: x[None, None], View(view.cells, view.own, social=social))
        features, _ = made.read(view, jnp.zeros((1, 1), bool), ())
        return made.logits(features, jnp.ones((1, 1, env.players, len(env.actions)), bool))[0, 0, 0]

    with_carpenter, with_miner = (
        logits(made, jnp.array(group)) for group in ([0, 0, -1, -1], [0, -1, 0, -1])
    )
    assert abs(np.asarray(with_carpenter - with_miner)).max() > 1e-4
