"""The rules of constitutions: clauses in force, votes, counts."""

import equinox as eqx
import pytest

import sociarium
from sociarium.charters.constitution import Constitution
from sociarium.core.errors import BadArgument
from sociarium.core.patches import Ballot
from tests.charters.living import Life

CLAUSES = ("nobody takes a pear, fine 2 to nobody", "whoever cleans the yard gets 1 from nobody")


def test_c1_only_clauses_in_force_bind():
    life = Life(Constitution(*CLAUSES, enacted=1)).does("tc-")
    assert life.last == [-1, 0, 0]
    assert life.happened("broke constitution 1") == [[0]]
    assert life.told("clause 1") == ["in force"] * 3 and life.told("clause 2")[0] == "not in force"


def test_c2_a_vote_stands_until_it_is_changed():
    life = Life(Constitution(*CLAUSES, period=9))
    life.does(["vote for clause 2", "vote against clause 1", "stay"], "---")
    assert life.told("my vote on clause 2") == ["for", "none", "none"]
    assert life.told("my vote on clause 1") == ["none", "against", "none"]
    life.does(["vote against clause 2", "stay", "stay"])
    assert life.told("my vote on clause 2") == ["against", "none", "none"]


def test_c3_a_clause_comes_into_force_and_is_repealed_when_votes_are_counted():
    life = Life(Constitution(*CLAUSES, period=3, quorum=0.5))
    life.does(["vote for clause 2", "vote for clause 2", "clean"], "--c", "--c", "--c")
    assert [sum(r) for r in life.rewards] == [0, 0, 1, 1]
    assert [e["enacted"].mask.tolist() for e in life.events][2] == [False, True]
    life.does(["vote against clause 2", "vote against clause 2", "clean"], "--c", "--c")
    assert [r[2] for r in life.rewards[4:]] == [1, 0, 0]
    assert life.events[5]["repealed"].mask.tolist() == [False, True]


def test_c3_no_more_than_the_quorum_changes_nothing():
    life = Life(Constitution(*CLAUSES, period=1, quorum=0.67))
    life.does(["vote for clause 1", "vote for clause 1", "stay"])
    assert life.told("clause 1")[0] == "not in force"
    life.does(["stay", "stay", "vote for clause 1"])
    assert life.told("clause 1")[0] == "in force"


def test_whoever_decides_outside_votes_by_writing():
    life = Life(Constitution(*CLAUSES, period=1))
    for seat in (0, 1):
        life.state = life.env.apply(life.state, Ballot(step=0, seat=seat, clause=2, yes=True))
    life.does("--c")
    assert life.last == [0, 0, 1]
    with pytest.raises(BadArgument, match="1 to 2; given 0"):
        life.env.apply(life.state, Ballot(step=0, seat=0, clause=0, yes=True))


def test_what_is_in_force_is_said_in_words():
    life = Life(Constitution(*CLAUSES, enacted=1))
    assert life.law == (
        "Clause 1, in force: Whoever takes a pear pays 2 to nobody.",
        "Clause 2, not in force: Whoever cleans the yard gets 1 from nobody.",
    )
    assert life.env.sheet.law[1].endswith("gets 1 from nobody (to be voted on).")


def test_every_vote_keeps_the_contract():
    env = sociarium.make("coins+constitution?took_other=2&took_own=-1&period=3&enacted=1")
    sociarium.check(env, skip={"jit equals eager"})
    assert eqx.tree_equal(env.params(), env.params(quorum=0.5))
    with pytest.raises(BadArgument, match="no more clauses enacted"):
        sociarium.make("coins+constitution?took_other=2&enacted=2")


def test_a_constitution_is_called_so_where_it_is_refused():
    with pytest.raises(BadArgument, match=r"a constitution has 1 to 64 .* constitution\?clauses="):
        sociarium.make("coins+constitution")
    with pytest.raises(BadArgument, match="constitution has the arguments clauses, floor"):
        sociarium.make("coins+constitution?clause=whoever takes its own coin pays 1")


def test_the_floor_of_a_constitution_is_told_and_not_voted_on():
    life = Life(Constitution(*CLAUSES, floor=0))
    told = ("Nobody pays a fine that would leave it with less than 0 points in all.",)
    assert life.law[2:] == life.env.sheet.law[2:] == told
