import pytest

import sociarium
from sociarium.core.errors import BadArgument
from sociarium.core.queries import read_query, write_query
from sociarium.players import roster

EXAMPLE = "NAME?a=1"


def test_a_query_is_read_in_order_and_written_as_it_was():
    pairs = {"map_seed": "7", "tiles": "2x3", "clauses": "attack:0.5,clean:-1", "to": "a/b"}
    assert read_query("map_seed=7&tiles=2x3&clauses=attack:0.5,clean:-1&to=a/b", EXAMPLE) == pairs
    assert read_query(write_query(pairs)[1:], EXAMPLE) == pairs
    assert list(read_query("b=1&a=2", EXAMPLE)) == ["b", "a"]
    assert read_query("", EXAMPLE) == {} and write_query({}) == ""


def test_what_a_query_cannot_say_plainly_is_escaped():
    pairs = {"note": "a+b & c=d?"}
    assert read_query(write_query(pairs)[1:], EXAMPLE) == pairs


@pytest.mark.parametrize("query", ["a", "a=", "=1", "a=1&", "a=1&&b=2", "a=1&a=2"])
def test_a_query_that_cannot_be_read_is_refused_with_an_example(query):
    with pytest.raises(BadArgument, match=r"cannot be read.*write NAME\?a=1"):
        read_query(query, EXAMPLE)


def test_worlds_charters_and_seats_are_read_by_the_same_rule():
    env = sociarium.make("coins?players=3+contract?rounds=3")
    assert env.players == 3 and env.id == "coins-v0?players=3+contract?rounds=3"
    (seat,) = roster.parse("script:cooperator?social=joiner")
    assert (
        seat.options == (("social", "joiner"),) and str(seat) == "script:cooperator?social=joiner"
    )
    with pytest.raises(BadArgument, match="cannot be read"):
        roster.parse("script:cooperator?social")
    with pytest.raises(BadArgument, match="cannot be read"):
        sociarium.make("coins?players")
