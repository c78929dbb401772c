"""Practice: lanes all over an episode, honest tallies, and frozen players as in the arena."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.rollout import rollout
from sociarium.core import random
from sociarium.core.errors import BadArgument
from sociarium.learning import preferences, rollout_worker
from sociarium.learning.partners import Partners
from sociarium.learning.rollout_worker import RolloutWorker
from sociarium.players import roster
from sociarium.players.roster import Seat
from tests.toys.echo import Echo
from tests.toys.taking import Taking

HORIZON = 6


class Diary:
    """Does something else in every step, by its key, its chair, and how long it has lived."""

    def __init__(self, actions):
        self.actions = actions

    def begin(self, key):
        return random.bits(key), jnp.uint32(0)

    def act(self, key, view, legal, memory):
        born, age = memory
        action = (born + age + random.bits(key)) % jnp.uint32(self.actions)
        return action.astype(jnp.int32), (born, age + 1)


class Still:
    """Stays."""

    def begin(self, key):
        return ()

    def act(self, key, view, legal, memory):
        return jnp.int32(0), ()


@pytest.fixture(autouse=True)
def diarists(monkeypatch):
    """Everybody but the idle writes a diary."""

    def player(seat, env):
        return Still() if seat.kind == "idle" else Diary(len(env.actions))

    monkeypatch.setattr(roster, "player", player)


def practised(env, lanes, others, steps, wish="selfish", chosen=None, seed=0):
    """What everybody did and what it brought, with axes (time, lane, ...), and the start.

    The learners do what is `chosen` for each step, or stay.
    """
    params = env.params(horizon=HORIZON)
    partners = others if isinstance(others, Partners) else Partners(others)
    rollout = RolloutWorker(env, lanes, partners)
    preference = preferences.parse(wish, env.players)
    if chosen is None:
        chosen = np.zeros((steps, lanes, rollout.learners), np.int32)

    @jax.jit
    def play(key, chosen):
        start = rollout.begin(key, params, preference)

        def step(now, chosen):
            actions, minds = rollout.with_frozen(now, chosen)
            after, outcome = rollout.step(now, actions, minds, params, preference, jnp.float32(0))
            return after, (actions, now.lanes.episode, now.view, outcome)

        return start, jax.lax.scan(step, start, chosen)[1]

    return jax.device_get(play(random.key(seed), jnp.asarray(chosen)))


def ends_of(outcome, lane):
    return (np.flatnonzero(outcome.truncated[:, lane] | outcome.terminated[:, lane]) + 1).tolist()


def test_lanes_begin_all_over_an_episode_and_only_whole_ones_count():
    steps = 3 * HORIZON
    _, (_, episode, _, outcome) = practised(Echo(players=1), 20, (), steps)
    for lane in range(20):
        first = max(1, (lane % rollout_worker.PHASES + 1) * HORIZON // rollout_worker.PHASES)
        assert ends_of(outcome, lane) == [end for end in range(first, steps + 1, HORIZON)]
    assert {end for lane in range(16) for end in ends_of(outcome, lane)[:1]} == set(range(1, 7))
    ended = outcome.truncated & (episode > 0)
    np.testing.assert_array_equal(outcome.stats.episodes, ended.sum(1))
    assert not outcome.stats.episodes[:HORIZON].any()
    assert not outcome.stats.returns[:HORIZON].any()


def test_tallies_are_plain_counts(monkeypatch):
    monkeypatch.setattr(rollout_worker, "PHASES", 1)  # so that the first episode is whole, too
    env, lanes = Taking(players=3), 1
    frozen = roster.parse("random*2")
    _, (_, _, _, outcome) = practised(env, lanes, frozen, 2 * HORIZON)
    params = env.params(horizon=HORIZON)
    first, second = (
        [
            rollout(env, "idle random*2", lane=lane, number=number, params=params)
            for lane in range(lanes)
        ]
        for number in (0, 1)
    )
    stats = jax.tree.map(lambda x: x.sum(0), outcome.stats)
    assert stats.episodes == lanes and stats.steps == lanes * 2 * HORIZON
    np.testing.assert_allclose(stats.returns, sum(episode.raw.sum(0) for episode in second))
    for name, found in (("stayed", stats.acts), ("took", stats.refusals)):
        happened = [row.actor for e in (*first, *second) for row in e.events if row.kind == name]
        np.testing.assert_array_equal(found, np.bincount(happened, minlength=3))
    assert 0 < stats.refusals[1] < lanes * 2 * HORIZON and stats.refusals[0] == 0


def test_a_world_that_knows_no_cooperation_has_none_counted():
    env = Taking(players=1)
    env.facets = ()
    _, (_, _, _, outcome) = practised(env, 2, (), 1)
    assert not outcome.stats.acts.any() and not outcome.stats.refusals.any()


def test_frozen_players_act_as_in_the_arena_and_forget_at_the_end(monkeypatch):
    monkeypatch.setattr(rollout_worker, "PHASES", 2)  # lanes end at different times
    env, lanes = Echo(players=4), 2
    others = roster.parse("random script:a random")  # two of a kind, not side by side
    _, (actions, episode, _, _) = practised(env, lanes, others, 3 * HORIZON, seed=5)
    params = env.params(horizon=HORIZON)
    seats = "idle random script:a random"
    for lane, number, length in ((0, 0, HORIZON // 2), (0, 1, HORIZON), (1, 1, HORIZON)):
        alone = rollout(env, seats, seed=5, lane=lane, number=number, params=params)
        mine = actions[:, lane][episode[:, lane] == number]
        assert len(mine) == length
        np.testing.assert_array_equal(mine, alone.actions[:length])
        assert len(np.unique(mine[:, 1:])) > 1


def test_learners_sit_in_the_first_seats_and_do_as_they_chose():
    env = Echo(players=3)
    chosen = np.random.default_rng(0).integers(4, size=(4, 2, 2)).astype(np.int32)
    _, (actions, _, view, outcome) = practised(env, 2, roster.parse("idle"), 4, chosen=chosen)
    np.testing.assert_array_equal(actions[..., :2], chosen)
    assert not actions[..., 2].any()
    right = view.cells[..., 0, 0, 0] == actions
    np.testing.assert_array_equal(outcome.utility, right[..., :2])
    last = outcome.final_view.cells[..., 0, 0, 0]
    np.testing.assert_array_equal(
        last[outcome.truncated], outcome.final_state.colour[outcome.truncated]
    )
    assert outcome.truncated.any() and not (last == view.cells[..., 0, 0, 0]).all()


def test_wishes_start_over_where_an_episode_ends():
    env, lanes, steps = Taking(players=2), 3, 3 * HORIZON
    chosen = np.random.default_rng(0).integers(2, size=(steps, lanes, 2)).astype(np.int32)
    _, (_, _, _, outcome) = practised(env, lanes, (), steps, "inequity:5,0.05", chosen)
    wish = preferences.parse("inequity:5,0.05", 2)
    points = chosen - 2.0 * chosen[..., ::-1]
    for lane in range(lanes):
        lately = np.zeros(2)
        for step in range(steps):
            lately = preferences.FADING * lately + points[step, lane]
            gap = lately[::-1] - lately
            envy, guilt = np.maximum(gap, 0), np.maximum(-gap, 0)
            wanted = points[step, lane] - float(wish.alpha) * envy - float(wish.beta) * guilt
            np.testing.assert_allclose(outcome.utility[step, lane], wanted, atol=1e-4)
            if outcome.truncated[step, lane]:
                lately = np.zeros(2)


def test_every_learner_and_step_has_a_word_of_its_own():
    env = Echo(players=3)
    rollout, params = RolloutWorker(env, 4, Partners(roster.parse("idle"))), env.params()

    @jax.jit
    def bits(key):
        now = rollout.begin(key, params, preferences.Selfish())
        later = eqx.tree_at(lambda p: p.lanes.length, now, now.lanes.length + 1)
        return jnp.stack([rollout.bits(now), rollout.bits(later)])

    found = np.asarray(bits(random.key(0)))
    assert found.shape == (2, 4, 2) and len(np.unique(found)) == found.size


def test_others_must_leave_a_seat():
    for others in (2, 3):
        with pytest.raises(BadArgument, match=f"{others} others leave no seat"):
            RolloutWorker(sociarium.make("coins"), 2, Partners((Seat("idle"),) * others))


class Weighed(eqx.Module):
    """Plays one action for ever, and says by its weights which; remembers how long it has lived."""

    weight: jax.Array

    def begin(self, key):
        return jnp.int32(0)

    def act(self, key, view, legal, memory):
        return (self.weight.astype(jnp.int32) + memory) % 4, memory + 1


def drawn(env, lanes, steps, learners=1, pool="a b c", seed=5):
    """Everything of some episodes whose partners have weights 0, 1, 2 and count their steps."""
    partners = Partners(
        pool=roster.parse(" ".join(f"script:{name}" for name in pool.split())), learners=learners
    )
    return practised(env, lanes, partners, steps, seed=seed)


def at(seats, t, lane):
    """Who sat where in a lane at a time."""
    return jax.tree.map(lambda x: x[t, lane], seats)


@pytest.fixture
def weighed(monkeypatch):
    names = {"a": 0.0, "b": 1.0, "c": 2.0}
    monkeypatch.setattr(roster, "player", lambda seat, env: Weighed(jnp.float32(names[seat.ref])))


def test_partners_and_seats_are_drawn_anew_in_every_lane_and_episode(weighed):
    env, lanes, steps = Echo(players=3), 40, 4 * HORIZON
    _, (actions, episode, _, outcome) = drawn(env, lanes, steps)
    seats = outcome.seats
    met = set()
    for lane in range(lanes):
        for number in range(3):
            mine = np.flatnonzero(episode[:, lane] == number)
            if len(mine) == 0:
                continue
            first = at(seats, mine[0], lane)
            for age, t in enumerate(mine):
                now = at(seats, t, lane)
                assert all((x == y).all() for x, y in zip(now, first, strict=True))
                wanted = np.zeros(3, int)
                wanted[first.others] = (first.who + age) % 4
                np.testing.assert_array_equal(actions[t, lane], wanted)
            assert sorted([*first.learners, *first.others]) == [0, 1, 2]
            met.add((int(first.learners[0]), *map(int, first.who)))
    assert len(met) == 27  # every seat for the learner, and every two partners of three


def test_who_is_drawn_depends_on_the_lane_alone(weighed):
    env = Echo(players=3)
    few, many = (drawn(env, lanes, HORIZON)[1][3].seats for lanes in (3, 50))
    for one, other in zip(few, many, strict=True):
        np.testing.assert_array_equal(one, other[:, :3])


def test_returns_of_learners_come_first_wherever_they_sit(weighed):
    """A learner that stays is right by chance, and its partner of weight 1 in other steps."""
    env, lanes = Echo(players=2), 32
    _, (_, episode, _, outcome) = drawn(env, lanes, 3 * HORIZON, pool="a")
    whole = (outcome.truncated & (episode > 0)).any(1)
    assert len(np.unique(outcome.seats.learners)) == 2 and whole.any()
    points = np.zeros((lanes, 1))
    total = 0.0
    for t in range(3 * HORIZON):
        points += outcome.utility[t]
        over = outcome.truncated[t]
        total += points[over & (episode[t] > 0)].sum()
        points[over] = 0
    assert total == pytest.approx(float(outcome.stats.returns[:, 0].sum()))


def test_scripts_of_a_pool_play_as_in_the_arena(monkeypatch):
    monkeypatch.setattr(rollout_worker, "PHASES", 1)
    env, lanes = Echo(players=3), 6
    partners = Partners(pool=roster.parse("random idle"))
    _, (actions, _, _, outcome) = practised(env, lanes, partners, HORIZON, seed=5)
    params = env.params(horizon=HORIZON)
    for lane in range(lanes):
        seats = at(outcome.seats, 0, lane)
        names = np.full(3, "idle", object)
        names[seats.others] = np.array(["random", "idle"], object)[seats.who]
        alone = rollout(env, " ".join(names), seed=5, lane=lane, params=params)
        np.testing.assert_array_equal(actions[:, lane], alone.actions)


def test_a_pool_leaves_seats_to_learn_and_others_are_not_drawn_too():
    env = sociarium.make("coins")
    pool = roster.parse("idle")
    with pytest.raises(BadArgument, match="1 to 1 of 2 seats learn; given 2"):
        RolloutWorker(env, 2, Partners(pool=pool, learners=2))
    with pytest.raises(BadArgument, match="give one of the two"):
        RolloutWorker(env, 2, Partners(pool, pool))
