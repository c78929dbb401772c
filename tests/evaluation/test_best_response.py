"""One learner among frozen others."""

import numpy as np
import pytest

from sociarium import catalogue
from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses import best_response
from sociarium.evaluation.analyses.best_response import (
    best_responses,
    scripted_response,
    seats_beside,
)
from tests.toys.taking import Taking

SMALL = {**best_response.SETTINGS, "lanes": 16, "num_steps": 16, "num_minibatches": 2}


def test_taking_is_the_best_response_to_anybody():
    (found,) = best_responses(
        Taking(players=3), "random", discounts=(0.9,), seeds=(0, 1), steps=6000, settings=SMALL
    )
    # 8 steps of +1 for taking, -2 for each of two others who take half of the time
    assert found.own.shape == found.others.shape == (2,)
    assert (found.own > -11).all() and (found.own < -5).all()
    assert (found.others < -19).all()  # -16 by the learner, -8 by the other, +4 by itself


def test_the_wage_of_a_learner_alone_is_all_there_is():
    params = Taking(players=1).params(wage=2.0)
    (found,) = best_responses(Taking(players=1), "", steps=4000, settings=SMALL, params=params)
    assert found.own[0] > 22  # eight times 2 + 1
    assert found.others[0] == 0


def test_a_script_in_the_first_seat_is_played_like_a_learner():
    env = Taking(players=2)
    found = scripted_response(env, "idle", "idle", episodes=3)
    np.testing.assert_array_equal(found.own, 0)
    assert found.others.shape == (3,)


def test_others_fill_all_seats_but_one():
    env = catalogue.make("clean_up")
    assert len(seats_beside(env, "script:cooperator")) == 6
    assert len(seats_beside(env, "script:cooperator*2 script:defector*4")) == 6
    with pytest.raises(BadArgument, match="6 others; given 3"):
        seats_beside(env, "idle*3")


def test_too_few_steps_to_count_an_episode_are_refused():
    with pytest.raises(BadArgument, match="at least 128,000"):
        best_responses(catalogue.make("coins"), "idle", steps=100_000)
