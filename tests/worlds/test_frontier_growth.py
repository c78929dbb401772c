"""The sets of the paper's Growing Markov Game (Definitions 1 to 3), in random play."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sociarium
from sociarium.core import random
from sociarium.core.actions import action_names
from sociarium.core.errors import UnknownName
from sociarium.core.facets import Crafting
from sociarium.envs.frontier.growth import growth, knowledge
from tests.worlds.comparison import PAIRS
from tests.worlds.outposts import CAMP
from tests.worlds.pairs import changed

TASKS = ("frontier_easy-v0", "frontier_exploration-v0", "frontier_survival-v0")
STEPS = 30
PARTS = ("kinds", "workplaces", "actions")
any_episode = given(st.integers(0, 2**31 - 1), st.booleans())
few = settings(max_examples=8)


class Explorers:
    """Episodes of random legal play, with everybody's sets before each step."""

    def __init__(self, name):
        self.name, self.env = name, sociarium.make(name)
        self.params = self.env.params()
        self._reset, self._play = jax.jit(self.env.reset), jax.jit(self._episode)

    def _episode(self, start, key):
        env, params = self.env, self.params

        def step(state, key):
            draw = random.bits(jax.random.fold_in(key, 1), env.players, len(env.actions))
            legal = env.legal(state, params)
            action = jnp.argmax(jnp.where(legal, draw >> 1, 0), axis=1)
            sets = growth(env, state, params)
            after, transition = env.step(key, state, action, params)
            return after, (state, sets, action, transition.events)

        return jax.lax.scan(step, start, jax.random.split(key, STEPS))

    def play(self, seed, crowd):
        """What was seen step by step, from a start or, with goods all about, from a crowd."""
        key = sociarium.key(seed)
        state = jax.tree.map(np.asarray, self._reset(key, self.params))
        if crowd:
            sets = ("kinds_known", "workplaces_known")
            nothing = {name: np.zeros(self.env.players) for name in sets}
            state = PAIRS[self.name].crowded(self.env, state, np.random.default_rng(seed))
            state = changed(state, nothing)
        return jax.tree.map(np.asarray, self._play(state, key)[1])


explorers = functools.cache(Explorers)


@pytest.fixture(scope="module", params=TASKS)
def party(request):
    return explorers(request.param)


def within(inner, outer):
    """Whether every set is part of the other, at every step, for every player."""
    return all((getattr(inner, part) <= getattr(outer, part)).all() for part in PARTS)


@few
@any_episode
def test_what_is_discovered_never_shrinks(party, seed, crowd):
    _, sets, _, _ = party.play(seed, crowd)
    for part in PARTS:
        found = getattr(sets.discovered, part)
        assert (found[:-1] <= found[1:]).all(), part


@few
@any_episode
def test_base_and_available_are_discovered_and_all_is_universal(party, seed, crowd):
    _, sets, _, _ = party.play(seed, crowd)
    assert within(sets.base, sets.discovered)
    assert within(sets.available, sets.discovered)
    assert within(sets.discovered, sets.universal)
    assert all(getattr(sets.universal, part).all() for part in PARTS)


@few
@any_episode
def test_base_is_the_same_for_all_and_always(party, seed, crowd):
    _, sets, _, _ = party.play(seed, crowd)
    for part in PARTS:
        base = getattr(sets.base, part)
        assert (base == base[:1, :1]).all()


@few
@any_episode
def test_whatever_is_done_was_available(party, seed, crowd):
    _, sets, action, _ = party.play(seed, crowd)
    assert np.take_along_axis(sets.available.actions, action[..., None], 2).all()


@few
@any_episode
def test_every_discovery_is_told_once_and_at_once(party, seed, crowd):
    states, _, _, events = party.play(seed, crowd)
    discovered, kinds = events["discovered"], len(party.env.kinds)
    told = discovered.mask
    assert (discovered.value[told] == np.argwhere(told)[:, -1]).all()
    known = states.kinds_known[..., None] >> np.arange(kinds, dtype=np.uint32) & 1
    assert np.array_equal(known, np.cumsum(told, axis=0) - told)


@few
@any_episode
def test_every_workplace_is_found_once(party, seed, crowd):
    states, sets, _, events = party.play(seed, crowd)
    found, works = events["found"], len(party.env.workplaces)
    told = found.mask[..., None] & (found.value[..., None] == np.arange(works))
    assert (told.sum(0) <= 1).all()
    known = states.workplaces_known[..., None] >> np.arange(works, dtype=np.uint32) & 1
    assert np.array_equal(known, np.cumsum(told, axis=0) - told)
    standing = sets.available.workplaces
    assert np.array_equal(told, standing & (known == 0))


# The sets by hand


@functools.cache
def sets_of():
    return jax.jit(lambda state: growth(CAMP.env, state, CAMP.env.params()))


def named(part, seat, names):
    return {name for name, chosen in zip(names, np.asarray(part)[seat], strict=True) if chosen}


def test_the_four_sets_by_hand():
    env = CAMP.env
    state = CAMP.draw(
        """
        0..1..
        ......
        ......
        2.....
        ......
        """,
        holds=[{}, {"torch": 1}, {"hammer": 1}],
        piles={0: ("coal", 1), 2: ("coal", 1)},
        work={0: "torch_craft", 2: "hammer_craft"},
    )
    sets = sets_of()(state)
    base = {"wood", "stone"}
    assert named(sets.base.kinds, 0, env.kinds) == base
    assert named(sets.base.workplaces, 0, env.workplaces) == {"hammer_craft"}
    kinds = [named(sets.discovered.kinds, seat, env.kinds) for seat in range(4)]
    assert kinds == [base, base | {"torch"}, base | {"hammer", "coal"}, base]
    assert named(sets.available.kinds, 2, env.kinds) == {"hammer", "coal"}
    assert named(sets.available.workplaces, 2, env.workplaces) == {"hammer_craft"}
    assert named(sets.available.workplaces, 0, env.workplaces) == set()
    moves = {"stay", "north", "south", "west", "east"}
    assert named(sets.available.actions, 2, action_names(env.actions)) == moves | {
        "pick coal",
        "dump hammer",
    }
    assert named(sets.discovered.actions, 0, action_names(env.actions)) == moves | {
        "synthesise"
    } | {f"{verb} {kind}" for verb in ("pick", "dump") for kind in base}


def test_what_was_known_stays_discovered_when_it_is_gone():
    known = {"kinds_known": [1 << 4, 0, 0, 0], "workplaces_known": [1 << 2, 0, 0, 0]}
    sets = sets_of()(CAMP.draw("0.....\n......\n......\n......\n......", **known))
    assert "torch" in named(sets.discovered.kinds, 0, CAMP.env.kinds)
    assert "smelting" in named(sets.discovered.workplaces, 0, CAMP.env.workplaces)
    assert "smelting" not in named(sets.discovered.workplaces, 1, CAMP.env.workplaces)


# Knowledge


def test_knowledge_tells_no_recipe_those_discovered_or_all():
    found = np.array([True, False, True])
    assert knowledge(CAMP.env, "none", found) == () == knowledge(CAMP.env, "discovered")
    hammer, torch, glass = knowledge(CAMP.env, "full")
    assert knowledge(CAMP.env, "discovered", found) == (hammer, glass)
    assert hammer == "hammer_craft: 1 wood and 1 stone make 1 hammer"
    assert torch == "torch_craft: 1 wood and 1 coal make 1 torch; seen only by who holds coal"
    assert knowledge(CAMP.env, "full", found) == (hammer, torch, glass)


def test_an_unknown_level_of_knowledge_is_answered_with_the_known():
    with pytest.raises(UnknownName, match="full"):
        knowledge(CAMP.env, "ful")


def test_the_rule_sheet_gives_no_recipe_away():
    for name in TASKS:
        env = sociarium.make(name)
        assert not any(recipe.name in str(env.sheet) for recipe in env.facet(Crafting).recipes)
