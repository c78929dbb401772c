"""Kitchens as societies: tips for who serves, pooled pay, and roles agreed by speech."""

import equinox as eqx
import jax.numpy as jnp

import sociarium
from sociarium.core.events import counts
from sociarium.envs.kitchens.overcooked import INTERACT, ITEMS

LAW = "overcooked+law?served=-5"
WORK = {
    "supplier": ({"skill": "fill_pot"}, {"skill": "fetch", "thing": "an onion"}),
    "waiter": ({"skill": "serve"}, {"skill": "plate_soup"}, {"skill": "fetch", "thing": "a dish"}),
}


def test_who_serves_is_tipped_by_the_others():
    env = sociarium.make(LAW, players=3)
    (law,) = env.charter.articles
    assert law.clauses[0].sentence == "Whoever serves anything gets 5 from the others."
    world, params = env.world, env.params()
    state = env.reset(sociarium.key(0), params)
    (hatch,) = jnp.flatnonzero(jnp.asarray(world.station == 5))
    soup = jnp.zeros(3, jnp.uint8).at[1].set(ITEMS.index("onion soup"))
    cells = state.world.body.at[1].set(hatch - world.terrain.cols).at[0].set(6)
    state = eqx.tree_at(
        lambda s: (s.world.body, s.world.heading, s.world.hands),
        state,
        (cells, jnp.full(3, 2), soup),
    )
    act = jnp.array([0, INTERACT, 0])
    _, done = env.step(sociarium.key(1), state, act, params)
    assert done.raw.tolist() == [20, 20, 20] and done.reward.tolist() == [17.5, 25, 17.5]
    tipped = done.events["earned by law 1"]
    assert tipped.mask.tolist() == [False, True, False] and tipped.value[1] == 5
    (spec,) = (spec for spec in env.event_specs if spec.name == "earned by law 1")
    assert counts(tipped, spec, 3).tolist() == [0, 1, 0]


def test_cooks_under_a_contract_join_first_and_then_share_every_order():
    env = sociarium.make("cuisine?level=0+contract?rounds=1")
    seats = "script:greedy?social=signer script:greedy?social=signer"
    match = sociarium.Match(env, seats, steps=30)
    match.run()
    rows = match.record().actions
    joins = {name: n for n, name in enumerate(one.name for one in env.actions)}["join group 0"]
    assert (rows[:2] == joins).any(0).all() and (rows[2:] != joins).all()
    assert match.raw_returns.sum() > 0
    assert match.reward_returns.tolist() == [match.raw_returns.mean()] * 2


def cook(role):
    """Does the work of its role, as far as it is offered now."""

    def decided(percept):
        offers = {offer.name: offer.things for offer in percept.skills}
        for task in WORK.get(role(percept), ()):
            if task["skill"] in offers and task.get("thing") in (None, *offers[task["skill"]]):
                return task
        return None

    return decided


def test_roles_are_agreed_by_speech_and_a_soup_is_served():
    heard = []

    def asks(percept):
        if percept.step == 0:
            return {"say": {"text": "I bring onions. You plate and serve?"}}
        return cook(lambda _: "supplier")(percept)

    def agrees(percept):
        heard.extend(message.text for message in percept.messages)
        return cook(lambda _: "waiter" if heard else "")(percept)

    env = sociarium.make("overcooked+speech")
    match = sociarium.Match(env, [asks, agrees], steps=60)
    match.run()
    assert heard == ["I bring onions. You plate and serve?"]
    assert not match.failures and match.raw_returns.tolist() == [20, 20]
