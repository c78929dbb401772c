"""One learner among frozen others, and the verdicts drawn from it."""

import numpy as np
import pytest

from sociarium import catalogue
from sociarium.core.errors import BadArgument
from sociarium.learning import best_response
from sociarium.learning.best_response import (
    Response,
    best_responses,
    scripted_response,
    seats_beside,
)
from sociarium.learning.dilemmas import Setting, Verdict
from tests.toys.taking import Taking

SMALL = {**best_response.SETTINGS, "lanes": 16, "steps": 16, "minibatches": 2}


def response(own, others):
    return Response(np.array([own, own]), np.array([others, others], float))


def setting(learner, cooperating=1, cooperator=(5.0, 10.0), defector=(8.0, 2.0)):
    return Setting(
        cooperating, {0.997: response(*learner)}, response(*cooperator), response(*defector)
    )


def verdict(none, half, everybody, solo=(4.0, 4.0)):
    alone = dict(zip((0.9, 0.997), (response(own, 0.0) for own in solo), strict=True))
    settings = {"none": setting(none), "half": setting(half), "all": setting(everybody)}
    return Verdict("toy-v0", 2, settings, alone, response(4.0, 0.0), response(4.0, 0.0))


KIND, UNKIND = (6.0, 9.0), (8.0, 3.0)


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


def test_kindness_is_measured_between_defector_and_cooperator():
    assert setting((6.0, 2.0)).kindness(0.997).mean == 0
    assert setting((6.0, 10.0)).kindness(0.997).mean == 1
    assert setting((6.0, 4.0)).kindness(0.997).mean == 0.25
    assert setting((6.0, 4.0)).gain(0.997).mean == 1
    indifferent = setting((6.0, 4.0), cooperator=(5.0, 2.0), defector=(5.0, 2.0))
    assert indifferent.kindness(0.997) is None


@pytest.mark.parametrize(
    ("none", "everybody", "failure"),
    [
        (KIND, KIND, "none: it pays to cooperate whatever"),
        (UNKIND, KIND, "coordination"),
        (KIND, UNKIND, "social: it pays to cooperate only if the others do not"),
        (UNKIND, UNKIND, "social: it pays to defect whatever"),
    ],
)
def test_the_failure_follows_from_the_best_responses_to_none_and_all(none, everybody, failure):
    assert verdict(none, KIND, everybody).failure.startswith(failure)


@pytest.mark.parametrize(
    ("solo", "found"),
    [((4.0, 4.1), "no"), ((2.0, 4.0), "intertemporal"), ((0.0, 0.0), "nothing to earn alone")],
)
def test_who_fails_alone_for_impatience_fails_in_time(solo, found):
    assert verdict(KIND, KIND, KIND, solo).impatience == found


def test_a_verdict_is_plain_numbers():
    page = verdict(UNKIND, KIND, KIND).as_dict()
    learner = page["settings"]["none"]["learner"]["0.997"]
    assert learner["kindness"] == {"mean": 0.125, "low": 0.125, "high": 0.125}
    assert learner["gain"]["mean"] == 3
    assert page["solo"]["learner"]["0.9"]["own"]["mean"] == 4
