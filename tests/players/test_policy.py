"""Trained policies take seats: they play as they learned, only where they fit."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.arena.batch import Batch
from sociarium.arena.match import Match
from sociarium.arena.rollout import rollout
from sociarium.arena.seating import lineup
from sociarium.core.errors import BadArgument, CannotRead, UnknownName
from sociarium.core.random import player_keys
from sociarium.learning import preferences
from sociarium.learning.training import Training
from sociarium.networks.actor_critic import sample_actions
from sociarium.players.policy import load_policy
from sociarium.players.roster import Seat, parse
from tests.learning.runs import small

KINDS = {
    "plain": ("ippo", {}),
    "recurrent": ("recppo", {"bptt_length": 4, "critic_sees": "views"}),
    "separate": ("ippo", {"shared": False, "core": "gru", "bptt_length": 4}),
}
STEPS = 12


@pytest.fixture(scope="module", params=KINDS)
def run(request, tmp_path_factory):
    """A training that has not begun, and the folder of what it knows."""
    algorithm, settings = KINDS[request.param]
    training = Training(small(algorithm, settings=settings))
    folder = tmp_path_factory.mktemp(request.param)
    training.export(folder)
    return training, folder


def seats_of(training, folder, seed=0):
    if training.algorithm_config.network.shared:
        return [Seat("policy", str(folder), (("seed", str(seed)),))] * 2
    return [
        Seat("policy", str(folder), (("seed", str(seed)), ("seat", str(seat)))) for seat in (0, 1)
    ]


@pytest.fixture(scope="module")
def coins():
    return sociarium.make("coins")


def test_a_policy_does_in_its_seat_what_it_did_in_training(run, coins):
    training, folder = run
    learner = jax.tree.map(lambda x: x[1], training.learners)
    trainer, rollout = training.learner_batch.trainer, learner.rollout

    @jax.jit
    def choose(learner):
        view = jax.tree.map(lambda x: x[None], rollout.view)
        features, _ = trainer.seats.read(learner.weights, view, learner.reset[None], learner.memory)
        logits = trainer.seats.logits(learner.weights, features[0], rollout.legal)
        return sample_actions(trainer.worker.bits(rollout), logits)

    chosen = choose(learner)
    who = lineup(coins, seats_of(training, folder, seed=1))
    policies, seating = who.roster.seated(np.tile(who.who, (len(chosen), 1)))

    @jax.jit
    def act(rollout, seating):
        keys = trainer.worker.lanes_env.keys(rollout.lanes)
        memories = policies.begin(rollout.lanes.key, seating)
        return policies.act(keys, rollout.view, rollout.legal, seating, memories)[0]

    actions = act(rollout, seating)
    assert actions.tolist() == chosen.tolist()
    assert len(set(np.asarray(actions).ravel().tolist())) > 1


def test_policies_play_alone_and_in_batches(run, coins):
    training, folder = run
    chairs = seats_of(training, folder)
    episode = rollout(coins, " ".join(map(str, chairs)), lane=1, steps=STEPS)
    kinds = list(dict.fromkeys(chairs))
    seating = np.array([[kinds.index(chair) for chair in chairs]] * 3)
    played = Batch(coins, kinds, seating, steps=STEPS).episodes()
    assert len(played) == 3 and (played[1].actions == episode.actions).all()
    assert not (played[0].actions == played[2].actions).all()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    Training(small(seeds=(3, 20))).export(folder)
    return str(folder)


def test_seeds_are_named_and_the_first_is_the_default(plain, coins):
    first, other = load_policy(plain, coins), load_policy(plain, coins, seed=20)
    leaves = [jax.tree.leaves(p.weights) for p in (first, load_policy(plain, coins, seed=3), other)]
    assert all((a == b).all() for a, b in zip(*leaves[:2], strict=True))
    assert any((a != b).any() for a, b in zip(*leaves[1:], strict=True))
    with pytest.raises(BadArgument, match="seeds 3, 20; given seed=4"):
        load_policy(plain, coins, seed=4)


def test_a_greedy_policy_leaves_nothing_to_chance(plain, coins):
    state = coins.reset(sociarium.key(0), coins.params())
    view = jax.tree.map(lambda x: x[0], coins.observe(state, coins.params()))
    legal = coins.legal(state, coins.params())[0]

    def choices(player):
        act = jax.vmap(lambda key: player.act(key, view, legal, player.begin(key))[0])
        return set(act(jax.random.split(sociarium.key(1), 50)).tolist())

    assert len(choices(load_policy(plain, coins, greedy=1))) == 1
    assert len(choices(load_policy(plain, coins))) > 1
    (seat,) = parse(f"policy:{plain}?seed=20&greedy=1")
    assert seat.options == (("seed", "20"), ("greedy", "1"))


def test_another_world_is_refused_unless_it_fits(plain, coins):
    with pytest.raises(BadArgument, match="another world: coins-v0 against clean_up-v0"):
        load_policy(plain, sociarium.make("clean_up"))
    with pytest.raises(BadArgument, match="another actions"):
        load_policy(plain, sociarium.make("clean_up"), elsewhere=1)
    with pytest.raises(BadArgument, match="another view"):
        load_policy(plain, sociarium.make("coins", players=3), elsewhere=1)
    other = sociarium.make("coins")
    other.id = "coins-v1"
    with pytest.raises(BadArgument, match="coins-v0 against coins-v1"):
        load_policy(plain, other)
    assert load_policy(plain, other, elsewhere=1)


def test_weights_of_each_seat_ask_which(tmp_path, coins):
    Training(small(settings={"shared": False})).export(tmp_path)
    with pytest.raises(BadArgument, match=r"each of 2 seats.*\?seat=0"):
        load_policy(str(tmp_path), coins)
    with pytest.raises(BadArgument, match="each of 2 seats"):
        load_policy(str(tmp_path), coins, seat=2)
    assert load_policy(str(tmp_path), coins, seat=1)


def test_a_folder_without_a_whole_policy_is_named(plain, coins, tmp_path):
    with pytest.raises(CannotRead, match="no trained weights"):
        load_policy(str(tmp_path), coins)
    Training(small(seeds=(0,))).export(tmp_path)
    page = tmp_path / "weights" / "seed-0.json"
    shown = json.loads(page.read_text())
    page.write_text(json.dumps({**shown, "config": {**shown["config"], "core": "lstm"}}))
    with pytest.raises(CannotRead, match="does not hold the weights"):
        load_policy(str(tmp_path), coins)
    page.write_text(json.dumps({**shown, "format": 99}))
    with pytest.raises(CannotRead, match="format 99"):
        load_policy(str(tmp_path), coins)
    page.unlink()
    with pytest.raises(CannotRead, match="can be read"):
        load_policy(str(tmp_path), coins)
    with pytest.raises(UnknownName, match="greedy"):
        rollout(coins, f"policy:{plain}?greedily=1", steps=1)


def test_weights_that_were_trained_anew_are_played_at_once(coins, tmp_path):
    Training(small()).export(tmp_path)
    old, new = ({f.suffix: f for f in tmp_path.glob(f"weights/seed-{s}.*")} for s in (0, 1))
    seats = f"policy:{tmp_path}?seed=0&greedy=1"

    def actions():
        match = Match(coins, f"{seats} {seats}", steps=STEPS)
        match.run()
        episode = rollout(coins, seats, steps=STEPS)
        np.testing.assert_array_equal(match.episode().actions, episode.actions)
        return episode.actions

    before = actions()
    for suffix, file in old.items():
        file.write_bytes(new[suffix].read_bytes())
    after = actions()
    assert not np.array_equal(before, after)
    wanted = rollout(coins, f"policy:{tmp_path}?seed=1&greedy=1", steps=STEPS)
    np.testing.assert_array_equal(after, wanted.actions)


def test_frozen_policies_sit_beside_learners(plain, coins):
    """The last seat has the weights of its seed, and acts on them step after step."""
    training = Training(small(others=f"policy:{plain}?seed=20", settings={"lanes": 16}))
    trainer = training.learner_batch.trainer
    worker, params = trainer.worker, trainer.params
    stored = load_policy(plain, coins, seed=20)
    frozen = [x[0] for x in jax.tree.leaves(worker.sampler.arrays)]
    weights = [frozen, *map(jax.tree.leaves, (stored, load_policy(plain, coins, seed=3)))]
    assert all(np.array_equal(a, b) for a, b in zip(*weights[:2], strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(*weights[1:], strict=True))
    selfish = preferences.parse("selfish", 2)

    def wanted(key, view, legal):
        (key,) = player_keys(key, jnp.array([1]))
        return stored.act(key, view, legal, stored.begin(key))[0]

    def step(rollout, _):
        learners = jnp.full((worker.n, worker.learners), 3)
        everybody, minds = worker.with_frozen(rollout, learners)
        view = jax.tree.map(lambda x: x[:, 1], rollout.view)
        alone = jax.vmap(wanted)(worker.lanes_env.keys(rollout.lanes), view, rollout.legal[:, 1])
        rollout, _ = worker.step(rollout, everybody, minds, params, selfish, jnp.float32(0))
        return rollout, (everybody, alone)

    @jax.jit
    def play(key):
        return jax.lax.scan(step, worker.begin(key, params, selfish), None, length=STEPS)[1]

    everybody, alone = map(np.asarray, play(sociarium.key(0)))
    assert everybody.shape == (STEPS, 16, 2) and (everybody[..., 0] == 3).all()
    assert (everybody[..., 1] == alone).all() and len({*alone.ravel().tolist()}) > 2


def test_a_policy_of_the_bare_world_works_in_a_society_as_it_did(plain, coins):
    seats = f"policy:{plain}"
    bare = rollout(coins, seats, steps=STEPS)
    society = rollout(sociarium.make("coins+none"), seats, steps=STEPS)
    np.testing.assert_array_equal(bare.actions, society.actions)
    joining = rollout(sociarium.make("coins+contract?rounds=2"), seats, steps=STEPS)
    assert not joining.actions[:4].any() and joining.actions[4:].any()
