"""The rules of sanctions: who pays, who loses, who gains, and who sees it."""

import pytest

import sociarium
from sociarium.charters.contract import Contract
from sociarium.charters.sanction import Sanction
from sociarium.charters.speech import Speech
from sociarium.core.errors import BadArgument, UnknownName
from tests.charters.living import Life


def test_c1_whoever_sanctions_pays_and_the_other_loses_or_gains_the_ratio_of_it():
    life = Life(Sanction(cost=0.5, ratio=4)).does(["punish seat 2", "stay", "take"])
    assert life.last == [-0.5, 0, -1]
    assert life.does(["stay", "reward seat 0", "stay"]).last == [2, -0.5, 0]
    assert life.happened("punished") == [[0], []] and life.happened("rewarded") == [[], [1]]
    assert int(life.events[0]["punished"].other[0]) == 2


def test_c1_nobody_sanctions_itself_or_while_the_world_stands_still():
    life = Life(Contract(rounds=1), Sanction())
    assert life.does(["punish seat 1", "stay", "stay"]).last == [0, 0, 0]
    life.does("---", "---")
    assert life.does(["punish seat 0", "stay", "stay"]).last == [0, 0, 0]
    assert life.does(["punish seat 1", "stay", "stay"]).last == [-1, -3, 0]


def test_c1_where_sanctions_are_free_they_come_beside_any_action():
    life = Life(Sanction(cost=0.5, ratio=4, free=True))
    assert life.does(["take, punish seat 2", "stay", "take"]).last == [0.5, 0, -1]
    names = [action.name for action in life.env.actions]
    legal = life.env.legal(life.state, life.params)[0]
    assert not bool(legal[names.index("take, punish seat 0")])  # nobody punishes itself
    assert bool(legal[names.index("take, reward seat 1")])
    with pytest.raises(BadArgument, match="costs no action, so it comes last"):
        Life(Sanction(free=True), Speech(words=2))


def test_c2_all_sanctions_of_a_step_count():
    life = Life(Sanction()).does(["punish seat 2", "punish seat 2", "reward seat 0"])
    assert life.last == [2, -1, -7]


def test_c3_everybody_sees_who_has_just_sanctioned_it_and_no_later():
    life = Life(Sanction()).does(["punish seat 2", "reward seat 2", "stay"])
    nothing = ["nothing"] * 3
    assert life.told("has just") == [nothing, nothing, ["punished me", "rewarded me", "nothing"]]
    assert life.does("---").told("has just") == [nothing] * 3


def test_cost_and_ratio_are_numbers_that_are_told():
    life = Life(Sanction(ways=("punish",)), **{"sanction.ratio": 5, "sanction.cost": 0.2})
    assert life.numbers == {"cost of a sanction": 0.2, "weight of a sanction": 1.0}
    assert life.law == ("Whoever punishes somebody pays 0.2, and that one loses 1.",)
    with pytest.raises(UnknownName, match="punish, reward"):
        sociarium.make("coins+sanction?ways=scold")
    with pytest.raises(BadArgument, match="at least 0"):
        sociarium.make("coins+sanction?cost=-1")


def test_large_societies_sanction_whom_they_are_near():
    env = sociarium.make("coins-v0+sanction", players=300, tiles=(3, 3))
    assert [a.name for a in env.charter.actions][:2] == [
        "punish near player 0",
        "punish near player 1",
    ]
    sociarium.check(env, steps=3, skip={"jit equals eager"})
