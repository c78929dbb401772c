"""Charters in files: the same as by name, kept beside the record, and safe to open."""

import shutil

import numpy as np
import pytest

import sociarium
from sociarium.arena.replay import Replay, world_of
from sociarium.cli.match import MatchCommand
from sociarium.core import record
from sociarium.core.errors import BadArgument, CannotRead, SociariumError, UnknownName
from sociarium.core.record import files_beside, found_in, told_as

VILLAGE = """
[[article]]
name = "speech"
words = 8

[[article]]
name = "law"
clauses = ["each takes its own coin at least 3 times in 400 steps or pays 1", "whoever takes \
somebody else's coin pays 5"]
floor = -100

[[article]]
name = "sanction"
ways = ["punish"]
"""
SAME = (
    "speech?words=8+law?clauses=each takes its own coin at least 3 times in 400 steps or pays 1; "
    "whoever takes somebody else's coin pays 5&floor=-100+sanction?ways=punish"
)


@pytest.fixture
def village(tmp_path):
    file = tmp_path / "village.toml"
    file.write_text(VILLAGE)
    return file


def test_a_charter_in_a_file_is_the_same_as_by_name(village):
    env, named = sociarium.make(f"coins+{village}"), sociarium.make(f"coins+{SAME}")
    assert env.id == f"coins-v0+{village}"
    assert env.sheet.law == named.sheet.law and len(env.sheet.law) == 3
    assert env.actions == named.actions and env.charter.articles == named.charter.articles
    assert sociarium.make("coins", charter=str(village)).actions == env.actions
    assert "norm" in sociarium.make(f"coins+{village}+norm").params().charter


def recorded(world, folder):
    MatchCommand(world, "random", steps=12, out=folder).run()
    return folder


def opened(folder):
    kept = record.load(folder / "play.episode")
    return Replay(world_of(kept, folder), kept)


def test_the_record_keeps_the_charter_and_is_replayed_elsewhere_without_trust(village, tmp_path):
    folder = recorded(f"coins+{village}", tmp_path / "match")
    village.unlink()
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    assert (moved / "charter.toml").read_text() == VILLAGE
    replay = opened(moved)
    assert replay.kept.page.env == "coins-v0+charter.toml" and replay.verify()
    assert replay.env.sheet.law == sociarium.make(f"coins+{SAME}").sheet.law


def test_laws_in_names_are_replayed_without_trust(tmp_path):
    assert opened(recorded(f"coins+{SAME}", tmp_path / "match")).env.sheet.law


@pytest.mark.parametrize(
    ("old", "new"),
    [("words = 8", "words = 100000"), ('"punish"', '"punish.toml"')],
)
def test_a_strangers_charter_that_asks_for_much_or_for_files_is_refused(
    village, tmp_path, old, new
):
    folder = recorded(f"coins+{village}", tmp_path / "match")
    (folder / "charter.toml").write_text(VILLAGE.replace(old, new))
    with pytest.raises(CannotRead, match="--trust"):
        opened(folder)


def test_a_charter_that_was_changed_is_found_out(village, tmp_path):
    folder = recorded(f"coins+{village}", tmp_path / "match")
    (folder / "charter.toml").write_text(VILLAGE.replace("floor = -100\n", ""))
    with pytest.raises(CannotRead, match="was changed after"):
        opened(folder)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", BadArgument, "by its articles"),
        ('world = "frontier"', BadArgument, "given 'world'"),
        ("[[article]]\nrounds = 3", BadArgument, "each with a name"),
        ('[[article]]\nname = "contrakt"', UnknownName, "contract"),
        ('[[article]]\nname = "contract"\nround = 3', UnknownName, "rounds"),
        ("[[article", CannotRead, "not TOML"),
        ("#" * (1 << 20 | 1), CannotRead, "larger"),
    ],
)
def test_a_file_that_is_no_charter_says_what_one_is(tmp_path, text, error, message):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(error, match=message):
        sociarium.make(f"coins+{file}")


def test_files_are_told_by_what_they_are_called_beside_a_record(tmp_path):
    name = "a/task.toml?players=3+b/one.toml+speech?words=8+c/two.json"
    assert files_beside(name) == {
        "world.toml": "a/task.toml",
        "charter.toml": "b/one.toml",
        "charter2.json": "c/two.json",
    }
    told = "world.toml?players=3+charter.toml+speech?words=8+charter2.json"
    assert told_as(name) == told
    assert found_in(told, tmp_path).startswith(f"{tmp_path / 'world.toml'}?players=3+{tmp_path}")
    with pytest.raises(CannotRead, match="beside"):
        found_in("coins+../secret.toml", tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        '[[article]]\nname = "structure"\nkind = 5',
        '[[article]]\nname = "law"\nclauses = [1]',
        f'[[article]]\nname = "contract"\nrounds = {"9" * 5000}',
        "a = " + "[" * 50_000,
        "a." * 30_000 + "a = 1",
        '[[article]]\nname = "none"\n' * 30_000,
        '[[article]]\nname = "contract"\nrounds = inf',
        '[[article]]\nname = "norm"\nnumber = "x"',
        f'[[article]]\nname = "{"x" * 100_000}"',
    ],
    ids=range(9),
)
def test_whatever_a_stranger_writes_into_a_charter_is_refused_in_a_few_words(tmp_path, text):
    kept = record.record(
        {
            "sociarium": "0",
            "env": "coins-v0+charter.toml",
            "players": 2,
            "seats": ("idle",) * 2,
            "marks": ((0, "0" * 16), (1, "0" * 16)),
        },
        np.zeros((1, 2), int),
        9,
    )
    (tmp_path / "charter.toml").write_text(text)
    with pytest.raises(SociariumError) as refused:
        world_of(kept, tmp_path)
    assert len(str(refused.value)) < 2000


def test_a_file_that_never_ends_is_not_read(tmp_path):
    (tmp_path / "charter.toml").symlink_to("/dev/zero")
    with pytest.raises(CannotRead, match="no file"):
        sociarium.make(f"coins+{tmp_path / 'charter.toml'}")


@pytest.mark.parametrize(
    "article",
    [
        *("contract?rounds=x", "speech?words=a", "norm?text=5", "hierarchy?size=1.5"),
        *("agreements?quorum=x", "agreements?penalty=1e12", "law?took_other=1e12"),
        *("mediation?tables=3", "visibility?shown=3", "speech?free=2", "sanction?ratio=1e9"),
        *("structure?kind=3", "law?clauses=whoever takes its own coin pays 2000000"),
    ],
)
def test_wrong_arguments_of_articles_say_what_they_should_be(article):
    with pytest.raises(BadArgument):
        sociarium.make(f"coins+{article}")


def test_a_path_with_dots_is_told_by_its_name():
    assert told_as("clean_up+./village.toml+a//v.toml") == "clean_up+charter.toml+charter2.toml"
