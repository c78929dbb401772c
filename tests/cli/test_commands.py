"""The commands do what their help says, for people and for machines."""

import json
from pathlib import Path

import pytest
from PIL import Image

from sociarium.arena.seating import demonstration
from sociarium.catalogue import ARTICLES, SOCIETIES, WORLDS
from sociarium.cli.bench import BenchCommand
from sociarium.cli.check import Check
from sociarium.cli.doctor import Doctor
from sociarium.cli.info import Info
from sociarium.cli.list import List
from sociarium.cli.watch import Watch
from sociarium.core.errors import BadArgument, CannotRead, MissingFacet, UnknownName


def last_json(capsys):
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def test_list_names_every_world(capsys):
    List(json=True).run()
    rows = last_json(capsys)
    assert [row["id"] for row in rows] == [entry.id for entry in (*WORLDS, *SOCIETIES)]
    assert all({"id", "players", "actions", "paper"} <= set(row) for row in rows)
    assert rows[0]["actions"][0] == "stay"
    List().run()
    page = capsys.readouterr().out
    assert all(entry.id in page for entry in (*WORLDS, *SOCIETIES))
    assert all(article.name in page for article in ARTICLES)


def test_info_shows_rules_and_parameters(capsys):
    Info("coins").run()
    page = capsys.readouterr().out
    assert "R4" in page and "coin_chance" in page and "my coin" in page
    Info("coins", json=True).run()
    assert last_json(capsys)["params"]["coin_reward"] == 1


def test_info_tells_what_the_arguments_of_a_world_can_be(capsys):
    Info("overcooked").run()
    page = capsys.readouterr().out
    assert "Arguments" in page and "coordination_ring" in page and "layout_seed" in page
    assert "whole map of 4 x 5 cells, north up" in page and "heading up" not in page
    assert "numbers that all see: last steps" in page
    Info("cuisine?level=5", json=True).run()
    told = last_json(capsys)
    assert told["arguments"]["level"] == {"default": 3, "can_be": "0 to 12"}
    assert told["arguments"]["stream"]["can_be"].startswith("drawn, published:0")
    assert "order 1" in told["view"]["shared"]
    assert told["view"]["window"].endswith("places, a column for each")


def test_info_without_a_terminal_has_the_plain_map_with_its_legend(capsys):
    Info("clean_up").run()
    page = capsys.readouterr().out
    assert "= river" in page and "^0 seat 0, facing north" in page
    assert page.replace("\u2013", "").isascii() and "View     11 x 11 cells, heading up" in page


def test_a_typo_is_answered_with_the_nearest_names():
    with pytest.raises(UnknownName, match="clean_up-v0"):
        Info("cleanup").run()


def test_check_reports_every_clause_of_a_stranger(capsys):
    Check("tests.toys.meadow:Meadow", json=True).run()
    report = last_json(capsys)
    assert report["broken"] == {} and "one window" in report["clauses"]


def test_check_says_what_it_cannot_load():
    with pytest.raises(CannotRead, match="cannot be imported"):
        Check("no_such_package:World").run()


def test_bench_prints_one_object_with_all_figures(capsys):
    BenchCommand("coins", lanes="4", seconds=0.1, json=True).run()
    row = last_json(capsys)
    needed = "env lanes players env_steps_per_s player_steps_per_s bare_env_steps_per_s ratio"
    needed += " compile_s view_bytes_per_env_step devices"
    assert set(needed.split()) <= set(row)
    assert row["view_bytes_per_env_step"] == 2 * 3 * 121
    assert row["player_steps_per_s"] == pytest.approx(2 * row["env_steps_per_s"])
    assert 0 < row["ratio"] < 5


def test_bench_plays_one_world_over_devices_beside_the_same_in_one_piece(capsys):
    BenchCommand("frontier_exploration", players="16", shards="1", steps=5, json=True).run()
    row = last_json(capsys)
    assert (row["players"], row["shards"], row["slots"], row["steps"]) == (16, 1, 16, 5)
    assert len(row["hash"]) == 64 and row["hash"] == row["hash_in_one_piece"]
    assert row["checksum"] == row["checksum_in_one_piece"] and row["ratio"] > 0


def test_bench_says_that_every_device_computes_the_whole_charter(capsys, monkeypatch):
    def measured(env, number, *terms, **more):
        raise BadArgument("not measured")

    monkeypatch.setattr("sociarium.cli.bench.measure_one_world", measured)
    for world, said in (("frontier_exploration+none", True), ("frontier_exploration", False)):
        with pytest.raises(BadArgument, match="not measured"):
            BenchCommand(world, players="16", shards="2").run()
        assert ("computes the articles of all players" in capsys.readouterr().err) == said


def test_bench_says_what_cannot_lie_over_devices():
    with pytest.raises(MissingFacet, match="Shardable"):
        BenchCommand("coins", shards="2").run()
    with pytest.raises(BadArgument, match="one world"):
        BenchCommand(all=True, shards="2").run()
    with pytest.raises(BadArgument, match="--set takes name=value"):
        BenchCommand("frontier_exploration", shards="1", settings=(("forced",),)).run()


def test_bench_wants_one_world_or_all():
    with pytest.raises(BadArgument, match="--all"):
        BenchCommand().run()
    with pytest.raises(BadArgument, match="whole numbers"):
        BenchCommand("coins", lanes="many").run()


def test_watch_writes_a_film_and_a_picture(tmp_path: Path):
    Watch("coins", out=tmp_path / "x.gif", steps=5, size=8).run()
    with Image.open(tmp_path / "x.gif") as film:
        assert film.n_frames > 1
    Watch("coins", out=tmp_path / "x.png", steps=5, size=8, player=1, seats="random").run()
    with Image.open(tmp_path / "x.png") as picture:
        assert picture.width >= 88


def test_watch_shows_text_without_out(capsys):
    Watch("coins", steps=3).run()
    assert "3 steps, scores" in capsys.readouterr().out


def test_watch_refuses_what_it_cannot_do(tmp_path: Path):
    with pytest.raises(BadArgument, match="gif"):
        Watch("coins", out=tmp_path / "x.mov").run()
    with pytest.raises(BadArgument, match="--player"):
        Watch("coins", player=2).run()


def test_a_demonstration_fills_any_number_of_seats():
    assert demonstration("script:forager random", 3) == "script:forager random script:forager"


def test_doctor_finds_a_working_world(capsys):
    Doctor(json=True).run()
    report = last_json(capsys)
    assert report["backend"] == "cpu" and len(report["its fingerprint"]) == 16
