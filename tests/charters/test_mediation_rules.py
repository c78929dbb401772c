"""The rules of mediation: choosing a mediator, delegating to it, being played by it."""

import jax.numpy as jnp
import pytest

import sociarium
from sociarium.charters.mediation import Mediation
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.identity import ByArguments
from sociarium.core.patches import Proposal
from tests.charters.living import Life


class Doing(ByArguments):
    """Always the same action, and counts how often it was asked."""

    def __init__(self, action):
        self.action = action

    def begin(self, key):
        return jnp.int32(0)

    def act(self, key, view, legal, memory):
        return jnp.int32(self.action), memory + 1


CAST = {"taker": Doing(1), "cleaner": Doing(2)}


def life_with(*tables, **settings):
    return Life(Mediation(CAST, tables, approval=1, **settings))


def chosen(*tables, winner=1, **settings):
    life = life_with(*tables, **settings)
    return life.does([f"propose terms {winner}", "stay", "stay"], ["stay"] * 3)


def done(life, name):
    return life.happened(name)[-1]


def test_c1_one_of_the_most_approved_mediators_wins_before_the_work():
    life = life_with("taker taker taker", "cleaner cleaner cleaner")
    life.does(["propose terms 1", "propose terms 2", "stay"])
    assert life.last == [0, 0, 0] and int(life.state.clock) == 0
    life.does(["stay", "stay", "approve the proposal of seat 1"])
    assert life.told("won")[0] == ["no", "yes", "no"] and life.told("stage")[0] == "working"
    assert life.law == (
        "The mediator, proposed by seat 1: 1 to 3 delegators are played by cleaner.",
    )


def test_c2_who_plays_hangs_on_how_many_delegate():
    life = chosen("taker cleaner cleaner", window=1)
    life.does(["delegate", "stay", "stay"])
    assert done(life, "took") == [0] and life.last == [1, 0, 0]
    life.does(["delegate", "take", "delegate"])
    assert done(life, "cleaned") == [0, 2] and done(life, "took") == [1]


def test_c2_who_plays_remembers_what_it_has_seen_and_nothing_of_the_talks():
    life = chosen("taker taker taker").does("---", "---")
    assert [mind.tolist() for mind in life.state.social["mediation"].minds] == [[2, 2, 2]] * 2


def test_c3_one_delegates_at_the_first_step_of_a_window_until_it_ends():
    life = chosen("taker taker taker", window=2)
    life.does(["delegate", "stay", "stay"], ["clean", "delegate", "stay"])
    assert life.happened("took")[-2:] == [[0], [0]] and life.happened("delegated")[-1] == []
    life.does(["clean", "delegate", "stay"])
    assert done(life, "took") == [1] and done(life, "cleaned") == [0]


def test_c3_a_window_of_0_is_the_whole_episode():
    life = chosen("taker taker taker").does(["delegate", "stay", "stay"], "c--", "ccc")
    assert life.happened("took")[-3:] == [[0]] * 3
    assert life.does(["stay", "delegate", "stay"]).happened("took")[-1] == [0]


def test_c4_everybody_sees_who_delegates():
    life = chosen("taker taker taker").does(["delegate", "stay", "stay"])
    assert life.told("delegates") == [["yes", "no", "no"]] * 3
    assert life.told("I delegate") == ["yes", "no", "no"]


def test_c4_they_are_told_of_the_step_just_played_however_short_the_window():
    life = chosen("taker taker taker", window=1).does(["delegate", "delegate", "stay"])
    assert life.told("delegates")[2] == ["yes", "yes", "no"]
    assert life.does("---").told("delegates")[2] == ["no"] * 3


def test_without_tables_there_is_a_threshold_for_each_number():
    life = life_with()
    assert life.env.charter.find(Mediation).templates == (
        "1 to 3 delegators are played by cleaner",
        "1 delegator is played by taker, 2 to 3 delegators are played by cleaner",
        "1 to 2 delegators are played by taker, 3 delegators are played by cleaner",
    )


def test_tables_are_written_freely_by_hosts():
    life = life_with()
    written = Proposal(step=0, seat=1, terms="cleaner taker cleaner")
    life.state = life.env.apply(life.state, written)
    life.does(["stay"] * 3, ["stay"] * 3)
    assert "2 delegators are played by taker" in life.law[0]
    with pytest.raises(UnknownName, match="taker or cleaner"):
        life_with("baker baker baker")
    with pytest.raises(BadArgument, match="1 to 3 delegators"):
        life_with("taker")


def test_by_name_the_cast_are_scripts_of_the_world():
    env = sociarium.make("coins+mediation?cast=defector,cooperator&window=5")
    sociarium.check(env, skip={"jit equals eager"}, steps=12)
    with pytest.raises(BadArgument, match="needs players"):
        Life(Mediation())
