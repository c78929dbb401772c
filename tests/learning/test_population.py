"""Policies kept on the way, and the populations made of them."""

import itertools
import json

import jax
import numpy as np
import pytest

from sociarium import catalogue
from sociarium.core.errors import BadArgument, CannotRead
from sociarium.learning.folder import METRICS
from sociarium.learning.population import parse_pool, population
from sociarium.learning.training import Training, train_into
from sociarium.players.policy import load_policy, snapshots_of
from tests.learning.runs import EACH, small

SEEDS = (1, 0)  # in the order of the run's figures


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("population") / "run"
    train_into(small(snapshots=3, seeds=SEEDS), folder, tensorboard=False)
    return folder


def weights(folder, **which):
    return actor(load_policy(folder, catalogue.make("coins"), **which).weights)


def actor(network):
    return jax.tree.leaves((network.torso, network.policy))


def test_snapshots_are_evenly_spaced_from_the_untrained_policy(run):
    assert snapshots_of(run) == [0, 2 * EACH, 4 * EACH]
    untrained = Training(small(seeds=SEEDS))
    for place, seed in enumerate(SEEDS):
        begun = actor(untrained.weights(place))
        for one, other in zip(weights(run, seed=seed, at=0), begun, strict=True):
            np.testing.assert_array_equal(one, other)
        moved = [weights(run, seed=seed, at=at) for at in (2 * EACH, 4 * EACH)]
        every = [weights(run, seed=seed, at=0), *moved, weights(run, seed=seed)]
        for one, other in itertools.pairwise(every):
            assert any((a != b).any() for a, b in zip(one, other, strict=True))


def test_snapshots_change_nothing_of_what_is_learned(run, tmp_path):
    train_into(small(seeds=SEEDS), tmp_path / "without", tensorboard=False)
    for one, other in zip(weights(run), weights(tmp_path / "without"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_population_has_three_policies_of_each_seed(run):
    """The one in the middle earned about half of what it did in the end."""
    earned = {0: (0, 0), 2: (40, 10), 4: (90, 45), 6: (100, 100)}
    rows = [{"step": n * EACH, "return": returns} for n, returns in earned.items()]
    (run / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    halfway = {1: 2 * EACH, 0: 4 * EACH}
    assert [str(seat) for seat in population(run)] == [
        f"policy:{run}?seed={seed}{at}"
        for seed in SEEDS
        for at in ("&at=0", f"&at={halfway[seed]}", "")
    ]


def test_a_run_in_which_no_episode_ended_is_refused(tmp_path):
    train_into(small(updates=2, snapshots=2, seeds=(0,)), tmp_path / "short", tensorboard=False)
    with pytest.raises(CannotRead, match="no episode"):
        list(population(tmp_path / "short"))


def test_learners_play_beside_a_population(run, tmp_path):
    plan = small(partners=f"population:{run} script:cooperator", seeds=(7,), updates=2)
    assert len(parse_pool(plan.partners)) == 7
    train_into(plan, tmp_path / "response", tensorboard=False)
    assert weights(tmp_path / "response", seed=7)


def test_every_seat_with_weights_of_its_own_is_in_a_population(tmp_path):
    folder = tmp_path / "apart"
    settings = {"shared": False}
    train_into(small(updates=2, snapshots=2, seeds=(4,), settings=settings), folder)
    (folder / METRICS).write_text(json.dumps({"step": EACH, "return": [1.0]}) + "\n")
    found = [str(seat) for seat in population(folder)]
    assert len(found) == 6 and found[3] == f"policy:{folder}?seed=4&seat=1&at=0"
    with pytest.raises(BadArgument, match="without"):
        parse_pool(f"population:{folder}?seat=0")


def test_learners_beside_a_pool_all_want_the_same_and_are_counted_only_there():
    with pytest.raises(BadArgument, match="one preference"):
        Training(small(partners="random", preference="svo:90 selfish"))
    with pytest.raises(BadArgument, match="no partners"):
        Training(small(learners=2))
    with pytest.raises(BadArgument, match="snapshots are 0"):
        Training(small(snapshots=-1))


def test_steps_without_a_snapshot_and_runs_without_any_are_refused(run, tmp_path):
    with pytest.raises(BadArgument, match=f"0, {2 * EACH}, {4 * EACH}; given at=5"):
        weights(run, at=5)
    train_into(small(updates=1, seeds=(0,)), tmp_path / "plain", tensorboard=False)
    with pytest.raises(CannotRead, match="--snapshots"):
        list(population(tmp_path / "plain"))
