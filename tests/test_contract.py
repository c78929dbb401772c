"""The contract meets its future: a charter, a stranger's world and an asynchronous player."""

import asyncio

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.lanes import Lanes
from sociarium.charters.contract import Contract
from sociarium.charters.law import Law
from sociarium.charters.society import Society
from sociarium.charters.speech import Speech
from sociarium.conformance.contract import CLAUSES
from sociarium.core import random
from sociarium.core.actions import STAY, find_action
from sociarium.core.environment import mask_illegal
from sociarium.core.errors import ContractBroken, UnknownName
from sociarium.core.facets import Cooperation
from tests.families import FAMILIES, WORLDS, in_ci
from tests.toys.meadow import Meadow


def society_of(name: str) -> Society:
    """A world under a contract of one round, with a clause over one of its events, and words."""
    world = Meadow() if name == "meadow" else sociarium.make(name)
    clause = "smelled" if name == "meadow" else world.facet(Cooperation).refusals[0]
    return Society(world, Contract(rounds=1), Speech(words=2), Law(**{clause: 0.5}))


NAMES = ("meadow", *(name for name in FAMILIES if not name.startswith("frontier")))


EAGER = "jit equals eager"  # takes as long as all the others: hundreds of tiny programs


@pytest.mark.parametrize("name", in_ci(WORLDS))
def test_every_world_keeps_the_contract(name):
    assert sociarium.check(sociarium.make(name), skip={EAGER})


@pytest.mark.parametrize("name", in_ci(WORLDS, ["coins-v0"]))
def test_compiled_and_uncompiled_steps_of_a_world_agree(name):
    assert sociarium.check(sociarium.make(name), steps=2, skip={*CLAUSES} - {EAGER}) == (EAGER,)


def test_a_world_from_elsewhere_keeps_the_contract():
    assert sociarium.check(Meadow()) == tuple(CLAUSES)


@pytest.mark.parametrize("name", in_ci(["meadow", "coins-v0", "clean_up-v0"], ["meadow"]))
def test_a_society_is_again_an_environment(name):
    assert sociarium.check(society_of(name), skip={EAGER})


@pytest.mark.parametrize("name", in_ci(NAMES, ["meadow"]))
def test_nothing_moves_or_pays_while_the_world_stands_still(name):
    society = society_of(name)
    params = society.params(deliberation=2)
    state = society.reset(sociarium.key(0), params)
    step = jax.jit(society.step)
    for seed in range(2):
        forward = jnp.ones(society.players, jnp.int32)
        after, transition = step(sociarium.key(seed), state, forward, params)
        assert jax.tree.all(jax.tree.map(np.array_equal, after.world, state.world))
        assert not transition.reward.any() and not transition.truncated
        assert not any(kind.mask.any() for kind in transition.events.values())
        state = after
    after, _ = step(sociarium.key(9), state, forward, params)
    assert after.world.clock == 1


def test_a_clause_binds_whoever_does_it():
    society = society_of("meadow")
    params = society.params(deliberation=0)
    state = society.reset(sociarium.key(0), params)
    flower = int(np.flatnonzero(society.world.flower)[0])
    state = eqx.tree_at(lambda s: s.world.body, state, state.world.body.at[1].set(flower))
    _, transition = society.step(sociarium.key(1), state, jnp.zeros(3, jnp.int32), params)
    assert transition.raw.tolist() == [0, 1, 0]
    assert transition.reward.tolist() == [0.25, 0.5, 0.25]


class Ponderer:
    """An asynchronous player that reads its scene and answers with the name of an action."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.seen = []

    async def decide(self, scene, menu):
        await asyncio.sleep(self.delay)
        self.seen.append(scene)
        return menu[len(self.seen) % len(menu)]


@pytest.mark.parametrize("name", in_ci(NAMES, ["meadow"]))
def test_an_asynchronous_player_sits_beside_random_ones(name):
    def match(delay: float):
        env = society_of(name)
        params, ponderer = env.params(), Ponderer(delay)
        state = jax.jit(env.reset)(sociarium.key(3), params)
        step, legal = jax.jit(env.step), jax.jit(env.legal)

        async def play(state):
            for clock in range(4):
                key = jax.random.fold_in(sociarium.key(3), clock)
                words = random.bits(jax.random.fold_in(key, 1), env.players)
                actions = random.randint_from_bits(words, jnp.full(env.players, len(env.actions)))
                allowed = np.flatnonzero(legal(state, params)[0])
                menu = tuple(env.actions[action].name for action in allowed)
                answer = await ponderer.decide(env.scene(state, params, player=0), menu)
                state, _ = step(
                    key, state, actions.at[0].set(find_action(env.actions, answer)), params
                )
            return state

        return asyncio.run(play(state)), ponderer

    prompt, ponderer = match(0)
    late, _ = match(0.002)
    assert jax.tree.all(jax.tree.map(np.array_equal, prompt, late))
    assert [scene.me for scene in ponderer.seen] == [0] * 4
    assert all(any(body.seat == 0 for body in scene.bodies) for scene in ponderer.seen)


class Cheater(Meadow):
    """Claims in `legal` that nobody may move, and moves them all the same."""

    def legal(self, state, params):
        return super().legal(state, params).at[:, 1:].set(False)


class Tired(Meadow):
    """Breaks one clause, late: its gauges, its rewards, or its end."""

    def __init__(self, breaks: str) -> None:
        super().__init__(players=2)
        self.breaks = breaks

    def params(self, **changes):
        return super().params(horizon=50, **changes)

    def gauges(self, state, params):
        late = (state.clock == 45) & (self.breaks == "declared gauges")
        return {n: jnp.where(late, jnp.nan, x) for n, x in super().gauges(state, params).items()}

    def step(self, key, state, actions, params):
        after, transition = super().step(key, state, actions, params)
        late = (after.clock == 45) & (self.breaks == "rewards add up")
        truncated = transition.truncated & (self.breaks != "time-outs truncate")
        return after, eqx.tree_at(
            lambda t: (t.reward, t.truncated),
            transition,
            (jnp.where(late, jnp.nan, transition.reward), truncated),
        )


CHEAP = {"stay is legal", "declared gauges", "rewards add up", "time-outs truncate"}


@pytest.mark.parametrize("breaks", ["declared gauges", "rewards add up", "time-outs truncate"])
def test_the_suite_sees_a_whole_episode(breaks):
    with pytest.raises(ContractBroken, match=f"^{breaks}"):
        sociarium.check(Tired(breaks), skip={*CLAUSES} - CHEAP)


def test_the_suite_names_the_broken_clause():
    with pytest.raises(ContractBroken, match="illegal is stay"):
        sociarium.check(Cheater(), steps=20, skip={EAGER})


def test_a_clause_that_is_skipped_must_exist():
    with pytest.raises(UnknownName, match="jit equals eager"):
        sociarium.check(Meadow(), skip={"jit equals eagre"})


class Clamped(Meadow):
    """Looks actions up in a table, where JAX takes the last row for all beyond it."""

    def step(self, key, state, actions, params):
        table = jnp.arange(len(self.actions))
        return super().step(key, state, table.at[actions].get(mode="clip"), params)


def test_the_suite_finds_a_world_that_plays_actions_out_of_range():
    with pytest.raises(ContractBroken, match="out of range is stay"):
        sociarium.check(Clamped(), steps=20, skip={EAGER})


def test_what_is_out_of_range_or_illegal_becomes_stay():
    legal = jnp.array([[True, True, False]] * 6)
    actions = jnp.array([-1, 3, 99, 2**31 - 1, 2, 1])
    assert mask_illegal(actions, legal).tolist() == [STAY] * 5 + [1]
    assert mask_illegal(actions, jnp.ones((6, 3), bool)).tolist() == [STAY] * 4 + [2, 1]


def test_lanes_take_what_is_out_of_range_for_staying():
    lanes = Lanes(sociarium.make("coins-v0+contract?rounds=1+speech?words=2"), 2)
    params = lanes.env.params(deliberation=0)
    start, step = lanes.start(sociarium.key(0), params), jax.jit(lanes.step)
    strange = jnp.array([[-1, 10**6], [len(lanes.env.actions), -(2**31)]])
    found, wanted = (step(start, actions, params) for actions in (strange, 0 * strange))
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), found, wanted))
