"""Recorded episodes, one by one and in batches, are the same episodes."""

import jax
import numpy as np
import pytest

import sociarium
from sociarium.arena.batch import Batch
from sociarium.arena.match import Match
from sociarium.arena.rollout import rollout
from sociarium.arena.screening import screening
from sociarium.core.errors import UnknownName
from sociarium.networks.actor_critic import NetworkConfig, actor_critic
from sociarium.players import roster
from sociarium.players.policy import Policy
from tests import budget
from tests.arena.mixed import KINDS, SEATING, fingerprints, meadow_batch
from tests.devices import printed
from tests.toys.meadow import Meadow

ARRAYS = ("actions", "reward", "raw", "distributed", "present", "truncated", "terminated")


def assert_same_record(one, other):
    for name in ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.events == other.events
    assert {n: g.tolist() for n, g in one.gauges.items()} == {
        n: g.tolist() for n, g in other.gauges.items()
    }
    assert (one.env, one.seats, one.seed, one.lane, one.number) == (
        other.env,
        other.seats,
        other.seed,
        other.lane,
        other.number,
    )


@pytest.fixture(scope="module")
def batch():
    return meadow_batch()


@pytest.fixture(scope="module")
def recorded(batch):
    return batch.episodes()


def test_a_lane_of_a_batch_is_the_episode_rolled_out_alone(batch, recorded):
    for lane, kinds in enumerate(SEATING):
        seats = " ".join(str(KINDS[kind]) for kind in kinds)
        alone = rollout(batch.env, seats, seed=3, lane=lane, params=batch.params)
        assert_same_record(recorded[lane], alone)


def test_sums_are_those_of_the_recorded_episodes(batch, recorded):
    sums = batch.sums(("smelled",))
    for lane, episode in enumerate(recorded):
        assert sums.raw[lane].tolist() == episode.raw_returns.tolist()
        smelled = [row.actor for row in episode.events if row.kind == "smelled"]
        assert sums.done["smelled"][lane].tolist() == np.bincount(smelled, minlength=3).tolist()
        assert sums.length[lane] == len(episode) == 9
    assert sums.raw.sum() > 0


def test_two_devices_play_the_same_five_lanes(batch):
    assert printed(2, "tests.arena.mixed").split()[-5:] == fingerprints(batch)


def test_a_world_with_attacks_and_exile_adds_up_too():
    env = sociarium.make("harvest_open", players=3)
    kinds, seating = roster.parse("random idle"), np.array([[0, 1, 0], [0, 0, 0]])
    batch = Batch(env, kinds, seating, seed=1, params=env.params(horizon=60))
    sums, recorded = batch.sums(("ate", "zapped", "fired", "patch_died")), batch.episodes()
    alone = rollout(env, "random idle random", seed=1, lane=0, params=batch.params)
    assert_same_record(recorded[0], alone)
    for lane, episode in enumerate(recorded):
        for name in ("ate", "zapped", "fired"):
            doers = [row.actor for row in episode.events if row.kind == name]
            found = np.bincount(np.array(doers, int), minlength=3)
            assert sums.done[name][lane].tolist() == found.tolist()
        assert not sums.done["patch_died"].any()
    assert sums.done["fired"].sum() > 0


def test_a_second_equal_rollout_compiles_nothing():
    env = Meadow()
    first = rollout(env, "random", steps=5)
    before = budget.compilations()
    again = rollout(env, "random", steps=5)
    assert budget.compilations() == before
    assert_same_record(first, again)
    other = rollout(env, "random", seed=1, number=2, steps=5)
    assert budget.compilations() == before
    assert not np.array_equal(other.actions, first.actions)


def checkpoints(env, many):
    """Policies of one architecture with weights of their own."""
    new = jax.jit(
        lambda key: actor_critic(
            key, NetworkConfig(), env.view_spec, env.players, len(env.actions), 1
        )
    )
    weights = [new(key) for key in jax.random.split(sociarium.key(0), many)]
    return [Policy(jax.tree.map(lambda x: 20 * x, each)) for each in weights]


def test_a_hundred_checkpoints_are_one_program():
    env = Meadow(players=2)
    players = checkpoints(env, 100)
    few = np.array([[0, 1], [1, 0]])
    Batch(env, players[:2], few, steps=5).sums()
    before = budget.compilations()
    many = Batch(env, players, np.arange(100).reshape(50, 2), steps=5)
    policies = many.stepper.policies
    assert len(policies.structures) == 1 and not policies.sole
    played = many.episodes()
    first = budget.compilations() - before
    others = Batch(env, players[::-1], np.arange(100).reshape(50, 2), steps=5).episodes()
    assert first < 60, "what is compiled does not grow with the number of checkpoints"
    assert budget.compilations() - before == first, "other weights compile nothing"
    assert not np.array_equal(played[0].actions, others[0].actions)
    alone = rollout(env, [players[0], players[1]], lane=0, steps=5)
    assert np.array_equal(alone.actions, played[0].actions)


@pytest.mark.parametrize("lanes", [7, 1024])
def test_a_policy_chooses_the_same_actions_alone_and_among_lanes(lanes):
    env = Meadow(players=3)
    (policy,) = checkpoints(env, 1)
    played = Batch(env, [policy], np.zeros((lanes, 3), int), steps=8).episodes()
    for lane in (0, lanes // 2, lanes - 1):
        alone = rollout(env, [policy], lane=lane, steps=8)
        assert np.array_equal(alone.actions, played[lane].actions)


def test_players_and_seat_strings_sit_side_by_side():
    env = Meadow(players=3)
    (policy,) = checkpoints(env, 1)
    episode = rollout(env, [policy, "random idle"], steps=6)
    assert episode.seats == ("agent:Policy", "random", "idle")
    assert not episode.actions[:, 2].any() and episode.actions[:, :2].any(0).all()
    match = Match(env, [policy, "random", "idle"], steps=6)
    match.run()
    assert np.array_equal(match.episode().actions, episode.actions)


def test_play_stops_at_the_steps_asked_for_or_at_the_end():
    env = Meadow()
    for steps, length in ((4, 4), (60, 9)):
        batch = Batch(env, KINDS, SEATING[:1], params=env.params(horizon=9), steps=steps)
        assert batch.sums().length.tolist() == [length]
        assert [len(episode) for episode in batch.episodes()] == [length]


def test_progress_is_told_from_none_to_all():
    env = Meadow()
    batch = Batch(env, KINDS, SEATING, params=env.params(horizon=120))
    for play in (batch.sums, batch.episodes):
        heard = []
        play(on_progress=lambda played, steps, heard=heard: heard.append((played, steps)))
        assert heard == [(0, 120), (50, 120), (100, 120), (120, 120)]


def test_only_known_events_can_be_counted(batch):
    with pytest.raises(UnknownName, match="smelled"):
        batch.sums(("smeled",))


def test_a_screening_shows_every_moment_with_running_scores():
    env = sociarium.make("coins", players=3)
    episode = rollout(env, "random idle random", params=env.params(horizon=6), lane=1)
    states = episode.states
    frames = list(screening(episode, states, range(7)))
    assert [frame.scene.clock for frame in frames] == list(range(7))
    assert not frames[0].raw.any() and frames[0].left is None
    assert frames[-1].raw.tolist() == episode.raw_returns.tolist()
    gained = {(gain.row, gain.col, gain.points) for gain in frames[-1].gains if not gain.age}
    won = episode.raw[-1]
    bodies = {body.seat: body for body in frames[-1].scene.bodies}
    assert gained == {(bodies[s].row, bodies[s].col, won[s]) for s in range(3) if won[s]}
    (*_, last) = screening(episode, states, range(7), player=1)
    assert last.scene.me == 1
