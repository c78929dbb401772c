"""Line-ups in lanes: who sits where, and everybody decides for themselves."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from jaxtyping import Array, Shaped

import sociarium
from sociarium.arena.seat_policies import PlayerStructure, Roster
from sociarium.arena.seating import chairs_for, demonstration, shuffled
from sociarium.core import random
from sociarium.core.errors import BadArgument
from sociarium.core.identity import ByArguments
from sociarium.players import roster
from tests.toys.meadow import Meadow


class Teller(ByArguments):
    """Remembers a word of its own and how often it was asked; its action shows both."""

    def __init__(self, offset):
        self.offset = offset

    def begin(self, key):
        return random.bits(key), jnp.uint32(0)

    def act(self, key, view, legal, memory):
        word, asked = memory
        told = word + random.bits(key) + view.cells.astype(jnp.uint32).sum() + self.offset + asked
        return (told % 7).astype(jnp.int32), (word, asked + 1)


class Weighted(eqx.Module):
    """A teller whose offset is an array."""

    offset: Shaped[Array, ""]

    def begin(self, key):
        return Teller(0).begin(key)

    def act(self, key, view, legal, memory):
        return Teller(self.offset.astype(jnp.uint32)).act(key, view, legal, memory)


def test_one_seat_fills_all_and_others_must_fit():
    env = Meadow(players=3)
    assert chairs_for(env, "random") == roster.parse("random*3")
    assert chairs_for(env, "random*2 idle") == roster.parse("random random idle")
    with pytest.raises(BadArgument, match="3 seats; given 2"):
        chairs_for(env, "random*2")


def test_a_demonstration_fills_any_number_of_seats():
    assert demonstration("idle random", 3) == "idle random idle"


def test_players_decide_the_same_alone_and_among_lanes():
    """Two structures, one of them with weights of which there are two, in four line-ups."""
    env = Meadow(players=3)
    params = env.params()
    players = (Teller(0), Weighted(jnp.uint32(3)), Weighted(jnp.uint32(5)))
    seating = np.array([[0, 1, 0], [1, 1, 2], [0, 1, 0], [1, 0, 2]])
    keys = jax.random.split(sociarium.key(0), 4)

    def twice(policies, keys, view, legal, chairs):
        memories = policies.begin(keys, chairs)
        first, memories = policies.act(keys, view, legal, chairs, memories)
        then, memories = policies.act(keys, view, legal, chairs, memories)
        return first, then

    state = jax.vmap(env.reset, (0, None))(keys, params)
    view = jax.vmap(env.observe, (0, None))(state, params)
    legal = jax.vmap(env.legal, (0, None))(state, params)
    policies, chairs = Roster(players).seated(seating)
    assert len(policies.structures) == 2
    together = jax.jit(twice, static_argnums=0)(policies, keys, view, legal, chairs)
    assert (together[0] != together[1]).any()
    for lane in range(4):
        alone, chairs = Roster(players).seated(seating[lane : lane + 1])
        seen, may = jax.tree.map(lambda x, lane=lane: x[lane], (view, legal))
        found = jax.jit(twice, static_argnums=0)(alone, keys[lane], seen, may, chairs)
        for many, one in zip(together, found, strict=True):
            assert many[lane].tolist() == one.tolist()


def test_structures_are_told_apart_by_all_but_the_numbers_in_arrays():
    env = Meadow()
    of = PlayerStructure.of
    assert of(Weighted(jnp.uint32(3))) == of(Weighted(jnp.uint32(5)))
    assert of(Weighted(jnp.uint32(3))) != of(Weighted(jnp.int32(3)))
    assert of(Teller(0)) == of(Teller(0)) != of(Teller(3))
    first, second = (roster.player(roster.chair("random"), Meadow()) for _ in range(2))
    assert of(first) == of(second) and first is not second
    assert of(roster.player(roster.chair("random?legal=1"), env)) != of(first)


@given(arrays(np.int64, (6, 3), elements=st.integers(-1, 2)), st.sampled_from([1, 2, 3, 6]))
def test_every_chair_has_one_place_on_its_device(who, devices):
    players = (Teller(0), Weighted(jnp.uint32(3)), Weighted(jnp.uint32(5)))
    _, found = Roster(players).seated(who, devices)
    parts = who.reshape(devices, -1)
    for device, part in enumerate(parts):
        taken, chairs = [], part.size
        for number, members in ((0, [0]), (1, [1, 2])):
            mine = np.split(found.chairs[number], devices)[device]
            owner = np.split(found.owner[number], devices)[device]
            for row, player in zip(mine, owner, strict=True):
                here = np.atleast_1d(row)
                here = here[here < chairs]
                assert (part[here] == members[player]).all()
                taken += here.tolist()
        assert sorted(taken) == np.flatnonzero(part >= 0).tolist()


def test_seats_are_drawn_by_lane_and_seed_alone():
    rows = np.tile([0, 0, 1, 2, 2], (40, 1))
    drawn = shuffled(rows, seed=1)
    assert (np.sort(drawn, axis=1) == rows).all()
    assert (drawn[10:20] == shuffled(rows[:10], seed=1, first=10)).all()
    assert (drawn != shuffled(rows, seed=2)).any()
    assert set(np.argmax(drawn == 1, axis=1)) == set(range(5))


def test_every_seat_is_drawn_about_equally_often():
    drawn = shuffled(np.tile([1, 0, 0, 0], (2000, 1)), seed=0)
    assert np.abs(drawn.mean(axis=0) - 0.25).max() < 0.04
