"""Line-ups in lanes: who sits where, and everybody decides for themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sociarium
from sociarium.arena.seating import (
    Cast,
    Population,
    chairs_for,
    demonstration,
    places,
    shuffled,
)
from sociarium.core import random
from sociarium.core.errors import BadArgument
from sociarium.players import roster
from tests.toys.meadow import Meadow


class Teller:
    """Remembers a word of its own and how often it was asked; its action shows both."""

    def __init__(self, offset):
        self.offset = offset

    def begin(self, key):
        return random.bits(key), jnp.uint32(0)

    def act(self, key, view, legal, memory):
        word, asked = memory
        told = word + random.bits(key) + view.cells.astype(jnp.uint32).sum() + self.offset + asked
        return (told % 7).astype(jnp.int32), (word, asked + 1)


@pytest.fixture
def tellers(monkeypatch):
    """Two kinds of player with memories, who answer differently to the same view."""
    told = {"random": Teller(0), "idle": Teller(3)}
    monkeypatch.setattr(roster, "player", lambda seat, env: told[seat.kind])
    return roster.parse("random idle")


def test_one_seat_fills_all_and_others_must_fit():
    env = Meadow(players=3)
    assert chairs_for(env, "random") == roster.parse("random*3")
    assert chairs_for(env, "random*2 idle") == roster.parse("random random idle")
    with pytest.raises(BadArgument, match="3 seats; given 2"):
        chairs_for(env, "random*2")


def test_a_demonstration_fills_any_number_of_seats():
    assert demonstration("idle random", 3) == "idle random idle"


def test_a_population_acts_as_the_casts_of_its_lanes(tellers):
    env = Meadow(players=3)
    params = env.params()
    seating = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0], [1, 0, 0]])
    keys = jax.random.split(sociarium.key(0), 4)
    population, chairs = Population(env, tellers), places(seating, 2, 1)

    @jax.jit
    def together(keys, chairs):
        state = jax.vmap(env.reset, (0, None))(keys, params)
        view = jax.vmap(env.observe, (0, None))(state, params)
        legal = jax.vmap(env.legal, (0, None))(state, params)
        minds = population.begin(keys, chairs)
        first, minds = population.act(keys, view, legal, chairs, minds)
        then, minds = population.act(keys, view, legal, chairs, minds)
        return view, legal, first, then, minds

    view, legal, first, then, minds = together(keys, chairs)
    assert [mind[1].tolist() for mind in minds] == [[2] * 6, [2] * 6]
    assert (first != then).any()
    for lane in (0, 1):
        cast = Cast(env, tuple(tellers[kind] for kind in seating[lane]))

        @jax.jit
        def alone(key, view, legal, cast=cast):
            actions, minds = cast.act(key, view, legal, cast.begin(key))
            return actions, cast.act(key, view, legal, minds)[0]

        seen, may = jax.tree.map(lambda x, lane=lane: x[lane], (view, legal))
        for told, found in zip(alone(keys[lane], seen, may), (first, then), strict=True):
            assert told.tolist() == found[lane].tolist()


@given(arrays(np.int64, (6, 3), elements=st.integers(0, 2)), st.sampled_from([1, 2, 3, 6]))
def test_every_chair_has_one_place_on_its_device(kind, devices):
    found = places(kind, 3, devices)
    lanes = len(kind) // devices
    for device in range(devices):
        block = kind[device * lanes : (device + 1) * lanes].ravel()
        taken = [np.split(place, devices)[device] for place in found]
        assert sorted(c for place in taken for c in place if c < block.size) == list(
            range(block.size)
        )
        for number, place in enumerate(taken):
            assert (block[place[place < block.size]] == number).all()


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
