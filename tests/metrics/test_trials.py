"""Returns by trial."""

import numpy as np
import pytest

from sociarium.core.errors import BadArgument
from sociarium.metrics.trials import trial_of_each_step, trial_returns
from tests.metrics.records import episode


def test_each_step_counts_in_the_trial_it_was_taken_in():
    raw = [[1, 0], [2, 0], [4, 8], [16, 0], [32, 0]]
    told = np.array([1, 2, 2, 3, 3], float)  # after the steps
    played = episode(raw, gauges={"trial": told})
    assert trial_of_each_step(played).tolist() == [0, 0, 1, 1, 2]
    assert trial_returns(played).tolist() == [[3, 0], [20, 8], [32, 0]]


def test_an_episode_without_trials_is_refused():
    with pytest.raises(BadArgument, match="written-v0 was not played in trials"):
        trial_returns(episode([[1.0]], gauges={"other": np.ones(1)}))
