"""The rules of reputation: what counts for and against a player, and what does not."""

import pytest

import sociarium
from sociarium.charters.law import Law
from sociarium.charters.reputation import Reputation
from sociarium.charters.sanction import Sanction
from sociarium.core.errors import BadArgument
from tests.charters.living import Life

DUTY = Law("each cleans at least 1 time in 2 steps or pays 1")


def scores(life):
    article = life.env.charter.find(Reputation)
    return article.score(life.state.social["reputation"]).round(3).tolist()


def test_c1_kept_and_broken_clauses_count_and_fade():
    life = Life(DUTY, Reputation(decay=0.5)).does("c--", "---")
    assert scores(life) == [pytest.approx(2 / 3, abs=1e-3), *[pytest.approx(1 / 3, abs=1e-3)] * 2]
    life.does("---")
    assert scores(life)[0] == pytest.approx(1.5 / 2.5)
    assert scores(Life(DUTY, Reputation())) == [0.5] * 3


def test_c2_a_duty_counts_when_its_window_ends():
    life = Life(DUTY, Reputation(decay=1)).does("c--")
    assert scores(life) == [0.5] * 3
    assert scores(life.does("---"))[0] > 0.5


def test_c2_a_prohibition_is_kept_by_who_could_have_broken_it():
    life = Life(Law(took=1), Reputation(decay=1, patience=2)).does("t--", "---")
    assert scores(life) == pytest.approx([1.5 / 3.5, 2 / 3, 2 / 3], abs=1e-3)


def test_c2_where_the_world_tells_that_it_was_passed_up_only_that_counts():
    env = sociarium.make("harvest_one_tree+law?ate_last=1+reputation")
    (judged,) = env.charter.find(Reputation).judged
    assert judged.conduct.spec.passed_up == "spared"
    life = Life(Law(ate_last=1), Reputation(), world=env.world).does(["stay"] * 3)
    assert scores(life) == [0.5] * 3


def test_c3_at_second_order_it_matters_to_whom_it_is_done():
    law, steps = Law(hit=1), ["-h-", "-h-", "h--"]
    first = Life(law, Reputation(decay=1, patience=1e6)).does(*steps)
    second = Life(law, Reputation(order=2, decay=1, patience=1e6, bad=0.4)).does(*steps)
    assert scores(first)[:2] == [pytest.approx(1 / 3, abs=1e-3), 0.25]
    assert scores(second)[:2] == [0.5, 0.25]


def test_c3_punishing_the_good_counts_as_a_breach_at_second_order():
    articles = Law(hit=1), Sanction(), Reputation(order=2, decay=1, patience=1e6)
    life = Life(*articles).does(["punish seat 2", "hit", "stay"], ["stay", "hit", "stay"])
    assert scores(life) == pytest.approx([1 / 3, 0.25, 0.5], abs=1e-3)
    life.does(["stay", "stay", "punish seat 1"])
    assert scores(life)[2] == 0.5


def test_c4_scores_are_told_to_all_and_cost_nothing():
    life = Life(Law("nobody takes a pear, fine 0 to nobody"), Reputation(decay=1, patience=1e6))
    life.does("t--")
    assert life.last == [1, 0, 0]
    assert life.told("my reputation") == ["33%", "50%", "50%"]
    assert life.told("reputation") == [["33%", "50%", "50%"]] * 3


def test_reputation_needs_something_to_judge():
    with pytest.raises(BadArgument, match=r"needs one of law.*law\+reputation"):
        sociarium.make("coins+reputation")
    with pytest.raises(BadArgument, match="order must be 1 or 2"):
        sociarium.make("coins+law?took_own=1+reputation?order=3")
