"""How players do in one trial of a series after the other."""

import numpy as np
from jaxtyping import Float, Int

from sociarium.core.episode import Episode
from sociarium.core.errors import BadArgument
from sociarium.core.trials import TRIAL


def trial_of_each_step(episode: Episode) -> Int[np.ndarray, " time"]:
    """The trial that each step belongs to, from 0.

    A gauge tells it after each step, where the last step of a trial has begun the next one.
    """
    if TRIAL not in episode.gauges:
        raise BadArgument(f"{episode.env} was not played in trials; play it in Trials(env, n)")
    after = np.asarray(episode.gauges[TRIAL]).astype(int) - 1
    return np.concatenate([np.zeros(1, int), after[:-1]])


def trial_returns(episode: Episode) -> Float[np.ndarray, "trials players"]:
    """What the world paid each player in each trial that was begun."""
    trial = trial_of_each_step(episode)
    returns = np.zeros((trial[-1] + 1, episode.players))
    np.add.at(returns, trial, episode.raw)
    return returns
