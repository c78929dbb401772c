"""Seats and the players in them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.conformance.contract import same
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.random import step_key
from sociarium.players import roster
from sociarium.players.lifting import lift
from sociarium.players.scripted.known import scripts
from tests.toys.meadow import Meadow


def player(seat, env):
    return roster.player(roster.parse(seat)[0], env)


def test_seat_strings_name_kind_which_options_and_how_many():
    chairs = roster.parse("random script:forager?pace=2&mood=calm*2")
    words = ["random", "script:forager?pace=2&mood=calm", "script:forager?pace=2&mood=calm"]
    assert [str(chair) for chair in chairs] == words
    assert chairs[1].options == (("pace", "2"), ("mood", "calm"))


def test_a_seat_writes_itself_as_it_is_read():
    for seat in ("idle", "script:raider", "script:conditional?enough=0.7&lately=50"):
        assert str(roster.parse(seat)[0]) == seat


def test_seat_strings_that_mean_nothing_are_refused():
    coins = sociarium.make("coins")
    with pytest.raises(BadArgument, match="script:forager"):
        roster.parse("script:*")
    for many in ("random*99999999999", f"random*{'9' * 5000}", "random*600000 idle*600000"):
        with pytest.raises(BadArgument, match="at most 1,000,000 seats"):
            roster.parse(many)
    with pytest.raises(UnknownName, match="random"):
        roster.parse("randon")
    with pytest.raises(UnknownName, match="forager"):
        player("script:forrager", coins)
    with pytest.raises(UnknownName, match="coins-v0 has random, idle, forager, cooperator"):
        player("script:raider", coins)
    with pytest.raises(BadArgument, match="all alike"):
        player("random:red", coins)


def test_options_are_numbers_that_the_script_asks_for():
    coins = sociarium.make("coins")
    assert player("script:conditional?enough=0.25", coins).enough == 0.25
    with pytest.raises(UnknownName, match="enough"):
        player("script:conditional?enoug=0.5", coins)
    with pytest.raises(BadArgument, match="must be a number; given 'often'"):
        player("script:conditional?enough=often", coins)
    with pytest.raises(BadArgument, match="must be a whole number"):
        player("script:cooperator?leave=2.5", sociarium.make("harvest_open"))
    with pytest.raises(BadArgument, match="takes none"):
        player("script:cooperator?leave=2", coins)


def test_a_world_outside_the_catalogue_has_the_scripts_for_any_world():
    assert tuple(scripts(Meadow())) == ("random", "idle")
    with pytest.raises(UnknownName, match=r"Meadow has random, idle\."):
        player("script:cooperator", Meadow())


def test_a_forager_needs_something_to_forage_for():
    assert "forager" in scripts(sociarium.make("harvest_open"))
    with pytest.raises(UnknownName, match="forager"):
        player("script:forager", sociarium.make("pd_arena"))


def test_the_number_of_seats_must_fit():
    with pytest.raises(BadArgument, match="7 seats"):
        rollout(sociarium.make("harvest_open"), "random random", steps=2)


def test_an_episode_is_rebuilt_by_its_seed_and_actions():
    env = sociarium.make("coins")
    episode = rollout(env, "script:forager random", seed=4, lane=2, number=1, steps=30)
    states = episode.states
    key = jax.random.fold_in(sociarium.key(episode.seed), episode.lane)
    state = env.reset(jax.random.fold_in(key, episode.number), episode.params)
    step = jax.jit(env.step)
    for clock, actions in enumerate(episode.actions):
        assert same(jax.tree.map(lambda x, clock=clock: x[clock], states), state)
        k_step = step_key(key, episode.number, clock)
        state, _ = step(k_step, state, jnp.asarray(actions), episode.params)


def test_an_episode_stops_at_its_end():
    env = sociarium.make("coins")
    episode = rollout(env, "random", steps=30, params=env.params(horizon=12))
    states = episode.states
    assert len(episode) == 12 and episode.truncated[-1] and len(states.clock) == 13
    assert episode.present.all()


def test_random_players_use_every_action():
    env = sociarium.make("clean_up")
    uniform = roster.player(roster.Seat("random"), env)
    state = env.reset(sociarium.key(0), env.params())
    view = jax.tree.map(lambda x: x[0], env.observe(state, env.params()))
    legal = env.legal(state, env.params())[0]
    keys = jax.random.split(sociarium.key(0), 900)
    actions, _ = jax.vmap(lambda key: uniform.act(key, view, legal, None))(keys)
    counts = np.bincount(actions, minlength=9)
    assert counts.min() > 60 and counts.max() < 140


def test_idle_players_stay():
    episode = rollout(sociarium.make("coins"), "idle", steps=10)
    assert (episode.actions == 0).all()


def test_a_script_by_name_plays_as_its_seat_string():
    env = sociarium.make("coins")
    players = [roster.script("cooperator", env), roster.script("random", env, legal=1)]
    named = rollout(env, "script:cooperator script:random?legal=1", steps=20)
    given = rollout(env, players, steps=20)
    assert np.array_equal(named.actions, given.actions)


def test_a_player_that_is_opened_but_lacks_what_a_whole_one_has_is_refused():
    class Half:
        async def open(self, seating):
            pass

        async def decide(self, percepts, deadline):
            pass

    with pytest.raises(BadArgument, match="it lacks close, snapshot, restore"):
        lift(Half())
