"""Trained policies among copies of themselves: the episodes they play, and what is told of them."""

from pathlib import Path

import numpy as np
import pytest

from sociarium.arena.rollout import rollout
from sociarium.core.errors import CannotRead
from sociarium.core.facets import Cooperation
from sociarium.evaluation.analyses.controls import Controls
from sociarium.evaluation.analyses.policy_returns import PolicyReturns, policy_returns
from sociarium.evaluation.experiments import LineUp
from sociarium.metrics.bootstrap import over_seeds
from sociarium.networks import stored
from sociarium.networks.actor_critic import NetworkConfig, actor_critic
from sociarium.players.roster import Seat
from sociarium.views.progress import silent
from tests.networks.filled import filled
from tests.toys.taking import Taking

SEEDS, EPISODES = (3, 8), 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two policies that nobody trained."""
    env, folder = Taking(players=2), tmp_path_factory.mktemp("run")

    def new(key):
        return actor_critic(key, NetworkConfig(), env.view_spec, 2, 2, 1)

    for seed in SEEDS:
        stored.save(
            folder / "weights" / f"seed-{seed}", filled(new, seed=seed), NetworkConfig(), env
        )
    return folder


def test_every_seed_plays_episodes_of_its_own_in_all_seats(folder):
    env, told = Taking(players=2), []
    found = policy_returns(
        env,
        str(folder),
        SEEDS,
        episodes=EPISODES,
        seed=5,
        on_progress=lambda *now: told.append(now),
    )
    assert found.returns.shape == found.acts.shape == (2, EPISODES)
    for row, seed in enumerate(SEEDS):
        lane = row * EPISODES + 1
        alone = rollout(env, f"policy:{folder}?seed={seed}", seed=5, lane=lane)
        kinds = [event.kind for event in alone.events]
        assert found.returns[row, 1] == alone.raw.sum()
        assert found.acts[row, 1] == kinds.count("stayed")
        assert found.refusals[row, 1] == kinds.count("took")
    assert (found.acts + found.refusals == 2 * 8).all() and found.refusals.any()
    assert told[-1] == (8, 8)


def test_a_world_without_cooperation_has_returns_only(folder):
    env = Taking(players=2)
    env.facets = ()
    found = policy_returns(env, str(folder), SEEDS[:1], episodes=1)
    assert found.acts.tolist() == found.refusals.tolist() == [[0.0]]
    assert found.cooperation is None and found.told(None) == ""


def test_figures_by_hand():
    found = PolicyReturns(
        returns=np.array([[1.0, 3.0], [10.0, 10.0]]),
        acts=np.array([[3.0, 0.0], [1.0, 2.0]]),
        refusals=np.array([[1.0, 1.0], [0.0, 0.0]]),
    )
    assert found.cooperation == 6 / 8 and found.told(0.75, 2.0) == "0.75 of 2.0"
    assert found.collective == over_seeds(found.returns.mean(1)) and found.collective.mean == 6.0
    assert found.as_dict() == {
        "collective": found.collective.as_dict(),
        "cooperation": 0.75,
        "by_seed": [2.0, 10.0],
        "acts": 1.5,
        "refusals": 0.5,
        "episodes": 2,
    }


def test_acts_have_no_rate_where_nothing_passes_up_an_opportunity(folder):
    env = Taking(players=2)
    env.facets = (Cooperation("does not take", ("stayed",), ()),)
    found = policy_returns(env, str(folder), SEEDS[:1], episodes=2)
    assert found.acts.any() and not found.refusals.any()
    assert found.cooperation is None and found.as_dict()["cooperation"] is None
    stays = LineUp((Seat("idle"),) * 2)
    card = Controls(env, 2, rivals=[stays]).study(on_progress=silent)
    assert card.random.cooperation is card.planner.cooperation is None


def test_a_folder_without_weights_is_refused(tmp_path: Path):
    with pytest.raises(CannotRead, match="no trained weights"):
        policy_returns(Taking(players=2), str(tmp_path), (0,))
