"""Is it a dilemma? A world whose answer is known, and every answer by hand."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sociarium import catalogue
from sociarium.evaluation.analyses import best_response
from sociarium.evaluation.analyses import dilemma as dilemmas
from sociarium.evaluation.analyses.best_response import Response
from sociarium.evaluation.analyses.dilemma import (
    COOPERATOR,
    DEFECTOR,
    RANDOM,
    Answer,
    DilemmaSetting,
    DilemmaVerdict,
    verdict,
    with_scripts_again,
)
from sociarium.metrics.bootstrap import Estimate
from tests.toys.takers import LISTED

HORIZON, ALL = 8, (COOPERATOR, DEFECTOR)


@cache
def played(world, players, seat, others, episodes):
    env = catalogue.make(world, players=players)
    return best_response.scripted_response(env, seat, others, episodes=episodes)


def scripted_response(env, seat, others, *, episodes):
    """As `best_response.scripted_response`, each played once; random play is half of each."""
    if seat == RANDOM:
        scripts = [scripted_response(env, s, others, episodes=episodes) for s in ALL]
        return Response(*(np.mean([getattr(s, n) for s in scripts], 0) for n in ("own", "others")))
    return played(env.id, env.players, seat, others, episodes)


def takes(env, others, *, discounts, seeds, steps, on_progress):
    """Learners that have found out that taking pays, at a tenth of the time."""
    on_progress(steps, steps)
    return [scripted_response(env, DEFECTOR, others, episodes=len(seeds))] * len(discounts)


@pytest.fixture
def toys(monkeypatch):
    """Taking is in the catalogue, and nothing is trained or played twice."""
    monkeypatch.setattr(*LISTED)
    monkeypatch.setattr(dilemmas, "best_responses", takes)
    monkeypatch.setattr(dilemmas, "scripted_response", scripted_response)


def test_taking_is_a_social_dilemma_and_not_one_in_time(toys):
    stages = []
    found = verdict("taking", seeds=(0, 1), steps=7, episodes=2, on_progress=stages.append)
    assert found.world == "taking-v0" and found.players == 3
    assert found.failure == "social: defecting pays beside none, half and all"
    assert found.impatience == "no"
    for number, name in enumerate(("none", "half", "all")):
        setting = found.settings[name]
        assert setting.cooperating == number
        # A defector takes 1 a step, and each of the two others loses 2 by it.
        takers = 2 - number
        assert setting.defector.own.mean == HORIZON * (1 - 2 * takers)
        assert setting.cooperator.own.mean == HORIZON * -2 * takers
        assert setting.cooperator.own.mean < setting.random.own.mean < setting.defector.own.mean
        assert setting.temptation().mean == HORIZON
        assert setting.kindness(setting.learners[0.997]).mean == 0
    assert found.solo.defector.own.mean == HORIZON and found.solo.cooperator.own.mean == 0
    assert set(found.solo.learners) == set(dilemmas.DISCOUNTS)
    assert found.solo.learners[0.9].others.mean == 0
    assert stages == [
        f"{what}: update 7 of 7"
        for what in (*(f"{n} of 2 others cooperate" for n in range(3)), "alone")
    ]


def test_scripts_play_again_and_learners_are_kept(toys):
    stored = verdict("taking", seeds=(0, 1), steps=7, episodes=2)
    changed = DilemmaVerdict.read(_with(stored.as_dict(), own=123.0))
    again = with_scripts_again(changed, episodes=2)
    for name, setting in (*again.settings.items(), ("solo", again.solo)):
        before = stored.solo if name == "solo" else stored.settings[name]
        assert {answer.own.mean for answer in setting.learners.values()} == {123.0}
        assert (setting.cooperator, setting.defector) == (before.cooperator, before.defector)
        assert setting.random == before.random


def _with(row, own):
    """A row whose learners all earned so much."""
    for setting in (*row["settings"].values(), row["solo"]):
        for learner in setting["learner"].values():
            learner["own"] = {"mean": own, "low": own, "high": own}
    return row


def answer(own, others=0.0):
    return Answer(*(Estimate(*[float(x)] * 3) for x in (own, others)))


def setting(left, own=0.0, cooperator=(0.0, 10.0), defector=(5.0, 2.0), random=(0.0, 0.0)):
    """A learner that leaves so much to the others, beside the two scripts."""
    learners = {discount: answer(own, left) for discount in dilemmas.DISCOUNTS}
    return DilemmaSetting(1, learners, answer(*cooperator), answer(*defector), answer(*random))


def judged(none, own=0.0, full=(2.0, 0.0), half=None, solo=(10.0, 10.0, 10.0), scripts=(1, 2)):
    """A verdict on what learners leave and earn beside none, half (as all) and all."""
    given = {"none": (none, own), "half": half or full, "all": full}
    settings = {
        name: replace(setting(*learner), cooperating=number)
        for number, (name, learner) in enumerate(given.items())
    }
    alone = dict(zip(dilemmas.DISCOUNTS, map(answer, solo), strict=True))
    return DilemmaVerdict(
        "a-v0", 3, settings, DilemmaSetting(0, alone, *map(answer, (*scripts, 0)))
    )


def test_kindness_is_the_way_from_defector_to_cooperator():
    for left, share in ((2, 0.0), (4, 0.25), (10, 1.0), (12, 1.25), (0, -0.25)):
        found = setting(left)
        assert found.kindness(found.learners[0.99]).mean == pytest.approx(share)
    for cooperator in ((0, 2), (0, 1)):  # leaves no more than the defector
        found = setting(4, cooperator=cooperator, defector=(0, 2))
        assert found.kindness(found.learners[0.99]) is None and found.temptation() is None


def test_kindness_is_not_defined_by_scripts_whose_intervals_overlap():
    """Cooperators leave 10 and defectors 9, each give or take 2: who is kind cannot be said."""
    found = replace(
        setting(9.5),
        cooperator=Answer(Estimate(0.0, 0.0, 0.0), Estimate(10.0, 8.0, 12.0)),
        defector=Answer(Estimate(5.0, 5.0, 5.0), Estimate(9.0, 7.0, 11.0)),
    )
    assert found.kindness(found.learners[0.99]) is None and found.temptation() is None


def test_temptation_is_the_best_unkind_answer_less_the_best_kind_one():
    """The scripts earn 0 (kind) and 5 (unkind); the learner can better either."""
    assert setting(2, own=3).temptation().mean == 5
    assert setting(2, own=7).temptation().mean == 7
    assert setting(9, own=7).temptation().mean == -2
    assert setting(6, own=7).temptation().mean == 7  # half of the way is not more than half


def test_a_learner_that_earns_less_than_the_better_script_is_no_best_response():
    assert not setting(2, own=4).is_best_response(0.99)
    assert setting(2, own=5).is_best_response(0.99)
    unsure = replace(
        setting(2), learners={0.99: replace(answer(4, 2), own=Estimate(4.0, 3.0, 5.5))}
    )
    assert unsure.is_best_response(0.99)  # its interval reaches what the script earns
    told = setting(2, own=4).as_dict()["learner"]["0.99"]
    assert told["best_response"] is False


DEFECTS, COOPERATES, EITHER = (2, 0), (9, 7), (9, 5)


@pytest.mark.parametrize(
    ("none", "half", "full", "words"),
    [
        (COOPERATES, COOPERATES, COOPERATES, "none: cooperating pays beside none, half and all"),
        (DEFECTS, DEFECTS, DEFECTS, "social: defecting pays beside none, half and all"),
        (
            DEFECTS,
            COOPERATES,
            DEFECTS,
            "mixed: defecting pays beside none and all, cooperating pays beside half",
        ),
        (
            DEFECTS,
            DEFECTS,
            COOPERATES,
            "coordination: defecting pays beside none and half, cooperating pays beside all",
        ),
        (
            COOPERATES,
            DEFECTS,
            DEFECTS,
            "social: defecting pays beside half and all, cooperating pays beside none",
        ),
        (
            DEFECTS,
            DEFECTS,
            EITHER,
            "social: defecting pays beside none and half, neither pays more beside all",
        ),
        (EITHER, EITHER, EITHER, "not shown: neither pays more beside none, half and all"),
    ],
)
def test_every_line_up_counts_in_a_verdict(none, half, full, words):
    """Learners that leave and earn so much beside none, half and all cooperators."""
    assert judged(*none, half=half, full=full).failure == words


def test_where_kindness_is_not_defined_the_verdict_is_open():
    found = judged(2, half=COOPERATES)
    found.settings["all"] = replace(setting(4, cooperator=(0, 2), defector=(0, 2)), cooperating=2)
    assert found.failure == (
        "open: defecting pays beside none, cooperating pays beside half, "
        "kindness is not defined beside all"
    )


def test_with_one_co_player_half_of_them_is_all_of_them():
    found = judged(2, full=COOPERATES)
    found.settings["half"] = found.settings["all"]
    assert found.failure == (
        "coordination: defecting pays beside none, cooperating pays beside all"
    )


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


def test_learners_who_earn_less_alone_than_a_script_show_no_impatience():
    """What they miss may be skill: patience would have to reach what a script reaches."""
    assert judged(2, solo=(90, 141, 145), scripts=(256, 70)).impatience == "not found alone"
    assert judged(2, solo=(90, 141, 256), scripts=(256, 70)).impatience == "intertemporal"


def test_where_scripts_earn_nothing_either_there_is_nothing_to_earn():
    assert judged(2, solo=(0, 0, 0), scripts=(0, 0)).impatience == "nothing to earn alone"
    assert judged(2, solo=(4, 4, 4), scripts=(9, 0)).impatience == "not found alone"


def test_a_verdict_is_told_in_plain_numbers_and_read_back():
    told = judged(4).as_dict()
    point = {"mean": 0.25, "low": 0.25, "high": 0.25}
    assert told["settings"]["none"]["learner"]["0.99"]["kindness"] == point
    assert set(told["settings"]["none"]) == {
        *("cooperating", "temptation", "cooperator", "defector", "random", "learner")
    }
    assert told["solo"]["defector"]["own"]["mean"] == 2.0
    assert told["failure"].startswith("social") and told["impatience"] == "no"
    again = DilemmaVerdict.read(json.loads(json.dumps(told)))
    assert again.as_dict() == told


def test_two_training_seeds_of_a_learner_are_values_and_tested_by_students_interval():
    learner = Answer.of_seeds(Response(np.array([100.0, 104.0]), np.array([2.0, 2.0])))
    assert str(learner.own) == "100, 104" and (learner.own.low, learner.own.high) == (100, 104)
    sure = {"cooperator": answer(90.0, 10.0), "defector": answer(80.0, 2.0)}
    found = DilemmaSetting(1, {0.9: learner}, random=answer(0.0), **sure).temptation()
    half = 12.7062 * 2.0  # Student's 97.5% quantile with one degree of freedom, standard error 2
    assert found.mean == 12 and found.low == pytest.approx(12 - half, rel=1e-4)
    assert not found.above_zero
