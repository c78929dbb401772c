"""Is it a dilemma? A world whose answer is known, and every answer by hand."""

from functools import cache

import numpy as np
import pytest

from sociarium import catalogue
from sociarium.learning import best_response, dilemmas
from sociarium.learning.best_response import Response
from sociarium.learning.dilemmas import DEFECTOR, Setting, Verdict, verdict
from tests.toys.takers import LISTED

HORIZON = 8


@cache
def played(world, players, seat, others, episodes):
    env = catalogue.make(world, players=players)
    return best_response.scripted_response(env, seat, others, episodes=episodes)


def scripted_response(env, seat, others, *, episodes):
    """As `best_response.scripted_response`, each played once."""
    return played(env.id, env.players, seat, others, episodes)


def takes(env, others, *, discounts, seeds, steps, tell):
    """Learners that have found out that taking pays, at a tenth of the time."""
    tell(steps, steps)
    return [scripted_response(env, DEFECTOR, others, episodes=len(seeds))] * len(discounts)


def test_taking_is_a_social_dilemma_and_not_one_in_time(monkeypatch):
    monkeypatch.setattr(*LISTED)
    monkeypatch.setattr(dilemmas, "best_responses", takes)
    monkeypatch.setattr(dilemmas, "scripted_response", scripted_response)
    stages = []
    found = verdict("taking", seeds=(0, 1), steps=7, episodes=2, tell=stages.append)
    assert found.world == "taking-v0" and found.players == 3
    assert found.failure.startswith("social: it pays to defect whatever")
    assert found.impatience == "no"
    for number, name in enumerate(("none", "half", "all")):
        setting = found.settings[name]
        assert setting.cooperating == number
        # A defector takes 1 a step, and each of the two others loses 2 by it.
        takers = 2 - number
        assert (setting.defector.own == HORIZON * (1 - 2 * takers)).all()
        assert (setting.cooperator.own == HORIZON * -2 * takers).all()
        assert setting.temptation().mean == HORIZON and setting.kindness(0.997).mean == 0
    assert (found.solo_defector.own == HORIZON).all() and not found.solo_cooperator.own.any()
    assert set(found.solo) == set(dilemmas.DISCOUNTS) and not found.solo[0.9].others.any()
    assert stages == [
        f"{what}: update 7 of 7"
        for what in (*(f"{n} of 2 others cooperate" for n in range(3)), "alone")
    ]


def response(own, others=0.0):
    return Response(np.array([float(own)] * 2), np.array([float(others)] * 2))


def setting(left, own=0.0, cooperator=(0.0, 10.0), defector=(5.0, 2.0)):
    """A learner that leaves so much to the others, beside the two scripts."""
    learners = {discount: response(own, left) for discount in dilemmas.DISCOUNTS}
    return Setting(1, learners, response(*cooperator), response(*defector))


def judged(none, own=0.0, full=(2.0, 0.0), solo=(10.0, 10.0, 10.0), scripts=(1, 2)):
    settings = {"none": setting(none, own), "half": setting(2.0), "all": setting(*full)}
    alone = dict(zip(dilemmas.DISCOUNTS, map(response, solo), strict=True))
    return Verdict("a-v0", 3, settings, alone, *map(response, scripts))


def test_kindness_is_the_way_from_defector_to_cooperator():
    for left, share in ((2, 0.0), (4, 0.25), (10, 1.0), (12, 1.25), (0, -0.25)):
        assert setting(left).kindness(0.99).mean == pytest.approx(share)
    assert setting(4, cooperator=(0, 2), defector=(0, 2)).kindness(0.99) is None
    assert setting(4, cooperator=(0, 1), defector=(0, 2)).kindness(0.99) is None


def test_temptation_is_the_best_unkind_answer_less_the_best_kind_one():
    """The scripts earn 0 (kind) and 5 (unkind); the learner can better either."""
    assert setting(2, own=3).temptation().mean == 5
    assert setting(2, own=7).temptation().mean == 7
    assert setting(9, own=7).temptation().mean == -2
    assert setting(6, own=7).temptation().mean == 7  # half of the way is not more than half
    assert setting(4, cooperator=(0, 2), defector=(0, 2)).temptation() is None


@pytest.mark.parametrize(
    ("none", "full", "words"),
    [
        ((9, 7), (9, 7), "none: it pays to cooperate whatever"),
        ((2, 0), (9, 7), "coordination: it pays to cooperate if"),
        ((9, 7), (2, 0), "social: it pays to cooperate only if"),
        ((2, 0), (2, 0), "social: it pays to defect whatever"),
        ((9, 5), (2, 0), "social: it pays to defect among cooperators"),
        ((9, 5), (9, 5), "not shown"),
    ],
)
def test_failures_by_hand(none, full, words):
    """Learners that leave and earn so much beside defectors and beside cooperators."""
    assert judged(*none, full=full).failure.startswith(words)


def test_half_cooperators_count_where_among_all_it_makes_no_difference():
    found = judged(2, full=(2.0, 0.0))
    found.settings["all"] = setting(4, cooperator=(0, 2), defector=(0, 2))
    found.settings["half"] = setting(9, own=7)
    assert found.failure.startswith("coordination")


@pytest.mark.parametrize(
    ("solo", "word"),
    [
        ((10, 10, 10), "no"),
        ((7, 9, 10), "intertemporal"),
        ((8, 9, 10), "no"),
        ((0, 0, 0), "not found alone"),
    ],
)
def test_impatience_by_hand(solo, word):
    assert judged(2, solo=solo).impatience == word


def test_where_scripts_earn_nothing_either_there_is_nothing_to_earn():
    assert judged(2, solo=(0, 0, 0), scripts=(0, 0)).impatience == "nothing to earn alone"
    assert judged(2, solo=(4, 4, 4), scripts=(9, 0)).impatience == "not found alone"


def test_a_verdict_is_told_in_plain_numbers():
    told = judged(4).as_dict()
    point = {"mean": 0.25, "low": 0.25, "high": 0.25}
    assert told["settings"]["none"]["learner"]["0.99"]["kindness"] == point
    assert set(told["settings"]["none"]) == {
        *("cooperating", "temptation", "cooperator", "defector", "learner")
    }
    assert told["solo"]["defector"]["own"]["mean"] == 2.0
    assert told["failure"].startswith("social") and told["impatience"] == "no"
