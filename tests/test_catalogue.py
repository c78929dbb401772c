"""Worlds by name, with arguments in the name, and tasks from files."""

import re

import pytest

import sociarium
from sociarium import catalogue
from sociarium.core.errors import BadArgument, CannotRead, UnknownName
from sociarium.core.facets import Board

TASK = """
world = "frontier"
extends = "easy"
[resources]
wheat = { worth = 1, piles = 2 }
[jobs]
baker = { players = 3 }
"""


def test_arguments_can_stand_in_the_name():
    env = sociarium.make("frontier_easy?sight=1&tiles=2x3")
    assert env.view_spec.rows == 3
    assert env.facet(Board).shape == (14, 21)
    assert env.id == "frontier_easy-v0?sight=1&tiles=2x3"


def test_a_name_with_arguments_makes_the_same_world_again():
    env = sociarium.make("harvest_open?map_seed=7")
    assert (sociarium.make(env.id).glyphs == env.glyphs).all()
    assert catalogue.find(env.id).id == "harvest_open-v0"


def test_what_stands_in_the_name_cannot_be_given_otherwise():
    assert sociarium.make("coins?players=4", players=4).players == 4
    with pytest.raises(BadArgument, match="asks for players=4, but players=3"):
        sociarium.make("coins?players=4", players=3)
    same = sociarium.make("coins+contract?rounds=2", charter="contract?rounds=2")
    assert same.id == "coins-v0+contract?rounds=2"
    with pytest.raises(BadArgument, match="names a charter"):
        sociarium.make("coins+contract?rounds=2", charter="contract?rounds=3")


@pytest.mark.parametrize(
    ("name", "short", "without"),
    [
        ("coins", "coins", "coins"),
        ("coins-v0?players=4", "coins?players=4", "coins-v0"),
        ("coins?players=4&map_seed=7", "coins?players=4&map_seed=7", "coins?map_seed=7"),
        ("coins?map_seed=7+open+speech?words=2", "coins?map_seed=7+open+speech?words=2", None),
        (
            "coins?players=4+contract+speech",
            "coins?players=4+contract+speech",
            "coins+contract+speech",
        ),
    ],
)
def test_names_lose_their_version_or_an_argument_and_nothing_else(name, short, without):
    assert catalogue.short_name(name) == short
    assert catalogue.without(name, "players") == (without or name)


@pytest.mark.parametrize("name", ["coins?", "coins?players", "coins?=3", "coins?players="])
def test_unreadable_arguments_are_refused(name):
    if name == "coins?":
        assert sociarium.make(name).players == 2
        return
    with pytest.raises(BadArgument, match="WORLD\\?name=value"):
        sociarium.make(name)


def test_unknown_arguments_are_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean players"):
        sociarium.make("coins?player=3")
    with pytest.raises(BadArgument, match="players is 1 to"):
        sociarium.make("coins?players=0")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cuisine?level=three", "level of cuisine-v0 is 0 to 12; given 'three'"),
        ("cuisine?level=3.0", "level of cuisine-v0 is 0 to 12; given 3.0"),
        ("overcooked?layout_seed=x", "layout_seed of overcooked-v0 is a whole number from 0 on"),
        ("harvest_open?tiles=x", "tiles of harvest_open-v0 is two whole numbers, as in 2x3"),
        ("overcooked?layout_seed=-1", "layout_seed is a whole number from 0 on; given -1"),
        ("clean_up?map_seed=-1", "map_seed is a whole number from 0 on; given -1"),
        ("clean_up?players=few", "players of clean_up-v0 is a whole number; given 'few'"),
    ],
)
def test_words_where_a_number_belongs_are_refused(name, said):
    with pytest.raises(BadArgument, match=re.escape(said)):
        catalogue.make(name)


def test_a_task_in_a_file_is_a_world(tmp_path):
    file = tmp_path / "village.toml"
    file.write_text(TASK)
    env = sociarium.make(str(file))
    assert env.kinds[-1] == "wheat" and env.jobs[-1] == "baker"
    assert env.players == 7 == catalogue.find(str(file)).players
    assert env.id == str(file)
    assert sociarium.make(f"{file}?players=2").players == 2


def test_a_file_that_describes_no_world_is_refused(tmp_path):
    file = tmp_path / "broken.toml"
    file.write_text("rows = ")
    with pytest.raises(CannotRead, match="not TOML"):
        sociarium.make(str(file))
    with pytest.raises(CannotRead, match="Cannot read"):
        sociarium.make(str(tmp_path / "missing.json"))
    file.write_text('extends = "easy"')
    with pytest.raises(BadArgument, match='as in world = "frontier"; known are frontier'):
        sociarium.make(str(file))
