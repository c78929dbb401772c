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
        assert setting.gain(0.997).mean == HORIZON and setting.kindness(0.997).mean == 0
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


def judged(none, half=2.0, full=2.0, solo=(10.0, 10.0, 10.0)):
    settings = {"none": setting(none), "half": setting(half), "all": setting(full)}
    alone = dict(zip(dilemmas.DISCOUNTS, map(response, solo), strict=True))
    return Verdict("a-v0", 3, settings, alone, response(1), response(2))


def test_kindness_is_the_way_from_defector_to_cooperator():
    for left, share in ((2, 0.0), (4, 0.25), (10, 1.0), (12, 1.25), (0, -0.25)):
        assert setting(left).kindness(0.99).mean == pytest.approx(share)
    assert setting(4, cooperator=(0, 2), defector=(0, 2)).kindness(0.99) is None
    assert setting(4, cooperator=(0, 1), defector=(0, 2)).kindness(0.99) is None
    assert setting(4, own=7, cooperator=(3, 10)).gain(0.99).mean == 4


@pytest.mark.parametrize(
    ("none", "full", "words"),
    [
        (9, 9, "none: it pays to cooperate whatever"),
        (2, 9, "coordination: it pays to cooperate if"),
        (9, 2, "social: it pays to cooperate only if"),
        (2, 2, "social: it pays to defect whatever"),
        (6, 6, "social: it pays to defect whatever"),  # half of the way is not more than half
    ],
)
def test_failures_by_hand(none, full, words):
    assert judged(none, full=full).failure.startswith(words)


@pytest.mark.parametrize(
    ("solo", "word"),
    [
        ((10, 10, 10), "no"),
        ((7, 9, 10), "intertemporal"),
        ((8, 9, 10), "no"),
        ((0, 0, 0), "nothing to earn alone"),
    ],
)
def test_impatience_by_hand(solo, word):
    assert judged(2, solo=solo).impatience == word


def test_a_verdict_is_told_in_plain_numbers():
    told = judged(4).as_dict()
    point = {"mean": 0.25, "low": 0.25, "high": 0.25}
    assert told["settings"]["none"]["learner"]["0.99"]["kindness"] == point
    assert set(told["settings"]["none"]) == {"cooperating", "cooperator", "defector", "learner"}
    assert told["solo"]["defector"]["own"]["mean"] == 2.0
    assert told["failure"].startswith("social") and told["impatience"] == "no"
